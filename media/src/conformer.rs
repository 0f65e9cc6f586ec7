//! Sounds for Gemma 4: 30 seconds at a time, which two convolutions over frames and bins see before the layers.

use crate::chunks::{Grid, Order};
use crate::mel::{HOP, Mel, RATE, WINDOW_OF_GEMMA};
use crate::sound::Piece;

/// Samples that become one piece.
pub const SAMPLES: usize = 30 * RATE;
/// Convolutions, each of which leaves every second frame and every second bin.
const CONVOLUTIONS: usize = 2;
/// Rows that a row of the layers sees, its own included.
const SPAN: usize = 12;
/// Of sines and cosines of distances.
const LONGEST: f64 = 10_000.0;

/// Frames of a piece of so many samples: half a window of silence is in front of it.
pub fn frames(samples: usize) -> usize {
    samples.saturating_sub(WINDOW_OF_GEMMA / 2 + 1) / HOP + 1
}

/// Rows of a prompt that become of so many samples.
pub fn outputs(samples: usize) -> usize {
    let of = |samples: usize| frames(samples).div_ceil(4);
    let rest = samples % SAMPLES;
    samples / SAMPLES * of(SAMPLES) + if rest > 0 { of(rest) } else { 0 }
}

/// A piece of a sound, whose spectrogram has the frames of the pieces one after the other. `hidden`: values of a row of
/// the layers.
pub fn piece(mel: &Mel, number: usize, hidden: usize) -> Piece {
    let first = number * frames(SAMPLES);
    let frames = mel.frames().saturating_sub(first).min(frames(SAMPLES));
    let grid = Grid { chunks: 1, frames, bins: mel.bins, order: Order::FrameByFrame };
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

/// Sines and then cosines of the distances that a row sees, one after the other from 0 on, as rows of the layers.
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
