//! Elements of one axis by number, and their sums back into it.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

/// Threads of a workgroup.
const WG_SIZE: u32 = 256;
/// Pairs that one dispatch of `scatter_add` adds, by one thread where all indices are equal: Mesa's llvmpipe ends loops
/// after 65,535 steps, and GPUs are reset whose dispatches take seconds.
const PAIRS: u32 = 1 << 15;

params! {
    /// Per-dispatch numbers of `gather_axis`.
    pub struct Params {
        /// Elements of y.
        pub len: u32,
        /// Elements of the axis in x.
        pub size: u32,
        /// Elements of the axes after it.
        pub inner: u32,
        /// Indices.
        pub count: u32,
        /// Bits of an element for an index that is not in the axis.
        pub missing: u32,
    }
}

params! {
    /// Per-dispatch numbers of `scatter_add`.
    pub struct ScatterParams {
        /// Elements of x that are added.
        pub len: u32,
        /// Elements of the axis in y.
        pub size: u32,
        /// Elements of the axes after it.
        pub inner: u32,
        /// Indices.
        pub count: u32,
        /// The first pair that is added.
        pub start: u32,
        /// The pair after the last one.
        pub end: u32,
    }
}

/// The contract with `shaders/tensor/gather_axis.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "gather_axis",
    bindings: &[PARAMS, read("x"), read("indices"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "FORM"],
};

/// The contract with `shaders/tensor/scatter_add.wgsl`.
pub static SCATTER: KernelSpec = KernelSpec {
    kernel_name: "scatter_add",
    bindings: &[PARAMS, read("pairs"), read("x"), write("y")],
    params: ScatterParams::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// How elements are stored in x and y, in the order of the shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Words in both.
    Words,
    /// Halves of words in both.
    Halves,
    /// f16 in x, f32 in y.
    F16ToF32,
    /// bf16 in x, f32 in y.
    BF16ToF32,
}

impl Form {
    /// Part of variant ids.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Words => "word",
            Self::Halves => "half",
            Self::F16ToF32 => "f16_to_f32",
            Self::BF16ToF32 => "bf16_to_f32",
        }
    }
}

/// The axis that is indexed, in the tensor that has all of it.
#[derive(Debug, Clone, Copy)]
pub struct IndexedAxis {
    /// Elements of the axes before it.
    pub outer: u32,
    /// The elements along the axis.
    pub size: u32,
    /// Elements of the axes after it.
    pub inner: u32,
    /// Indices.
    pub count: u32,
}

impl IndexedAxis {
    /// Elements of the tensor that has `count` elements in this axis.
    const fn picked(&self) -> u32 {
        self.outer * self.count * self.inner
    }
}

/// `y[o, j, i] = x[o, indices[j], i]`, or the bits `missing` for an index that is not in the axis.
pub fn gather_axis(axis: &IndexedAxis, form: Form, missing: u32, [x, indices, y]: [Slice; 3]) -> Dispatch {
    let constants = [("WG_SIZE", WG_SIZE.into()), ("FORM", (form as u32).into())];
    let kernel = Kernel::new(&SPEC, &constants).named(form.id());
    let &IndexedAxis { size, inner, count, .. } = axis;
    let len = axis.picked();
    let words = if form == Form::Halves { len.div_ceil(2) } else { len };
    let params = Params { len, size, inner, count, missing };
    Dispatch::new(kernel, &params, &[x, indices, y], grid_1d(words.div_ceil(WG_SIZE)))
}

/// `y[o, indices[j], i] += x[o, j, i]` in f32, in the order of j; indices that are not in the axis are passed over.
/// `pairs` are what [`sort_pairs`](super::sort_pairs) makes of the indices.
pub fn scatter_add(axis: &IndexedAxis, [pairs, x, y]: [Slice; 3]) -> impl Iterator<Item = Dispatch> {
    let kernel = Kernel::new(&SCATTER, &[("WG_SIZE", WG_SIZE.into())]);
    let &IndexedAxis { outer, size, inner, count } = axis;
    (0..count).step_by(PAIRS as usize).map(move |start| {
        let end = count.min(start + PAIRS);
        let len = outer * (end - start) * inner;
        let params = ScatterParams { len, size, inner, count, start, end };
        Dispatch::new(kernel.clone(), &params, &[pairs, x, y], grid_1d(len.div_ceil(WG_SIZE)))
    })
}
