//! The activations of the gated feed-forward (Shazeer 2020, <https://arxiv.org/abs/2002.05202>).

use crate::kernels::mat_mul_dense::reference::gelu;
use crate::model::program::ExpertActivation;

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

/// The activation of an expert's feed-forward, of a gate and the value that it goes with.
pub fn gated(kind: ExpertActivation, gate: f32, up: f32) -> f32 {
    match kind {
        ExpertActivation::SwiGlu => silu(gate) * up,
        ExpertActivation::GeGlu => (gelu(f64::from(gate)) * f64::from(up)) as f32,
        ExpertActivation::ClampedSwiGlu => {
            let x = gate.min(7.0);
            x / (1.0 + (-1.702 * x).exp()) * (up.clamp(-7.0, 7.0) + 1.0)
        }
        ExpertActivation::ReGlu => gate.max(0.0) * up,
    }
}
