//! Gates on the heads of attention and of a gated delta rule.

use crate::kernels::reference::{rms_norm, silu};

/// `x = x · σ(gate)`, or with the weight and the epsilon of a norm `x = rms_norm(x) · silu(gate)`, where each run of
/// `weight.len()` values is normalised by itself. `gate` has the shape of x, or one value for each run of values of x.
pub fn output_gate(x: &mut [f32], norm: Option<(&[f32], f32)>, gate: &[f32]) {
    assert!(x.len().is_multiple_of(gate.len()), "{} values for {} gates", x.len(), gate.len());
    let width = x.len() / gate.len();
    if let Some((weight, eps)) = norm {
        rms_norm(x, weight, eps);
    }
    for (x, &gate) in x.chunks_exact_mut(width).zip(gate) {
        let factor = if norm.is_some() { silu(gate) } else { 1.0 / (1.0 + (-gate).exp()) };
        x.iter_mut().for_each(|x| *x *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_lets_through_or_closes() {
        let mut x = [2.0, -4.0, 3.0];
        output_gate(&mut x, None, &[0.0, 100.0, -200.0]);
        assert_eq!(x, [1.0, -4.0, 0.0]);
        let mut x = [3.0, -3.0, 5.0, 5.0];
        output_gate(&mut x, Some((&[1.0, 2.0], 0.0)), &[50.0, 50.0, -200.0, 0.0]);
        assert_eq!(x, [50.0, -100.0, 0.0, 0.0]);
        let mut x = [1.0, 2.0, 3.0, 4.0];
        output_gate(&mut x, None, &[0.0, 100.0]);
        assert_eq!(x, [0.5, 1.0, 3.0, 4.0], "one gate for two values");
    }
}
