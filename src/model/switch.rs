//! Tokens that switch a model's own adapters (Granite Switch).

use super::program::Activation;

/// Stacked adapters, one of which is at work from its token on. Slot 0 is no adapter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Switch {
    /// For each adapter the token that switches to it, and the token whose embedding this one has. Number i has the
    /// slot i + 1.
    pub tokens: Vec<[u32; 2]>,
    /// The rank of all adapters.
    pub rank: usize,
    /// The score of these tokens in the attention that finds the slot; the others have its negative.
    pub gain: f32,
}

/// What [`Op::Switch`](super::program::Op) writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switching {
    /// The query that finds the slot: 1, then zeros.
    Query,
    /// The key, which is the value, too: the score of the token, the slot that it switches to or 0, then zeros.
    Signal,
    /// The mean of those values, rounded, as the route to one expert of weight 1.
    Slot(Activation),
}

impl Switch {
    /// The number of slots, the empty one included.
    pub fn slots(&self) -> usize {
        self.tokens.len() + 1
    }
}
