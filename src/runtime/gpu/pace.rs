//! How long prefill takes on a device, and from that into how many submits a pass is cut.
//!
//! A driver kills work that holds the GPU for too long: Windows after two seconds, phones earlier. And a cancelled
//! prompt cannot end before the queued work is done. So a submit should take about [`SUBMIT_MS`]: a pass that takes
//! longer is cut between dispatches, which costs nothing but the submits. The number of tokens of a pass stays the
//! same, since passes of fewer tokens would read the weights more often.

use std::cell::Cell;

use crate::forward::CHUNK;

/// Time that a submit should take, in milliseconds.
const SUBMIT_MS: f64 = 100.0;

/// Number of tokens up to which a pass takes as long as one of this many.
pub const MIN_TOKENS: usize = 64;

/// The time of passes on one device, measured as they run.
#[derive(Debug, Default)]
pub struct Pace {
    /// Milliseconds of a pass of [`CHUNK`] tokens through all layers; 0 as long as nothing is known.
    chunk_ms: Cell<f64>,
}

impl Pace {
    /// Records that `share` of the dispatches of a pass over `tokens` tokens took `ms` milliseconds.
    pub fn observe(&self, tokens: usize, share: f64, ms: f64) {
        let found = ms / (share * share_of_chunk(tokens)).max(1e-6);
        let known = self.chunk_ms.get();
        // A longer time than expected counts at once, since too long a submit is what hurts.
        self.chunk_ms.set(if found > known { found } else { 0.5 * (found + known) });
    }

    /// Forgets the measurements, before a better one.
    pub fn forget(&self) {
        self.chunk_ms.set(0.0);
    }

    /// Number of submits for a pass over `tokens` tokens that has this many dispatches.
    pub fn parts(&self, tokens: usize, dispatches: usize) -> usize {
        let ms = self.chunk_ms.get() * share_of_chunk(tokens);
        ((ms / SUBMIT_MS).ceil() as usize).clamp(1, dispatches.max(1))
    }
}

fn share_of_chunk(tokens: usize) -> f64 {
    tokens.max(MIN_TOKENS) as f64 / CHUNK as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_device_takes_a_chunk_in_one_submit() {
        let pace = Pace::default();
        assert_eq!(pace.parts(CHUNK, 150), 1, "nothing is known yet");
        pace.observe(MIN_TOKENS, 1.0, 6.6);
        assert_eq!(pace.parts(CHUNK, 150), 1);
    }

    #[test]
    fn a_submit_takes_about_a_tenth_of_a_second_on_a_slow_one() {
        let pace = Pace::default();
        // One of 16 layers takes 30 ms for 64 tokens, so all layers take 3.84 s for 512.
        pace.observe(MIN_TOKENS, 1.0 / 16.0, 30.0);
        assert_eq!(pace.parts(CHUNK, 150), 39);
        assert_eq!(pace.parts(20, 150), 5, "few tokens take as long as 64");
        assert_eq!(pace.parts(CHUNK, 8), 8, "a dispatch is not cut");
        pace.forget();
        assert_eq!(pace.parts(CHUNK, 150), 1);
        pace.observe(MIN_TOKENS, 1.0 / 16.0, 30.0);
        // A faster measurement counts by half, but one slow submit counts at once.
        pace.observe(CHUNK, 0.1, 38.4);
        assert_eq!(pace.parts(CHUNK, 150), 22);
        pace.observe(CHUNK, 0.1, 400.0);
        assert_eq!(pace.parts(CHUNK, 150), 40);
    }
}
