//! What each family of encoders reads of a sound: frames of its spectrogram, and the tables of their places.

use crate::chunks;
use crate::conformer;
use crate::mel::{Ends, HOP, Mel, Spectrogram};
use crate::tables::{Taps, round_f16};

/// Frames of the spectrogram that an encoder of Whisper's kind reads at once: 30 seconds.
const FRAMES: usize = 3000;
/// Rows that become of them.
const ROWS: usize = FRAMES / 2;
/// Frames that a convolution reads.
const KERNEL: usize = 3;
/// Stands for a row of zeros where rows become one.
pub const NOTHING: u32 = u32::MAX;

/// The numbers of an encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// `clip.audio.projector_type`, or `clip.projector_type`.
    pub projector: String,
    /// Values of a frame.
    pub bins: usize,
    /// Rows that become one.
    pub merge: usize,
    /// Values of a row of its layers.
    pub hidden: usize,
}

/// Rows that become others before the layers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fold {
    /// How many there are.
    pub rows: usize,
    /// Which of them make each row behind, side by side; [`NOTHING`] for zeros.
    pub taps: Vec<u32>,
}

/// One pass of an encoder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Piece {
    /// Rows of the layers.
    pub rows: usize,
    /// Rows that become of them.
    pub outputs: usize,
    /// What the first convolution reads, with its neighbours: a row for each of its results.
    pub patches: Vec<f32>,
    /// One for each convolution but the first, and for what stands side by side behind the last.
    pub folds: Vec<Fold>,
    /// Into the table of positions.
    pub places: Taps,
    /// Rows of the layers that become a row.
    pub groups: Taps,
    /// Sines and cosines of distances: as many values as the rows have.
    pub turns: Vec<f32>,
}

impl Listener {
    /// Begins the spectrogram of samples at 16 kHz; `None` where an encoder reads them as they are.
    ///
    /// # Errors
    /// A message for an encoder that is not known.
    pub fn begin(&self, samples: &mut Vec<f32>) -> Result<Option<Spectrogram>, String> {
        let ends = match self.projector.as_str() {
            "qwen2a" | "ultravox" | "voxtral" => Some(Ends::Silent),
            "qwen3a" => Some(Ends::Mirrored),
            "gemma4a" => None,
            "gemma4ua" => return Ok(None),
            other => return Err(format!("sounds for the encoder {other} are not known")),
        };
        Ok(Some(Spectrogram::new(std::mem::take(samples), self.bins, ends)))
    }

    /// How many pieces a spectrogram of so many samples has.
    pub fn pieces(&self, samples: usize) -> usize {
        match self.projector.as_str() {
            "qwen3a" => chunks::pieces(Ends::Mirrored.frames(samples)),
            "gemma4a" | "gemma4ua" => samples.div_ceil(conformer::SAMPLES),
            _ => samples.div_ceil(FRAMES * HOP).max(1),
        }
    }

    /// Rows of a prompt that become of so many samples.
    pub fn outputs(&self, samples: usize) -> usize {
        match self.projector.as_str() {
            "qwen3a" => chunks::outputs(Ends::Mirrored.frames(samples)),
            "gemma4a" => conformer::outputs(samples),
            "gemma4ua" => samples.div_ceil(self.bins),
            _ => self.pieces(samples) * (ROWS / self.merge),
        }
    }

    /// A piece of a spectrogram.
    pub fn piece(&self, mel: &Mel, number: usize) -> Piece {
        match self.projector.as_str() {
            "qwen3a" => chunks::piece(mel, number),
            "gemma4a" => conformer::piece(mel, number, self.hidden),
            "gemma4ua" => of_samples(mel, number),
            _ => self.of_whisper(mel, number),
        }
    }

    /// 30 seconds; behind the end is silence.
    fn of_whisper(&self, mel: &Mel, number: usize) -> Piece {
        let first = number * FRAMES;
        let mut patches = Vec::with_capacity(FRAMES * self.bins * KERNEL);
        for frame in 0..FRAMES {
            for bin in 0..self.bins {
                // At its ends a piece has neighbours of zeros.
                let value = |at: usize| match (frame + at).checked_sub(1).filter(|&near| near < FRAMES) {
                    Some(near) => round_f16(mel.at(first + near, bin)),
                    None => 0.0,
                };
                patches.extend((0..KERNEL).map(value));
            }
        }
        let taps = (0..ROWS as u32).flat_map(|row| [(2 * row).checked_sub(1).unwrap_or(NOTHING), 2 * row, 2 * row + 1]);
        let outputs = ROWS / self.merge;
        let weight = if self.projector == "qwen2a" { 1.0 / self.merge as f32 } else { 1.0 };
        Piece {
            rows: ROWS,
            outputs,
            patches,
            folds: vec![Fold { rows: FRAMES, taps: taps.collect() }],
            places: Taps { indices: (0..ROWS as u32).collect(), weights: vec![1.0; ROWS] },
            groups: Taps {
                indices: (0..(outputs * self.merge) as u32).collect(),
                weights: vec![weight; outputs * self.merge],
            },
            turns: Vec::new(),
        }
    }
}

/// Up to 30 seconds of samples; the last row is filled up with silence.
fn of_samples(mel: &Mel, number: usize) -> Piece {
    let mut patches: Vec<f32> = mel.values.chunks(conformer::SAMPLES).nth(number).unwrap_or_default().to_vec();
    let rows = patches.len().div_ceil(mel.bins);
    patches.resize(rows * mel.bins, mel.silence);
    Piece { rows, outputs: rows, patches, ..Piece::default() }
}
