//! Copies of recurrent states: checkpoints, and the states before a pass with a draft.

use super::layout::Layout;
use crate::kernels::spec::Slice;
use crate::model::program::Program;
use crate::runtime::plan::{Form, List, Place, Plan};
use crate::runtime::positions::Positions;

/// Offset and size in bytes of a sequence's part in each buffer of states.
pub(in crate::runtime) fn parts(program: &Program, number: usize) -> impl Iterator<Item = (u64, u64)> {
    let bytes = program.states().into_iter().map(|values| values as u64 * 4);
    bytes.map(move |bytes| (number as u64 * bytes, bytes))
}

/// Copies the states of a sequence into a slot, if there is no such copy yet.
pub(in crate::runtime) fn keep(plan: &mut Plan<'_>, layout: Layout<'_>, number: usize, positions: &mut Positions) {
    if let Some(slot) = positions.keep_states() {
        copy(plan, layout, number, (&layout.buffers.states, &layout.buffers.checkpoints[slot]));
    }
}

/// Copies the states of a sequence back from a slot, if one is given.
pub(in crate::runtime) fn restore(plan: &mut Plan<'_>, layout: Layout<'_>, number: usize, slot: Option<usize>) {
    if let Some(slot) = slot {
        copy(plan, layout, number, (&layout.buffers.checkpoints[slot], &layout.buffers.states));
    }
}

/// Copies the states of a sequence, whose next pass has a draft, beside them.
pub(in crate::runtime) fn keep_before_draft(plan: &mut Plan<'_>, layout: Layout<'_>, number: usize) {
    if let Some(replay) = &layout.buffers.replay {
        copy(plan, layout, number, (&layout.buffers.states, &replay.states));
    }
}

/// Takes the states of the sequences from where they were before the last pass, of this form, along the rows that it
/// accepted.
pub(in crate::runtime) fn replay(plan: &mut Plan<'_>, layout: Layout<'_>, (form, numbers): (Form, &[usize])) {
    if let Some(replay) = &layout.buffers.replay {
        plan.run(form.set(), List::Replay, form.rows());
        numbers.iter().for_each(|&number| copy(plan, layout, number, (&replay.states, &layout.buffers.states)));
    }
}

fn copy(plan: &mut Plan<'_>, layout: Layout<'_>, number: usize, (from, to): (&[Slice], &[Slice])) {
    for ((from, to), (offset, bytes)) in from.iter().zip(to).zip(parts(layout.program, number)) {
        let [from, to] = [from, to].map(|slice| Place::from(Slice { offset, ..*slice }));
        plan.copy(from, to, bytes);
    }
}
