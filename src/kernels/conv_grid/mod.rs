//! Convolutions over a square grid: depthwise, or what they read side by side; means, and grids that become larger.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};
use crate::model::program::{CellKind, CellSpec};

params! {
    /// Sizes of two grids, and which cells of the first a cell of the second sees.
    pub struct Params {
        /// Cells along a side of x.
        pub side: u32,
        /// The same of y.
        pub out: u32,
        /// Cells along a side of what a cell sees.
        pub kernel: u32,
        /// Cells from what one cell sees to what the next one does.
        pub stride: u32,
        /// Cells before the grid that the first cell sees.
        pub before: u32,
        /// Each cell of x stands for this many along both sides.
        pub up: u32,
        /// Values of a cell of x.
        pub width: u32,
        /// Values of a cell of y.
        pub outputs: u32,
    }
}

/// The contract with `shaders/rare/model/conv_grid.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "conv_grid",
    bindings: &[PARAMS, read("x"), read("taps"), read("bias"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "KIND"],
};

/// `y [out · out, outputs]` from x `[side · side, width]`. `weights`: a kernel and a bias, where the kind has them;
/// where not, something is bound in their place that is not read.
pub fn conv_grid(spec: &CellSpec, x: Slice, weights: [Slice; 2], y: Slice) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let kind = match spec.kind {
        CellKind::Beside => 0.0,
        CellKind::Mean => 1.0,
        CellKind::Depthwise(_) => 2.0,
        CellKind::Dense(_, None) => 3.0,
        CellKind::Dense(_, Some(_)) => 4.0,
    };
    let params = Params {
        side: spec.side as u32,
        out: spec.out as u32,
        kernel: spec.kernel as u32,
        stride: spec.stride as u32,
        before: spec.before as u32,
        up: spec.up as u32,
        width: spec.width as u32,
        outputs: spec.outputs as u32,
    };
    let values = (spec.out * spec.out * spec.outputs) as u32;
    let constants = [("WG_SIZE", WG_SIZE.into()), ("KIND", kind)];
    let buffers = [x, weights[0], weights[1], y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &params, &buffers, grid_1d(values.div_ceil(WG_SIZE)))
}
