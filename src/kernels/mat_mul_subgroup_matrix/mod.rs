//! `y[t, r] = epilogue(W · x[t])` in f16 products summed in f32, on subgroup matrices: the matrices of prefill where
//! the browser offers them. [`round_f16`] rounds the activations, [`mat_mul_subgroup_matrix`] multiplies.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::{Caps, MatrixShape};
use super::layout::{Matrix, Shard};
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
    /// `[tokens, cols]` f16: the columns of x, and zeros up to a whole block of 32
    pub x: Slice,
    /// `[tokens]` f32: the scale of each row; of [`mat_mul_f16`](super::mat_mul_f16) `[tokens, cols / 32]`, of each
    /// block.
    pub scales: Slice,
}

/// How a workgroup's subgroups share its tile of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    /// File of `shaders/device/shared/`, and part of the variant's id behind its `_`.
    file: &'static str,
    /// Subgroups of a workgroup.
    subgroups: u32,
    /// Matrices of sums of a workgroup along the rows of W, and along the tokens.
    sides: [u32; 2],
    /// Blocks of columns in workgroup memory at once.
    step: u32,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For matrices of at least this many rows.
    pub min_rows: u32,
    /// The choice.
    pub tiling: Tiling,
}

impl Rule {
    /// Whether a device can run it. The other condition is about speed.
    fn can_run(&self, caps: &Caps, Subgroups { size, shape }: Subgroups) -> bool {
        let Tiling { subgroups, step, .. } = self.tiling;
        let [rows, tokens] = self.tiling.tile(shape);
        // Eights of f16, and one that keeps rows in different banks.
        let bytes = (rows + tokens) * (4 * step + 1) * 16;
        subgroups * size <= MOST_THREADS && bytes <= caps.workgroup_memory
    }
}

impl Tiling {
    /// Rows of W, and tokens, of a workgroup.
    fn tile(self, shape: MatrixShape) -> [u32; 2] {
        [self.sides[0] * shape.n, self.sides[1] * shape.m]
    }
}

/// Threads that a workgroup may have on every device.
const MOST_THREADS: u32 = 256;

const LARGE: Tiling = Tiling { file: "tiling_large", subgroups: 4, sides: [8, 8], step: 1 };
const EIGHT: Tiling = Tiling { file: "tiling_eight", subgroups: 8, sides: [8, 8], step: 2 };
const NARROW: Tiling = Tiling { file: "tiling_narrow", subgroups: 8, sides: [4, 8], step: 2 };
const SMALL: Tiling = Tiling { file: "tiling_small", subgroups: 4, sides: [4, 4], step: 1 };

/// Enough workgroups first: a matrix of few rows has few. The last row holds for every device and matrix.
pub static RULES: &[Rule] = &[
    Rule { min_rows: 6144, tiling: LARGE },
    Rule { min_rows: 2560, tiling: EIGHT },
    Rule { min_rows: 0, tiling: NARROW },
    Rule { min_rows: 0, tiling: SMALL },
];

/// The properties of the device's subgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subgroups {
    /// Threads of every subgroup.
    pub size: u32,
    /// The matrices they multiply.
    pub shape: MatrixShape,
}

/// The tiling for W and up to `tokens` rows of x: the table's, or a verdict's.
pub fn choose(caps: &Caps, subgroups: Subgroups, weights: &Matrix, tokens: u32) -> Tiling {
    let Matrix { ty, rows, cols, .. } = weights;
    let problem = format_args!("mat_mul_subgroup_matrix {} {rows}x{cols} x {}", ty.key(), class_of(tokens));
    let can_run = |rule: &Rule| rule.can_run(caps, subgroups);
    caps.tuned.choose(problem, RULES, |rule| rule.tiling, &can_run, &|rule| *rows >= rule.min_rows)
}

/// Whether this kernel can take a matrix: f16 has the range of its weights, and rows of x, which are `x_stride`
/// elements apart, are read four values at a time.
pub fn supports(weights: &Matrix, x_stride: u32) -> bool {
    let is_in_fours = weights.cols.is_multiple_of(4) && x_stride.is_multiple_of(4);
    (weights.ty.is_quantised() || weights.ty == GgmlType::F16) && is_in_fours
}

/// Rounds the pass's rows of x, `[tokens, x_stride]` f32 of which `cols` (a multiple of 4) are used, to rows of whole
/// blocks.
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
    let tiling = choose(caps, subgroups, problem.weights, problem.x_rows);
    problem.weights.shards.iter().map(|shard| dispatch(subgroups, tiling, fixed, problem, halves, shard)).collect()
}

/// How blocks of a type are held until they are unpacked: a file of `shaders/device/shared/`.
fn packed(ty: GgmlType) -> &'static str {
    match ty {
        GgmlType::F16 => "packed_halves",
        // Their quants are nothing but nibbles.
        GgmlType::Q4_0 | GgmlType::Q4_1 | GgmlType::Q4_K => "packed_nibbles",
        _ => "packed_words",
    }
}

/// The dispatch of one shard in a given tiling.
pub fn dispatch(
    Subgroups { size, shape }: Subgroups,
    tiling: Tiling,
    fixed: (Slice, Slice),
    problem: &MatMul,
    halves: &Halves,
    shard: &Shard,
) -> Dispatch {
    let kernel = product_kernel(&SPEC, problem, shard, &[("SUBGROUP_SIZE", size.into())])
        .named(shape.name())
        .named(&tiling.file["tiling_".len()..])
        .enable("f16")
        .enable(SUBGROUP_MATRIX)
        .import("shape", shape.file())
        .import("tiling", tiling.file)
        .import("packed", packed(problem.weights.ty));
    let mut dispatch = product(kernel, fixed, problem, shard, &[halves.x, halves.scales], tiling.tile(shape));
    // Workgroups that share rows of W are neighbours.
    dispatch.grid.swap(0, 1);
    dispatch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::spec::BufferId;

    #[test]
    fn tilings_fit_into_the_workgroups_of_the_device() {
        for shape in MatrixShape::ALL {
            for (size, workgroup_memory) in [(8, 16), (16, 32), (32, 32), (32, 48), (64, 64)] {
                let caps = Caps { workgroup_memory: workgroup_memory << 10, ..Caps::baseline() };
                for rows in [1, 2048, 2560, 4096, 6144, 128_256] {
                    let weights = Matrix::whole(GgmlType::Q4_K, rows, 2048, BufferId(0));
                    let subgroups = Subgroups { size, shape };
                    let tiling = choose(&caps, subgroups, &weights, 512);
                    let rule = RULES.iter().find(|rule| rule.tiling == tiling).expect("a row of the table");
                    assert!(
                        rule.can_run(&caps, subgroups),
                        "{rows} rows, {subgroups:?}, {workgroup_memory} KiB: {tiling:?}"
                    );
                }
            }
        }
    }
}
