//! Gates on the heads of attention and of a gated delta rule.

use super::{rms_norm, silu};

/// `x = x · σ(gate)`, or with the weight and the epsilon of a norm `x = rms_norm(x) · silu(gate)`, where each run of
/// `weight.len()` values is normalised by itself; `gate` has the shape of x.
pub fn output_gate(x: &mut [f32], norm: Option<(&[f32], f32)>, gate: &[f32]) {
    assert_eq!(x.len(), gate.len(), "x and gate differ in length");
    if let Some((weight, eps)) = norm {
        rms_norm(x, weight, eps);
        return x.iter_mut().zip(gate).for_each(|(x, &gate)| *x *= silu(gate));
    }
    x.iter_mut().zip(gate).for_each(|(x, &gate)| *x /= 1.0 + (-gate).exp());
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
    }
}
