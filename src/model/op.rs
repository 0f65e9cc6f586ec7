//! The operations of a program.

use std::sync::Arc;

use super::program::{
    Activation, AttentionSpec, BlockSpec, CellSpec, ChannelSpec, ConvSpec, DeltaSpec, ExpertActivation, Experts,
    FarSpec, GateUp, GridSpec, Keys, NearSpec, Norm, Routing, ScanSpec, Spreading, StreamSpec, Weight, WkvSpec,
};
use super::roles::WeightKey;
use super::{ActivationKind, GateKind, Rotation, Switching};

/// Which row of a table a token gets, independent of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableRow {
    /// The row of its position; the number of rows of the table.
    Position(usize),
    /// The first row, for every token; the number of rows of the table.
    First(usize),
}

/// How the rows of an input become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// The mean of all rows.
    Mean,
    /// The first row, which belongs to the classification token.
    First,
    /// The last row: with causal attention, only the last token has seen all others.
    Last,
}

/// The factor of [`Op::Scale`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Factor {
    /// A number.
    Number(f32),
    /// A tensor `[1]`.
    Weight(WeightKey),
}

/// How several rows are merged into one by [`Op::Regroup`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grouping {
    /// Parts of an output row, each as wide as an input row, or as one of several that an input row is read as.
    pub parts: usize,
    /// Input rows whose weighted sum is one part.
    pub taps: usize,
    /// Whether the values of the parts are interleaved; otherwise the parts are concatenated.
    pub by_value: bool,
}

impl Grouping {
    /// Taps of an output row.
    pub fn width(self) -> usize {
        self.parts * self.taps
    }
}

/// The operator of [`Op::Combine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combining {
    /// `x · with`.
    Multiply,
    /// `x − with`.
    Subtract,
    /// `x + with`.
    Add,
    /// `x / √with`.
    DivideByRoot,
}

/// The second operand of [`Op::Combine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A weight `[width of x]`, the same for all rows.
    Vector(WeightKey),
    /// An activation as wide as x.
    Rows(Activation),
}

/// The term that [`Op::WkvOutput`] adds for the token itself: r, w, k and v as [`Op::Wkv`] reads them, and two weights
/// `[width]`: how far keys follow the learning rate, and the factors of r · k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnToken {
    /// r, w, k and v.
    pub rwkv: [Activation; 4],
    /// The two weights.
    pub weights: [WeightKey; 2],
}

/// Which rows of a matrix [`Op::HeadValues`] multiplies with. The matrix has the rows of all heads, head after head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadRows {
    /// Rows of one head.
    pub of: usize,
    /// The first row of a head that is used.
    pub first: usize,
    /// `y = x · W` in place of `y = W · x`.
    pub transposed: bool,
}

