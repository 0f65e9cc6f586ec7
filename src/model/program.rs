//! A model as a program: the operations of each layer, in order, over named activations and weights.
//!
//! A family (`families`) writes a program that reads like its paper; it knows no kernels, no buffers and no
//! file offsets. Four lowerings run it: `forward` writes command lists for prefill and for decode, `cpu` interprets it
//! on the host, and `js/training/language/` makes tensor operations with gradients of what `forward` exports. Numbers
//! that may differ from layer to layer (heads, windows, scales, caps, norms, widths) are fields of the operations.

use std::collections::{BTreeMap, BTreeSet};

pub use super::experts::{ExpertActivation, Experts, GateUp, Gating, MAX_EXPERTS, MAX_USED, Routing};
pub use super::recurrent::{ConvSpec, DeltaSpec, ScanSpec};
use super::roles::{Role, WeightKey};
use super::{ActivationKind, GateKind, ModelConfig, RopeScaling, RopeSections, RopeStyle};
use crate::{Error, ErrorCode, Result};

/// An activation: one row of f32 per token. Its name and width are in [`Program::activations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Activation(pub usize);

/// Name and width of an activation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationSpec {
    /// For labels and messages.
    pub name: &'static str,
    /// Values per token.
    pub width: usize,
}

/// A weight tensor as an operation uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    /// Which tensor.
    pub key: WeightKey,
    /// Whether the operation does without it where the file lacks it; only biases may.
    pub optional: bool,
}

/// A weight that is some rows of a larger tensor: runs of `run` rows, the first from row `first` on, each `every` rows
/// after the one before. Of a vector, a row is a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorPart {
    /// The tensor.
    pub tensor: WeightKey,
    /// All of its rows.
    pub of: usize,
    /// The first row of the weight.
    pub first: usize,
    /// Rows in a run.
    pub run: usize,
    /// Rows from the start of a run to the start of the next.
    pub every: usize,
}

impl TensorPart {
    /// The runs of a weight of `rows` rows: the tensor's row where each starts, and its length.
    pub fn runs(self, rows: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..rows.div_ceil(self.run.max(1)))
            .map(move |i| (self.first + i * self.every, self.run.min(rows - i * self.run)))
    }
}

/// Which norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// `x / √(mean x² + eps)` (Zhang and Sennrich 2019, <https://arxiv.org/abs/1910.07467>)
    Rms,
    /// `(x − mean x) / √(mean (x − mean x)² + eps)` (Ba, Kiros and Hinton 2016, <https://arxiv.org/abs/1607.06450>)
    Layer,
}

/// A norm: `weight · normalised x + bias`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norm {
    /// Which.
    pub kind: NormKind,
    /// `[width]`; `None` stands for ones.
    pub weight: Option<WeightKey>,
    /// `[width]`
    pub bias: Option<Weight>,
    /// Values that are normalised together: the activation's width, or `head_dim` for each head by itself.
    pub width: usize,
    /// Each `width` values of a row have weights of their own: `weight` is `[width of x]`, and there is no bias.
    pub is_grouped: bool,
    /// Added to the mean of the squares.
    pub eps: f32,
}

impl Norm {
    /// Weight and epsilon of a plain RMS norm, which products can do on their way.
    pub fn plain_rms(&self) -> Option<(WeightKey, f32)> {
        let plain = self.kind == NormKind::Rms && self.bias.is_none() && !self.is_grouped;
        self.weight.filter(|_| plain).map(|weight| (weight, self.eps))
    }
}

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
    /// The same for every context.
    pub const fn of(key: WeightKey) -> Self {
        Self { short: key, long: key, original_context: 0 }
    }

    /// Those of a run with so many tokens of context.
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
    /// Values of each head that are rotated, from the first; even, 0 for none.
    pub dims: usize,
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
    /// Values of all query heads of a token.
    pub fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Values of all key heads of a token, and of all value heads.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }
}

/// Which row of a table a token gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableRow {
    /// That of its position; the table has so many rows.
    Position(usize),
    /// The first of so many, whatever the token.
    First(usize),
}

