//! Elements by index: gather, scatter-add and embedding.
//!
//! | operation | inputs | options |
//! |---|---|---|
//! | `take` | x, indices | `{axis?: number}` |
//! | `scatterAdd` | base, indices, values | `{axis?: number}` |
//! | `embedding` | weights, ids | `{}` |
//!
//! Indices are u32 or i32 tensors of any shape. The axis is 0 where it is left out; a negative one counts from the
//! last.

use super::movement::{axis_of, is_half};
use super::{DType, Tape, Tensor, elementwise};
use crate::kernels::elementwise::Op;
use crate::kernels::gather::gather_ids;
use crate::kernels::gather_axis::{self, Form, IndexedAxis};
use crate::kernels::layout::Matrix;
use crate::kernels::sort_pairs;
use crate::kernels::spec::{MAX_WORKGROUPS, Slice};
use crate::{Error, ErrorCode, Result};

/// The bits of a NaN in f32.
const NAN: u32 = 0x7fc0_0000;

/// Options of [`take`] and [`scatter_add`].
#[derive(Debug, Clone, Default)]
pub struct AxisOptions {
    /// The axis that is indexed.
    pub axis: i32,
}

/// Elements of one axis of x: x `[..a, n, ..b]` and indices `[..s]` → y `[..a, ..s, ..b]` of the type of x. An index
/// from n on, or a negative one, gives NaN; in u32 4,294,967,295 and in i32 -2,147,483,648.
///
/// # Errors
/// `invalid_argument` where there is no such axis, where indices are not integers, where the result has more than five
/// axes, and for blocks of a GGUF type.
pub fn take(tape: &mut Tape, x: &Tensor, indices: &Tensor, options: &AxisOptions) -> Result<Tensor> {
    let (axis, shape) = indexed("take", x, indices, options)?;
    let form = if is_half("take", x)? { Form::Halves } else { Form::Words };
    let missing = match x.dtype {
        DType::F16 => 0x7e00,
        DType::BF16 => NAN >> 16,
        DType::U32 => u32::MAX,
        DType::I32 => 1 << 31,
        _ => NAN,
    };
    let y = tape.output(x.dtype, &shape)?;
    tape.push(gather_axis::gather_axis(&axis, form, missing, [x.slice(), indices.slice(), y.slice()]));
    Ok(y)
}

/// base with values added at indices: base `[..a, n, ..b]` f32, indices `[..s]`, values `[..a, ..s, ..b]` f32 → y like
/// base. Equal indices add up in their order, the same in every run. An index from n on, or a negative one, is
/// skipped.
///
/// # Errors
/// `invalid_argument` where there is no such axis, where indices are not integers, and where values have another shape
/// or type; `limit_exceeded` where the device does not bind 8 bytes for each index.
pub fn scatter_add(
    tape: &mut Tape,
    base: &Tensor,
    indices: &Tensor,
    values: &Tensor,
    options: &AxisOptions,
) -> Result<Tensor> {
    let (axis, shape) = indexed("scatterAdd", base, indices, options)?;
    if values.shape != shape || [base.dtype, values.dtype] != [DType::F32; 2] {
        let (base, values) = (base.describe(), values.describe());
        let message = format!("scatterAdd: base is {base} and values {values}; values must be {shape:?}, both f32");
        return Err(Error::invalid_argument(message));
    }
    let y = elementwise::unary(tape, Op::Copy, base)?;
    let pairs = sorted(tape, indices)?;
    let dispatches = gather_axis::scatter_add(&axis, [pairs, values.slice(), y.slice()]);
    dispatches.for_each(|dispatch| tape.push(dispatch));
    Ok(y)
}

/// Every index and its place, in the order of the indices, those of equal ones in order.
fn sorted(tape: &mut Tape, indices: &Tensor) -> Result<Slice> {
    let (count, bytes) = (indices.len(), 8 * u64::from(indices.len()));
    let first = tape.scratch(bytes)?;
    let second = if sort_pairs::fits_one_round(count) { tape.dummy() } else { tape.scratch(bytes)? };
    let (dispatches, pairs) = sort_pairs::sort_pairs(count, indices.slice(), [first, second]);
    dispatches.into_iter().for_each(|dispatch| tape.push(dispatch));
    Ok(pairs)
}

