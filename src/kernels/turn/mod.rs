//! Rotation of heads by angles that the caller gives for each row and pair.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, params, read, write};

params! {
    /// Where the heads lie in the rows of their buffer.
    pub struct Params {
        /// Heads of a row.
        pub heads: u32,
        /// Values from one row to the next.
        pub stride: u32,
        /// Value of a row where the heads start.
        pub at: u32,
    }
}

/// The contract with `shaders/rare/model/turn.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "turn",
    bindings: &[PARAMS, read("turns"), write("x")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "HEAD_DIM", "APART"],
};

/// Turns the heads of the rows of the pass in place. `turns` are cosine and sine `[rows, head_dim / 2, 2]` f32; value i
/// of a head and value i + `apart` are a pair, and blocks of 2 · `apart` values follow each other.
pub fn turn([heads, head_dim, apart]: [u32; 3], turns: Slice, x: Rows) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let constants = [("WG_SIZE", WG_SIZE.into()), ("HEAD_DIM", head_dim.into()), ("APART", apart.into())];
    let params = Params { heads, stride: x.stride, at: x.offset };
    let grid = [Extent::Fixed((heads * (head_dim / 2)).div_ceil(WG_SIZE)), Extent::PerRows(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &params, &[turns, x.slice], grid)
}
