//! Attention to all rows of a pass, with an embedding of the distance in both directions.

use crate::model::program::FarSpec;

/// `out` `[rows, heads, head_dim]` of queries, keys and values of this shape. `far`: row d is the embedding of a key d
/// rows before the query, and of one d rows behind it. `biases` `[heads, head_dim]`: what is added to queries for
/// products with keys, and with distances.
pub fn attention_far(
    shape: FarSpec,
    [q, k, v]: [&[f32]; 3],
    [before, ahead]: [&[f32]; 2],
    [key_bias, far_bias]: [&[f32]; 2],
    out: &mut [f32],
) {
    let FarSpec { heads, head_dim, scale } = shape;
    let width = heads * head_dim;
    let rows = out.len() / width;
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    for at in (0..out.len()).step_by(head_dim) {
        let (row, of_head) = (at / width, at % width);
        let head = |of: &'_ [f32], row: usize| row * width + of_head..(row * width + of_head + head_dim).min(of.len());
        let biased = |bias: &[f32]| -> Vec<f32> {
            q[head(q, row)].iter().zip(&bias[of_head..]).map(|(query, bias)| query + bias).collect()
        };
        let [for_keys, for_distances] = [key_bias, far_bias].map(biased);
        let score = |key: usize| {
            let far = if key > row { &ahead[head(ahead, key - row)] } else { &before[head(before, row - key)] };
            scale * (dot(&for_keys, &k[head(k, key)]) + dot(&for_distances, far))
        };
        let scores: Vec<f32> = (0..rows).map(score).collect();
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let shares: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f32 = shares.iter().sum();
        let own = &mut out[at..at + head_dim];
        own.fill(0.0);
        for (key, share) in shares.iter().enumerate() {
            own.iter_mut().zip(&v[head(v, key)]).for_each(|(sum, value)| *sum += share / total * value);
        }
    }
}
