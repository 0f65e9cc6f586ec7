//! `y = silu(gate) · up`: the activation of prefill. Decode does it inside `mat_vec`.

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/swiglu.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    stem: "swiglu",
    source: include_str!("../../shaders/swiglu.wgsl"),
    bindings: &[PARAMS, read("x"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH"],
};

const WG_SIZE: u32 = 256;

/// x `[tokens, 2 · width]` f32, gate before up → y `[tokens, width]` f32, for the pass's tokens.
pub fn swiglu(width: u32, x: Slice, y: Slice) -> Dispatch {
    let constants = [("WG_SIZE", WG_SIZE.into()), ("WIDTH", width.into())];
    let grid = [Extent::Fixed(width.div_ceil(WG_SIZE)), Extent::PerTokens(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &[x, y], grid)
}
