//! Multi-token prediction: a block of the model's own file that drafts tokens. It runs within the passes of the model,
//! so that its cache has the text; before a pass with a draft it writes the draft, a token a step.

use std::mem::offset_of;
use std::ops::Range;

use super::layout::Layout;
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::runtime::plan::{List, Place, Plan, Set};

/// Begins to read at this position: before the first token there is no hidden state.
pub(in crate::runtime) fn begin(plan: &mut Plan<'_>, layout: Layout<'_>, position: usize) {
    if let Some(next) = layout.buffers.next.as_ref().filter(|_| position == 0) {
        plan.write(next.states, vec![0; layout.row_bytes() as usize]);
    }
}

/// Before a pass of this many rows: says which row's hidden state the block goes on from.
pub(in crate::runtime) fn carry(plan: &mut Plan<'_>, layout: Layout<'_>, rows: usize) {
    if layout.buffers.next.is_some() {
        let accepted = layout.buffers.sample.drafts.report.after(offset_of!(Report, accepted) as u64);
        plan.write(accepted, bytemuck::bytes_of(&(rows as u32)));
    }
}

/// Writes what the steps of drafts need beside the passes.
pub(in crate::runtime) fn begin_steps(plan: &mut Plan<'_>, layout: Layout<'_>) {
    if let Some(next) = &layout.buffers.next {
        plan.write(next.pass, rows_of_drafter().bytes());
    }
}

/// The rows that the steps of a draft copy: one to decode, and one that stands for no draft.
pub(in crate::runtime) fn rows_of_drafter() -> Pass {
    let mut pass = Pass::decode(&[Row::default()]);
    pass.rows.push(Row { flags: ROW_DONE, ..Row::default() });
    pass
}

/// Drafts `steps` tokens after the one in the first row of the next pass.
pub(in crate::runtime) fn draft(plan: &mut Plan<'_>, layout: Layout<'_>, steps: usize) {
    let Some(next) = &layout.buffers.next else { return };
    plan.copy(next.states, next.state, layout.row_bytes());
    let [own, pass] = [next.pass, layout.buffers.pass].map(Place::from);
    copy_row(plan, (pass, 0), (own, 0));
    for row in 1..=steps {
        plan.run(Set::Draft, List::Step, 1);
        copy_row(plan, (own, 0), (pass, row));
    }
    copy_no_draft(plan, own, (pass, steps + 1..DRAFT_ROWS));
}

/// Copies token, position and flags of a row of one pass to another, but not the number of its sequence.
pub(in crate::runtime) fn copy_row<'a>(
    plan: &mut Plan<'a>,
    (from, row): (Place<'a>, usize),
    (to, at): (Place<'a>, usize),
) {
    let (from, to) = (from.after(Pass::bytes_of(row)), to.after(Pass::bytes_of(at)));
    plan.copy(from, to, offset_of!(Row, sequence) as u64);
    let flags = offset_of!(Row, flags) as u64;
    plan.copy(from.after(flags), to.after(flags), size_of::<u32>() as u64);
}

/// Marks rows of a pass as no draft, as the second row of [`rows_of_drafter`] is.
pub(in crate::runtime) fn copy_no_draft<'a>(
    plan: &mut Plan<'a>,
    from: Place<'a>,
    (to, rows): (Place<'a>, Range<usize>),
) {
    let flags = offset_of!(Row, flags) as u64;
    let done = from.after(Pass::bytes_of(1) + flags);
    rows.for_each(|row| plan.copy(done, to.after(Pass::bytes_of(row) + flags), size_of::<u32>() as u64));
}
