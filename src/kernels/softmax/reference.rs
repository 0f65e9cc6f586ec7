//! Softmax, its logarithm, and softmax over rows as tensors have it.

/// Turns `x` `[n]` into `exp(x − max) / Σ exp(x − max)` in place. Nothing happens to an empty slice.
pub fn softmax(x: &mut [f32]) {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0_f64;
    for value in x.iter_mut() {
        *value = (*value - max).exp();
        sum += f64::from(*value);
    }
    let scale = (1.0 / sum) as f32;
    x.iter_mut().for_each(|value| *value *= scale);
}

/// `ln Σ exp(x)` of `x` `[n]`: what to subtract from a logit to get its log-probability.
pub fn log_sum_exp(x: &[f32]) -> f32 {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = x.iter().map(|&value| f64::from((value - max).exp())).sum();
    (f64::from(max) + sum.ln()) as f32
}

/// The operations on scores before the softmax of [`softmax_rows`].
#[derive(Debug, Clone, Copy)]
pub struct ScoreShape {
    /// Values of a row.
    pub width: usize,
    /// Rows per causal matrix, whose last row sees all values; `None`: every row does.
    pub causal_rows: Option<usize>,
    /// Factor of x.
    pub scale: f32,
    /// `cap · tanh(x / cap)` after the scale.
    pub soft_cap: Option<f32>,
}

/// Softmax of every row of x `[rows, width]`, after scale, cap, mask and causality: y `[rows, width]`. `mask(row, i)`
/// is added. −∞, and anything not above -3.0e38, has weight 0; a row of nothing else gives zeros.
pub fn softmax_rows(x: &[f32], shape: &ScoreShape, mask: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    const LOWEST: f64 = -3.0e38_f32 as f64;
    let mut y = Vec::with_capacity(x.len());
    for (row, values) in x.chunks_exact(shape.width).enumerate() {
        let seen = shape.causal_rows.map_or(shape.width, |rows| (row % rows + 1 + shape.width).saturating_sub(rows));
        let score = |(i, &x): (usize, &f32)| {
            let scaled = f64::from(x) * f64::from(shape.scale);
            let capped = shape.soft_cap.map_or(scaled, |cap| f64::from(cap) * (scaled / f64::from(cap)).tanh());
            let score = if i < seen { capped + f64::from(mask(row, i)) } else { f64::NEG_INFINITY };
            if score > LOWEST { score.min(-LOWEST) } else { f64::NEG_INFINITY }
        };
        let scores: Vec<f64> = values.iter().enumerate().map(score).collect();
        let max = scores.iter().copied().fold(LOWEST, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - max).exp()).sum();
        y.extend(scores.iter().map(|score| if sum > 0.0 { ((score - max).exp() / sum) as f32 } else { 0.0 }));
    }
    y
}
