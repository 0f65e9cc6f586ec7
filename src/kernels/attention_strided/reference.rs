//! Attention of any queries over any keys, in f64.

/// Masking, scale and soft cap.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttentionRules {
    /// Query i attends to the keys up to `i + keys − queries`.
    pub causal: bool,
    /// Sliding window: at most this many of these keys, the last ones.
    pub window: Option<usize>,
    /// Factor of scores.
    pub scale: f64,
    /// Soft cap: scores become `cap · tanh(score / cap)`.
    pub soft_cap: Option<f64>,
}

/// One head: rows of `[head_dim]`.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Queries.
    pub q: &'a [&'a [f32]],
    /// Keys.
    pub k: &'a [&'a [f32]],
    /// Values, one per key.
    pub v: &'a [&'a [f32]],
}

/// `softmax(q · kᵀ · scale + mask) · v` of one head, `[queries, head_dim]`; `mask(i, j)` is added to the score of query
/// i and key j, and one below −10³⁸ masks the key. A query that attends to no key gets zeros.
pub fn attention_head(rules: &AttentionRules, head: Head, mask: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    let queries = head.q.len();
    let row = |i: usize| row(rules, head, i, &|j| mask(i, j));
    (0..queries).flat_map(row).collect()
}

fn row(rules: &AttentionRules, head: Head, i: usize, mask: &dyn Fn(usize) -> f32) -> Vec<f32> {
    let (queries, keys, q) = (head.q.len(), head.k.len(), head.q[i]);
    let end = if rules.causal { (i + 1 + keys).saturating_sub(queries) } else { keys };
    let start = rules.window.map_or(0, |window| end.saturating_sub(window));
    let score = |j: usize| {
        let product: f64 = q.iter().zip(head.k[j]).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum();
        let score = product * rules.scale;
        rules.soft_cap.map_or(score, |cap| cap * (score / cap).tanh()) + f64::from(mask(j))
    };
    let seen: Vec<(usize, f64)> = (start..end).filter(|&j| mask(j) > -1e38).map(|j| (j, score(j))).collect();
    let high = seen.iter().fold(f64::NEG_INFINITY, |high, (_, score)| high.max(*score));
    let total: f64 = seen.iter().map(|(_, score)| (score - high).exp()).sum();
    let mut out = vec![0.0; q.len()];
    for (j, score) in seen {
        let weight = (score - high).exp() / total;
        out.iter_mut().zip(head.v[j]).for_each(|(out, &v)| *out += weight * f64::from(v));
    }
    out.into_iter().map(|out: f64| out as f32).collect()
}
