//! Tokens that switch and others, also twice the same; rows that are done; means next to halves and beyond the slots.

use super::{Part, switch, switch_embeddings};
use crate::harness::{Bench, Case, Expected, Suite};
use crate::kernels::norm::Rows;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::reference;
use crate::model::Switch;

/// Values of a row of y before those that are written, and behind them.
const AROUND: [usize; 2] = [3, 2];

pub(crate) fn cases(_: &Suite) -> Vec<Case> {
    let few = Switch { tokens: vec![[7, 3], [5, 900], [11, 7]], rank: 4, gain: 15.0 };
    let many: Vec<[u32; 2]> = (0..200).map(|i| [4 * i % 600, i]).collect();
    let many = Switch { tokens: many, rank: 1, gain: 12.5 };
    let mut found = Vec::new();
    for of in [&few, &many] {
        found.extend([signal(of, 8), signal(of, 130), embeddings(of), slot(of)]);
    }
    found.push(query(&few));
    found
}

fn pass(switch: &Switch) -> Pass {
    let tokens: Vec<u32> = switch.tokens.iter().flatten().copied().chain([0, 599, 8000]).collect();
    let row = |(at, token): (usize, &u32)| Row { token: *token, position: 3 + at as u32, sequence: 0, flags: 0 };
    let mut pass = Pass::decode(&tokens.iter().enumerate().map(row).take(8).collect::<Vec<_>>());
    pass.rows[1].flags = ROW_DONE;
    // Flags of the pass before.
    pass.rows[2].flags = 9 << 1;
    pass
}

/// Rows of y: those that are done stay as they were.
fn rows(pass: &Pass, width: usize, of: impl Fn(usize, u32) -> [u32; 2]) -> [Vec<u32>; 2] {
    let stride = AROUND[0] + width + AROUND[1];
    let before: Vec<u32> = (0..(pass.rows.len() * stride) as u32).map(|i| 77 + i).collect();
    let mut y = before.clone();
    for (at, row) in pass.rows.iter().enumerate().filter(|(_, row)| row.flags & ROW_DONE == 0) {
        let own = &mut y[at * stride + AROUND[0]..][..width];
        own.fill(0);
        own[..2].copy_from_slice(&of(at, row.token));
    }
    [before, y]
}

fn signal(of: &Switch, width: usize) -> Case {
    let pass = pass(of);
    let [before, y] = rows(&pass, width, |_, token| reference::signal(of, token).map(f32::to_bits));
    let name = format!("signals of {} adapters, {width} values", of.tokens.len());
    run((name, of, pass), (Part::Signal, &[]), width, [before, y])
}

fn embeddings(of: &Switch) -> Case {
    let pass = pass(of);
    let mut after = pass.clone();
    for row in after.rows.iter_mut().filter(|row| row.flags & ROW_DONE == 0) {
        row.flags = (reference::switched(of, row.token).1 + 1) << 1;
    }
    let words = after.bytes().chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let mut bench = Bench::of(pass);
    let y = bench.floats(&[0.0]).into();
    let list = vec![switch_embeddings(bench.fixed().into(), of, y)];
    bench.case(format!("embeddings of {} adapters", of.tokens.len()), list, Bench::PASS, Expected::Exact(words))
}

fn query(of: &Switch) -> Case {
    let pass = pass(of);
    let found = rows(&pass, 66, |_, _| [1f32.to_bits(), 0]);
    run(("queries".into(), of, pass), (Part::Query, &[]), 66, found)
}

fn slot(of: &Switch) -> Case {
    let pass = pass(of);
    let means = [0.0, 9.0, 0.5, 1.4990, 1.49951, 2.0, -0.7, 4096.0];
    let x: Vec<f32> = means.iter().flat_map(|mean| [5.0, 6.0, *mean]).collect();
    let found = rows(&pass, 2, |at, _| [reference::slot(of, means[at]) as u32, 1f32.to_bits()]);
    let part = Part::Slot(Rows { slice: Bench::PASS.into(), stride: 3, offset: 1 });
    run((format!("the slot among {} adapters", of.tokens.len()), of, pass), (part, &x), 2, found)
}

fn run(
    (name, of, pass): (String, &Switch, Pass),
    (part, x): (Part, &[f32]),
    width: usize,
    [before, expected]: [Vec<u32>; 2],
) -> Case {
    let mut bench = Bench::of(pass);
    let part = match part {
        Part::Slot(rows) => Part::Slot(Rows { slice: bench.floats(x).into(), ..rows }),
        other => other,
    };
    let y = bench.bytes(bytemuck::cast_slice(&before));
    let stride = (AROUND[0] + width + AROUND[1]) as u32;
    let rows = Rows { slice: y.into(), stride, offset: AROUND[0] as u32 };
    let list = vec![switch(bench.fixed().into(), of, part, (rows, width as u32))];
    bench.case(name, list, y, Expected::Exact(expected))
}
