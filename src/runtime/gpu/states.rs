//! The recurrent states of a session on the GPU, and their checkpoints.

use super::session::GpuSession;
use crate::forward::Buffers;
use crate::gpu::{Copy, Part};
use crate::kernels::accept_drafts::DRAFT_ROWS;
use crate::kernels::spec::Slice;

impl GpuSession {
    /// Makes this the sequence that the next passes work on.
    pub(in crate::runtime) fn select(&mut self, number: usize) {
        self.choice.sequence = number as u32;
        self.sequence = self.texts[number].clone();
    }

    /// Number of positions of the longest text in the caches.
    pub(in crate::runtime) fn written(&self) -> usize {
        self.texts.iter().map(|text| text.written()).max().unwrap_or(0)
    }

    /// Notes the position of the recurrent states; `None` after a pass that was not submitted completely.
    pub(in crate::runtime) fn moved(&self, position: Option<usize>) {
        self.sequence.moved_states(position);
    }

    /// Notes the position at which a pass starts. At position 0 every state starts from zeros.
    pub(in crate::runtime) fn start_states(&self, position: usize) {
        match position {
            0 => drop(self.rewind_states(0)),
            _ => self.moved(Some(position)),
        }
    }

    /// Copies the recurrent states into a slot, if there is no such copy yet.
    pub(in crate::runtime) fn keep_states(&self) {
        self.keep_states_of(self.choice.sequence as usize);
    }

    /// Copies the recurrent states of a given sequence in the same way.
    pub(in crate::runtime) fn keep_states_of(&self, number: usize) {
        if let Some(slot) = self.texts[number].keep_states() {
            self.copy_states(number, |buffers| buffers.states.iter().zip(&buffers.checkpoints[slot]));
        }
    }

    /// Restores the recurrent states of an earlier position: see [`Session::rewind`](crate::runtime::Session::rewind).
    pub(in crate::runtime) fn rewind_states(&self, position: usize) -> usize {
        let (reached, slot) = self.sequence.rewind_states(position);
        self.restore_states(slot);
        reached
    }

    /// Copies the recurrent states back from a slot, if one is given.
    pub(in crate::runtime) fn restore_states(&self, slot: Option<usize>) {
        if let Some(slot) = slot {
            let number = self.choice.sequence as usize;
            self.copy_states(number, |buffers| buffers.checkpoints[slot].iter().zip(&buffers.states));
        }
    }

    /// Copies the states of a sequence, whose next pass has a draft, beside them.
    pub(in crate::runtime) fn keep_states_before_draft(&self, number: usize) {
        if let Some(replay) = &self.buffers.replay {
            self.copy_states(number, |buffers| buffers.states.iter().zip(&replay.states));
        }
    }

    /// Takes the states of a sequence from where they were before the last pass along the rows that it accepted.
    pub(in crate::runtime) fn replay_accepted(&self, number: usize) {
        let Some((replay, lists)) = self.buffers.replay.as_ref().zip(self.drafts.as_ref()) else { return };
        self.model.device.submit([Part::from(&lists.replay)], DRAFT_ROWS as u32, None);
        self.copy_states(number, |buffers| replay.states.iter().zip(&buffers.states));
    }

    /// Offset and size in bytes of a sequence's part in each buffer of states.
    pub(in crate::runtime) fn parts_of_states(&self, number: usize) -> impl Iterator<Item = (u64, u64)> {
        let bytes = self.model.program.states().into_iter().map(|values| values as u64 * 4);
        bytes.map(move |bytes| (number as u64 * bytes, bytes))
    }

    /// Copies a sequence's part between buffers, in order with the passes.
    fn copy_states<'a, I: Iterator<Item = (&'a Slice, &'a Slice)>>(
        &'a self,
        number: usize,
        pairs: impl FnOnce(&'a Buffers) -> I,
    ) {
        let copy = |((from, to), (offset, bytes)): ((&Slice, &Slice), (u64, u64))| {
            let [source, target] = [from, to].map(|slice| self.table.get(slice.buffer));
            Copy { source, source_offset: offset, target, offset, bytes }
        };
        self.model.device.copy(pairs(&self.buffers).zip(self.parts_of_states(number)).map(copy));
    }
}
