//! `y[t, r] = epilogue(W · x[t])` in f16 products whose short sums are f16, too: the matrices of prefill where GPUs
//! have f16 and no subgroup matrices. [`round_f16_blocks`] rounds the activations, [`mat_mul_f16`] multiplies.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::Caps;
use super::layout::{BLOCK, Matrix};
use super::mat_mul::{MatMul, Params, ROUNDED_BINDINGS, TILE_8X8, product, product_kernel};
use super::mat_mul_subgroup_matrix::{self, Halves};
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};
use super::tuned::class_of;

/// The contract with `shaders/device/model/mat_mul_f16.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_f16",
    bindings: ROUNDED_BINDINGS,
    params: Params::LAYOUT,
    overrides: &["COLS", "ROWS", "Y_STRIDE", "BIAS", "RESIDUAL", "GROUPS"],
};

/// The contract with `shaders/device/model/round_f16_blocks.wgsl`.
pub static ROUND: KernelSpec = KernelSpec {
    kernel_name: "round_f16_blocks",
    bindings: &[PARAMS, read("this_pass"), read("x"), write("y"), write("scales")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "COLS", "X_STRIDE"],
};

/// Groups of 64 threads in a workgroup, which share the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    /// Name in the variant's id.
    name: &'static str,
    count: u32,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For products of at least this many tiles.
    pub min_tiles: u64,
    /// The choice; without one the product is left to [`mat_mul`](super::mat_mul::mat_mul).
    pub groups: Option<Groups>,
}

const ONE: Groups = Groups { name: "one", count: 1 };
const TWO: Groups = Groups { name: "two", count: 2 };

/// Which products are in f16, and how. Two groups keep more of a GPU busy where tiles are few: on an H200 they were
/// faster up to 384 tiles, one was faster from 2,048, and nothing between was measured. The last row holds for every
/// product.
pub static RULES: &[Rule] = &[
    Rule { min_tiles: 1024, groups: Some(ONE) },
    Rule { min_tiles: 128, groups: Some(TWO) },
    Rule { min_tiles: 0, groups: None },
];

/// The groups for a product: what the table or a verdict says. `None` where this kernel cannot take the product (f16
/// has not the range of its weights, or rows of x are not read in fours) or is not to.
pub fn choose(caps: &Caps, problem: &MatMul) -> Option<Groups> {
    let Matrix { ty, rows, cols, .. } = *problem.weights;
    let tiles = u64::from(rows.div_ceil(TILE_8X8.side)) * u64::from(problem.x_rows.div_ceil(TILE_8X8.side));
    let name = format_args!("mat_mul_f16 {} {rows}x{cols} x {}", ty.key(), class_of(problem.x_rows));
    let choice = || caps.tuned.choose(name, RULES, |rule| rule.groups, &|_| true, &|rule| tiles >= rule.min_tiles);
    mat_mul_subgroup_matrix::supports(problem.weights, problem.x_stride).then(choice).flatten()
}

/// Rounds the pass's rows of x, `[tokens, x_stride]` f32 of which `cols` (a multiple of 4) are used, to rows of
/// whole blocks of 32. Each block gets a scale of its own.
pub fn round_f16_blocks(pass: Slice, (cols, x_stride): (u32, u32), x: Slice, halves: &Halves) -> Dispatch {
    let wg_size = 64;
    let constants = [("WG_SIZE", f64::from(wg_size)), ("COLS", cols.into()), ("X_STRIDE", x_stride.into())];
    let grid = [Extent::Fixed(cols.div_ceil(BLOCK).div_ceil(wg_size)), Extent::PerRows(1), Extent::Fixed(1)];
    let kernel = Kernel::new(&ROUND, &constants).enable("f16");
    Dispatch::new(kernel, &NoParams::default(), &[pass, x, halves.x, halves.scales], grid)
}

/// The dispatches, one per shard, of `problem` with x replaced by its `halves`.
pub fn mat_mul_f16(groups: Groups, fixed: (Slice, Slice), problem: &MatMul, halves: &Halves) -> Vec<Dispatch> {
    let dispatch = |shard| {
        let kernel = product_kernel(&SPEC, problem, shard, &[("GROUPS", groups.count.into())]);
        let kernel = kernel.named(groups.name).enable("f16");
        product(kernel, fixed, problem, shard, &[halves.x, halves.scales], [TILE_8X8.side; 2])
    };
    problem.weights.shards.iter().map(dispatch).collect()
}
