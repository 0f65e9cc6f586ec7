//! Attention to all rows of a pass, with an embedding of the distance in both directions.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, params, read, write};
use crate::model::program::FarSpec;

params! {
    /// A factor, and where heads lie in the rows of their buffers.
    pub struct Params {
        /// Factor of scores.
        pub scale: f32,
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

/// The contract with `shaders/rare/model/attention_far.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_far",
    bindings: &[
        PARAMS,
        read("q"),
        read("k"),
        read("v"),
        read("far"),
        read("ahead"),
        read("key_bias"),
        read("far_bias"),
        write("y"),
    ],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "HEAD_DIM"],
};

/// The buffers of such an attention.
#[derive(Debug, Clone, Copy)]
pub struct FarBuffers {
    /// Queries, keys and values `[rows, heads, head_dim]` f32.
    pub qkv: [Rows; 3],
    /// The same for each distance: row d for a key d rows before the query, then for one d rows behind it.
    pub far: [Rows; 2],
    /// `[heads, head_dim]` f32: what is added to queries for products with keys, and with distances.
    pub biases: [Slice; 2],
    /// `[rows, heads, head_dim]` f32
    pub y: Slice,
}

/// Every row of the pass sees all rows.
pub fn attention_far(far: FarSpec, buffers: FarBuffers) -> Dispatch {
    let FarBuffers { qkv: [q, k, v], far: [before, ahead], biases: [key_bias, far_bias], y } = buffers;
    debug_assert!(before.offset == 0 && ahead.offset == 0 && before.stride == ahead.stride);
    let constants = [("WG_SIZE", 64.0), ("HEAD_DIM", far.head_dim as f64)];
    let params = Params {
        scale: far.scale,
        q_stride: q.stride,
        q_at: q.offset,
        k_stride: k.stride,
        k_at: k.offset,
        v_stride: v.stride,
        v_at: v.offset,
        far_stride: before.stride,
    };
    let grid = [Extent::Fixed(far.heads as u32), Extent::PerRows(1), Extent::Fixed(1)];
    let buffers = [q.slice, k.slice, v.slice, before.slice, ahead.slice, key_bias, far_bias, y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &params, &buffers, grid)
}
