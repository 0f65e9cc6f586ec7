//! Reductions along an axis, argmax and top-k.
//!
//! | operation | inputs | options | gives |
//! |---|---|---|---|
//! | `reduce` | x | `{op: "sum" \| "mean" \| "product" \| "max" \| "min", axis?, keepDims?}` | f32 |
//! | `argmax` | x | `{axis?, keepDims?}` | u32 |
//! | `topK` | x | `{k}` | values f32 and indices u32 |
//!
//! All inputs are f32. A negative axis counts from the last one; without an axis the whole tensor is one line.

use serde::Deserialize;

use super::norm::check_float;
use super::{DType, Tape, Tensor, rows_and_cols};
use crate::kernels::reduce::{self as kernel, Operation, View};
use crate::kernels::top_k::{self, Chosen, MAX_K};
use crate::{Error, Result};

/// The kinds of reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReduceOp {
    /// Adds up.
    Sum,
    /// The sum divided by the length.
    Mean,
    /// Multiplies.
    Product,
    /// Takes the largest.
    Max,
    /// Takes the smallest.
    Min,
}

/// Options of [`reduce`].
#[derive(Debug, Clone)]
pub struct ReduceOptions {
    /// The kind of reduction.
    pub op: ReduceOp,
    /// Along which axis; the whole tensor if it is not given.
    pub axis: Option<i32>,
    /// Keep the axis, with length 1.
    pub keep_dims: bool,
}

/// Options of [`argmax`].
#[derive(Debug, Clone, Default)]
pub struct ArgmaxOptions {
    /// Along which axis; the whole tensor if it is not given.
    pub axis: Option<i32>,
    /// Keep the axis, with length 1.
    pub keep_dims: bool,
}

/// Options of [`top_k()`].
#[derive(Debug, Clone)]
pub struct TopKOptions {
    /// How many, at most 256.
    pub k: u32,
}

/// Sum, mean, product, largest or smallest of x, f32, along an axis → f32. What becomes of NaN is up to the device.
///
/// # Errors
/// `invalid_argument` where types or options do not fit.
pub fn reduce(tape: &mut Tape, x: &Tensor, options: &ReduceOptions) -> Result<Tensor> {
    let (view, shape) = reduced("reduce", x, options.axis, options.keep_dims)?;
    let operation = match options.op {
        ReduceOp::Sum | ReduceOp::Mean => Operation::Sum,
        ReduceOp::Product => Operation::Product,
        ReduceOp::Max => Operation::Max,
        ReduceOp::Min => Operation::Min,
    };
    let divisor = if options.op == ReduceOp::Mean { view.length as f32 } else { 1.0 };
    let parts = view.parts();
    let y = tape.output(DType::F32, &shape)?;
    let (mut last, mut source) = (view, x.slice());
    if parts > 1 {
        last.length = parts;
        source = tape.scratch(4 * u64::from(view.lines()) * u64::from(parts))?;
        let dispatch = kernel::reduce(tape.caps(), (operation, 1.0), view, parts, x.slice(), source);
        tape.push(dispatch);
    }
    let dispatch = kernel::reduce(tape.caps(), (operation, divisor), last, 1, source, y.slice());
    tape.push(dispatch);
    Ok(y)
}

/// The index of the largest of x, f32, along an axis → u32: the lowest index among equals; NaN is less than all.
///
/// # Errors
/// `invalid_argument` where types or options do not fit.
pub fn argmax(tape: &mut Tape, x: &Tensor, options: &ArgmaxOptions) -> Result<Tensor> {
    let (view, shape) = reduced("argmax", x, options.axis, options.keep_dims)?;
    let y = tape.output(DType::U32, &shape)?;
    let dispatch = kernel::argmax_axis(tape.caps(), view, x.slice(), y.slice());
    tape.push(dispatch);
    Ok(y)
}

