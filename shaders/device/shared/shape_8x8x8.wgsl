// A subgroup matrix of sums is M × N, of K products each.
const M = 8u;
const N = 8u;
const K = 8u;

// Adds the products of a block of 32 columns, eight of them at a time.
fn multiply_block(sums: ptr<function, Sums>, x_at: u32, w_at: u32) {
    multiply(sums, x_at, w_at);
    multiply(sums, x_at + 1u, w_at + 1u);
    multiply(sums, x_at + 2u, w_at + 2u);
    // mutant (mat_mul_subgroup_matrix): multiply(sums, x_at + 3u, w_at + 3u); => multiply(sums, x_at + 3u, w_at + 2u);
    multiply(sums, x_at + 3u, w_at + 3u);
}