/// One operation. It reads and writes only the activations that it names, and its layer's KV cache or recurrent state.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// `y = scale · table[token]`; the table has `rows` rows.
    Embed { table: WeightKey, rows: usize, scale: f32, y: Activation },
    /// `y = table[row]`, where the row depends on the position of a token instead of its id.
    EmbedPlace { table: WeightKey, row: TableRow, y: Activation },
    /// `y = norm(x)`; `y` may be `x`.
    Norm { x: Activation, norm: Norm, y: Activation },
    /// `y = W · x + bias`. Consecutive operations that read the same `x` are stacked into one product.
    Linear { x: Activation, weight: WeightKey, bias: Option<Weight>, y: Activation },
    /// `y[h] = W[h] · x[h]`: each of `heads` heads has its own matrix.
    HeadLinear { x: Activation, weight: WeightKey, heads: usize, y: Activation },
    /// As [`Op::HeadLinear`], with rows of one matrix of all heads, which is stored as f32 values.
    HeadValues { x: Activation, weight: WeightKey, heads: usize, rows: HeadRows, y: Activation },
    /// `y[h] = (a[h], b[h])`: concatenates two activations head by head.
    JoinHeads { parts: [Activation; 2], heads: usize, y: Activation },
    /// Rotates each head of `x` by the table of this index in [`Program::rope_tables`].
    Rope { x: Activation, head_dim: usize, table: usize },
    /// `y = softmax(q · kᵀ) · v` over the keys and values of `kv` (Vaswani et al. 2017,
    /// <https://arxiv.org/abs/1706.03762>; Ainslie et al. 2023, <https://arxiv.org/abs/2305.13245>). Without `kv` the
    /// cache of an earlier layer is read.
    Attend { q: Activation, kv: Option<[Activation; 2]>, attention: AttentionSpec, keys: Keys, y: Activation },
    /// `y = softmax(q · (K · s)ᵀ) · (V · s)` over all rows `s` that
    /// [`Program::source`](super::program::Program::source) gives of its text, with the weights K and V. Their products
    /// are kept for the next tokens. `number` counts these operations.
    AttendSource { q: Activation, kv: [WeightKey; 2], attention: AttentionSpec, number: usize, y: Activation },
    /// Pools the rows of each input into one row. The following operations of the head run on these rows.
    Pool { x: Activation, kind: PoolKind, y: Activation },
    /// Stands for rows that the caller provides, such as the patches of an image.
    Input { y: Activation },
    /// `to += Σ_t weight[t] · table[index[t]]`: `taps` taps for each row of `to`, which the caller provides; the table
    /// has `rows` rows. Operations of another number have taps of their own.
    AddPlaces { table: WeightKey, rows: usize, taps: usize, number: usize, to: Activation },
    /// `y[c] = Σ_t kernel[c, t] · weight[t] · x[index[t], c]`: a depthwise convolution over an image, with `taps` taps
    /// for each row, which the caller provides in the place of taps into a position table.
    ConvAround { x: Activation, kernel: WeightKey, taps: usize, y: Activation },
    /// The cells of a square grid from the cells of another one that they see. Where the grids have other sizes the
    /// following operations may run on the rows of y, else these are the first rows of the same number. A row of x or y
    /// may hold several cells.
    ConvGrid { x: Activation, spec: CellSpec, y: Activation },
    /// `to = row` for the rows that the caller marks: line breaks of an image, or a class token. Of several such
    /// operations each has marks of its own.
    Break { row: WeightKey, number: usize, to: Activation },
    /// `y = Σ_t weight[t] · x[index[t]]`, where each part of a row of y has its own taps. Where a part is narrower than
    /// a row of x, that is read as several rows as wide as a part. The following operations of the embedding or the
    /// head run on these rows. With a kernel `[width of x, taps]` each channel has its own weights, too, of one part: a
    /// depthwise convolution that leaves fewer rows.
    Regroup { x: Activation, grouping: Grouping, kernel: Option<WeightKey>, y: Activation },
    /// Stands for cosines and sines that the caller provides as rows. Where there are several such operations, all rows
    /// of one follow all rows of another; `before` is the width of the others before.
    Angles { before: usize, y: Activation },
    /// Clamps `x` to the range between two tensors `[1]`.
    Bound { x: Activation, least: WeightKey, most: WeightKey },
    /// Local attention to the preceding rows, with a row of `far` as the embedding of each distance. `weights` are
    /// factors of the values of queries and keys.
    AttendNear {
        q: Activation,
        kv: [Activation; 2],
        far: Activation,
        weights: [Option<WeightKey>; 2],
        near: NearSpec,
        y: Activation,
    },
    /// Attention to all rows, with a row of `far` as the embedding of each distance, to rows before and to rows behind.
    /// `biases` `[heads, head_dim]` are added to queries for products with keys, and with distances.
    AttendFar {
        q: Activation,
        kv: [Activation; 2],
        far: [Activation; 2],
        biases: [WeightKey; 2],
        spec: FarSpec,
        y: Activation,
    },
    /// `y[i] = table[i mod rows]`, for rows that stand for no patch, such as queries. In the head the following
    /// operations run on as many rows as the encoder gives.
    Repeat { table: WeightKey, rows: usize, y: Activation },
    /// Attention of the rows of the head that the encoder gives to all rows of its layers.
    AttendRows { q: Activation, kv: [Activation; 2], attention: AttentionSpec, y: Activation },
    /// Attention of each block of rows to a block of others. These are rows of the same pass, and a last block may be
    /// shorter; or with `filled` they are rows of the layers, and the last block is filled up with rows of the key
    /// and the value `[heads · head_dim]` in `with`. Otherwise the first of these, if any, is a table
    /// `[2 · farthest + 1, head_dim]` of the distances from -farthest on, the same for all heads: what a query is
    /// multiplied with beside the key, before the factor (Shaw et al. 2018, <https://arxiv.org/abs/1803.02155>).
    AttendBlocks { q: Activation, kv: [Activation; 2], with: [Option<WeightKey>; 2], spec: BlockSpec, y: Activation },
    /// Attention of the rows of a square grid to all of them or within windows, with embeddings `far` of distances
    /// between lines and between columns, `[places, head_dim]` each, for all heads: what a query is multiplied with
    /// beside the factor and the key (SAM, Kirillov et al. 2023, <https://arxiv.org/abs/2304.02643>). `fill` is the key
    /// and the value `[heads · head_dim]` of what a window has outside of the grid.
    AttendGrid {
        q: Activation,
        kv: [Activation; 2],
        far: [WeightKey; 2],
        fill: [WeightKey; 2],
        spec: GridSpec,
        y: Activation,
    },
    /// Rotates the pairs of each head of `x` by the caller's angles. Values i and i + `apart` are a pair, within
    /// consecutive groups of `2 · apart` values. A pair without an angle is not rotated.
    Turn { x: Activation, head_dim: usize, apart: usize },
    /// `y = x · W`, with W `[width of x, width of y]` stored as f32 values.
    Project { x: Activation, weight: WeightKey, y: Activation },
    /// `y = x`. The results of consecutive copies lie side by side.
    Copy { x: Activation, y: Activation },
    /// `x = x · with`, `x = x − with`, `x = x + with` or `x = x / √with`, elementwise.
    Combine { x: Activation, kind: Combining, with: Operand },
    /// `S = e^g S`, `S += k ⊗ β (v − Sᵀ k)`, `y = Sᵀ q` for each head of v, with q, k and v side by side in `qkv`, q
    /// and k normalised, `β = σ(beta)` and `g = a · softplus(alpha + dt_bias)` (Yang et al. 2024,
    /// <https://arxiv.org/abs/2412.06464>). S is the recurrent state with the index `state`.
    DeltaNet { qkv: Activation, beta: Activation, alpha: Activation, delta: DeltaSpec, state: usize, y: Activation },
    /// `y = x · σ(gate)` (Qiu et al. 2025, <https://arxiv.org/abs/2505.06708>), or with a norm
    /// `y = norm(x) · silu(gate)`, for each head of `width` values. The gate has the width of x, or one value for each
    /// head.
    GateHeads { x: Activation, gate: Activation, norm: Option<(WeightKey, f32)>, width: usize, y: Activation },
    /// `y = conv(x)`, with gates b and c `y = c · conv(b · x)` (LFM2, <https://arxiv.org/abs/2511.23404>). The
    /// recurrent state with the index `state` holds the inputs of the last tokens.
    Conv { x: Activation, gates: Option<[Activation; 2]>, conv: ConvSpec, state: usize, y: Activation },
    /// `h = exp(dt A) h + dt B xᵀ` per head, `y = (C h + D x) · silu(z)`, with `dt = softplus(dt + bias)` and x, B and
    /// C side by side in `xbc` (Mamba-2, Dao and Gu 2024, <https://arxiv.org/abs/2405.21060>). h is the recurrent state
    /// with the index `state`.
    Scan { z: Activation, dt: Activation, xbc: Activation, scan: ScanSpec, state: usize, y: Activation },
    /// `h = exp(dt A) h + dt B x` per channel, `y = (C h + D x) · silu(z)`, with `dt = softplus(dt)` and B and C of all
    /// channels in `bc` (Mamba, Gu and Dao 2023, <https://arxiv.org/abs/2312.00752>). h is the recurrent state with the
    /// index `state`.
    ChannelScan {
        x: Activation,
        z: Activation,
        dt: Activation,
        bc: [Activation; 2],
        scan: ChannelSpec,
        state: usize,
        y: Activation,
    },
    /// `y = x + (to − x) · by`, elementwise. With `more`, the values of an activation from an offset on are added to
    /// `by`.
    Lerp { x: Activation, to: Activation, by: Operand, more: Option<(Activation, usize)>, y: Activation },
    /// `S = diag(w) S + k vᵀ + b (aᵀ S)`, `y = Sᵀ r` per head (RWKV-7, Peng et al. 2025,
    /// <https://arxiv.org/abs/2503.14456>), or without a and b (RWKV-6, Peng et al. 2024,
    /// <https://arxiv.org/abs/2404.05892>), with w, k, a and b computed from the inputs as the form of `wkv` defines.
    /// With [`WkvForm::Delta`](super::program::WkvForm) the learning rate of each head follows its w. S is the
    /// recurrent state with the index `state`.
    Wkv { r: Activation, w: Activation, kv: [Activation; 2], wkv: WkvSpec, state: usize, y: Activation },
    /// `x = (norm(x) + v (r · k)) · gate` for each head of `head_dim` values. The norm is a layer norm, where the file
    /// has its weight and bias `[width of x]`; `own` is the term of the token's own key and value.
    WkvOutput {
        x: Activation,
        norm: Option<([WeightKey; 2], f32)>,
        own: Option<OwnToken>,
        gate: Option<Activation>,
        head_dim: usize,
    },
    /// `y = activation(gate) · up` (Shazeer 2020, <https://arxiv.org/abs/2002.05202>), with the values of `up` from the
    /// offset `at` on, as many as the gate has.
    Gate { gate: Activation, up: Activation, at: usize, kind: GateKind, y: Activation },
    /// `x = σ(gate) · x`, with one value of `gate` per token.
    GateRow { x: Activation, gate: Activation },
    /// Chooses the experts of a token by its router's `logits`. `routes` holds their ids, then their weights.
    Route { logits: Activation, routing: Routing, routes: Activation },
    /// `y[e] = activation(gate[e] · x) · (up[e] · x)` for each expert `e` of a token, with biases added to both
    /// products; without a gate `y[e] = up[e] · x`.
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
    /// `y[i] = base[i + skip] + Σ_j weight[i, j] · x[j]` over streams that lie side by side (AltUp, Baykal et al. 2023,
    /// <https://arxiv.org/abs/2301.13310>); `y` may be `base`. A missing `base` or `x` counts as 0.
    Streams { base: Option<Activation>, x: Option<Activation>, spec: StreamSpec, y: Activation },
    /// Cuts or scales the rows of `x` by their deviation or length.
    Spread { x: Activation, kind: Spreading },
    /// `x = cap · tanh(x / cap)` (Gemma 2, <https://arxiv.org/abs/2408.00118>)
    SoftCap { x: Activation, cap: f32 },
    /// `y = H (s ⊙ x)`, where the file has the matrix rotated that y is multiplied with; `y` may be `x`.
    Hadamard { x: Activation, rotation: Arc<Rotation>, y: Activation },
    /// The parts of the attention that finds which of the model's own adapters is at work: see
    /// [`Program::switch`](super::program::Program::switch).
    Switch { kind: Switching, y: Activation },
    /// `y += factor · scale · B · A · x` for each of `ys`: what adapters add to the products of `x`, the first of which
    /// has the weight `of`. Without x it changes an embedding, whose table is `of`, or adds a control vector, whose
    /// direction is `of`. Only dispatch lists of the GPU have it.
    Adapt { x: Option<Activation>, of: WeightKey, ys: Vec<Activation>, factor: f32 },
}

