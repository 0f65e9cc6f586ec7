//! Short and long kernels, with and without gates, weights, bias and SiLU; from the first token and from a state; rows
//! of several sequences, one of them done, and several rows of one; results and states.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance, places};
use crate::kernels::conv_causal::{ConvCausal, conv_causal, conv_causal_few};
use crate::kernels::norm::Rows;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::reference;

/// Sequences that the state has room for.
const SEQUENCES: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Shape {
    channels: usize,
    kernel: usize,
    ahead: usize,
    gated: bool,
    weighted: bool,
    bias: bool,
    silu: bool,
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("conv_causal");
    let lfm2 = Shape { channels: 65, kernel: 3, ahead: 0, gated: true, weighted: true, bias: false, silu: false };
    let mamba = Shape { channels: 130, kernel: 4, ahead: 0, gated: false, weighted: true, bias: true, silu: true };
    let shortest = Shape { channels: 1, kernel: 2, ahead: 0, gated: false, weighted: true, bias: false, silu: true };
    let longest = Shape { channels: 31, kernel: 16, ahead: 0, gated: true, weighted: true, bias: true, silu: true };
    let before = Shape { channels: 67, kernel: 2, ahead: 0, gated: false, weighted: false, bias: false, silu: false };
    // Whole sequences: Vocos, Conformers, and a kernel that looks further ahead than back.
    let mut cases = Vec::new();
    for (kernel, ahead) in [(3, 1), (7, 3), (5, 4), (9, 4)] {
        let vocos = Shape { channels: 66, kernel, ahead, gated: false, weighted: true, bias: true, silu: false };
        for rows in [1, 2, 3, 17] {
            let pass = Pass::chunk(0, 0, &vec![0; rows]);
            cases.push(case(random, &vocos, &pass, [false; 2]));
            if rows <= 3 {
                cases.push(case(random, &vocos, &pass, [true, false]));
            }
        }
    }
    let row = |sequence, position| Row { sequence, position, ..Row::default() };
    for shape in [lfm2, mamba, shortest, longest, before] {
        for (position, rows) in [(0, 21), (1, 1), (5, 2), (9, 17)] {
            cases.extend(both(random, &shape, &Pass::chunk(1, position, &vec![0; rows]), false));
        }
        cases.extend(both(random, &shape, &Pass::decode(&[row(0, 7)]), true));
        let one = [row(2, 1), row(2, 2), row(2, 3), row(2, 4)];
        cases.extend(both(random, &shape, &Pass::decode(&one), true));
        let mut several = Pass::decode(&[row(2, 5), row(0, 0), row(1, 3), row(2, 6), row(0, 1)]);
        several.rows[2].flags = ROW_DONE;
        cases.extend(both(random, &shape, &several, true));
        let mut accepted = Pass::decode(&one);
        accepted.rows[2..].iter_mut().for_each(|row| row.flags = ROW_DONE);
        cases.extend(both(random, &shape, &accepted, true));
    }
    cases
}

/// The results and the state of one pass.
fn both(random: &mut Random, shape: &Shape, pass: &Pass, few: bool) -> [Case; 2] {
    [false, true].map(|see_state| case(random, shape, pass, [few, see_state]))
}

/// Random inputs; b, c and x lie behind a column of something else, b · x need not.
struct Data {
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    state: Vec<f32>,
}

