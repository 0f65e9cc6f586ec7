//! Running sums along one axis.

use super::caps::Caps;
use super::lanes;
use super::reduce::View;
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Lines along the axis.
        pub lines: u32,
        /// Values of a line.
        pub length: u32,
        /// Product of the axes behind the axis.
        pub inner: u32,
        /// 1: exclusive, the sum of the values before each; 0: inclusive.
        pub exclusive: u32,
    }
}

/// The contract with `shaders/tensor/cumsum.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "cumsum",
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "LANES"],
};

/// x `[outer, length, inner]` f32 → y, of the same shape: sums along the middle axis.
pub fn cumsum(caps: &Caps, view: View, exclusive: bool, x: Slice, y: Slice) -> Dispatch {
    let View { length, inner, .. } = view;
    let lines = view.lines();
    let lanes = view.lanes(caps, lines);
    let kernel = Kernel::new(&SPEC, &lanes::constants(lanes)).named(lanes::name(lanes));
    let params = Params { lines, length, inner, exclusive: exclusive.into() };
    Dispatch::new(kernel, &params, &[x, y], lanes::grid(lines, lanes))
}
