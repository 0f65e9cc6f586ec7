//! Raw GGUF rows in a staging buffer → the sections of a packed matrix.

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

/// The contract with `shaders/repack.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "repack",
    source: wgsl!("repack"),
    bindings: &[PARAMS, read("raw"), write("dst")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "COLS"],
};

/// Blocks, one per thread, of a workgroup.
const WG_SIZE: u32 = 64;

/// Packs `rows` whole rows, as the file holds them from byte `raw_offset` (any) of `raw` on, into rows `dst_row` … of
/// the matrix or shard `dst` of this layout.
///
/// `dst` must hold [`PackedLayout::bytes`] and be zero where nothing was packed yet, as fresh buffers are; each row is
/// packed once, in any order. `raw` must hold the rows in whole words.
pub fn repack(layout: &PackedLayout, dst_row: u32, rows: u32, raw_offset: u32, raw: Slice, dst: Slice) -> Dispatch {
    debug_assert!(dst_row + rows <= layout.rows, "{rows} rows from {dst_row} on do not fit into {}", layout.rows);
    let mut constants = vec![("WG_SIZE", WG_SIZE.into()), ("COLS", layout.cols.into())];
    constants.extend(layout.constants());
    let (file, _) = layout.ty.format().repack;
    let kernel = Kernel::new(&SPEC, &constants).named(layout.ty.key()).import("repack_type", file);
    let params = Params { dst_row, rows, raw_offset };
    let grid = grid_1d((rows * layout.blocks_per_row()).div_ceil(WG_SIZE));
    Dispatch::new(kernel, &params, &[raw, dst], grid)
}