/// How the rows of an input become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// Their mean.
    Mean,
    /// The first: that of a classification token.
    First,
    /// The last, which alone has seen all others where attention is causal.
    Last,
}

/// Which rows of its input a row sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sight {
    /// All.
    All,
    /// Those up to itself.
    Causal,
    /// Those of its own part, where the caller cuts an image into several.
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

/// What [`Op::Scale`] multiplies by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Factor {
    /// A number.
    Number(f32),
    /// A tensor `[1]`.
    Weight(WeightKey),
}

/// How rows become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grouping {
    /// Parts of the row, each as wide as a row before.
    pub parts: usize,
    /// Rows that a part is a sum of.
    pub taps: usize,
    /// Whether values of the parts take turns, else the parts follow each other.
    pub by_value: bool,
}

impl Grouping {
    /// Taps of a row.
    pub fn width(self) -> usize {
        self.parts * self.taps
    }
}

/// What [`Op::Combine`] computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combining {
    /// The product.
    Multiply,
    /// The difference.
    Subtract,
}

/// What [`Op::Combine`] takes besides x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A tensor `[width of x]`.
    Vector(WeightKey),
    /// An activation as wide as x.
    Rows(Activation),
}

/// One operation. It reads and writes the activations that it names, and nothing else but its layer's KV cache or
/// recurrent state.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// `y = scale · table[token]`; the table has so many rows.
    Embed { table: WeightKey, rows: usize, scale: f32, y: Activation },
    /// `y = table[row]`, by the place of a token instead of its id.
    EmbedPlace { table: WeightKey, row: TableRow, y: Activation },
    /// `y = norm(x)`; `y` may be `x`.
    Norm { x: Activation, norm: Norm, y: Activation },
    /// `y = W · x + bias`. Operations in a row that read the same `x` are stacked into one product.
    Linear { x: Activation, weight: WeightKey, bias: Option<Weight>, y: Activation },
    /// Rotates each head of `x`, by the table of this number in [`Program::rope_tables`].
    Rope { x: Activation, head_dim: usize, table: usize },
    /// `y = softmax(q · kᵀ) · v` over these keys and values (Vaswani et al. 2017, <https://arxiv.org/abs/1706.03762>;
    /// Ainslie et al. 2023, <https://arxiv.org/abs/2305.13245>). Without `kv` an earlier layer has filled the cache.
    Attend { q: Activation, kv: Option<[Activation; 2]>, attention: AttentionSpec, keys: Keys, y: Activation },
    /// One row for each input: what follows in the head is over these.
    Pool { x: Activation, kind: PoolKind, y: Activation },
    /// The caller's rows, such as the patches of an image: nothing is computed.
    Input { y: Activation },
    /// `to += Σ_t weight[t] · table[index[t]]`, with so many taps for each row of `to` that the caller gives; the table
    /// has so many rows.
    AddPlaces { table: WeightKey, rows: usize, taps: usize, to: Activation },
    /// `to = row` for the rows that the caller marks: breaks between lines of an image, or a class token.
    Break { row: WeightKey, to: Activation },
    /// `y = Σ_t weight[t] · x[index[t]]`, each part of a row of y with taps of its own: what follows in the embedding,
    /// or in the head, is over these rows.
    Regroup { x: Activation, grouping: Grouping, y: Activation },
    /// Turns the pairs of each head of `x` by the caller's angles: value i of a head and value i + `apart` are a pair,
    /// and neighbours of `2 · apart` values follow each other. A pair without an angle stays.
    Turn { x: Activation, head_dim: usize, apart: usize },
    /// `y = x · W` with W `[width of x, width of y]` as values.
    Project { x: Activation, weight: WeightKey, y: Activation },
    /// `y = x`
    Copy { x: Activation, y: Activation },
    /// `x = x · with` or `x − with`, value by value.
    Combine { x: Activation, kind: Combining, with: Operand },
    /// `S = e^g S`, `S += k ⊗ β (v − Sᵀ k)`, `y = Sᵀ q` per head of v, with q, k and v side by side in `qkv`, q and k
    /// of length 1, `β = σ(beta)` and `g = a · softplus(alpha + dt_bias)` (Yang et al. 2024,
    /// <https://arxiv.org/abs/2412.06464>). S is the recurrent state of this number.
    DeltaNet { qkv: Activation, beta: Activation, alpha: Activation, delta: DeltaSpec, state: usize, y: Activation },
    /// `y = x · σ(gate)` (Qiu et al. 2025, <https://arxiv.org/abs/2505.06708>), or with a norm
    /// `y = norm(x) · silu(gate)`, each head of `width` values by itself. The gate has the width of x, or a value for
    /// each head.
    GateHeads { x: Activation, gate: Activation, norm: Option<(WeightKey, f32)>, width: usize, y: Activation },
    /// `y = conv(x)`, with gates b and c `y = c · conv(b · x)` (LFM2, <https://arxiv.org/abs/2511.23404>). The inputs
    /// of the last tokens are in the recurrent state of this number.
    Conv { x: Activation, gates: Option<[Activation; 2]>, conv: ConvSpec, state: usize, y: Activation },
    /// `h = exp(dt A) h + dt B xᵀ` per head, `y = (C h + D x) · silu(z)`, with `dt = softplus(dt + bias)` and x, B and
    /// C side by side in `xbc` (Mamba-2, Dao and Gu 2024, <https://arxiv.org/abs/2405.21060>). h is the recurrent state
    /// of this number.
    Scan { z: Activation, dt: Activation, xbc: Activation, scan: ScanSpec, state: usize, y: Activation },
    /// `y = activation(gate) · up` (Shazeer 2020, <https://arxiv.org/abs/2002.05202>), with the values of `up` from
    /// `at` on, as many as the gate has.
    Gate { gate: Activation, up: Activation, at: usize, kind: GateKind, y: Activation },
    /// `x = σ(gate) · x`, with one value of `gate` per token.
    GateRow { x: Activation, gate: Activation },
    /// The experts of a token by its router's `logits`, and their weights: `routes` has the ids, then the weights.
    Route { logits: Activation, routing: Routing, routes: Activation },
    /// For each expert `e` of a token `y[e] = activation(gate[e] · x) · (up[e] · x)`, biases added to both products; or
    /// `y[e] = up[e] · x` where it has no gate.
    ExpertGate {
        x: Activation,
        routes: Activation,
        gate_up: GateUp,
        kind: ExpertActivation,
        experts: Experts,
        y: Activation,
    },
    /// `y = Σ weight[e] · (down[e] · x[e] + bias[e])` over the experts of a token.
    ExpertDown {
        x: Activation,
        routes: Activation,
        weight: WeightKey,
        bias: Option<WeightKey>,
        experts: Experts,
        y: Activation,
    },
    /// `x = activation(x)`
    Activate { x: Activation, kind: ActivationKind },
    /// `to += scale · x`
    Add { x: Activation, scale: f32, to: Activation },
    /// `x = factor · x`
    Scale { x: Activation, factor: Factor },
    /// `x = cap · tanh(x / cap)` (Gemma 2, <https://arxiv.org/abs/2408.00118>)
    SoftCap { x: Activation, cap: f32 },
    /// `y += factor · scale · B · A · x` for each of `ys`, where adapters change the products of `x`, the first of
    /// which is with the weight `of`; or without x the embedding by the table `of`. Lists on the GPU alone have it.
    Adapt { x: Option<Activation>, of: WeightKey, ys: Vec<Activation>, factor: f32 },
}

