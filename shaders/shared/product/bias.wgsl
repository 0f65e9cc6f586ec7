// The bias of a product.
@group(0) @binding(6) var<storage, read> bias: array<f32>; // [rows of the whole matrix]

fn bias_of(row: u32) -> f32 {
    // mutant (mat_vec, mat_vec_split): bias[row] => bias[row / 2u]
    return bias[row];
}
