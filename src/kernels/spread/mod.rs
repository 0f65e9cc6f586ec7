//! Rows changed by their spread: values far above the mean stay, all get another length, or become shares of 1.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/rare/model/spread.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "spread",
    bindings: &[PARAMS, read("length_of"), write("x")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH", "DEVIATIONS", "X_STRIDE", "X_AT"],
};

/// How a row changes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `x = max(x − mean − this · deviation, 0)`
    Cut(f32),
    /// Scales each part to the length of this row, which is as wide as a part.
    LengthOf(Slice),
    /// `x = x / √(deviation² + this)`
    Deviation(f32),
    /// `x = exp x / Σ exp x`
    Shares,
}

/// Changes `parts` parts of `width` values of each row of `x`. `dummy` is bound where there is no other row.
pub fn spread([parts, width]: [u32; 2], kind: Kind, x: Rows, dummy: Slice) -> Dispatch {
    // Minus an epsilon stands for a division, −1 for shares.
    let (deviations, of) = match kind {
        Kind::Cut(deviations) => (deviations, dummy),
        Kind::LengthOf(of) => (0.0, of),
        Kind::Deviation(eps) => (-eps, dummy),
        Kind::Shares => (-1.0, dummy),
    };
    let constants = [
        ("WG_SIZE", 256.0),
        ("WIDTH", width.into()),
        ("DEVIATIONS", deviations.into()),
        ("X_STRIDE", x.stride.into()),
        ("X_AT", x.offset.into()),
    ];
    let grid = [Extent::PerRows(1), Extent::Fixed(parts), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &[of, x.slice], grid)
}
