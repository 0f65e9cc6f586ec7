//! Attention to the rows right before, with an embedding of the distance.

use crate::model::program::NearSpec;

/// `out` `[rows, heads, head_dim]` of queries, keys and values of this shape, and of `far`, which has such a row for
/// each distance; `weights`: factors `[head_dim]` of queries and of keys.
pub fn attention_near(
    shape: NearSpec,
    [q, k, v]: [&[f32]; 3],
    far: &[f32],
    weights: [Option<&[f32]>; 2],
    out: &mut [f32],
) {
    let NearSpec { heads, head_dim, span, .. } = shape;
    let width = heads * head_dim;
    for at in (0..out.len()).step_by(head_dim) {
        let (row, of_head) = (at / width, at % width);
        let back = 0..span.min(row + 1);
        let head = |of: &[f32], row: usize| -> Vec<f32> { of[row * width + of_head..][..head_dim].to_vec() };
        let query = head(q, row);
        let score = |back: usize| {
            let (key, far) = (head(k, row - back), head(far, back));
            let factor = |which: usize, c: usize| weights[which].map_or(1.0, |weight| weight[c]);
            let term = |c: usize| query[c] * factor(0, c) * (shape.k_scale * factor(1, c) * key[c] + far[c]);
            let sum = (0..head_dim).map(term).sum::<f32>() * shape.scale;
            shape.soft_cap * (sum / shape.soft_cap).tanh()
        };
        let scores: Vec<f32> = back.map(score).collect();
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let shares: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f32 = shares.iter().sum();
        for (c, out) in out[at..at + head_dim].iter_mut().enumerate() {
            let value = |(back, share): (usize, &f32)| share * v[(row - back) * width + of_head + c];
            *out = shares.iter().enumerate().map(value).sum::<f32>() / total;
        }
    }
}
