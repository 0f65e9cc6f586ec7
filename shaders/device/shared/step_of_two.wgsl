const STEP = 2u; // blocks of 32 columns

// Adds the products of a step of two blocks.
fn multiply_step(sums: ptr<function, Sums>, x_at: u32, w_at: u32) {
    multiply_block(sums, x_at, w_at);
    // mutant (mat_mul_subgroup_matrix): multiply_block(sums, x_at + 4u, w_at + 4u); =>
    multiply_block(sums, x_at + 4u, w_at + 4u);
}
