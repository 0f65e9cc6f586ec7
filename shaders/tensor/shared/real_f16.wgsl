// Products, and the sums over one tile, in f16: |sum| must stay below 65,504.
alias real = f16;

// mutant (mat_mul_dense): const FLUSH = true; => const FLUSH = false;
const FLUSH = true; // each tile's sums are added to f32 ones
