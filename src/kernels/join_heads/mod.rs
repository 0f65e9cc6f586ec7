//! The values of each head of one activation, then those of another.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, read, write};

/// The contract with `shaders/rare/model/join_heads.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "join_heads",
    bindings: &[PARAMS, read("a"), read("b"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "HEADS", "OF_A", "OF_B", "A_STRIDE", "A_AT", "B_STRIDE", "B_AT", "Y_STRIDE", "Y_AT"],
};

/// `y[h] = (a[h], b[h])` for the rows of the pass: `heads` heads with `of_a` values of a and `of_b` values of b.
pub fn join_heads([heads, of_a, of_b]: [u32; 3], [a, b, y]: [Rows; 3]) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let constants = [
        ("WG_SIZE", WG_SIZE.into()),
        ("HEADS", heads.into()),
        ("OF_A", of_a.into()),
        ("OF_B", of_b.into()),
        ("A_STRIDE", a.stride.into()),
        ("A_AT", a.offset.into()),
        ("B_STRIDE", b.stride.into()),
        ("B_AT", b.offset.into()),
        ("Y_STRIDE", y.stride.into()),
        ("Y_AT", y.offset.into()),
    ];
    let grid = [Extent::Fixed((heads * (of_a + of_b)).div_ceil(WG_SIZE)), Extent::PerRows(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &[a.slice, b.slice, y.slice], grid)
}
