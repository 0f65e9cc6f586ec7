//! Where one text is in the caches: how far it is written, and from which positions it can go on.
//!
//! With whole caches, a text can go on from any position, since what lies behind is overwritten before it is seen. A
//! ring has lost what was overwritten. Recurrent states can only go back to a checkpoint.

use super::checkpoints::Checkpoints;
use crate::model::Places;

/// How far a text is in the caches. The owner of the recurrent states does the copying.
#[derive(Debug, Default, Clone)]
pub(super) struct Positions {
    next: usize,
    written: usize,
    /// Checkpoints of the recurrent states; `None` where the model has none.
    checkpoints: Option<Checkpoints>,
    /// Where positions lie on each axis, for models whose positions have several.
    pub places: Places,
}

impl Positions {
    /// An empty text, with slots for this many checkpoints of recurrent states.
    pub fn new(copies: usize) -> Self {
        Self { checkpoints: (copies > 0).then(|| Checkpoints::new(copies)), ..Self::default() }
    }

    /// The position that the next decode pass writes.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Number of positions written since the caches were last empty, including those of passes in flight.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Notes that a pass writes the positions before `next`.
    pub fn advance_to(&mut self, next: usize) {
        self.next = next;
        self.written = self.written.max(next);
    }

    /// Notes that the passes in flight did nothing from `next` on.
    pub fn stay_at(&mut self, next: usize) {
        self.next = next;
    }

    /// Continues a saved text, whose checkpoints have these positions.
    pub fn restore(&mut self, next: usize, written: usize, copies: &[u32]) {
        self.next = next;
        self.written = written;
        self.change_states(|states| states.restore(copies));
    }

    /// Drops what is written from `position` on. `rewindable`: how many positions back a ring can go. Returns the
    /// position at which the text goes on, which is less than `position` where it cannot be cut there, and the
    /// checkpoint that its states must be restored from, if any.
    pub fn rewind(&mut self, position: usize, rewindable: usize) -> (usize, Option<usize>) {
        let (reached, slot) = self.rewind_states(position);
        if reached > 0 && self.written().saturating_sub(reached) <= rewindable {
            return (reached, slot);
        }
        self.written = 0;
        self.rewind_states(0)
    }

    /// Rewinds the recurrent states alone, with the same result.
    pub fn rewind_states(&mut self, position: usize) -> (usize, Option<usize>) {
        self.change_states(|states| states.rewind(position)).unwrap_or((position, None))
    }

    /// Notes the position at which a pass starts, where every state starts from zeros if that is 0. Returns the
    /// checkpoint that the states must be restored from, if any.
    pub fn start_at(&mut self, position: usize) -> Option<usize> {
        if position == 0 {
            return self.rewind_states(0).1;
        }
        self.moved_states(Some(position));
        None
    }

    /// Whether the model has recurrent states.
    pub fn has_states(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// Notes that the states have seen the tokens before `position`; `None` after a pass that was given up half-way.
    pub fn moved_states(&mut self, position: Option<usize>) {
        self.change_states(|states| states.set_live(position));
    }

    /// The slot that the states are to be copied to now; `None` where there is such a copy.
    pub fn keep_states(&mut self) -> Option<usize> {
        self.change_states(Checkpoints::keep).flatten()
    }

    /// Whether the answer has grown so far since the newest copy that the states should be copied.
    pub fn is_copy_due(&self) -> bool {
        self.checkpoints.as_ref().is_some_and(Checkpoints::is_due)
    }

    /// The position of the copy in each slot; `None` for an empty slot.
    pub fn copies(&self) -> Vec<Option<usize>> {
        self.checkpoints.as_ref().map(|states| states.copies().to_vec()).unwrap_or_default()
    }

    /// The positions of the copies alone, as a saved session has them.
    pub fn kept(&self) -> Vec<u32> {
        self.copies().into_iter().flatten().map(|at| at as u32).collect()
    }

    fn change_states<T>(&mut self, change: impl FnOnce(&mut Checkpoints) -> T) -> Option<T> {
        self.checkpoints.as_mut().map(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of `written` positions, with these checkpoints.
    fn text(written: usize, checkpoints: &[usize]) -> Positions {
        let mut positions = Positions::new(checkpoints.len());
        for &at in checkpoints {
            positions.advance_to(at);
            positions.moved_states(Some(at));
            assert!(positions.keep_states().is_some());
        }
        positions.advance_to(written);
        positions.moved_states(Some(written));
        positions
    }

    #[test]
    fn a_whole_cache_goes_on_anywhere() {
        let mut positions = text(100, &[]);
        assert_eq!(positions.rewind(37, usize::MAX), (37, None));
        assert_eq!(positions.written(), 100, "what lies behind is still there");
        assert_eq!((positions.rewind(0, usize::MAX), positions.written()), ((0, None), 0));
    }

    #[test]
    fn a_ring_begins_anew_where_it_has_lost_what_was_written_over() {
        let mut positions = text(100, &[]);
        assert_eq!(positions.rewind(90, 16), (90, None));
        positions.advance_to(95);
        assert_eq!(positions.rewind(84, 16), (84, None), "16 behind the longest text");
        assert_eq!((positions.rewind(83, 16), positions.written()), ((0, None), 0));
        positions.advance_to(20);
        assert_eq!(positions.rewind(4, 16), (4, None));
    }

    #[test]
    fn states_go_back_to_a_checkpoint() {
        let mut positions = text(100, &[30, 60]);
        assert_eq!(positions.rewind(100, usize::MAX), (100, None), "they are there");
        assert_eq!(positions.rewind(70, usize::MAX), (60, Some(1)));
        assert_eq!(positions.rewind(59, usize::MAX), (30, Some(0)));
        assert_eq!(positions.rewind(29, usize::MAX), (0, None));
        let mut positions = text(100, &[30, 60]);
        assert_eq!(positions.rewind(70, 20), (0, None), "the checkpoint is too far back for a ring");
    }

    #[test]
    fn what_did_nothing_is_written_again() {
        let mut positions = text(100, &[]);
        positions.stay_at(97);
        assert_eq!((positions.next(), positions.written()), (97, 100));
        positions.advance_to(98);
        assert_eq!((positions.next(), positions.written()), (98, 100));
    }

    #[test]
    fn a_saved_text_goes_on() {
        let mut positions = Positions::new(2);
        positions.restore(50, 64, &[48]);
        assert_eq!((positions.next(), positions.written()), (50, 64));
        assert_eq!(positions.rewind(50, usize::MAX), (48, Some(0)), "of the states themselves nothing is known");
    }
}
