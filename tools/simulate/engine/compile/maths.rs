//! Expressions that compute.

use naga::{BinaryOperator, Expression, Handle, MathFunction, RelationalFunction, ScalarKind, TypeInner};

use super::super::code::{Alu, Arg, Kind, Op, Reg, Whole};
use super::super::layout::Unsupported;
use super::{Compiler, Frame};

/// `Math` with its arguments.
struct Call {
    fun: MathFunction,
    args: [Option<Handle<Expression>>; 4],
}

impl<'m> Compiler<'m> {
    pub(super) fn compute(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>) -> Result<(), Unsupported> {
        let n = self.size(frame, handle)?;
        match &frame.function.expressions[handle] {
            Expression::Splat { value, .. } => self.alu(frame, handle, Alu::Copy, &[*value]),
            Expression::Swizzle { vector, pattern, .. } => {
                let (a, d) = (self.value(frame, *vector)?, self.result(frame, handle)?);
                self.emit(Op::Swizzle { d, a, n, pattern: pattern.map(|part| part as u8) });
                Ok(())
            }
            Expression::Unary { op, expr } => {
                let f = Alu::Unary(*op, self.kind(frame, *expr));
                self.alu(frame, handle, f, &[*expr])
            }
            Expression::Binary { op, left, right } => self.binary(frame, handle, *op, [*left, *right]),
            Expression::Select { condition, accept, reject } => {
                self.alu(frame, handle, Alu::Select, &[*accept, *reject, *condition])
            }
            Expression::Relational { fun, argument } => {
                let f = match fun {
                    RelationalFunction::All => Whole::All,
                    RelationalFunction::Any => Whole::Any,
                    other => return Err(format!("{other:?}")),
                };
                self.whole(frame, handle, f, [*argument, *argument])
            }
            Expression::As { expr, kind, convert } => {
                let to = match kind {
                    ScalarKind::Sint => Kind::Signed,
                    ScalarKind::Uint => Kind::Unsigned,
                    ScalarKind::Float => Kind::Float,
                    ScalarKind::Bool => Kind::Bool,
                    other => return Err(format!("a conversion to {other:?}")),
                };
                let f = match convert {
                    Some(_) => Alu::Convert(self.kind(frame, *expr), to),
                    None => Alu::Copy,
                };
                self.alu(frame, handle, f, &[*expr])
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                self.math(frame, handle, &Call { fun: *fun, args: [Some(*arg), *arg1, *arg2, *arg3] })
            }
            other => Err(format!("the expression {other:?}")),
        }
    }

    fn arg(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>) -> Result<Arg, Unsupported> {
        let step = u32::from(self.size(frame, handle)? > 1);
        Ok(Arg { reg: self.value(frame, handle)?, step })
    }

    fn alu(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        f: Alu,
        operands: &[Handle<Expression>],
    ) -> Result<(), Unsupported> {
        let mut args = [Arg { reg: 0, step: 0 }; 3];
        for (arg, &operand) in args.iter_mut().zip(operands) {
            *arg = self.arg(frame, operand)?;
        }
        let (n, d) = (self.size(frame, handle)?, self.result(frame, handle)?);
        self.emit(Op::Alu { f, n, d, args });
        Ok(())
    }

    fn whole(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        f: Whole,
        [a, b]: [Handle<Expression>; 2],
    ) -> Result<(), Unsupported> {
        let n = self.size(frame, a)?;
        let (a, b, d) = (self.value(frame, a)?, self.value(frame, b)?, self.result(frame, handle)?);
        self.emit(Op::Whole { f, n, d, a, b });
        Ok(())
    }

    fn binary(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        op: BinaryOperator,
        [left, right]: [Handle<Expression>; 2],
    ) -> Result<(), Unsupported> {
        let is_matrix = |of| matches!(self.inner(frame, of), TypeInner::Matrix { .. });
        if is_matrix(left) || is_matrix(right) {
            return self.matrix(frame, handle, op, [left, right]);
        }
        let kind = self.kind(frame, left);
        let may_fuse = kind == Kind::Float && matches!(op, BinaryOperator::Add | BinaryOperator::Subtract);
        let fused = if may_fuse { self.fusable(frame, handle, op, [left, right]) } else { None };
        if let Some((f, operands)) = fused {
            return self.alu(frame, handle, f, &operands);
        }
        self.alu(frame, handle, Alu::Binary(op, kind), &[left, right])
    }