impl Op {
    /// The shape of an attention.
    pub fn attention(&self) -> Option<AttentionSpec> {
        match self {
            Self::Attend { attention, .. } => Some(*attention),
            _ => None,
        }
    }

    /// The activations that the operation reads.
    pub fn reads(&self) -> Vec<Activation> {
        match *self {
            Self::Embed { .. } | Self::EmbedPlace { .. } | Self::Input { .. } => Vec::new(),
            Self::AddPlaces { to, .. } | Self::Break { to, .. } => vec![to],
            Self::Regroup { x, .. } | Self::Turn { x, .. } | Self::Project { x, .. } | Self::Copy { x, .. } => vec![x],
            Self::Combine { x, with: Operand::Vector(_), .. } => vec![x],
            Self::Combine { x, with: Operand::Rows(other), .. } => vec![x, other],
            Self::Norm { x, .. } | Self::Linear { x, .. } | Self::Rope { x, .. } | Self::Pool { x, .. } => vec![x],
            Self::Activate { x, .. } | Self::Scale { x, .. } | Self::SoftCap { x, .. } => vec![x],
            Self::Attend { q, kv, .. } => [q].into_iter().chain(kv.into_iter().flatten()).collect(),
            Self::DeltaNet { qkv, beta, alpha, .. } => vec![qkv, beta, alpha],
            Self::GateHeads { x, gate, .. } | Self::GateRow { x, gate } => vec![x, gate],
            Self::Gate { gate, up, .. } => vec![gate, up],
            Self::Conv { x, gates, .. } => std::iter::once(x).chain(gates.into_iter().flatten()).collect(),
            Self::Scan { z, dt, xbc, .. } => vec![z, dt, xbc],
            Self::Route { logits, .. } => vec![logits],
            Self::ExpertGate { x, routes, .. } | Self::ExpertDown { x, routes, .. } => vec![x, routes],
            Self::Add { x, to, .. } => vec![x, to],
            Self::Adapt { x, ref ys, .. } => x.into_iter().chain(ys.iter().copied()).collect(),
        }
    }

