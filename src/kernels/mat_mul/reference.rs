//! Matrix times several vectors: the products of prefill.

use std::ops::Range;

use crate::error::Result;
use crate::gguf::dequantize;
use crate::kernels::mat_vec::reference::{Matrix, PIECE, Sums};

/// `out[t] = w · x[t]` for each token, with `w` `[rows, cols]`, `x` `[tokens, cols]`, `out` `[tokens, rows]`.
///
/// Each weight is dequantised once for all tokens. The sums run in the order of [`mat_vec`](super::mat_vec()), so a
/// prompt gives the same bits in one call as token by token.
///
/// # Errors
/// None for a [`Matrix`] made by [`Matrix::new`].
///
/// # Panics
/// If `x` and `out` are not of one number of tokens.
pub fn mat_mul(w: &Matrix, x: &[f32], out: &mut [f32]) -> Result<()> {
    mat_mul_rows(w, 0..w.rows, x, out)
}

/// As [`mat_mul`], for some rows of `w` alone: `out`, still `[tokens, rows of w]`, keeps its other elements.
pub(crate) fn mat_mul_rows(w: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]) -> Result<()> {
    let tokens = x.len() / w.cols;
    assert_eq!((x.len(), out.len()), (tokens * w.cols, tokens * w.rows), "shape of mat_mul");
    let mut piece = [0.0; PIECE];
    let mut sums = vec![Sums::default(); tokens];
    for row in rows {
        sums.fill(Sums::default());
        for (index, bytes) in w.row(row).chunks(w.piece_bytes()).enumerate() {
            let start = index * PIECE;
            let piece = &mut piece[..PIECE.min(w.cols - start)];
            dequantize(w.ty, bytes, piece)?;
            for (token, sums) in sums.iter_mut().enumerate() {
                sums.add(piece, &x[token * w.cols + start..][..piece.len()]);
            }
        }
        for (out, sums) in out.chunks_exact_mut(w.rows).zip(&sums) {
            out[row] = sums.total();
        }
    }
    Ok(())
}
