//! Attention of the inputs of a pass among themselves, without a cache: what embedders do.

#[cfg(feature = "harness")]
pub(crate) mod cases;
#[cfg(feature = "harness")]
pub(crate) mod cases_matrices;
#[cfg(feature = "harness")]
pub(crate) mod cases_source;
#[cfg(feature = "harness")]
pub(crate) mod cases_tiled;
pub mod matrices;
pub mod reference;
pub mod tiled;

use super::attention::distances::{self, Distances};
use super::attention::matrices::supports;
use super::attention::tiled::{Choice, choose};
use super::caps::Caps;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, overrides, params, read, write};

params! {
    /// Shape of the layer, and what its rows see.
    pub struct Params {
        /// Query heads.
        pub heads: u32,
        /// Query heads per key and value head.
        pub group: u32,
        /// Values from a row of q, k and v to the next.
        pub stride: u32,
        /// Value of a row where its keys start.
        pub k_at: u32,
        /// Value of a row where its values start.
        pub v_at: u32,
        /// 1: a row sees the rows of its input up to itself.
        pub causal: u32,
        /// Sliding window: a row sees rows at most window / 2 away; with `causal` the last `window` rows. 0: no window.
        pub window: u32,
        /// Factor of scores.
        pub scale: f32,
        /// Scores become `soft_cap · tanh(score / soft_cap)`; 0: no cap.
        pub soft_cap: f32,
        /// Scores fall with the distance of a row: the bias of ALiBi; 0: none.
        pub alibi: f32,
    }
}

/// The contract with `shaders/rare/model/attention_batch.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_batch",
    bindings: &[PARAMS, read("this_pass"), read("inputs"), read("q"), read("k"), read("v"), write("y")],
    params: Params::LAYOUT,
    overrides: OVERRIDES,
};

const OVERRIDES: &[&str] = &["WG_SIZE", "HEAD_DIM", "QUERIES"];

/// The same with biases by distance.
static BIASED: KernelSpec = KernelSpec {
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("inputs"),
        read("q"),
        read("k"),
        read("v"),
        write("y"),
        read("by_distance"),
    ],
    overrides: overrides!(OVERRIDES, distances::OVERRIDES),
    kernel_name: "attention_batch",
    params: Params::LAYOUT,
};

/// The heads of an attention over a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchHeads {
    /// Query heads.
    pub heads: u32,
    /// Key and value heads; divides `heads`.
    pub kv_heads: u32,
    /// Values per head, at most [`MAX_HEAD_DIM`](super::attention::MAX_HEAD_DIM).
    pub head_dim: u32,
}

impl BatchHeads {
    /// Values of q, k and v of a row.
    pub fn row(&self) -> u32 {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }
}

/// Which rows of its input a row sees, and how scores are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchRules {
    /// See [`Params::causal`].
    pub causal: bool,
    /// See [`Params::window`].
    pub window: u32,
    /// See [`Params::scale`].
    pub scale: f32,
    /// See [`Params::soft_cap`].
    pub soft_cap: f32,
    /// See [`Params::alibi`].
    pub alibi: f32,
    /// Each head has a learned bias by the distance of a row, in place of ALiBi.
    pub distances: Option<Distances>,
}

/// The buffers of an attention over a batch.
#[derive(Debug, Clone, Copy)]
pub struct BatchBuffers {
    /// The pass: the sequence of a row is the number of its input.
    pub pass: Slice,
    /// First row of each input, and one past its last: `[inputs, 2]` u32.
    pub inputs: Slice,
    /// `[rows, heads + 2 kv_heads, head_dim]` f32: queries, keys, values.
    pub qkv: Slice,
    /// `[rows, heads, head_dim]` f32
    pub y: Slice,
}