    /// A product that goes into a sum may be rounded or not: the seed decides.
    fn fusable(
        &self,
        frame: &Frame<'m>,
        handle: Handle<Expression>,
        op: BinaryOperator,
        [left, right]: [Handle<Expression>; 2],
    ) -> Option<(Alu, [Handle<Expression>; 3])> {
        let chosen = (self.seed ^ handle.index() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1;
        let product = |of: Handle<Expression>| match &frame.function.expressions[of] {
            Expression::Binary { op: BinaryOperator::Multiply, left, right } => {
                let plain = [left, right].iter().all(|of| !matches!(self.inner(frame, **of), TypeInner::Matrix { .. }));
                plain.then_some([*left, *right])
            }
            _ => None,
        };
        if !chosen {
            return None;
        }
        match (op, product(left), product(right)) {
            (BinaryOperator::Add, Some([a, b]), _) => Some((Alu::Fused, [a, b, right])),
            (BinaryOperator::Add, None, Some([a, b])) => Some((Alu::Fused, [a, b, left])),
            (BinaryOperator::Subtract, Some([a, b]), _) => Some((Alu::FusedLess, [a, b, right])),
            (BinaryOperator::Subtract, None, Some([a, b])) => Some((Alu::FusedFrom, [a, b, left])),
            _ => None,
        }
    }

    /// Matrices by numbers, and by vectors.
    fn matrix(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        op: BinaryOperator,
        [left, right]: [Handle<Expression>; 2],
    ) -> Result<(), Unsupported> {
        use TypeInner::{Matrix, Scalar, Vector};
        let shapes = (self.inner(frame, left).clone(), self.inner(frame, right).clone());
        match (op, shapes) {
            (BinaryOperator::Multiply, (Matrix { columns, rows, .. }, Vector { .. })) => {
                let (a, b) = (self.value(frame, left)?, self.value(frame, right)?);
                let d = self.result(frame, handle)?;
                self.columns([d, a, b], columns as u32, rows as u32);
                Ok(())
            }
            (BinaryOperator::Multiply, (Vector { .. }, Matrix { columns, rows, .. })) => {
                let (a, b) = (self.value(frame, left)?, self.value(frame, right)?);
                let (d, n) = (self.result(frame, handle)?, rows as u32);
                for i in 0..columns as u32 {
                    let b = b + i * n.next_power_of_two();
                    self.emit(Op::Whole { f: Whole::Dot(Kind::Float), n, d: d + i, a, b });
                }
                Ok(())
            }
            (_, (Matrix { .. }, Scalar(_)) | (Scalar(_), Matrix { .. })) => {
                self.alu(frame, handle, Alu::Binary(op, Kind::Float), &[left, right])
            }
            (BinaryOperator::Add | BinaryOperator::Subtract, (Matrix { .. }, Matrix { .. })) => {
                self.alu(frame, handle, Alu::Binary(op, Kind::Float), &[left, right])
            }
            (op, shapes) => Err(format!("{op:?} of {shapes:?}")),
        }
    }

    /// `d = Σ column i of a · b[i]`
    fn columns(&mut self, [d, a, b]: [Reg; 3], count: u32, rows: u32) {
        for i in 0..count {
            let column = Arg { reg: a + i * rows.next_power_of_two(), step: 1 };
            let args = [column, Arg { reg: b + i, step: 0 }, Arg { reg: d, step: 1 }];
            let f = if i == 0 { Alu::Binary(BinaryOperator::Multiply, Kind::Float) } else { Alu::Fused };
            self.emit(Op::Alu { f, n: rows, d, args });
        }
    }

    fn math(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>, call: &Call) -> Result<(), Unsupported> {
        use MathFunction as M;
        let [first, second, third, fourth] = call.args;
        let first = first.ok_or("a function of nothing")?;
        let kind = self.kind(frame, first);
        let both = [first, second.unwrap_or(first)];
        match call.fun {
            M::Dot => self.whole(frame, handle, Whole::Dot(kind), both),
            M::Length => self.whole(frame, handle, Whole::Length, both),
            M::Normalize => self.whole(frame, handle, Whole::Normalize, both),
            M::Distance => self.whole(frame, handle, Whole::Distance, both),
            M::Pack2x16float | M::Pack4xI8 | M::Pack4xU8 => self.whole(frame, handle, Whole::Pack(call.fun), both),
            M::Unpack2x16float | M::Unpack4xI8 | M::Unpack4xU8 => {
                self.whole(frame, handle, Whole::Unpack(call.fun), both)
            }
            M::Transpose => self.transpose(frame, handle, first),
            M::InsertBits => {
                let (Some(offset), Some(count)) = (third, fourth) else { return Err("insertBits".into()) };
                let places = [self.value(frame, offset)?, self.value(frame, count)?];
                self.whole(frame, handle, Whole::Insert(places[0], places[1]), both)
            }
            _ => {
                let operands: Vec<_> = [Some(first), second, third].into_iter().flatten().collect();
                self.alu(frame, handle, Alu::Math(call.fun, kind), &operands)
            }
        }
    }

    fn transpose(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        of: Handle<Expression>,
    ) -> Result<(), Unsupported> {
        let TypeInner::Matrix { columns, rows, .. } = *self.inner(frame, of) else { return Err("transpose".into()) };
        let (columns, rows) = (columns as u32, rows as u32);
        let (a, d) = (self.value(frame, of)?, self.result(frame, handle)?);
        for column in 0..columns {
            for row in 0..rows {
                let from = a + column * rows.next_power_of_two() + row;
                self.copy(d + row * columns.next_power_of_two() + column, from, 1);
            }
        }
        Ok(())
    }
}
