//! The operations that programs are made of.

use super::program::{
    Activation, AttentionSpec, ChannelSpec, ConvSpec, DeltaSpec, ExpertActivation, Experts, GateUp, Keys, NearSpec,
    Norm, Routing, ScanSpec, Spreading, StreamSpec, Weight, WkvSpec,
};
use super::roles::WeightKey;
use super::{ActivationKind, GateKind};

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

/// What [`Op::WkvOutput`] adds of a token itself: r, w, k and v as [`Op::Wkv`] reads them, and `[width]` each how much
/// keys follow the learning rate and the factors of r · k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnToken {
    /// r, w, k and v.
    pub rwkv: [Activation; 4],
    /// The vectors.
    pub weights: [WeightKey; 2],
}

/// Which rows of a matrix of all heads [`Op::HeadValues`] multiplies with, those of a head after those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadRows {
    /// Rows of a head.
    pub of: usize,
    /// The first that counts.
    pub first: usize,
    /// `y = x · W` in place of `y = W · x`.
    pub transposed: bool,
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
    /// `y[h] = W[h] · x[h]` for so many heads, each with a matrix of its own.
    HeadLinear { x: Activation, weight: WeightKey, heads: usize, y: Activation },
    /// The same with rows of a matrix of all heads, as values.
    HeadValues { x: Activation, weight: WeightKey, heads: usize, rows: HeadRows, y: Activation },
    /// `y[h] = (a[h], b[h])` for so many heads: the values of a head of one activation, then those of the other.
    JoinHeads { parts: [Activation; 2], heads: usize, y: Activation },
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
    /// The caller's cosines and sines, as rows: nothing is computed.
    Angles { y: Activation },
    /// `x` between two tensors `[1]`: the least and the most that it may be.
    Bound { x: Activation, least: WeightKey, most: WeightKey },
    /// Attention to the rows right before, with an embedding of the distance in `far`: a row for each. `weights`:
    /// factors of each value of a query and of a key.
    AttendNear {
        q: Activation,
        kv: [Activation; 2],
        far: Activation,
        weights: [Option<WeightKey>; 2],
        near: NearSpec,
        y: Activation,
    },
    /// Turns the pairs of each head of `x` by the caller's angles: value i of a head and value i + `apart` are a pair,
    /// and neighbours of `2 · apart` values follow each other. A pair without an angle stays.
    Turn { x: Activation, head_dim: usize, apart: usize },
    /// `y = x · W` with W `[width of x, width of y]` as values.
    Project { x: Activation, weight: WeightKey, y: Activation },
    /// `y = x`. Results of copies in a row lie side by side.
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
    /// `h = exp(dt A) h + dt B x` per channel, `y = (C h + D x) · silu(z)`, with `dt = softplus(dt)` and B and C of all
    /// channels in `bc` (Mamba, Gu and Dao 2023, <https://arxiv.org/abs/2312.00752>). h is the recurrent state of this
    /// number.
    ChannelScan {
        x: Activation,
        z: Activation,
        dt: Activation,
        bc: [Activation; 2],
        scan: ChannelSpec,
        state: usize,
        y: Activation,
    },
    /// `y = x + (to − x) · by`, value by value; to `by` are added the values of `more` from a place on.
    Lerp { x: Activation, to: Activation, by: Operand, more: Option<(Activation, usize)>, y: Activation },
    /// `S = diag(w) S + k vᵀ + b (aᵀ S)`, `y = Sᵀ r` per head (RWKV-7, Peng et al. 2025,
    /// <https://arxiv.org/abs/2503.14456>), or without a and b (RWKV-6, Peng et al. 2024,
    /// <https://arxiv.org/abs/2404.05892>), with w, k, a and b made of the inputs as the form of `wkv` says. With
    /// [`WkvForm::Delta`](super::program::WkvForm) each head of `w` is followed by that of the learning rate. S is the
    /// recurrent state of this number.
    Wkv { r: Activation, w: Activation, kv: [Activation; 2], wkv: WkvSpec, state: usize, y: Activation },
    /// `x = (norm(x) + v (r · k)) · gate` for each head of `head_dim` values: a layer norm where the file has its
    /// weight and bias `[width of x]`; with `own` what the token's own key and value add past the state.
    WkvOutput {
        x: Activation,
        norm: Option<([WeightKey; 2], f32)>,
        own: Option<OwnToken>,
        gate: Option<Activation>,
        head_dim: usize,
    },
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
    /// `y[i] = base[i + skip] + Σ_j weight[i, j] · x[j]` over streams of so many values side by side (AltUp, Baykal et
    /// al. 2023, <https://arxiv.org/abs/2301.13310>); `y` may be `base`, and what is not there is 0.
    Streams { base: Option<Activation>, x: Option<Activation>, spec: StreamSpec, y: Activation },
    /// Changes the rows of `x` by their spread.
    Spread { x: Activation, kind: Spreading },
    /// `x = cap · tanh(x / cap)` (Gemma 2, <https://arxiv.org/abs/2408.00118>)
    SoftCap { x: Activation, cap: f32 },
    /// `y += factor · scale · B · A · x` for each of `ys`, where adapters change the products of `x`, the first of
    /// which is with the weight `of`; or without x the embedding by the table `of`, or what a layer gives, whose
    /// direction `of` is. Lists on the GPU alone have it.
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
            Self::Embed { .. } | Self::EmbedPlace { .. } | Self::Input { .. } | Self::Angles { .. } => Vec::new(),
            Self::Bound { x, .. } => vec![x],
            Self::AttendNear { q, kv: [k, v], far, .. } => vec![q, k, v, far],
            Self::AddPlaces { to, .. } | Self::Break { to, .. } => vec![to],
            Self::Regroup { x, .. } | Self::Turn { x, .. } | Self::Project { x, .. } | Self::Copy { x, .. } => vec![x],
            Self::Combine { x, with: Operand::Vector(_), .. } => vec![x],
            Self::Combine { x, with: Operand::Rows(other), .. } => vec![x, other],
            Self::Norm { x, .. } | Self::Linear { x, .. } | Self::Rope { x, .. } | Self::Pool { x, .. } => vec![x],
            Self::Activate { x, .. } | Self::Scale { x, .. } | Self::SoftCap { x, .. } => vec![x],
            Self::HeadLinear { x, .. } | Self::HeadValues { x, .. } => vec![x],
            Self::JoinHeads { parts, .. } => parts.to_vec(),
            Self::Streams { base, x, spec: StreamSpec { router, .. }, .. } => {
                [base, x, router.map(|(router, _)| router)].into_iter().flatten().collect()
            }
            Self::Spread { x, kind: Spreading::LengthOf(of) } => vec![x, of],
            Self::Spread { x, .. } => vec![x],
            Self::Attend { q, kv, .. } => [q].into_iter().chain(kv.into_iter().flatten()).collect(),
            Self::DeltaNet { qkv, beta, alpha, .. } => vec![qkv, beta, alpha],
            Self::GateHeads { x, gate, .. } | Self::GateRow { x, gate } => vec![x, gate],
            Self::Gate { gate, up, .. } => vec![gate, up],
            Self::Conv { x, gates, .. } => std::iter::once(x).chain(gates.into_iter().flatten()).collect(),
            Self::Scan { z, dt, xbc, .. } => vec![z, dt, xbc],
            Self::ChannelScan { x, z, dt, bc: [b, c], .. } => vec![x, z, dt, b, c],
            Self::Lerp { x, to, by, more, .. } => {
                let by = if let Operand::Rows(by) = by { Some(by) } else { None };
                [x, to].into_iter().chain(by).chain(more.map(|(more, _)| more)).collect()
            }
            Self::Wkv { r, w, kv: [k, v], .. } => vec![r, w, k, v],
            Self::WkvOutput { x, own, gate, .. } => {
                let own = own.iter().flat_map(|own| own.rwkv);
                std::iter::once(x).chain(own).chain(gate).collect()
            }
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
            Self::Regroup { y, .. } | Self::Project { y, .. } | Self::Streams { y, .. } => y,
            Self::Spread { x, .. } | Self::Turn { x, .. } | Self::Combine { x, .. } | Self::Bound { x, .. } => x,
            Self::Angles { y } | Self::AttendNear { y, .. } => y,
            Self::HeadLinear { y, .. } | Self::HeadValues { y, .. } | Self::JoinHeads { y, .. } => y,
            Self::Attend { y, .. } | Self::GateHeads { y, .. } | Self::Gate { y, .. } => y,
            Self::Rope { x, .. } | Self::Activate { x, .. } | Self::Scale { x, .. } | Self::SoftCap { x, .. } => x,
            Self::DeltaNet { y, .. } | Self::Conv { y, .. } | Self::Scan { y, .. } | Self::ChannelScan { y, .. } => y,
            Self::Route { routes, .. } => routes,
            Self::Lerp { y, .. } | Self::Wkv { y, .. } => y,
            Self::GateRow { x, .. } | Self::WkvOutput { x, .. } => x,
            Self::ExpertGate { y, .. } | Self::ExpertDown { y, .. } => y,
            Self::Add { to, .. } => to,
            Self::Adapt { ref ys, .. } => ys[0],
        }
    }
}
