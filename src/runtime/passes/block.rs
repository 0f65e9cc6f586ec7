//! Multi-token prediction: a block of the model's own file that drafts tokens. It runs within the passes of the model,
//! so that its cache has the text; before a pass with a draft it writes the draft, a token a step.

use std::mem::offset_of;

use super::layout::Layout;
use super::round::{Drafted, Round};
use crate::forward::Next;
use crate::kernels::accept_drafts::Report;
use crate::runtime::plan::{List, Place, Plan, Set};

/// The hidden state that a sequence goes on from.
fn carried(next: &Next, number: usize) -> Place<'static> {
    Place::from(next.carried).after(number as u64 * bytes_of_state(next))
}

fn bytes_of_state(next: &Next) -> u64 {
    next.width as u64 * 4
}

/// Begins to read a sequence at this position: before the first token there is no hidden state.
pub(in crate::runtime) fn begin(plan: &mut Plan<'_>, layout: Layout<'_>, (number, position): (usize, usize)) {
    if let Some(next) = layout.buffers.next.as_ref().filter(|_| position == 0) {
        plan.write(carried(next, number), vec![0; bytes_of_state(next) as usize]);
    }
}

/// Before a pass over this many rows of a prompt: brings the hidden state that the sequence goes on from, and says
/// which row's state is kept.
pub(in crate::runtime) fn carry(plan: &mut Plan<'_>, layout: Layout<'_>, (number, rows): (usize, usize)) {
    let Some(next) = &layout.buffers.next else { return };
    let accepted = layout.buffers.sample.drafts.report.after(offset_of!(Report, accepted) as u64);
    plan.write(accepted, bytemuck::bytes_of(&(rows as u32)));
    if next.before.is_some() {
        plan.copy(carried(next, number), next.states, bytes_of_state(next));
    }
}

/// After such a pass: keeps the hidden state that the sequence goes on from.
pub(in crate::runtime) fn keep(plan: &mut Plan<'_>, layout: Layout<'_>, number: usize) {
    if let Some(next) = layout.buffers.next.as_ref().filter(|next| next.before.is_some()) {
        plan.copy(next.states, carried(next, number), bytes_of_state(next));
    }
}

/// Drafts tokens after the last one of each text in the next pass.
pub(in crate::runtime) fn draft(plan: &mut Plan<'static>, layout: Layout<'_>, texts: &[Drafted]) {
    let Some(next) = &layout.buffers.next else { return };
    let round = Round { texts, own: next.pass.into(), checking: layout.buffers.pass.into() };
    round.begin(plan);
    let held = next.held.map(|held| Round { own: held.into(), ..round });
    held.iter().for_each(|held| held.begin(plan));
    let bytes = bytes_of_state(next);
    for (row, text) in (0..).zip(texts) {
        plan.copy(carried(next, text.number), Place::from(next.state).after(row * bytes), bytes);
    }
    for step in 1..=round.steps() {
        plan.run(Set::Steps(texts.len()), List::Step, texts.len());
        round.take(plan, step);
        held.iter().for_each(|held| held.take_tokens(plan, round.own));
    }
    round.end(plan);
}
