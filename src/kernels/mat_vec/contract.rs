//! The contracts of `mat_vec` and `mat_vec_split` with their shaders, with and without prologues and adapters.

use super::super::lora::TERMS;
use super::super::prologue::{OF_ADAPTER, OF_GATE, OF_LAYER_NORM, OF_UPDATE, PLAIN, Prologue};
use super::super::spec::{KernelSpec, overrides, params};
use super::MatVec;

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Row of the whole matrix that the shard's first row is.
        pub first_row: u32,
        /// Element of y that the matrix's first row writes.
        pub y_offset: u32,
        /// Element of the prologue's other input that column 0 belongs to.
        pub other_at: u32,
    }
}

/// The constants of `mat_vec_rows.wgsl`.
pub(super) const OF_ROWS: &[&str] = &[
    "COLS",
    "ROWS",
    "ROWS_PER_GROUP",
    "COLUMNS",
    "Y_STRIDE",
    "WG_SIZE",
    "LANES",
    "NORM",
    "EPS",
    "BIAS",
    "RESIDUAL",
    "OUT_SCALE",
    "SWIGLU",
    "GELU",
    "OF_OUTPUTS",
];

/// Further constants of `mat_vec.wgsl`.
const OF_GROUPS: &[&str] = &["GROUP_ROWS", "ROW_PASSES", "STAGE"];

/// The contract of a topology: its file, with the bindings and constants of a prologue or an adapter.
macro_rules! spec {
    ($file:literal, $bindings:expr, $($more:expr),*) => {
        KernelSpec {
            kernel_name: $file,
            bindings: $bindings,
            params: Params::LAYOUT,
            overrides: overrides!(OF_ROWS, $($more),*),
        }
    };
}

pub(super) use spec;

/// The contract with `shaders/model/mat_vec.wgsl`.
pub static SPEC: KernelSpec = spec!("mat_vec", PLAIN, OF_GROUPS);

/// The contract with `shaders/model/mat_vec_split.wgsl`.
pub static SPLIT: KernelSpec = spec!("mat_vec_split", PLAIN,);

/// The same with the prologues that read more: of an update, of a layer norm, of a gate.
static WITH_PROLOGUE: [KernelSpec; 3] = [
    spec!("mat_vec", OF_UPDATE, OF_GROUPS, &["UPDATE_EPS", "SCALED"]),
    spec!("mat_vec", OF_LAYER_NORM, OF_GROUPS, &["LAYER_EPS", "NORM_BIASED"]),
    spec!("mat_vec", OF_GATE, OF_GROUPS, &["GATE_GELU"]),
];
static SPLIT_WITH_PROLOGUE: [KernelSpec; 3] = [
    spec!("mat_vec_split", OF_UPDATE, &["UPDATE_EPS", "SCALED"]),
    spec!("mat_vec_split", OF_LAYER_NORM, &["LAYER_EPS", "NORM_BIASED"]),
    spec!("mat_vec_split", OF_GATE, &["GATE_GELU"]),
];

/// Both topologies with what an adapter adds.
static WITH_ADAPTER: [KernelSpec; 2] =
    [spec!("mat_vec", OF_ADAPTER, OF_GROUPS, TERMS), spec!("mat_vec_split", OF_ADAPTER, TERMS)];

/// The contract of a topology with a prologue or an adapter.
pub(super) fn spec_of(split: bool, problem: &MatVec) -> &'static KernelSpec {
    if problem.adapter.is_some() {
        return &WITH_ADAPTER[usize::from(split)];
    }
    let (plain, others) = if split { (&SPLIT, &SPLIT_WITH_PROLOGUE) } else { (&SPEC, &WITH_PROLOGUE) };
    match problem.prologue {
        Prologue::None => plain,
        Prologue::Update(_) => &others[0],
        Prologue::LayerNorm(_) => &others[1],
        Prologue::Gate(_) => &others[2],
    }
}
