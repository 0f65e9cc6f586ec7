//! Multi-token prediction: a block of the model's own file that drafts tokens. It runs within the passes of the model,
//! so that its cache has the text; before a pass with a draft it writes the draft, a token a step.

use std::mem::offset_of;

use super::layout::Layout;
use super::round::{Drafted, Round};
use crate::kernels::accept_drafts::Report;
use crate::runtime::plan::{List, Plan, Set};

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

/// Drafts tokens after the last one of each text in the next pass.
pub(in crate::runtime) fn draft(plan: &mut Plan<'static>, layout: Layout<'_>, texts: &[Drafted]) {
    let Some(next) = &layout.buffers.next else { return };
    let round = Round { texts, own: next.pass.into(), checking: layout.buffers.pass.into() };
    round.begin(plan);
    plan.copy(next.states, next.state, layout.row_bytes());
    for step in 1..=round.steps() {
        plan.run(Set::Draft, List::Step, 1);
        round.take(plan, step);
    }
    round.end(plan);
}
