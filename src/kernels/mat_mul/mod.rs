//! `y[t, r] = epilogue(W · x[t])` for every row of a pass: the matrices of prefill.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::Caps;
use super::layout::{BLOCK, Matrix, Shard};
use super::mat_vec::Epilogue;
use super::spec::{Binding, Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};
use super::tuned::class_of;
use crate::gguf::GgmlType;

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Row of the whole matrix that the shard's first row is.
        pub first_row: u32,
        /// Element of a row of y that the matrix's first row writes.
        pub y_offset: u32,
        /// Rows of x, at most.
        pub rows: u32,
    }
}

/// The contract with `shaders/model/mat_mul.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_mul",
    bindings: &[PARAMS, read("this_pass"), read("x"), read("w_vec"), read("w_word"), read("bias"), write("y")],
    params: Params::LAYOUT,
    overrides: &["COLS", "ROWS", "X_STRIDE", "Y_STRIDE", "BIAS", "RESIDUAL", "WG_SIZE", "TX", "TY"],
};

/// The contract with `shaders/model/mat_mul_8x8.wgsl`.
pub static EIGHT: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_8x8",
    overrides: &["COLS", "ROWS", "X_STRIDE", "Y_STRIDE", "BIAS", "RESIDUAL"],
    ..SPEC
};

/// The bindings of products with quantised or f16 activations: x has scales.
pub(super) const ROUNDED_BINDINGS: &[Binding] =
    &[PARAMS, read("this_pass"), read("x"), read("x_scales"), read("w_vec"), read("w_word"), read("bias"), write("y")];

/// As many rows of x as the pass has.
pub const ALL_ROWS: u32 = u32::MAX;

/// One matrix times the rows of a pass.
#[derive(Debug, Clone, Copy)]
pub struct MatMul<'a> {
    /// Rows of x: no more than these, and no more than the pass has; [`ALL_ROWS`] are those of the pass.
    pub x_rows: u32,
    /// `[rows, cols]`
    pub weights: &'a Matrix,
    /// `[rows of x, x_stride]` f32
    pub x: Slice,
    /// Elements from one row of x to the next; a multiple of 4 where `cols` is one of 32.
    pub x_stride: u32,
    /// `[rows]` f32
    pub bias: Option<Slice>,
    /// `Store` or `Residual`.
    pub epilogue: Epilogue,
    /// `[rows of x, y_stride]` f32
    pub y: Slice,
    /// Elements from one row of y to the next.
    pub y_stride: u32,
    /// Element of a row of y that the matrix's first row writes.
    pub y_offset: u32,
}

/// The tile of a workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Name in the variant's id.
    pub name: &'static str,
    /// Rows of W, and tokens.
    pub side: u32,
    /// Rows, and tokens, of a thread: 4, or 8 with [`EIGHT`].
    pub micro: u32,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For products of at least this many tiles: fewer leave parts of a GPU idle.
    pub min_tiles: u64,
    /// The choice.
    pub tile: Tile,
}

/// 64 rows × 64 tokens by 64 threads.
pub const TILE_8X8: Tile = Tile { name: "8x8", side: 64, micro: 8 };

/// 64 rows × 64 tokens by 256 threads, in 16 KiB of workgroup memory.
pub const LARGE: Tile = Tile { name: "64x64", side: 64, micro: 4 };

/// 32 × 32 in 8 KiB: more workgroups for small matrices.
pub const SMALL: Tile = Tile { name: "32x32", side: 32, micro: 4 };

/// Which tile runs a product. The last row holds for every device and product. [`LARGE`] is for devices that tuning
/// finds to have too few registers for the first.
pub static RULES: &[Rule] = &[
    Rule { min_tiles: 128, tile: TILE_8X8 },
    Rule { min_tiles: 128, tile: LARGE },
    Rule { min_tiles: 0, tile: SMALL },
];

