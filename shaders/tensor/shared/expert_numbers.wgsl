// Experts' weights as a tensor stores plain numbers.

fn weight_at(row: u32, c: u32) -> f32 {
    // mutant (mat_mul_grouped, mat_mul_grouped_each): row * params.k + min => row * ((params.k + 3u) / 4u * 4u) + min
    let i = row * params.k + min(c, params.k - 1u);
    return select(0.0, stored_value(w_word[stored_word(i, W_KIND)], i, W_KIND), c < params.k);
}

// Weights c … c + 3 of a row; past the last they count as 0.
fn weight_quad(row: u32, c: u32) -> vec4<f32> {
    // mutant (mat_mul_grouped, mat_mul_grouped_each): weight_at(row, c + 3u) => weight_at(row, c + 2u)
    return vec4<f32>(weight_at(row, c), weight_at(row, c + 1u), weight_at(row, c + 2u), weight_at(row, c + 3u));
}
