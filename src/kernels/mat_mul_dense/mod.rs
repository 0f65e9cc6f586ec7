//! `y = activation(a · b + bias) + residual` for matrices of tensors, batched: both operands are activations, so sizes
//! and strides are parameters and one pipeline serves all shapes. Or b is a matrix in blocks, read row by row: the
//! transpose of what `mat_mul` multiplies with.

#[cfg(feature = "harness")]
pub(crate) mod cases;
#[cfg(feature = "harness")]
pub(crate) mod cases_blocks;
pub mod reference;

use super::caps::Caps;
use super::layout::PackedLayout;
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, bool_override, grid_1d, params, read, write};
use super::tuned::class_of;
use crate::gguf::GgmlType;

params! {
    /// Per-dispatch numbers: counts and strides in elements.
    pub struct Params {
        /// Rows of a and y.
        pub m: u32,
        /// Columns of b and y.
        pub n: u32,
        /// Columns of a, rows of b.
        pub k: u32,
        /// Products: the batch dimensions multiplied.
        pub batches: u32,
        /// Size of the second batch dimension.
        pub batch_1: u32,
        /// Size of the third batch dimension.
        pub batch_2: u32,
        /// From one row of a to the next.
        pub a_m: u32,
        /// From one column of a to the next.
        pub a_k: u32,
        /// Along the first batch dimension of a; 0 where a is broadcast.
        pub a_0: u32,
        /// Along the second.
        pub a_1: u32,
        /// Along the third.
        pub a_2: u32,
        /// From one row of b to the next.
        pub b_k: u32,
        /// From one column of b to the next.
        pub b_n: u32,
        /// Along the first batch dimension of b; 0 where b is broadcast.
        pub b_0: u32,
        /// Along the second.
        pub b_1: u32,
        /// Along the third.
        pub b_2: u32,
    }
}

const BINDINGS: &[super::spec::Binding] =
    &[PARAMS, read("a"), read("w_vec"), read("w_word"), read("bias"), read("residual"), write("y")];

const OVERRIDES: &[&str] = &["A_KIND", "B_KIND", "BIAS", "ACTIVATION", "RESIDUAL"];

/// The contract with `shaders/tensor/mat_mul_dense.wgsl`.
pub static SPEC: KernelSpec =
    KernelSpec { kernel_name: "mat_mul_dense", bindings: BINDINGS, params: Params::LAYOUT, overrides: OVERRIDES };

/// The contract with `shaders/tensor/mat_mul_dense_few.wgsl`.
pub static FEW_SPEC: KernelSpec =
    KernelSpec { kernel_name: "mat_mul_dense_few", bindings: BINDINGS, params: Params::LAYOUT, overrides: OVERRIDES };

/// How an operand stores its elements, in the order of `shaders/tensor/shared/stored.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// One to a word.
    F32,
    /// Two to a word.
    F16,
    /// Two to a word.
    BF16,
}

impl Stored {
    /// The number in `stored.wgsl`.
    pub const fn kind(self) -> u32 {
        self as u32
    }

    /// Part of variant ids.
    pub const fn id(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
        }
    }
}

/// How a matrix of weights is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// Plain numbers, contiguous.
    Numbers(Stored),
    /// Packed blocks along the last axis.
    Blocks(GgmlType),
}

impl Weights {
    /// Their type's name.
    const fn id(self) -> &'static str {
        match self {
            Self::Numbers(stored) => stored.id(),
            Self::Blocks(ty) => ty.key(),
        }
    }

    /// The number of plain ones in `stored.wgsl`; of blocks 0, which nobody reads.
    pub(super) const fn kind(self) -> u32 {
        match self {
            Self::Numbers(stored) => stored.kind(),
            Self::Blocks(_) => 0,
        }
    }

    /// The constants for a matrix `[rows, cols]` in blocks.
    pub(super) fn constants(self, rows: u32, cols: u32) -> Vec<(&'static str, f64)> {
        match self {
            Self::Numbers(_) => Vec::new(),
            Self::Blocks(ty) => PackedLayout::new(ty, rows, cols).constants(),
        }
    }

    /// The variant of `kernel` that reads these: it imports one of two files by `name`.
    pub(super) fn read_by(self, kernel: Kernel, name: &'static str, [numbers, blocks]: [&'static str; 2]) -> Kernel {
        let (kernel, file) = match self {
            Self::Numbers(_) => (kernel, numbers),
            Self::Blocks(ty) => (kernel.named("blocks").import("weights", ty.format().weights), blocks),
        };
        kernel.named(self.id()).import(name, file)
    }
}

/// The activation applied to a sum and its bias, in the order of `shaders/shared/numbers/activation.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Activation {
    /// Nothing.
    #[default]
    None,
    /// `max(x, 0)`
    Relu,
    /// `x · sigmoid(x)`
    Silu,
    /// `x · Φ(x)`, tanh form.
    Gelu,
}

/// The arithmetic within a tile; sums over tiles are f32 always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Precision {
    /// f32.
    #[default]
    Full,
    /// f16 where the device has `shader-f16`: for values whose products, sixteen added up, stay below 65,504.
    Fast,
}

