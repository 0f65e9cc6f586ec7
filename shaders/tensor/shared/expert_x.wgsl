// Rows of x for experts: numbers as a tensor stores them.

fn x_at(row: u32, c: u32) -> f32 {
    // mutant (mat_mul_grouped, mat_mul_grouped_each): row * params.k + min => row * ((params.k + 3u) / 4u * 4u) + min
    let i = row * params.k + min(c, params.k - 1u);
    // mutant (mat_mul_grouped, mat_mul_grouped_each): c < params.k => c + 1u < params.k
    return select(0.0, stored_value(x[stored_word(i, X_KIND)], i, X_KIND), c < params.k);
}

// Columns c … c + 3 of a row of x; past the last they count as 0.
fn x_quad(row: u32, c: u32) -> vec4<f32> {
    return vec4<f32>(x_at(row, c), x_at(row, c + 1u), x_at(row, c + 2u), x_at(row, c + 3u));
}
