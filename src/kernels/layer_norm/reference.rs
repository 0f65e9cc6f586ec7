//! Layer norm (Ba, Kiros and Hinton 2016, <https://arxiv.org/abs/1607.06450>) and RMS norm with offset and bias.

/// A norm over rows of `width` values.
#[derive(Debug, Clone, Copy)]
pub struct NormShape<'a> {
    /// Values of a row.
    pub width: usize,
    /// Whether the mean is subtracted: layer norm; else RMS norm.
    pub centred: bool,
    /// Added under the root.
    pub eps: f32,
    /// `[width]`; 1 everywhere where `None`.
    pub weight: Option<&'a [f32]>,
    /// Added to every weight.
    pub weight_offset: f32,
    /// `[width]`; 0 everywhere where `None`.
    pub bias: Option<&'a [f32]>,
}

/// Normalises every row of x `[rows, width]`: y `[rows, width]`.
pub fn layer_norm(x: &[f32], shape: &NormShape) -> Vec<f32> {
    let mut y = Vec::with_capacity(x.len());
    for row in x.chunks_exact(shape.width) {
        let mean_of = |f: &dyn Fn(f64) -> f64| row.iter().map(|&v| f(v.into())).sum::<f64>() / row.len() as f64;
        let mean = if shape.centred { mean_of(&|v| v) } else { 0.0 };
        let scale = (mean_of(&|v| (v - mean) * (v - mean)) + f64::from(shape.eps)).sqrt().recip();
        y.extend(row.iter().enumerate().map(|(i, &v)| {
            let weight = shape.weight.map_or(1.0, |w| f64::from(w[i]) + f64::from(shape.weight_offset));
            let bias = shape.bias.map_or(0.0, |b| b[i].into());
            ((f64::from(v) - mean) * scale * weight + bias) as f32
        }));
    }
    y
}
