//! `y = x · weight / √(mean x² + eps)` per row: the norm of a prefill chunk. Decode folds it into `mat_vec`.

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/rms_norm.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "rms_norm",
    source: wgsl!("rms_norm"),
    bindings: &[PARAMS, read("x"), read("weight"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH", "EPS"],
};

/// Normalises the pass's tokens: x `[tokens, width]` f32, weight `[width]` f32 → y `[tokens, width]` f32.
pub fn rms_norm(width: u32, eps: f32, x: Slice, weight: Slice, y: Slice) -> Dispatch {
    let constants = [("WG_SIZE", 256.0), ("WIDTH", width.into()), ("EPS", eps.into())];
    let grid = [Extent::PerTokens(1), Extent::Fixed(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &[x, weight, y], grid)
}
