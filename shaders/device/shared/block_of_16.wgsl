// Adds the products of a block of 32 columns, 16 of them at a time.
fn multiply_block(sums: ptr<function, Sums>, x_at: u32, w_at: u32) {
    multiply(sums, x_at, w_at);
    // mutant (mat_mul_subgroup_matrix): multiply(sums, x_at + 2u, w_at + 2u); => multiply(sums, x_at + 2u, w_at);
    multiply(sums, x_at + 2u, w_at + 2u);
}
