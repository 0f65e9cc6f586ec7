//! `y[t] = W[id of t]`: the embeddings of a pass's rows, or of a tensor of ids.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

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

/// The contract with `shaders/model/gather.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "gather",
    bindings: &[PARAMS, read("ids"), read("w_vec"), read("w_word"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "COLS", "SCALE"],
};

/// Threads of a workgroup, each of which writes 4 columns.
const WG_SIZE: u32 = 64;

/// The rows of `weights` `[vocab, cols]` that the rows of a pass name → y `[rows, cols]` f32, one dispatch per shard.
/// Values are multiplied by `scale`. An id that is no row gives zeros; the row of a sequence that is done stays as it
/// is.
pub fn gather(pass: Slice, weights: &Matrix, y: Slice, scale: f32) -> Vec<Dispatch> {
    dispatches((Ids::OfPass, pass, Extent::PerRows(1)), weights, y, (scale, 0))
}

/// Rows `ids` `[count]` u32 of `weights` `[vocab, cols]` → y `[count, cols]` f32; `missing` are the bits of the number
/// for an id that is no row.
pub fn gather_ids((count, ids): (u32, Slice), weights: &Matrix, y: Slice, missing: u32) -> Vec<Dispatch> {
    dispatches((Ids::OfTensor, ids, Extent::Fixed(count)), weights, y, (1.0, missing))
}

/// The rows of `weights` `[positions, cols]` that the positions of a pass's rows name → y `[rows, cols]` f32; or with
/// `first` its row 0 for all.
pub fn gather_places(pass: Slice, weights: &Matrix, y: Slice, first: bool) -> Vec<Dispatch> {
    let ids = if first { Ids::First } else { Ids::Positions };
    dispatches((ids, pass, Extent::PerRows(1)), weights, y, (1.0, 0))
}

/// The rows of `weights` `[slots, cols]` in the slots that [`find_rows`](super::find_rows::find_rows) left in the rows
/// of a pass → y `[rows, cols]` f32, multiplied by `scale`.
pub fn gather_slots(pass: Slice, weights: &Matrix, y: Slice, scale: f32) -> Vec<Dispatch> {
    dispatches((Ids::Slots, pass, Extent::PerRows(1)), weights, y, (scale, 0))
}

/// Where the ids come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    OfPass,
    OfTensor,
    Positions,
    First,
    Slots,
}

impl Ids {
    /// The file of `shaders/shared/`, and the variant's name.
    fn variant(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::OfPass => ("ids_of_pass", None),
            Self::OfTensor => ("ids_of_tensor", Some("tensor")),
            Self::Positions => ("ids_positions", Some("position")),
            Self::First => ("ids_first", Some("first")),
            Self::Slots => ("ids_of_slots", Some("slot")),
        }
    }
}

fn dispatches(
    (of, ids, rows): (Ids, Slice, Extent),
    weights: &Matrix,
    y: Slice,
    (scale, missing): (f32, u32),
) -> Vec<Dispatch> {
    let dispatches = weights.shards.iter().map(|shard| {
        let mut constants = vec![("WG_SIZE", WG_SIZE.into()), ("COLS", weights.cols.into()), ("SCALE", scale.into())];
        constants.extend(weights.layout(shard).constants());
        let (file, name) = of.variant();
        let kernel = Kernel::new(&SPEC, &constants)
            .named(weights.ty.key())
            .import("weights", weights.ty.format().weights)
            .import("ids", file);
        let kernel = name.into_iter().fold(kernel, Kernel::named);
        let params = Params { first_row: shard.first_row, rows: shard.rows, all_rows: weights.rows, missing };
        let w = Slice::from(shard.buffer);
        let columns = Extent::Fixed(weights.cols.div_ceil(4 * WG_SIZE));
        Dispatch::new(kernel, &params, &[ids, w, w, y], [columns, rows, Extent::Fixed(1)])
    });
    dispatches.collect()
}
