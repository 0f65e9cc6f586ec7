//! What a program says about attention and the rotation of queries and keys.

use super::roles::WeightKey;
use super::{RopeScaling, RopeSections, RopeStyle};

/// Divisors of the frequencies of a rotary embedding, `[dims / 2]` each, where the file has them. Some files have two
/// (long RoPE, Ding et al. 2024, <https://arxiv.org/abs/2402.13753>), some one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RopeFactors {
    /// For a context of up to `original_context` tokens.
    pub short: WeightKey,
    /// For a longer one.
    pub long: WeightKey,
    /// In tokens.
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
    /// Which values of a head make a pair.
    pub style: RopeStyle,
    /// Values of each head that are rotated; even, 0 for none.
    pub dims: usize,
    /// Values of a head before these.
    pub first: usize,
    /// The base of the frequencies.
    pub theta: f32,
    /// How contexts beyond the original one are reached.
    pub scaling: RopeScaling,
    /// Divisors of the frequencies.
    pub factors: Option<RopeFactors>,
    /// Which axis of a position a pair turns by; `None`: all by the first.
    pub sections: Option<RopeSections>,
}

impl RopeTable {
    /// Whether a pair turns: those in no section do not.
    pub fn turns(&self, pair: usize) -> bool {
        self.sections.is_none_or(|sections| sections.axis(pair).is_some())
    }
}

/// Queries at position `p` are multiplied by `1 + scale · ln(⌊p / span⌋ + 1)` (Llama 4's and Mistral 3's attention
/// temperature, after Nakanishi 2025, <https://arxiv.org/abs/2501.19399>).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Temperature {
    /// How fast it grows.
    pub scale: f32,
    /// Positions of one temperature.
    pub span: usize,
}

impl Temperature {
    /// What a query at this position is multiplied by.
    pub fn at(self, position: usize) -> f32 {
        1.0 + self.scale * ((position / self.span + 1) as f32).ln()
    }
}

/// The shape of one attention layer, and what bounds its scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionSpec {
    /// Query heads, a multiple of `kv_heads`.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Values per head; even.
    pub head_dim: usize,
    /// Values of a head of v that count, from the first, and of a head of the result; even. v is as wide as k.
    pub value_dim: usize,
    /// What products of queries and keys are multiplied by.
    pub scale: f32,
    /// A query sees itself and the `window − 1` tokens before it; `None`: all tokens before it.
    pub window: Option<usize>,
    /// `cap · tanh(score / cap)` replaces each score.
    pub soft_cap: Option<f32>,
    /// What far queries are multiplied by.
    pub temperature: Option<Temperature>,
    /// Scores fall with the distance of a key, of each head by a slope of its own: the bias that the slopes follow from
    /// (ALiBi, Press et al. 2021, <https://arxiv.org/abs/2108.12409>).
    pub alibi: Option<f32>,
    /// `[heads]`: a logit that takes part in the softmax without a value (Xiao et al. 2023,
    /// <https://arxiv.org/abs/2309.17453>).
    pub sinks: Option<WeightKey>,
}

impl AttentionSpec {
    /// Scores times `scale`, and nothing more; values as wide as keys.
    pub const fn plain([heads, kv_heads, head_dim]: [usize; 3], scale: f32) -> Self {
        let (window, soft_cap, temperature, alibi, sinks) = (None, None, None, None, None);
        Self { heads, kv_heads, head_dim, value_dim: head_dim, scale, window, soft_cap, temperature, alibi, sinks }
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
    /// What scores are multiplied by.
    pub scale: f32,
    /// What keys are multiplied by.
    pub k_scale: f32,
    /// `cap · tanh(score / cap)` replaces each score.
    pub soft_cap: f32,
}

/// Which rows of its input a row sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sight {
    /// All.
    All,
    /// Itself and the rows before it.
    Causal,
    /// The rows of its own window, where the caller cuts an image into windows.
    Part,
}

/// What the queries of an attention see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// The KV cache of this number, to which the operation appends its keys and values; causally.
    Cached(usize),
    /// The rows of the same input alone, as far as a row sees them. Where it sees those behind it, a window reaches
    /// `window / 2` rows to either side.
    OfInput(Sight),
}
