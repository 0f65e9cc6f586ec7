//! Heads of two parts.

/// `y[h] = (a[h], b[h])` for `heads` heads of all rows together: a `[heads, of a]`, b `[heads, of b]`, y
/// `[heads, of a and b]`.
pub fn join_heads([a, b]: [&[f32]; 2], heads: usize, y: &mut [f32]) {
    let [of_a, of_b] = [a, b].map(|part| part.len() / heads.max(1));
    for ((a, b), y) in a.chunks_exact(of_a).zip(b.chunks_exact(of_b)).zip(y.chunks_exact_mut(of_a + of_b)) {
        y[..of_a].copy_from_slice(a);
        y[of_a..].copy_from_slice(b);
    }
}
