//! Which past recurrent states a session keeps as checkpoints.
//!
//! A KV cache can be continued from any position; a recurrent state only from the one it has reached. So a session
//! copies the state now and then into one of a few slots. To go back to a position, it takes the newest copy at or
//! before that, and reads the tokens from there on again, many at a time.

/// Tokens of an answer between two checkpoints.
const EVERY: usize = 64;

/// The positions of the state itself and of its copies. The owner of the state does the copying.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    /// Number of tokens that the state has seen; `None` after a pass that was given up half-way.
    live: Option<usize>,
    /// Number of tokens that the copy in each slot has seen; `None` for an empty slot.
    copies: Vec<Option<usize>>,
}

impl Checkpoints {
    /// No copies yet, and a state whose position is not known.
    pub fn new(slots: usize) -> Self {
        Self { live: None, copies: vec![None; slots] }
    }

    /// Sets the positions of the copies that a saved session has put into the first slots. That of the state itself is
    /// not known then.
    pub fn restore(&mut self, copies: &[u32]) {
        self.live = None;
        for (slot, copy) in self.copies.iter_mut().enumerate() {
            *copy = copies.get(slot).map(|&at| at as usize);
        }
    }

    /// The position of each slot's copy.
    pub fn copies(&self) -> &[Option<usize>] {
        &self.copies
    }

    /// Notes that the state has seen the tokens before `position`; `None` after a pass that was given up half-way.
    pub fn set_live(&mut self, position: Option<usize>) {
        self.live = position;
    }

    /// Whether the answer has grown so far since the newest copy that the state should be copied.
    pub fn is_due(&self) -> bool {
        let newest = self.copies.iter().flatten().max().copied().unwrap_or(0);
        self.live.is_some_and(|live| live >= newest + EVERY)
    }

    /// The slot that the state is to be copied to now; `None` where such a copy exists, or nothing is worth copying.
    pub fn keep(&mut self) -> Option<usize> {
        let live = self.live?;
        if live == 0 || self.copies.contains(&Some(live)) {
            return None;
        }
        let slot = self.copies.iter().position(Option::is_none).or_else(|| self.least(live))?;
        self.copies[slot] = Some(live);
        Some(slot)
    }

    /// The slot whose neighbours in the text, counting the start and the state itself, lie closest together.
    fn least(&self, live: usize) -> Option<usize> {
        let gap = |&slot: &usize| {
            let at = self.copies[slot];
            let before = self.copies.iter().filter(|copy| **copy < at).flatten().max().copied().unwrap_or(0);
            let after = self.copies.iter().filter(|copy| **copy > at).flatten().min().copied().unwrap_or(live);
            after.saturating_sub(before)
        };
        (0..self.copies.len()).min_by_key(gap)
    }

    /// Forgets copies past `position`. Returns the position from which tokens are to be read again, and the slot to
    /// restore the state from. There is none where the state is at `position` already, or starts from zeros at position
    /// 0.
    pub fn rewind(&mut self, position: usize) -> (usize, Option<usize>) {
        self.copies.iter_mut().for_each(|copy| *copy = copy.filter(|&at| at <= position));
        if self.live == Some(position) {
            return (position, None);
        }
        let newest = (0..self.copies.len()).filter(|&slot| self.copies[slot].is_some());
        let newest = newest.max_by_key(|&slot| self.copies[slot]);
        let reached = newest.and_then(|slot| self.copies[slot]).unwrap_or(0);
        self.live = Some(reached);
        (reached, newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checkpoints made at these positions, in order.
    fn kept(slots: usize, positions: &[usize]) -> Checkpoints {
        let mut checkpoints = Checkpoints::new(slots);
        for &position in positions {
            checkpoints.set_live(Some(position));
            checkpoints.keep();
        }
        checkpoints
    }

    #[test]
    fn a_state_stays_where_it_is_wanted() {
        let mut checkpoints = kept(2, &[10]);
        checkpoints.set_live(Some(15));
        assert_eq!(checkpoints.rewind(15), (15, None));
        assert_eq!(checkpoints.rewind(14), (10, Some(0)), "the copy before");
        assert_eq!(checkpoints.rewind(10), (10, None), "which now is the state");
        assert_eq!(checkpoints.rewind(9), (0, None), "nothing before it");
        checkpoints.set_live(Some(12));
        assert_eq!(checkpoints.rewind(11), (0, None), "what lay past 9 is another text's");
    }

    #[test]
    fn a_pass_given_up_half_way_leaves_the_copies() {
        let mut checkpoints = kept(2, &[512, 1024]);
        checkpoints.set_live(None);
        assert!(checkpoints.keep().is_none() && !checkpoints.is_due());
        assert_eq!(checkpoints.rewind(1024), (1024, Some(1)));
    }

    #[test]
    fn the_end_of_a_long_prompt_outlives_copies_of_the_answer() {
        let mut checkpoints = kept(2, &[1000, 1064, 1128, 1192]);
        assert_eq!(checkpoints.rewind(1191), (1000, Some(0)));
        let mut checkpoints = kept(3, &[1000, 1064, 1128, 1192]);
        assert_eq!(checkpoints.rewind(1191).0, 1128);
        assert_eq!(checkpoints.rewind(1000), (1000, Some(0)));
    }

    #[test]
    fn copies_outlive_the_session() {
        assert_eq!(kept(3, &[10, 74]).copies(), [Some(10), Some(74), None]);
        let mut restored = kept(3, &[5]);
        restored.restore(&[10, 74]);
        assert_eq!(restored.copies(), [Some(10), Some(74), None]);
        assert_eq!(restored.rewind(74), (74, Some(1)), "the state itself is one of them");
        assert_eq!(restored.rewind(73), (10, Some(0)));
    }

    #[test]
    fn an_answer_is_copied_every_so_many_tokens() {
        let mut checkpoints = kept(4, &[10]);
        let copied: Vec<usize> = (11..300)
            .filter(|&position| {
                checkpoints.set_live(Some(position));
                checkpoints.is_due() && checkpoints.keep().is_some()
            })
            .collect();
        assert_eq!(copied, [74, 138, 202, 266]);
    }
}
