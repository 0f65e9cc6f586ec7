//! Attention of the cells of a square grid.

use crate::model::program::GridSpec;

/// Two tables `[places, head_dim]` of distances, and the key and the value `[heads, head_dim]` of cells outside of the
/// grid.
pub type GridWeights<'a> = [[&'a [f32]; 2]; 2];

/// `out` `[heads, head_dim]` of the cell `cell`, of queries, keys and values of this shape.
#[inline(never)]
pub fn attention_grid(spec: GridSpec, cell: usize, [q, k, v]: [&[f32]; 3], weights: GridWeights, out: &mut [f32]) {
    let GridSpec { heads, head_dim, scale, window, .. } = spec;
    let width = heads * head_dim;
    let side = (k.len() / width).isqrt();
    let [line, column] = [cell / side, cell % side];
    let first = |at: usize| at.checked_div(window).map_or(0, |number| number * window);
    let count = if window > 0 { window } else { side };
    let [top, left] = [line, column].map(first);
    let [tables, fill] = weights;
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    for of_head in (0..width).step_by(head_dim) {
        let query = &q[cell * width + of_head..][..head_dim];
        let far = |table: &[f32], own: usize| -> Vec<f32> {
            let at = |key: usize| dot(query, &embedding(spec, table, own + count - 1 - key, count));
            (0..count).map(at).collect()
        };
        let [below, beside] = [far(tables[0], line - top), far(tables[1], column - left)];
        let at = |key: usize| {
            let [y, x] = [top + key / count, left + key % count];
            (y < side && x < side).then_some((y * side + x) * width)
        };
        let of = |number: usize, key: usize| {
            let row = at(key).map_or(fill[number], |at| &[k, v][number][at..]);
            &row[of_head..of_head + head_dim]
        };
        let score = |key: usize| scale * dot(query, of(0, key)) + below[key / count] + beside[key % count];
        let scores: Vec<f32> = (0..count * count).map(score).collect();
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let shares: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f32 = shares.iter().sum();
        let own = &mut out[of_head..of_head + head_dim];
        own.fill(0.0);
        for (key, share) in shares.iter().enumerate() {
            own.iter_mut().zip(of(1, key)).for_each(|(sum, value)| *sum += share / total * value);
        }
    }
}

/// The embedding of a distance of `2 · count - 1`: between two rows of a table of another length.
fn embedding(spec: GridSpec, table: &[f32], distance: usize, count: usize) -> Vec<f32> {
    let last = (spec.places - 1) as f32;
    let at = ((distance as f32 + 0.5) / ((2 * count - 1) as f32 / spec.places as f32) - 0.5).max(0.0);
    let first = at.floor().min(last);
    let share = at - first;
    let row = |row: f32| &table[row as usize * spec.head_dim..][..spec.head_dim];
    let (before, behind) = (row(first), row((first + 1.0).min(last)));
    before.iter().zip(behind).map(|(before, behind)| before * (1.0 - share) + behind * share).collect()
}
