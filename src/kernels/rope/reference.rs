//! Rotary position embedding (Su et al. 2021, <https://arxiv.org/abs/2104.09864>).

use crate::model::RopeStyle;

/// The rotation of each pair per position, in radians: `theta^(-2i / dims) · scale / factors[i]`, `[dims / 2]`.
///
/// `scale` is that of linear scaling; `factors` are those of `rope_freqs.weight`, if the file has it.
///
/// # Panics
/// If there are factors, but not `dims / 2`.
pub fn frequencies(dims: usize, theta: f32, scale: f32, factors: Option<&[f32]>) -> Vec<f64> {
    assert!(factors.is_none_or(|f| f.len() == dims / 2), "one factor per pair");
    let frequency = |pair: usize| {
        let factor = factors.map_or(1.0, |f| f64::from(f[pair]));
        let exponent = -2.0 * pair as f64 / dims as f64;
        f64::from(theta).powf(exponent) * f64::from(scale) / factor
    };
    (0..dims / 2).map(frequency).collect()
}

/// As [`rope_scaled`], with lengths as they are.
///
/// # Panics
/// As that.
pub fn rope(x: &mut [f32], head_dim: usize, position: usize, frequencies: &[f64], style: RopeStyle) {
    rope_scaled(x, [head_dim, 0], |_| position, (frequencies, 1.0), style);
}

/// Rotates `2 · frequencies.len()` elements of each head of one token, `x` `[heads, head_dim]`, from element `start`
/// on, in place, and multiplies these by `magnitude`.
///
/// Angles, sines and cosines are computed in f64, so that large positions lose no precision.
///
/// # Panics
/// If `x` is not whole heads, or a head has fewer elements than are rotated.
pub fn rope_scaled(
    x: &mut [f32],
    [head_dim, start]: [usize; 2],
    position: impl Fn(usize) -> usize,
    (frequencies, magnitude): (&[f64], f32),
    style: RopeStyle,
) {
    let pairs = frequencies.len();
    assert!(x.len().is_multiple_of(head_dim) && start + 2 * pairs <= head_dim, "{pairs} pairs in heads of {head_dim}");
    for (pair, &frequency) in frequencies.iter().enumerate() {
        let (sin, cos) = (position(pair) as f64 * frequency).sin_cos();
        let (sin, cos) = (sin as f32 * magnitude, cos as f32 * magnitude);
        let (first, second) = match style {
            RopeStyle::Interleaved => (start + 2 * pair, start + 2 * pair + 1),
            RopeStyle::SplitHalf => (start + pair, start + pair + pairs),
        };
        for head in x.chunks_exact_mut(head_dim) {
            let (a, b) = (head[first], head[second]);
            head[first] = a * cos - b * sin;
            head[second] = a * sin + b * cos;
        }
    }
}
