// b of a product of tensors in blocks of 32 columns of a row. Rows are whole blocks, so element i is one of block
// i / 32.
#import weights

fn load_b(i: u32) -> f32 {
    // mutant (mat_mul_dense_few): i % 32u / 4u => i % 16u / 4u
    return load_quad(i / 32u, i % 32u / 4u)[i % 4u];
}

// The elements of four neighbouring columns, the first a multiple of 4.
fn load_b_quad(i: vec4<u32>) -> vec4<f32> {
    // mutant (mat_mul_dense): i.x % 32u / 4u => i.x % 16u / 4u
    return load_quad(i.x / 32u, i.x % 32u / 4u);
}
