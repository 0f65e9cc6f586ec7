//! The input of each family of sound encoders: frames of the spectrogram, and tables.

use crate::chunks::{self, Order};
use crate::conformer;
use crate::eighths;
use crate::mel::{Ends, HOP, Mel, Spectrogram};
use crate::pairs;
use crate::tables::{Taps, round_f16};

/// Frames that an encoder like Whisper's reads at once: 30 seconds.
const FRAMES: usize = 3000;
/// Rows of the layers for `FRAMES` frames.
const ROWS: usize = FRAMES / 2;
/// Kernel size of a convolution in frames.
pub const KERNEL: usize = 3;
/// Index that stands for a row of zeros in [`Fold::taps`].
pub const NOTHING: u32 = u32::MAX;

/// The numbers of an encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// `clip.audio.projector_type`, or `clip.projector_type`.
    pub projector: String,
    /// Values of a frame.
    pub bins: usize,
    /// Rows that are merged into one.
    pub merge: usize,
    /// Width of the layers.
    pub hidden: usize,
    /// Output rows of as many rows as are merged, where these are more than one.
    pub queries: usize,
}

/// A gather between two convolutions before the layers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fold {
    /// The number of rows.
    pub rows: usize,
    /// Indices of the input rows that are concatenated to each row; [`NOTHING`] for zeros.
    pub taps: Vec<u32>,
}

/// One pass of an encoder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Piece {
    /// Rows of the layers.
    pub rows: usize,
    /// Output rows.
    pub outputs: usize,
    /// The input of the first convolution: a row with all neighbours for each result.
    pub patches: Vec<f32>,
    /// A fold in front of each convolution but the first, and one behind the last.
    pub folds: Vec<Fold>,
    /// Taps into the position table.
    pub places: Taps,
    /// Taps that merge rows of the layers into output rows.
    pub groups: Taps,
    /// Embeddings of distances.
    pub turns: Vec<f32>,
    /// 1 for the row in front of the others, then for the one behind them, where there are such rows.
    pub breaks: Vec<f32>,
}

impl Listener {
    /// Starts the spectrogram of samples at 16 kHz; `None` for an encoder that reads samples.
    ///
    /// # Errors
    /// A message for an unknown encoder.
    pub fn begin(&self, samples: &mut Vec<f32>) -> Result<Option<Spectrogram>, String> {
        let ends = match self.projector.as_str() {
            "qwen2a" | "ultravox" | "voxtral" | "musicflamingo" | "meralion" | "glma" => Some(Ends::Silent),
            "qwen3a" => Some(Ends::Mirrored),
            "lfm2a" | "parakeet" => Some(Ends::Centred),
            "lfm3a" => Some(Ends::Filled),
            "granite_speech" => Some(Ends::Paired),
            "gemma4a" => None,
            "gemma4ua" => return Ok(None),
            other => return Err(format!("sounds for the encoder {other} are not known")),
        };
        let bins = if ends == Some(Ends::Paired) { self.bins / 2 } else { self.bins };
        Ok(Some(Spectrogram::new(std::mem::take(samples), bins, ends)))
    }

    /// The number of pieces of a sound with this number of samples.
    pub fn pieces(&self, samples: usize) -> usize {
        match self.projector.as_str() {
            "qwen3a" => chunks::pieces(Ends::Mirrored.frames(samples)),
            "lfm2a" | "parakeet" => eighths::pieces(Ends::Centred.frames(samples)),
            "lfm3a" => eighths::pieces(Ends::Filled.frames(samples)),
            "gemma4a" | "gemma4ua" => samples.div_ceil(conformer::SAMPLES),
            "granite_speech" => pairs::pieces(Ends::Paired.frames(samples)),
            _ => samples.div_ceil(FRAMES * HOP).max(1),
        }
    }

