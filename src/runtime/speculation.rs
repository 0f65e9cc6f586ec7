//! How many tokens to draw ahead of the masks of a grammar.
//!
//! The mask of a token is known once the token before it is read back, and waiting for that takes longer than the pass
//! of a small model. So passes go ahead without a mask: where the grammar allows what they draw, it is the very token
//! that the mask would have left (see [`sample_allowed`](crate::sampler::sample_allowed)); where it does not, the
//! passes behind it were for nothing, and one is done again.

/// What waiting for a token costs in a browser whatever the work, in milliseconds.
const WAIT_MS: f64 = 2.6;

/// Tokens ahead at most: see `Run::depth`.
const MOST: usize = 15;

/// What is known of the grammar and the device so far.
#[derive(Debug, Clone, Copy)]
pub struct Speculation {
    /// Share of the tokens drawn ahead that the grammar allowed, the last ones weighing more.
    allowed: f64,
    /// Of a pass.
    pass_ms: f64,
}

impl Default for Speculation {
    fn default() -> Self {
        Self { allowed: 0.8, pass_ms: 2.0 }
    }
}

impl Speculation {
    /// Takes note of a token that was drawn ahead.
    pub fn drawn_ahead(&mut self, allowed: bool) {
        self.allowed += (f64::from(u8::from(allowed)) - self.allowed) / 8.0;
    }

    /// Takes note of a token under a mask, and of how long it took with the wait. A grammar that was strict becomes
    /// worth another try by and by.
    pub fn drawn_masked(&mut self, ms: f64) {
        self.pass_ms += ((ms - WAIT_MS).max(0.1) - self.pass_ms) / 4.0;
        self.allowed += (0.7 - self.allowed).max(0.0) / 32.0;
    }

    /// Tokens to draw ahead of the next mask. The n-th is of use with the probability `allowed`ⁿ, and then saves a
    /// wait; if not, it costs its own pass and one that is done again.
    pub fn ahead(&self) -> usize {
        let worth = 2.0 * self.pass_ms / (WAIT_MS + 2.0 * self.pass_ms);
        let allowed = self.allowed.clamp(1e-3, 0.999);
        ((worth.ln() / allowed.ln()) as usize).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(outcomes: &[bool], pass_ms: f64) -> Speculation {
        let mut speculation = Speculation { pass_ms, ..Default::default() };
        outcomes.iter().for_each(|&allowed| speculation.drawn_ahead(allowed));
        speculation
    }

    #[test]
    fn passes_go_ahead_where_the_model_writes_what_the_grammar_wants() {
        assert_eq!(after(&[true; 40], 0.9).ahead(), MOST);
        assert_eq!(after(&[false; 10], 0.9).ahead(), 0);
        assert!((2..=6).contains(&after(&[true, true, true, true, true, false, true, true], 0.9).ahead()));
    }

    #[test]
    fn slow_passes_do_not_go_ahead() {
        assert_eq!(after(&[true; 8], 50.0).ahead(), 0);
        assert!(after(&[true; 60], 50.0).ahead() > 0, "unless nothing is ever refused");
    }

    #[test]
    fn a_strict_grammar_is_tried_again() {
        let mut speculation = after(&[false; 20], 0.9);
        (0..60).for_each(|_| speculation.drawn_masked(3.5));
        assert_eq!(speculation.ahead(), 1);
    }
}
