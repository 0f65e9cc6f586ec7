//! RMS norm and layer norm of the rows of a pass, or of the heads in them. Decode folds an RMS norm into `mat_vec`
//! where a product follows.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, read, write};

/// The contract with `shaders/model/norm.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "norm",
    bindings: &[PARAMS, read("x"), read("weight"), read("bias"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &[
        "WG_SIZE",
        "WIDTH",
        "EPS",
        "ADD",
        "SCALE",
        "CENTRED",
        "WEIGHTED",
        "WEIGHT_BY_GROUP",
        "BIASED",
        "IN_PLACE",
        "X_STRIDE",
        "X_OFFSET",
        "Y_STRIDE",
        "Y_OFFSET",
    ],
};

/// Where values lie in the rows of a buffer of f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// The buffer.
    pub slice: Slice,
    /// Values from one row to the next.
    pub stride: u32,
    /// The first value of a row.
    pub offset: u32,
}

impl Rows {
    /// Rows of `width` values without gaps.
    pub fn whole(slice: Slice, width: u32) -> Self {
        Self { slice, stride: width, offset: 0 }
    }
}

/// The norm of the rows of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Norm {
    /// Values that are normalised together.
    pub width: u32,
    /// Groups of `width` values in every row, such as heads.
    pub groups: u32,
    /// Whether the mean is taken off: layer norm; else RMS norm.
    pub centred: bool,
    /// Added to the mean of the squares.
    pub eps: f32,
    /// Input; may be `y` itself, then at the same place.
    pub x: Rows,
    /// `[width]` f32, or `[groups, width]`
    pub weight: Option<Slice>,
    /// Whether each group has a weight of its own.
    pub weight_by_group: bool,
    /// `[width]` f32
    pub bias: Option<Slice>,
    /// Output.
    pub y: Rows,
    /// Adds the result times this factor to y; `None`: the result replaces y.
    pub add: Option<f32>,
}

/// Normalises the rows of the pass. `dummy` is bound where the norm does not use a buffer.
pub fn norm(problem: &Norm, dummy: Slice) -> Dispatch {
    let Norm { width, groups, centred, eps, x, weight, weight_by_group, bias, y, add } = *problem;
    let in_place = x.slice == y.slice;
    debug_assert!(!in_place || x == y, "in place means at the same place");
    let constants = [
        ("WG_SIZE", 256.0),
        ("WIDTH", width.into()),
        ("EPS", eps.into()),
        ("ADD", bool_override(add.is_some())),
        ("SCALE", add.unwrap_or(1.0).into()),
        ("CENTRED", bool_override(centred)),
        ("WEIGHTED", bool_override(weight.is_some())),
        ("WEIGHT_BY_GROUP", bool_override(weight_by_group)),
        ("BIASED", bool_override(bias.is_some())),
        ("IN_PLACE", bool_override(in_place)),
        ("X_STRIDE", x.stride.into()),
        ("X_OFFSET", x.offset.into()),
        ("Y_STRIDE", y.stride.into()),
        ("Y_OFFSET", y.offset.into()),
    ];
    let grid = [Extent::PerRows(1), Extent::Fixed(groups), Extent::Fixed(1)];
    let read_from = if in_place { dummy } else { x.slice };
    let buffers = [read_from, weight.unwrap_or(dummy), bias.unwrap_or(dummy), y.slice];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, grid)
}
