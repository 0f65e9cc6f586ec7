//! Operations of language models, and Sinkhorn's projection.

use super::tensor::plain;
use super::{AttentionDecodeOptions, AttentionOptions, KvWriteOptions, RopeOptions, SinkhornOptions, Tensor};
use crate::Result;
use crate::tensor::attention::attention;
use crate::tensor::kv_cache::{attention_decode, kv_write};
use crate::tensor::norm::sinkhorn;
use crate::tensor::rope::rope;
use crate::tensor::scan::{ScanInputs, selective_scan};

/// The inputs of [`Tensor::selective_scan`] besides x, all f32.
#[derive(Debug, Clone, Copy)]
pub struct SelectiveScan<'a> {
    /// `[batch, length, channels]`: the steps, above 0.
    pub delta: &'a Tensor,
    /// `[channels, n]`, below 0.
    pub a: &'a Tensor,
    /// `[batch, length, n]`
    pub b: &'a Tensor,
    /// `[batch, length, n]`
    pub c: &'a Tensor,
    /// `[channels]`; nothing is added where it is missing.
    pub d: Option<&'a Tensor>,
    /// `[batch, channels, n]`: the state before the first step; 0 where it is missing.
    pub state: Option<&'a Tensor>,
}

/// # Operations of models
impl Tensor {
    /// softmax(q · kᵀ · scale + mask) · v for each head, without storing the scores (Dao et al. 2022,
    /// <https://arxiv.org/abs/2205.14135>): this is q, f32 `[batch, heads, queries, dim]`; k and v f32 or f16
    /// `[batch, kv heads, keys, dim]`, whose heads those of q share in order; leading axes may be missing. The mask,
    /// f32, broadcasts to `[batch, heads, queries, keys]` → f32 like q. A query that sees no key gets zeros.
    ///
    /// # Errors
    /// `invalid_argument` where shapes, types or options do not fit, and for heads of more than 256 values.
    pub fn attention(
        &self,
        k: &Tensor,
        v: &Tensor,
        mask: Option<&Tensor>,
        options: &AttentionOptions,
    ) -> Result<Tensor> {
        self.make("attention", &[Some(k), Some(v), mask], |tape| {
            attention(tape, self.plain(), k.plain(), v.plain(), plain(mask), options)
        })
    }

    /// Writes x, f32 `[kv heads, tokens, dim]`, keys after RoPE or values, into this cache in place: f16
    /// `[kv heads, rows, dim]` with dim rounded up to a multiple of 8, or both with a batch axis before. Token t goes
    /// to row (position + t) modulo the rows: a full cache is a ring of the latest tokens.
    ///
    /// # Errors
    /// `invalid_argument` for other types and shapes.
    pub fn kv_write(&self, x: &Tensor, options: &KvWriteOptions) -> Result<()> {
        self.record("kvWrite", &[Some(x)], |tape| kv_write(tape, self.plain(), x.plain(), options)).map(drop)
    }

    /// Attention of one token per sequence over its caches, split over the keys: this is q, f32 `[heads, dim]`, or
    /// `[batch, heads, dim]` with caches that have a batch axis; the caches are what [`Tensor::kv_write`] filled →
    /// f32 like q.
    ///
    /// # Errors
    /// `invalid_argument` for other types and shapes, no tokens, and a window in caches that have wrapped around.
    pub fn attention_decode(
        &self,
        k_cache: &Tensor,
        v_cache: &Tensor,
        options: &AttentionDecodeOptions,
    ) -> Result<Tensor> {
        self.make("attentionDecode", &[Some(k_cache), Some(v_cache)], |tape| {
            attention_decode(tape, self.plain(), k_cache.plain(), v_cache.plain(), options)
        })
    }

    /// Rotary position embedding (Su et al. 2021, <https://arxiv.org/abs/2104.09864>): rotates the pairs of each head
    /// by its position. This is f32 `[batch, head, position, dim]`, leading axes may be missing; the table is one of
    /// [`Device::rope_table`](crate::Device::rope_table) → f32 like this.
    ///
    /// # Errors
    /// `invalid_argument` where shapes, types or options do not fit, and for options that contradict a table.
    pub fn rope(&self, table: Option<&Tensor>, options: &RopeOptions) -> Result<Tensor> {
        self.make("rope", &[table], |tape| rope(tape, self.plain(), plain(table), options))
    }

    /// Mamba's recurrence (Gu and Dao 2023, <https://arxiv.org/abs/2312.00752>): at every step of this, x f32
    /// `[batch, length, channels]`, h = exp(Δ·A)·h + Δ·B·x and y = C·h + D·x → y like x, and the state after the last
    /// step, `[batch, channels, n]` f32, to go on with.
    ///
    /// # Errors
    /// `invalid_argument` where shapes or types do not fit.
    pub fn selective_scan(&self, inputs: &SelectiveScan) -> Result<(Tensor, Tensor)> {
        let &SelectiveScan { delta, a, b, c, d, state } = inputs;
        let others = [Some(delta), Some(a), Some(b), Some(c), d, state];
        let [delta, a, b, c] = [delta, a, b, c].map(Tensor::plain);
        let scan = ScanInputs { x: self.plain(), delta, a, b, c, d: plain(d), state: plain(state) };
        let made = self.record("selectiveScan", &others, |tape| selective_scan(tape, &scan))?;
        let [y, state] = made.map(|made| self.device().own(made));
        Ok((y, state))
    }

    /// Projects matrices, f32 `[.., n, n]` without negative numbers (which nothing checks), onto the doubly stochastic
    /// ones: rows and columns are divided by their sums in turn (Sinkhorn and Knopp 1967) → f32 like x. A row or column
    /// of zeros stays one.
    ///
    /// # Errors
    /// `invalid_argument` where shapes, types or options do not fit.
    pub fn sinkhorn(&self, options: &SinkhornOptions) -> Result<Tensor> {
        self.make("sinkhorn", &[], |tape| sinkhorn(tape, self.plain(), options))
    }
}
