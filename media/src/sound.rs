//! What each family of encoders reads of a sound: frames of its spectrogram, and the tables of their places.

use crate::mel::Mel;
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
}

/// One pass of an encoder: up to 30 seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Piece {
    /// Frames, each with its neighbours: rows of the first convolution.
    pub frames: usize,
    /// Rows of the layers.
    pub rows: usize,
    /// Rows that become of them.
    pub outputs: usize,
    /// `[frames, bins, 3]`
    pub patches: Vec<f32>,
    /// Rows of the first convolution that a row of the second reads, `[rows, 3]`.
    pub fold: Vec<u32>,
    /// Into the table of positions.
    pub places: Taps,
    /// Rows of the layers that become a row.
    pub groups: Taps,
}

impl Listener {
    /// The spectrogram of samples at 16 kHz.
    ///
    /// # Errors
    /// A message for an encoder that is not known.
    pub fn mel(&self, samples: &[f32]) -> Result<Mel, String> {
        match self.projector.as_str() {
            "qwen2a" | "ultravox" => Ok(Mel::of(samples, self.bins)),
            other => Err(format!("sounds for the encoder {other} are not known")),
        }
    }

    /// How many pieces a spectrogram of so many samples has.
    pub fn pieces(&self, samples: usize) -> usize {
        samples.div_ceil(FRAMES * 160).max(1)
    }

    /// A piece of a spectrogram; behind its end is silence.
    pub fn piece(&self, mel: &Mel, number: usize) -> Piece {
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
        let fold = (0..ROWS as u32).flat_map(|row| [(2 * row).checked_sub(1).unwrap_or(NOTHING), 2 * row, 2 * row + 1]);
        let outputs = ROWS / self.merge;
        let weight = if self.projector == "qwen2a" { 1.0 / self.merge as f32 } else { 1.0 };
        Piece {
            frames: FRAMES,
            rows: ROWS,
            outputs,
            patches,
            fold: fold.collect(),
            places: Taps { indices: (0..ROWS as u32).collect(), weights: vec![1.0; ROWS] },
            groups: Taps {
                indices: (0..(outputs * self.merge) as u32).collect(),
                weights: vec![weight; outputs * self.merge],
            },
        }
    }
}
