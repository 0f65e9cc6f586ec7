//! `y = activation(gate) · up`: SwiGLU and GeGLU (Shazeer 2020, arXiv 2002.05202). Decode does SwiGLU inside `mat_vec`.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

pub use crate::model::GateKind as Gate;

use super::mat_mul_dense::Activation;
use super::norm::Rows;
use super::spec::{Dispatch, Extent, Grid, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Rows; workgroups past them do nothing.
        pub rows: u32,
        /// Columns of y.
        pub width: u32,
        /// Values from one row of the gate to the next.
        pub gate_stride: u32,
        /// Value of a row where the gate starts.
        pub gate_at: u32,
        /// Values from one row of up to the next.
        pub up_stride: u32,
        /// Value of a row where up starts.
        pub up_at: u32,
    }
}

/// The contract with `shaders/model/swiglu.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "swiglu",
    bindings: &[PARAMS, read("gate"), read("up"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "ACTIVATION"],
};

const WG_SIZE: u32 = 256;

/// y `[rows, width]` f32 from `gate` and `up`, for the rows of the pass.
pub fn swiglu(kind: Gate, width: u32, [gate, up]: [Rows; 2], y: Slice) -> Dispatch {
    let params = Params {
        rows: u32::MAX,
        width,
        gate_stride: gate.stride,
        gate_at: gate.offset,
        up_stride: up.stride,
        up_at: up.offset,
    };
    let grid = [columns(width), Extent::PerRows(1), Extent::Fixed(1)];
    dispatch(kind, params, [gate.slice, up.slice, y], grid)
}

/// x `[rows, 2 · width]` f32, gate before up → y `[rows, width]` f32.
pub fn gated(kind: Gate, [rows, width]: [u32; 2], x: Slice, y: Slice) -> Dispatch {
    let params = Params { rows, width, gate_stride: 2 * width, gate_at: 0, up_stride: 2 * width, up_at: width };
    let [across, down, _] = grid_1d(rows);
    dispatch(kind, params, [x, x, y], [columns(width), across, down])
}

/// Gate and up side by side in rows of `2 · width` values.
pub fn side_by_side(width: u32, x: Slice) -> [Rows; 2] {
    [0, width].map(|offset| Rows { slice: x, stride: 2 * width, offset })
}

fn columns(width: u32) -> Extent {
    Extent::Fixed(width.div_ceil(WG_SIZE))
}

fn dispatch(gate: Gate, params: Params, buffers: [Slice; 3], grid: Grid) -> Dispatch {
    let (activation, name) = match gate {
        Gate::SwiGlu => (Activation::Silu, None),
        Gate::GeGlu => (Activation::Gelu, Some("geglu")),
    };
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", WG_SIZE.into()), ("ACTIVATION", f64::from(activation as u32))]);
    let kernel = name.into_iter().fold(kernel, Kernel::named);
    Dispatch::new(kernel, &params, &buffers, grid)
}
