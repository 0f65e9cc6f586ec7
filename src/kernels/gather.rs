//! `y[t] = W[tokens[t]]`: the embeddings of a pass's tokens.

use super::layout::Matrix;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Row of the whole matrix that the shard's first row is.
        pub first_row: u32,
        /// Rows of the shard.
        pub rows: u32,
        /// Rows of the whole matrix.
        pub all_rows: u32,
        /// Bits of the f32 for an id that is no row.
        pub missing: u32,
    }
}

/// The contract with `shaders/gather.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "gather",
    source: wgsl!("gather"),
    bindings: &[PARAMS, read("state"), read("tokens"), read("w_vec"), read("w_word"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "COLS", "SCALE"],
};

/// Threads of a workgroup, each of which writes 4 columns.
const WG_SIZE: u32 = 64;

/// Rows `tokens` `[tokens]` u32 of `weights` `[vocab, cols]` → y `[tokens, cols]` f32, one dispatch per shard. An id
/// that is no row gives zeros.
pub fn gather(state: Slice, tokens: Slice, weights: &Matrix, y: Slice) -> Vec<Dispatch> {
    gather_scaled(state, tokens, weights, y, 1.0)
}

/// [`gather`] times `scale`.
pub fn gather_scaled(state: Slice, tokens: Slice, weights: &Matrix, y: Slice, scale: f32) -> Vec<Dispatch> {
    dispatches([state, tokens, y], weights, scale, 0)
}

/// [`gather`] with another number, by its bits, for an id that is no row.
pub fn gather_or(state: Slice, tokens: Slice, weights: &Matrix, y: Slice, missing: u32) -> Vec<Dispatch> {
    dispatches([state, tokens, y], weights, 1.0, missing)
}

fn dispatches([state, tokens, y]: [Slice; 3], weights: &Matrix, scale: f32, missing: u32) -> Vec<Dispatch> {
    let dispatches = weights.shards.iter().map(|shard| {
        let mut constants = vec![("WG_SIZE", WG_SIZE.into()), ("COLS", weights.cols.into()), ("SCALE", scale.into())];
        constants.extend(weights.layout(shard).constants());
        let kernel =
            Kernel::new(&SPEC, &constants).named(weights.ty.key()).import("weights", weights.ty.format().weights.0);
        let params = Params { first_row: shard.first_row, rows: shard.rows, all_rows: weights.rows, missing };
        let w = Slice::from(shard.buffer);
        let columns = Extent::Fixed(weights.cols.div_ceil(4 * WG_SIZE));
        Dispatch::new(kernel, &params, &[state, tokens, w, w, y], [columns, Extent::PerTokens(1), Extent::Fixed(1)])
    });
    dispatches.collect()
}
