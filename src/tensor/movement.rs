//! Copies in another order. Every type but GGUF blocks is copied bit for bit.
//!
//! | operation | inputs | options |
//! |---|---|---|
//! | `transpose` | x | `{axes?: number[]}`: axis i of y is axis `axes[i]` of x; without it the last two are swapped |
//! | `narrow` | x | `{axis: number, start: number, length: number}` |
//! | `concat` | one or more tensors | `{axis: number}` |
//! | `expand` | x | `{shape: number[]}`: x is broadcast to this shape |
//!
//! A negative axis counts from the last, which is -1.

use super::elementwise::{broadcast_strides, element};
use super::{Tape, Tensor, describe};
use crate::kernels::movement::{self, Move};
use crate::{Error, Result};

/// Options of [`transpose`].
#[derive(Debug, Clone, Default)]
pub struct TransposeOptions {
    /// The axes of x in the order of the result.
    pub axes: Option<Vec<i32>>,
}

/// Options of [`narrow`].
#[derive(Debug, Clone)]
pub struct NarrowOptions {
    /// The axis to slice.
    pub axis: i32,
    /// The first element that is kept.
    pub start: u32,
    /// Elements that are kept.
    pub length: u32,
}

/// Options of [`concat()`].
#[derive(Debug, Clone)]
pub struct ConcatOptions {
    /// The axis along which tensors are joined.
    pub axis: i32,
}

/// Options of [`expand`].
#[derive(Debug, Clone)]
pub struct ExpandOptions {
    /// The shape of the result.
    pub shape: Vec<u32>,
}

/// The axis that a number means: negative ones count from the end.
pub(super) fn axis_of(op: &str, x: &Tensor, axis: i32) -> Result<usize> {
    let rank = x.shape.len();
    let index = if axis < 0 { i64::from(axis) + rank as i64 } else { i64::from(axis) };
    usize::try_from(index)
        .ok()
        .filter(|&index| index < rank)
        .ok_or_else(|| Error::invalid_argument(format!("{op}: x is {} and has no axis {axis}", x.describe())))
}

