// Rows of x for experts: numbers as a tensor stores them.

fn x_at(row: u32, c: u32) -> f32 {
    let i = row * params.k + min(c, params.k - 1u);
    return select(0.0, stored_value(x[stored_word(i, X_KIND)], i, X_KIND), c < params.k);
}

// Columns c … c + 3 of a row of x; past the last they count as 0.
fn x_quad(row: u32, c: u32) -> vec4<f32> {
    return vec4<f32>(x_at(row, c), x_at(row, c + 1u), x_at(row, c + 2u), x_at(row, c + 3u));
}
