//! `y[t, r] = epilogue(W · x[t])` in f16 products summed in f32, on subgroup matrices: the matrices of prefill where
//! the browser offers them. [`round_f16`] rounds the activations, [`mat_mul_subgroup_matrix`] multiplies.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::{Caps, MatrixShape};
use super::layout::{BLOCK, Matrix, Shard};
use super::mat_mul::{MatMul, Params, ROUNDED_BINDINGS, product, product_kernel};
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, SUBGROUP_MATRIX, Slice, read, write};
use super::tuned::class_of;
use crate::gguf::GgmlType;

/// The contract with `shaders/device/model/mat_mul_subgroup_matrix.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_subgroup_matrix",
    bindings: ROUNDED_BINDINGS,
    params: Params::LAYOUT,
    overrides: &["COLS", "ROWS", "Y_STRIDE", "BIAS", "RESIDUAL", "SUBGROUP_SIZE"],
};

/// The contract with `shaders/device/model/round_f16.wgsl`.
pub static ROUND: KernelSpec = KernelSpec {
    kernel_name: "round_f16",
    bindings: &[PARAMS, read("x"), write("y"), write("scales")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "COLS", "X_STRIDE"],
};

/// Activations of a pass in f16.
#[derive(Debug, Clone, Copy)]
pub struct Halves {
    /// `[tokens, cols]` f16
    pub x: Slice,
    /// `[tokens]` f32: the scale of each row; of [`mat_mul_f16`](super::mat_mul_f16) `[tokens, cols / 32]`, of each
    /// block.
    pub scales: Slice,
}

/// How many matrices of sums each subgroup accumulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrices {
    /// File of `shaders/shared/` and part of the variant's id.
    file: &'static str,
    name: &'static str,
    /// Along the tokens, and along the rows of W.
    sides: u32,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For matrices of at least this many rows.
    pub min_rows: u32,
    /// The choice.
    pub matrices: Matrices,
}

const SMALL: Matrices = Matrices { file: "matrices_2x2", name: "2x2", sides: 2 };
const LARGE: Matrices = Matrices { file: "matrices_4x4", name: "4x4", sides: 4 };

/// Small tiles give small matrices enough workgroups. The last row holds for every device and matrix.
pub static RULES: &[Rule] = &[Rule { min_rows: 3072, matrices: LARGE }, Rule { min_rows: 0, matrices: SMALL }];

/// The properties of the device's subgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subgroups {
    /// Threads of every subgroup.
    pub size: u32,
    /// The matrices they multiply.
    pub shape: MatrixShape,
}

/// The matrices for W and up to `tokens` rows of x: the table's, or those of a verdict.
pub fn choose(caps: &Caps, weights: &Matrix, tokens: u32) -> Matrices {
    let Matrix { ty, rows, cols, .. } = weights;
    let problem = format_args!("mat_mul_subgroup_matrix {} {rows}x{cols} x {}", ty.key(), class_of(tokens));
    caps.tuned.choose(problem, RULES, |rule| rule.matrices, &|_| true, &|rule| *rows >= rule.min_rows)
}

/// Whether this kernel can take a matrix: f16 has the range of its weights, and its rows are whole blocks.
pub fn supports(weights: &Matrix) -> bool {
    (weights.ty.is_quantised() || weights.ty == GgmlType::F16) && weights.cols.is_multiple_of(BLOCK)
}

/// Rounds the pass's rows of x, `[tokens, x_stride]` f32 of which `cols` (a multiple of 4) are used.
pub fn round_f16((cols, x_stride): (u32, u32), x: Slice, halves: &Halves) -> Dispatch {
    let constants = [("WG_SIZE", 256.0), ("COLS", cols.into()), ("X_STRIDE", x_stride.into())];
    let grid = [Extent::PerRows(1), Extent::Fixed(1), Extent::Fixed(1)];
    let kernel = Kernel::new(&ROUND, &constants).enable("f16");
    Dispatch::new(kernel, &NoParams::default(), &[x, halves.x, halves.scales], grid)
}

/// The dispatches, one per shard, of `problem` with x replaced by its `halves`.
pub fn mat_mul_subgroup_matrix(
    caps: &Caps,
    subgroups: Subgroups,
    fixed: (Slice, Slice),
    problem: &MatMul,
    halves: &Halves,
) -> Vec<Dispatch> {
    let matrices = choose(caps, problem.weights, problem.x_rows);
    problem.weights.shards.iter().map(|shard| dispatch(subgroups, matrices, fixed, problem, halves, shard)).collect()
}

/// The dispatch of one shard with this number of matrices per subgroup.
pub fn dispatch(
    Subgroups { size, shape }: Subgroups,
    matrices: Matrices,
    fixed: (Slice, Slice),
    problem: &MatMul,
    halves: &Halves,
    shard: &Shard,
) -> Dispatch {
    let kernel = product_kernel(&SPEC, problem, shard, &[("SUBGROUP_SIZE", size.into())])
        .named(shape.name())
        .named(matrices.name)
        .enable("f16")
        .enable(SUBGROUP_MATRIX)
        .import("shape", shape.file())
        .import("matrices", matrices.file);
    let tile = [shape.n, shape.m].map(|side| 2 * matrices.sides * side);
    product(kernel, fixed, problem, shard, &[halves.x, halves.scales], tile)
}
