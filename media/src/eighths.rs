//! Sounds for LFM2-Audio and LFM3: pieces of 30 seconds, which go through three convolutions over frames and bins
//! before the layers.

use crate::chunks::{Grid, Order};
use crate::mel::Mel;
use crate::sound::Piece;

/// Rows of the layers of a piece, at most.
const ROWS: usize = 376;
/// Convolutions, each with a stride of 2 over frames and bins.
const CONVOLUTIONS: usize = 3;
/// Frames that become a row.
const STRIDE: usize = 1 << CONVOLUTIONS;
/// Frames of a piece, at most: a sound of 30 seconds has 3,001.
const FRAMES: usize = ROWS * STRIDE;
/// The longest period of the sines and cosines of distances, divided by 2π.
const LONGEST: f64 = 10_000.0;

/// The number of pieces of a sound with this number of frames.
pub fn pieces(frames: usize) -> usize {
    frames.div_ceil(FRAMES)
}

/// The number of prompt rows of a sound with this number of frames.
pub fn outputs(frames: usize) -> usize {
    frames.div_ceil(STRIDE)
}

/// A piece of a sound; `order`: the order of the kernels' values.
pub fn piece(mel: &Mel, number: usize, order: Order) -> Piece {
    let first = number * FRAMES;
    let frames = mel.frames().saturating_sub(first).min(FRAMES);
    let grid = Grid { chunks: 1, frames, bins: mel.bins, order, rounds: false };
    let rows = outputs(frames);
    Piece {
        rows,
        outputs: rows,
        patches: grid.patches(mel, first, frames),
        folds: grid.folds(CONVOLUTIONS),
        ..Piece::default()
    }
}

/// The embeddings of the distances 0, 1, … of `rows` rows, then of 0, −1, …: sines and cosines take turns.
pub fn distances(rows: usize, hidden: usize) -> Vec<f32> {
    let mut turns = vec![0.0; 2 * rows * hidden];
    for (number, row) in turns.chunks_exact_mut(hidden).enumerate() {
        let distance = if number < rows { number as f64 } else { -((number - rows) as f64) };
        for (i, pair) in row.chunks_exact_mut(2).enumerate() {
            let angle = distance * (-((2 * i) as f64) / hidden as f64 * LONGEST.ln()).exp();
            (pair[0], pair[1]) = (angle.sin() as f32, angle.cos() as f32);
        }
    }
    turns
}
