//! The gated delta rule (Yang et al. 2024, <https://arxiv.org/abs/2412.06464>).

use crate::simd::{add_scaled, scale};

/// The heads of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaShape {
    /// Heads of q and of k.
    pub k_heads: usize,
    /// Heads of v, each with a state: a multiple of `k_heads`.
    pub v_heads: usize,
    /// Values of a head.
    pub head_dim: usize,
    /// Head h of v goes with head h % `k_heads` of k, not with h / (`v_heads` / `k_heads`).
    pub tiled: bool,
    /// Added to the squared lengths of q and k.
    pub eps: f32,
}

/// One token's inputs, and what all tokens share.
#[derive(Debug, Clone, Copy)]
pub struct DeltaInputs<'a> {
    /// `[2 k_heads + v_heads, head_dim]`: q, k and v, after the convolution
    pub qkv: &'a [f32],
    /// `[v_heads]`: β before its sigmoid
    pub beta: &'a [f32],
    /// `[v_heads]`: the decay's logarithm before softplus
    pub alpha: &'a [f32],
    /// `[v_heads]`, added to α
    pub dt_bias: &'a [f32],
    /// `[v_heads]`: −e^A_log
    pub a: &'a [f32],
}

/// `S = e^g S`, `S += k ⊗ β (v − Sᵀ k)`, `y = Sᵀ q` for one token, with `β = σ(beta)` and
/// `g = a · log(1 + e^(alpha + dt_bias))`; q and k are scaled to length 1, q is divided by √head_dim. `state` is
/// `[v_heads, head_dim of k, head_dim of v]`, y `[v_heads, head_dim]`.
pub fn delta_net(shape: DeltaShape, inputs: &DeltaInputs, state: &mut [f32], y: &mut [f32]) {
    let DeltaShape { k_heads, v_heads, head_dim, tiled, eps } = shape;
    assert_eq!(inputs.qkv.len(), (2 * k_heads + v_heads) * head_dim);
    assert_eq!(state.len(), v_heads * head_dim * head_dim);
    let head_of = |head: usize| &inputs.qkv[head * head_dim..][..head_dim];
    let heads = state.chunks_exact_mut(head_dim * head_dim).zip(y.chunks_exact_mut(head_dim));
    for (head, (state, y)) in heads.enumerate() {
        let k_head = if tiled { head % k_heads } else { head / (v_heads / k_heads) };
        let q = normalised(head_of(k_head), eps, (head_dim as f32).sqrt().recip());
        let k = normalised(head_of(k_heads + k_head), eps, 1.0);
        let decay = (inputs.a[head] * softplus(inputs.alpha[head] + inputs.dt_bias[head])).exp();
        let beta = 1.0 / (1.0 + (-inputs.beta[head]).exp());
        // y holds Sᵀ k first.
        y.fill(0.0);
        for (row, k) in state.chunks_exact_mut(head_dim).zip(&k) {
            scale(row, decay);
            add_scaled(y, *k, row);
        }
        let update: Vec<f32> = head_of(2 * k_heads + head).iter().zip(&*y).map(|(v, sk)| beta * (v - sk)).collect();
        y.fill(0.0);
        for ((row, k), q) in state.chunks_exact_mut(head_dim).zip(&k).zip(&q) {
            add_scaled(row, *k, &update);
            add_scaled(y, *q, row);
        }
    }
}

/// `scale · x / √(Σ x² + eps)`
fn normalised(x: &[f32], eps: f32, scale: f32) -> Vec<f32> {
    let squares: f32 = x.iter().map(|x| x * x).sum();
    let scale = scale / (squares + eps).sqrt();
    x.iter().map(|x| x * scale).collect()
}

/// `log(1 + e^x)`
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two heads of v on one of k, by hand: with an empty state and k = (1, 0), S is k ⊗ β v.
    #[test]
    fn the_first_token_stores_v_under_k() {
        let shape = DeltaShape { k_heads: 1, v_heads: 2, head_dim: 2, tiled: true, eps: 0.0 };
        let qkv = [3.0, 4.0, 2.0, 0.0, 1.0, 2.0, -1.0, 5.0];
        let (zeros, a) = ([0.0; 2], [-1.0; 2]);
        let inputs = DeltaInputs { qkv: &qkv, beta: &zeros, alpha: &zeros, dt_bias: &zeros, a: &a };
        let (mut state, mut y) = ([0.0; 8], [0.0; 4]);
        delta_net(shape, &inputs, &mut state, &mut y);
        assert_eq!(state, [0.5, 1.0, 0.0, 0.0, -0.5, 2.5, 0.0, 0.0]);
        let q = 0.6 / 2f32.sqrt();
        for (y, expected) in y.iter().zip([0.5 * q, q, -0.5 * q, 2.5 * q]) {
            assert!((y - expected).abs() < 1e-6, "{y} {expected}");
        }
        // The same again: S decays by e^(-ln 2), and half of what v lacks is added.
        delta_net(shape, &inputs, &mut state, &mut y);
        for (s, expected) in state.iter().zip([0.625, 1.25, 0.0, 0.0, -0.625, 3.125, 0.0, 0.0]) {
            assert!((s - expected).abs() < 1e-6, "{s} {expected}");
        }
    }

    #[test]
    fn heads_of_v_share_heads_of_k_in_turn_or_side_by_side() {
        let qkv = [1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let read = |tiled| {
            let shape = DeltaShape { k_heads: 2, v_heads: 4, head_dim: 1, tiled, eps: 1.0 };
            let zeros = [0.0; 4];
            let inputs = DeltaInputs { qkv: &qkv, beta: &zeros, alpha: &zeros, dt_bias: &zeros, a: &zeros };
            let mut y = [0.0; 4];
            delta_net(shape, &inputs, &mut [0.0; 4], &mut y);
            y.map(|y| y < 0.3)
        };
        assert_eq!([read(true), read(false)], [[true, false, true, false], [true, true, false, false]]);
    }

    #[test]
    fn softplus_of_anything_is_finite() {
        assert_eq!([softplus(100.0), softplus(-200.0)], [100.0, 0.0]);
        assert!((softplus(0.0) - 2f32.ln()).abs() < 1e-7);
    }
}
