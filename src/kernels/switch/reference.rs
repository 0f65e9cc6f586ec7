//! Which of a model's own adapters is at work.

use crate::model::Switch;

/// What means of numbers that end with a half may lack.
const MARGIN: f32 = 1.0 / 1024.0;

/// The slot that a token switches to, or 0, and the token whose embedding it has.
pub fn switched(switch: &Switch, token: u32) -> (usize, u32) {
    // Where tokens are equal, the last one counts.
    let found = switch.tokens.iter().enumerate().rfind(|(_, pair)| pair[0] == token);
    found.map_or((0, token), |(i, pair)| (i + 1, pair[1]))
}

/// The key and the value of a token.
pub fn signal(switch: &Switch, token: u32) -> [f32; 2] {
    match switched(switch, token) {
        (0, _) => [-switch.gain, 0.0],
        (slot, _) => [switch.gain, slot as f32],
    }
}

/// The slot that a mean of values stands for: halves are rounded up.
pub fn slot(switch: &Switch, mean: f32) -> usize {
    ((mean + 0.5 + MARGIN).floor().max(0.0) as usize).min(switch.tokens.len())
}
