//! One vector for each input of a pass: the mean of its rows, its first row or its last.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};
use crate::model::program::PoolKind;

/// The contract with `shaders/rare/model/pool.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "pool",
    bindings: &[PARAMS, read("inputs"), read("x"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH", "KIND"],
};

/// Pools rows x `[rows, width]` f32 to y `[inputs, width]` f32; `inputs` are the first row of each input and one past
/// its last. It runs over as many rows as there are inputs.
pub fn pool(kind: PoolKind, width: u32, inputs: Slice, x: Slice, y: Slice) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let number = match kind {
        PoolKind::Mean => 0.0,
        PoolKind::First => 1.0,
        PoolKind::Last => 2.0,
    };
    let constants = [("WG_SIZE", WG_SIZE.into()), ("WIDTH", width.into()), ("KIND", number)];
    let grid = [Extent::Fixed(width.div_ceil(WG_SIZE)), Extent::PerRows(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &[inputs, x, y], grid)
}
