//! Heads shorter and longer than the workgroup, gates in wider rows, with and without norm; one gate for a head.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::output_gate::{OutputGate, output_gate};
use crate::kernels::reference;

/// Large, so that a kernel without it fails.
const EPS: f32 = 0.01;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("output_gate");
    let mut cases = Vec::new();
    for (heads, gate) in [([1, 1], [0, 1]), ([3, 20], [0, 60]), ([2, 65], [7, 139]), ([5, 128], [640, 1283])] {
        cases.extend([true, false].map(|normed| case(random, heads, gate, (normed, heads[1]))));
    }
    cases.push(case(random, [3, 70], [2, 9], (false, 1)));
    cases
}

fn case(random: &mut Random, heads: [u32; 2], [offset, stride]: [u32; 2], (normed, gates): (bool, u32)) -> Case {
    const ROWS: usize = 3;
    let mut bench = Bench::new(ROWS as u32);
    let [count, width] = heads.map(|n| n as usize);
    let mut x = random.floats(ROWS * count * width);
    let weight = random.floats(width);
    let values: Vec<f32> = random.floats(ROWS * stride as usize).iter().map(|gate| gate * 8.0).collect();
    let y = bench.floats(&vec![0.0; x.len()]);
    let of_norm = bench.floats(&weight).into();
    let problem = OutputGate {
        heads,
        norm: normed.then_some((of_norm, EPS)),
        x: bench.floats(&x).into(),
        gate: Rows { slice: bench.floats(&values).into(), stride, offset },
        gates,
        y: y.into(),
    };
    let dispatch = output_gate(&problem, Bench::DUMMY.into());
    let gate = |row: &[f32]| row[offset as usize..][..count * gates as usize].to_vec();
    let values: Vec<f32> = values.chunks_exact(stride as usize).flat_map(gate).collect();
    reference::output_gate(&mut x, normed.then_some((&weight, EPS)), &values);
    let name = format!(
        "{count} heads of {width}, {gates} gates each, at {offset} of {stride}{}",
        if normed { ", normed" } else { "" }
    );
    bench.case(name, vec![dispatch], y, Expected::Close(x, Tolerance::PLAIN))
}
