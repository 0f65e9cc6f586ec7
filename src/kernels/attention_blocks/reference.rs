//! Attention of blocks of rows to blocks of others, with an embedding of the distance.

use crate::model::program::BlockSpec;

/// `out` `[rows, heads, head_dim]` of queries of this shape, and keys and values `[rows, heads / group, head_dim]`.
/// `weights`: the key and the value `[heads, head_dim]` of rows that fill up the last block; else the first is
/// `[2 · farthest + 1, head_dim]`, the embedding of each distance, and the last block may be shorter.
pub fn attention_blocks(spec: BlockSpec, [q, k, v]: [&[f32]; 3], weights: [&[f32]; 2], out: &mut [f32]) {
    let BlockSpec { heads, group, head_dim, scale, queries, keys, farthest, filled } = spec;
    let width = heads * head_dim;
    let shared = width / group;
    let rows = k.len() / shared;
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    for at in (0..out.len()).step_by(head_dim) {
        let (row, of_head) = (at / width, at % width);
        let first = row / queries * keys;
        let count = if filled { keys } else { keys.min(rows.saturating_sub(first)) };
        // A row of keys or of values, or what stands for it.
        let head = |number: usize, at: usize| match at < rows {
            true => &[k, v][number][at * shared + of_head / head_dim / group * head_dim..][..head_dim],
            false => &weights[number][of_head..][..head_dim],
        };
        let query = &q[at..at + head_dim];
        let score = |key: usize| {
            let distance = (row % queries + farthest).saturating_sub(key);
            let far = weights[0].get(distance * head_dim..).filter(|_| farthest > 0).unwrap_or_default();
            scale * (dot(query, head(0, first + key)) + dot(query, far))
        };
        let scores: Vec<f32> = (0..count).map(score).collect();
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let shares: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f32 = shares.iter().sum();
        let own = &mut out[at..at + head_dim];
        own.fill(0.0);
        for (key, share) in shares.iter().enumerate() {
            let value = head(1, first + key);
            own.iter_mut().zip(value).for_each(|(sum, value)| *sum += share / total * value);
        }
    }
}
