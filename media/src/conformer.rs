//! Sounds for Gemma 4: pieces of 30 seconds, which go through two convolutions over frames and bins before the layers.

use crate::chunks::{Grid, Order};
use crate::mel::{HOP, Mel, RATE, WINDOW_OF_GEMMA};
use crate::sound::Piece;

/// Samples of one piece.
pub const SAMPLES: usize = 30 * RATE;
/// Convolutions, each with a stride of 2 over frames and bins.
const CONVOLUTIONS: usize = 2;
/// Rows that a row of the layers sees, its own included.
const SPAN: usize = 12;
/// The longest period of the sines and cosines of distances.
const LONGEST: f64 = 10_000.0;

/// Frames of a piece with this number of samples, with half a window of silence in front of it.
pub fn frames(samples: usize) -> usize {
    samples.saturating_sub(WINDOW_OF_GEMMA / 2 + 1) / HOP + 1
}

/// The number of prompt rows of a sound with this number of samples.
pub fn outputs(samples: usize) -> usize {
    let of = |samples: usize| frames(samples).div_ceil(4);
    let rest = samples % SAMPLES;
    samples / SAMPLES * of(SAMPLES) + if rest > 0 { of(rest) } else { 0 }
}

/// A piece of a sound. `mel` holds the frames of all pieces one after the other; `hidden` is the width of the layers.
pub fn piece(mel: &Mel, number: usize, hidden: usize) -> Piece {
    let first = number * frames(SAMPLES);
    let frames = mel.frames().saturating_sub(first).min(frames(SAMPLES));
    let grid = Grid { chunks: 1, frames, bins: mel.bins, order: Order::FrameByFrame, rounds: true };
    let rows = frames.div_ceil(4);
    Piece {
        rows,
        outputs: rows,
        patches: grid.patches(mel, first, frames),
        folds: grid.folds(CONVOLUTIONS),
        turns: distances(rows, hidden),
        ..Piece::default()
    }
}

/// The embeddings of the distances 0, 1, …, `SPAN` − 1 as rows of the layers' width: sines, then cosines.
fn distances(rows: usize, hidden: usize) -> Vec<f32> {
    let count = hidden / 2;
    let step = LONGEST.ln() / count.saturating_sub(1).max(1) as f64;
    let mut turns = vec![0.0; rows * hidden];
    for (distance, row) in turns.chunks_exact_mut(hidden).take(SPAN).enumerate() {
        for i in 0..count {
            let angle = distance as f64 * (-(i as f64) * step).exp();
            (row[i], row[i + count]) = (angle.sin() as f32, angle.cos() as f32);
        }
    }
    turns
}
