//! Softmax and its logarithm.

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
