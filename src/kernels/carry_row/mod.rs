//! The hidden state of the last token that a pass with a draft has accepted becomes the one before the next pass.

#[cfg(feature = "harness")]
pub(crate) mod cases;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/rare/model/carry_row.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "carry_row",
    bindings: &[PARAMS, read("report"), write("rows")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH"],
};

/// Copies the row after the last accepted one to the first: `rows` is f32 `[1 + rows of the pass, width]`, `report` a
/// [`Report`](super::accept_drafts::Report).
pub fn carry_row(width: u32, report: Slice, rows: Slice) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let constants = [("WG_SIZE", WG_SIZE.into()), ("WIDTH", width.into())];
    let grid = [Extent::Fixed(width.div_ceil(WG_SIZE)), Extent::Fixed(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &[report, rows], grid)
}
