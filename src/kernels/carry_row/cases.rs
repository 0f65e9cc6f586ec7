//! No row, one and all rows accepted, narrow and wide.

use super::carry_row;
use crate::harness::{Bench, Case, Expected, Suite, Tolerance};
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};

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
    sets.map(case).into()
}
