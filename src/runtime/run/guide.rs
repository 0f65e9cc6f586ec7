//! The grammar of a run, and the tokens that it forces or allows.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use super::speculation::{Ahead, Speculation};
use crate::Result;

/// Decides which tokens may come next.
pub trait Constraint {
    /// The mask of the next token: a bit for each id, 32 to a word. At least one is set.
    ///
    /// # Errors
    /// `limit_exceeded` where the grammar takes too much work.
    fn mask(&mut self) -> Result<Vec<u32>>;

    /// Takes the next token; false, without any change, where it is not allowed.
    ///
    /// # Errors
    /// The errors of [`Constraint::mask`].
    fn commit(&mut self, id: u32) -> Result<bool>;

    /// Takes the tokens that must come next, and returns them.
    ///
    /// # Errors
    /// The errors of [`Constraint::mask`].
    fn commit_forced(&mut self) -> Result<Vec<u32>>;

    /// Whether the text must end here.
    fn is_stopped(&self) -> bool;
}

/// A constraint that is being made: a vocabulary is read and a grammar compiled while the GPU reads the prompt.
pub type Compiling = Pin<Box<dyn Future<Output = Result<Box<dyn Constraint>>>>>;

/// The grammar of a run.
pub(in crate::runtime) struct Guide {
    pub constraint: Box<dyn Constraint>,
    /// Tokens that the grammar has taken and the run has not. They must come next.
    pub forced: VecDeque<u32>,
    /// Whether tokens in flight are useless, so that a new wave must start.
    pub restart: bool,
    /// When the mask was set under which the next token in flight is drawn, in milliseconds; `None` for a token drawn
    /// ahead.
    pub masked_since: Option<f64>,
    /// The mask under which this wave draws tokens ahead; `None` where any id may be drawn.
    pub guess: Option<Vec<u32>>,
    pub ahead: Ahead,
    /// Whether the session can draw tokens ahead at all.
    pub can_draw_ahead: bool,
    pub speculation: Speculation,
}

/// The state of a run's grammar.
pub(in crate::runtime) enum Progress {
    Compiling(Compiling),
    Ready(Box<Guide>),
}

impl Guide {
    /// Notes that nothing is in flight any more, because the session was replaced.
    pub fn start_again(&mut self) {
        self.restart = true;
        self.masked_since = None;
    }

    /// Takes a token that was drawn under its mask (`is_masked`) or ahead of it. False unless it is the token that
    /// would have been drawn under its mask.
    ///
    /// A token drawn under a guess is that token if the mask allows it and the guess has all ids of the mask. The
    /// sampler takes the best of the ids that it may choose, so leaving out others changes nothing (see
    /// [`sample_allowed`](crate::sampler::sample_allowed)). If the guess lacks one of the mask's ids, that one might
    /// have been better.
    pub fn allows(&mut self, id: u32, is_masked: bool) -> Result<bool> {
        if let Some(guess) = self.guess.as_ref().filter(|_| !is_masked)
            && !is_within(&self.constraint.mask()?, guess)
        {
            return Ok(false);
        }
        self.constraint.commit(id)
    }
}

/// Whether all ids of a mask are in another.
fn is_within(mask: &[u32], other: &[u32]) -> bool {
    mask.iter().zip(0..).all(|(word, at)| word & !other.get(at).copied().unwrap_or(0) == 0)
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn a_mask_is_within_another_where_that_has_all_its_ids() {
        assert!(is_within(&[5, 0], &[7, 1]));
        assert!(is_within(&[5], &[5]));
        assert!(is_within(&[5, 0], &[5]));
        assert!(!is_within(&[5, 8], &[7, 7]));
        assert!(!is_within(&[5, 8], &[7]));
    }
}
