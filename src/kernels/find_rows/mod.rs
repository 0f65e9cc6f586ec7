//! In which slot the row of each token lies, for a table of which the device holds some rows: what
//! [`gather_slots`](super::gather::gather_slots) then reads.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Rows of the whole table.
        pub rows: u32,
    }
}

/// The contract with `shaders/model/find_rows.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "find_rows",
    bindings: &[PARAMS, read("slot_of_row"), write("this_pass")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// `slot_of_row` `[rows]` u32 has slot + 1 of each row of the table, or 0 for a row in no slot. Each row of the pass
/// gets its slot into its flags; where it has none, its sequence [waits](super::pass::WAITING).
pub fn find_rows(pass: Slice, rows: u32, slot_of_row: Slice) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", WG_SIZE.into())]);
    let grid = [Extent::PerRows(WG_SIZE), Extent::Fixed(1), Extent::Fixed(1)];
    Dispatch::new(kernel, &Params { rows }, &[slot_of_row, pass], grid)
}
