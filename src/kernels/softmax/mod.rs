//! Softmax over the last axis, with scale, soft cap, additive mask and causality.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::Caps;
use super::lanes;
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, params, read, write};

params! {
    /// Per-dispatch numbers; the shader says what each means.
    pub struct Params {
        /// Rows.
        pub rows: u32,
        /// Values of a row.
        pub width: u32,
        /// Queries per causal matrix, or 0.
        pub queries: u32,
        /// Factor of x.
        pub scale: f32,
        /// The cap, or 0.
        pub soft_cap: f32,
        /// 1 where there is a mask.
        pub masked: u32,
        /// Length of the second of four leading axes.
        pub dim_1: u32,
        /// Length of the third.
        pub dim_2: u32,
        /// Length of the fourth.
        pub dim_3: u32,
        /// Rows of the mask per step along the first of four leading axes.
        pub mask_0: u32,
        /// Along the second.
        pub mask_1: u32,
        /// Along the third.
        pub mask_2: u32,
        /// Along the fourth.
        pub mask_3: u32,
    }
}

/// The contract with `shaders/tensor/softmax.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "softmax",
    bindings: &[PARAMS, read("x"), read("mask"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "LANES"],
};

/// A mask `[mask rows, width]` f32 that is added to the scores.
#[derive(Debug, Clone, Copy)]
pub struct Mask {
    /// The values.
    pub mask: Slice,
    /// Rows of the mask per step along each of x's four leading axes; 0 along an axis that shares one row.
    pub strides: [u32; 4],
}

/// A softmax of x `[a, b, c, d, width]`.
#[derive(Debug, Clone, Copy)]
pub struct Softmax {
    /// The four leading axes.
    pub leading: [u32; 4],
    /// The last axis.
    pub width: u32,
    /// Factor of x.
    pub scale: f32,
    /// `cap · tanh(x / cap)` after the scale.
    pub soft_cap: Option<f32>,
    /// Added after the cap.
    pub mask: Option<Mask>,
    /// x is `[.., queries, keys]`, and the last query attends to all keys, each query before it to one less.
    pub causal: bool,
}

/// x `[rows, width]` f32 → y `[rows, width]` f32; `dummy` is bound where there is no mask.
pub fn softmax(caps: &Caps, problem: &Softmax, x: Slice, dummy: Slice, y: Slice) -> Dispatch {
    let &Softmax { leading, width, scale, soft_cap, mask, causal } = problem;
    let [mask_0, mask_1, mask_2, mask_3] = mask.map_or([0; 4], |mask| mask.strides);
    let params = Params {
        rows: leading.iter().product(),
        width,
        queries: if causal { leading[3] } else { 0 },
        scale,
        soft_cap: soft_cap.unwrap_or(0.0),
        masked: mask.is_some().into(),
        dim_1: leading[1],
        dim_2: leading[2],
        dim_3: leading[3],
        mask_0,
        mask_1,
        mask_2,
        mask_3,
    };
    let lanes = lanes::lanes(caps, width);
    let kernel = Kernel::new(&SPEC, &lanes::constants(lanes)).named(lanes::name(lanes));
    let mask = mask.map_or(dummy, |mask| mask.mask);
    Dispatch::new(kernel, &params, &[x, mask, y], lanes::grid(params.rows, lanes))
}
