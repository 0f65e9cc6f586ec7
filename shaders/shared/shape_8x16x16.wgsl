// A subgroup matrix of sums is M × N, of K products each.
const M = 8u;
const N = 16u;
const K = 16u;

// Adds the products of a block of 32 columns. Written out, like the matrices: a loop is a tenth slower.
fn multiply_block(sums: ptr<function, Sums>, x_at: u32, w_at: u32) {
    multiply(sums, x_at, w_at);
    multiply(sums, x_at + 4u, w_at + 4u);
}
