//! Products of matrices.

use super::elementwise::{Step, fuse_in_place};
use super::{DType, Tape, Tensor, quantised};
use crate::kernels::elementwise::{Arg, Op};
use crate::kernels::mat_mul_dense::{Activation, MatMulDense, Params, Precision, Stored, Weights, mat_mul_dense};
use crate::kernels::spec::Slice;
use crate::{Error, Result};

/// Axes before the last two.
const MAX_BATCH: usize = super::MAX_RANK - 2;

/// Options of [`matmul`].
#[derive(Debug, Clone, Default)]
pub struct MatmulOptions {
    /// a is `[.., k, m]`.
    pub transpose_a: bool,
    /// b is `[.., n, k]`.
    pub transpose_b: bool,
    /// Applied to the product with its bias.
    pub activation: Activation,
    /// `fast` allows f16 arithmetic where the device has `shader-f16`.
    pub precision: Precision,
}

/// `y = activation(a · b + bias) + residual`: a `[.., m, k]` and b `[.., k, n]` (f32, f16 or bf16), bias `[n]` f32,
/// residual like y → y `[.., m, n]` f32. Axes before the last two must be equal, or 1 or missing in one of them.
///
/// b may also be a matrix in GGUF blocks, for an a that is not transposed: `[k, n]`, or `[n, k]` with `transpose_b`,
/// for which a must be f32.
///
/// # Errors
/// `invalid_argument` where shapes or types do not fit.
pub fn matmul(
    tape: &mut Tape,
    a: &Tensor,
    b: &Tensor,
    bias: Option<&Tensor>,
    residual: Option<&Tensor>,
    options: &MatmulOptions,
) -> Result<Tensor> {
    let problem = Product::new(a, b, [bias, residual], options)?;
    let y = tape.output(DType::F32, &problem.shape)?;
    problem.record(tape, y.slice())?;
    Ok(y)
}

/// A product whose inputs fit.
pub(super) struct Product<'a> {
    a: &'a Tensor,
    b: &'a Tensor,
    bias: Option<Slice>,
    residual: Option<&'a Tensor>,
    options: &'a MatmulOptions,
    /// a and b.
    stored: (Stored, Weights),
    params: Params,
    /// Shape of y.
    pub(super) shape: Vec<u32>,
}

