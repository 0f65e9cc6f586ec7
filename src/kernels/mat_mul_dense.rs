//! `y = activation(a · b + bias) + residual` for matrices of tensors, batched: both operands are activations, so sizes
//! and strides are parameters and one pipeline serves all shapes.

use super::caps::Caps;
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, bool_override, grid_1d, params, read, write};

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

const BINDINGS: &[super::spec::Binding] = &[PARAMS, read("a"), read("b"), read("bias"), read("residual"), write("y")];

const OVERRIDES: &[&str] = &["A_KIND", "B_KIND", "BIAS", "ACTIVATION", "RESIDUAL"];

/// The contract with `shaders/mat_mul_dense.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_dense",
    source: wgsl!("mat_mul_dense"),
    bindings: BINDINGS,
    params: Params::LAYOUT,
    overrides: OVERRIDES,
};

/// The contract with `shaders/mat_mul_dense_few.wgsl`.
pub static FEW_SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_dense_few",
    source: wgsl!("mat_mul_dense_few"),
    bindings: BINDINGS,
    params: Params::LAYOUT,
    overrides: OVERRIDES,
};

/// How an operand stores its elements, in the order of `shaders/shared/stored.wgsl`.
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

/// The activation applied to a sum and its bias, in the order of `shaders/shared/activation.wgsl`.
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
    /// b `[.., k, n]` by the strides, with its storage.
    pub b: (Slice, Stored),
    /// `[n]` f32
    pub bias: Option<Slice>,
    /// Applied to the sum with its bias.
    pub activation: Activation,
    /// `[.., m, n]` f32, added at the end; another buffer than y.
    pub residual: Option<Slice>,
    /// `[.., m, n]` f32
    pub y: Slice,
}

/// What a workgroup computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Name in the variant's id.
    pub name: &'static str,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub cols: u32,
    /// The shared file with the part of each of 8 × 8 threads; empty for [`FEW`], which needs none.
    pub(super) file: &'static str,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For at least this many rows of y.
    pub min_m: u32,
    /// For at most this many rows of y.
    pub max_m: u32,
    /// For at least this many columns of y.
    pub min_n: u32,
    /// The choice.
    pub tile: Tile,
}

/// 64 × 64, 8 × 8 of them by each thread.
pub const LARGE: Tile = Tile { name: "64x64", rows: 64, cols: 64, file: "dense_8x8" };

/// 32 × 32, 4 × 4 of them by each thread: more workgroups for small matrices.
pub const SMALL: Tile = Tile { name: "32x32", rows: 32, cols: 32, file: "dense_4x4" };

/// 4 × 16 without tiles in workgroup memory, 16 threads to a column: `mat_mul_dense_few`.
pub const FEW: Tile = Tile { name: "few", rows: 4, cols: 16, file: "" };

/// Which tile computes a product. The last row holds for every shape.
pub static RULES: &[Rule] = &[
    Rule { min_m: 0, max_m: 8, min_n: 0, tile: FEW },
    Rule { min_m: 256, max_m: u32::MAX, min_n: 256, tile: LARGE },
    Rule { min_m: 0, max_m: u32::MAX, min_n: 0, tile: SMALL },
];

/// The tile for products `[m, n]`.
pub fn choose(m: u32, n: u32) -> Tile {
    RULES.iter().find(|rule| (rule.min_m..=rule.max_m).contains(&m) && n >= rule.min_n).map_or(SMALL, |rule| rule.tile)
}

/// Whether products run in f16 on this device; products of few rows never do, since they are limited by memory.
pub fn is_fast(caps: &Caps, precision: Precision) -> bool {
    caps.f16 && precision == Precision::Fast
}

/// The dispatch of `problem`. `dummy` is bound where there is no bias or residual: 16 bytes, not `y`.
pub fn mat_mul_dense(caps: &Caps, precision: Precision, dummy: Slice, problem: &MatMulDense) -> Dispatch {
    let tile = choose(problem.params.m, problem.params.n);
    dispatch(tile, is_fast(caps, precision), dummy, problem)
}

/// The dispatch of `problem` in a given tile; `fast` needs `shader-f16`, and does nothing for [`FEW`].
pub fn dispatch(tile: Tile, fast: bool, dummy: Slice, problem: &MatMulDense) -> Dispatch {
    let MatMulDense { params, a, b, bias, residual, .. } = problem;
    let constants = [
        ("A_KIND", f64::from(a.1.kind())),
        ("B_KIND", b.1.kind().into()),
        ("BIAS", bool_override(bias.is_some())),
        ("ACTIVATION", (problem.activation as u32).into()),
        ("RESIDUAL", bool_override(residual.is_some())),
    ];
    let spec = if tile == FEW { &FEW_SPEC } else { &SPEC };
    let mut kernel = Kernel::new(spec, &constants);
    kernel.id = SPEC.kernel_name.to_owned();
    kernel = kernel.named(a.1.id()).named(b.1.id()).named(tile.name);
    if tile != FEW {
        kernel = kernel.import("micro", tile.file).import("real", if fast { "real_f16" } else { "real_f32" });
    }
    if fast && tile != FEW {
        kernel = kernel.named("fast").enable("f16");
    }
    let tiles = params.m.div_ceil(tile.rows) * params.n.div_ceil(tile.cols) * params.batches;
    let buffers = [a.0, b.0, bias.unwrap_or(dummy), residual.unwrap_or(dummy), problem.y];
    Dispatch::new(kernel, params, &buffers, grid_1d(tiles))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::spec::{BufferId, MAX_WORKGROUPS};

    fn problem(m: u32, n: u32, batches: u32) -> MatMulDense {
        let params = Params { m, n, k: 1, batches, batch_1: 1, batch_2: 1, ..Params::default() };
        let buffer = |i| Slice::from(BufferId(i));
        let (a, b) = ((buffer(1), Stored::F32), (buffer(2), Stored::F16));
        MatMulDense { params, a, b, bias: None, activation: Activation::None, residual: None, y: buffer(3) }
    }

    #[test]
    fn grids_cover_every_product_within_the_limits() {
        for [m, n, batches] in
            [[1, 1, 1], [9, 65, 3], [65_537, 4097, 1], [1, 1, 200_000], [1, 1 << 26, 1], [1 << 26, 1, 1]]
        {
            let tile = choose(m, n);
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
        assert_eq!((last.min_m, last.max_m, last.min_n), (0, u32::MAX, 0));
        assert_eq!([choose(8, 4096), choose(9, 4096), choose(256, 255), choose(256, 256)], [FEW, SMALL, SMALL, LARGE]);
    }

    #[test]
    fn f16_needs_the_device_and_the_wish() {
        let device = Caps { f16: true, ..Caps::baseline() };
        let enables = |caps: &Caps, precision| {
            mat_mul_dense(caps, precision, BufferId(0).into(), &problem(300, 300, 1)).kernel.enables
        };
        assert_eq!(enables(&device, Precision::Fast), ["f16"]);
        assert!(enables(&device, Precision::Full).is_empty());
        assert!(enables(&Caps::baseline(), Precision::Fast).is_empty());
    }
}
