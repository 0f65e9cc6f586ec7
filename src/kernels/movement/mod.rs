//! Copies in another order: permuted axes, parts of an axis, concatenation, broadcast.
//!
//! Elements are words or halves of words; what they mean does not matter here.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, ParamsLayout, Slice, grid_1d, params, read, write};

/// Threads of a workgroup.
const WG_SIZE: u32 = 256;

/// Axes of a tensor.
const MAX_AXES: usize = 5;

/// Rows and columns of a tile of `transpose_tiled`.
const TILE: u32 = 32;

/// Axes shorter than this do not use tiles.
const WORTH_A_TILE: u32 = 8;

params! {
    /// Per-dispatch numbers of the strided copies.
    pub struct Params {
        /// Elements of y.
        pub len: u32,
        /// Element of x that the first of y is.
        pub start: u32,
        /// Axes in use.
        pub rank: u32,
        /// Padding.
        pub pad: u32,
        /// The innermost of y first: its size, and the stride in x.
        pub axes: [[u32; 4]; MAX_AXES],
    }
}

params! {
    /// Per-dispatch numbers of `transpose_tiled`: counts and strides in elements.
    pub struct TileParams {
        /// i: along neighbours of y.
        pub rows: u32,
        /// j: along neighbours of x.
        pub columns: u32,
        /// Three more axes, multiplied.
        pub batches: u32,
        /// Size of the second batch axis.
        pub batch_1: u32,
        /// Size of the third batch axis.
        pub batch_2: u32,
        /// Stride of i in x.
        pub x_row: u32,
        /// Stride of the first batch axis in x.
        pub x_0: u32,
        /// Stride of the second batch axis in x.
        pub x_1: u32,
        /// Stride of the third batch axis in x.
        pub x_2: u32,
        /// Stride of j in y.
        pub y_row: u32,
        /// Stride of the first batch axis in y.
        pub y_0: u32,
        /// Stride of the second batch axis in y.
        pub y_1: u32,
        /// Stride of the third batch axis in y.
        pub y_2: u32,
    }
}

params! {
    /// Per-dispatch numbers of `concat`: counts of elements.
    pub struct ConcatParams {
        /// Rows of x and y.
        pub rows: u32,
        /// Columns of x.
        pub columns: u32,
        /// Columns of y.
        pub y_columns: u32,
        /// Column of y that column 0 of x becomes.
        pub start: u32,
        /// Words of y that a row of x touches at most.
        pub words: u32,
    }
}

const fn spec(kernel_name: &'static str, params: ParamsLayout) -> KernelSpec {
    let bindings = const { &[PARAMS, read("x"), write("y")] };
    KernelSpec { kernel_name, bindings, params, overrides: &["WG_SIZE", "SIXTEEN_BIT"] }
}

/// The contract with `shaders/tensor/transpose.wgsl`.
pub static TRANSPOSE: KernelSpec = spec("transpose", Params::LAYOUT);

/// The contract with `shaders/tensor/transpose_tiled.wgsl`.
pub static TRANSPOSE_TILED: KernelSpec = spec("transpose_tiled", TileParams::LAYOUT);

/// The contract with `shaders/tensor/narrow.wgsl`.
pub static NARROW: KernelSpec = spec("narrow", Params::LAYOUT);

/// The contract with `shaders/tensor/expand.wgsl`.
pub static EXPAND: KernelSpec = spec("expand", Params::LAYOUT);

/// The contract with `shaders/tensor/concat.wgsl`.
pub static CONCAT: KernelSpec = spec("concat", ConcatParams::LAYOUT);

/// Source and destination of a copy, and whether two elements share a word.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    /// The elements.
    pub x: Slice,
    /// Where they are copied to.
    pub y: Slice,
    /// Elements of 16 bits.
    pub halves: bool,
}

impl Move {
    fn kernel(&self, spec: &'static KernelSpec) -> Kernel {
        let constants = [("WG_SIZE", WG_SIZE.into()), ("SIXTEEN_BIT", u32::from(self.halves).into())];
        Kernel::new(spec, &constants).named(if self.halves { "half" } else { "word" })
    }

    /// Words that hold this many elements.
    fn words(&self, elements: u32) -> u32 {
        if self.halves { elements.div_ceil(2) } else { elements }
    }
}

/// An axis of y: its size and the strides along it, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// Elements of y.
    pub size: u32,
    /// From one to the next in x; 0 repeats.
    pub x: u32,
    /// From one to the next in y.
    pub y: u32,
}

/// The axes of a contiguous y, the innermost first: axes of one element are dropped, and neighbouring axes are merged
/// where the strides of x allow it. `sizes` and `strides` (those in x) have the outermost first.
pub fn merged_axes(sizes: &[u32], strides: &[u32]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    let mut y = 1;
    for (&size, &x) in sizes.iter().zip(strides).rev().filter(|(size, _)| **size > 1) {
        match axes.last_mut().filter(|inner| inner.x * inner.size == x) {
            Some(inner) => inner.size *= size,
            None => axes.push(Axis { size, x, y }),
        }
        y *= size;
    }
    axes
}

