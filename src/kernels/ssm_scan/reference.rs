//! Mamba-2's recurrence (Dao and Gu 2024, <https://arxiv.org/abs/2405.21060>), token by token.

use crate::kernels::swiglu::reference::silu;
use crate::simd::{add_scaled, scale};

/// The sizes of one layer.
#[derive(Debug, Clone, Copy)]
pub struct SsmSizes {
    /// Heads, each with a decay of its own.
    pub heads: usize,
    /// Values per head.
    pub head_dim: usize,
    /// Values of the state for each of them.
    pub state: usize,
    /// B and C are shared by `heads / groups` heads.
    pub groups: usize,
}

/// One token of one layer.
#[derive(Debug, Clone, Copy)]
pub struct SsmToken<'a> {
    /// `[heads, head_dim]`: gates the result.
    pub z: &'a [f32],
    /// `[heads]`, before bias and softplus.
    pub dt: &'a [f32],
    /// `[heads, head_dim]`, then B and C `[groups, state]` each.
    pub xbc: &'a [f32],
}

/// `[heads]` each: bias of dt, decay A, skip D.
#[derive(Debug, Clone, Copy)]
pub struct SsmHeads<'a> {
    /// Added to dt.
    pub dt_bias: &'a [f32],
    /// Below 0.
    pub a: &'a [f32],
    /// x goes through with this weight.
    pub d: &'a [f32],
}

/// `dt = softplus(dt + bias)`, `h = exp(dt A) h + dt B xᵀ`, `y = (C h + D x) silu(z)`: `h` `[heads, state, head_dim]`,
/// y `[heads, head_dim]`.
pub fn ssm_scan(sizes: SsmSizes, token: SsmToken, of: SsmHeads, h: &mut [f32], y: &mut [f32]) {
    let SsmSizes { heads, head_dim, state, groups } = sizes;
    let (x, bc) = token.xbc.split_at(heads * head_dim);
    let (b, c) = bc.split_at(groups * state);
    for head in 0..heads {
        let dt = softplus(token.dt[head] + of.dt_bias[head]);
        let decay = (dt * of.a[head]).exp();
        let group = head / (heads / groups) * state;
        let (x, z) = (&x[head * head_dim..][..head_dim], &token.z[head * head_dim..][..head_dim]);
        let y = &mut y[head * head_dim..][..head_dim];
        y.fill(0.0);
        let rows = h[head * state * head_dim..][..state * head_dim].chunks_exact_mut(head_dim);
        for (n, row) in rows.enumerate() {
            let (input, output) = (dt * b[group + n], c[group + n]);
            scale(row, decay);
            add_scaled(row, input, x);
            add_scaled(y, output, row);
        }
        for ((y, &x), &z) in y.iter_mut().zip(x).zip(z) {
            *y = (*y + of.d[head] * x) * silu(z);
        }
    }
}

/// `log(1 + exp(x))`
pub fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One head of one value with a state of one: the recurrence by hand.
    #[test]
    fn a_state_decays_and_takes_in() {
        let sizes = SsmSizes { heads: 1, head_dim: 1, state: 1, groups: 1 };
        let of = SsmHeads { dt_bias: &[0.5], a: &[-2.0], d: &[3.0] };
        let (mut h, mut y) = ([4.0], [0.0]);
        ssm_scan(sizes, SsmToken { z: &[1.0], dt: &[-0.5], xbc: &[5.0, 0.25, 2.0] }, of, &mut h, &mut y);
        let dt = std::f32::consts::LN_2; // softplus(0)
        let expected = 0.25 * 4.0 + dt * 0.25 * 5.0;
        assert!((h[0] - expected).abs() < 1e-6, "{h:?}");
        assert!((y[0] - (2.0 * expected + 15.0) * silu(1.0)).abs() < 1e-5, "{y:?}");
    }

    #[test]
    fn softplus_is_smooth_and_never_below_zero() {
        for (x, expected) in
            [(-200.0, 0.0), (-10.0, 4.539_89e-5), (0.0, std::f32::consts::LN_2), (3.0, 3.048_587), (90.0, 90.0)]
        {
            assert!((softplus(x) - expected).abs() <= 1e-6 * expected, "softplus({x}) = {}", softplus(x));
        }
    }
}
