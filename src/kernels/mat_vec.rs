//! `y[r] = epilogue(W · x)` for one column: every matrix of decode, and the head.
//!
//! Two topologies: `mat_vec` adds up in workgroup memory and always works; `mat_vec_subgroup` gives rows to subgroups.

use super::caps::Caps;
use super::layout::{BLOCK, Matrix, Shard, type_id, weights_file};
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Row of the whole matrix that the shard's first row is.
        pub first_row: u32,
        /// Element of y that the matrix's first row writes.
        pub y_offset: u32,
        /// 1: x is the last of the pass's tokens, not the first.
        pub last_token: u32,
    }
}

const BINDINGS: &[super::spec::Binding] = &[
    PARAMS,
    read("state"),
    read("x"),
    read("norm_weight"),
    read("w_vec"),
    read("w_word"),
    read("bias"),
    write("y"),
];

/// The contract with `shaders/mat_vec.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    stem: "mat_vec",
    source: include_str!("../../shaders/mat_vec.wgsl"),
    bindings: BINDINGS,
    params: Params::LAYOUT,
    overrides: &["COLS", "ROWS", "SLOTS", "WG_SIZE", "NORM", "EPS", "BIAS", "RESIDUAL", "SWIGLU", "LANES"],
};

/// The contract with `shaders/mat_vec_subgroup.wgsl`.
pub static SUBGROUP: KernelSpec = KernelSpec {
    stem: "mat_vec_subgroup",
    source: include_str!("../../shaders/mat_vec_subgroup.wgsl"),
    bindings: BINDINGS,
    params: Params::LAYOUT,
    overrides: &["COLS", "ROWS", "SLOTS", "WG_SIZE", "NORM", "EPS", "BIAS", "RESIDUAL", "SWIGLU", "GROUP_ROWS"],
};

/// What becomes of a row's sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Epilogue {
    /// `y = sum`
    Store,
    /// `y += sum`
    Residual,
    /// `y[r] = silu(sum[r]) · sum[rows/2 + r]`, of gate and up stacked in one matrix. Needs a whole matrix, no bias.
    SwiGlu,
}

/// One matrix times one column.
#[derive(Debug, Clone, Copy)]
pub struct MatVec<'a> {
    /// `[rows, cols]`
    pub weights: &'a Matrix,
    /// `[tokens, cols]` f32, of which one row is used.
    pub x: Slice,
    /// RMS norm of x on the way: its weight `[cols]` f32 and its epsilon.
    pub norm: Option<(Slice, f32)>,
    /// `[rows]` f32
    pub bias: Option<Slice>,
    /// What becomes of the sums.
    pub epilogue: Epilogue,
    /// f32
    pub y: Slice,
    /// Element of y that the first row writes.
    pub y_offset: u32,
    /// Use the last of the pass's tokens rather than the first.
    pub last_token: bool,
}

/// How the rows of a matrix are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a workgroup.
    pub wg_size: u32,
    /// Threads that share a row; 0 where a subgroup does, whatever its size.
    pub lanes: u32,
    /// Rows of W that a thread works on together.
    pub slots: u32,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Needs subgroups, of at most this size where the size is known.
    pub subgroups: Option<u32>,
    /// For matrices of at least this many rows.
    pub min_rows: u32,
    /// For rows of at most this many blocks of 32.
    pub max_blocks: u32,
    /// The choice.
    pub shape: Shape,
}

const fn rule(subgroups: Option<u32>, min_rows: u32, max_blocks: u32, [wg_size, lanes, slots]: [u32; 3]) -> Rule {
    Rule { subgroups, min_rows, max_blocks, shape: Shape { wg_size, lanes, slots } }
}

/// Which shape runs a matrix. The last row holds for every device and matrix.
pub static RULES: &[Rule] = &[
    rule(Some(128), 4096, u32::MAX, [128, 0, 4]),
    rule(Some(128), 0, u32::MAX, [128, 0, 2]),
    rule(None, 4096, 32, [64, 8, 4]),
    rule(None, 4096, u32::MAX, [64, 16, 4]),
    rule(None, 0, 32, [64, 8, 2]),
    rule(None, 0, u32::MAX, [64, 16, 2]),
];

