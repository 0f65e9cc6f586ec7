//! `y = x · weight / √(mean x² + eps)` per row: the norm of a prefill chunk. Decode folds it into `mat_vec` where a
//! product follows.

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, read, write};

/// The contract with `shaders/rms_norm.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "rms_norm",
    source: wgsl!("rms_norm"),
    bindings: &[PARAMS, read("x"), read("weight"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH", "EPS", "ADD"],
};

/// The norm of the rows of a pass.
#[derive(Debug, Clone, Copy)]
pub struct RmsNorm {
    /// Values of a row.
    pub width: u32,
    /// Added to the mean of the squares.
    pub eps: f32,
    /// `[rows, width]` f32
    pub x: Slice,
    /// `[width]` f32
    pub weight: Slice,
    /// `[rows, width]` f32
    pub y: Slice,
    /// Add to y rather than replace it.
    pub add: bool,
}

/// Normalises the rows of the pass.
pub fn rms_norm(problem: &RmsNorm) -> Dispatch {
    let constants = [
        ("WG_SIZE", 256.0),
        ("WIDTH", problem.width.into()),
        ("EPS", problem.eps.into()),
        ("ADD", bool_override(problem.add)),
    ];
    let grid = [Extent::PerRows(1), Extent::Fixed(1), Extent::Fixed(1)];
    let buffers = [problem.x, problem.weight, problem.y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, grid)
}
