//! One row and chunks, fresh and continued states, several sequences in one pass, rows that are done; the outputs and
//! the states after them.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance, places};
use crate::kernels::caps::Caps;
use crate::kernels::delta_net::{DeltaHeads, DeltaNet, delta_net};
use crate::kernels::norm::Rows;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::reference::{self, DeltaInputs, DeltaShape};

/// Large, so that a kernel without it fails.
const EPS: f32 = 0.01;

/// Rounding errors grow along a sequence.
const TOLERANCE: Tolerance = Tolerance { abs: 4e-6, rel: 2e-5 };

/// Sequences that have a state.
const SEQUENCES: u32 = 3;

/// Which of the outputs a case compares.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Output {
    Y,
    State,
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("delta_net"));
    let heads = |k_heads, v_heads, head_dim, tiled| DeltaHeads { k_heads, v_heads, head_dim, tiled };
    let chunk = |sequence, position, rows| Pass::chunk(sequence, position, &vec![0; rows]);
    let shapes = [
        (heads(1, 1, 1, true), chunk(0, 0, 3)),
        (heads(2, 6, 20, true), chunk(1, 5, 9)),
        (heads(2, 6, 20, false), chunk(2, 0, 1)),
        (heads(1, 3, 33, true), chunk(0, 1, 8)),
        (heads(3, 3, 64, false), chunk(1, 7, 1)),
        (heads(1, 2, 100, true), chunk(0, 0, 17)),
        (heads(2, 4, 128, true), chunk(2, 3, 33)),
        (heads(1, 1, 130, true), chunk(0, 2, 2)),
        (heads(1, 2, 256, true), chunk(1, 0, 6)),
        (heads(2, 4, 36, true), several()),
    ];
    let baseline = Caps { subgroups: false, ..caps.clone() };
    let mut cases = Vec::new();
    for (heads, pass) in &shapes {
        for output in [Output::Y, Output::State] {
            cases.push(case(&baseline, random, *heads, pass, output));
            if caps.subgroups {
                cases.push(case(caps, random, *heads, pass, output));
            }
        }
    }
    cases.push(case(caps, random, heads(1, 2, 128, true), &chunk(0, 0, 257), Output::Y));
    cases
}

/// Rows of two sequences by turns, one fresh and one with a row that is done; the third has only such.
pub(crate) fn several() -> Pass {
    let row = |sequence, position, flags| Row { sequence, position, flags, ..Row::default() };
    let rows = [
        row(2, 4, ROW_DONE),
        row(1, 0, 0),
        row(0, 3, 0),
        row(1, 1, 0),
        row(0, 4, ROW_DONE),
        row(1, 2, 0),
        row(2, 5, ROW_DONE),
    ];
    Pass::decode(&rows)
}

/// Random inputs as a model has them.
struct Data {
    /// `[rows, 2 k_heads + v_heads, head_dim]`
    qkv: Vec<f32>,
    /// `[rows, 2 v_heads + 3]`: a value, β, two values, α
    gates: Vec<f32>,
    dt_bias: Vec<f32>,
    a: Vec<f32>,
    /// `[sequences, v_heads, head_dim of k, head_dim of v]`
    state: Vec<f32>,
}

impl Data {
    fn new(random: &mut Random, heads: DeltaHeads, rows: usize) -> Self {
        let [k_heads, v_heads, d] = [heads.k_heads, heads.v_heads, heads.head_dim].map(|n| n as usize);
        let mut gates = random.floats(rows * (2 * v_heads + 3));
        gates.iter_mut().for_each(|gate| *gate *= 6.0);
        Self {
            qkv: random.floats(rows * (2 * k_heads + v_heads) * d),
            gates,
            dt_bias: random.floats(v_heads),
            a: random.floats(v_heads).iter().map(|v| -0.6 + v / 2.0).collect(),
            state: random.floats(SEQUENCES as usize * v_heads * d * d),
        }
    }

    /// y of all rows, 0 for those that are done, and the states after them.
    fn expected(&self, heads: DeltaHeads, pass: &Pass) -> (Vec<f32>, Vec<f32>) {
        let [k_heads, v_heads, head_dim] = [heads.k_heads, heads.v_heads, heads.head_dim].map(|n| n as usize);
        let shape = DeltaShape { k_heads, v_heads, head_dim, tiled: heads.tiled, eps: EPS };
        let mut state = self.state.clone();
        let mut y = vec![0.0; pass.rows.len() * v_heads * head_dim];
        let inputs = self.qkv.chunks_exact((2 * k_heads + v_heads) * head_dim);
        let inputs = inputs.zip(self.gates.chunks_exact(2 * v_heads + 3)).zip(y.chunks_exact_mut(v_heads * head_dim));
        for (row, ((qkv, gates), y)) in pass.rows.iter().zip(inputs).filter(|(row, _)| row.flags == 0) {
            let (beta, alpha) = (&gates[1..][..v_heads], &gates[v_heads + 3..]);
            let inputs = DeltaInputs { qkv, beta, alpha, dt_bias: &self.dt_bias, a: &self.a };
            let size = v_heads * head_dim * head_dim;
            let state = &mut state[row.sequence as usize * size..][..size];
            if row.position == 0 {
                state.fill(0.0);
            }
            reference::delta_net(shape, &inputs, state, y);
        }
        (y, state)
    }
}

/// States `[…, head_dim of k, head_dim of v]` as the kernel has them: transposed, and padded with zeros.
fn packed(state: &[f32], heads: DeltaHeads) -> Vec<f32> {
    let (d, width) = (heads.head_dim as usize, heads.padded() as usize);
    let mut packed = vec![0.0; state.len() / d * width];
    for (state, packed) in state.chunks_exact(d * d).zip(packed.chunks_exact_mut(d * width)) {
        for (column, packed) in packed.chunks_exact_mut(width).enumerate() {
            packed.iter_mut().zip(state[column..].iter().step_by(d)).for_each(|(to, from)| *to = *from);
        }
    }
    packed
}

fn case(caps: &Caps, random: &mut Random, heads: DeltaHeads, pass: &Pass, output: Output) -> Case {
    let data = Data::new(random, heads, pass.rows.len());
    let (y_rows, states) = data.expected(heads, pass);
    let mut bench = Bench::of(pass.clone());
    let gates = bench.floats(&data.gates).into();
    let stride = 2 * heads.v_heads + 3;
    let state = bench.floats(&packed(&data.state, heads));
    let y = bench.floats(&vec![0.0; y_rows.len()]);
    let problem = DeltaNet {
        heads,
        eps: EPS,
        sequences: SEQUENCES,
        qkv: bench.floats(&data.qkv).into(),
        beta: Rows { slice: gates, stride, offset: 1 },
        alpha: Rows { slice: gates, stride, offset: heads.v_heads + 3 },
        dt_bias: bench.floats(&data.dt_bias).into(),
        a: bench.floats(&data.a).into(),
        state: state.into(),
        y: y.into(),
    };
    let dispatch = delta_net(caps, Bench::PASS.into(), &problem);
    let (buffer, expected) = match output {
        Output::Y => (y, y_rows),
        Output::State => (state, packed(&states, heads)),
    };
    let DeltaHeads { k_heads, v_heads, head_dim, tiled } = heads;
    let order = if tiled { "tiled" } else { "side by side" };
    let rows = pass.rows.len();
    let name =
        format!("{k_heads}/{v_heads} heads of {head_dim} {order}, {rows} rows, {}, {output:?}", places(&pass.rows));
    bench.case(name, vec![dispatch], buffer, Expected::Close(expected, TOLERANCE))
}
