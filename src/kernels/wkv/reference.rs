//! RWKV's time mixing (<https://arxiv.org/abs/2503.14456>, <https://arxiv.org/abs/2404.05892>), token by token.

use super::Form;
use crate::kernels::mat_vec::reference::dot;
use crate::simd::{add_scaled, multiply};

/// The heads of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WkvShape {
    /// Heads of r, each with a state: a multiple of `kv_heads`.
    pub heads: usize,
    /// Heads of k and v.
    pub kv_heads: usize,
    /// Values of a head.
    pub head_dim: usize,
    /// How a token changes the state.
    pub form: Form,
}

/// `1 / (1 + e^−x)`
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// RWKV-7's replacement key: as much smaller as the in-context learning rate is, where `share` says so. `rate` is
/// before its sigmoid.
pub fn replacement_key(key: f32, rate: f32, share: f32) -> f32 {
    key * (1.0 + (sigmoid(rate) - 1.0) * share)
}

/// The effect of one token on a head of RWKV.
struct Token {
    /// The factor of each number of the state.
    decay: Vec<f32>,
    key: Vec<f32>,
    /// The key that is removed from the state.
    removed: Vec<f32>,
    /// The key at which the removed value is added again.
    added: Vec<f32>,
    /// The vector whose product with r is the factor of the token's own value in the result.
    direct: Vec<f32>,
}

impl Token {
    /// A token's effect on a head with its w (and learning rate), k, and the head's part of the weights.
    fn new(form: Form, w: &[f32], k: &[f32], of_head: [&[f32]; 2]) -> Self {
        let (zeros, key) = (vec![0.0; k.len()], k.to_vec());
        let plain = |w: &[f32]| w.iter().map(|w| (-w.exp()).exp()).collect::<Vec<f32>>();
        match form {
            Form::Bonus => {
                let direct = k.iter().zip(of_head[0]).map(|(k, u)| k * u).collect();
                Self { decay: plain(w), key, removed: zeros.clone(), added: zeros, direct }
            }
            Form::Gated => {
                let decay = plain(w);
                let key = k.iter().zip(&decay).map(|(k, decay)| k - k * decay).collect();
                Self { decay, key, removed: zeros.clone(), added: zeros.clone(), direct: zeros }
            }
            Form::Delta => {
                let (w, rate) = w.split_at(k.len());
                let mut removed: Vec<f32> = k.iter().zip(of_head[0]).map(|(k, factor)| k * factor).collect();
                let length = removed.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
                removed.iter_mut().for_each(|x| *x /= -length);
                let added = removed.iter().zip(rate).map(|(x, rate)| -x * sigmoid(*rate)).collect();
                let key = k.iter().zip(rate.iter().zip(of_head[1]));
                let key = key.map(|(k, (rate, share))| replacement_key(*k, *rate, *share)).collect();
                let decay = w.iter().map(|w| (-0.606531 * sigmoid(*w)).exp()).collect();
                Self { decay, key, removed, added, direct: zeros }
            }
        }
    }
}

/// One token of all heads; the inputs as [`Wkv`](super::Wkv) has them, `state` `[heads, head_dim of v, head_dim of k]`,
/// y `[heads, head_dim]`.
pub fn wkv(shape: WkvShape, [r, w, k, v]: [&[f32]; 4], of_heads: [&[f32]; 2], state: &mut [f32], y: &mut [f32]) {
    let WkvShape { heads, kv_heads, head_dim, form } = shape;
    assert_eq!(state.len(), heads * head_dim * head_dim);
    let scale = if form == Form::Gated { (head_dim as f32).sqrt().recip() } else { 1.0 };
    for (head, state) in state.chunks_exact_mut(head_dim * head_dim).enumerate() {
        let kv_at = head / (heads / kv_heads) * head_dim;
        let of_head = of_heads.map(|of| of.get(head * head_dim..(head + 1) * head_dim).unwrap_or_default());
        let w_dim = w.len() / heads;
        let token = Token::new(form, &w[head * w_dim..][..w_dim], &k[kv_at..][..head_dim], of_head);
        let r = &r[head * head_dim..][..head_dim];
        let direct = dot(r, &token.direct);
        let values = &v[kv_at..][..head_dim];
        let columns = state.chunks_exact_mut(head_dim).zip(values).zip(&mut y[head * head_dim..][..head_dim]);
        for ((column, v), y) in columns {
            let before = dot(r, column);
            let taken = dot(column, &token.removed);
            multiply(column, &token.decay);
            add_scaled(column, *v, &token.key);
            add_scaled(column, taken, &token.added);
            *y = if form == Form::Bonus { before + direct * v } else { scale * dot(r, column) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f32], expected: &[f32]) {
        let same = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(same && found.len() == expected.len(), "{found:?} {expected:?}");
    }

    /// By hand: a learning rate of 1/2 takes half of what the state holds under k out of it.
    #[test]
    fn rwkv_7_replaces_what_is_under_a_key() {
        let shape = WkvShape { heads: 1, kv_heads: 1, head_dim: 2, form: Form::Delta };
        let decay = (-0.606531_f32 / 2.0).exp();
        let (mut state, mut y) = ([4.0, 8.0, -2.0, 1.0], [0.0; 2]);
        let inputs: [&[f32]; 4] = [&[1.0, 2.0], &[0.0; 4], &[3.0, 0.0], &[5.0, 7.0]];
        wkv(shape, inputs, [&[2.0, 2.0], &[1.0, 1.0]], &mut state, &mut y);
        // The key is half of k, too.
        let expected = [4.0 * decay - 2.0 + 7.5, 8.0 * decay, -2.0 * decay + 1.0 + 10.5, decay];
        near(&state, &expected);
        near(&y, &[expected[0] + 2.0 * expected[1], expected[2] + 2.0 * expected[3]]);
    }

    #[test]
    fn rwkv_6_has_a_bonus_for_the_token_itself() {
        let shape = WkvShape { heads: 1, kv_heads: 1, head_dim: 1, form: Form::Bonus };
        let (mut state, mut y) = ([4.0], [0.0]);
        wkv(shape, [&[2.0], &[0.0], &[3.0], &[5.0]], [&[0.5], &[]], &mut state, &mut y);
        near(&state, &[4.0 * (-1_f32).exp() + 15.0]);
        near(&y, &[2.0 * (4.0 + 0.5 * 15.0)]);
    }

    #[test]
    fn gated_keys_are_what_decays() {
        let shape = WkvShape { heads: 2, kv_heads: 1, head_dim: 4, form: Form::Gated };
        let (mut state, mut y) = ([0.0; 32], [0.0; 8]);
        let inputs: [&[f32]; 4] = [&[1.0; 8], &[0.0; 8], &[3.0, 0.0, 0.0, 0.0], &[5.0, 0.0, 0.0, 1.0]];
        wkv(shape, inputs, [&[], &[]], &mut state, &mut y);
        let key = 3.0 * (1.0 - (-1_f32).exp());
        near(&[state[0], state[12], state[16], state[1]], &[5.0 * key, key, 5.0 * key, 0.0]);
        near(&y, &[2.5 * key, 0.0, 0.0, 0.5 * key, 2.5 * key, 0.0, 0.0, 0.5 * key]);
    }
}