/// The buffers of an attention of a pass to rows that are not its own.
#[derive(Debug, Clone, Copy)]
pub struct SourceBuffers {
    /// The pass.
    pub pass: Slice,
    /// First row of the keys of each sequence, and one past its last: `[sequences, 2]` u32. They begin in the order of
    /// the sequences.
    pub spans: Slice,
    /// `[rows, heads, head_dim]` f32
    pub q: Slice,
    /// Keys and values, f32: rows as wide as a row of q, which begin with the `kv_heads` heads.
    pub kv: [Slice; 2],
    /// `[rows, heads, head_dim]` f32
    pub y: Slice,
}

pub use matrices::SPEC as MATRICES;
use matrices::attention_batch_subgroup_matrix;
pub use tiled::SPEC as TILED;

/// Attention of every row of the pass over the rows of its own input, for inputs that usually have many rows, as images
/// and sounds do. The pass has up to `rows` rows.
pub fn attention_of_inputs(
    caps: &Caps,
    rows: u32,
    of: BatchHeads,
    rules: BatchRules,
    buffers: BatchBuffers,
) -> Dispatch {
    match choose(caps, (of.heads, of.head_dim), rows) {
        Choice::Tiled { .. } if tiled::can_take(rules) && supports(caps, of.head_dim) => {
            attention_batch_subgroup_matrix(of, rules, buffers)
        }
        Choice::Tiled { groups } if tiled::can_take(rules) => tiled::attention_batch_tiled(groups, of, rules, buffers),
        _ => attention_batch(of, rules, buffers),
    }
}

/// Attention of every row of the pass over the rows of its own input, for inputs of any length.
pub fn attention_batch(of: BatchHeads, rules: BatchRules, buffers: BatchBuffers) -> Dispatch {
    let BatchHeads { heads, kv_heads, head_dim } = of;
    let params = Params {
        heads,
        group: heads / kv_heads,
        stride: of.row(),
        k_at: heads * head_dim,
        v_at: (heads + kv_heads) * head_dim,
        causal: rules.causal.into(),
        window: rules.window,
        scale: rules.scale,
        soft_cap: rules.soft_cap,
        alibi: rules.alibi,
    };
    let BatchBuffers { pass, inputs, qkv, y } = buffers;
    let dispatch = dispatch(head_dim, most_queries(head_dim), &params, &[pass, inputs, qkv, qkv, qkv, y]);
    distances::biased(dispatch, &BIASED, "distance_bias_batch", rules.distances)
}

/// Attention of every row of a pass of up to `rows` rows to all rows of the source of its sequence.
pub fn attention_to_source(rows: u32, of: BatchHeads, scale: f32, buffers: SourceBuffers) -> Dispatch {
    let BatchHeads { heads, kv_heads, head_dim } = of;
    let (group, stride) = (heads / kv_heads, heads * head_dim);
    let params = Params { heads, group, stride, scale, ..Params::default() };
    let SourceBuffers { pass, spans, q, kv: [k, v], y } = buffers;
    // A decode pass has few rows, and a thread scores a key for each query of its workgroup.
    let queries = rows.next_power_of_two().clamp(2, most_queries(head_dim));
    dispatch(head_dim, queries, &params, &[pass, spans, q, k, v, y])
}

/// Rows of a workgroup, at most.
const fn most_queries(head_dim: u32) -> u32 {
    if head_dim <= 128 { 16 } else { 8 }
}

fn dispatch(head_dim: u32, queries: u32, params: &Params, buffers: &[Slice]) -> Dispatch {
    let constants = [("WG_SIZE", 64.0), ("HEAD_DIM", head_dim.into()), ("QUERIES", queries.into())];
    let kernel = Kernel::new(&SPEC, &constants);
    let kernel = match head_dim.is_multiple_of(4) {
        true => kernel.import("kv", "kv_f32"),
        false => kernel.named("ragged").import("kv", "kv_ragged").import("kv_value", "kv_value_f32"),
    };
    let grid = [Extent::Fixed(params.heads), Extent::PerRows(queries), Extent::Fixed(1)];
    Dispatch::new(kernel, params, buffers, grid)
}
