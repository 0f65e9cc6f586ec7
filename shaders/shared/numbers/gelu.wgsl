// x · Φ(x) in the tanh form, 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))      (Hendrycks & Gimpel 2016,
// arXiv 1606.08415), as x · sigmoid of twice that argument: no cancellation on the negative side.
fn gelu(x: f32) -> f32 {
    // The bounds keep the cube and exp finite, since WGSL promises nothing about infinities.
    // mutant (swiglu): clamp(x, -100.0, 100.0) => clamp(x, -3.0, 3.0)
    let c = clamp(x, -100.0, 100.0);
    // mutant (swiglu, mat_mul_dense_few): 0.044715 * => 0.04 *
    let twice = 1.59576912 * (c + 0.044715 * c * c * c);
    // mutant (swiglu): max(twice, -80.0) => max(twice, -4.0)
    return x / (1.0 + exp(-max(twice, -80.0)));
}
