//! Matrix times vector, the matrix in a block format.

use crate::error::{Error, Result};
use crate::gguf::{GgmlType, dequantize};
use crate::simd::F32x4;

/// Weights that are dequantised at a time: a multiple of every block length, and small enough for the stack and the
/// cache.
pub(crate) const PIECE: usize = 256;

/// A matrix `[rows, cols]` as the file holds it: rows of blocks, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    /// The block format.
    pub ty: GgmlType,
    /// The number of rows.
    pub rows: usize,
    /// The length of a row, a multiple of the block length.
    pub cols: usize,
    /// `rows · cols` weights in blocks.
    pub bytes: &'a [u8],
}

impl<'a> Matrix<'a> {
    /// A matrix over the bytes of a tensor.
    ///
    /// # Errors
    /// `bad_file` if a row is not whole blocks, or the bytes are more or fewer than the shape takes.
    pub fn new(ty: GgmlType, rows: usize, cols: usize, bytes: &'a [u8]) -> Result<Self> {
        if cols == 0 || !cols.is_multiple_of(ty.block_len()) {
            let (name, block) = (ty.name(), ty.block_len());
            return Err(Error::bad_file(format!("a row of {cols} weights is not whole {name} blocks of {block}")));
        }
        let expected = rows as u64 * (cols / ty.block_len() * ty.block_bytes()) as u64;
        if bytes.len() as u64 != expected {
            let (name, found) = (ty.name(), bytes.len());
            let message = format!("{rows} rows of {cols} {name} weights take {expected} bytes, found {found}");
            return Err(Error::bad_file(message));
        }
        Ok(Self { ty, rows, cols, bytes })
    }

    /// The bytes of one row.
    pub fn row(&self, row: usize) -> &'a [u8] {
        let stride = self.cols / self.ty.block_len() * self.ty.block_bytes();
        &self.bytes[row * stride..][..stride]
    }

    /// Some rows of it.
    pub(crate) fn rows(&self, rows: std::ops::Range<usize>) -> Self {
        let stride = self.cols / self.ty.block_len() * self.ty.block_bytes();
        Self { rows: rows.len(), bytes: &self.bytes[rows.start * stride..rows.end * stride], ..*self }
    }

    /// The bytes of `PIECE` weights.
    pub(crate) fn piece_bytes(&self) -> usize {
        PIECE / self.ty.block_len() * self.ty.block_bytes()
    }
}

/// `out = w · x` with `w` `[rows, cols]`, `x` `[cols]`, `out` `[rows]`.
///
/// A piece of a row at a time becomes f32, never the whole matrix.
///
/// # Errors
/// None for a [`Matrix`] made by [`Matrix::new`].
///
/// # Panics
/// If `x` or `out` has another length.
pub fn mat_vec(w: &Matrix, x: &[f32], out: &mut [f32]) -> Result<()> {
    assert_eq!((w.cols, w.rows), (x.len(), out.len()), "shape of mat_vec");
    let mut piece = [0.0; PIECE];
    for (row, out) in out.iter_mut().enumerate() {
        let mut sums = Sums::default();
        for (index, bytes) in w.row(row).chunks(w.piece_bytes()).enumerate() {
            let start = index * PIECE;
            let piece = &mut piece[..PIECE.min(w.cols - start)];
            dequantize(w.ty, bytes, piece)?;
            sums.add(piece, &x[start..][..piece.len()]);
        }
        *out = sums.total();
    }
    Ok(())
}

/// A dot product computed in pieces: parallel partial sums in vectors.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    lanes: [F32x4; 4],
}

impl Default for Sums {
    fn default() -> Self {
        Self { lanes: [F32x4::zero(); 4] }
    }
}

impl Sums {
    const LANES: usize = 16;

    /// Adds `Σ a[i] · b[i]`. Every call but the last must have a multiple of 16 elements, so that the order of
    /// the sums does not depend on where the vectors were cut.
    #[inline(always)]
    pub fn add(&mut self, a: &[f32], b: &[f32]) {
        let (a, a_rest) = a.as_chunks::<{ Self::LANES }>();
        let (b, b_rest) = b.as_chunks::<{ Self::LANES }>();
        let mut lanes = self.lanes;
        for (a, b) in a.iter().zip(b) {
            lanes = Self::sum(lanes, a, b);
        }
        if !a_rest.is_empty() {
            let mut last = [[0.0; Self::LANES]; 2];
            last[0][..a_rest.len()].copy_from_slice(a_rest);
            last[1][..b_rest.len()].copy_from_slice(b_rest);
            lanes = Self::sum(lanes, &last[0], &last[1]);
        }
        self.lanes = lanes;
    }

    #[inline(always)]
    fn sum([s, t, u, v]: [F32x4; 4], a: &[f32; Self::LANES], b: &[f32; Self::LANES]) -> [F32x4; 4] {
        let [a, b]: [[[f32; 4]; 4]; 2] = [bytemuck::cast(*a), bytemuck::cast(*b)];
        let add = |sum: F32x4, of: usize| sum.add_products(F32x4::new(&a[of]), F32x4::new(&b[of]));
        [add(s, 0), add(t, 1), add(u, 2), add(v, 3)]
    }

    /// The sum of the lanes, pairwise.
    #[inline(always)]
    pub fn total(self) -> f32 {
        let [a, b, c, d] = self.lanes;
        let [a, b, c, d] = a.plus(c).plus(b.plus(d)).to_array();
        (a + c) + (b + d)
    }
}

/// `Σ a[i] · b[i]`.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = Sums::default();
    sums.add(a, b);
    sums.total()
}
