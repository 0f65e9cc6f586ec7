//! KV caches: `kvWrite` writes new rows, `attentionDecode` computes one token's attention over them.
//!
//! A cache is an f16 tensor `[kv heads, positions, dim]`, with a batch axis before that or without; `dim` is that of a
//! head, or the next multiple of 8. A cache that is full wraps around to its first row: then it is a sliding window.

use super::rope::{HeadShape, Layout};
use super::{DType, Tape, Tensor, describe};
use crate::kernels::attention::{Attention, Limits, Splits, attention_decode_at, split_count};
use crate::kernels::attention_strided::MAX_HEAD_DIM;
use crate::kernels::kv_write;
use crate::kernels::rope_kv::{Cache, Heads};
use crate::kernels::spec::MAX_WORKGROUPS;
use crate::{Error, ErrorCode, Result};

/// Options of [`kv_write()`].
#[derive(Debug, Clone, Default)]
pub struct KvWriteOptions {
    /// Order of x's axes.
    pub layout: Layout,
    /// Position of x's first token: the number of tokens written before it.
    pub position: u32,
}

/// Writes x f32 `[kv heads, tokens, dim]` (see [`Layout`]; with a batch axis if the cache has one), keys after RoPE or
/// values, into the cache in place: token t goes to row (position + t) modulo the cache's rows. Returns the cache.
///
/// # Errors
/// `invalid_argument` for other types and shapes.
pub fn kv_write(tape: &mut Tape, cache: &Tensor, x: &Tensor, options: &KvWriteOptions) -> Result<Tensor> {
    let bad = |why: String| {
        let message = format!("kvWrite: the cache is {} and x {}; {why}", cache.describe(), x.describe());
        Err(Error::invalid_argument(message))
    };
    let size = options.layout.sizes(&x.shape).filter(|_| x.shape.len() == cache.shape.len() && x.shape.len() > 2);
    let Some(size) = size.filter(|_| x.dtype == DType::F32) else {
        return bad("x has to be f32 with as many axes, 3 or 4".into());
    };
    let Some(rows) = cache_rows(cache, size) else {
        return bad(format!("such x needs a cache {}", wanted(cache, size)));
    };
    let Some(end) = options.position.checked_add(size.positions) else {
        return bad(format!("position {} is too large", options.position));
    };
    let HeadShape { batch, heads, positions, dim } = size;
    let tokens = positions.min(rows);
    let [x_batch, x_head, x_row] = options.layout.strides(size);
    let params = kv_write::Params {
        batch,
        heads,
        tokens,
        first: positions - tokens,
        head_dim: dim,
        x_batch,
        x_head,
        x_row,
        rows,
        row_words: dim.next_multiple_of(8) / 2,
        row: (end - tokens) % rows,
    };
    tape.push(kv_write::kv_write(&params, x.slice(), cache.slice()));
    Ok(cache.clone())
}

/// Options of [`attention_decode`].
#[derive(Debug, Clone, Default)]
pub struct AttentionDecodeOptions {
    /// Tokens written so far, that of the query among them. With more tokens than rows, the caches are
    /// sliding windows.
    pub length: u32,
    /// Sliding window: the query attends to at most this many keys, the last ones.
    pub window: Option<u32>,
    /// Factor of scores; 1 / √dim if not given.
    pub scale: Option<f32>,
    /// Scores become softCap · tanh(score / softCap).
    pub soft_cap: Option<f32>,
}

/// Attention of one token per sequence over its caches, split over the keys: q f32 `[heads, dim]`, or
/// `[batch, heads, dim]` with caches that have a batch axis; the result is like q. Query heads share key heads in order
/// where they are more.
///
/// # Errors
/// `invalid_argument` for other types and shapes, no tokens, and a window within caches that have wrapped around;
/// `limit_exceeded` for more than 65,535 heads of all sequences together.
pub fn attention_decode(
    tape: &mut Tape,
    q: &Tensor,
    k_cache: &Tensor,
    v_cache: &Tensor,
    options: &AttentionDecodeOptions,
) -> Result<Tensor> {
    let heads = decode_heads(q, k_cache, v_cache)?;
    check(options, heads.capacity)?;
    let y = tape.output(DType::F32, &q.shape)?;
    // All rows of caches that have wrapped around take part, in whatever order.
    let position = options.length.min(heads.capacity) - 1;
    let count = split_count(heads.capacity);
    let rows = u64::from(heads.heads * count);
    let splits =
        Splits { count, partial: tape.scratch(rows * u64::from(heads.head_dim) * 4)?, stats: tape.scratch(rows * 8)? };
    let problem = Attention {
        sinks: None,
        heads,
        scale: options.scale.unwrap_or((heads.head_dim as f32).sqrt().recip()),
        q: q.slice(),
        cache: Cache { k: k_cache.slice(), v: v_cache.slice() },
        y: y.slice(),
    };
    let limits =
        Limits { window: options.window.unwrap_or(0), soft_cap: options.soft_cap.unwrap_or(0.0), ..Limits::default() };
    let dispatches = attention_decode_at(tape.pass(), (1, position), &problem, &splits, limits);
    dispatches.into_iter().for_each(|dispatch| tape.push(dispatch));
    Ok(y)
}

