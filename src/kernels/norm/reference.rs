//! RMS norm (Zhang and Sennrich 2019, <https://arxiv.org/abs/1910.07467>).

/// Scales every row of `x` `[rows, n]` by `weight / √(mean x² + eps)`, in place, with `weight` `[n]`.
///
/// Rows are tokens, or, for the q and k norms of Qwen 3, the heads of tokens.
///
/// # Panics
/// If `x` is not whole rows.
pub fn rms_norm(x: &mut [f32], weight: &[f32], eps: f32) {
    assert!(!weight.is_empty() && x.len().is_multiple_of(weight.len()), "{} is not rows of {}", x.len(), weight.len());
    for row in x.chunks_exact_mut(weight.len()) {
        let squares: f64 = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        let mean = squares / weight.len() as f64;
        let scale = (mean + f64::from(eps)).sqrt().recip() as f32;
        for (value, &weight) in row.iter_mut().zip(weight) {
            *value *= scale * weight;
        }
    }
}
