//! Attention of an input over its own rows.

use crate::kernels::attention::reference::{Alibi, AttentionShape, ByDistance, attention};

/// Which rows of its input a row sees: all, or with `causal` those up to itself; of these with a window those at most
/// `window / 2` away, or with `causal` the last `window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visible {
    /// Whether a row sees none after itself.
    pub causal: bool,
    /// Sliding window.
    pub window: Option<usize>,
}

impl Visible {
    /// The rows that row `i` of `rows` sees.
    pub fn of(self, i: usize, rows: usize) -> std::ops::Range<usize> {
        match (self.causal, self.window) {
            (false, None) => 0..rows,
            (false, Some(window)) => i.saturating_sub(window / 2)..rows.min(i.saturating_add(window / 2 + 1)),
            (true, window) => window.map_or(0, |window| (i + 1).saturating_sub(window))..i + 1,
        }
    }
}

/// Row `i` of one input: `out = softmax(scale · q · kᵀ) · v` over the rows that it sees, with `q` and `out` `[heads,
/// head_dim]`, `keys` and `values` `[rows, kv_heads, head_dim]`. Of `shape` heads, scale and cap count.
pub fn attention_batch(
    shape: AttentionShape,
    visible: Visible,
    (i, q): (usize, &[f32]),
    [keys, values]: [&[f32]; 2],
    out: &mut [f32],
) {
    let width = shape.kv_heads * shape.head_dim;
    let seen = visible.of(i, keys.len() / width);
    // As the last of a text of just these rows.
    let alibi = shape.alibi.map(|alibi| Alibi { ahead: seen.end - 1 - i, ..alibi });
    let distances = shape.distances.map(|of| ByDistance { ahead: seen.end - 1 - i, ..of });
    let shape = AttentionShape { position: seen.len() - 1, window: None, alibi, distances, ..shape };
    let [keys, values] = [keys, values].map(|rows| &rows[seen.start * width..seen.end * width]);
    attention(shape, q, keys, values, out);
}