/// Products of matrices.
#[derive(Debug, Clone, Copy)]
pub struct MatMulDense {
    /// Sizes and strides.
    pub params: Params,
    /// a `[.., m, k]` by the strides, with its storage.
    pub a: (Slice, Stored),
    /// b `[.., k, n]` by the strides, with its storage; one in blocks has contiguous rows and no batch dimensions.
    pub b: (Slice, Weights),
    /// `[n]` f32
    pub bias: Option<Slice>,
    /// Applied to the sum with its bias.
    pub activation: Activation,
    /// `[.., m, n]` f32, added at the end; another buffer than y.
    pub residual: Option<Slice>,
    /// `[.., m, n]` f32
    pub y: Slice,
}

/// The tile of a workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Name in the variant's id.
    pub name: &'static str,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub cols: u32,
    /// The shared file with the part of each thread; empty for [`FEW`], which needs none.
    pub(super) file: &'static str,
    /// The shared file with the number of threads along a side.
    side: &'static str,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For at least this many rows of y.
    pub min_m: u32,
    /// For at least this many tiles: workgroups enough for a large GPU.
    pub min_tiles: u32,
    /// Only where b is in blocks.
    pub blocks: bool,
    /// The choice.
    pub tile: Tile,
}

/// 64 × 64, 8 × 8 of them by each thread.
pub const LARGE: Tile = Tile { name: "64x64", rows: 64, cols: 64, file: "dense_8x8", side: "side_8" };

/// The same, 4 × 4 of them by each of 16 × 16 threads: while some unpack blocks, others multiply.
pub const WIDE: Tile = Tile { name: "64x64.wide", file: "dense_4x4", side: "side_16", ..LARGE };

/// 32 × 32, 4 × 4 of them by each thread: more workgroups for small matrices.
pub const SMALL: Tile = Tile { name: "32x32", rows: 32, cols: 32, file: "dense_4x4", side: "side_8" };

/// 4 × 16 without tiles in workgroup memory, 16 threads to a column: `mat_mul_dense_few`.
pub const FEW: Tile = Tile { name: "few", rows: 4, cols: 16, file: "", side: "" };

/// Which tile computes a product. The last row holds for every shape. Software adapters have rules of their own: see
/// [`Rule::fits`].
pub static RULES: &[Rule] = &[
    Rule { min_m: 9, min_tiles: 128, blocks: true, tile: WIDE },
    Rule { min_m: 9, min_tiles: 512, blocks: false, tile: LARGE },
    Rule { min_m: 9, min_tiles: 128, blocks: false, tile: SMALL },
    Rule { min_m: 0, min_tiles: 0, blocks: false, tile: FEW },
];

impl Tile {
    /// How many of them `batches` products `[m, n]` have.
    fn count(&self, [m, n, batches]: [u32; 3]) -> u32 {
        m.div_ceil(self.rows).saturating_mul(n.div_ceil(self.cols)).saturating_mul(batches)
    }
}

impl Rule {
    /// Whether its conditions hold for `batches` products `[m, n]`, with b in blocks or not. On a software adapter
    /// [`FEW`], in which 64 threads wait for each other per 16 columns, takes twenty times as long as the same sums in
    /// tiles, even of one row.
    fn fits(&self, caps: &Caps, blocks: bool, [m, n, batches]: [u32; 3]) -> bool {
        if caps.software {
            return self.tile == SMALL || self.tile == LARGE && m > SMALL.rows && n > SMALL.cols;
        }
        m >= self.min_m && self.tile.count([m, n, batches]) >= self.min_tiles && (blocks || !self.blocks)
    }
}

/// The table's tile for `batches` products `[m, n]`, with b in blocks or not.
pub fn choose(caps: &Caps, blocks: bool, sizes: [u32; 3]) -> Tile {
    RULES.iter().find(|rule| rule.fits(caps, blocks, sizes)).map_or(FEW, |rule| rule.tile)
}

/// The tile of a problem: the table's, or that of a verdict.
fn tuned(caps: &Caps, problem: &MatMulDense) -> Tile {
    let Params { m, n, k, b_k, batches, .. } = problem.params;
    let stored = [problem.a.1.id(), problem.b.1.id()];
    let blocks = matches!(problem.b.1, Weights::Blocks(_));
    // Neighbours along a row of b or along a column of it: that decides how b is read.
    let b = if b_k == 1 { "transposed " } else { "" };
    let key = format_args!("mat_mul_dense {} {} {b}{n}x{k} x {}", stored[0], stored[1], class_of(m));
    caps.tuned.choose(key, RULES, |rule| rule.tile, &|_| true, &|rule| rule.fits(caps, blocks, [m, n, batches]))
}

/// Whether products run in f16 on this device; products of few rows never do, since they are limited by memory.
pub fn is_fast(caps: &Caps, precision: Precision) -> bool {
    caps.f16 && precision == Precision::Fast
}

