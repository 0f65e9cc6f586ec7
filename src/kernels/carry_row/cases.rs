//! No row, one and all rows accepted, narrow and wide; rows of several sequences.

use super::{carry_row, carry_rows};
use crate::harness::{Bench, Case, Expected, Suite, Tolerance};
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};
use crate::kernels::pass::{Pass, ROW_DONE, Row};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("carry_row");
    let sets = [(1, 0), (64, 1), (65, 8), (300, 3)];
    let case = |(width, accepted): (usize, usize)| {
        let rows = random.floats((DRAFT_ROWS + 1) * width);
        let mut expected = rows.clone();
        expected.copy_within(accepted * width..(accepted + 1) * width, 0);
        let mut bench = Bench::new(1);
        let report = Report { accepted: accepted as u32, drafted: 7, ..Report::default() };
        let report = bench.bytes(bytemuck::bytes_of(&report)).into();
        let rows = bench.floats(&rows);
        let dispatch = carry_row(width as u32, report, rows.into());
        let name = format!("{accepted} accepted, {width} values");
        bench.case(name, vec![dispatch], rows, Expected::Close(expected, Tolerance::PLAIN))
    };
    sets.map(case).into_iter().chain(rows_of_several(suite)).collect()
}

/// The states before the rows of these sequences, where those with a flag are done, and those that are carried on.
fn rows_of_several(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("carry_rows");
    let rows: [(u32, u32); 7] = [(2, 0), (2, 0), (2, ROW_DONE), (0, 0), (3, ROW_DONE), (1, 0), (1, 0)];
    let row = |(sequence, flags)| Row { sequence, flags, ..Row::default() };
    let pass = Pass::decode(&rows.map(row));
    let mut cases = Vec::new();
    for (width, gathers, reads_carried) in [(1, true, true), (65, true, false), (130, true, true), (65, false, true)] {
        let states = random.floats((rows.len() + 1) * width);
        let mut carried = random.floats(4 * width);
        let (mut bench, mut expected) = (Bench::new(rows.len() as u32), Vec::new());
        let buffers = [bench.floats(&states), bench.floats(&carried)];
        let before = bench.floats(&vec![0.0; rows.len() * width]);
        for (at, &(sequence, flags)) in rows.iter().enumerate() {
            let own = sequence as usize * width..(sequence as usize + 1) * width;
            let is_first = at == 0 || rows[at - 1].0 != sequence;
            expected.extend_from_slice(if is_first { &carried[own.clone()] } else { &states[at * width..][..width] });
            if flags == 0 {
                carried[own].copy_from_slice(&states[(at + 1) * width..][..width]);
            }
        }
        let unused = bench.floats(&[0.0; 64]);
        let pass = bench.bytes(&pass.bytes()).into();
        let of = (gathers.then_some(before.into()), unused.into());
        let dispatch = carry_rows(width as u32, pass, buffers.map(Into::into), of);
        let (found, expected) = if reads_carried { (buffers[1], carried) } else { (before, expected) };
        let name = format!("of several sequences, {width} values, {gathers}, {reads_carried}");
        cases.push(bench.case(name, vec![dispatch], found, Expected::Close(expected, Tolerance::PLAIN)));
    }
    cases
}
