// x · sigmoid(x)                                                     (Shazeer 2020, arXiv 2002.05202)
fn silu(x: f32) -> f32 {
    // Below -80 the result is 0 to f32 anyway; the bound keeps exp finite, since WGSL promises nothing about
    // infinities.
    // mutant (swiglu): max(x, -80.0) => max(x, -4.0)
    // mutant (swiglu, mat_vec, mat_vec_split, mat_mul_dense): return x / => return 1.0 /
    return x / (1.0 + exp(-max(x, -80.0)));
}
