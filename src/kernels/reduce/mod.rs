//! Reductions over one axis: sum, mean, product, largest, smallest, and the index of the largest.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::Caps;
use super::lanes::{self, WG_SIZE};
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, params, read, write};

params! {
    /// Per-dispatch numbers of `reduce`.
    pub struct Params {
        /// Values of y.
        pub outputs: u32,
        /// Values along the axis.
        pub length: u32,
        /// Product of the axes behind it.
        pub inner: u32,
        /// Values of y along the axis.
        pub parts: u32,
        /// Values of x that go into one of them.
        pub chunk: u32,
        /// The operation's identity: 0 for a sum, -∞ for the largest.
        pub identity: f32,
        /// Divisor of the result.
        pub divisor: f32,
    }
}

params! {
    /// Per-dispatch numbers of `argmax_axis`.
    pub struct ArgmaxParams {
        /// Values of y.
        pub outputs: u32,
        /// Values along the axis.
        pub length: u32,
        /// Product of the axes behind it.
        pub inner: u32,
    }
}

/// The contract with `shaders/tensor/reduce.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "reduce",
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "LANES", "OPERATION"],
};

/// The contract with `shaders/tensor/argmax_axis.wgsl`.
pub static ARGMAX: KernelSpec = KernelSpec {
    kernel_name: "argmax_axis",
    bindings: &[PARAMS, read("x"), write("y")],
    params: ArgmaxParams::LAYOUT,
    overrides: &["WG_SIZE", "LANES"],
};

/// A tensor `[outer, length, inner]` and what happens along its middle axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Product of the axes before.
    pub outer: u32,
    /// The axis.
    pub length: u32,
    /// Product of the axes behind.
    pub inner: u32,
}

impl View {
    /// Lines along the axis.
    pub const fn lines(self) -> u32 {
        self.outer * self.inner
    }

    /// Threads for each of `lines` lines: one where there are many lines whose elements are interleaved in memory, and
    /// few for short lines, so that none is idle.
    pub const fn lanes(self, caps: &Caps, lines: u32) -> u32 {
        if self.inner > 1 && (lines >= MANY_LINES || self.length <= 64) {
            return 1;
        }
        match self.length {
            0..=4 => 1,
            5..=32 if !caps.software => 4,
            length => lanes::lanes(caps, length),
        }
    }

    /// Into how many parts a reduction cuts the axis, so that few long lines keep a device busy.
    pub const fn parts(self) -> u32 {
        if self.length <= 2 * PART || self.lines() >= MANY_LINES {
            return 1;
        }
        let (max, wanted) = (self.length.div_ceil(PART), MANY_LINES / self.lines());
        if max < wanted { max } else { wanted }
    }
}

/// Lines that keep a device busy with one thread each.
const MANY_LINES: u32 = 4096;

/// A line is cut only into parts of at least this many values.
const PART: u32 = 1024;

/// The kinds of reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Adds up.
    Sum,
    /// Multiplies.
    Product,
    /// Takes the largest.
    Max,
    /// Takes the smallest.
    Min,
}

impl Operation {
    const fn identity(self) -> f32 {
        match self {
            Self::Sum => 0.0,
            Self::Product => 1.0,
            Self::Max => f32::NEG_INFINITY,
            Self::Min => f32::INFINITY,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// x `[outer, length, inner]` f32 → y `[outer, parts, inner]` f32: every part of the axis reduced, divided by
/// `divisor`.
pub fn reduce(
    caps: &Caps,
    (operation, divisor): (Operation, f32),
    view: View,
    parts: u32,
    x: Slice,
    y: Slice,
) -> Dispatch {
    let View { length, inner, .. } = view;
    let chunk = length.div_ceil(parts);
    let outputs = view.lines() * parts;
    let lanes = View { length: chunk, ..view }.lanes(caps, outputs);
    let params = Params { outputs, length, inner, parts, chunk, identity: operation.identity(), divisor };
    let [size, lane_count] = lanes::constants(lanes);
    let kernel = Kernel::new(&SPEC, &[size, lane_count, ("OPERATION", f64::from(operation as u32))])
        .named(operation.name())
        .named(lanes::name(lanes));
    Dispatch::new(kernel, &params, &[x, y], lanes::grid(outputs, lanes))
}

/// x `[outer, length, inner]` f32 → y `[outer, inner]` u32: the index of the largest, the lowest among equals; NaN
/// is less than all.
pub fn argmax_axis(caps: &Caps, view: View, x: Slice, y: Slice) -> Dispatch {
    let View { length, inner, .. } = view;
    let outputs = view.lines();
    let lanes = view.lanes(caps, outputs);
    let kernel = Kernel::new(&ARGMAX, &lanes::constants(lanes)).named(lanes::name(lanes));
    Dispatch::new(kernel, &ArgmaxParams { outputs, length, inner }, &[x, y], lanes::grid(outputs, lanes))
}

const _: () = assert!(PART > WG_SIZE, "a part is worth a workgroup");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::spec::BufferId;

    #[test]
    fn short_lines_share_workgroups() {
        let plain = &Caps::baseline();
        let workgroups = |caps, outer, length| {
            let view = View { outer, length, inner: 1 };
            let dispatch = reduce(caps, (Operation::Sum, 1.0), view, 1, BufferId(0).into(), BufferId(1).into());
            dispatch.grid.iter().map(|extent| extent.resolve(1)).product::<u32>()
        };
        let found = [(1 << 20, 2), (1024, 4), (1024, 5), (1024, 32), (1000, 33), (3, 129)];
        // With 16 threads for each of the first four they would be 65,536 and 64.
        assert_eq!(found.map(|(outer, length)| workgroups(plain, outer, length)), [16_384, 16, 16, 16, 63, 3]);
        let software = &Caps { software: true, ..Caps::baseline() };
        assert_eq!(found.map(|(outer, length)| workgroups(software, outer, length)), [16_384, 16, 16, 16, 16, 1]);
    }
}