/// The dispatch of `problem`. `dummy` is bound where there is no bias or residual: 16 bytes, not `y`.
pub fn mat_mul_dense(caps: &Caps, precision: Precision, dummy: Slice, problem: &MatMulDense) -> Dispatch {
    let tile = tuned(caps, problem);
    dispatch(tile, is_fast(caps, precision), dummy, problem)
}

/// The dispatch of `problem` in a given tile; `fast` needs `shader-f16`, and does nothing for [`FEW`].
pub fn dispatch(tile: Tile, fast: bool, dummy: Slice, problem: &MatMulDense) -> Dispatch {
    let MatMulDense { params, a, b, bias, residual, .. } = problem;
    let mut constants = vec![
        ("A_KIND", f64::from(a.1.kind())),
        ("B_KIND", b.1.kind().into()),
        ("BIAS", bool_override(bias.is_some())),
        ("ACTIVATION", (problem.activation as u32).into()),
        ("RESIDUAL", bool_override(residual.is_some())),
    ];
    constants.extend(b.1.constants(params.k, params.n));
    let spec = if tile == FEW { &FEW_SPEC } else { &SPEC };
    let mut kernel = Kernel::new(spec, &constants);
    kernel.id = SPEC.kernel_name.to_owned();
    kernel = b.1.read_by(kernel.named(a.1.id()), "dense_b", ["dense_numbers", "dense_blocks"]).named(tile.name);
    if tile != FEW {
        kernel = kernel.import("micro", tile.file).import("side", tile.side);
        kernel = kernel.import("real", if fast { "real_f16" } else { "real_f32" });
    }
    if fast && tile != FEW {
        kernel = kernel.named("fast").enable("f16");
    }
    let buffers = [a.0, b.0, b.0, bias.unwrap_or(dummy), residual.unwrap_or(dummy), problem.y];
    Dispatch::new(kernel, params, &buffers, grid_1d(tile.count([params.m, params.n, params.batches])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::spec::{BufferId, MAX_WORKGROUPS};

    fn problem(m: u32, n: u32, batches: u32) -> MatMulDense {
        let params = Params { m, n, k: 1, batches, batch_1: 1, batch_2: 1, ..Params::default() };
        let buffer = |i| Slice::from(BufferId(i));
        let (a, b) = ((buffer(1), Stored::F32), (buffer(2), Weights::Numbers(Stored::F16)));
        MatMulDense { params, a, b, bias: None, activation: Activation::None, residual: None, y: buffer(3) }
    }

    #[test]
    fn grids_cover_every_product_within_the_limits() {
        for [m, n, batches] in
            [[1, 1, 1], [9, 65, 3], [65_537, 4097, 1], [1, 1, 200_000], [1, 1 << 26, 1], [1 << 26, 1, 1]]
        {
            let tile = choose(&Caps::baseline(), false, [m, n, batches]);
            let dispatch = dispatch(tile, false, BufferId(0).into(), &problem(m, n, batches));
            let [x, y, z] = dispatch.grid.map(|extent| extent.resolve(1));
            assert!(x <= MAX_WORKGROUPS && y <= MAX_WORKGROUPS && z == 1, "{m}×{n}×{batches}: {x} × {y}");
            let tiles = u64::from(m.div_ceil(tile.rows)) * u64::from(n.div_ceil(tile.cols)) * u64::from(batches);
            assert!(u64::from(x) * u64::from(y) >= tiles);
        }
    }

    #[test]
    fn the_last_rule_holds_for_everything() {
        let last = RULES[RULES.len() - 1];
        assert_eq!((last.min_m, last.min_tiles), (0, 0));
        let plain = Caps::baseline();
        let of = |shapes: [[u32; 3]; 3]| shapes.map(|shape| choose(&plain, false, shape));
        assert_eq!(of([[8, 4096, 9], [9, 4096, 1], [9, 32, 127]]), [FEW, SMALL, FEW]);
        assert_eq!(of([[1024, 1024, 1], [1024, 1024, 2], [2048, 1024, 1]]), [SMALL, LARGE, LARGE]);
        assert_eq!(choose(&plain, false, [u32::MAX; 3]), LARGE, "no overflow");
        assert_eq!([[64, 8192, 1], [64, 2048, 1]].map(|shape| choose(&plain, true, shape)), [WIDE, SMALL]);
        let software = Caps { software: true, ..plain };
        assert_eq!(
            [[1, 1, 1], [100, 16, 1], [33, 33, 1]].map(|shape| choose(&software, true, shape)),
            [SMALL, SMALL, LARGE]
        );
    }

    #[test]
    fn f16_needs_the_device_and_the_wish() {
        let device = Caps { f16: true, ..Caps::baseline() };
        let enables = |caps: &Caps, precision| {
            mat_mul_dense(caps, precision, BufferId(0).into(), &problem(600, 600, 1)).kernel.enables
        };
        assert_eq!(enables(&device, Precision::Fast), ["f16"]);
        assert!(enables(&device, Precision::Full).is_empty());
        assert!(enables(&Caps::baseline(), Precision::Fast).is_empty());
    }
}
