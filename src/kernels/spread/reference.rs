//! Rows changed by their spread.

/// `x = max(x − mean − deviations · σ, 0)` for each row of `width` values, with σ the deviation of a sample: the sum of
/// squares is divided by `width − 1`.
pub fn cut(x: &mut [f32], width: usize, deviations: f32) {
    for row in x.chunks_exact_mut(width) {
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / width as f64;
        let squares: f64 = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum();
        let cut = (mean + f64::from(deviations) * (squares / (width as f64 - 1.0)).sqrt()) as f32;
        row.iter_mut().for_each(|x| *x = (*x - cut).max(0.0));
    }
}

/// `x = x / √(σ² + eps)` for each row of `width` values, with the same σ.
#[inline(never)]
pub fn divide_by_deviation(x: &mut [f32], width: usize, eps: f32) {
    for row in x.chunks_exact_mut(width) {
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / width as f64;
        let squares: f64 = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum();
        let factor = (squares / (width as f64 - 1.0) + f64::from(eps)).sqrt().recip() as f32;
        row.iter_mut().for_each(|x| *x *= factor);
    }
}

/// `x = exp x / Σ exp x` for each row of `width` values.
#[inline(never)]
pub fn shares(x: &mut [f32], width: usize) {
    for row in x.chunks_exact_mut(width) {
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        row.iter_mut().for_each(|x| *x = (*x - most).exp());
        let sum = row.iter().map(|&x| f64::from(x)).sum::<f64>() as f32;
        row.iter_mut().for_each(|x| *x /= sum);
    }
}

/// Each row of `x`, of parts as wide as a row of `of` `[rows, width]`: the parts get the length of that.
pub fn set_length(x: &mut [f32], of: &[f32], width: usize) {
    let square = |row: &[f32]| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
    let parts = x.len() / of.len();
    for (row, of) in x.chunks_exact_mut(parts * width).zip(of.chunks_exact(width)) {
        for part in row.chunks_exact_mut(width) {
            let factor = (square(of) / square(part)).sqrt() as f32;
            part.iter_mut().for_each(|x| *x *= factor);
        }
    }
}
