//! The gate of attention heads, `y = x · σ(gate)`, and of heads of a gated delta rule, `y = rms_norm(x) · silu(gate)`.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};

params! {
    /// Where the gate lies in the rows of its buffer.
    pub struct Params {
        /// The first value of a row.
        pub gate_at: u32,
        /// Values from one row to the next.
        pub gate_stride: u32,
    }
}

/// The contract with `shaders/rare/model/output_gate.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "output_gate",
    bindings: &[PARAMS, read("x"), read("weight"), read("gate"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH", "NORMED", "GATES", "EPS"],
};

/// A gate on the rows of a pass; all f32.
#[derive(Debug, Clone, Copy)]
pub struct OutputGate {
    /// Heads of a row, and values of a head.
    pub heads: [u32; 2],
    /// `[width]`, and what is added to the mean of a head's squares: an RMS norm of each head, and SiLU of the gate.
    /// Without one, the sigmoid of the gate.
    pub norm: Option<(Slice, f32)>,
    /// `[rows, heads, width]`
    pub x: Slice,
    /// `[rows, heads · gates]`
    pub gate: Rows,
    /// Gate values of a head: `width`, or 1 for all of its values.
    pub gates: u32,
    /// `[rows, heads, width]`
    pub y: Slice,
}

/// Gates the rows of the pass. `dummy` is bound where there is no norm.
pub fn output_gate(problem: &OutputGate, dummy: Slice) -> Dispatch {
    let &OutputGate { heads: [heads, width], norm, x, gate, gates, y } = problem;
    let (weight, eps) = norm.unwrap_or((dummy, 0.0));
    let constants = [
        ("WG_SIZE", 64.0),
        ("WIDTH", width.into()),
        ("NORMED", bool_override(norm.is_some())),
        ("GATES", gates.into()),
        ("EPS", eps.into()),
    ];
    let params = Params { gate_at: gate.offset, gate_stride: gate.stride };
    let grid = [Extent::Fixed(heads), Extent::PerRows(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &params, &[x, weight, gate.slice, y], grid)
}
