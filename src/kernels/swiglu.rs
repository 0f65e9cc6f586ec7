//! `y = activation(gate) · up`: SwiGLU and GeGLU (Shazeer 2020, arXiv 2002.05202). Decode does SwiGLU inside `mat_vec`.

pub use crate::model::GateKind as Gate;

use super::mat_mul_dense::Activation;
use super::spec::{Dispatch, Extent, Grid, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Rows of x and y; workgroups past them do nothing.
        pub rows: u32,
        /// Columns of y.
        pub width: u32,
    }
}

/// The contract with `shaders/swiglu.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "swiglu",
    source: wgsl!("swiglu"),
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "ACTIVATION"],
};

const WG_SIZE: u32 = 256;

/// x `[tokens, 2 · width]` f32, gate before up → y `[tokens, width]` f32, for the pass's tokens.
pub fn swiglu(gate: Gate, width: u32, x: Slice, y: Slice) -> Dispatch {
    let params = Params { rows: u32::MAX, width };
    dispatch(gate, params, [x, y], [columns(width), Extent::PerRows(1), Extent::Fixed(1)])
}

/// x `[rows, 2 · width]` f32, gate before up → y `[rows, width]` f32.
pub fn gated(gate: Gate, params: Params, x: Slice, y: Slice) -> Dispatch {
    let [across, down, _] = grid_1d(params.rows);
    dispatch(gate, params, [x, y], [columns(params.width), across, down])
}

fn columns(width: u32) -> Extent {
    Extent::Fixed(width.div_ceil(WG_SIZE))
}

fn dispatch(gate: Gate, params: Params, buffers: [Slice; 2], grid: Grid) -> Dispatch {
    let (activation, name) = match gate {
        Gate::SwiGlu => (Activation::Silu, None),
        Gate::GeGlu => (Activation::Gelu, Some("geglu")),
    };
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", WG_SIZE.into()), ("ACTIVATION", f64::from(activation as u32))]);
    let kernel = name.into_iter().fold(kernel, Kernel::named);
    Dispatch::new(kernel, &params, &buffers, grid)
}
