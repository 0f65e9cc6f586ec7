//! The terms that adapters add to products.

/// `scale · A · x` with A `[ranks, cols]`, for one row of x `[cols]`.
pub fn lora_a(scale: f32, a: &[f32], x: &[f32]) -> Vec<f32> {
    a.chunks_exact(x.len()).map(|a| scale * dot(a, x)).collect()
}

/// `y += factor · B · t` with B `[len of y, rank]`, for one row of t `[rank]`.
pub fn lora_b(factor: f32, b: &[f32], t: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(b.chunks_exact(t.len())).for_each(|(y, b)| *y += factor * dot(b, t));
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
