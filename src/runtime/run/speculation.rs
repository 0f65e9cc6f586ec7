//! Decides how many tokens to draw ahead of the masks of a grammar, and among which ids.
//!
//! The mask of a token is known once the token before it is read back, and waiting for that takes longer than the pass
//! of a small model. So passes go ahead without a mask. If the grammar allows the token that such a pass draws, it is
//! the one that would have been drawn under the mask (see [`sample_allowed`](crate::sampler::sample_allowed)). If not,
//! the passes behind it were in vain, and one is run again.
//!
//! A model that knows JSON seldom draws what a schema refuses. Another model does not know when white space ends or
//! that a number has digits. Its passes go ahead under a guess, the last mask: white space follows white space, and
//! digits follow digits. A token drawn under a guess counts if the guess has all ids of the mask.

/// Time that waiting for a token takes in a browser whatever the work, in milliseconds.
const WAIT_MS: f64 = 2.6;

/// Work in flight that covers a wait, in milliseconds: see `Run::depth`.
const COVERED_MS: f64 = 6.0;

/// Maximum number of tokens ahead.
const MOST: usize = 15;

/// How tokens ahead of their masks are drawn.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// Among all ids.
    #[default]
    Freely,
    /// Under the last mask, as a guess of the next ones.
    Guessed,
}

/// How tokens ahead are drawn in a wave, and after what kind of mask.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    pub drawn: Drawn,
    /// Number of bits of the count of ids in the mask: after a mask of five ids, other tokens follow than after one of
    /// thousands.
    class: usize,
}

/// Number of classes of masks.
const CLASSES: usize = 20;

/// How much larger the share of kept tokens must be under a guess: each needs its mask before the next token is due.
const GAIN: f64 = 0.1;

/// What is known so far about the grammar and the device.
#[derive(Debug, Clone, Copy)]
pub struct Speculation {
    /// Share of the tokens ahead that were kept, drawn freely and under a guess, by class: a moving average.
    kept: [[f64; 2]; CLASSES],
    /// Milliseconds of a pass.
    pass_ms: f64,
}

impl Default for Speculation {
    fn default() -> Self {
        Self { kept: [[0.8, 0.7]; CLASSES], pass_ms: 2.0 }
    }
}

impl Speculation {
    /// How to draw ahead after a mask.
    pub fn after(&self, mask: &[u32]) -> Ahead {
        let ids: u32 = mask.iter().map(|word| word.count_ones()).sum();
        let class = (u32::BITS - ids.leading_zeros()) as usize;
        let class = class.min(CLASSES - 1);
        let [freely, guessed] = self.kept[class];
        let drawn = if guessed > freely + GAIN { Drawn::Guessed } else { Drawn::Freely };
        Ahead { drawn, class }
    }

    /// Records whether a token that was drawn ahead was kept.
    pub fn drawn_ahead(&mut self, Ahead { drawn, class }: Ahead, is_kept: bool) {
        let kept = &mut self.kept[class][drawn as usize];
        *kept += (f64::from(u8::from(is_kept)) - *kept) / 8.0;
    }

    /// Records that a token under a mask took `ms` milliseconds, wait included. Little by little, that makes a strict
    /// grammar worth another try.
    pub fn drawn_masked(&mut self, Ahead { class, .. }: Ahead, ms: f64) {
        self.pass_ms += ((ms - WAIT_MS).max(0.1) - self.pass_ms) / 4.0;
        for kept in &mut self.kept[class] {
            *kept += (0.7 - *kept).max(0.0) / 32.0;
        }
    }

    /// Number of tokens to draw ahead of the next mask. The n-th is kept with the probability `kept`ⁿ, and then saves a
    /// wait; if not, it costs its own pass and one that is run again. More passes than keep the GPU busy during a wait
    /// would only delay the next wave once a token is refused.
    pub fn count(&self, Ahead { drawn, class }: Ahead) -> usize {
        let worth = 2.0 * self.pass_ms / (WAIT_MS + 2.0 * self.pass_ms);
        let kept = self.kept[class][drawn as usize].clamp(1e-3, 0.999);
        let covering = (COVERED_MS / self.pass_ms).ceil();
        ((worth.ln() / kept.ln()).min(covering) as usize).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: [u32; 2] = [0xff, 0];
    const MANY: [u32; 4] = [u32::MAX; 4];

    fn after(outcomes: &[bool], pass_ms: f64) -> Speculation {
        let mut speculation = Speculation { pass_ms, ..Default::default() };
        let ahead = speculation.after(&MANY);
        outcomes.iter().for_each(|&allowed| speculation.drawn_ahead(ahead, allowed));
        speculation
    }

    /// Number of tokens drawn ahead among all ids, after these outcomes.
    fn count(outcomes: &[bool], pass_ms: f64) -> usize {
        let ahead = Speculation::default().after(&MANY);
        after(outcomes, pass_ms).count(ahead)
    }

    #[test]
    fn passes_go_ahead_where_the_model_writes_what_the_grammar_wants() {
        assert_eq!(count(&[true; 40], 0.9), 7, "as many as cover a wait");
        assert_eq!(count(&[true; 40], 0.2), MOST);
        assert_eq!(count(&[false; 10], 0.9), 0);
        assert!((2..=6).contains(&count(&[true, true, true, true, true, false, true, true], 0.9)));
    }

    #[test]
    fn slow_passes_do_not_go_ahead() {
        assert_eq!(count(&[true; 8], 50.0), 0);
        assert_eq!(count(&[true; 60], 50.0), 1, "unless nothing is ever refused");
    }

    #[test]
    fn a_strict_grammar_is_tried_again() {
        let mut speculation = after(&[false; 20], 0.9);
        let ahead = Speculation::default().after(&MANY);
        assert_eq!(speculation.count(ahead), 0);
        (0..60).for_each(|_| speculation.drawn_masked(ahead, 3.5));
        assert_eq!(speculation.count(ahead), 1);
    }

    #[test]
    fn the_last_mask_is_the_guess_where_the_model_does_not_know_what_comes() {
        let mut speculation = Speculation::default();
        let freely = speculation.after(&FEW);
        assert_eq!(freely.drawn, Drawn::Freely);
        (0..3).for_each(|_| speculation.drawn_ahead(freely, false));
        let guessed = speculation.after(&FEW);
        assert_eq!(guessed.drawn, Drawn::Guessed);
        assert_eq!(speculation.after(&MANY).drawn, Drawn::Freely, "after masks of this size alone");
        (0..8).for_each(|_| speculation.drawn_ahead(guessed, false));
        (0..8).for_each(|_| speculation.drawn_ahead(freely, true));
        assert_eq!(speculation.after(&FEW).drawn, Drawn::Freely);
    }
}