/// The tile for a matrix `[rows, cols]` and up to `tokens` rows of x on a device: the table's, or that of a verdict.
pub fn choose(caps: &Caps, ty: GgmlType, [rows, cols]: [u32; 2], tokens: u32) -> Tile {
    let tiles = |tile: Tile| u64::from(rows.div_ceil(tile.side)) * u64::from(tokens.div_ceil(tile.side));
    let problem = format_args!("mat_mul {} {rows}x{cols} x {}", ty.key(), class_of(tokens));
    caps.tuned.choose(problem, RULES, |rule| rule.tile, &|_| true, &|rule| tiles(rule.tile) >= rule.min_tiles)
}

/// The dispatches, one per shard, of `problem`. `dummy` is bound where there is no bias: 16 bytes, not `y`.
pub fn mat_mul(caps: &Caps, pass: Slice, dummy: Slice, problem: &MatMul) -> Vec<Dispatch> {
    let Matrix { ty, rows, cols, .. } = *problem.weights;
    let tile = choose(caps, ty, [rows, cols], problem.x_rows);
    problem.weights.shards.iter().map(|shard| dispatch(tile, (pass, dummy), problem, shard)).collect()
}

/// The dispatch of one shard in a given tile.
pub fn dispatch(tile: Tile, fixed: (Slice, Slice), problem: &MatMul, shard: &Shard) -> Dispatch {
    let weights = problem.weights;
    let threads = tile.side / tile.micro;
    let constants = [
        ("X_STRIDE", f64::from(problem.x_stride)),
        ("WG_SIZE", (threads * threads).into()),
        ("TX", threads.into()),
        ("TY", threads.into()),
    ];
    // The threads of the other kernel are constants of its shader.
    let (spec, constants) = if tile.micro == 8 { (&EIGHT, &constants[..1]) } else { (&SPEC, &constants[..]) };
    let full = weights.cols.is_multiple_of(BLOCK);
    debug_assert!(!full || problem.x_stride.is_multiple_of(4));
    let mut kernel = product_kernel(spec, problem, shard, constants)
        .named(tile.name)
        .import("columns", if full { "columns_full" } else { "columns_ragged" });
    if !full {
        kernel = kernel.named("ragged");
    }
    product(kernel, fixed, problem, shard, &[problem.x], [tile.side; 2])
}

/// The kernel of a product with what all of them share, and with constants of its own.
pub(super) fn product_kernel(
    spec: &'static KernelSpec,
    problem: &MatMul,
    shard: &Shard,
    own: &[(&'static str, f64)],
) -> Kernel {
    let weights = problem.weights;
    debug_assert!(!matches!(problem.epilogue, Epilogue::Gate(_)), "prefill runs the gate on its own");
    let mut constants = vec![
        ("COLS", f64::from(weights.cols)),
        ("ROWS", shard.rows.into()),
        ("Y_STRIDE", problem.y_stride.into()),
        ("BIAS", bool_override(problem.bias.is_some())),
        ("RESIDUAL", bool_override(problem.epilogue == Epilogue::Residual)),
    ];
    constants.extend(own);
    constants.extend(weights.layout(shard).constants());
    Kernel::new(spec, &constants).named(weights.ty.key()).import("weights", weights.ty.format().weights)
}

/// The dispatch of a product's kernel, whose workgroups compute tiles of `[rows, tokens]`.
pub(super) fn product(
    kernel: Kernel,
    (pass, dummy): (Slice, Slice),
    problem: &MatMul,
    shard: &Shard,
    x: &[Slice],
    [rows, tokens]: [u32; 2],
) -> Dispatch {
    let params = Params { first_row: shard.first_row, y_offset: problem.y_offset, rows: problem.x_rows };
    let w = Slice::from(shard.buffer);
    let buffers = [&[pass], x, &[w, w, problem.bias.unwrap_or(dummy), problem.y]].concat();
    let grid = [Extent::Fixed(shard.rows.div_ceil(rows)), Extent::PerRows(tokens), Extent::Fixed(1)];
    Dispatch::new(kernel, &params, &buffers, grid)
}