/// The k largest of the last axis of x `[.., n]`, f32, in descending order → values `[.., k]` f32 and their
/// indices `[.., k]` u32: the lowest index first among equals; NaN is less than all, and -0 is given as 0.
///
/// # Errors
/// `invalid_argument` where types do not fit, and for k above 256 or n.
pub fn top_k(tape: &mut Tape, x: &Tensor, options: &TopKOptions) -> Result<[Tensor; 2]> {
    check_float("topK", "x", x)?;
    let ([rows, length], k) = (<[u32; 2]>::from(rows_and_cols(&x.shape)), options.k);
    if x.shape.is_empty() || k == 0 || k > length.min(MAX_K) {
        let most = format!("k must be from 1 to {}", length.min(MAX_K));
        return Err(Error::invalid_argument(format!("topK: x is {} and k is {k}; {most}", x.describe())));
    }
    let mut shape = x.shape.clone();
    shape[x.shape.len() - 1] = k;
    let [values, indices] = [tape.output(DType::F32, &shape)?, tape.output(DType::U32, &shape)?];
    let to = Chosen { values: values.slice(), indices: indices.slice() };
    let parts = top_k::parts(length);
    if parts == 1 {
        tape.push(top_k::top_k([rows, length], 1, k, x.slice(), tape.dummy(), to));
    } else {
        let bytes = 4 * u64::from(rows) * u64::from(parts) * u64::from(k);
        let between = Chosen { values: tape.scratch(bytes)?, indices: tape.scratch(bytes)? };
        tape.push(top_k::top_k([rows, length], parts, k, x.slice(), tape.dummy(), between));
        tape.push(top_k::top_k_of_chosen([rows, parts * k], k, between, to));
    }
    Ok([values, indices])
}

/// How x lies around an axis, and the shape without it.
fn reduced(op: &str, x: &Tensor, axis: Option<i32>, keep_dims: bool) -> Result<(View, Vec<u32>)> {
    check_float(op, "x", x)?;
    let Some(axis) = axis else {
        let shape = if keep_dims { vec![1; x.shape.len()] } else { Vec::new() };
        return Ok((View { outer: 1, length: x.len(), inner: 1 }, shape));
    };
    let (axis, view) = view_of(op, x, axis)?;
    let mut shape = x.shape.clone();
    if keep_dims {
        shape[axis] = 1;
    } else {
        shape.remove(axis);
    }
    Ok((view, shape))
}

/// The axis, counted from 0, and how x lies around it.
pub(super) fn view_of(op: &str, x: &Tensor, axis: i32) -> Result<(usize, View)> {
    let rank = x.shape.len();
    let counted = if axis < 0 { i64::from(axis) + rank as i64 } else { axis.into() };
    let found = usize::try_from(counted).ok().filter(|&axis| axis < rank);
    let Some(axis) = found else {
        let why = format!("x is {} with {rank} axes, it has no axis {axis}", x.describe());
        return Err(Error::invalid_argument(format!("{op}: {why}")));
    };
    let (outer, inner) = (x.shape[..axis].iter().product(), x.shape[axis + 1..].iter().product());
    Ok((axis, View { outer, length: x.shape[axis], inner }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    #[test]
    fn axes_are_counted_from_either_end() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[2, 3, 4]).unwrap();
        let view = View { outer: 2, length: 3, inner: 4 };
        assert_eq!(reduced("reduce", &x, Some(1), false).unwrap(), (view, vec![2, 4]));
        assert_eq!(reduced("reduce", &x, Some(-2), true).unwrap(), (view, vec![2, 1, 4]));
        assert_eq!(reduced("reduce", &x, None, false).unwrap().1, Vec::<u32>::new());
        for axis in [3, -4, i32::MIN, i32::MAX] {
            let error = reduced("reduce", &x, Some(axis), false).unwrap_err();
            assert!(error.message().starts_with("reduce: x is [2, 3, 4] f32 with 3 axes"), "{error}");
        }
        let error = top_k(&mut tape, &x, &TopKOptions { k: 5 }).unwrap_err();
        assert_eq!(error.message(), "topK: x is [2, 3, 4] f32 and k is 5; k must be from 1 to 4");
    }

    #[test]
    fn long_lines_are_cut_where_they_are_few() {
        let mut tape = Tape::new(Caps::baseline());
        for (shape, dispatches) in [([1, 1 << 18], 2), ([3, 1 << 18], 2), ([8192, 4096], 1), ([3, 1000], 1)] {
            let x = tape.output(DType::F32, &shape).unwrap();
            reduce(&mut tape, &x, &ReduceOptions { op: ReduceOp::Mean, axis: Some(1), keep_dims: false }).unwrap();
            assert_eq!(tape.take().1.len(), dispatches, "{shape:?}");
        }
    }
}
