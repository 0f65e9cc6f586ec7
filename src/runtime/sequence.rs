//! One text in the caches: how far it is written, and from which positions it can go on.
//!
//! With whole caches, a text can go on from any position, since what lies behind is overwritten before it is seen. A
//! ring has lost what was overwritten. Recurrent states can only go back to a checkpoint.

use std::cell::{Cell, RefCell};

use super::checkpoints::Checkpoints;
use crate::model::Places;

/// A text in the caches. The owner of the recurrent states does the copying.
#[derive(Debug, Default, Clone)]
pub(super) struct Sequence {
    next: Cell<usize>,
    written: Cell<usize>,
    /// Checkpoints of the recurrent states; `None` where the model has none.
    checkpoints: Option<RefCell<Checkpoints>>,
    /// Where positions lie on each axis, for models whose positions have several.
    pub places: RefCell<Places>,
}

impl Sequence {
    /// An empty text, with slots for this many checkpoints of recurrent states.
    pub fn new(copies: usize) -> Self {
        Self { checkpoints: (copies > 0).then(|| Checkpoints::new(copies).into()), ..Self::default() }
    }

    /// The position that the next decode pass writes.
    pub fn next(&self) -> usize {
        self.next.get()
    }

    /// Number of positions written since the caches were last empty, including those of passes in flight.
    pub fn written(&self) -> usize {
        self.written.get()
    }

    /// Notes that a pass writes the positions before `next`.
    pub fn advance_to(&self, next: usize) {
        self.next.set(next);
        self.written.set(self.written.get().max(next));
    }

    /// Notes that the passes in flight did nothing from `next` on.
    pub fn stay_at(&self, next: usize) {
        self.next.set(next);
    }

    /// Continues a saved text, whose checkpoints have these positions.
    pub fn restore(&self, next: usize, written: usize, copies: &[u32]) {
        self.next.set(next);
        self.written.set(written);
        self.change_states(|states| states.restore(copies));
    }

    /// Drops what is written from `position` on. `rewindable`: how many positions back a ring can go. Returns the
    /// position at which the text goes on, which is less than `position` where it cannot be cut there, and the
    /// checkpoint that its states must be restored from, if any.
    pub fn rewind(&self, position: usize, rewindable: usize) -> (usize, Option<usize>) {
        let (reached, slot) = self.rewind_states(position);
        if reached > 0 && self.written().saturating_sub(reached) <= rewindable {
            return (reached, slot);
        }
        self.written.set(0);
        self.rewind_states(0)
    }

    /// Rewinds the recurrent states alone, with the same result.
    pub fn rewind_states(&self, position: usize) -> (usize, Option<usize>) {
        self.change_states(|states| states.rewind(position)).unwrap_or((position, None))
    }

    /// Whether the model has recurrent states.
    pub fn has_states(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// Notes that the states have seen the tokens before `position`; `None` after a pass that was given up half-way.
    pub fn moved_states(&self, position: Option<usize>) {
        self.change_states(|states| states.set_live(position));
    }

    /// The slot that the states are to be copied to now; `None` where there is such a copy.
    pub fn keep_states(&self) -> Option<usize> {
        self.change_states(Checkpoints::keep).flatten()
    }

    /// Whether the answer has grown so far since the newest copy that the states should be copied.
    pub fn is_copy_due(&self) -> bool {
        self.change_states(|states| states.is_due()).unwrap_or(false)
    }

    /// The position of the copy in each slot; `None` for an empty slot.
    pub fn copies(&self) -> Vec<Option<usize>> {
        self.change_states(|states| states.copies().to_vec()).unwrap_or_default()
    }

    fn change_states<T>(&self, change: impl FnOnce(&mut Checkpoints) -> T) -> Option<T> {
        self.checkpoints.as_ref().map(|states| change(&mut states.borrow_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of `written` positions, with these checkpoints.
    fn text(written: usize, checkpoints: &[usize]) -> Sequence {
        let sequence = Sequence::new(checkpoints.len());
        for &at in checkpoints {
            sequence.advance_to(at);
            sequence.moved_states(Some(at));
            assert!(sequence.keep_states().is_some());
        }
        sequence.advance_to(written);
        sequence.moved_states(Some(written));
        sequence
    }

    #[test]
    fn a_whole_cache_goes_on_anywhere() {
        let sequence = text(100, &[]);
        assert_eq!(sequence.rewind(37, usize::MAX), (37, None));
        assert_eq!(sequence.written(), 100, "what lies behind is still there");
        assert_eq!((sequence.rewind(0, usize::MAX), sequence.written()), ((0, None), 0));
    }

    #[test]
    fn a_ring_begins_anew_where_it_has_lost_what_was_written_over() {
        let sequence = text(100, &[]);
        assert_eq!(sequence.rewind(90, 16), (90, None));
        sequence.advance_to(95);
        assert_eq!(sequence.rewind(84, 16), (84, None), "16 behind the longest text");
        assert_eq!((sequence.rewind(83, 16), sequence.written()), ((0, None), 0));
        sequence.advance_to(20);
        assert_eq!(sequence.rewind(4, 16), (4, None));
    }

    #[test]
    fn states_go_back_to_a_checkpoint() {
        let sequence = text(100, &[30, 60]);
        assert_eq!(sequence.rewind(100, usize::MAX), (100, None), "they are there");
        assert_eq!(sequence.rewind(70, usize::MAX), (60, Some(1)));
        assert_eq!(sequence.rewind(59, usize::MAX), (30, Some(0)));
        assert_eq!(sequence.rewind(29, usize::MAX), (0, None));
        let sequence = text(100, &[30, 60]);
        assert_eq!(sequence.rewind(70, 20), (0, None), "the checkpoint is too far back for a ring");
    }

    #[test]
    fn what_did_nothing_is_written_again() {
        let sequence = text(100, &[]);
        sequence.stay_at(97);
        assert_eq!((sequence.next(), sequence.written()), (97, 100));
        sequence.advance_to(98);
        assert_eq!((sequence.next(), sequence.written()), (98, 100));
    }

    #[test]
    fn a_saved_text_goes_on() {
        let sequence = Sequence::new(2);
        sequence.restore(50, 64, &[48]);
        assert_eq!((sequence.next(), sequence.written()), (50, 64));
        assert_eq!(sequence.rewind(50, usize::MAX), (48, Some(0)), "of the states themselves nothing is known");
    }
}
