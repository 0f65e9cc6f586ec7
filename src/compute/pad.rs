//! A tensor with more elements around it: `pad`.

use super::{Numbers, Run, grid_of};
use crate::harness::{Case, OpBench, Random, Suite};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, params, read, write};
use crate::tensor::MAX_RANK;

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Elements of y.
        pub len: u32,
        /// Axes in use.
        pub rank: u32,
        /// The value outside of x.
        pub value: f32,
        /// Always 0.
        pub unused: u32,
        /// The innermost first: length in y, length in x, elements before x, 0.
        pub axes: [[u32; 4]; MAX_RANK],
    }
}

/// The contract with `shaders/compute/pad.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "compute/pad",
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["KIND", "MODE"],
};

#[derive(Debug, Clone, Copy)]
enum Mode {
    Constant,
    Reflect,
    Edge,
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/pad"));
    let all = [Mode::Constant, Mode::Reflect, Mode::Edge];
    let mut cases = Vec::new();
    for (mode, stored) in all.into_iter().zip([Stored::F32, Stored::F16, Stored::BF16]) {
        cases.push(case(caps, random, mode, stored, &[(31, 0, 0)]));
        cases.push(case(caps, random, mode, stored, &[(3, 2, 1), (7, 0, 6)]));
        cases.push(case(caps, random, mode, stored, &[(2, 1, 1), (3, 0, 2), (4, 3, 0), (5, 1, 1), (6, 2, 5)]));
    }
    cases.push(case(caps, random, Mode::Edge, Stored::F32, &[(1, 9, 1000), (3, 0, 0)]));
    cases
}

/// Axes are length, elements before and elements behind.
fn case(caps: &Caps, random: &mut Random, mode: Mode, stored: Stored, axes: &[(u32, u32, u32)]) -> Case {
    let mut bench = OpBench::new(caps);
    let of_x: Vec<u32> = axes.iter().map(|&(size, ..)| size).collect();
    let shape: Vec<u32> = axes.iter().map(|&(size, before, behind)| before + size + behind).collect();
    let x = Numbers::new(&mut bench, random, stored, &of_x);
    let len = shape.iter().product();
    let mut params = Params { len, rank: axes.len() as u32, value: 0.75, ..Params::default() };
    for (to, (&of_y, &(of_x, before, _))) in params.axes.iter_mut().zip(shape.iter().zip(axes).rev()) {
        *to = [of_y, of_x, before, 0];
    }
    let run = Run {
        spec: &SPEC,
        variant: stored.id(),
        constants: &[("KIND", stored.kind().into()), ("MODE", f64::from(mode as u32))],
        inputs: &[&x.tensor],
        shape: &shape,
        grid: grid_of(len),
    };
    let expected: Vec<f64> = (0..len).map(|i| element(&x.values, axes, &shape, mode, i)).collect();
    run.case(bench, format!("{mode:?} {axes:?}"), &params, &expected)
}

/// Element `i` of y.
fn element(x: &[f64], axes: &[(u32, u32, u32)], shape: &[u32], mode: Mode, i: u32) -> f64 {
    let (mut rest, mut source, mut stride) = (i, 0, 1);
    for (&(size, before, _), &of_y) in axes.iter().zip(shape).rev() {
        let (size, at) = (i64::from(size), i64::from(rest % of_y) - i64::from(before));
        let inside = match mode {
            Mode::Constant if !(0..size).contains(&at) => return 0.75,
            Mode::Reflect if at < 0 => -at,
            Mode::Reflect if at >= size => 2 * (size - 1) - at,
            _ => at.clamp(0, size - 1),
        };
        source += inside * stride;
        stride *= size;
        rest /= of_y;
    }
    x[source as usize]
}
