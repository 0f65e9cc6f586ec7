//! Sums of residual streams, with weights of each row's own.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};
use crate::model::program::StreamSpec;

/// The contract with `shaders/rare/model/streams.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "streams",
    bindings: &[PARAMS, read("base"), read("x"), read("router"), read("w"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &[
        "WG_SIZE", "WIDTH", "STREAMS", "BASE", "SKIP", "IN_PLACE", "OF_X", "INPUTS", "FIRST", "ROUTES", "PLUS",
    ],
};

/// Values of a router, at most.
const MAX_ROUTES: usize = 8;

/// Which streams, and their weights. All streams of an activation follow each other in its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Values of a stream.
    pub width: usize,
    /// Streams of y.
    pub streams: usize,
    /// Streams of the base, and those before the first that counts.
    pub base: [usize; 2],
    /// Streams of x, and how many of them count.
    pub inputs: [usize; 2],
    /// Streams of y before this one are those of the base.
    pub first: usize,
    /// Values of the router; 0: none.
    pub routes: usize,
    /// The part of all weights that the router does not change.
    pub plus: f32,
}

impl Shape {
    /// The shape of an operation, from the widths of base, x, router and y; 0 where one is missing.
    pub fn new(spec: &StreamSpec, [base, x, routes, y]: [usize; 4]) -> Self {
        let StreamSpec { width, skip, inputs, first, plus, .. } = *spec;
        let inputs = [x / width, inputs];
        Self { width, streams: y / width, base: [base / width, skip], inputs, first, routes, plus }
    }
}

/// From base, x, the router's values and its tensor to y, which may be the base. What the shape says is not there is
/// bound and not read.
pub fn streams(shape: &Shape, [base, x, router, w, y]: [Slice; 5], dummy: Slice) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let Shape { width, streams, base: [of_base, skip], inputs: [of_x, inputs], first, routes, plus } = *shape;
    debug_assert!(routes <= MAX_ROUTES, "a router has at most {MAX_ROUTES} values");
    let in_place = base == y;
    debug_assert!(!in_place || (of_base, skip) == (streams, 0), "in place means at the same place");
    let numbers = [WG_SIZE as usize, width, streams, of_base, skip, in_place.into(), of_x, inputs, first, routes];
    let values = numbers.into_iter().map(|number| number as f64).chain([plus.into()]);
    let constants: Vec<_> = SPEC.overrides.iter().copied().zip(values).collect();
    let columns = ((streams * width) as u32).div_ceil(WG_SIZE);
    let grid = [Extent::Fixed(columns), Extent::PerRows(1), Extent::Fixed(1)];
    let buffers = [if in_place { dummy } else { base }, x, router, w, y];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, grid)
}