    /// The activation that the operation writes.
    pub fn writes(&self) -> Activation {
        match *self {
            Self::Embed { y, .. } | Self::Norm { y, .. } | Self::Linear { y, .. } => y,
            Self::EmbedPlace { y, .. } | Self::Pool { y, .. } | Self::Input { y } | Self::Copy { y, .. } => y,
            Self::AddPlaces { to, .. } | Self::Break { to, .. } => to,
            Self::Regroup { y, .. } | Self::Project { y, .. } => y,
            Self::Turn { x, .. } | Self::Combine { x, .. } => x,
            Self::Attend { y, .. } | Self::GateHeads { y, .. } | Self::Gate { y, .. } => y,
            Self::Rope { x, .. } | Self::Activate { x, .. } | Self::Scale { x, .. } | Self::SoftCap { x, .. } => x,
            Self::DeltaNet { y, .. } | Self::Conv { y, .. } | Self::Scan { y, .. } => y,
            Self::Route { routes, .. } => routes,
            Self::GateRow { x, .. } => x,
            Self::ExpertGate { y, .. } | Self::ExpertDown { y, .. } => y,
            Self::Add { to, .. } => to,
            Self::Adapt { ref ys, .. } => ys[0],
        }
    }
}

/// Everything that a model computes for a token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// By number.
    pub activations: Vec<ActivationSpec>,
    /// By number.
    pub rope_tables: Vec<RopeTable>,
    /// Weights that the file has inside larger tensors, such as q, k and v in one.
    pub parts: BTreeMap<WeightKey, TensorPart>,
    /// Token → residual stream.
    pub embed: Vec<Op>,
    /// Layer by layer.
    pub layers: Vec<Vec<Op>>,
    /// Residual stream → logits, for the rows whose logits are wanted; or → what [`Program::output`] says.
    pub head: Vec<Op>,
    /// What the last operation gives.
    pub output: Output,
    /// What an encoder gives besides, as wide: rows for deeper layers.
    pub sides: Vec<Activation>,
}

/// What a program gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// Logits `[vocab]` of a row.
    #[default]
    Logits,
    /// A vector of an input.
    Embedding,
    /// Rows for the prompts of a model that writes text.
    Rows,
    /// A score for each label of an input, to be made probabilities by a softmax or as they are.
    Scores {
        /// Whether they are.
        softmax: bool,
    },
}

/// The logits: `[vocab]` per row.
pub const LOGITS: &str = "logits";

