//! Rows times the matrices of their experts.

/// `y[i, j] = Σ_c x(i, c) · w(ids[i], j, c)` `[entries, n]`, summed in f64; zeros where `ids[i]` is no expert. `x` and
/// `w` are given by their elements, `[n, k, experts]` are the sizes.
pub fn mat_mul_grouped(
    [n, k, experts]: [usize; 3],
    ids: &[u32],
    x: impl Fn(usize, usize) -> f32,
    w: impl Fn(usize, usize, usize) -> f32,
) -> Vec<f64> {
    let mut y = Vec::with_capacity(ids.len() * n);
    for (i, &id) in ids.iter().enumerate() {
        let expert = id as usize;
        y.extend((0..n).map(|j| match expert < experts {
            true => (0..k).map(|c| f64::from(x(i, c)) * f64::from(w(expert, j, c))).sum::<f64>(),
            false => 0.0,
        }));
    }
    y
}

/// `y[t, j] = Σ_s weights[t, s] · z[t, s, j]` `[tokens, n]`, for `weights` `[tokens, top]` and `z` `[tokens, top, n]`.
pub fn expert_sum(top: usize, weights: &[f32], z: &[f64]) -> Vec<f64> {
    let n = z.len() / weights.len();
    let tokens = weights.chunks_exact(top).zip(z.chunks_exact(top * n));
    let token = |(weights, z): (&[f32], &[f64])| -> Vec<f64> {
        (0..n).map(|j| weights.iter().zip(z.chunks_exact(n)).map(|(&w, z)| f64::from(w) * z[j]).sum()).collect()
    };
    tokens.flat_map(token).collect()
}

/// Where each expert's entries start if `ids` are grouped by expert, and at the end the number of all.
pub fn expert_offsets(ids: &[u32], experts: u32) -> Vec<u32> {
    (0..=experts).map(|expert| ids.iter().filter(|&&id| id < expert).count() as u32).collect()
}
