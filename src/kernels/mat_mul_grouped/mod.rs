//! Each row by the matrix of its own expert (mixture of experts; Shazeer et al. 2017, arXiv 1701.06538): rows are
//! grouped by expert on the device, so that an expert's weights are read per tile of rows, and the results of a token
//! are added up with its weights.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::mat_mul_dense::{LARGE, SMALL, Stored, Tile, Weights};
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers of `expert_rows`.
    pub struct RowsParams {
        /// Ids.
        pub entries: u32,
        /// Ids from here on are dropped; at most [`MAX_EXPERTS`].
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
    /// Per-dispatch numbers of `mat_mul_grouped_each`.
    pub struct EachParams {
        /// Columns of y: rows of an expert's matrix.
        pub n: u32,
        /// Columns of x and of an expert's matrix.
        pub k: u32,
        /// Entries that share a row of x.
        pub share: u32,
        /// Matrices.
        pub experts: u32,
        /// Ids.
        pub entries: u32,
    }
}

params! {
    /// Per-dispatch numbers of `expert_sum`.
    pub struct SumParams {
        /// Rows of y.
        pub tokens: u32,
        /// Experts chosen per token.
        pub top: u32,
        /// Columns of y.
        pub n: u32,
        /// Ids from here on are left out.
        pub experts: u32,
    }
}

/// The contract with `shaders/tensor/expert_rows.wgsl`.
pub static ROWS: KernelSpec = KernelSpec {
    kernel_name: "expert_rows",
    bindings: &[PARAMS, read("ids"), write("groups")],
    params: RowsParams::LAYOUT,
    overrides: &[],
};

/// The contract with `shaders/tensor/mat_mul_grouped.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_grouped",
    bindings: &[PARAMS, read("groups"), read("x"), read("w_vec"), read("w_word"), write("y")],
    params: Params::LAYOUT,
    overrides: &["X_KIND", "W_KIND"],
};

/// The contract with `shaders/tensor/mat_mul_grouped_each.wgsl`.
pub static EACH: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_grouped_each",
    bindings: &[PARAMS, read("ids"), read("x"), read("w_vec"), read("w_word"), write("y")],
    params: EachParams::LAYOUT,
    overrides: &["X_KIND", "W_KIND", "WG_SIZE", "GROUP"],
};

/// The contract with `shaders/tensor/expert_sum.wgsl`.
pub static SUM: KernelSpec = KernelSpec {
    kernel_name: "expert_sum",
    bindings: &[PARAMS, read("ids"), read("weights"), read("z"), write("y")],
    params: SumParams::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// Experts that `expert_rows` counts in workgroup memory.
pub const MAX_EXPERTS: u32 = 256;

/// Threads of a workgroup of `mat_mul_grouped_each`, and the columns that it computes.
const EACH_WG_SIZE: u32 = 128;
const EACH_GROUP: u32 = 16;

/// Threads of a workgroup of `expert_sum`, each of which computes one element.
const SUM_WG_SIZE: u32 = 256;

/// How rows are multiplied by the matrices of their experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Every entry on its own.
    Each,
    /// Grouped by expert, in tiles.
    Tiles(Tile),
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For at most this many entries,
    pub max_entries: u32,
    /// and at most this many for each expert on average.
    pub max_average: u32,
    /// The choice.
    pub path: Path,
}

/// Which path a call takes. The last row holds for everything.
pub static RULES: &[Rule] = &[
    Rule { max_entries: 16, max_average: u32::MAX, path: Path::Each },
    Rule { max_entries: u32::MAX, max_average: 1, path: Path::Each },
    Rule { max_entries: u32::MAX, max_average: 63, path: Path::Tiles(SMALL) },
    Rule { max_entries: u32::MAX, max_average: u32::MAX, path: Path::Tiles(LARGE) },
];

/// The path for `entries` entries that choose among `experts`.
pub fn choose(entries: u32, experts: u32) -> Path {
    let average = entries.div_ceil(experts.max(1));
    let rule = RULES.iter().find(|rule| entries <= rule.max_entries && average <= rule.max_average);
    rule.map_or(Path::Tiles(SMALL), |rule| rule.path)
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
    /// w `[experts, n, k]` with its storage: blocks are those of a matrix `[experts · n, k]`.
    pub w: (Slice, Weights),
    /// `[entries, n]` f32
    pub y: Slice,
}

/// Bytes of what [`expert_rows`] writes.
pub fn groups_bytes(entries: u32, experts: u32) -> u64 {
    4 * (u64::from(experts) + 1 + u64::from(entries))
}

