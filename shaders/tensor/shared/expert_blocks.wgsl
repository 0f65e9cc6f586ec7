// Experts' weights in blocks of 32, each row whole blocks.
#import weights

// Weights c … c + 3 of a row, c a multiple of 4.
fn weight_quad(row: u32, c: u32) -> vec4<f32> {
    // mutant (mat_mul_grouped, mat_mul_grouped_each): c % 32u / 4u => c % 16u / 4u
    // mutant (mat_mul_grouped, mat_mul_grouped_each): row * ((params.k + 31u) / 32u) => row * ((params.k + 63u) / 64u)
    return load_quad(row * ((params.k + 31u) / 32u) + c / 32u, c % 32u / 4u);
}