fn case(random: &mut Random, shape: &Shape, pass: &Pass, [few, see_state]: [bool; 2]) -> Case {
    let &Shape { channels, kernel, ahead, gated, weighted, bias, silu } = shape;
    let (rows, stride) = (pass.rows.len(), 1 + 3 * channels);
    let mut floats = |count| random.floats(count);
    let first_tap = || (0..channels * kernel).map(|i| f32::from(i % kernel == 0)).collect();
    let data = Data {
        x: floats(rows * stride),
        weight: if weighted { floats(channels * kernel) } else { first_tap() },
        bias: floats(if bias { channels } else { 0 }),
        state: floats(SEQUENCES * (kernel - 1) * channels),
    };
    let mut bench = Bench::of(pass.clone());
    let (pass_slice, dummy) = bench.fixed();
    let x = bench.floats(&data.x).into();
    let (weight, bias_buffer) = (bench.floats(&data.weight).into(), bench.floats(&data.bias).into());
    let (state, y) = (bench.floats(&data.state), bench.floats(&vec![0.0; rows * channels]));
    let channels_u32 = channels as u32;
    let problem = ConvCausal {
        channels: channels_u32,
        kernel: kernel as u32,
        ahead: ahead as u32,
        x: Rows { slice: x, offset: 1 + 2 * channels_u32, stride: stride as u32 },
        gates: gated.then_some([1, 1 + channels_u32]),
        weight: weighted.then_some(weight),
        bias: bias.then_some(bias_buffer),
        silu,
        state: state.into(),
        y: y.into(),
    };
    let dispatches = match few {
        true => vec![conv_causal_few(pass_slice, dummy, &problem)],
        false => conv_causal(pass_slice, dummy, &problem).into(),
    };
    let (results, states) = expected(shape, &data, pass);
    let (output, expected) = if see_state { (state, states) } else { (y, results) };
    let [gated, weighted] = [(gated, ", gated"), (!weighted, ", the first input")];
    let parts = [gated, weighted, (bias, ", bias"), (silu, ", SiLU"), (see_state, ", the state")];
    let used: String = parts.iter().filter(|(used, _)| *used).map(|(_, part)| *part).collect();
    let behind = if ahead > 0 { format!(", {ahead} behind") } else { String::new() };
    let name = format!("{rows}x{channels}, kernel {kernel}{behind}{used}, {}", places(&pass.rows));
    bench.case(name, dispatches, output, Expected::Close(expected, Tolerance::PLAIN))
}

/// Results of a whole sequence: what a causal convolution gives `ahead` rows later.
fn expected_behind(shape: &Shape, data: &Data) -> Vec<f32> {
    let &Shape { channels, kernel, ahead, .. } = shape;
    let rows = data.x.chunks_exact(1 + 3 * channels).flat_map(|row| &row[1 + 2 * channels..]);
    let mut input: Vec<f32> = rows.copied().collect();
    input.resize(input.len() + ahead * channels, 0.0);
    let mut state = vec![0.0; (kernel - 1) * channels];
    reference::conv_causal(&input, &data.weight, &data.bias, &mut state, channels).split_off(ahead * channels)
}

/// Results `[rows, channels]` and states, row by row.
fn expected(shape: &Shape, data: &Data, pass: &Pass) -> (Vec<f32>, Vec<f32>) {
    if shape.ahead > 0 {
        return (expected_behind(shape, data), Vec::new());
    }
    let &Shape { channels, kernel, gated, silu, .. } = shape;
    let (mut states, stride, size) = (data.state.clone(), 1 + 3 * channels, (kernel - 1) * channels);
    let mut results = Vec::new();
    for (row, x) in pass.rows.iter().zip(data.x.chunks_exact(stride)) {
        if row.flags != 0 {
            results.extend(vec![0.0; channels]);
            continue;
        }
        let (b, c, x) = (&x[1..][..channels], &x[1 + channels..][..channels], &x[1 + 2 * channels..]);
        let input: Vec<f32> = x.iter().zip(b).map(|(x, b)| if gated { x * b } else { *x }).collect();
        let at = row.sequence as usize * size;
        let mut state = states[at..at + size].to_vec();
        // Inputs before the first token are zero, whatever the state holds.
        let unknown = (kernel - 1).saturating_sub(row.position as usize) * channels;
        state[..unknown].fill(0.0);
        let mut y = reference::conv_causal(&input, &data.weight, &data.bias, &mut state, channels);
        states[at..at + size].copy_from_slice(&state);
        if silu {
            y.iter_mut().for_each(|y| *y = reference::silu(*y));
        }
        if gated {
            y.iter_mut().zip(c).for_each(|(y, c)| *y *= c);
        }
        results.extend(y);
    }
    (results, states)
}
