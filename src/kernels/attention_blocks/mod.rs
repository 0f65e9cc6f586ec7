//! Attention of blocks of rows to blocks of others, with an embedding of the distance.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, params, read, write};
use crate::model::program::BlockSpec;

params! {
    /// Sizes of blocks, a factor, and where heads lie in the rows of their buffers.
    pub struct Params {
        /// Factor of scores.
        pub scale: f32,
        /// Heads that share a key and a value.
        pub group: u32,
        /// Rows of a block.
        pub queries: u32,
        /// Rows that each of them sees.
        pub keys: u32,
        /// The largest distance that has an embedding, or 0.
        pub farthest: u32,
        /// 1 where `spans` says which rows are seen, and the last block is filled up.
        pub filled: u32,
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
    }
}

/// The contract with `shaders/rare/model/attention_blocks.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_blocks",
    bindings: &[PARAMS, read("q"), read("k"), read("v"), read("spans"), read("far"), read("fill"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "HEAD_DIM"],
};

/// The buffers of such an attention.
#[derive(Debug, Clone, Copy)]
pub struct BlockBuffers {
    /// Queries `[rows, heads, head_dim]` f32, keys and values `[rows, heads / group, head_dim]`.
    pub qkv: [Rows; 3],
    /// The first row that is seen, 0, and one past the last, where the last block is filled up.
    pub spans: Slice,
    /// `[heads, head_dim]` f32, the key and the value of rows that fill up the last block; else the first is
    /// `[2 · farthest + 1, head_dim]` f32, from the key that is farthest behind its query on.
    pub weights: [Slice; 2],
    /// `[rows, heads, head_dim]` f32
    pub y: Slice,
}

/// Every row of the pass sees a block.
pub fn attention_blocks(spec: BlockSpec, buffers: BlockBuffers) -> Dispatch {
    let BlockBuffers { qkv: [q, k, v], spans, weights: [far, fill], y } = buffers;
    let constants = [("WG_SIZE", 64.0), ("HEAD_DIM", spec.head_dim as f64)];
    let params = Params {
        scale: spec.scale,
        group: spec.group as u32,
        queries: spec.queries as u32,
        keys: spec.keys as u32,
        farthest: spec.farthest as u32,
        filled: spec.filled.into(),
        q_stride: q.stride,
        q_at: q.offset,
        k_stride: k.stride,
        k_at: k.offset,
        v_stride: v.stride,
        v_at: v.offset,
    };
    let grid = [Extent::Fixed(spec.heads as u32), Extent::PerRows(1), Extent::Fixed(1)];
    let buffers = [q.slice, k.slice, v.slice, spans, far, fill, y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &params, &buffers, grid)
}
