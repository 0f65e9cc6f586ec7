//! The same elements under another shape.

use super::elementwise::unary;
use super::{Tape, Tensor, check_shape, describe};
use crate::kernels::elementwise::Op;
use crate::{Error, Result};

/// Options of [`reshape`].
#[derive(Debug, Clone)]
pub struct ReshapeOptions {
    /// The shape of the result.
    pub shape: Vec<u32>,
}

/// A copy of x with another shape of as many elements. Every tensor has a buffer of its own, so that each can be freed.
///
/// # Errors
/// `invalid_argument` where the shape has another number of elements, and for blocks of a GGUF type.
pub fn reshape(tape: &mut Tape, x: &Tensor, options: &ReshapeOptions) -> Result<Tensor> {
    check_shape(x.dtype, &options.shape)?;
    let elements = options.shape.iter().product::<u32>();
    if elements != x.len() {
        let (from, to) = (x.describe(), describe(x.dtype, &options.shape));
        let message = format!("cannot reshape {from} ({} elements) to {to} ({elements})", x.len());
        return Err(Error::invalid_argument(message));
    }
    let copy = unary(tape, Op::Copy, x)?;
    Ok(Tensor { shape: options.shape.clone(), ..copy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;
    use crate::tensor::DType;

    #[test]
    fn sizes_stay() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F16, &[2, 3]).unwrap();
        let y = reshape(&mut tape, &x, &ReshapeOptions { shape: vec![3, 1, 2] }).unwrap();
        assert_eq!((y.dtype, y.shape.as_slice()), (DType::F16, &[3, 1, 2][..]));
        assert_ne!(x.buffer, y.buffer);
        let wrong = reshape(&mut tape, &x, &ReshapeOptions { shape: vec![7] }).unwrap_err();
        assert_eq!(wrong.message(), "cannot reshape [2, 3] f16 (6 elements) to [7] f16 (7)");
    }
}
