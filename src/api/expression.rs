//! Expressions for `Tensor::fuse`: what to compute for each element, as steps that one dispatch runs.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::rc::Rc;

use crate::kernels::elementwise::{Arg, Op, Step};

/// Something computed for each element: an input of [`Tensor::fuse`](crate::Tensor::fuse), or an operation on others
/// and on numbers. A clone is the same, and is computed once.
#[derive(Debug, Clone)]
pub struct Expression(Rc<Node>);

#[derive(Debug)]
enum Node {
    Input(u32),
    Step(Op, Vec<Value>),
}

/// An argument of an [`Expression`]: another one, or the same number for every element.
#[derive(Debug, Clone)]
pub enum Value {
    /// Another one.
    Expression(Expression),
    /// A number.
    Number(f32),
}

impl From<Expression> for Value {
    fn from(expression: Expression) -> Self {
        Self::Expression(expression)
    }
}

impl From<&Expression> for Value {
    fn from(expression: &Expression) -> Self {
        Self::Expression(expression.clone())
    }
}

impl From<f32> for Value {
    fn from(number: f32) -> Self {
        Self::Number(number)
    }
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident: $op:ident,)*) => {
        $($(#[$doc])* pub fn $name(&self) -> Self { Self::step(Op::$op, [self.into()]) })*
    };
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident: $op:ident,)*) => {
        $($(#[$doc])* pub fn $name(&self, y: impl Into<Value>) -> Self {
            Self::step(Op::$op, [self.into(), y.into()])
        })*
    };
}

impl Expression {
    unary! {
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
        /// sin x, x in radians.
        sin: Sin,
        /// cos x, x in radians.
        cos: Cos,
        /// tanh x
        tanh: Tanh,
        /// 1 / (1 + e^−x)
        sigmoid: Sigmoid,
        /// max(x, 0)
        relu: Relu,
        /// x · sigmoid(x)
        silu: Silu,
        /// GELU in its tanh form.
        gelu: Gelu,
        /// GELU in its exact form.
        gelu_erf: GeluErf,
    }

    binary! {
        /// The smaller of x and y.
        min: Min,
        /// The larger of x and y.
        max: Max,
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

    /// y where x is not 0, else z.
    pub fn select(&self, y: impl Into<Value>, z: impl Into<Value>) -> Self {
        Self::step(Op::Where, [self.into(), y.into(), z.into()])
    }

    /// The input of this number.
    pub(super) fn input(index: u32) -> Self {
        Self(Node::Input(index).into())
    }

    /// The steps that compute it, each expression once; the last is the result.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut plan = Plan::default();
        let last = plan.place(self);
        if plan.steps.is_empty() {
            plan.steps.push(Step::new(Op::Copy, &[last]));
        }
        plan.steps
    }

    fn step<const N: usize>(op: Op, args: [Value; N]) -> Self {
        Self(Node::Step(op, args.into()).into())
    }
}

/// Steps so far, and which expression each computes.
#[derive(Default)]
struct Plan {
    steps: Vec<Step>,
    done: Vec<*const Node>,
}

impl Plan {
    fn place(&mut self, expression: &Expression) -> Arg {
        let (op, args) = match &*expression.0 {
            Node::Input(index) => return Arg::Input(*index),
            Node::Step(op, args) => (*op, args),
        };
        let node = Rc::as_ptr(&expression.0);
        if let Some(index) = self.done.iter().position(|&done| done == node) {
            return Arg::Step(index as u32);
        }
        let args: Vec<Arg> = args.iter().map(|arg| self.argument(arg)).collect();
        self.steps.push(Step::new(op, &args));
        self.done.push(node);
        Arg::Step(self.steps.len() as u32 - 1)
    }

    fn argument(&mut self, value: &Value) -> Arg {
        match value {
            Value::Expression(expression) => self.place(expression),
            Value::Number(number) => Arg::Number(*number),
        }
    }
}

impl Neg for Expression {
    type Output = Self;

    fn neg(self) -> Self {
        Self::step(Op::Neg, [self.into()])
    }
}

macro_rules! operators {
    ($($name:ident $method:ident,)*) => {$(
        impl<T: Into<Value>> $name<T> for Expression {
            type Output = Self;

            fn $method(self, y: T) -> Self {
                Self::step(Op::$name, [self.into(), y.into()])
            }
        }

        impl $name<Expression> for f32 {
            type Output = Expression;

            fn $method(self, y: Expression) -> Expression {
                Expression::step(Op::$name, [self.into(), y.into()])
            }
        }
    )*};
}

operators! {
    Add add,
    Sub sub,
    Mul mul,
    Div div,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_twice_is_computed_once() {
        let [a, b] = [0, 1].map(Expression::input);
        let twice = a.clone() * 2.0;
        let steps = (twice.clone().silu() * b + twice).steps();
        let ops: Vec<Op> = steps.iter().map(|step| step.op).collect();
        assert_eq!(ops, [Op::Mul, Op::Silu, Op::Mul, Op::Add]);
        assert_eq!(steps[3].args, [Arg::Step(2), Arg::Step(0)]);
        assert_eq!((1.0 - a.clone()).steps()[0].args, [Arg::Number(1.0), Arg::Input(0)]);
        assert_eq!(a.steps(), [Step::new(Op::Copy, &[Arg::Input(0)])]);
    }
}
