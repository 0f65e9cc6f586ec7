//! Sounds that arrive, for Voxtral Realtime: each piece gives the rows that no later sample changes. What further rows
//! depend on stays: samples that windows overlap, and frames that convolutions read again.

use crate::mel::{Ends, Spectrogram};
use crate::sound::{Fold, KERNEL, NOTHING, Piece};
use crate::tables::Taps;

/// Frames that stay for the rows to come: the last row of the first convolution, which the second reads with the first
/// two of the next piece, has two frames before its own.
const BEFORE: usize = KERNEL;

/// A sound that arrives.
pub struct Arriving {
    spectrogram: Spectrogram,
    bins: usize,
    merge: usize,
    /// Frames, of which the first ones belong to rows that were given.
    frames: Vec<f32>,
    /// How many these are: none before the first piece, then up to `BEFORE`.
    given: usize,
}

impl Arriving {
    /// Begins a sound for an encoder that merges `merge` rows into one.
    pub fn new(bins: usize, merge: usize) -> Self {
        let spectrogram = Spectrogram::new(Vec::new(), bins, Some(Ends::Steady));
        Self { spectrogram, bins, merge, frames: Vec::new(), given: 0 }
    }

    /// Takes the next samples.
    pub fn push(&mut self, samples: &[f32]) {
        self.frames.extend(self.spectrogram.go_on(samples));
    }

    /// Output rows that have arrived.
    pub fn outputs(&self) -> usize {
        (self.frames.len() / self.bins - self.given) / 2 / self.merge
    }

    /// The input for the next output rows, `most` of them at most, of which there must be one.
    pub fn take(&mut self, most: usize) -> Piece {
        let outputs = self.outputs().min(most);
        let (rows, bins, given) = (outputs * self.merge, self.bins, self.given);
        // A row of the first convolution comes again, from the second piece on.
        let again = usize::from(given > 0);
        let mut patches = Vec::with_capacity((2 * rows + again) * bins * KERNEL);
        for frame in given - again..given + 2 * rows {
            for bin in 0..bins {
                let value = |back: usize| frame.checked_sub(back).map_or(0.0, |near| self.frames[near * bins + bin]);
                patches.extend((0..KERNEL).rev().map(value));
            }
        }
        let again = again as u32;
        let taps = (0..rows as u32).map(|row| 2 * row + again);
        let taps = taps.flat_map(|at| [at.checked_sub(1).unwrap_or(NOTHING), at, at + 1]).collect();
        let end = given + 2 * rows;
        self.given = end.min(BEFORE);
        self.frames.drain(..(end - self.given) * bins);
        Piece {
            rows,
            outputs,
            patches,
            folds: vec![Fold { rows: 2 * rows + again as usize, taps }],
            groups: Taps { indices: (0..rows as u32).collect(), weights: vec![1.0; rows] },
            ..Piece::default()
        }
    }
}
