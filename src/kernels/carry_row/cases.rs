//! No row, one and all rows accepted, narrow and wide; rows of several sequences; rows at other positions.

use super::{Moving, carry_row, carry_rows, move_rows};
use crate::harness::{Bench, Case, Expected, Suite, Tolerance};
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};
use crate::kernels::pass::{Header, Pass, ROW_DONE, Row};

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
    sets.map(case).into_iter().chain(rows_of_several(suite)).chain(moved_rows()).collect()
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

/// Rows that move to the position before or behind, of which one is the first of its sequence and one is done.
fn moved_rows() -> Vec<Case> {
    let ids: [u64; 5] = [9, 700, 3, 0, (1 << 33) + 41];
    let rows: [(u32, u32, u32); 6] = [(4, 0, 0), (1, 1, 0), (0, 7, ROW_DONE), (3, 9, 0), (4, 200, 0), (2, 0, 0)];
    let row = |(token, position, flags)| Row { token, position, sequence: token % 3, flags };
    let mut cases = Vec::new();
    for (how, maps, count) in [(Moving::Back, false, 70), (Moving::Forth, true, 5), (Moving::Back, true, 6)] {
        let rows: Vec<Row> = rows.iter().cycle().take(count + 1).copied().map(row).collect();
        let mut pass = Pass::decode(&rows);
        (pass.header.rows, pass.header.outputs) = (count as u32, 2);
        let mut expected = pass.clone();
        // Nothing else is written.
        expected.header = Header { rows: count as u32, outputs: 2, ..Header::default() };
        expected.rows[count] = Row::default();
        for row in &mut expected.rows[..count] {
            let is_first = how == Moving::Back && row.position == 0;
            row.flags |= u32::from(is_first) * ROW_DONE;
            row.position = row.position.wrapping_add(if how == Moving::Back { u32::MAX } else { 1 });
            row.token = if maps { ids[row.token as usize] as u32 } else { row.token };
        }
        let mut bench = Bench::new(count as u32);
        let [ids, unused] = [bench.bytes(bytemuck::cast_slice(&ids)), bench.floats(&[0.0; 64])];
        let pass = bench.bytes(&pass.bytes());
        let moved = bench.bytes(&vec![0; Pass::bytes_of(count + 1) as usize]);
        let dispatch = move_rows(how, [pass.into(), moved.into()], maps.then_some(ids.into()), unused.into());
        let expected = expected.bytes().chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let (name, expected) = (format!("{count} rows, {how:?}, {maps}"), Expected::Exact(expected));
        cases.push(bench.case(name, vec![dispatch], moved, expected));
    }
    cases
}
