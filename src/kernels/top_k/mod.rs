//! The k largest values of rows, with their indices. Long rows take two dispatches: parts, then the parts' results.

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Rows · parts.
        pub groups: u32,
        /// Values of a row.
        pub length: u32,
        /// Parts of a row.
        pub parts: u32,
        /// Values of a part; the last may have fewer.
        pub chunk: u32,
        /// How many are chosen.
        pub k: u32,
        /// 1: x are values that a first dispatch chose, and `origin` has their indices.
        pub mapped: u32,
    }
}

/// The contract with `shaders/tensor/top_k.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "top_k",
    bindings: &[PARAMS, read("x"), read("origin"), write("values"), write("indices")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// The largest k.
pub const MAX_K: u32 = 256;

/// Values of a part.
const CHUNK: u32 = 8192;

/// Values with the indices that they have in x: f32 and u32.
#[derive(Debug, Clone, Copy)]
pub struct Chosen {
    /// The values.
    pub values: Slice,
    /// The indices.
    pub indices: Slice,
}

/// Into how many parts a row of `length` is cut.
pub const fn parts(length: u32) -> u32 {
    if length <= 2 * CHUNK { 1 } else { length.div_ceil(CHUNK) }
}

/// x `[rows, length]` f32 → the k largest of each of `parts` parts of a row, `[rows, parts, k]`, in descending order;
/// where a part has fewer, NaN behind them. `dummy` is bound where nothing else is needed.
pub fn top_k([rows, length]: [u32; 2], parts: u32, k: u32, x: Slice, dummy: Slice, to: Chosen) -> Dispatch {
    let chunk = if parts == 1 { length } else { CHUNK };
    let params = Params { groups: rows * parts, length, parts, chunk, k, mapped: 0 };
    dispatch(&params, Chosen { values: x, indices: dummy }, to)
}

/// The k largest of rows of what [`top_k`] chose from parts: `[rows, length]` → `[rows, k]`.
pub fn top_k_of_chosen([rows, length]: [u32; 2], k: u32, chosen: Chosen, to: Chosen) -> Dispatch {
    dispatch(&Params { groups: rows, length, parts: 1, chunk: length, k, mapped: 1 }, chosen, to)
}

fn dispatch(params: &Params, x: Chosen, to: Chosen) -> Dispatch {
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", MAX_K.into())]);
    let buffers = [x.values, x.indices, to.values, to.indices];
    Dispatch::new(kernel, params, &buffers, grid_1d(params.groups))
}
