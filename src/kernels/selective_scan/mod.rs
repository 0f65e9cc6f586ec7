//! Mamba's recurrence along a sequence.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Sequences · channels.
        pub lines: u32,
        /// Steps of a sequence.
        pub length: u32,
        /// Channels.
        pub channels: u32,
        /// Numbers of the state per channel.
        pub n: u32,
        /// 1: the state holds what comes before the first step.
        pub started: u32,
        /// 1: there is D.
        pub skip: u32,
    }
}

/// The contract with `shaders/tensor/selective_scan.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "selective_scan",
    bindings: &[
        PARAMS,
        read("x"),
        read("delta"),
        read("a"),
        read("b"),
        read("c"),
        read("d"),
        write("state"),
        write("y"),
    ],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// Threads per workgroup: few, since there are not many channels.
const WG_SIZE: u32 = 64;

/// A scan; all f32.
#[derive(Debug, Clone, Copy)]
pub struct SelectiveScan {
    /// Sequences, steps, channels.
    pub shape: [u32; 3],
    /// Numbers of the state per channel.
    pub n: u32,
    /// `[batch, length, channels]`
    pub x: Slice,
    /// `[batch, length, channels]`
    pub delta: Slice,
    /// `[channels, n]`
    pub a: Slice,
    /// `[batch, length, n]`
    pub b: Slice,
    /// `[batch, length, n]`
    pub c: Slice,
    /// `[channels]`
    pub d: Option<Slice>,
    /// `[batch, channels, n]`: receives the state after the last step.
    pub state: Slice,
    /// Whether `state` holds an initial state; otherwise the scan starts from zeros.
    pub started: bool,
    /// `[batch, length, channels]`
    pub y: Slice,
}

/// `h = exp(Δ A) h + Δ B x`, `y = C h + D x` at every step; `dummy` is bound where there is no D.
pub fn selective_scan(problem: &SelectiveScan, dummy: Slice) -> Dispatch {
    let &SelectiveScan { shape: [batch, length, channels], n, started, d, .. } = problem;
    let lines = batch * channels;
    let params = Params { lines, length, channels, n, started: started.into(), skip: d.is_some().into() };
    let SelectiveScan { x, delta, a, b, c, state, y, .. } = *problem;
    let buffers = [x, delta, a, b, c, d.unwrap_or(dummy), state, y];
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", WG_SIZE.into())]);
    Dispatch::new(kernel, &params, &buffers, grid_1d(lines.div_ceil(WG_SIZE)))
}
