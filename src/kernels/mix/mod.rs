//! Sums of weighted rows: interpolation of tables, means of rows, rows side by side, depthwise convolutions.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Values of a row of x.
        pub width: u32,
        /// 1: added to what y has; 2: only rows with a tap of another weight than 0 are written.
        pub mode: u32,
    }
}

/// The contract with `shaders/rare/model/mix.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mix",
    bindings: &[PARAMS, read("indices"), read("weights"), read("x"), read("kernel"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "TAPS", "PARTS", "DENSE", "BY_VALUE", "CHANNELS"],
};

/// Which rows make a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Values of a row of x.
    pub width: usize,
    /// Parts of a row of y, each as wide as x.
    pub parts: usize,
    /// Rows that a part is the sum of.
    pub taps: usize,
    /// Whether values of the parts take turns, else the parts follow each other.
    pub by_value: bool,
    /// How the result is combined with y.
    pub mode: Mode,
}

/// How results are combined with the previous values of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The sum replaces it.
    Write,
    /// The sum is added.
    Add,
    /// The sum replaces it where any tap has another weight than 0.
    Replace,
}

/// `y [rows, parts · width]` from x `[any, width]`, by `indices` and `weights` `[rows, parts, taps]`, for the rows of
/// the pass. Taps of weight 0 read nothing.
pub fn mix(shape: Shape, [indices, weights]: [Slice; 2], x: Slice, y: Slice) -> Dispatch {
    dispatch(shape, false, [indices, weights, x, y], None)
}

/// `y[r, c] = Σ_t kernel[c, t] · weight[t] · x[index[t], c]`: a depthwise convolution with a kernel `[width, taps]`.
pub fn mix_channels(
    [width, taps]: [usize; 2],
    [indices, weights]: [Slice; 2],
    [x, kernel]: [Slice; 2],
    y: Slice,
) -> Dispatch {
    let shape = Shape { width, parts: 1, taps, by_value: false, mode: Mode::Write };
    dispatch(shape, false, [indices, weights, x, y], Some(kernel))
}

/// `y [rows, width] = a · x` with a `[rows, taps]` and x `[taps, width]`, all f32. `dummy` is bound and not read.
pub fn project([taps, width]: [usize; 2], a: Slice, x: Slice, y: Slice, dummy: Slice) -> Dispatch {
    let shape = Shape { width, parts: 1, taps, by_value: false, mode: Mode::Write };
    dispatch(shape, true, [dummy, a, x, y], None)
}

fn dispatch(shape: Shape, is_dense: bool, [indices, weights, x, y]: [Slice; 4], kernel: Option<Slice>) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let Shape { width, parts, taps, by_value, mode } = shape;
    let constants = [
        ("WG_SIZE", WG_SIZE.into()),
        ("TAPS", taps as f64),
        ("PARTS", parts as f64),
        ("DENSE", bool_override(is_dense)),
        ("BY_VALUE", bool_override(by_value)),
        ("CHANNELS", bool_override(kernel.is_some())),
    ];
    let params = Params { width: width as u32, mode: mode as u32 };
    let columns = ((width * parts) as u32).div_ceil(WG_SIZE);
    let grid = [Extent::Fixed(columns), Extent::PerRows(1), Extent::Fixed(1)];
    // Without a kernel something is bound in its place that is not read.
    let buffers = [indices, weights, x, kernel.unwrap_or(x), y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &params, &buffers, grid)
}