fn strided(spec: &'static KernelSpec, of: &Move, start: u32, axes: &[Axis]) -> Dispatch {
    let len = axes.iter().map(|axis| axis.size).product();
    let mut params = Params { len, start, rank: axes.len() as u32, ..Params::default() };
    for (to, axis) in params.axes.iter_mut().zip(axes) {
        *to = [axis.size, axis.x, 0, 0];
    }
    Dispatch::new(of.kernel(spec), &params, &[of.x, of.y], grid_1d(of.words(len).div_ceil(WG_SIZE)))
}

/// y = x with its axes in another order: `sizes` are those of y, `strides` those of x in the order of y.
pub fn transpose(of: &Move, sizes: &[u32], strides: &[u32]) -> Dispatch {
    let axes = merged_axes(sizes, strides);
    tiled(of, &axes).unwrap_or_else(|| strided(&TRANSPOSE, of, 0, &axes))
}

/// The tiled variant, if the innermost axis of x is another than that of y, and both are long enough.
fn tiled(of: &Move, axes: &[Axis]) -> Option<Dispatch> {
    let (row, others) = axes.split_first()?;
    let column = others.iter().find(|axis| axis.x == 1)?;
    let worth = row.x != 1 && row.size >= WORTH_A_TILE && column.size >= WORTH_A_TILE;
    // Rows of y must start at whole words: their strides are multiples of the innermost size.
    if !worth || (of.halves && !row.size.is_multiple_of(2)) {
        return None;
    }
    let mut batch = [Axis { size: 1, x: 0, y: 0 }; 3];
    let rest = others.iter().filter(|axis| axis.x != 1);
    batch.iter_mut().rev().zip(rest).for_each(|(to, axis)| *to = *axis);
    let [first, second, third] = batch;
    let batches = first.size * second.size * third.size;
    let params = TileParams {
        rows: row.size,
        columns: column.size,
        batches,
        batch_1: second.size,
        batch_2: third.size,
        x_row: row.x,
        x_0: first.x,
        x_1: second.x,
        x_2: third.x,
        y_row: column.y,
        y_0: first.y,
        y_1: second.y,
        y_2: third.y,
    };
    let tiles = row.size.div_ceil(TILE) * column.size.div_ceil(TILE) * batches;
    Some(Dispatch::new(of.kernel(&TRANSPOSE_TILED), &params, &[of.x, of.y], grid_1d(tiles)))
}

/// y = part of x from element `start` on: `sizes` are those of y, `strides` those of x.
pub fn narrow(of: &Move, start: u32, sizes: &[u32], strides: &[u32]) -> Dispatch {
    strided(&NARROW, of, start, &merged_axes(sizes, strides))
}

/// y = x repeated along the axes whose stride is 0: `sizes` are those of y, `strides` those of x.
pub fn expand(of: &Move, sizes: &[u32], strides: &[u32]) -> Dispatch {
    strided(&EXPAND, of, 0, &merged_axes(sizes, strides))
}

/// x `[rows, columns]` into columns `start` … of y `[rows, y_columns]`.
pub fn concat(of: &Move, [rows, columns]: [u32; 2], y_columns: u32, start: u32) -> Dispatch {
    // Where x is all of y, its rows may share words.
    let (rows, columns, y_columns) =
        if columns == y_columns { (1, rows * columns, rows * columns) } else { (rows, columns, y_columns) };
    let words = if of.halves { columns / 2 + 1 } else { columns };
    let params = ConcatParams { rows, columns, y_columns, start, words };
    Dispatch::new(of.kernel(&CONCAT), &params, &[of.x, of.y], grid_1d((rows * words).div_ceil(WG_SIZE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::spec::BufferId;

    const WORDS: Move = Move {
        x: Slice { buffer: BufferId(1), offset: 0, size: None },
        y: Slice { buffer: BufferId(2), offset: 0, size: None },
        halves: false,
    };

    fn kernel_name(of: &Move, sizes: &[u32], strides: &[u32]) -> &'static str {
        transpose(of, sizes, strides).kernel.spec.kernel_name
    }

    #[test]
    fn axes_are_joined_where_x_allows_it() {
        let joined = merged_axes(&[5, 2, 3], &[1, 15, 5]);
        assert_eq!(joined, [Axis { size: 6, x: 5, y: 1 }, Axis { size: 5, x: 1, y: 6 }]);
        assert!(merged_axes(&[1, 1], &[1, 1]).is_empty());
    }

    #[test]
    fn tiles_turn_what_would_be_read_in_leaps() {
        assert_eq!(kernel_name(&WORDS, &[33, 31], &[1, 33]), "transpose_tiled");
        assert_eq!(kernel_name(&WORDS, &[33, 7], &[1, 33]), "transpose");
        assert_eq!(kernel_name(&WORDS, &[9, 4, 64], &[64, 576, 1]), "transpose");
        let halves = Move { halves: true, ..WORDS };
        assert_eq!(kernel_name(&halves, &[33, 31], &[1, 33]), "transpose");
        assert_eq!(kernel_name(&halves, &[31, 34], &[1, 31]), "transpose_tiled");
    }
}
