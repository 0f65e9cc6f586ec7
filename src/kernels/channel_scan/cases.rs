//! Channels and states of odd sizes; from the first token and from a state; several rows and sequences, one of them
//! done; results and states.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance, places};
use crate::kernels::channel_scan::{ChannelScan, channel_scan};
use crate::kernels::norm::Rows;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::reference::{self, ChannelToken};

const SEQUENCES: usize = 3;

/// Sums over a hundred tokens and more, each with a rounded exponential.
const TOLERANCE: Tolerance = Tolerance { abs: 5e-5, rel: 5e-5 };

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("channel_scan");
    let row = |sequence, position| Row { sequence, position, ..Row::default() };
    let mut several = Pass::decode(&[row(2, 5), row(0, 0), row(1, 3), row(2, 6), row(0, 1)]);
    several.rows[2].flags = ROW_DONE;
    let mut cases = Vec::new();
    for sizes in [[70, 16], [128, 5], [9, 1]] {
        cases.extend(both(random, sizes, &Pass::decode(&[row(1, 0)]), false));
        cases.extend(both(random, sizes, &several, false));
        cases.extend(both(random, sizes, &Pass::chunk(1, 7, &[0; 71]), true));
    }
    cases
}

fn both(random: &mut Random, sizes: [usize; 2], pass: &Pass, one_sequence: bool) -> [Case; 2] {
    [false, true].map(|see_state| case(random, sizes, pass, [one_sequence, see_state]))
}

fn case(random: &mut Random, [channels, state_size]: [usize; 2], pass: &Pass, flags: [bool; 2]) -> Case {
    let [one_sequence, see_state] = flags;
    let rows = pass.rows.len();
    // z and what B and C lie in have a value before them.
    let [z_stride, bc_stride] = [channels + 1, 2 * state_size + 1];
    let [x, z, dt, bc] = [channels, z_stride, channels, bc_stride].map(|width| random.floats(rows * width));
    let dt: Vec<f32> = dt.iter().map(|dt| 3.0 * dt).collect();
    let a: Vec<f32> = random.floats(channels * state_size).iter().map(|a| -(4.0 * a).exp() / 8.0).collect();
    let d = random.floats(channels);
    let mut states = random.floats(SEQUENCES * channels * state_size);
    let mut results = vec![0.0; rows * channels];
    let mut bench = Bench::of(pass.clone());
    let state = bench.floats(&states);
    for (i, row) in pass.rows.iter().enumerate().filter(|(_, row)| row.flags & ROW_DONE == 0) {
        let h = &mut states[row.sequence as usize * channels * state_size..][..channels * state_size];
        if row.position == 0 {
            h.fill(0.0);
        }
        let bc = &bc[i * bc_stride + 1..][..2 * state_size];
        let token = ChannelToken {
            x: &x[i * channels..][..channels],
            z: &z[i * z_stride + 1..][..channels],
            dt: &dt[i * channels..][..channels],
            b: &bc[..state_size],
            c: &bc[state_size..],
        };
        reference::channel_scan(token, [&a, &d], h, &mut results[i * channels..][..channels]);
    }
    let y = bench.floats(&vec![0.0; results.len()]);
    let bc = bench.floats(&bc).into();
    let of_bc = |offset| Rows { slice: bc, stride: bc_stride as u32, offset };
    let problem = ChannelScan {
        channels: channels as u32,
        state_size: state_size as u32,
        x: bench.floats(&x).into(),
        z: Rows { slice: bench.floats(&z).into(), stride: z_stride as u32, offset: 1 },
        dt: bench.floats(&dt).into(),
        bc: [of_bc(1), of_bc(1 + state_size as u32)],
        of_channels: bench.floats(&[a, d].concat()).into(),
        state: state.into(),
        y: y.into(),
    };
    let dispatch = channel_scan(Bench::PASS.into(), &problem, one_sequence);
    let (output, expected, of) = if see_state { (state, states, "state") } else { (y, results, "y") };
    let name = format!("{channels} channels of {state_size}, {rows} rows, {}, {of}", places(&pass.rows));
    bench.case(name, vec![dispatch], output, Expected::Close(expected, TOLERANCE))
}
