//! Reductions, running sums, argmax and top-k along one axis of a tensor `[outer, length, inner]`.

use crate::sort::sorted_indices;
use std::cmp::Ordering;

/// The values of every line along the middle axis of x `[outer, length, inner]`, with the line's first index in x.
fn lines(x: &[f32], [outer, length, inner]: [usize; 3]) -> impl Iterator<Item = (usize, Vec<f32>)> {
    let starts = (0..outer).flat_map(move |a| (0..inner).map(move |c| a * length * inner + c));
    starts.map(move |start| (start, (0..length).map(|i| x[start + i * inner]).collect()))
}

/// x `[outer, length, inner]` → `[outer, inner]`: every line folded from `first` on.
pub fn reduce(x: &[f32], shape: [usize; 3], first: f64, fold: impl Fn(f64, f64) -> f64) -> Vec<f32> {
    let folded = |line: Vec<f32>| line.into_iter().fold(first, |sum, v| fold(sum, v.into())) as f32;
    lines(x, shape).map(|(_, line)| folded(line)).collect()
}

/// Descending, NaN last.
fn descending(a: f32, b: f32) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// x `[outer, length, inner]` → `[outer, inner]`: the index of the largest of each line, the lowest among equals. NaN
/// is less than all.
pub fn argmax_axis(x: &[f32], shape: [usize; 3]) -> Vec<u32> {
    let best = |line: Vec<f32>| (0..line.len()).min_by(|&a, &b| descending(line[a], line[b])).unwrap_or(0);
    lines(x, shape).map(|(_, line)| best(line) as u32).collect()
}

/// x `[rows, length]` → values and indices `[rows, k]` of the k largest of each row in descending order, the lowest
/// index first among equals. NaN is less than all.
pub fn top_k(x: &[f32], length: usize, k: usize) -> (Vec<f32>, Vec<u32>) {
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    for row in x.chunks_exact(length) {
        let order = sorted_indices(length, &mut |a, b| descending(row[a], row[b]).is_lt());
        values.extend(order[..k].iter().map(|&i| row[i]));
        indices.extend(order[..k].iter().map(|&i| i as u32));
    }
    (values, indices)
}

/// Sums along the middle axis of x `[outer, length, inner]`, of the values before each and, unless `exclusive`, of
/// the value itself.
pub fn cumsum(x: &[f32], shape: [usize; 3], exclusive: bool) -> Vec<f32> {
    let mut y = vec![0.0; x.len()];
    for (start, line) in lines(x, shape) {
        let mut sum = 0.0;
        for (i, value) in line.into_iter().enumerate() {
            let after = sum + f64::from(value);
            y[start + i * shape[2]] = if exclusive { sum } else { after } as f32;
            sum = after;
        }
    }
    y
}
