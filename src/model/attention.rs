//! The attributes of attention and rotation in a program.

use super::roles::WeightKey;
use super::{RopeScaling, RopeSections, RopeStyle};

/// Divisors of the frequencies of a rotary embedding, `[dims / 2]` each, where the file has them. Some files have two
/// (long RoPE, Ding et al. 2024, <https://arxiv.org/abs/2402.13753>), some one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RopeFactors {
    /// Factors for a context of up to `original_context` tokens.
    pub short: WeightKey,
    /// Factors for a longer context.
    pub long: WeightKey,
    /// The context of the original training, in tokens.
    pub original_context: usize,
}

impl RopeFactors {
    /// Factors that are the same for every context.
    pub const fn of(key: WeightKey) -> Self {
        Self { short: key, long: key, original_context: 0 }
    }

    /// The factors for a context of `context` tokens.
    pub fn for_context(self, context: usize) -> WeightKey {
        if context > self.original_context { self.long } else { self.short }
    }
}

/// The angles of a rotary embedding (Su et al. 2021, <https://arxiv.org/abs/2104.09864>): pair `i` of a head turns by
/// `position · theta^(−2i / dims) / factors[i]` radians, scaled by `scaling`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RopeTable {
    /// Which values of a head form a pair.
    pub style: RopeStyle,
    /// Values of each head that are rotated; even, 0 for none.
    pub dims: usize,
    /// Values of a head before the rotated ones.
    pub first: usize,
    /// The base of the frequencies.
    pub theta: f32,
    /// The scaling for longer contexts.
    pub scaling: RopeScaling,
    /// Divisors of the frequencies.
    pub factors: Option<RopeFactors>,
    /// The axis of a position that each pair turns by; `None`: all turn by the first axis.
    pub sections: Option<RopeSections>,
}

impl RopeTable {
    /// Whether a pair is rotated; pairs in no section are not.
    pub fn turns(&self, pair: usize) -> bool {
        self.sections.is_none_or(|sections| sections.axis(pair).is_some())
    }
}

/// Queries at position `p` are multiplied by `1 + scale · ln(⌊p / span⌋ + 1)` (Llama 4's and Mistral 3's attention
/// temperature, after Nakanishi 2025, <https://arxiv.org/abs/2501.19399>).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Temperature {
    /// The growth of the temperature.
    pub scale: f32,
    /// The number of positions that share a temperature.
    pub span: usize,
}

impl Temperature {
    /// The factor of a query at this position.
    pub fn at(self, position: usize) -> f32 {
        1.0 + self.scale * ((position / self.span + 1) as f32).ln()
    }
}

/// The shape of one attention layer, with its mask and the functions of its scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionSpec {
    /// Query heads, a multiple of `kv_heads`.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Values per head; even.
    pub head_dim: usize,
    /// Values of a head that are used from v, from the first on, and values of a head of the result; even. v is as wide
    /// as k.
    pub value_dim: usize,
    /// Factor of attention scores.
    pub scale: f32,
    /// A query sees itself and the `window − 1` tokens before it; `None`: all tokens before it.
    pub window: Option<usize>,
    /// `cap · tanh(score / cap)` replaces each score.
    pub soft_cap: Option<f32>,
    /// Temperature of queries at far positions.
    pub temperature: Option<Temperature>,
    /// ALiBi: scores fall with the distance of a key, with a slope for each head. The slopes follow from this bias
    /// (Press et al. 2021, <https://arxiv.org/abs/2108.12409>).
    pub alibi: Option<f32>,
    /// `[heads]`: a logit that takes part in the softmax without a value (Xiao et al. 2023,
    /// <https://arxiv.org/abs/2309.17453>).
    pub sinks: Option<WeightKey>,
    /// T5: each score has a learned bias by the distance of its key.
    pub distances: Option<Distances>,
}

/// Learned biases of scores by the distance of a key. Near distances have a bucket each, farther ones share buckets
/// that grow with the logarithm of the distance up to 128 (Raffel et al. 2019, <https://arxiv.org/abs/1910.10683>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distances {
    /// `[buckets, heads]`
    pub table: WeightKey,
    /// The number of buckets.
    pub buckets: usize,
    /// Whether half of the buckets are for keys behind the query.
    pub both_ways: bool,
}

impl AttentionSpec {
    /// Attention with scaled scores only, and values as wide as keys.
    pub const fn plain([heads, kv_heads, head_dim]: [usize; 3], scale: f32) -> Self {
        Self {
            heads,
            kv_heads,
            head_dim,
            value_dim: head_dim,
            scale,
            window: None,
            soft_cap: None,
            temperature: None,
            alibi: None,
            sinks: None,
            distances: None,
        }
    }

    /// Values of all query heads of a token.
    pub fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Values of all key heads of a token, and of all value heads.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Values of the result of a token.
    pub fn attended_width(&self) -> usize {
        self.heads * self.value_dim
    }
}

/// The shape of local attention: the score of a key at distance d is `q · (k_scale · k + far[d])`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearSpec {
    /// Heads.
    pub heads: usize,
    /// Values per head.
    pub head_dim: usize,
    /// Rows that a row sees, its own included: up to [`MAX_SPAN`](crate::kernels::attention_near::MAX_SPAN) on the GPU.
    pub span: usize,
    /// Factor of scores.
    pub scale: f32,
    /// Factor of keys.
    pub k_scale: f32,
    /// `cap · tanh(score / cap)` replaces each score.
    pub soft_cap: f32,
}

/// Attention to all rows, with an embedding of the distance in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarSpec {
    /// Heads.
    pub heads: usize,
    /// Values per head.
    pub head_dim: usize,
    /// Factor of scores.
    pub scale: f32,
}

/// Attention of blocks of rows to blocks of others, see [`Op::AttendBlocks`](super::program::Op::AttendBlocks).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockSpec {
    /// Heads.
    pub heads: usize,
    /// Heads that share a key and a value; more than 1 only where distances have no embedding and no block is filled.
    pub group: usize,
    /// Values per head.
    pub head_dim: usize,
    /// Factor of scores.
    pub scale: f32,
    /// Rows of a block.
    pub queries: usize,
    /// Rows that each of them sees.
    pub keys: usize,
    /// The largest distance between two rows that has an embedding; 0 where distances have none.
    pub farthest: usize,
    /// Whether rows of the layers are seen, not of the same pass, and a last block is filled up.
    pub filled: bool,
}

/// Attention of the rows of a square grid, see [`Op::AttendGrid`](super::program::Op::AttendGrid).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridSpec {
    /// Heads.
    pub heads: usize,
    /// Values per head.
    pub head_dim: usize,
    /// Factor of scores.
    pub scale: f32,
    /// Rows along a side of a window; 0: all are seen.
    pub window: usize,
    /// Distances that have an embedding.
    pub places: usize,
}

/// The rows of its input that a row sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sight {
    /// All rows.
    All,
    /// Itself and the rows before it.
    Causal,
    /// The rows of its own window, where the caller cuts an image into windows.
    Part,
}

/// The keys of an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Causal attention over the KV cache with this index, to which the operation appends its keys and values.
    Cached(usize),
    /// The same, where another block attends to the cache: the operation appends, and writes no result.
    Kept(usize),
    /// The rows of the same input that a row sees. If it sees rows behind it, a window reaches `window / 2` rows to
    /// either side.
    OfInput(Sight),
}
