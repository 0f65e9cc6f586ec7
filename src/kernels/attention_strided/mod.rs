//! Attention of many queries for tensors: f32 or f16 keys and values in either layout, with masks and windows.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Sizes, strides in elements, and what is masked.
    pub struct Params {
        /// Sequences.
        pub batch: u32,
        /// Query heads.
        pub heads: u32,
        /// Query heads per key and value head.
        pub group: u32,
        /// Queries of a sequence.
        pub queries: u32,
        /// Keys of a sequence.
        pub keys: u32,
        /// Elements of q and y from one sequence to the next.
        pub q_batch: u32,
        /// From one head to the next.
        pub q_head: u32,
        /// From one query to the next.
        pub q_row: u32,
        /// Elements of k and v from one sequence to the next.
        pub kv_batch: u32,
        /// From one head to the next.
        pub kv_head: u32,
        /// From one key to the next.
        pub kv_row: u32,
        /// 1: a mask is added to the scores; its strides below are 0 where it is broadcast.
        pub masked: u32,
        /// Elements of the mask from one sequence to the next.
        pub mask_batch: u32,
        /// From one query head to the next.
        pub mask_head: u32,
        /// From one query to the next.
        pub mask_row: u32,
        /// From one key to the next.
        pub mask_key: u32,
        /// 1: query i attends to the keys up to `i + keys - queries`.
        pub causal: u32,
        /// Sliding window: of these keys, at most this many, the last ones; 0: all of them.
        pub window: u32,
        /// Factor of scores.
        pub scale: f32,
        /// Scores become `soft_cap · tanh(score / soft_cap)`; 0: no cap.
        pub soft_cap: f32,
    }
}

/// Values of a head, at most: what the kernel keeps in workgroup memory bounds it.
pub const MAX_HEAD_DIM: u32 = 256;

/// The contract with `shaders/tensor/attention_strided.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_strided",
    bindings: &[PARAMS, read("q"), read("k"), read("v"), read("mask"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "HEAD_DIM", "QUERIES"],
};
/// The tensors of one attention.
#[derive(Debug, Clone, Copy)]
pub struct Tensors {
    /// f32 `[batch, heads, queries, head_dim]` by the strides.
    pub q: Slice,
    /// `[batch, kv heads, keys, head_dim]` by the strides.
    pub k: Slice,
    /// Like k.
    pub v: Slice,
    /// Whether k and v are f16, two to a word; else f32.
    pub half: bool,
    /// f32 `[batch, heads, queries, keys]` by the strides.
    pub mask: Slice,
    /// Like q.
    pub y: Slice,
}

/// Attention of every query; heads of up to [`MAX_HEAD_DIM`] values.
pub fn attention_strided(head_dim: u32, params: &Params, tensors: &Tensors) -> Dispatch {
    let queries: u32 = if head_dim <= 128 { 16 } else { 8 };
    let constants = [("WG_SIZE", 64.0), ("HEAD_DIM", head_dim.into()), ("QUERIES", queries.into())];
    let kernel = Kernel::new(&SPEC, &constants);
    let kernel = match (head_dim.is_multiple_of(4), tensors.half) {
        (true, false) => kernel.named("f32").import("kv", "kv_f32"),
        (true, true) => kernel.named("f16").import("kv", "kv_f16"),
        (false, false) => kernel.named("f32.ragged").import("kv", "kv_ragged").import("kv_value", "kv_value_f32"),
        (false, true) => kernel.named("f16.ragged").import("kv", "kv_ragged").import("kv_value", "kv_value_f16"),
    };
    let workgroups = params.queries.div_ceil(queries) * params.heads * params.batch;
    let buffers = [tensors.q, tensors.k, tensors.v, tensors.mask, tensors.y];
    Dispatch::new(kernel, params, &buffers, grid_1d(workgroups))
}