/// Lists the entries of each expert: ids `[entries]` u32 → groups, `experts + 1` offsets and then the entries.
pub fn expert_rows(params: RowsParams, ids: Slice, groups: Slice) -> Dispatch {
    debug_assert!(params.experts <= MAX_EXPERTS, "{} experts", params.experts);
    Dispatch::new(Kernel::new(&ROWS, &[]), &params, &[ids, groups], grid_1d(1))
}

/// The products of `problem` in tiles: groups are what [`expert_rows`] wrote. Rows of y whose entries have no expert
/// stay as they are.
pub fn mat_mul_grouped(tile: Tile, groups: Slice, problem: &Grouped) -> Dispatch {
    let Grouped { params, entries, x, w, y } = *problem;
    let kernel = kernel(&SPEC, &[], problem).named(tile.name).import("real", "real_f32").import("micro", tile.file);
    // Every expert that has entries may have one tile that is not full.
    let tiles = entries / tile.rows + params.experts.min(entries);
    let grid = grid_1d(tiles * params.n.div_ceil(tile.cols));
    Dispatch::new(kernel, &params, &[groups, x.0, w.0, w.0, y], grid)
}

/// The products of `problem` entry by entry: ids `[entries]` u32. Rows of y whose entries have no expert become 0.
pub fn mat_mul_grouped_each(ids: Slice, problem: &Grouped) -> Dispatch {
    let Grouped { params: Params { n, k, share, experts }, entries, x, w, y } = *problem;
    let params = EachParams { n, k, share, experts, entries };
    let grid = grid_1d(entries * n.div_ceil(EACH_GROUP));
    let sizes = [("WG_SIZE", EACH_WG_SIZE.into()), ("GROUP", EACH_GROUP.into())];
    Dispatch::new(kernel(&EACH, &sizes, problem).named("each"), &params, &[ids, x.0, w.0, w.0, y], grid)
}

/// The variant for the storage of x and w.
fn kernel(spec: &'static KernelSpec, sizes: &[(&'static str, f64)], problem: &Grouped) -> Kernel {
    let Grouped { params, x, w, .. } = problem;
    let mut constants = vec![("X_KIND", f64::from(x.1.kind())), ("W_KIND", w.1.kind().into())];
    constants.extend_from_slice(sizes);
    constants.extend(w.1.constants(params.experts * params.n, params.k));
    let mut kernel = Kernel::new(spec, &constants);
    kernel.id = SPEC.kernel_name.to_owned();
    w.1.read_by(kernel.named(x.1.id()), "experts", ["expert_numbers", "expert_blocks"])
}

/// Adds up the results of each token's experts: ids and weights `[tokens, top]`, z `[tokens, top, n]` f32 → y
/// `[tokens, n]` f32.
pub fn expert_sum(params: SumParams, ids: Slice, weights: Slice, z: Slice, y: Slice) -> Dispatch {
    let grid = grid_1d((params.tokens * params.n).div_ceil(SUM_WG_SIZE));
    Dispatch::new(Kernel::new(&SUM, &[("WG_SIZE", SUM_WG_SIZE.into())]), &params, &[ids, weights, z, y], grid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::spec::BufferId;

    #[test]
    fn the_table_chooses() {
        assert_eq!(choose(16, 1), Path::Each);
        assert_eq!(choose(64, 64), Path::Each);
        assert_eq!(choose(65, 64), Path::Tiles(SMALL));
        assert_eq!(choose(8 * 63, 8), Path::Tiles(SMALL));
        assert_eq!(choose(8 * 64, 8), Path::Tiles(LARGE));
    }

    #[test]
    fn the_grid_has_room_for_every_choice_of_experts() {
        // All entries on one expert, spread evenly, one more per expert than fills its tiles, and almost none.
        for counts in [vec![1000, 0, 0], vec![333; 3], vec![33; 30], vec![1; 7], vec![0, 65, 1, 64, 0, 31], vec![0, 1]]
        {
            let (entries, experts) = (counts.iter().sum(), counts.len() as u32);
            let buffer = |i| Slice::from(BufferId(i));
            let params = Params { n: 70, k: 1, share: 1, experts };
            let (x, w) = ((buffer(0), Stored::F32), (buffer(1), Weights::Numbers(Stored::F32)));
            for tile in [SMALL, LARGE] {
                let dispatch = mat_mul_grouped(tile, buffer(2), &Grouped { params, entries, x, w, y: buffer(3) });
                let workgroups: u32 = dispatch.grid.iter().map(|extent| extent.resolve(1)).product();
                let tiles: u32 = counts.iter().map(|count: &u32| count.div_ceil(tile.rows)).sum();
                assert!(workgroups >= tiles * 70_u32.div_ceil(tile.cols), "{counts:?}: {workgroups}");
            }
        }
    }
}
