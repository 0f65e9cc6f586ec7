//! Layer norm and RMS norm over the rows of tensors, with weight offset, bias and a residual added before.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::Caps;
use super::lanes;
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Rows.
        pub rows: u32,
        /// Values of a row.
        pub width: u32,
        /// Added under the root.
        pub eps: f32,
        /// Added to every weight.
        pub weight_offset: f32,
        /// Which bindings are in use: 1 residual, 2 weight, 4 bias, 8 sum.
        pub flags: u32,
    }
}

/// The contract with `shaders/tensor/layer_norm.wgsl`.
pub static SPEC: KernelSpec = spec("layer_norm");

/// The contract with `shaders/tensor/rms_norm_residual.wgsl`.
pub static RMS: KernelSpec = spec("rms_norm_residual");

const fn spec(kernel_name: &'static str) -> KernelSpec {
    const BINDINGS: &[super::spec::Binding] =
        &[PARAMS, read("x"), read("residual"), read("weight"), read("bias"), write("y"), write("sum")];
    KernelSpec { kernel_name, bindings: BINDINGS, params: Params::LAYOUT, overrides: &["WG_SIZE", "LANES"] }
}

/// A norm over rows.
#[derive(Debug, Clone, Copy)]
pub struct Norm {
    /// Whether the mean is taken off: layer norm; else RMS norm.
    pub centred: bool,
    /// Rows.
    pub rows: u32,
    /// Values of a row.
    pub width: u32,
    /// Added under the root.
    pub eps: f32,
    /// Added to every weight.
    pub weight_offset: f32,
    /// `[rows, width]` f32, added to x before.
    pub residual: Option<Slice>,
    /// `[width]` f32.
    pub weight: Option<Slice>,
    /// `[width]` f32.
    pub bias: Option<Slice>,
    /// Gets x + residual: `[rows, width]` f32.
    pub sum: Option<Slice>,
}

/// x `[rows, width]` f32 → y `[rows, width]` f32. Where they are not in use, `dummy` is bound for inputs and `unused`,
/// 16 bytes that nothing else needs, for the sum.
pub fn norm(caps: &Caps, problem: &Norm, [x, y]: [Slice; 2], dummy: Slice, unused: Slice) -> Dispatch {
    let &Norm { centred, rows, width, eps, weight_offset, residual, weight, bias, sum } = problem;
    let used = [residual, weight, bias, sum].map(|slice| u32::from(slice.is_some()));
    let flags = used.iter().enumerate().map(|(bit, used)| used << bit).sum();
    let lanes = lanes::lanes(caps, width);
    let spec = if centred { &SPEC } else { &RMS };
    let kernel = Kernel::new(spec, &lanes::constants(lanes)).named(lanes::name(lanes));
    let [residual, weight, bias] = [residual, weight, bias].map(|slice| slice.unwrap_or(dummy));
    let buffers = [x, residual, weight, bias, y, sum.unwrap_or(unused)];
    let params = Params { rows, width, eps, weight_offset, flags };
    Dispatch::new(kernel, &params, &buffers, lanes::grid(rows, lanes))
}