impl<'a> Product<'a> {
    /// Checks the inputs, the last two of which are bias and residual.
    pub(super) fn new(
        a: &'a Tensor,
        b: &'a Tensor,
        [bias, residual]: [Option<&'a Tensor>; 2],
        options: &'a MatmulOptions,
    ) -> Result<Self> {
        let stored = stored(a.dtype).zip(weights(b.dtype));
        let stored = stored.ok_or_else(|| unfit(a, b, "a must be f32, f16 or bf16, and b that or in blocks"))?;
        let is_f32 = !options.transpose_b || stored.0 == Stored::F32;
        if matches!(stored.1, Weights::Blocks(_)) && (options.transpose_a || b.shape.len() != 2 || !is_f32) {
            let why = "b in blocks must have two axes, without transposeA, and with transposeB a must be f32";
            return Err(unfit(a, b, why));
        }
        let params = sizes(a, b, options).map_err(|why| unfit(a, b, &why))?;
        let shape = output_shape(a, b, options);
        check(bias, &[params.n], "bias")?;
        check(residual, &shape, "residual")?;
        Ok(Self { a, b, bias: bias.map(Tensor::slice), residual, options, stored, params, shape })
    }

    /// Writes the dispatches that fill y.
    pub(super) fn record(&self, tape: &mut Tape, y: Slice) -> Result<()> {
        let &Self { a, b, bias, residual, options, stored, params, .. } = self;
        if options.transpose_b && matches!(stored.1, Weights::Blocks(_)) {
            quantised::product(tape, (params.m, a.slice()), b, bias, y)?;
            return self.finish(tape, y);
        }
        let (activation, residual) = (options.activation, residual.map(Tensor::slice));
        let (a, b) = ((a.slice(), stored.0), (b.slice(), stored.1));
        let problem = MatMulDense { params, a, b, bias, activation, residual, y };
        let dispatch = mat_mul_dense(tape.caps(), options.precision, tape.dummy(), &problem);
        tape.push(dispatch);
        Ok(())
    }

    /// Activation and residual after a kernel that has neither.
    fn finish(&self, tape: &mut Tape, y: Slice) -> Result<()> {
        let activation = match self.options.activation {
            Activation::None => None,
            Activation::Relu => Some(Op::Relu),
            Activation::Silu => Some(Op::Silu),
            Activation::Gelu => Some(Op::Gelu),
        };
        let mut steps: Vec<Step> = activation.iter().map(|&op| Step::new(op, &[Arg::Input(0)])).collect();
        let y = Tensor { dtype: DType::F32, shape: self.shape.clone(), buffer: y.buffer };
        let inputs: Vec<&Tensor> = std::iter::once(&y).chain(self.residual).collect();
        if self.residual.is_some() {
            let before = if steps.is_empty() { Arg::Input(0) } else { Arg::Step(0) };
            steps.push(Step::new(Op::Add, &[before, Arg::Input(1)]));
        }
        if !steps.is_empty() {
            fuse_in_place(tape, &inputs, &steps)?;
        }
        Ok(())
    }
}

/// How a kernel of plain numbers reads this type.
pub(super) fn stored(dtype: DType) -> Option<Stored> {
    match dtype {
        DType::F32 => Some(Stored::F32),
        DType::F16 => Some(Stored::F16),
        DType::BF16 => Some(Stored::BF16),
        _ => None,
    }
}

/// How a kernel of products reads weights of this type.
pub(super) fn weights(dtype: DType) -> Option<Weights> {
    match dtype {
        DType::Quantised(ty) => Some(Weights::Blocks(ty)),
        _ => stored(dtype).map(Weights::Numbers),
    }
}

fn unfit(a: &Tensor, b: &Tensor, why: &str) -> Error {
    Error::invalid_argument(format!("matmul: a is {} and b {}; {why}", a.describe(), b.describe()))
}

/// Whether an optional f32 input has the shape that it must have.
fn check(input: Option<&Tensor>, shape: &[u32], what: &str) -> Result<()> {
    match input {
        Some(tensor) if tensor.dtype != DType::F32 || tensor.shape != shape => {
            let expected = super::describe(DType::F32, shape);
            let message = format!("matmul: {what} is {}, the product needs {expected}", tensor.describe());
            Err(Error::invalid_argument(message))
        }
        _ => Ok(()),
    }
}

/// The last two sizes, swapped if transposed.
fn matrix(tensor: &Tensor, transposed: bool) -> Option<[u32; 2]> {
    let &[.., rows, cols] = tensor.shape.as_slice() else { return None };
    Some(if transposed { [cols, rows] } else { [rows, cols] })
}

/// The axes before the last two, with ones in front.
fn batch(tensor: &Tensor) -> [u32; MAX_BATCH] {
    let axes = &tensor.shape[..tensor.shape.len() - 2];
    let mut batch = [1; MAX_BATCH];
    batch[MAX_BATCH - axes.len()..].copy_from_slice(axes);
    batch
}

/// Elements between neighbours along each batch axis of `tensor`; 0 where it has only one.
fn batch_strides(tensor: &Tensor) -> [u32; MAX_BATCH] {
    let batch = batch(tensor);
    let matrix: u32 = tensor.shape[tensor.shape.len() - 2..].iter().product();
    let stride = |axis: usize| matrix * batch[axis + 1..].iter().product::<u32>();
    std::array::from_fn(|axis| if batch[axis] == 1 { 0 } else { stride(axis) })
}

/// Sizes and strides of a product, or why there is none.
fn sizes(a: &Tensor, b: &Tensor, options: &MatmulOptions) -> std::result::Result<Params, String> {
    let both = matrix(a, options.transpose_a).zip(matrix(b, options.transpose_b));
    let ([mut m, k], [b_rows, n]) = both.ok_or("both must have two axes or more")?;
    if k != b_rows {
        return Err(format!("rows of a have {k} elements, columns of b {b_rows}"));
    }
    let (a_batch, b_batch) = (batch(a), batch(b));
    for (&of_a, &of_b) in a_batch.iter().zip(&b_batch) {
        if of_a != of_b && of_a != 1 && of_b != 1 {
            return Err(format!("an axis before the last two is {of_a} in a and {of_b} in b"));
        }
    }
    let mut batch: [u32; MAX_BATCH] = std::array::from_fn(|axis| a_batch[axis].max(b_batch[axis]));
    // One b for all of a is one tall matrix.
    if b_batch == [1; MAX_BATCH] && !options.transpose_a {
        m *= std::mem::replace(&mut batch, [1; MAX_BATCH]).iter().product::<u32>();
    }
    let (a_strides, b_strides) = (batch_strides(a), batch_strides(b));
    let [a_m, a_k] = if options.transpose_a { [1, m] } else { [k, 1] };
    let [b_k, b_n] = if options.transpose_b { [1, k] } else { [n, 1] };
    Ok(Params {
        m,
        n,
        k,
        batches: batch.iter().product(),
        batch_1: batch[1],
        batch_2: batch[2],
        a_m,
        a_k,
        a_0: a_strides[0],
        a_1: a_strides[1],
        a_2: a_strides[2],
        b_k,
        b_n,
        b_0: b_strides[0],
        b_1: b_strides[1],
        b_2: b_strides[2],
    })
}

/// The shape of y, given operands that fit.
fn output_shape(a: &Tensor, b: &Tensor, options: &MatmulOptions) -> Vec<u32> {
    let (a_batch, b_batch) = (batch(a), batch(b));
    let rank = a.shape.len().max(b.shape.len());
    let mut shape: Vec<u32> = (0..MAX_BATCH).map(|axis| a_batch[axis].max(b_batch[axis])).collect();
    shape.drain(..MAX_BATCH + 2 - rank);
    let m = matrix(a, options.transpose_a).map_or(1, |[m, _]| m);
    let n = matrix(b, options.transpose_b).map_or(1, |[_, n]| n);
    shape.extend([m, n]);
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    fn shape_of(a: &[u32], b: &[u32], options: &MatmulOptions) -> std::result::Result<Vec<u32>, String> {
        let mut tape = Tape::new(Caps::baseline());
        let [a, b] = [a, b].map(|shape| tape.output(DType::F32, shape).unwrap());
        let y = matmul(&mut tape, &a, &b, None, None, options);
        y.map(|y| y.shape).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn batches_are_broadcast() {
        let plain = MatmulOptions::default();
        assert_eq!(shape_of(&[2, 3], &[3, 5], &plain).unwrap(), [2, 5]);
        assert_eq!(shape_of(&[4, 1, 2, 3], &[7, 3, 5], &plain).unwrap(), [4, 7, 2, 5]);
        assert_eq!(shape_of(&[2, 3], &[6, 1, 2, 3, 5], &plain).unwrap(), [6, 1, 2, 2, 5]);
        let turned = MatmulOptions { transpose_a: true, transpose_b: true, ..plain };
        assert_eq!(shape_of(&[9, 3, 2], &[5, 3], &turned).unwrap(), [9, 2, 5]);
    }

    #[test]
    fn wrong_shapes_are_named() {
        let plain = MatmulOptions::default();
        let message = shape_of(&[2, 3], &[4, 5], &plain).unwrap_err();
        assert_eq!(message, "matmul: a is [2, 3] f32 and b [4, 5] f32; rows of a have 3 elements, columns of b 4");
        assert!(shape_of(&[3], &[3, 5], &plain).unwrap_err().contains("two axes"));
        let message = shape_of(&[2, 2, 3], &[3, 3, 5], &plain).unwrap_err();
        assert!(message.contains("an axis before the last two is 2 in a and 3 in b"));
        let mut tape = Tape::new(Caps::baseline());
        let a = tape.output(DType::F32, &[2, 3]).unwrap();
        let b = tape.output(DType::U32, &[3, 5]).unwrap();
        assert!(matmul(&mut tape, &a, &b, None, None, &plain).unwrap_err().message().contains("[3, 5] u32"));
        let b = tape.output(DType::F32, &[3, 5]).unwrap();
        let message = matmul(&mut tape, &a, &b, Some(&a), None, &plain).unwrap_err();
        assert!(message.message().contains("bias is [2, 3] f32, the product needs [5] f32"));
    }

    #[test]
    fn a_matrix_in_blocks_goes_either_way() {
        let mut tape = Tape::new(Caps::baseline());
        let mut made = |dtype, shape: &[u32]| tape.output(dtype, shape).unwrap();
        let blocks = DType::Quantised(crate::gguf::GgmlType::Q4_0);
        let (w, many) = (made(blocks, &[6, 64]), made(blocks, &[2, 6, 64]));
        let (narrow, wide, half) =
            (made(DType::F32, &[2, 9, 6]), made(DType::F32, &[9, 64]), made(DType::F16, &[9, 64]));
        let plain = MatmulOptions::default();
        let turned = MatmulOptions { transpose_b: true, ..plain };
        let of_a = MatmulOptions { transpose_a: true, ..plain };
        let mut shape = |a, b, options| match matmul(&mut tape, a, b, None, None, options) {
            Ok(y) => format!("{:?}", y.shape),
            Err(error) => error.message().split("; ").nth(1).unwrap().to_owned(),
        };
        assert_eq!(shape(&narrow, &w, &plain), "[2, 9, 64]");
        assert_eq!(shape(&wide, &w, &turned), "[9, 6]");
        assert_eq!(shape(&half, &w, &plain), "rows of a have 64 elements, columns of b 6");
        let wrong = "b in blocks must have two axes, without transposeA, and with transposeB a must be f32";
        assert_eq!(shape(&half, &w, &turned), wrong);
        assert_eq!(shape(&narrow, &many, &plain), wrong);
        assert_eq!(shape(&narrow, &w, &of_a), wrong);
        assert_eq!(shape(&wide, &w, &plain), "rows of a have 64 elements, columns of b 6");
        assert_eq!(shape(&w, &w, &plain), "a must be f32, f16 or bf16, and b that or in blocks");
    }

    #[test]
    fn one_b_for_all_is_one_tall_matrix() {
        let mut tape = Tape::new(Caps::baseline());
        let a = tape.output(DType::F32, &[4, 10, 3]).unwrap();
        let b = tape.output(DType::F32, &[3, 5]).unwrap();
        let params = sizes(&a, &b, &MatmulOptions::default()).unwrap();
        assert_eq!((params.m, params.batches), (40, 1));
    }
}