    /// The number of prompt rows of a sound with this number of samples.
    pub fn outputs(&self, samples: usize) -> usize {
        match self.projector.as_str() {
            "qwen3a" => chunks::outputs(Ends::Mirrored.frames(samples)),
            "lfm2a" | "parakeet" => eighths::outputs(Ends::Centred.frames(samples)),
            "lfm3a" => eighths::outputs(Ends::Filled.frames(samples)),
            "gemma4a" => conformer::outputs(samples),
            "gemma4ua" => samples.div_ceil(self.bins),
            "granite_speech" => pairs::outputs(Ends::Paired.frames(samples), [self.merge, self.queries]),
            _ => self.pieces(samples) * (ROWS / self.merge + if self.is_framed() { 2 } else { 0 }),
        }
    }

    /// Whether a row stands in front of the rows of a piece and one behind them.
    fn is_framed(&self) -> bool {
        self.projector == "glma"
    }

    /// A piece of a spectrogram.
    pub fn piece(&self, mel: &Mel, number: usize) -> Piece {
        match self.projector.as_str() {
            "qwen3a" => chunks::piece(mel, number),
            "lfm2a" | "parakeet" => {
                let piece = eighths::piece(mel, number, Order::FrameByFrame);
                Piece { turns: eighths::distances(piece.rows, self.hidden), ..piece }
            }
            "lfm3a" => eighths::piece(mel, number, Order::BinByBin),
            "gemma4a" => conformer::piece(mel, number, self.hidden),
            "gemma4ua" => of_samples(mel, number),
            "granite_speech" => pairs::piece(mel, number, [self.merge, self.queries]),
            _ => self.of_whisper(mel, number),
        }
    }

    /// A piece of 30 seconds, padded with silence.
    fn of_whisper(&self, mel: &Mel, number: usize) -> Piece {
        let (first, outputs) = (number * FRAMES, ROWS / self.merge);
        // Newer encoders are compared with a llama.cpp that was built without this rounding.
        let rounds = matches!(self.projector.as_str(), "qwen2a" | "ultravox" | "voxtral");
        let mut patches = Vec::with_capacity(FRAMES * self.bins * KERNEL);
        for frame in 0..FRAMES {
            for bin in 0..self.bins {
                // Pieces are padded with zeros at both ends.
                let value = |at: usize| match (frame + at).checked_sub(1).filter(|&near| near < FRAMES) {
                    Some(near) if rounds => round_f16(mel.at(first + near, bin)),
                    Some(near) => mel.at(first + near, bin),
                    None => 0.0,
                };
                patches.extend((0..KERNEL).map(value));
            }
        }
        let taps = (0..ROWS as u32).flat_map(|row| [(2 * row).checked_sub(1).unwrap_or(NOTHING), 2 * row, 2 * row + 1]);
        let takes_means = matches!(self.projector.as_str(), "qwen2a" | "musicflamingo");
        let weight = if takes_means { 1.0 / self.merge as f32 } else { 1.0 };
        let groups =
            Taps { indices: (0..(outputs * self.merge) as u32).collect(), weights: vec![weight; outputs * self.merge] };
        let (groups, breaks) = if self.is_framed() { groups.enclosed(self.merge) } else { (groups, Vec::new()) };
        Piece {
            rows: ROWS,
            outputs: groups.indices.len() / self.merge,
            patches,
            folds: vec![Fold { rows: FRAMES, taps: taps.collect() }],
            places: ones(ROWS),
            groups,
            turns: Vec::new(),
            breaks,
        }
    }
}

/// Taps of one row each, in order.
fn ones(rows: usize) -> Taps {
    Taps { indices: (0..rows as u32).collect(), weights: vec![1.0; rows] }
}

/// A piece of up to 30 seconds of samples, whose last row is padded with silence.
fn of_samples(mel: &Mel, number: usize) -> Piece {
    let mut patches: Vec<f32> = mel.values.chunks(conformer::SAMPLES).nth(number).unwrap_or_default().to_vec();
    let rows = patches.len().div_ceil(mel.bins);
    patches.resize(rows * mel.bins, mel.silence);
    Piece { rows, outputs: rows, patches, ..Piece::default() }
}
