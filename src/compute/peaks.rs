//! Local maxima of signals and their prominences: `findPeaks`.

use super::{Numbers, Run, grid_of};
use crate::harness::{Case, OpBench, Suite};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Elements of x.
        pub len: u32,
        /// Elements of a row.
        pub length: u32,
        /// Blocks of a row.
        pub blocks: u32,
    }
}

/// The contract with `shaders/compute/peaks.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "compute/peaks",
    bindings: &[PARAMS, read("x"), read("highest"), read("lowest"), write("y")],
    params: Params::LAYOUT,
    overrides: &[],
};

/// Elements of a block of `peaks.wgsl`.
const BLOCK: usize = 256;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/peaks"));
    let mut noise =
        |length: usize, steps: f32| random.floats(length).iter().map(|x| (x * steps).round()).collect::<Vec<_>>();
    let [fine, coarse, long] = [noise(5 * 301, 1e6), noise(3 * 83, 2.0), noise(2 * 1500, 3.0)];
    // Each peak is lower than the one before, so that all walks to the right end at the end.
    let falling = (0..2000).map(|i| if i % 2 == 1 { 3000.0 - i as f32 } else { -(i as f32) }).collect::<Vec<_>>();
    // A plateau over several blocks, one from the start and one to the end.
    let plateaus = [(3.0, 10), (1.0, 300), (2.0, 701), (1.5, 20), (2.5, 9), (0.0, 1), (4.0, 600)];
    let plateaus: Vec<f32> = plateaus.iter().flat_map(|&(height, count)| vec![height; count]).collect();
    vec![
        case(caps, "noise", 5, &fine),
        case(caps, "coarse noise", 3, &coarse),
        case(caps, "long coarse noise", 2, &long),
        case(caps, "falling peaks", 1, &falling),
        case(caps, "plateaus", 1, &plateaus),
        case(caps, "short rows", 4, &[1.0, 2.0, 1.0, 3.0]),
    ]
}

fn case(caps: &Caps, name: &str, rows: usize, values: &[f32]) -> Case {
    let mut bench = OpBench::new(caps);
    let length = values.len() / rows;
    let blocks = length.div_ceil(BLOCK);
    let x = Numbers::of(&mut bench, Stored::F32, &[rows as u32, length as u32], values);
    let extremes = |of: fn(f32, f32) -> f32| -> Vec<f32> {
        let rows = values.chunks_exact(length);
        rows.flat_map(|row| row.chunks(BLOCK).map(|block| block.iter().copied().reduce(of).unwrap_or(0.0))).collect()
    };
    let shape = [rows as u32, blocks as u32];
    let highest = Numbers::of(&mut bench, Stored::F32, &shape, &extremes(f32::max));
    let lowest = Numbers::of(&mut bench, Stored::F32, &shape, &extremes(f32::min));
    let params = Params { len: values.len() as u32, length: length as u32, blocks: blocks as u32 };
    let run = Run {
        spec: &SPEC,
        variant: "",
        constants: &[],
        inputs: &[&x.tensor, &highest.tensor, &lowest.tensor],
        shape: &[rows as u32, 2, length as u32],
        grid: grid_of(params.len),
    };
    let expected: Vec<f64> = x.values.chunks_exact(length).flat_map(reference).collect();
    run.case(bench, format!("{name}, {rows} × {length}"), &params, &expected)
}

/// Places and prominences of the maxima of a row, at the elements that they begin at.
fn reference(row: &[f64]) -> Vec<f64> {
    let (mut places, mut prominences) = (vec![0.0; row.len()], vec![0.0; row.len()]);
    let mut start = 0;
    for run in row.chunk_by(|a, b| a == b) {
        let end = start + run.len();
        let height = run[0];
        let lowest = |side: &mut dyn Iterator<Item = &f64>| {
            side.take_while(|&&value| value <= height).copied().fold(height, f64::min)
        };
        if start > 0 && end < row.len() && row[start - 1] < height && row[end] < height {
            places[start] = (1 + (run.len() - 1) / 2) as f64;
            let before = lowest(&mut row[..start].iter().rev());
            prominences[start] = height - before.max(lowest(&mut row[end..].iter()));
        }
        start = end;
    }
    [places, prominences].concat()
}
