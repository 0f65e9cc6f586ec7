//! Sounds for Qwen3-ASR: three convolutions over frames and bins run on chunks of one second, each chunk by itself.

use crate::mel::Mel;
use crate::sound::{Fold, NOTHING, Piece};
use crate::tables::{Taps, round_f16};

/// Frames of a chunk.
const CHUNK: usize = 100;
/// Frames that the layers see at once.
const WINDOW: usize = 800;
/// Side of a convolution kernel.
const SIDE: usize = 3;
/// Convolutions, each with a stride of 2 over frames and bins.
const CONVOLUTIONS: usize = 3;

/// The number of pieces of a sound with this number of frames.
pub fn pieces(frames: usize) -> usize {
    frames.div_ceil(WINDOW)
}

/// The number of prompt rows of a sound with this number of frames.
pub fn outputs(frames: usize) -> usize {
    frames.div_ceil(CHUNK) * rows_of_chunk()
}

fn rows_of_chunk() -> usize {
    (0..CONVOLUTIONS).fold(CHUNK, |frames, _| frames.div_ceil(2))
}

/// A piece of up to eight seconds, whose last chunk is padded with zeros.
pub fn piece(mel: &Mel, number: usize) -> Piece {
    let first = number * WINDOW;
    let frames = mel.frames().saturating_sub(first).min(WINDOW);
    let chunks = frames.div_ceil(CHUNK);
    let grid = Grid { chunks, frames: CHUNK, bins: mel.bins, order: Order::BinByBin, rounds: true };
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

/// The order of the values of a convolution kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Bin by bin, each with its frames in order.
    BinByBin,
    /// Frame by frame, each with its bins in order.
    FrameByFrame,
}

/// The input of a convolution: a row for each chunk, frame and bin.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// Chunks, which the convolution treats separately.
    pub chunks: usize,
    /// Frames of a chunk.
    pub frames: usize,
    /// Values of a frame.
    pub bins: usize,
    /// Order of the kernel's values.
    pub order: Order,
    /// Whether values are rounded to f16.
    pub rounds: bool,
}

impl Grid {
    /// The input of the next convolution.
    pub fn halved(self) -> Self {
        Self { frames: self.frames.div_ceil(2), bins: self.bins.div_ceil(2), ..self }
    }

    fn rows(self) -> usize {
        self.chunks * self.frames * self.bins
    }

    /// The input of the first convolution: the spectrogram from frame `first` on, with zeros after `frames` frames.
    pub fn patches(self, mel: &Mel, first: usize, frames: usize) -> Vec<f32> {
        let end = frames * self.bins;
        let value = |row: u32| match row as usize {
            row if row < end && self.rounds => round_f16(mel.at(first + row / self.bins, row % self.bins)),
            row if row < end => mel.at(first + row / self.bins, row % self.bins),
            _ => 0.0,
        };
        self.taps().into_iter().map(value).collect()
    }

    /// The gathers between convolutions, and the one behind the last, which concatenates bins.
    pub fn folds(mut self, convolutions: usize) -> Vec<Fold> {
        let mut folds = Vec::new();
        for number in 1..=convolutions {
            self = self.halved();
            let taps = if number < convolutions { self.taps() } else { (0..self.rows() as u32).collect() };
            folds.push(Fold { rows: self.rows(), taps });
        }
        folds
    }

    /// The input rows of each result of a convolution, with [`NOTHING`] outside of a chunk.
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
                // Indices plus one: 0 is before the first frame or bin.
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
