//! The activations of the gated feed-forward (Shazeer 2020, <https://arxiv.org/abs/2002.05202>).

use super::mat_mul_dense::gelu;

/// `x · sigmoid(x)`.
pub fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

/// `gate ← silu(gate) · up`, both `[n]`.
///
/// # Panics
/// If the lengths differ.
pub fn swiglu(gate: &mut [f32], up: &[f32]) {
    assert_eq!(gate.len(), up.len(), "gate and up differ in length");
    for (gate, &up) in gate.iter_mut().zip(up) {
        *gate = silu(*gate) * up;
    }
}

/// `gate ← gelu(gate) · up`, both `[n]`, gelu in its tanh form.
///
/// # Panics
/// If the lengths differ.
pub fn geglu(gate: &mut [f32], up: &[f32]) {
    assert_eq!(gate.len(), up.len(), "gate and up differ in length");
    for (gate, &up) in gate.iter_mut().zip(up) {
        *gate = (gelu(f64::from(*gate)) * f64::from(up)) as f32;
    }
}
