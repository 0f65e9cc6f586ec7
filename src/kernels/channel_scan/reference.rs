//! Mamba's recurrence (Gu and Dao 2023, <https://arxiv.org/abs/2312.00752>), token by token.

use crate::kernels::ssm_scan::reference::softplus;
use crate::kernels::swiglu::reference::silu;

/// One token of one layer: x, z and dt `[channels]`, B and C `[state]`.
#[derive(Debug, Clone, Copy)]
pub struct ChannelToken<'a> {
    /// The input of the state.
    pub x: &'a [f32],
    /// Gates the result, through SiLU.
    pub z: &'a [f32],
    /// Time steps, before softplus.
    pub dt: &'a [f32],
    /// How much of x each number of the state takes in.
    pub b: &'a [f32],
    /// How much of each the result has.
    pub c: &'a [f32],
}

/// `dt = softplus(dt)`, `h = exp(dt A) h + dt B x`, `y = (C h + D x) silu(z)` for each channel: A `[channels, state]`,
/// D and y `[channels]`, h `[state, channels]`.
pub fn channel_scan(token: ChannelToken, [a, d]: [&[f32]; 2], h: &mut [f32], y: &mut [f32]) {
    let (channels, state) = (token.x.len(), token.b.len());
    for (channel, y) in y.iter_mut().enumerate() {
        let (x, dt) = (token.x[channel], softplus(token.dt[channel]));
        let mut sum = d[channel] * x;
        for n in 0..state {
            let h = &mut h[n * channels + channel];
            *h = (dt * a[channel * state + n]).exp() * *h + dt * token.b[n] * x;
            sum += token.c[n] * *h;
        }
        *y = sum * silu(token.z[channel]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One channel with a state of one: the recurrence by hand.
    #[test]
    fn a_state_decays_and_takes_in() {
        let token = ChannelToken { x: &[5.0], z: &[1.0], dt: &[0.0], b: &[0.25], c: &[2.0] };
        let (mut h, mut y) = ([4.0], [0.0]);
        channel_scan(token, [&[-2.0], &[3.0]], &mut h, &mut y);
        let dt = std::f32::consts::LN_2; // softplus(0)
        let expected = 0.25 * 4.0 + dt * 0.25 * 5.0;
        assert!((h[0] - expected).abs() < 1e-6, "{h:?}");
        assert!((y[0] - (2.0 * expected + 15.0) * silu(1.0)).abs() < 1e-5, "{y:?}");
    }
}
