//! Sounds for Qwen3-ASR: chunks of a second, each of which three convolutions over frames and bins see by itself.

use crate::mel::Mel;
use crate::sound::{Fold, NOTHING, Piece};
use crate::tables::{Taps, round_f16};

/// Frames of a chunk.
const CHUNK: usize = 100;
/// Frames that the layers see at once.
const WINDOW: usize = 800;
/// Values along a side of what a convolution reads.
const SIDE: usize = 3;
/// Convolutions, each of which leaves every second frame and every second bin.
const CONVOLUTIONS: usize = 3;

/// Pieces of so many frames.
pub fn pieces(frames: usize) -> usize {
    frames.div_ceil(WINDOW)
}

/// Rows of a prompt that become of so many frames.
pub fn outputs(frames: usize) -> usize {
    frames.div_ceil(CHUNK) * rows_of_chunk()
}

fn rows_of_chunk() -> usize {
    (0..CONVOLUTIONS).fold(CHUNK, |frames, _| frames.div_ceil(2))
}

/// Up to eight seconds; the last chunk is filled up with zeros.
pub fn piece(mel: &Mel, number: usize) -> Piece {
    let first = number * WINDOW;
    let frames = mel.frames().saturating_sub(first).min(WINDOW);
    let chunks = frames.div_ceil(CHUNK);
    let grid = Grid { chunks, frames: CHUNK, bins: mel.bins, order: Order::BinByBin };
    let rows = chunks * rows_of_chunk();
    Piece {
        rows,
        outputs: rows,
        patches: grid.patches(mel, first, frames),
        folds: grid.folds(CONVOLUTIONS),
        places: Taps {
            indices: (0..rows).map(|row| (row % rows_of_chunk()) as u32).collect(),
            weights: vec![1.0; rows],
        },
        ..Piece::default()
    }
}

/// The order of the values of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Of each bin frame by frame.
    BinByBin,
    /// Of each frame bin by bin.
    FrameByFrame,
}

/// What a convolution reads: a row for each chunk, frame and bin.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// Chunks, each of which is by itself.
    pub chunks: usize,
    /// Frames of a chunk.
    pub frames: usize,
    /// Values of a frame.
    pub bins: usize,
    /// Of the kernel.
    pub order: Order,
}

impl Grid {
    /// What the next convolution reads.
    pub fn halved(self) -> Self {
        Self { frames: self.frames.div_ceil(2), bins: self.bins.div_ceil(2), ..self }
    }

    fn rows(self) -> usize {
        self.chunks * self.frames * self.bins
    }

    /// What the first convolution reads: values of the spectrogram from frame `first` on, zeros after `frames` of them.
    pub fn patches(self, mel: &Mel, first: usize, frames: usize) -> Vec<f32> {
        let end = frames * self.bins;
        let value = |row: u32| match row as usize {
            row if row < end => round_f16(mel.at(first + row / self.bins, row % self.bins)),
            _ => 0.0,
        };
        self.taps().into_iter().map(value).collect()
    }

    /// What the other convolutions read of the one before, and what stands side by side behind the last.
    pub fn folds(mut self, convolutions: usize) -> Vec<Fold> {
        let mut folds = Vec::new();
        for number in 1..=convolutions {
            self = self.halved();
            let taps = if number < convolutions { self.taps() } else { (0..self.rows() as u32).collect() };
            folds.push(Fold { rows: self.rows(), taps });
        }
        folds
    }

    /// The rows that each result of a convolution over these is made of; nothing outside of a chunk.
    fn taps(self) -> Vec<u32> {
        let next = self.halved();
        let mut taps = Vec::with_capacity(next.rows() * SIDE * SIDE);
        for result in 0..next.rows() {
            let (line, bin) = (result / next.bins, result % next.bins);
            let (chunk, frame) = (line / next.frames, line % next.frames);
            for at in 0..SIDE * SIDE {
                let [of_frame, of_bin] = match self.order {
                    Order::BinByBin => [at % SIDE, at / SIDE],
                    Order::FrameByFrame => [at / SIDE, at % SIDE],
                };
                // One more than the frame and the bin: 0 is before the first.
                let [frame, bin] = [2 * frame + of_frame, 2 * bin + of_bin];
                let is_inside = (1..=self.frames).contains(&frame) && (1..=self.bins).contains(&bin);
                taps.push(match is_inside {
                    true => ((chunk * self.frames + frame - 1) * self.bins + bin - 1) as u32,
                    false => NOTHING,
                });
            }
        }
        taps
    }
}
