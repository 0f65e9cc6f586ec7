//! Operations on each element: one by one, or many in one dispatch.

use super::{DType, Expression, Tensor};
use crate::kernels::elementwise::{Arg, Op, Step};
use crate::tensor::{Tensor as Plain, elementwise};
use crate::{Error, Result};

/// The second operand of an operation: a tensor, or the same number for every element.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// A tensor, broadcast.
    Tensor(&'a Tensor),
    /// A number.
    Number(f32),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<f32> for Operand<'_> {
    fn from(number: f32) -> Self {
        Self::Number(number)
    }
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident: $op:ident,)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// `invalid_argument` for blocks of a GGUF type.
        pub fn $name(&self) -> Result<Tensor> {
            self.unary(Op::$op)
        }
    )*};
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident: $op:ident,)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// `invalid_argument` where shapes do not broadcast, and for blocks of a GGUF type.
        pub fn $name<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
            self.binary(Op::$op, other.into())
        }
    )*};
}

/// # Operations on each element
///
/// Shapes broadcast as in NumPy: aligned at the last axis, an axis of 1 is repeated. All arithmetic is f32; integers
/// are converted, exactly up to 2²⁴. Where all inputs are f16, or all bf16, so is the result (but that of a
/// comparison); otherwise it is f32.
impl Tensor {
    unary! {
        /// −x
        neg: Neg,
        /// |x|
        abs: Abs,
        /// e^x
        exp: Exp,
        /// Natural logarithm.
        log: Log,
        /// √x
        sqrt: Sqrt,
        /// 1 / √x
        rsqrt: Rsqrt,
        /// sin x, x in radians: within 1e-6 for every finite x.
        sin: Sin,
        /// cos x, x in radians: within 1e-6 for every finite x.
        cos: Cos,
        /// tanh x
        tanh: Tanh,
        /// 1 / (1 + e^−x)
        sigmoid: Sigmoid,
        /// max(x, 0)
        relu: Relu,
        /// x · sigmoid(x)
        silu: Silu,
        /// GELU in its tanh form: x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
        gelu: Gelu,
        /// GELU in its exact form: x/2 · (1 + erf(x/√2)).
        gelu_erf: GeluErf,
        /// A tensor of its own with the same numbers, bit for bit.
        copy: Copy,
    }

    binary! {
        /// x + y
        add: Add,
        /// x − y
        sub: Sub,
        /// x · y, element by element.
        mul: Mul,
        /// x / y
        div: Div,
        /// The smaller of x and y; [`Tensor::min`] is the smallest of one tensor.
        minimum: Min,
        /// The larger of x and y; [`Tensor::max`] is the largest of one tensor.
        maximum: Max,
        /// x^y; NaN for a negative x and a y that is no integer.
        pow: Pow,
        /// 1 where x = y, else 0.
        equal: Equal,
        /// 1 where x ≠ y, else 0.
        not_equal: NotEqual,
        /// 1 where x < y, else 0.
        less: Less,
        /// 1 where x ≤ y, else 0.
        less_equal: LessEqual,
        /// 1 where x > y, else 0.
        greater: Greater,
        /// 1 where x ≥ y, else 0.
        greater_equal: GreaterEqual,
    }

    /// a where this is not 0, else b; all three broadcast.
    ///
    /// # Errors
    /// `invalid_argument` where shapes do not broadcast, and for blocks of a GGUF type.
    pub fn select(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let others = [Some(a), Some(b)];
        self.make("where", &others, |tape| elementwise::select(tape, self.plain(), a.plain(), b.plain()))
    }

    /// The same numbers as another type: to the nearest, ties to even; to integers, the fraction is dropped and the
    /// value clamped to the range.
    ///
    /// # Errors
    /// `invalid_argument` from or to blocks of a GGUF type.
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        self.make("cast", &[], |tape| elementwise::cast(tape, self.plain(), dtype))
    }

    /// A formula over one to six tensors in a single dispatch, with up to 16 operations; nothing between is stored.
    ///
    /// ```no_run
    /// # fn swiglu(gate: &webgguf::Tensor, up: &webgguf::Tensor) -> webgguf::Result<webgguf::Tensor> {
    /// webgguf::Tensor::fuse([gate, up], |[gate, up]| gate.silu() * up)
    /// # }
    /// ```
    ///
    /// # Errors
    /// `invalid_argument` where shapes do not broadcast, for more than 16 operations, and for no or more than six
    /// tensors.
    pub fn fuse<const N: usize>(
        inputs: [&Tensor; N],
        formula: impl FnOnce([Expression; N]) -> Expression,
    ) -> Result<Tensor> {
        let (first, tape_inputs, steps) = parts(inputs, formula)?;
        first.make("fuse", &inputs.map(Some), |tape| elementwise::fuse(tape, &tape_inputs, &steps, None))
    }

    /// As [`Tensor::fuse`], with a result of this type.
    ///
    /// # Errors
    /// As [`Tensor::fuse`].
    pub fn fuse_as<const N: usize>(
        dtype: DType,
        inputs: [&Tensor; N],
        formula: impl FnOnce([Expression; N]) -> Expression,
    ) -> Result<Tensor> {
        let (first, tape_inputs, steps) = parts(inputs, formula)?;
        first.make("fuse", &inputs.map(Some), |tape| elementwise::fuse(tape, &tape_inputs, &steps, Some(dtype)))
    }

    /// As [`Tensor::fuse`], but the result goes into the first tensor, whose shape it must have.
    ///
    /// # Errors
    /// As [`Tensor::fuse`], and `invalid_argument` where the result has another shape than the first tensor.
    pub fn fuse_in_place<const N: usize>(
        inputs: [&Tensor; N],
        formula: impl FnOnce([Expression; N]) -> Expression,
    ) -> Result<()> {
        let (first, tape_inputs, steps) = parts(inputs, formula)?;
        let others = inputs.map(Some);
        first.record("fuse", &others, |tape| elementwise::fuse_in_place(tape, &tape_inputs, &steps)).map(drop)
    }

    fn unary(&self, op: Op) -> Result<Tensor> {
        self.make(&op.name(), &[], |tape| elementwise::unary(tape, op, self.plain()))
    }

    fn binary(&self, op: Op, other: Operand) -> Result<Tensor> {
        match other {
            Operand::Tensor(other) => {
                self.make(&op.name(), &[Some(other)], |tape| elementwise::binary(tape, op, self.plain(), other.plain()))
            }
            Operand::Number(number) => {
                let steps = [Step::new(op, &[Arg::Input(0), Arg::Number(number)])];
                self.make(&op.name(), &[], |tape| elementwise::fuse(tape, &[self.plain()], &steps, None))
            }
        }
    }
}

/// The first input, all of them as operations take them, and the steps of the formula.
fn parts<const N: usize>(
    inputs: [&Tensor; N],
    formula: impl FnOnce([Expression; N]) -> Expression,
) -> Result<(&Tensor, [&Plain; N], Vec<Step>)> {
    let first = *inputs.first().ok_or_else(|| Error::invalid_argument("fuse: no tensors are given"))?;
    let steps = formula(std::array::from_fn(|index| Expression::input(index as u32))).steps();
    Ok((first, inputs.map(Tensor::plain), steps))
}
