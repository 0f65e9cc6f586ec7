//! A round of drafts that are made on the GPU: which rows of the next pass get a draft, and how it comes there. A
//! drafter has a pass of its own, with a row for each text, so that one step drafts a token for all of them.

use std::mem::offset_of;
use std::ops::Range;

use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::runtime::plan::{Place, Plan};

/// A text that a drafter drafts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::runtime) struct Drafted {
    /// Number of the text, and of its sequence.
    pub number: usize,
    /// Its rows in the next pass: its last token, and places for the draft.
    pub rows: Range<usize>,
    /// Number of tokens to draft, fewer than rows.
    pub steps: usize,
    /// One past the last position of its rows.
    pub end: usize,
}

/// The number of positions that the caches of these texts need for a round.
pub(in crate::runtime) fn end_of(texts: &[Drafted]) -> usize {
    texts.iter().map(|text| text.end).max().unwrap_or(0)
}

/// The texts of a round, the drafter's own pass, and the pass that checks the drafts.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Round<'a> {
    pub texts: &'a [Drafted],
    pub own: Place<'static>,
    pub checking: Place<'static>,
}

impl Round<'_> {
    /// Number of tokens to draft for the text that gets most.
    pub fn steps(&self) -> usize {
        self.texts.iter().map(|text| text.steps).max().unwrap_or(0)
    }

    /// Writes the drafter's pass, and copies the last token of each text there.
    pub fn begin(&self, plan: &mut Plan<'static>) {
        plan.write(self.own, own_pass(self.texts).bytes());
        for (row, text) in self.texts.iter().enumerate() {
            copy_row(plan, (self.checking, text.rows.start), (self.own, row));
        }
    }

    /// Copies the tokens that step `step` has drafted into the rows of the checking pass; the first step is 1.
    pub fn take(&self, plan: &mut Plan<'static>, step: usize) {
        for (row, text) in self.texts.iter().enumerate().filter(|(_, text)| step <= text.steps) {
            copy_row(plan, (self.own, row), (self.checking, text.rows.start + step));
        }
    }

    /// Copies the tokens of another drafter's pass `from` into the drafter's own.
    pub fn take_tokens(&self, plan: &mut Plan<'static>, from: Place<'static>) {
        for row in (0..self.texts.len()).map(Pass::bytes_of) {
            plan.copy(from.after(row), self.own.after(row), size_of::<u32>() as u64);
        }
    }

    /// Marks the rows that got no draft.
    pub fn end(&self, plan: &mut Plan<'static>) {
        let flags = offset_of!(Row, flags) as u64;
        let done = self.own.after(Pass::bytes_of(self.texts.len()) + flags);
        for row in self.texts.iter().flat_map(|text| text.rows.start + text.steps + 1..text.rows.end) {
            plan.copy(done, self.checking.after(Pass::bytes_of(row) + flags), size_of::<u32>() as u64);
        }
    }
}

/// The pass of a drafter: a row for each text, and behind them one that stands for no draft.
fn own_pass(texts: &[Drafted]) -> Pass {
    let row = |text: &Drafted| Row { sequence: text.number as u32, ..Row::default() };
    let mut pass = Pass::decode(&texts.iter().map(row).collect::<Vec<Row>>());
    pass.rows.push(Row { flags: ROW_DONE, ..Row::default() });
    pass
}

/// Copies token, position and flags of a row of one pass to another, but not the number of its sequence.
fn copy_row(plan: &mut Plan<'static>, (from, row): (Place<'static>, usize), (to, at): (Place<'static>, usize)) {
    let (from, to) = (from.after(Pass::bytes_of(row)), to.after(Pass::bytes_of(at)));
    plan.copy(from, to, offset_of!(Row, sequence) as u64);
    let flags = offset_of!(Row, flags) as u64;
    plan.copy(from.after(flags), to.after(flags), size_of::<u32>() as u64);
}
