//! The gradient of pooling.

use super::pool::{Of, Params, WINDOWS, Windows};
use super::{Numbers, Run, grid_of};
use crate::harness::{Case, OpBench, Random, Suite};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, bool_override, read, write};

/// The contract with `shaders/compute/pool_grad.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "compute/pool_grad",
    bindings: &[PARAMS, read("dy"), read("y"), read("x"), write("dx")],
    params: Params::LAYOUT,
    overrides: &["KIND", "MEAN", "COUNT_PAD"],
};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/pool_grad"));
    let all = WINDOWS.iter().flat_map(|windows| [Of::Largest, Of::Mean, Of::MeanInside].map(|of| (windows, of)));
    let stored = [Stored::F32, Stored::F16, Stored::BF16].into_iter().cycle();
    let mut cases: Vec<Case> =
        all.zip(stored).map(|((windows, of), stored)| case(caps, random, windows, of, stored)).collect();
    // Windows that leave elements between them, and some behind them.
    let apart = Windows { rows: 3, size: [1, 8, 17], kernel: [1, 2, 3], stride: [1, 3, 5], pad: [0, 0, 1] };
    cases.push(case(caps, random, &apart, Of::Largest, Stored::F32));
    cases.push(case(caps, random, &apart, Of::Mean, Stored::F32));
    let many = Windows { rows: 5, size: [1, 16, 16], kernel: [1, 1, 2], stride: [1, 1, 1], pad: [0, 0, 1] };
    cases.push(case(caps, random, &many, Of::Mean, Stored::F32));
    cases
}

fn case(caps: &Caps, random: &mut Random, windows: &Windows, of: Of, stored: Stored) -> Case {
    let mut bench = OpBench::new(caps);
    let shape = [windows.rows, windows.size[0], windows.size[1], windows.size[2]];
    // Few values, so that some are equal.
    let values: Vec<f32> = random.floats(shape.iter().product::<u32>() as usize);
    let values: Vec<f32> = values.into_iter().map(|value| (4.0 * value).round() / 4.0).collect();
    let x = Numbers::of(&mut bench, stored, &shape, &values);
    let of_y = windows.of_y();
    let dy = Numbers::new(&mut bench, random, Stored::F32, &of_y);
    let largest = windows.values(&x.values, Of::Largest);
    let y = bench.floats(&of_y, &largest.iter().map(|&value| value as f32).collect::<Vec<_>>());
    let run = Run {
        spec: &SPEC,
        variant: stored.id(),
        constants: &[
            ("KIND", stored.kind().into()),
            ("MEAN", bool_override(of != Of::Largest)),
            ("COUNT_PAD", bool_override(of == Of::Mean)),
        ],
        inputs: &[&dy.tensor, &y, &x.tensor],
        shape: &shape,
        grid: grid_of(shape.iter().product()),
    };
    let expected = reference(&x.values, &dy.values, windows, of);
    let params = Params { len: shape.iter().product(), ..windows.params() };
    run.case(bench, format!("{of:?} {windows:?}"), &params, &expected)
}

fn reference(x: &[f64], dy: &[f64], windows: &Windows, of: Of) -> Vec<f64> {
    let mut dx = vec![0.0; x.len()];
    for (p, gradient) in dy.iter().enumerate() {
        let window = windows.elements(p as u32);
        let most = window.iter().map(|&i| x[i]).fold(f64::NEG_INFINITY, f64::max);
        let chosen: Vec<usize> = window.iter().copied().filter(|&i| of != Of::Largest || x[i] == most).collect();
        let count = if of == Of::Mean { windows.kernel.iter().product::<u32>() as usize } else { chosen.len() };
        for i in chosen {
            dx[i] += gradient / count as f64;
        }
    }
    dx
}
