//! Causal attention with grouped queries (Vaswani et al. 2017, <https://arxiv.org/abs/1706.03762>; Ainslie et al. 2023,
//! <https://arxiv.org/abs/2305.13245>).

use std::ops::Range;

use crate::kernels::kv_type::cache::{CacheElement, HeadRows};
use crate::kernels::mat_vec::reference::dot;
use crate::kernels::reference::softmax;
use crate::simd::add_scaled;

/// The sizes of one attention.
#[derive(Debug, Clone, Copy)]
pub struct AttentionShape<'a> {
    /// Query heads, a multiple of `kv_heads`. Heads `g·n … g·n + n − 1` share key and value head `g`, `n = heads /
    /// kv_heads`.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Elements per head.
    pub head_dim: usize,
    /// Elements of a head of the values that count, from the first; of the result.
    pub value_dim: usize,
    /// The position of the first query: query `t` attends to the keys `0 ..= position + t`, or the last
    /// `window` of them.
    pub position: usize,
    /// Factor of scores.
    pub scale: f32,
    /// Keys that a query attends to, its own included; `None`: all up to its own.
    pub window: Option<usize>,
    /// `cap · tanh(score / cap)` replaces each score.
    pub soft_cap: Option<f32>,
    /// Scores fall with the distance of a key.
    pub alibi: Option<Alibi>,
    /// Scores have a learned bias by the distance of a key.
    pub distances: Option<ByDistance<'a>>,
}

/// Learned biases of scores (T5, Raffel et al. 2019, <https://arxiv.org/abs/1910.10683>).
#[derive(Debug, Clone, Copy)]
pub struct ByDistance<'a> {
    /// `[buckets, heads]`
    pub table: &'a [f32],
    /// Whether half of the buckets are for keys behind the query.
    pub both_ways: bool,
    /// Keys behind the query that it sees.
    pub ahead: usize,
}

/// All keys that are farther away share a bucket.
const FARTHEST: f64 = 128.0;

impl ByDistance<'_> {
    fn bias(&self, head: usize, heads: usize, ahead: i64) -> f32 {
        self.table[distance_bucket(ahead, self.table.len() / heads, self.both_ways) * heads + head]
    }
}

/// The bucket of a key that is `ahead` positions behind the query in the text; negative: before it.
pub fn distance_bucket(ahead: i64, buckets: usize, both_ways: bool) -> usize {
    let (buckets, first, distance) = match both_ways {
        true if ahead > 0 => (buckets / 2, buckets / 2, ahead.unsigned_abs()),
        true => (buckets / 2, 0, ahead.unsigned_abs()),
        false => (buckets, 0, ahead.min(0).unsigned_abs()),
    };
    let exact = buckets / 2;
    if distance < exact as u64 {
        return first + distance as usize;
    }
    // In the precisions of the C library's functions in llama.cpp: 32 bits up to the quotient of both logarithms.
    let logarithm = (distance as f64 / exact as f64) as f32;
    let share = f64::from(logarithm.ln() * (buckets - exact) as f32) / (FARTHEST / exact as f64).ln();
    let far = ((exact as f64 + share) as f32).floor() as usize;
    first + far.min(buckets - 1)
}

/// Attention with linear biases (Press et al. 2021, <https://arxiv.org/abs/2108.12409>).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alibi {
    /// The first of n heads have the slopes `2^(-bias · k / n)`, with the largest power of two for n; the others those
    /// between them.
    pub bias: f32,
    /// Keys behind the query that it sees.
    pub ahead: usize,
}

impl Alibi {
    /// The ALiBi slope of a head: how much scores fall with each row of distance.
    fn slope(self, head: usize, heads: usize) -> f32 {
        let first = 1 << heads.max(1).ilog2();
        let power = if head < first { head as f32 + 1.0 } else { (head - first) as f32 + 0.5 };
        (-self.bias * power / first as f32).exp2()
    }
}

impl AttentionShape<'_> {
    /// Scores divided by √head_dim, no window and no cap.
    pub fn plain([heads, kv_heads, head_dim]: [usize; 3], position: usize) -> Self {
        let scale = (head_dim as f32).sqrt().recip();
        let value_dim = head_dim;
        let (window, soft_cap, alibi, distances) = (None, None, None, None);
        Self { heads, kv_heads, head_dim, value_dim, position, scale, window, soft_cap, alibi, distances }
    }
}

/// `out = softmax(scale · q · kᵀ, causal) · v`, with `q` `[tokens, heads, head_dim]`, `out` `[tokens, heads,
/// value_dim]`, `keys` and `values` `[positions, kv_heads, head_dim]`, positions at least `position + tokens`.
///
/// # Panics
/// If the lengths do not fit the shape.
pub fn attention<T: CacheElement>(shape: AttentionShape, q: &[f32], keys: &[T], values: &[T], out: &mut [f32]) {
    attention_over(shape, None, q, [&keys, &values], out);
}

