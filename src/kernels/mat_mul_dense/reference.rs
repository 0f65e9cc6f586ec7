//! Matrix times matrix, both plain numbers.

use crate::kernels::mat_mul_dense::Activation;

/// `y[i, j] = Σ_c a(i, c) · b(c, j)` `[m, n]`, summed in f64; `[m, n, k]` are the sizes, and the operands are given by
/// their elements, so that strides and transposition are the caller's.
pub fn mat_mul_dense(
    [m, n, k]: [usize; 3],
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
) -> Vec<f64> {
    let mut y = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            y.push((0..k).map(|c| f64::from(a(i, c)) * f64::from(b(c, j))).sum());
        }
    }
    y
}

/// `0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))` (Hendrycks & Gimpel 2016, <https://arxiv.org/abs/1606.08415>).
pub fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    // The same as 0.5 · (1 + tanh), without cancellation for negative x.
    x / (1.0 + (-2.0 * inner).exp())
}

/// The activation after a product of tensors.
pub fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Gelu => gelu(x),
    }
}
