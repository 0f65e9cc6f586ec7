//! Heads by matrices of their own, which are f32 values.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};
use crate::model::program::HeadRows;

/// The contract with `shaders/rare/model/head_values.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "head_values",
    bindings: &[PARAMS, read("this_pass"), read("x"), read("w"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "HEADS", "OF_X", "OF_Y", "X_STRIDE", "W_HEAD", "W_AT", "W_X", "W_Y"],
};

/// Sizes and buffers of [`head_values`].
#[derive(Debug, Clone, Copy)]
pub struct HeadValues {
    /// Heads of a row.
    pub heads: u32,
    /// Values of a head of x, and of y.
    pub sizes: [u32; 2],
    /// Which rows of W.
    pub rows: HeadRows,
    /// `[rows, x_stride]` f32, of which the heads come first.
    pub x: Slice,
    /// Values from one row of x to the next.
    pub x_stride: u32,
    /// `[heads, rows.of, columns]` f32, as many columns as a head of x, or transposed of y, has values.
    pub w: Slice,
    /// `[rows, heads, values of a head]` f32.
    pub y: Slice,
}

/// `y[h] = W[h] · x[h]`, or transposed `y[h] = x[h] · W[h]`, in the rows of the pass.
pub fn head_values(pass: Slice, problem: &HeadValues) -> Dispatch {
    const WG_SIZE: u32 = 64;
    const ROWS_AT_ONCE: u32 = 8;
    let HeadValues { heads, sizes: [of_x, of_y], rows, .. } = *problem;
    let (cols, [w_x, w_y]) = if rows.transposed { (of_y, [of_y, 1]) } else { (of_x, [1, of_x]) };
    let constants = [
        ("WG_SIZE", WG_SIZE.into()),
        ("HEADS", heads.into()),
        ("OF_X", of_x.into()),
        ("OF_Y", of_y.into()),
        ("X_STRIDE", problem.x_stride.into()),
        ("W_HEAD", (rows.of as u32 * cols).into()),
        ("W_AT", (rows.first as u32 * cols).into()),
        ("W_X", w_x.into()),
        ("W_Y", w_y.into()),
    ];
    let grid = [Extent::Fixed((heads * of_y).div_ceil(WG_SIZE)), Extent::PerRows(ROWS_AT_ONCE), Extent::Fixed(1)];
    let buffers = [pass, problem.x, problem.w, problem.y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, grid)
}
