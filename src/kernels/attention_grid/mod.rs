//! Attention of the cells of a square grid to all of them or within windows, with embeddings of distances.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, params, read, write};
use crate::model::program::GridSpec;

params! {
    /// A factor, sizes, and where heads lie in the rows of their buffers.
    pub struct Params {
        /// Factor of scores.
        pub scale: f32,
        /// Cells along a side of a window, or 0.
        pub window: u32,
        /// Rows of the tables of distances.
        pub places: u32,
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

/// The contract with `shaders/rare/model/attention_grid.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_grid",
    bindings: &[
        PARAMS,
        read("q"),
        read("k"),
        read("v"),
        read("down"),
        read("across"),
        read("fill_k"),
        read("fill_v"),
        write("y"),
    ],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "HEAD_DIM"],
};

/// The buffers of such an attention.
#[derive(Debug, Clone, Copy)]
pub struct GridBuffers {
    /// Queries, keys and values `[cells, heads, head_dim]` f32.
    pub qkv: [Rows; 3],
    /// `[places, head_dim]` f32, embeddings of distances between lines, and between columns.
    pub far: [Slice; 2],
    /// `[heads, head_dim]` f32, the key and the value of cells outside of the grid.
    pub fill: [Slice; 2],
    /// `[cells, heads, head_dim]` f32
    pub y: Slice,
}

/// Every cell sees all cells, or the cells of its window. The number of rows is a square.
pub fn attention_grid(spec: GridSpec, buffers: GridBuffers) -> Dispatch {
    let GridBuffers { qkv: [q, k, v], far: [down, across], fill: [fill_k, fill_v], y } = buffers;
    let constants = [("WG_SIZE", 64.0), ("HEAD_DIM", spec.head_dim as f64)];
    let params = Params {
        scale: spec.scale,
        window: spec.window as u32,
        places: spec.places as u32,
        q_stride: q.stride,
        q_at: q.offset,
        k_stride: k.stride,
        k_at: k.offset,
        v_stride: v.stride,
        v_at: v.offset,
    };
    let grid = [Extent::Fixed(spec.heads as u32), Extent::PerRows(1), Extent::Fixed(1)];
    let buffers = [q.slice, k.slice, v.slice, down, across, fill_k, fill_v, y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &params, &buffers, grid)
}
