//! An activation on its way to another.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, read, write};

/// The contract with `shaders/rare/model/lerp.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "lerp",
    bindings: &[PARAMS, read("x"), read("to"), read("share"), read("by"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH", "SHARED", "BY_STRIDE", "BY_AT"],
};

/// How far.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// `[width]` f32: the share of each value, the same in all rows.
    pub share: Option<Slice>,
    /// The share of each value of a row, added to that.
    pub by: Option<Rows>,
}

/// `y = x + (to − x) · (share + by)` over the rows of the pass; x, to and y are f32 `[rows, width]`.
pub fn lerp(width: u32, way: Way, [x, to, y]: [Slice; 3], dummy: Slice) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let Way { share, by } = way;
    let constants = [
        ("WG_SIZE", WG_SIZE.into()),
        ("WIDTH", width.into()),
        ("SHARED", bool_override(share.is_some())),
        ("BY_STRIDE", by.map_or(0, |by| by.stride).into()),
        ("BY_AT", by.map_or(0, |by| by.offset).into()),
    ];
    let buffers = [x, to, share.unwrap_or(dummy), by.map_or(dummy, |by| by.slice), y];
    let grid = [Extent::Fixed(width.div_ceil(WG_SIZE)), Extent::PerRows(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, grid)
}
