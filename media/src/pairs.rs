//! Sounds for Granite Speech: pairs of frames, of whose windows queries make rows.

use crate::mel::Mel;
use crate::sound::Piece;

/// Rows of a piece, at most: a minute, of whole blocks and whole windows.
const ROWS: usize = 3000;

/// The number of pieces of a sound with this number of frames.
pub fn pieces(frames: usize) -> usize {
    (frames / 2).div_ceil(ROWS).max(1)
}

/// The number of prompt rows of a sound with this number of frames; `queries` rows for each window.
pub fn outputs(frames: usize, [window, queries]: [usize; 2]) -> usize {
    let of = |rows: usize| rows.max(1).div_ceil(window) * queries;
    let (whole, rest) = (frames / 2 / ROWS, frames / 2 % ROWS);
    whole * of(ROWS) + if rest > 0 || whole == 0 { of(rest) } else { 0 }
}

/// A piece of a sound. A single frame has silence behind it.
pub fn piece(mel: &Mel, number: usize, [window, queries]: [usize; 2]) -> Piece {
    let wide = 2 * mel.bins;
    let pairs = mel.values.chunks_exact(wide).skip(number * ROWS).take(ROWS);
    let mut patches: Vec<f32> = pairs.flatten().copied().collect();
    if patches.is_empty() {
        patches = (0..wide).map(|at| mel.at(at / mel.bins, at % mel.bins)).collect();
    }
    let rows = patches.len() / wide;
    Piece { rows, outputs: rows.div_ceil(window) * queries, patches, ..Piece::default() }
}

#[cfg(test)]
mod tests {
    use super::{ROWS, outputs, piece, pieces};
    use crate::mel::Mel;

    #[test]
    fn rows_are_known_before_samples() {
        for frames in [1, 2, 3, 30, 31, 32, 2 * ROWS, 2 * ROWS + 1, 2 * ROWS + 2, 4 * ROWS + 77] {
            let mel = Mel { bins: 3, values: vec![0.5; 3 * frames], silence: -1.0 };
            let found = (0..pieces(frames)).map(|number| piece(&mel, number, [15, 3]));
            let (rows, count) = found.fold((0, 0), |(rows, count), piece| (rows + piece.rows, count + piece.outputs));
            assert_eq!(count, outputs(frames, [15, 3]), "{frames} frames");
            assert_eq!(rows, (frames / 2).max(1), "{frames} frames");
        }
    }

    #[test]
    fn two_frames_lie_side_by_side() {
        let mel = Mel { bins: 2, values: (0..10).map(|value| value as f32).collect(), silence: -1.0 };
        assert_eq!(piece(&mel, 0, [15, 3]).patches, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "the fifth is left out");
        let single = Mel { values: vec![0.5, 0.25], ..mel };
        assert_eq!(piece(&single, 0, [15, 3]).patches, [0.5, 0.25, -1.0, -1.0]);
    }
}
