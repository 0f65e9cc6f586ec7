//! Images of another size: `upsample`.

use super::{Numbers, Run, grid_of};
use crate::harness::{Case, OpBench, Random, Suite};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, bool_override, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Elements of y.
        pub len: u32,
        /// Rows of x.
        pub in_0: u32,
        /// Columns of x.
        pub in_1: u32,
        /// Rows of y.
        pub out_0: u32,
        /// Columns of y.
        pub out_1: u32,
        /// A step of one row of y is step / steps rows of x, in lowest terms.
        pub step_0: u32,
        /// The same for columns.
        pub step_1: u32,
        /// See `step_0`.
        pub steps_0: u32,
        /// See `step_1`.
        pub steps_1: u32,
    }
}

/// The contract with `shaders/compute/upsample.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "compute/upsample",
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["KIND", "LINEAR", "CORNERS"],
};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Nearest,
    Linear,
    Corners,
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/upsample"));
    let mut cases = Vec::new();
    for mode in [Mode::Nearest, Mode::Linear, Mode::Corners] {
        let sizes = [([1, 5], [1, 15]), ([3, 4], [7, 9]), ([9, 7], [4, 7]), ([2, 3], [1, 1])];
        for ((of_x, of_y), stored) in
            sizes.into_iter().zip([Stored::F32, Stored::F16, Stored::BF16].into_iter().cycle())
        {
            cases.push(case(caps, random, mode, stored, 3, [of_x, of_y]));
        }
    }
    cases.push(case(caps, random, Mode::Nearest, Stored::F32, 3, [[8, 16], [16, 64]]));
    // Products of places and lengths are above 2^32.
    for mode in [Mode::Nearest, Mode::Linear, Mode::Corners] {
        cases.push(case(caps, random, mode, Stored::F32, 1, [[1, 70_000], [1, 70_001]]));
    }
    cases
}

fn case(caps: &Caps, random: &mut Random, mode: Mode, stored: Stored, rows: u32, sizes: [[u32; 2]; 2]) -> Case {
    let [of_x, of_y] = sizes;
    let mut bench = OpBench::new(caps);
    let x = Numbers::new(&mut bench, random, stored, &[rows, of_x[0], of_x[1]]);
    let len = rows * of_y[0] * of_y[1];
    let run = Run {
        spec: &SPEC,
        variant: stored.id(),
        constants: &[
            ("KIND", stored.kind().into()),
            ("LINEAR", bool_override(mode != Mode::Nearest)),
            ("CORNERS", bool_override(mode == Mode::Corners)),
        ],
        inputs: &[&x.tensor],
        shape: &[rows, of_y[0], of_y[1]],
        grid: grid_of(len),
    };
    let [(step_0, steps_0), (step_1, steps_1)] = [0, 1].map(|axis| match mode {
        Mode::Corners => lowest_terms(of_x[axis] - 1, of_y[axis].max(2) - 1),
        _ => lowest_terms(of_x[axis], of_y[axis]),
    });
    let [[in_0, in_1], [out_0, out_1]] = sizes;
    let params = Params { len, in_0, in_1, out_0, out_1, step_0, step_1, steps_0, steps_1 };
    let expected: Vec<f64> = (0..len).map(|i| element(&x.values, mode, sizes, i)).collect();
    run.case(bench, format!("{mode:?} {rows} × {of_x:?} to {of_y:?}"), &params, &expected)
}

fn lowest_terms(a: u32, b: u32) -> (u32, u32) {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor, b / divisor)
}

/// Element `i` of y.
fn element(x: &[f64], mode: Mode, [of_x, of_y]: [[u32; 2]; 2], i: u32) -> f64 {
    let at = [i / of_y[1] % of_y[0], i % of_y[1]];
    let image = (i / of_y[1] / of_y[0] * of_x[0] * of_x[1]) as usize;
    let value = |place: [u32; 2]| x[image + (place[0] * of_x[1] + place[1]) as usize];
    if mode == Mode::Nearest {
        return value([0, 1].map(|axis| {
            let [at, of_x, of_y] = [at[axis], of_x[axis], of_y[axis]].map(u64::from);
            (at * of_x / of_y) as u32
        }));
    }
    let places = [0, 1].map(|axis| {
        let [at, of_x, of_y] = [at[axis], of_x[axis], of_y[axis]].map(f64::from);
        let place = if mode == Mode::Linear {
            (at + 0.5) * of_x / of_y - 0.5
        } else {
            at * (of_x - 1.0) / (of_y - 1.0).max(1.0)
        };
        place.clamp(0.0, of_x - 1.0)
    });
    let mut sum = 0.0;
    for corner in 0..4u32 {
        let mut share = 1.0;
        let place = [0, 1].map(|axis| {
            let (near, far) = (places[axis].floor(), corner >> axis & 1);
            share *= if far == 1 { places[axis] - near } else { near + 1.0 - places[axis] };
            (near as u32 + far).min(of_x[axis] - 1)
        });
        sum += share * value(place);
    }
    sum
}
