//! The same word everywhere: buffers of tensors start undefined.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Words to write.
        pub words: u32,
        /// The bits to write.
        pub value: u32,
    }
}

/// The contract with `shaders/tensor/fill.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "fill",
    bindings: &[PARAMS, write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// Threads of a workgroup, each of which writes four words.
const WG_SIZE: u32 = 256;

/// Sets the first `words` words of y to `value`.
pub fn fill(words: u32, value: u32, y: Slice) -> Dispatch {
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", WG_SIZE.into())]);
    Dispatch::new(kernel, &Params { words, value }, &[y], grid_1d(words.div_ceil(4 * WG_SIZE)))
}