/// The shape for a matrix `[rows, cols]` on a device.
pub fn choose(caps: &Caps, rows: u32, cols: u32) -> Shape {
    let fits = |rule: &&Rule| {
        let subgroups = rule.subgroups.is_none_or(|most| caps.subgroups && caps.subgroup_size.1 <= most);
        subgroups && rows >= rule.min_rows && cols.div_ceil(BLOCK) <= rule.max_blocks
    };
    RULES.iter().find(fits).map_or(RULES[RULES.len() - 1].shape, |rule| rule.shape)
}

/// The dispatches, one per shard, of `problem`. `dummy` stands in for the buffers it does without: any with 16 bytes
/// that is not `y`.
pub fn mat_vec(caps: &Caps, state: Slice, dummy: Slice, problem: &MatVec) -> Vec<Dispatch> {
    let shape = choose(caps, problem.weights.rows, problem.weights.cols);
    problem.weights.shards.iter().map(|shard| dispatch(caps, shape, (state, dummy), problem, shard)).collect()
}

/// The dispatch of one shard in a given shape.
pub fn dispatch(
    caps: &Caps,
    shape: Shape,
    (state, dummy): (Slice, Slice),
    problem: &MatVec,
    shard: &Shard,
) -> Dispatch {
    let MatVec { weights, epilogue, norm, bias, .. } = *problem;
    let swiglu = epilogue == Epilogue::SwiGlu;
    debug_assert!(!swiglu || weights.is_whole() && bias.is_none() && weights.rows.is_multiple_of(2));
    let halves = 1 + u32::from(swiglu);
    let (rows, outputs) = (shard.rows / halves, shape.slots / halves);
    let (norm_weight, eps) = norm.unwrap_or((dummy, 0.0));
    let mut constants = vec![
        ("COLS", f64::from(weights.cols)),
        ("ROWS", rows.into()),
        ("SLOTS", shape.slots.into()),
        ("WG_SIZE", shape.wg_size.into()),
        ("NORM", f64::from(u8::from(norm.is_some()))),
        ("EPS", eps.into()),
        ("BIAS", f64::from(u8::from(bias.is_some()))),
        ("RESIDUAL", f64::from(u8::from(epilogue == Epilogue::Residual))),
        ("SWIGLU", f64::from(u8::from(swiglu))),
    ];
    let group_rows = outputs * shape.wg_size / if shape.lanes == 0 { least_subgroup(caps) } else { shape.lanes };
    let (spec, spread) = if shape.lanes == 0 {
        (&SUBGROUP, ("GROUP_ROWS", f64::from(group_rows)))
    } else {
        (&SPEC, ("LANES", f64::from(shape.lanes)))
    };
    constants.push(spread);
    constants.extend(weights.layout(shard).constants());
    let kernel = variant(spec, weights, &constants);
    let params = Params {
        first_row: shard.first_row,
        y_offset: problem.y_offset,
        last_token: problem.last_token.into(),
    };
    let w = Slice::from(shard.buffer);
    let buffers = [state, problem.x, norm_weight, w, w, bias.unwrap_or(dummy), problem.y];
    Dispatch::new(kernel, &params, &buffers, grid_1d(rows.div_ceil(group_rows)))
}

/// Subgroups of a workgroup take rows until none is left, so a guess too small costs rounds and one too large lanes.
fn least_subgroup(caps: &Caps) -> u32 {
    match caps.subgroup_size.0 {
        0 => 32,
        size => size,
    }
}

fn variant(spec: &'static KernelSpec, weights: &Matrix, constants: &[(&'static str, f64)]) -> Kernel {
    let mut kernel = Kernel::new(spec, constants);
    kernel.id = format!("mat_vec.{}", type_id(weights.ty));
    kernel = kernel.import("weights", weights_file(weights.ty));
    if spec.stem == SUBGROUP.stem {
        kernel = kernel.named("subgroup").enable("subgroups");
    }
    if weights.cols.is_multiple_of(BLOCK) {
        kernel.import("columns", "columns_full").import("norm", "norm_full")
    } else {
        kernel.named("ragged").import("columns", "columns_ragged").import("norm", "norm_ragged")
    }
}
