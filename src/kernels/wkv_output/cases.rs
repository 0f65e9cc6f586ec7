//! Heads of odd sizes, longer than a workgroup and shorter, with each of the parts and without.

use super::{WkvOutput, wkv_output};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::reference::{self, Own};

const ROWS: usize = 3;
/// Large, so that a kernel without it fails.
const EPS: f32 = 0.05;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("wkv_output");
    let sets = [
        ([3, 20], [true, true, true]),
        ([2, 64], [true, true, false]),
        ([2, 100], [false, true, true]),
        ([1, 65], [true, false, true]),
        ([5, 1], [false, true, false]),
    ];
    sets.map(|(heads, parts)| case(random, heads, parts)).into()
}

fn case(random: &mut Random, [heads, head_dim]: [usize; 2], [normed, with_own, gated]: [bool; 3]) -> Case {
    let width = heads * head_dim;
    let [r, k, v, gate, mut y] = std::array::from_fn(|_| random.floats(ROWS * width));
    let w: Vec<f32> = random.floats(ROWS * 2 * width).iter().map(|w| 4.0 * w).collect();
    let [weight, bias, shares, factors] = std::array::from_fn(|_| random.floats(width));
    let mut of_heads = if normed { [&weight[..], &bias].concat() } else { Vec::new() };
    of_heads.extend(shares.iter().chain(&factors));
    let mut bench = Bench::new(ROWS as u32);
    let inputs = [&r, &w, &k, &v].map(|values| bench.floats(values).into());
    let [gate_buffer, of_heads] = [&gate, &of_heads].map(|values| bench.floats(values).into());
    let output = bench.floats(&y);
    let problem = WkvOutput {
        heads: [heads as u32, head_dim as u32],
        norm_eps: normed.then_some(EPS),
        own: with_own.then_some(inputs),
        gate: gated.then_some(gate_buffer),
        of_heads,
        y: output.into(),
    };
    let dispatch = wkv_output(&problem, Bench::DUMMY.into());
    for (row, y) in y.chunks_exact_mut(width).enumerate() {
        let of_row = |values, width| -> &[f32] { &<&Vec<f32>>::clone(&values)[row * width..][..width] };
        let rwkv = [of_row(&r, width), of_row(&w, 2 * width), of_row(&k, width), of_row(&v, width)];
        let own = Own { rwkv, shares: &shares, factors: &factors };
        let norm = normed.then_some(([&weight[..], &bias], EPS));
        reference::wkv_output(y, head_dim, norm, Some(&own).filter(|_| with_own));
        let gates = of_row(&gate, width).iter().filter(|_| gated);
        y.iter_mut().zip(gates).for_each(|(y, gate)| *y *= gate);
    }
    let parts = [(normed, ", norm"), (with_own, ", own values"), (gated, ", gate")];
    let used: String = parts.iter().filter(|(used, _)| *used).map(|(_, part)| *part).collect();
    let name = format!("{heads} heads of {head_dim}{used}");
    bench.case(name, vec![dispatch], output, Expected::Close(y, Tolerance::PLAIN))
}