impl Program {
    /// All operations in order.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        self.embed.iter().chain(self.layers.iter().flatten()).chain(&self.head)
    }

    /// Whether every activation has a width and every attention has heads: a file's arrays may say 0 for a layer.
    ///
    /// # Errors
    /// `bad_file`, naming the layer; `unsupported_architecture` where the file has experts that the family does not.
    pub fn check(&self, config: &ModelConfig) -> Result<()> {
        let count = config.experts.experts.count;
        if count > 0 && !self.ops().any(|op| matches!(op, Op::Route { .. })) {
            let message =
                format!("metadata `{}.expert_count`: expected no experts, found {count}", config.architecture);
            return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
        }
        for (layer, ops) in self.layers.iter().enumerate() {
            for op in ops {
                self.check_op(op).map_err(|error| Error::bad_file(format!("layer {layer}: {}", error.message())))?;
            }
        }
        Ok(())
    }

    /// Whether a layer that re-uses a cache has heads like those of the layer that fills it.
    fn check_shared(&self, attention: &AttentionSpec, cache: usize) -> Result<()> {
        let shape = |spec: &AttentionSpec| (spec.kv_heads, spec.head_dim, spec.window);
        match self.attentions().get(cache).map(shape) {
            Some(filled) if filled == shape(attention) => Ok(()),
            filled => {
                let message = format!("shares the cache of {filled:?}, expected {:?}", shape(attention));
                Err(Error::bad_file(format!("{message} (kv heads, values of a head, window)")))
            }
        }
    }

    fn check_op(&self, op: &Op) -> Result<()> {
        if let Op::Attend { attention, keys: Keys::Cached(cache), kv: None, .. } = op {
            self.check_shared(attention, *cache)?;
        }
        if let Some(AttentionSpec { heads, kv_heads, head_dim, .. }) = op.attention() {
            for (what, count) in [("heads", heads), ("kv heads", kv_heads), ("values of a head", head_dim)] {
                if count == 0 {
                    return Err(Error::bad_file(format!("{what}: expected at least 1, found 0")));
                }
            }
        }
        match op {
            Op::Conv { conv, .. } => conv.check()?,
            Op::Scan { scan, .. } => scan.check()?,
            Op::DeltaNet { delta, .. } => delta.check()?,
            _ => {}
        }
        let spec = &self.activations[op.writes().0];
        match spec.width {
            0 => Err(Error::bad_file(format!("width of `{}`: expected at least 1, found 0", spec.name))),
            _ => Ok(()),
        }
    }

    /// The operations of the embedding, cut before each that makes other rows.
    pub fn stages(&self) -> Vec<&[Op]> {
        let folds = self.embed.iter().enumerate().filter(|(_, op)| matches!(op, Op::Regroup { .. })).map(|(at, _)| at);
        let ends: Vec<usize> = folds.chain([self.embed.len()]).collect();
        let starts = [0].into_iter().chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, &end)| &self.embed[start..end]).collect()
    }

    /// How rows become others in the embedding, in order.
    pub fn folds(&self) -> impl Iterator<Item = Grouping> {
        self.embed.iter().filter_map(|op| match op {
            Op::Regroup { grouping, .. } => Some(*grouping),
            _ => None,
        })
    }

    /// The operations of the head before rows are pooled, and those from there on: none where they are not.
    pub fn head_parts(&self) -> (&[Op], &[Op]) {
        let pool = self.head.iter().position(|op| matches!(op, Op::Pool { .. } | Op::Regroup { .. }));
        self.head.split_at(pool.unwrap_or(self.head.len()))
    }

    /// What the head ends with.
    pub fn output_activation(&self) -> Activation {
        self.head.last().map_or(self.residual(), Op::writes)
    }

    /// The attention of the layer that fills each KV cache, by number.
    pub fn attentions(&self) -> Vec<AttentionSpec> {
        let attention = |op: &Op| match op {
            Op::Attend { kv: Some(_), attention, keys: Keys::Cached(cache), .. } => Some((*cache, *attention)),
            _ => None,
        };
        let found: Vec<_> = self.ops().filter_map(attention).collect();
        in_order(&found)
    }

    /// The attention of every layer that looks into a cache.
    pub fn cached_attentions(&self) -> impl Iterator<Item = &AttentionSpec> {
        self.ops().filter_map(|op| match op {
            Op::Attend { attention, keys: Keys::Cached(_), .. } => Some(attention),
            _ => None,
        })
    }

    /// Activations that are needed in more than one part, by number: the residual stream, and what the embedding leaves
    /// for the layers.
    pub fn lasting(&self) -> BTreeSet<Activation> {
        let parts = [&self.embed].into_iter().chain(&self.layers).chain([&self.head]);
        let of_part = |ops: &Vec<Op>| -> BTreeSet<Activation> {
            let mut lasting = BTreeSet::new();
            let mut known = BTreeSet::new();
            for op in ops {
                // Read before it is written here: an earlier part has written it.
                lasting.extend(op.reads().into_iter().filter(|read| !known.contains(read)));
                known.insert(op.writes());
            }
            lasting
        };
        let mut all = BTreeSet::new();
        all.extend(parts.flat_map(of_part).chain([self.residual()]).chain(self.sides.iter().copied()));
        all
    }

    /// The recurrent state that an operation replaces: its number, and its values per sequence.
    pub fn state(&self, op: &Op) -> Option<(usize, usize)> {
        match *op {
            Op::Conv { x, conv, state, .. } => Some((state, conv.kernel.saturating_sub(1) * self.width(x))),
            Op::DeltaNet { delta, state, .. } => Some((state, delta.state_len())),
            Op::Scan { scan, state, .. } => Some((state, scan.inner() * scan.state)),
            _ => None,
        }
    }

    /// Values per sequence of each recurrent state, by number.
    pub fn states(&self) -> Vec<usize> {
        let found: Vec<_> = self.ops().filter_map(|op| self.state(op)).collect();
        in_order(&found)
    }

    /// Values of a row of this activation.
    pub fn width(&self, activation: Activation) -> usize {
        self.activations[activation.0].width
    }

    /// The activations that the caller writes, in order.
    pub fn inputs(&self) -> Vec<Activation> {
        let input = |op: &Op| match op {
            Op::Input { y } => Some(*y),
            _ => None,
        };
        self.embed.iter().filter_map(input).collect()
    }

    /// The activation that the embedding writes: the residual stream.
    pub fn residual(&self) -> Activation {
        let embedding = self.embed.iter().find(|op| !matches!(op, Op::Input { .. }));
        embedding.map_or(Activation(0), Op::writes)
    }

    /// The number of an activation, which is made at the first call with its name.
    pub fn activation(&mut self, name: &'static str, width: usize) -> Activation {
        let known = self.activations.iter().position(|spec| spec.name == name && spec.width == width);
        Activation(known.unwrap_or_else(|| {
            self.activations.push(ActivationSpec { name, width });
            self.activations.len() - 1
        }))
    }

    /// The number of a rope table, equal ones once.
    pub fn rope_table(&mut self, table: RopeTable) -> usize {
        let known = self.rope_tables.iter().position(|known| *known == table);
        known.unwrap_or_else(|| {
            self.rope_tables.push(table);
            self.rope_tables.len() - 1
        })
    }
}

/// A layer's weight of this role.
pub const fn of_layer(layer: usize, role: Role) -> WeightKey {
    WeightKey { layer: Some(layer), role }
}

/// The model's own weight of this role.
pub const fn of_model(role: Role) -> WeightKey {
    WeightKey { layer: None, role }
}

/// The values by their numbers, which are counted from 0.
fn in_order<T: Copy>(found: &[(usize, T)]) -> Vec<T> {
    let of = |number: usize| found.iter().find(|(at, _)| *at == number).map(|(_, value)| *value);
    let values: Vec<T> = (0..found.len()).filter_map(of).collect();
    debug_assert!(values.len() == found.len(), "every number is there");
    values
}