/// Strides of a contiguous tensor, in elements.
pub(super) fn strides(shape: &[u32]) -> Vec<u32> {
    (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect()
}

fn moved(op: &str, x: &Tensor, y: &Tensor) -> Result<Move> {
    Ok(Move { x: x.slice(), y: y.slice(), halves: is_half(op, x)? })
}

/// Whether elements have 16 bits.
pub(super) fn is_half(op: &str, x: &Tensor) -> Result<bool> {
    let element = element(x.dtype);
    let refused = || Error::invalid_argument(format!("{op}: x is {}: blocks cannot be moved", x.describe()));
    element.map(|element| element.is_half()).ok_or_else(refused)
}

/// x with its axes in another order.
///
/// # Errors
/// `invalid_argument` where `axes` are not those of x, each once, and for blocks of a GGUF type.
pub fn transpose(tape: &mut Tape, x: &Tensor, options: &TransposeOptions) -> Result<Tensor> {
    let rank = x.shape.len();
    let axes: Vec<usize> = match &options.axes {
        Some(axes) => axes.iter().map(|&axis| axis_of("transpose", x, axis)).collect::<Result<_>>()?,
        None if rank < 2 => return Err(unfit("transpose", x, "it has no two axes to change places")),
        None => (0..rank - 2).chain([rank - 1, rank - 2]).collect(),
    };
    if axes.len() != rank || (0..rank).any(|axis| !axes.contains(&axis)) {
        return Err(unfit("transpose", x, &format!("axes {axes:?} are not each of its axes once")));
    }
    is_half("transpose", x)?;
    let own = strides(&x.shape);
    let shape: Vec<u32> = axes.iter().map(|&axis| x.shape[axis]).collect();
    let permuted: Vec<u32> = axes.iter().map(|&axis| own[axis]).collect();
    let y = tape.output(x.dtype, &shape)?;
    tape.push(movement::transpose(&moved("transpose", x, &y)?, &shape, &permuted));
    Ok(y)
}

/// `length` elements of an axis, from `start` on.
///
/// # Errors
/// `invalid_argument` where x has no such elements, and for blocks of a GGUF type.
pub fn narrow(tape: &mut Tape, x: &Tensor, options: &NarrowOptions) -> Result<Tensor> {
    let &NarrowOptions { axis, start, length } = options;
    let axis = axis_of("narrow", x, axis)?;
    if length == 0 || start.checked_add(length).is_none_or(|end| end > x.shape[axis]) {
        return Err(unfit("narrow", x, &format!("{length} elements from {start} on are not in axis {axis}")));
    }
    is_half("narrow", x)?;
    let mut shape = x.shape.clone();
    shape[axis] = length;
    let y = tape.output(x.dtype, &shape)?;
    let own = strides(&x.shape);
    tape.push(movement::narrow(&moved("narrow", x, &y)?, start * own[axis], &shape, &own));
    Ok(y)
}

/// The tensors one after the other along an axis; one dispatch each.
///
/// # Errors
/// `invalid_argument` for no tensor, where types or other axes differ, and for blocks of a GGUF type.
pub fn concat(tape: &mut Tape, inputs: &[&Tensor], options: &ConcatOptions) -> Result<Tensor> {
    let [first, others @ ..] = inputs else {
        return Err(Error::invalid_argument("concat: no tensors are given"));
    };
    let axis = axis_of("concat", first, options.axis)?;
    let halves = is_half("concat", first)?;
    let mut shape = first.shape.clone();
    for other in others {
        let fits = |at: usize| at == axis || other.shape[at] == first.shape[at];
        let same_rank = other.shape.len() == shape.len() && other.dtype == first.dtype;
        if !same_rank || !(0..shape.len()).all(fits) {
            return Err(unfit("concat", first, &format!("{} does not fit to it along axis {axis}", other.describe())));
        }
        shape[axis] = shape[axis].saturating_add(other.shape[axis]);
    }
    let y = tape.output(first.dtype, &shape)?;
    let rows: u32 = shape[..axis].iter().product();
    let inner: u32 = shape[axis + 1..].iter().product();
    let mut start = 0;
    for x in inputs {
        let columns = x.shape[axis] * inner;
        let of = Move { x: x.slice(), y: y.slice(), halves };
        tape.push(movement::concat(&of, [rows, columns], shape[axis] * inner, start));
        start += columns;
    }
    Ok(y)
}

/// x broadcast to a shape: aligned at the last axis, an axis of 1 is repeated.
///
/// # Errors
/// `invalid_argument` where x does not broadcast to it, and for blocks of a GGUF type.
pub fn expand(tape: &mut Tape, x: &Tensor, options: &ExpandOptions) -> Result<Tensor> {
    let shape = &options.shape;
    let fits = |(&own, &size): (&u32, &u32)| own == size || own == 1;
    if x.shape.len() > shape.len() || !x.shape.iter().rev().zip(shape.iter().rev()).all(fits) {
        return Err(unfit("expand", x, &format!("it does not broadcast to {}", describe(x.dtype, shape))));
    }
    is_half("expand", x)?;
    let y = tape.output(x.dtype, shape)?;
    tape.push(movement::expand(&moved("expand", x, &y)?, shape, &broadcast_strides(&x.shape, shape)));
    Ok(y)
}

fn unfit(op: &str, x: &Tensor, why: &str) -> Error {
    Error::invalid_argument(format!("{op}: x is {}; {why}", x.describe()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;
    use crate::tensor::DType;

    #[test]
    fn what_does_not_fit_is_named() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[2, 3, 4]).unwrap();
        let z = tape.output(DType::F32, &[2, 4, 4]).unwrap();
        tape.take();
        let axes = |axes: &[i32]| TransposeOptions { axes: Some(axes.to_vec()) };
        let errors = [
            transpose(&mut tape, &x, &axes(&[0, 1, 1])),
            transpose(&mut tape, &x, &axes(&[0, 1])),
            narrow(&mut tape, &x, &NarrowOptions { axis: 1, start: 2, length: 2 }),
            narrow(&mut tape, &x, &NarrowOptions { axis: -4, start: 0, length: 1 }),
            concat(&mut tape, &[&x, &z], &ConcatOptions { axis: 0 }),
            expand(&mut tape, &x, &ExpandOptions { shape: vec![2, 6, 4] }),
        ];
        let messages = [
            "transpose: x is [2, 3, 4] f32; axes [0, 1, 1] are not each of its axes once",
            "transpose: x is [2, 3, 4] f32; axes [0, 1] are not each of its axes once",
            "narrow: x is [2, 3, 4] f32; 2 elements from 2 on are not in axis 1",
            "narrow: x is [2, 3, 4] f32 and has no axis -4",
            "concat: x is [2, 3, 4] f32; [2, 4, 4] f32 does not fit to it along axis 0",
            "expand: x is [2, 3, 4] f32; it does not broadcast to [2, 6, 4] f32",
        ];
        for (error, message) in errors.into_iter().zip(messages) {
            assert_eq!(error.unwrap_err().message(), message);
        }
        assert!(tape.take().0.is_empty());
        assert_eq!(transpose(&mut tape, &x, &TransposeOptions::default()).unwrap().shape, [2, 4, 3]);
        assert_eq!(concat(&mut tape, &[&x, &z], &ConcatOptions { axis: -2 }).unwrap().shape, [2, 7, 4]);
    }
}