/// The heads of all sequences: the kernel treats sequences as further key heads.
fn decode_heads(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Heads> {
    let bad = |why: String| {
        let [q, k, v] = [q, k, v].map(Tensor::describe);
        Err(Error::invalid_argument(format!("attentionDecode: q is {q}, the caches {k} and {v}; {why}")))
    };
    let (batch, heads, head_dim) = match *q.shape.as_slice() {
        [heads, dim] => (1, heads, dim),
        [batch, heads, dim] => (batch, heads, dim),
        _ => return bad("q has to be [heads, dim] or [batch, heads, dim]".into()),
    };
    if q.dtype != DType::F32 || k != &(Tensor { buffer: k.buffer, ..v.clone() }) {
        return bad("q has to be f32 and the caches equal in shape".into());
    }
    let kv_heads = k.shape.len().checked_sub(3).map_or(1, |at| k.shape[at]);
    let size = HeadShape { batch, heads: kv_heads, positions: 1, dim: head_dim };
    let Some(capacity) = cache_rows(k, size).filter(|_| k.shape.len() == q.shape.len() + 1) else {
        return bad(format!("such q needs caches {}", wanted(k, size)));
    };
    if !heads.is_multiple_of(kv_heads) || head_dim > MAX_HEAD_DIM {
        return bad("the heads of q have to be a multiple of the cache's, of at most 256 values".into());
    }
    let (heads, kv_heads) = (batch * heads, batch * kv_heads);
    if heads > MAX_WORKGROUPS {
        let message = format!("attentionDecode: q has {heads} heads in all, expected at most {MAX_WORKGROUPS}");
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    Ok(Heads::f16(heads, kv_heads, head_dim, capacity))
}

/// The rows of a cache for tokens of this size.
fn cache_rows(cache: &Tensor, size: HeadShape) -> Option<u32> {
    let HeadShape { batch, heads, dim, .. } = size;
    let width = dim.next_multiple_of(8);
    let rows = match *cache.shape.as_slice() {
        [h, rows, w] if [1, heads, width] == [batch, h, w] => Some(rows),
        [b, h, rows, w] if [batch, heads, width] == [b, h, w] => Some(rows),
        _ => None,
    };
    rows.filter(|_| cache.dtype == DType::F16)
}

/// The shape of a cache that [`cache_rows`] takes, for messages.
fn wanted(cache: &Tensor, size: HeadShape) -> String {
    let rows = cache.shape.len().checked_sub(2).map_or(1, |at| cache.shape[at]);
    let shape = [size.batch, size.heads, rows, size.dim.next_multiple_of(8)];
    describe(DType::F16, if cache.shape.len() == 4 { &shape } else { &shape[1..] })
}

fn check(options: &AttentionDecodeOptions, rows: u32) -> Result<()> {
    let bad = |why: String| Err(Error::invalid_argument(format!("attentionDecode: {why}")));
    let AttentionDecodeOptions { length, window, scale, soft_cap } = *options;
    if length == 0 {
        return bad("length is 0, the query's own token counts".into());
    }
    if window == Some(0) {
        return bad("window is 0, it must be a positive number".into());
    }
    if window.is_some_and(|window| length > rows && window < rows) {
        return bad(format!("window {window:?} within caches of {rows} rows that start over before token {length}"));
    }
    for (name, number) in [("scale", scale), ("softCap", soft_cap)] {
        if let Some(number) = number.filter(|x| !(x.is_finite() && *x > 0.0)) {
            return bad(format!("{name} is {number}, it must be a positive number"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    #[test]
    fn what_does_not_fit_is_named() {
        let mut tape = Tape::new(Caps::baseline());
        let cache = tape.output(DType::F16, &[2, 10, 40]).unwrap();
        let x = tape.output(DType::F32, &[2, 3, 32]).unwrap();
        let found = kv_write(&mut tape, &cache, &x, &KvWriteOptions::default()).unwrap_err().message().to_owned();
        let expected = "cache is [2, 10, 40] f16 and x [2, 3, 32] f32; such x needs a cache [2, 10, 32] f16";
        assert!(found.contains(expected), "{found}");
        let q = tape.output(DType::F32, &[4, 36]).unwrap();
        let mut message = |options: &AttentionDecodeOptions| {
            attention_decode(&mut tape, &q, &cache, &cache, options).unwrap_err().message().to_owned()
        };
        assert!(message(&AttentionDecodeOptions::default()).contains("length is 0"));
        let within = AttentionDecodeOptions { length: 11, window: Some(5), ..Default::default() };
        assert!(message(&within).contains("10 rows that start over before token 11"));
        let flat = AttentionDecodeOptions { length: 1, soft_cap: Some(-1.0), ..Default::default() };
        assert!(message(&flat).contains("softCap is -1"));
    }

    #[test]
    fn writing_returns_the_cache() {
        let mut tape = Tape::new(Caps::baseline());
        let cache = tape.output(DType::F16, &[2, 10, 32]).unwrap();
        let x = tape.output(DType::F32, &[2, 3, 31]).unwrap();
        assert_eq!(kv_write(&mut tape, &cache, &x, &KvWriteOptions::default()), Ok(cache));
    }
}
