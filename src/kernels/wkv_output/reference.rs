//! The output of RWKV's time mixing (<https://arxiv.org/abs/2503.14456>).

use crate::kernels::layer_norm::reference::{NormShape, layer_norm};
use crate::kernels::wkv::reference::replacement_key;
use crate::simd::add_scaled;

/// The term of a token's own key and value.
#[derive(Debug, Clone, Copy)]
pub struct Own<'a> {
    /// r, w with the learning rates, k and v of the row.
    pub rwkv: [&'a [f32]; 4],
    /// `[heads, head_dim]`: how much keys follow the learning rate.
    pub shares: &'a [f32],
    /// `[heads, head_dim]`: the factors of r · k.
    pub factors: &'a [f32],
}

/// `y = norm(y) + v (r · factors k)` for each head of a row; `norm` are its weight, its bias `[heads, head_dim]` and
/// what it adds to the variance.
pub fn wkv_output(y: &mut [f32], head_dim: usize, norm: Option<([&[f32]; 2], f32)>, own: Option<&Own>) {
    for (head, y) in y.chunks_exact_mut(head_dim).enumerate() {
        let at = head * head_dim..(head + 1) * head_dim;
        if let Some((weights, eps)) = norm {
            let [weight, bias] = weights.map(|of| Some(&of[at.clone()]));
            y.copy_from_slice(&layer_norm(
                y,
                &NormShape { width: head_dim, centred: true, eps, weight, weight_offset: 0.0, bias },
            ));
        }
        let Some(Own { rwkv: [r, w, k, v], shares, factors }) = own else { continue };
        let rates = &w[2 * at.start + head_dim..][..head_dim];
        let product = |i: usize| {
            let of = at.start + i;
            r[of] * factors[of] * replacement_key(k[of], rates[i], shares[of])
        };
        let sum: f32 = (0..head_dim).map(product).sum();
        add_scaled(y, sum, &v[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two heads of two values, by hand.
    #[test]
    fn own_values_are_added_behind_the_norm() {
        let own = Own {
            rwkv: [&[1.0, 2.0, 0.0, 1.0], &[9.0, 9.0, 0.0, 0.0, 9.0, 9.0, 0.0, 0.0], &[4.0, 6.0, 8.0, 2.0], &[1.0; 4]],
            shares: &[0.0, 1.0, 0.0, 0.0],
            factors: &[1.0, 1.0, 1.0, -3.0],
        };
        let mut y = [5.0, 9.0, 1.0, -1.0];
        let norm = ([&[1.0, 1.0, 2.0, 2.0][..], &[0.0, 0.5, 0.0, 0.0]], 0.0);
        wkv_output(&mut y, 2, Some(norm), Some(&own));
        assert_eq!(y, [-1.0 + 4.0 + 6.0, 1.5 + 10.0, 2.0 - 6.0, -2.0 - 6.0]);
    }
}
