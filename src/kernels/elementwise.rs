//! Elementwise operations with broadcasting: a chain of up to 16 steps in one dispatch.

use serde::Deserialize;

/// An elementwise operation. The names are those of the API; the order is that of the shader's opcodes, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Op {
    /// a
    Copy,
    /// −a
    Neg,
    /// |a|
    Abs,
    /// e^a
    Exp,
    /// Natural logarithm.
    Log,
    /// √a
    Sqrt,
    /// 1/√a
    Rsqrt,
    /// sin a, a in radians: within 1e-6 for every finite a.
    Sin,
    /// cos a, likewise.
    Cos,
    /// tanh a
    Tanh,
    /// 1 / (1 + e^−a)
    Sigmoid,
    /// max(a, 0)
    Relu,
    /// a · sigmoid(a)
    Silu,
    /// a/2 · (1 + tanh(√(2/π) (a + 0.044715 a³))): the tanh form (Hendrycks and Gimpel 2016, arXiv 1606.08415)
    Gelu,
    /// a/2 · (1 + erf(a/√2)): the exact form
    GeluErf,
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// a / b
    Div,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// a^b; NaN for a negative a and a b that is no integer.
    Pow,
    /// a · b, where b is a number.
    Scale,
    /// 1 if a = b, else 0; so the others.
    Equal,
    /// a ≠ b
    NotEqual,
    /// a < b
    Less,
    /// a ≤ b
    LessEqual,
    /// a > b
    Greater,
    /// a ≥ b
    GreaterEqual,
    /// b if a ≠ 0, else c.
    Where,
}

impl Op {
    /// Every operation, in the order of their codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 30] = [
        Self::Copy, Self::Neg, Self::Abs, Self::Exp, Self::Log, Self::Sqrt, Self::Rsqrt, Self::Sin, Self::Cos,
        Self::Tanh, Self::Sigmoid, Self::Relu, Self::Silu, Self::Gelu, Self::GeluErf, Self::Add, Self::Sub, Self::Mul,
        Self::Div, Self::Min, Self::Max, Self::Pow, Self::Scale, Self::Equal, Self::NotEqual, Self::Less,
        Self::LessEqual, Self::Greater, Self::GreaterEqual, Self::Where,
    ];

    /// The opcode in the shader.
    pub const fn code(self) -> u32 {
        self as u32 + 1
    }

    /// Arguments it takes.
    pub const fn arity(self) -> usize {
        match self.code() {
            1..=15 => 1,
            16..=29 => 2,
            _ => 3,
        }
    }

    /// Whether it gives 1 or 0.
    pub const fn is_comparison(self) -> bool {
        matches!(self.code(), 24..=29)
    }
}

/// An argument of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// The input of this number.
    Input(u32),
    /// The result of this step.
    Step(u32),
    /// The same number for every element.
    Number(f32),
}
