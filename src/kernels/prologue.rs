//! Prologues of `mat_vec`: operations on x that are fused into the product, besides an RMS norm. Each workgroup
//! computes all of x, which costs less than a separate dispatch where rows are short.

use super::spec::{Binding, Kernel, PARAMS, Slice, bool_override, read, write};
use crate::model::GateKind;

/// The prologue of a product. All but `None` need one column of whole blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Prologue {
    /// x as it is.
    #[default]
    None,
    /// x after the update of a block whose output is normalised; the product has no bias.
    Update(Update),
    /// A layer norm of x.
    LayerNorm(LayerNorm),
    /// x as a gate.
    Gate(Gate),
}

/// `new_x = factor · (x + weight ⊙ update / √(mean update² + eps))`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update {
    /// `[cols]` f32
    pub update: Slice,
    /// f32: the weights of the product's RMS norm, if it has one; the weights of the update; with `scaled` the factor.
    /// In whole `vec4`.
    pub vectors: Slice,
    /// Added to the mean of the squares of `update`.
    pub eps: f32,
    /// Whether there is a factor.
    pub scaled: bool,
    /// `[cols]` f32, another buffer than x: what x becomes.
    pub new_x: Slice,
}

/// `weight ⊙ (x − mean x) / √(mean (x − mean x)² + eps) + bias`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerNorm {
    /// `[cols]` f32
    pub weight: Slice,
    /// `[cols]` f32
    pub bias: Option<Slice>,
    /// Added to the variance.
    pub eps: f32,
}

/// `activation(x) ⊙ up`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// The activation.
    pub kind: GateKind,
    /// f32
    pub up: Slice,
    /// The first element of `up` that is used, a multiple of four.
    pub up_at: u32,
}

/// The bindings of `mat_vec`, `mat_vec_split` and `mat_vec_columns` without a prologue.
pub(super) const PLAIN: &[Binding] = &first("bias");
/// With an update, which is in the place of a bias.
pub(super) const OF_UPDATE: &[Binding] = &with(first("update"), write("new_x"));
/// With a layer norm.
pub(super) const OF_LAYER_NORM: &[Binding] = &with(first("bias"), read("norm_bias"));
/// With a gate.
pub(super) const OF_GATE: &[Binding] = &with(first("bias"), read("up"));

/// Without a prologue, but with what an adapter adds.
pub(super) const OF_ADAPTER: &[Binding] = &with(first("bias"), read("adapter"));

const fn first(bias: &'static str) -> [Binding; 8] {
    let [pass, x, norm_weight] = [read("this_pass"), read("x"), read("norm_weight")];
    [PARAMS, pass, x, norm_weight, read("w_vec"), read("w_word"), read(bias), write("y")]
}

const fn with([a, b, c, d, e, f, g, h]: [Binding; 8], last: Binding) -> [Binding; 9] {
    [a, b, c, d, e, f, g, h, last]
}

impl Prologue {
    /// The variant with this prologue.
    pub(super) fn import(&self, kernel: Kernel) -> Kernel {
        match self {
            Self::None => kernel.import("prologue", "prologue_none"),
            Self::Update(_) => kernel.named("update").import("prologue", "prologue_update"),
            Self::LayerNorm(_) => kernel.named("layer_norm").import("prologue", "prologue_layer_norm"),
            Self::Gate(_) => kernel.named("gate").import("prologue", "prologue_gate"),
        }
    }

    /// The constants that its file declares.
    pub(super) fn constants(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::None => Vec::new(),
            Self::Update(Update { eps, scaled, .. }) => {
                vec![("UPDATE_EPS", eps.into()), ("SCALED", bool_override(scaled))]
            }
            Self::LayerNorm(LayerNorm { eps, bias, .. }) => {
                vec![("LAYER_EPS", eps.into()), ("NORM_BIASED", bool_override(bias.is_some()))]
            }
            Self::Gate(Gate { kind, .. }) => vec![("GATE_GELU", bool_override(kind == GateKind::GeGlu))],
        }
    }

    /// The bindings for norm weights, for bias or update, and behind y.
    pub(super) fn buffers(&self, [norm, bias, dummy]: [Slice; 3]) -> (Slice, Slice, Option<Slice>) {
        match *self {
            Self::None => (norm, bias, None),
            Self::Update(Update { update, vectors, new_x, .. }) => (vectors, update, Some(new_x)),
            Self::LayerNorm(layer) => (layer.weight, bias, Some(layer.bias.unwrap_or(dummy))),
            Self::Gate(gate) => (norm, bias, Some(gate.up)),
        }
    }

    /// Bytes of workgroup memory that the prologue takes in a workgroup of `threads` threads.
    pub(super) fn memory(&self, threads: u32) -> u32 {
        match self {
            Self::Update(_) | Self::LayerNorm(_) => 4 * threads,
            Self::None | Self::Gate(_) => 0,
        }
    }

    /// The element of the other input that column 0 belongs to.
    pub(super) fn other_at(&self) -> u32 {
        match self {
            Self::Gate(gate) => gate.up_at,
            _ => 0,
        }
    }
}

/// Bytes that the workgroups of a product may read together for a prologue, in place of a dispatch that computes it
/// once: 32 MiB out of the nearest caches take about as long as a launch on a large card.
pub const MOST_BYTES: u64 = 32 << 20;

/// Whether a prologue with `vectors` vectors of `cols` values is faster than a dispatch of its own, for a product in
/// `workgroups` workgroups.
pub fn pays(workgroups: u32, vectors: u32, cols: u32) -> bool {
    u64::from(workgroups) * u64::from(vectors) * u64::from(cols) * 4 <= MOST_BYTES
}