/// Rows of a matrix in f32: weights `[n, k]` (f32, f16, bf16 or blocks of a GGUF type) and ids `[..s]` → y `[..s, k]`
/// f32. An id from n on, or a negative one, gives a row of NaN.
///
/// # Errors
/// `invalid_argument` where weights are no matrix of such a type or ids are not integers; `limit_exceeded` for more
/// than 65,535 ids into blocks.
pub fn embedding(tape: &mut Tape, weights: &Tensor, ids: &Tensor) -> Result<Tensor> {
    let (axis, shape) = indexed("embedding", weights, ids, &AxisOptions::default())?;
    let form = match weights.dtype {
        DType::Quantised(_) => None,
        DType::F16 => Some(Form::F16ToF32),
        DType::BF16 => Some(Form::BF16ToF32),
        DType::F32 => Some(Form::Words),
        DType::U32 | DType::I32 => return Err(unfit("embedding", weights, ids, "weights must be floats or blocks")),
    };
    if weights.shape.len() != 2 {
        return Err(unfit("embedding", weights, ids, "weights must have two axes"));
    }
    if form.is_none() && ids.len() > MAX_WORKGROUPS {
        let message = format!("embedding: {} ids into blocks, at most {MAX_WORKGROUPS} are possible", ids.len());
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    let y = tape.output(DType::F32, &shape)?;
    match form {
        Some(form) => {
            tape.push(gather_axis::gather_axis(&axis, form, NAN, [weights.slice(), ids.slice(), y.slice()]));
        }
        None => dequantised_rows(tape, weights, ids, &y)?,
    }
    Ok(y)
}

fn dequantised_rows(tape: &mut Tape, weights: &Tensor, ids: &Tensor, y: &Tensor) -> Result<()> {
    let (DType::Quantised(ty), &[rows, cols]) = (weights.dtype, &weights.shape[..]) else {
        return Err(unfit("embedding", weights, ids, "weights must be a matrix in blocks"));
    };
    let matrix = Matrix::whole(ty, rows, cols, weights.buffer);
    let dispatches = gather_ids((ids.len(), ids.slice()), &matrix, y.slice(), NAN);
    dispatches.into_iter().for_each(|dispatch| tape.push(dispatch));
    Ok(())
}

/// The indexed axis, and the shape in which the indices take its place.
fn indexed(op: &str, x: &Tensor, indices: &Tensor, options: &AxisOptions) -> Result<(IndexedAxis, Vec<u32>)> {
    if !matches!(indices.dtype, DType::U32 | DType::I32) {
        return Err(unfit(op, x, indices, "indices must be u32 or i32"));
    }
    let at = axis_of(op, x, options.axis)?;
    let (before, after) = (&x.shape[..at], &x.shape[at + 1..]);
    let axis = IndexedAxis {
        outer: before.iter().product(),
        size: x.shape[at],
        inner: after.iter().product(),
        count: indices.len(),
    };
    Ok((axis, [before, &indices.shape, after].concat()))
}

fn unfit(op: &str, x: &Tensor, indices: &Tensor, why: &str) -> Error {
    Error::invalid_argument(format!("{op}: the tensor is {} and indices {}; {why}", x.describe(), indices.describe()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    #[test]
    fn sums_take_few_dispatches() {
        let of = |count: u32| {
            let mut tape = Tape::new(Caps::baseline());
            let base = tape.output(DType::F32, &[7]).unwrap();
            let indices = tape.output(DType::U32, &[count]).unwrap();
            let values = tape.output(DType::F32, &[count]).unwrap();
            scatter_add(&mut tape, &base, &indices, &values, &AxisOptions::default()).unwrap();
            tape.take().1.len()
        };
        // A copy, the rounds of the sort, and a dispatch for each 32,768 indices.
        let wanted = [1 + 1 + 1, 1 + 1 + 1, 1 + 4 + 1, 1 + 7 + 7, 1 + 9 + 128];
        assert_eq!([1, 1024, 1025, 200_000, 4 << 20].map(of), wanted);
    }

    #[test]
    fn shapes_are_checked() {
        let mut tape = Tape::new(Caps::baseline());
        let mut make = |dtype, shape: &[u32]| tape.output(dtype, shape).unwrap();
        let x = make(DType::F32, &[2, 3, 4]);
        let indices = make(DType::U32, &[5, 6]);
        let values = make(DType::F32, &[2, 5, 6, 4]);
        let axis = AxisOptions { axis: 1 };
        assert_eq!(take(&mut tape, &x, &indices, &axis).unwrap().shape, values.shape);
        assert_eq!(scatter_add(&mut tape, &x, &indices, &values, &axis).unwrap().shape, x.shape);
        let wrong = scatter_add(&mut tape, &x, &indices, &values, &AxisOptions::default()).unwrap_err();
        assert!(wrong.message().contains("[2, 5, 6, 4] f32; values must be [5, 6, 3, 4]"), "{}", wrong.message());
        let wrong = take(&mut tape, &x, &values, &axis).unwrap_err();
        assert!(wrong.message().contains("indices must be u32 or i32"));
        let wrong = embedding(&mut tape, &x, &indices).unwrap_err();
        assert!(wrong.message().contains("weights must have two axes"));
    }
}
