//! Matrices in GGUF blocks: from their bytes to a tensor, and products with them.

use super::{DType, Tape, Tensor};
use crate::gguf::GgmlType;
use crate::kernels::fill::fill;
use crate::kernels::layout::{Matrix, PackedLayout};
use crate::kernels::mat_mul::{self, MatMul};
use crate::kernels::mat_vec::{self, Epilogue, MatVec};
use crate::kernels::repack::{Source, repack};
use crate::kernels::spec::{Dispatch, Extent, MAX_WORKGROUPS, Slice};
use crate::{Error, Result};

/// Up to this many rows of x are multiplied by `mat_vec`, as its columns.
pub const MAX_VECTORS: u32 = mat_vec::MAX_COLUMNS;

/// Options of the operation `quantised`.
#[derive(Debug, Clone)]
pub struct QuantisedOptions {
    /// Name of the type: `q4_k`.
    pub dtype: String,
    /// Axes of the matrix; rows run along the last.
    pub shape: Vec<u32>,
}

/// The packed tensor of GGUF blocks: raw, the bytes of a file in words (u32), as many as the shape takes.
///
/// # Errors
/// `invalid_argument` where type, shape and bytes do not fit.
pub fn from_blocks(tape: &mut Tape, raw: &Tensor, options: &QuantisedOptions) -> Result<Tensor> {
    let bad = |why: String| Error::invalid_argument(format!("quantised: {why}"));
    let Some(DType::Quantised(ty)) = DType::named(&options.dtype) else {
        return Err(bad(format!("'{}' is no type of blocks", options.dtype)));
    };
    if options.shape.iter().try_fold(1u32, |len, &axis| len.checked_mul(axis)).is_none() {
        return Err(bad(format!("{:?} has more than 2^32 - 1 weights", options.shape)));
    }
    let (rows, cols) = super::rows_and_cols(&options.shape);
    let bytes = PackedLayout::new(ty, rows, cols).raw_row_bytes() * u64::from(rows);
    if raw.dtype != DType::U32 || u64::from(raw.len()) != bytes.div_ceil(4) {
        let shape = super::describe(DType::Quantised(ty), &options.shape);
        return Err(bad(format!("{shape} takes {} u32, raw is {}", bytes.div_ceil(4), raw.describe())));
    }
    let mut tensor = quantised(tape, raw.slice(), ty, rows, cols)?;
    tensor.shape.clone_from(&options.shape);
    Ok(tensor)
}

/// The packed tensor `[rows, cols]` of the blocks that start at the first byte of `raw`, in whole words.
///
/// # Errors
/// `invalid_argument` for rows that are not whole blocks; `limit_exceeded` for more bytes than the device binds.
pub fn quantised(tape: &mut Tape, raw: Slice, ty: GgmlType, rows: u32, cols: u32) -> Result<Tensor> {
    let tensor = tape.output(DType::Quantised(ty), &[rows, cols])?;
    let layout = PackedLayout::new(ty, rows, cols);
    // Repacking adds parts of words to what is there, so that must be zero.
    tape.push(fill((layout.bytes() / 4) as u32, 0, tensor.slice()));
    let grid = match layout.grid() {
        Some(grid) => tape.constant(bytemuck::cast_slice(&grid.packed()))?,
        None => raw,
    };
    tape.push(repack(&layout, 0, rows, &Source { raw, offset: 0, grid }, tensor.slice()));
    Ok(tensor)
}

/// `y = x · Wᵀ + bias`, for x `[m, k]` f32, W `[n, k]` in blocks, bias `[n]` f32 → y `[m, n]` f32.
///
/// # Errors
/// `limit_exceeded` for more rows of x than the grid of one dispatch has.
pub(super) fn product(tape: &mut Tape, (m, x): (u32, Slice), w: &Tensor, bias: Option<Slice>, y: Slice) -> Result<()> {
    if m <= MAX_VECTORS {
        return vectors(tape, (m, x), w, &Vectors { norm: None, bias, epilogue: Epilogue::Store }, y);
    }
    let weights = matrix(w)?;
    let (x_stride, y_stride) = (weights.cols, weights.rows);
    let epilogue = Epilogue::Store;
    let problem = MatMul { x_rows: m, weights: &weights, x, x_stride, bias, epilogue, y, y_stride, y_offset: 0 };
    for dispatch in mat_mul::mat_mul(tape.caps(), tape.pass(), tape.dummy(), &problem) {
        let dispatch = fixed(dispatch, m)?;
        tape.push(dispatch);
    }
    Ok(())
}

/// The epilogue inputs of `mat_vec`, and its norm.
pub(super) struct Vectors {
    /// RMS norm of x before: its weight `[k]` f32 and its epsilon.
    pub norm: Option<(Slice, f32)>,
    /// `[n]` f32
    pub bias: Option<Slice>,
    /// The epilogue of the sums.
    pub epilogue: Epilogue,
}

/// The same for at most [`MAX_VECTORS`] rows, with the norm and epilogue of `mat_vec`.
pub(super) fn vectors(
    tape: &mut Tape,
    (m, x): (u32, Slice),
    w: &Tensor,
    &Vectors { norm, bias, epilogue }: &Vectors,
    y: Slice,
) -> Result<()> {
    let weights = matrix(w)?;
    let y_stride = if matches!(epilogue, Epilogue::Gate(_)) { weights.rows / 2 } else { weights.rows };
    let problem = MatVec { columns: m, norm, bias, epilogue, y_stride, ..MatVec::new(&weights, x, y) };
    let dispatches = mat_vec::mat_vec(tape.caps(), tape.pass(), tape.dummy(), &problem);
    dispatches.into_iter().for_each(|dispatch| tape.push(dispatch));
    Ok(())
}

fn matrix(w: &Tensor) -> Result<Matrix> {
    let DType::Quantised(ty) = w.dtype else {
        return Err(Error::invalid_argument(format!("a matrix in blocks is needed, found {}", w.describe())));
    };
    let (rows, cols) = super::rows_and_cols(&w.shape);
    Ok(Matrix::whole(ty, rows, cols, w.buffer))
}

/// The dispatch with a grid for exactly `m` tokens.
fn fixed(mut dispatch: Dispatch, m: u32) -> Result<Dispatch> {
    dispatch.grid = dispatch.grid.map(|extent| Extent::Fixed(extent.resolve(m)));
    if dispatch.grid.iter().any(|extent| extent.resolve(m) > MAX_WORKGROUPS) {
        let message = format!("matmul: {m} rows times a quantised matrix take more workgroups than one dispatch has");
        return Err(Error::new(crate::ErrorCode::LimitExceeded, message));
    }
    Ok(dispatch)
}
