//! Products with two to eight columns: the rows of a pass of several sequences, or of a draft.

use super::contract::{OF_ROWS, Params, spec};
use super::{Epilogue, MatVec};
use crate::kernels::layout::{BLOCK, Shard};
use crate::kernels::prologue::{PLAIN, Prologue};
use crate::kernels::spec::{Dispatch, Kernel, KernelSpec, Slice, grid_1d, overrides};

/// The contract with `shaders/model/mat_vec_columns.wgsl`.
pub static SPEC: KernelSpec = spec!("mat_vec_columns", PLAIN, &["COLUMN_THREADS"]);

/// Rows of W that a thread group works on together.
const ROWS_PER_GROUP: u32 = 4;

/// How the rows of a matrix are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a workgroup.
    pub wg_size: u32,
    /// Threads of a thread group: a power of two, at least eight.
    pub lanes: u32,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For matrices of at least this many rows.
    pub min_rows: u32,
    /// For rows of at least this many blocks of 32.
    pub min_blocks: u32,
    /// The choice.
    pub shape: Shape,
}

const fn rule(min_rows: u32, min_blocks: u32, [wg_size, lanes]: [u32; 2]) -> Rule {
    Rule { min_rows, min_blocks, shape: Shape { wg_size, lanes } }
}

/// Which shape runs a matrix: enough workgroups first, then as few threads as possible that share x. The last row holds
/// for every matrix.
pub static RULES: [Rule; 5] = [
    rule(65_536, 0, [128, 16]),
    rule(8192, 32, [128, 32]),
    rule(0, 128, [128, 128]),
    rule(0, 32, [128, 64]),
    rule(0, 0, [64, 8]),
];

/// The shape for a matrix `[rows, cols]`.
pub fn choose(rows: u32, cols: u32) -> Shape {
    let fits = |rule: &&Rule| rows >= rule.min_rows && cols.div_ceil(BLOCK) >= rule.min_blocks;
    RULES.iter().find(fits).expect("the last row takes every matrix").shape
}

/// The dispatch of one shard in a given shape.
pub fn dispatch(shape: Shape, (pass, dummy): (Slice, Slice), problem: &MatVec, shard: &Shard) -> Dispatch {
    let MatVec { weights, columns, epilogue, norm, bias, prologue, .. } = *problem;
    debug_assert!((2..=super::MAX_COLUMNS).contains(&columns) && prologue == Prologue::None);
    let halves = 1 + u32::from(matches!(epilogue, Epilogue::Gate(_)));
    let (rows, outputs) = (shard.rows / halves, ROWS_PER_GROUP / halves);
    let (norm_weight, eps) = norm.unwrap_or((dummy, 0.0));
    let mut constants = super::constants(problem, rows, ROWS_PER_GROUP, [shape.wg_size, shape.lanes], eps);
    constants.push(("COLUMN_THREADS", (shape.wg_size / columns.next_power_of_two()).into()));
    constants.extend(weights.layout(shard).constants());
    let kernel = prologue
        .import(Kernel::new(&SPEC, &constants).named(weights.ty.key()))
        .import("weights", weights.ty.format().weights);
    let params = Params { first_row: shard.first_row, y_offset: problem.y_offset, other_at: 0 };
    let w = Slice::from(shard.buffer);
    let buffers = [pass, problem.x, norm_weight, w, w, bias.unwrap_or(dummy), problem.y];
    let grid = grid_1d(rows.div_ceil(outputs * shape.wg_size / shape.lanes));
    Dispatch::new(super::with_columns(kernel, weights.cols), &params, &buffers, grid)
}
