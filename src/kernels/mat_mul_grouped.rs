//! Each row by the matrix of its own expert (mixture of experts; Shazeer et al. 2017, arXiv 1701.06538): rows are
//! grouped by expert on the device, so that an expert's weights are read per tile of rows, and the results of a token
//! are added up with its weights.

use super::layout::{PackedLayout, type_id, weights_file};
use super::mat_mul_dense::Stored;
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};
use crate::gguf::GgmlType;

params! {
    /// Per-dispatch numbers of `expert_rows`.
    pub struct RowsParams {
        /// Ids.
        pub entries: u32,
        /// Ids from here on are dropped; at most [`MOST_EXPERTS`].
        pub experts: u32,
    }
}

params! {
    /// Per-dispatch numbers of `mat_mul_grouped`.
    pub struct Params {
        /// Columns of y: rows of an expert's matrix.
        pub n: u32,
        /// Columns of x and of an expert's matrix.
        pub k: u32,
        /// Entries that share a row of x.
        pub share: u32,
        /// Matrices.
        pub experts: u32,
    }
}

params! {
    /// Per-dispatch numbers of `expert_sum`.
    pub struct SumParams {
        /// Rows of y.
        pub tokens: u32,
        /// Slots of a token.
        pub top: u32,
        /// Columns of y.
        pub n: u32,
        /// Ids from here on are left out.
        pub experts: u32,
    }
}

/// The contract with `shaders/expert_rows.wgsl`.
pub static ROWS: KernelSpec = KernelSpec {
    stem: "expert_rows",
    source: include_str!("../../shaders/expert_rows.wgsl"),
    bindings: &[PARAMS, read("ids"), write("groups")],
    params: RowsParams::LAYOUT,
    overrides: &[],
};

/// The contract with `shaders/mat_mul_grouped.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    stem: "mat_mul_grouped",
    source: include_str!("../../shaders/mat_mul_grouped.wgsl"),
    bindings: &[PARAMS, read("groups"), read("x"), read("w_vec"), read("w_word"), write("y")],
    params: Params::LAYOUT,
    overrides: &["X_KIND", "W_KIND"],
};

/// The contract with `shaders/expert_sum.wgsl`.
pub static SUM: KernelSpec = KernelSpec {
    stem: "expert_sum",
    source: include_str!("../../shaders/expert_sum.wgsl"),
    bindings: &[PARAMS, read("ids"), read("weights"), read("z"), write("y")],
    params: SumParams::LAYOUT,
    overrides: &[],
};

/// Experts that `expert_rows` counts in workgroup memory.
pub const MOST_EXPERTS: u32 = 256;

/// Rows, and columns, of a workgroup's tile.
const TILE: u32 = 32;

/// How the experts' matrices `[experts, n, k]` lie in their buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Experts {
    /// Plain numbers, contiguous.
    Numbers(Stored),
    /// Packed blocks of a matrix `[experts · n, k]`.
    Blocks(GgmlType),
}

/// Rows of x times the matrices of their experts.
#[derive(Debug, Clone, Copy)]
pub struct Grouped {
    /// Sizes.
    pub params: Params,
    /// Ids in all.
    pub entries: u32,
    /// x `[entries / share, k]` with its storage.
    pub x: (Slice, Stored),
    /// w `[experts, n, k]` with its storage.
    pub w: (Slice, Experts),
    /// What [`expert_rows`] wrote.
    pub groups: Slice,
    /// `[entries, n]` f32; rows of entries without an expert stay as they are.
    pub y: Slice,
}

/// Bytes of what [`expert_rows`] writes.
pub fn groups_bytes(entries: u32, experts: u32) -> u64 {
    4 * (u64::from(experts) + 1 + u64::from(entries))
}

/// Lists the entries of each expert: ids `[entries]` u32 → groups, `experts + 1` offsets and then the entries.
pub fn expert_rows(params: RowsParams, ids: Slice, groups: Slice) -> Dispatch {
    debug_assert!(params.experts <= MOST_EXPERTS, "{} experts", params.experts);
    Dispatch::new(Kernel::new(&ROWS, &[]), &params, &[ids, groups], grid_1d(1))
}

/// The products of `problem`.
pub fn mat_mul_grouped(problem: &Grouped) -> Dispatch {
    let Grouped { params, entries, x, w, groups, y } = *problem;
    let stored = match w.1 {
        Experts::Numbers(stored) => stored,
        Experts::Blocks(_) => Stored::F32,
    };
    let mut constants = vec![("X_KIND", f64::from(x.1.kind())), ("W_KIND", stored.kind().into())];
    if let Experts::Blocks(ty) = w.1 {
        constants.extend(PackedLayout::new(ty, params.experts * params.n, params.k).constants());
    }
    let kernel = Kernel::new(&SPEC, &constants).named(x.1.id()).import("real", "real_f32").import("micro", "dense_4x4");
    let kernel = match w.1 {
        Experts::Numbers(stored) => kernel.named(stored.id()).import("experts", "expert_numbers"),
        Experts::Blocks(ty) => kernel
            .named("blocks")
            .named(type_id(ty))
            .import("experts", "expert_blocks")
            .import("weights", weights_file(ty)),
    };
    // Every expert that has entries may begin a tile that it does not fill.
    let tiles = entries / TILE + params.experts.min(entries);
    let grid = grid_1d(tiles * params.n.div_ceil(TILE));
    Dispatch::new(kernel, &params, &[groups, x.0, w.0, w.0, y], grid)
}

/// Adds up the slots of each token: ids and weights `[tokens, top]`, z `[tokens, top, n]` f32 → y `[tokens, n]` f32.
pub fn expert_sum(params: SumParams, ids: Slice, weights: Slice, z: Slice, y: Slice) -> Dispatch {
    let grid = grid_1d((params.tokens * params.n).div_ceil(256));
    Dispatch::new(Kernel::new(&SUM, &[]), &params, &[ids, weights, z, y], grid)
}