/// The same over keys and values kept in any way, with `sinks` `[heads]`: a logit of each head takes part in its
/// softmax without a value (Xiao et al. 2023, <https://arxiv.org/abs/2309.17453>).
///
/// # Panics
/// If the lengths do not fit the shape.
pub fn attention_over(
    shape: AttentionShape,
    sinks: Option<&[f32]>,
    q: &[f32],
    kv: [&dyn HeadRows; 2],
    out: &mut [f32],
) {
    let AttentionShape { heads, kv_heads, head_dim, value_dim, position, .. } = shape;
    let [width, out_width] = [head_dim, value_dim].map(|of| heads * of);
    let tokens = q.len() / width;
    assert!(heads.is_multiple_of(kv_heads) && q.len() == tokens * width, "shape of queries");
    assert!(value_dim <= head_dim && out.len() == tokens * out_width, "shape of results");
    let needed = (position + tokens) * kv_heads;
    let found = kv.map(|rows| rows.rows(head_dim));
    assert!(found.iter().all(|&rows| rows >= needed), "{found:?} keys and values, {needed} needed");
    let [group, out_group] = [head_dim, value_dim].map(|of| heads / kv_heads * of);
    for (token, (q, out)) in q.chunks_exact(width).zip(out.chunks_exact_mut(out_width)).enumerate() {
        let end = position + token + 1;
        let seen = shape.window.map_or(0, |window| end.saturating_sub(window))..end;
        for (head, (q, out)) in q.chunks_exact(group).zip(out.chunks_exact_mut(out_group)).enumerate() {
            let of_head = kv.map(|rows| OneHead { rows, seen: seen.clone(), heads: kv_heads, head, head_dim });
            let sinks = sinks.map(|sinks| &sinks[head * heads / kv_heads..][..heads / kv_heads]);
            attend(&shape, sinks, q, of_head, out);
        }
    }
}

/// One head's rows at some positions.
struct OneHead<'a> {
    rows: &'a dyn HeadRows,
    seen: Range<usize>,
    heads: usize,
    head: usize,
    head_dim: usize,
}

impl OneHead<'_> {
    /// Calls `use_row` with the number of each position and its `[head_dim]`.
    fn for_each(&self, mut use_row: impl FnMut(usize, &[f32])) {
        let mut row = vec![0.0; self.head_dim];
        for (number, position) in self.seen.clone().enumerate() {
            self.rows.read(position * self.heads + self.head, &mut row);
            use_row(number, &row);
        }
    }
}

/// The query heads that share one key and value head: `q` `[group, head_dim]`, `out` `[group, value_dim]`.
fn attend(shape: &AttentionShape, sinks: Option<&[f32]>, q: &[f32], [keys, values]: [OneHead; 2], out: &mut [f32]) {
    let (head_dim, positions) = (keys.head_dim, keys.seen.len());
    let cap = |score: f32| shape.soft_cap.map_or(score, |cap| cap * (score / cap).tanh());
    let group = q.len() / head_dim;
    let mut scores = vec![0.0; group * positions];
    let first = keys.head * shape.heads / shape.kv_heads;
    let bias = |head: usize, position: usize| {
        if let Some(of) = shape.distances {
            return -of.bias(first + head, shape.heads, position as i64 - (positions - 1 - of.ahead) as i64);
        }
        let Some(alibi) = shape.alibi else { return 0.0 };
        alibi.slope(first + head, shape.heads) * (positions - 1 - alibi.ahead).abs_diff(position) as f32
    };
    keys.for_each(|position, key| {
        for head in 0..group {
            let product = dot(&q[head * head_dim..][..head_dim], key);
            scores[head * positions + position] = cap(product * shape.scale) - bias(head, position);
        }
    });
    for (head, scores) in scores.chunks_exact_mut(positions).enumerate() {
        let share = sinks.map_or(1.0, |sinks| share_beside(sinks[head], scores));
        softmax(scores);
        scores.iter_mut().for_each(|score| *score *= share);
    }
    out.fill(0.0);
    values.for_each(|position, value| {
        for head in 0..group {
            let share = scores[head * positions + position];
            add_scaled(&mut out[head * shape.value_dim..][..shape.value_dim], share, value);
        }
    });
}

/// The share of the softmax that `scores` have beside one more score.
fn share_beside(sink: f32, scores: &[f32]) -> f32 {
    let high = scores.iter().copied().fold(sink, f32::max);
    let sum: f64 = scores.iter().map(|score| f64::from(score - high).exp()).sum();
    (sum / (sum + f64::from(sink - high).exp())) as f32
}

#[cfg(test)]
mod tests {
    use super::distance_bucket;

    #[test]
    fn buckets_of_distances_are_those_of_t5() {
        let both: Vec<usize> =
            [0, -1, -7, -8, -11, -12, -16, -23, -127, -128, -500].map(|at| distance_bucket(at, 32, true)).into();
        assert_eq!(both, [0, 1, 7, 8, 8, 9, 10, 11, 15, 15, 15]);
        assert_eq!([1, 7, 8, 12, 500].map(|at| distance_bucket(at, 32, true)), [17, 23, 24, 25, 31]);
        assert_eq!(
            [5, 0, -15, -16, -20, -32, -128].map(|at| distance_bucket(at, 32, false)),
            [0, 0, 15, 16, 17, 21, 31]
        );
    }

    /// The arithmetic of `shaders/rare/shared/distances.wgsl`.
    fn as_in_the_shader(distance: u32, buckets: u32) -> u32 {
        let exact = buckets / 2;
        if distance < exact {
            return distance;
        }
        let share = (distance as f32 / exact as f32).ln() / (128.0 / exact as f32).ln();
        (exact + (share * (buckets - exact) as f32 + 2e-5) as u32).min(buckets - 1)
    }

    #[test]
    fn the_shader_finds_the_same_buckets() {
        for (buckets, distance) in (4..=128).flat_map(|buckets| (0..300).map(move |distance| (buckets, distance))) {
            let expected = distance_bucket(-i64::from(distance), buckets, false);
            assert_eq!(as_in_the_shader(distance, buckets as u32) as usize, expected, "{distance} of {buckets}");
        }
    }
}
