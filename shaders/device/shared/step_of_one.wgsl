const STEP = 1u; // blocks of 32 columns

// Adds the products of a step of one block.
fn multiply_step(sums: ptr<function, Sums>, x_at: u32, w_at: u32) {
    // mutant (mat_mul_subgroup_matrix): multiply_block(sums, x_at, w_at); =>
    multiply_block(sums, x_at, w_at);
}
