//! Squared distances of points: `knn`.

use super::{Numbers, Run};
use crate::harness::{Case, OpBench, Random, Suite};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// The point of the first row.
        pub first: u32,
        /// Rows of y.
        pub rows: u32,
        /// Points.
        pub points: u32,
        /// Numbers of a point.
        pub width: u32,
    }
}

/// The contract with `shaders/compute/knn_distances.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "compute/knn_distances",
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &[],
};

/// Rows and columns of a tile.
const TILE: u32 = 64;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/knn"));
    let params = |first, rows, points, width| Params { first, rows, points, width };
    vec![
        case(caps, random, &params(0, 2, 2, 1), 0.0),
        case(caps, random, &params(0, 131, 131, 37), 0.0),
        case(caps, random, &params(70, 9, 79, 16), 0.0),
        // Far from the origin, where |a|² + |b|² − 2ab has no digits left.
        case(caps, random, &params(3, 65, 70, 5), 8192.0),
    ]
}

fn case(caps: &Caps, random: &mut Random, params: &Params, offset: f32) -> Case {
    let &Params { first, rows, points, width } = params;
    let mut bench = OpBench::new(caps);
    let values: Vec<f32> = random.floats((points * width) as usize).iter().map(|value| value + offset).collect();
    let x = Numbers::of(&mut bench, Stored::F32, &[points, width], &values);
    let tiles = rows.div_ceil(TILE) * points.div_ceil(TILE);
    let run = Run {
        spec: &SPEC,
        variant: "",
        constants: &[],
        inputs: &[&x.tensor],
        shape: &[rows, points],
        grid: grid_1d(tiles),
    };
    let point = |i: u32| &x.values[(i * width) as usize..((i + 1) * width) as usize];
    let mut expected = Vec::new();
    for a in first..first + rows {
        expected.extend((0..points).map(|b| {
            let squares = point(a).iter().zip(point(b)).map(|(a, b)| (a - b).powi(2));
            if a == b { f64::NAN } else { -squares.sum::<f64>() }
        }));
    }
    run.case(bench, format!("{rows} from {first} of {points} × {width}, at {offset}"), params, &expected)
}
