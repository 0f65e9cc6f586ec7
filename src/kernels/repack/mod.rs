//! Raw GGUF rows in a staging buffer → the sections of a packed matrix.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod packed;
pub mod reference;

use super::layout::PackedLayout;
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Row of the target that the first raw row becomes.
        pub dst_row: u32,
        /// Raw rows.
        pub rows: u32,
        /// Byte of the staging buffer where they start.
        pub raw_offset: u32,
    }
}

/// The contract with `shaders/model/repack.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "repack",
    bindings: &[PARAMS, read("raw"), read("grid"), write("dst")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "COLS", "GRID_WORDS"],
};

/// Blocks, one per thread, of a workgroup.
const WG_SIZE: u32 = 64;

/// Bytes that the grid of a type takes at most; a multiple of what binding offsets must be.
const GRID_BYTES: u64 = 8 << 10;

/// Bytes of a staging buffer for `raw` bytes of rows and, behind them, a grid.
pub const fn staging_bytes(raw: u64) -> u64 {
    // The shader may read the word after the last.
    (raw + 16).next_multiple_of(GRID_BYTES) + GRID_BYTES
}

/// Where the grid of a type lies in a staging buffer of `bytes` bytes.
pub const fn staged_grid_at(bytes: u64) -> u64 {
    bytes - GRID_BYTES
}

/// Where the bytes of rows come from.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Holds the rows, as the file has them, in whole words.
    pub raw: Slice,
    /// Byte of `raw` where they start; any.
    pub offset: u32,
    /// The words of the type's grid ([`crate::formats::Grid::packed`]); unused, such as `raw`, where it has none.
    pub grid: Slice,
}

impl From<Slice> for Source {
    /// Rows at the start of `raw`, of a type without a grid.
    fn from(raw: Slice) -> Self {
        Self { raw, offset: 0, grid: raw }
    }
}

/// Packs `rows` whole rows of `source` into rows `dst_row` … of the matrix or shard `dst` of this layout, and puts the
/// type's grid behind them.
///
/// `dst` must hold [`PackedLayout::bytes`] and be zero where nothing was packed yet, as fresh buffers are. Rows are
/// packed in any order, and again where others take their place.
pub fn repack(layout: &PackedLayout, dst_row: u32, rows: u32, source: &Source, dst: Slice) -> Dispatch {
    debug_assert!(dst_row + rows <= layout.rows, "{rows} rows from {dst_row} on do not fit into {}", layout.rows);
    let grid_words = layout.grid().map_or(0, |grid| grid.words);
    let mut constants = vec![("WG_SIZE", WG_SIZE.into()), ("COLS", layout.cols.into())];
    constants.push(("GRID_WORDS", grid_words.into()));
    constants.extend(layout.constants());
    let kernel = Kernel::new(&SPEC, &constants).named(layout.ty.key()).import("repack_type", layout.ty.format().repack);
    let params = Params { dst_row, rows, raw_offset: source.offset };
    let grid = grid_1d((rows * layout.blocks_per_row()).div_ceil(WG_SIZE));
    Dispatch::new(kernel, &params, &[source.raw, source.grid, dst], grid)
}
