//! `y[t, r] = epilogue(W · x[t])` with activations rounded to 8 bits in blocks of 32: the matrices of prefill where
//! packed 4×8-bit dot products are fast. [`quantise`] rounds the activations, [`mat_mul_int8`] multiplies.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::layout::{BLOCK, Matrix, Shard};
use super::mat_mul::{MatMul, Params, ROUNDED_BINDINGS, product, product_kernel};
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/device/model/mat_mul_int8.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_int8",
    bindings: ROUNDED_BINDINGS,
    params: Params::LAYOUT,
    overrides: &["COLS", "ROWS", "Y_STRIDE", "BIAS", "RESIDUAL"],
};

/// The contract with `shaders/device/model/quantise.wgsl`.
pub static QUANTISE: KernelSpec = KernelSpec {
    kernel_name: "quantise",
    bindings: &[PARAMS, read("this_pass"), read("x"), write("q"), write("scales")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "COLS", "X_STRIDE"],
};

/// Rows and tokens of a workgroup's tile.
const TILE: u32 = 64;

/// Activations of a pass, quantised to 8 bits.
#[derive(Debug, Clone, Copy)]
pub struct Quants {
    /// `[tokens, cols]` signed bytes.
    pub q: Slice,
    /// `[tokens, cols / 32]` of (scale, scale · sum of the first 16 quants, of the last 16, 0), f32.
    pub scales: Slice,
}

/// Whether this kernel can take a matrix, and is worth its two dispatches for it.
pub fn supports(weights: &Matrix) -> bool {
    weights.ty.is_quantised() && weights.rows >= TILE
}

/// Rounds the pass's rows of x, `[tokens, x_stride]` f32 of which `cols` (a multiple of 32) are used.
pub fn quantise(pass: Slice, (cols, x_stride): (u32, u32), x: Slice, quants: &Quants) -> Dispatch {
    let wg_size = 64;
    let constants = [("WG_SIZE", f64::from(wg_size)), ("COLS", cols.into()), ("X_STRIDE", x_stride.into())];
    let grid = [Extent::Fixed((cols / BLOCK).div_ceil(wg_size)), Extent::PerRows(1), Extent::Fixed(1)];
    let buffers = [pass, x, quants.q, quants.scales];
    Dispatch::new(Kernel::new(&QUANTISE, &constants), &NoParams::default(), &buffers, grid)
}

/// The dispatches, one per shard, of `problem` with x replaced by its `quants`.
pub fn mat_mul_int8(fixed: (Slice, Slice), problem: &MatMul, quants: &Quants) -> Vec<Dispatch> {
    problem.weights.shards.iter().map(|shard| dispatch(fixed, problem, quants, shard)).collect()
}

fn dispatch(fixed: (Slice, Slice), problem: &MatMul, quants: &Quants, shard: &Shard) -> Dispatch {
    let kernel = product_kernel(&SPEC, problem, shard, &[]);
    product(kernel, fixed, problem, shard, &[quants.q, quants.scales], [TILE, TILE])
}