impl Op {
    /// The shape of an attention operation.
    pub fn attention(&self) -> Option<AttentionSpec> {
        match self {
            Self::Attend { attention, .. } | Self::AttendSource { attention, .. } => Some(*attention),
            _ => None,
        }
    }

    /// What matrices in the file's blocks are multiplied with, in products that may have it rotated.
    pub fn product_mut(&mut self) -> Option<&mut Activation> {
        match self {
            Self::Linear { x, .. } | Self::ExpertGate { x, .. } | Self::ExpertDown { x, .. } => Some(x),
            _ => None,
        }
    }

    /// The activations that the operation reads.
    pub fn reads(&self) -> Vec<Activation> {
        match *self {
            Self::Embed { .. } | Self::EmbedPlace { .. } | Self::Input { .. } | Self::Angles { .. } => Vec::new(),
            Self::Repeat { .. } => Vec::new(),
            Self::Switch { kind: Switching::Slot(x), .. } => vec![x],
            Self::Switch { .. } => Vec::new(),
            Self::AttendRows { q, kv: [k, v], .. } | Self::AttendBlocks { q, kv: [k, v], .. } => vec![q, k, v],
            Self::AttendGrid { q, kv: [k, v], .. } => vec![q, k, v],
            Self::Bound { x, .. } => vec![x],
            Self::AttendNear { q, kv: [k, v], far, .. } => vec![q, k, v, far],
            Self::AttendFar { q, kv: [k, v], far: [before, ahead], .. } => vec![q, k, v, before, ahead],
            Self::AddPlaces { to, .. } | Self::Break { to, .. } => vec![to],
            Self::ConvAround { x, .. } | Self::ConvGrid { x, .. } => vec![x],
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
            Self::Spread { x, .. } | Self::Hadamard { x, .. } => vec![x],
            Self::AttendSource { q, .. } => vec![q],
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
            Self::ConvAround { y, .. } | Self::ConvGrid { y, .. } => y,
            Self::Regroup { y, .. } | Self::Project { y, .. } | Self::Streams { y, .. } => y,
            Self::Spread { x, .. } | Self::Turn { x, .. } | Self::Combine { x, .. } | Self::Bound { x, .. } => x,
            Self::Angles { y, .. } | Self::AttendNear { y, .. } | Self::AttendFar { y, .. } => y,
            Self::Hadamard { y, .. } | Self::Repeat { y, .. } | Self::AttendRows { y, .. } => y,
            Self::HeadLinear { y, .. } | Self::HeadValues { y, .. } | Self::JoinHeads { y, .. } => y,
            Self::AttendSource { y, .. } | Self::AttendBlocks { y, .. } | Self::AttendGrid { y, .. } => y,
            Self::Attend { y, .. } | Self::GateHeads { y, .. } | Self::Gate { y, .. } => y,
            Self::Rope { x, .. } | Self::Activate { x, .. } | Self::Scale { x, .. } | Self::SoftCap { x, .. } => x,
            Self::DeltaNet { y, .. } | Self::Conv { y, .. } | Self::Scan { y, .. } | Self::ChannelScan { y, .. } => y,
            Self::Route { routes, .. } => routes,
            Self::Lerp { y, .. } | Self::Wkv { y, .. } => y,
            Self::GateRow { x, .. } | Self::WkvOutput { x, .. } => x,
            Self::ExpertGate { y, .. } | Self::ExpertDown { y, .. } => y,
            Self::Switch { y, .. } => y,
            Self::Add { to, .. } => to,
            Self::Adapt { ref ys, .. } => ys[0],
        }
    }
}
