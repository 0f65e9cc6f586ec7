//! Attention to the rows right before, with an embedding of the distance.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};
use crate::model::program::NearSpec;

params! {
    /// Factors, and where heads lie in the rows of their buffers.
    pub struct Params {
        /// Factor of scores.
        pub scale: f32,
        /// Factor of keys.
        pub k_scale: f32,
        /// Scores become `soft_cap · tanh(score / soft_cap)`.
        pub soft_cap: f32,
        /// Values from one row of queries to the next.
        pub q_stride: u32,
        /// Value of a row where queries start.
        pub q_at: u32,
        /// The same of keys.
        pub k_stride: u32,
        /// The same of keys.
        pub k_at: u32,
        /// The same of values.
        pub v_stride: u32,
        /// The same of values.
        pub v_at: u32,
        /// Values from one distance to the next.
        pub far_stride: u32,
    }
}

/// The contract with `shaders/rare/model/attention_near.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_near",
    bindings: &[PARAMS, read("q"), read("k"), read("v"), read("far"), read("weight"), read("key_weight"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "HEAD_DIM", "SPAN", "WEIGHTED", "KEYS_WEIGHTED"],
};

/// Rows that a row may see.
pub const MAX_SPAN: usize = 16;

/// The buffers of such an attention.
#[derive(Debug, Clone, Copy)]
pub struct NearBuffers {
    /// Queries, keys and values `[rows, heads, head_dim]` f32.
    pub qkv: [Rows; 3],
    /// The same for each distance: a row for each that there is between two rows of the pass.
    pub far: Rows,
    /// `[head_dim]` f32: factors of queries, and of keys.
    pub weights: [Option<Slice>; 2],
    /// `[rows, heads, head_dim]` f32
    pub y: Slice,
}

/// Every row of the pass sees itself and those right before it. `dummy` is bound where there are no factors.
pub fn attention_near(near: NearSpec, buffers: NearBuffers, dummy: Slice) -> Dispatch {
    let NearSpec { heads, head_dim, span, scale, k_scale, soft_cap } = near;
    let NearBuffers { qkv: [q, k, v], far, weights, y } = buffers;
    debug_assert!(span <= MAX_SPAN && far.offset == 0);
    let constants = [
        ("WG_SIZE", 64.0),
        ("HEAD_DIM", head_dim as f64),
        ("SPAN", span as f64),
        ("WEIGHTED", bool_override(weights[0].is_some())),
        ("KEYS_WEIGHTED", bool_override(weights[1].is_some())),
    ];
    let params = Params {
        scale,
        k_scale,
        soft_cap,
        q_stride: q.stride,
        q_at: q.offset,
        k_stride: k.stride,
        k_at: k.offset,
        v_stride: v.stride,
        v_at: v.offset,
        far_stride: far.stride,
    };
    let [weight, key_weight] = weights.map(|weight| weight.unwrap_or(dummy));
    let grid = [Extent::Fixed(heads as u32), Extent::PerRows(1), Extent::Fixed(1)];
    let buffers = [q.slice, k.slice, v.slice, far.slice, weight, key_weight, y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &params, &buffers, grid)
}
