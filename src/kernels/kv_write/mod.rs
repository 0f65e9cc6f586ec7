//! New keys or values into an f16 cache that starts over when it is full. Models write theirs in `rope_kv`.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

const WG_SIZE: u32 = 64;

params! {
    /// Sizes, strides in elements, and the place in the cache.
    pub struct Params {
        /// Sequences.
        pub batch: u32,
        /// Key and value heads.
        pub heads: u32,
        /// Tokens that are written: at most `rows`.
        pub tokens: u32,
        /// The first of x's tokens that is written.
        pub first: u32,
        /// Values of a head.
        pub head_dim: u32,
        /// Elements of x from one sequence to the next.
        pub x_batch: u32,
        /// From one head to the next.
        pub x_head: u32,
        /// From one token to the next.
        pub x_row: u32,
        /// Positions in the cache.
        pub rows: u32,
        /// Words of a row of the cache, two values each.
        pub row_words: u32,
        /// The row of the cache where token `first` goes.
        pub row: u32,
    }
}

/// The contract with `shaders/tensor/kv_write.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "kv_write",
    bindings: &[PARAMS, read("x"), write("cache")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// Writes x f32 `[batch, heads, tokens, head_dim]`, by the strides, into cache f16 `[batch, heads, rows, 2 row_words]`.
pub fn kv_write(params: &Params, x: Slice, cache: Slice) -> Dispatch {
    let words = params.batch * params.heads * params.tokens * params.row_words;
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", WG_SIZE.into())]);
    Dispatch::new(kernel, params, &[x, cache], grid_1d(words.div_ceil(WG_SIZE)))
}
