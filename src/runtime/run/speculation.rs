//! How many tokens to draw ahead of the masks of a grammar, and among which.
//!
//! The mask of a token is known once the token before it is read back, and waiting for that takes longer than the pass
//! of a small model. So passes go ahead without a mask: where the grammar allows what they draw, it is the very token
//! that the mask would have left (see [`sample_allowed`](crate::sampler::sample_allowed)); where it does not, the
//! passes behind it were for nothing, and one is done again.
//!
//! A model that knows JSON seldom draws what a schema refuses. One that does not knows neither when white space ends
//! nor that a number has digits. Its passes go ahead under a guess, the last mask: white space follows white space, and
//! digits follow digits. What is drawn under a guess counts where that has all ids of the mask.

/// What waiting for a token costs in a browser whatever the work, in milliseconds.
const WAIT_MS: f64 = 2.6;

/// Work of tokens in flight that covers a wait, in milliseconds: see `Run::depth`.
const COVERED_MS: f64 = 6.0;

/// Tokens ahead at most.
const MOST: usize = 15;

/// How tokens ahead of their masks are drawn.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// Among all ids.
    #[default]
    Freely,
    /// Under the last mask, the guess of those to come.
    Guessed,
}

/// How tokens ahead of a wave are drawn, and after what mask.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    pub drawn: Drawn,
    /// Bits of the number of its ids: what follows a mask of five ids is unlike what follows one of thousands.
    class: usize,
}

/// Classes of masks.
const CLASSES: usize = 20;

/// A guess has to be so much better than none: for each token under it a mask is computed before the next is due.
const GAIN: f64 = 0.1;

/// What is known of the grammar and the device so far.
#[derive(Debug, Clone, Copy)]
pub struct Speculation {
    /// Share of the tokens that were kept, the last ones weighing more: drawn freely and under a guess, by class.
    kept: [[f64; 2]; CLASSES],
    /// Of a pass.
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

    /// Takes note of a token that was drawn ahead, and whether it was kept.
    pub fn drawn_ahead(&mut self, Ahead { drawn, class }: Ahead, is_kept: bool) {
        let kept = &mut self.kept[class][drawn as usize];
        *kept += (f64::from(u8::from(is_kept)) - *kept) / 8.0;
    }

    /// Takes note of a token under a mask, and of how long it took with the wait. A grammar that was strict becomes
    /// worth another try by and by.
    pub fn drawn_masked(&mut self, Ahead { class, .. }: Ahead, ms: f64) {
        self.pass_ms += ((ms - WAIT_MS).max(0.1) - self.pass_ms) / 4.0;
        for kept in &mut self.kept[class] {
            *kept += (0.7 - *kept).max(0.0) / 32.0;
        }
    }

    /// Tokens to draw ahead of the next mask. The n-th is of use with the probability `kept`ⁿ, and then saves a wait;
    /// if not, it costs its own pass and one that is done again. More than the GPU needs to be busy while one waits for
    /// the first would only be longer in its way once that is refused.
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

    /// Tokens that are drawn among all ids after such outcomes.
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
