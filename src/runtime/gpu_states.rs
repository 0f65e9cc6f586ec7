//! The recurrent states of a session on the GPU, and their copies.

use super::checkpoints::Checkpoints;
use super::gpu_session::GpuSession;
use crate::forward::Buffers;
use crate::gpu::Copy;
use crate::kernels::spec::Slice;

impl GpuSession {
    /// Takes note of where the recurrent states are now: unknown after a pass that was not submitted whole.
    pub(super) fn moved(&mut self, position: Option<usize>) {
        if let Some(checkpoints) = &mut self.sequence.checkpoints {
            checkpoints.set_live(position);
        }
    }

    /// Takes note of where a pass starts: at position 0 every state starts from zeros.
    pub(super) fn start_states(&mut self, position: usize) {
        match position {
            0 => drop(self.rewind_states(0)),
            _ => self.moved(Some(position)),
        }
    }

    /// Copies the recurrent states into a slot, where there is no copy of them yet.
    pub(super) fn keep_states(&mut self) {
        let slot = self.sequence.checkpoints.as_mut().and_then(Checkpoints::keep);
        if let Some(slot) = slot {
            self.copy_states(|buffers| buffers.states.iter().zip(&buffers.checkpoints[slot]));
        }
    }

    /// Copies whole buffers, in order with the passes.
    fn copy_states<'a, I: Iterator<Item = (&'a Slice, &'a Slice)>>(&'a self, pairs: impl FnOnce(&'a Buffers) -> I) {
        let copy = |(from, to): (&Slice, &Slice)| {
            let [source, target] = [from, to].map(|slice| self.table.get(slice.buffer));
            Copy { source, source_offset: 0, target, offset: 0, bytes: source.size() }
        };
        self.model.device.copy(pairs(&self.buffers).map(copy));
    }

    /// Takes the recurrent states back: see [`Session::rewind`](super::Session::rewind).
    pub(super) fn rewind_states(&mut self, position: usize) -> usize {
        let (reached, slot) = self.sequence.rewind_states(position);
        self.restore_states(slot);
        reached
    }

    /// Copies the recurrent states back from a slot, if there is one.
    pub(super) fn restore_states(&self, slot: Option<usize>) {
        if let Some(slot) = slot {
            self.copy_states(|buffers| buffers.checkpoints[slot].iter().zip(&buffers.states));
        }
    }
}
