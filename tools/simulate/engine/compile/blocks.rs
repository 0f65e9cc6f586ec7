//! Statements.

use naga::{
    AtomicFunction, Barrier, Block, CollectiveOperation, Expression, GatherMode, Handle, ScalarKind, Statement,
};
use naga::{SwitchCase, SwitchValue, TypeInner};

use super::super::code::{Kind, Op, Site, Take, Together};
use super::super::layout::{Unsupported, runs};
use super::{Compiler, Frame};

impl<'m> Compiler<'m> {
    pub(super) fn block(&mut self, frame: &mut Frame<'m>, block: &'m Block) -> Result<(), Unsupported> {
        for (statement, span) in block.span_iter() {
            self.look_at(*span);
            self.statement(frame, statement)?;
        }
        Ok(())
    }

    fn statement(&mut self, frame: &mut Frame<'m>, statement: &'m Statement) -> Result<(), Unsupported> {
        match statement {
            Statement::Emit(range) => {
                let line = self.line;
                for handle in range.clone() {
                    self.look_at(frame.function.expressions.get_span(handle));
                    self.expression(frame, handle)?;
                }
                self.line = line;
            }
            Statement::Block(block) => self.block(frame, block)?,
            Statement::If { condition, accept, reject } => self.branch(frame, *condition, accept, reject)?,
            Statement::Switch { selector, cases } => self.switch(frame, *selector, cases)?,
            Statement::Loop { body, continuing, break_if } => self.repeat(frame, body, continuing, *break_if)?,
            Statement::Break => {
                let jump = self.emit(Op::Jump { to: 0 });
                frame.exits.last_mut().ok_or("a break outside")?.0.push(jump);
            }
            Statement::Continue => {
                let jump = self.emit(Op::Jump { to: 0 });
                let of_loop = frame.exits.iter_mut().rev().find_map(|(_, continues)| continues.as_mut());
                of_loop.ok_or("a continue outside")?.push(jump);
            }
            Statement::Return { value } => self.leave(frame, *value)?,
            Statement::ControlBarrier(barrier) => self.barrier(frame, *barrier)?,
            Statement::Store { pointer, value } => self.store(frame, *pointer, *value)?,
            Statement::Call { function, arguments, result } => self.call(frame, *function, arguments, *result)?,
            _ => self.shared(frame, statement)?,
        }
        Ok(())
    }

    /// Statements that invocations do together.
    fn shared(&mut self, frame: &mut Frame<'m>, statement: &'m Statement) -> Result<(), Unsupported> {
        match statement {
            Statement::Atomic { pointer, fun, value, result } => {
                let (at, a) = (self.place(frame, *pointer)?, self.value(frame, *value)?);
                let compare = match fun {
                    AtomicFunction::Exchange { compare: Some(compare) } => Some(self.value(frame, *compare)?),
                    _ => None,
                };
                let signed = self.kind(frame, *value) == Kind::Signed;
                let d = result.map(|result| self.result(frame, result)).transpose()?;
                self.emit(Op::Atomic { f: *fun, at, a, compare, d, signed });
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let from = self.place(frame, *pointer)?;
                // A barrier before and after, which belong to the function and are no barriers that could be missing.
                self.emit(Op::Barrier { workgroup: true, storage: false });
                let d = self.result(frame, *result)?;
                self.load_from(frame, *result, d, from)?;
                self.emit(Op::Barrier { workgroup: true, storage: false });
            }
            Statement::SubgroupBallot { result, predicate } => {
                let always = self.constant(vec![1]);
                let a = predicate.map_or(Ok(always), |of| self.value(frame, of))?;
                let d = self.result(frame, *result)?;
                self.emit(Op::Subgroup { f: Together::Ballot, d, a, n: 1 });
            }
            Statement::SubgroupGather { mode, argument, result } => {
                let f = Together::Take(self.take(frame, mode)?);
                self.subgroup(frame, f, *argument, *result)?;
            }
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                let kind = self.kind(frame, *argument);
                let f = match collective_op {
                    CollectiveOperation::Reduce => Together::Reduce(*op, kind),
                    CollectiveOperation::InclusiveScan => Together::Inclusive(*op, kind),
                    CollectiveOperation::ExclusiveScan => Together::Exclusive(*op, kind),
                };
                self.subgroup(frame, f, *argument, *result)?;
            }
            other => return Err(format!("the statement {other:?}")),
        }
        Ok(())
    }

    fn take(&mut self, frame: &mut Frame<'m>, mode: &GatherMode) -> Result<Take, Unsupported> {
        Ok(match mode {
            GatherMode::BroadcastFirst => Take::First,
            GatherMode::Broadcast(lane) | GatherMode::Shuffle(lane) => Take::Lane(self.value(frame, *lane)?),
            GatherMode::ShuffleXor(mask) => Take::Xor(self.value(frame, *mask)?),
            GatherMode::ShuffleDown(by) => Take::Down(self.value(frame, *by)?),
            GatherMode::ShuffleUp(by) => Take::Up(self.value(frame, *by)?),
            other => return Err(format!("{other:?}")),
        })
    }

    fn subgroup(
        &mut self,
        frame: &mut Frame<'m>,
        f: Together,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), Unsupported> {
        let (a, d) = (self.value(frame, argument)?, self.result(frame, result)?);
        let n = self.size(frame, argument)?;
        self.emit(Op::Subgroup { f, d, a, n });
        Ok(())
    }

    fn barrier(&mut self, frame: &mut Frame<'m>, barrier: Barrier) -> Result<(), Unsupported> {
        if barrier.contains(Barrier::SUB_GROUP) || barrier.contains(Barrier::TEXTURE) {
            return Err(format!("{barrier:?}"));
        }
        let (workgroup, storage) = (barrier.contains(Barrier::WORK_GROUP), barrier.contains(Barrier::STORAGE));
        let at = self.emit(Op::Barrier { workgroup, storage }) as u32;
        self.barriers.push((Site { function: frame.name.clone(), number: frame.barriers }, at));
        frame.barriers += 1;
        Ok(())
    }

    fn branch(
        &mut self,
        frame: &mut Frame<'m>,
        condition: Handle<Expression>,
        accept: &'m Block,
        reject: &'m Block,
    ) -> Result<(), Unsupported> {
        let a = self.value(frame, condition)?;
        let unless = self.emit(Op::JumpUnless { a, to: 0 });
        self.block(frame, accept)?;
        if reject.is_empty() {
            self.set(unless);
            return Ok(());
        }
        let past = self.emit(Op::Jump { to: 0 });
        self.set(unless);
        self.block(frame, reject)?;
        self.set(past);
        Ok(())
    }

    /// Jumps to here.
    fn set(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.ops[jump] {
            Op::Jump { to } | Op::JumpUnless { to, .. } | Op::JumpIf { to, .. } | Op::JumpIfIs { to, .. } => *to = here,
            _ => unreachable!("only jumps are set"),
        }
    }

    fn switch(
        &mut self,
        frame: &mut Frame<'m>,
        selector: Handle<Expression>,
        cases: &'m [SwitchCase],
    ) -> Result<(), Unsupported> {
        let a = self.value(frame, selector)?;
        let mut jumps = Vec::new();
        for case in cases {
            jumps.push(match case.value {
                SwitchValue::I32(value) => Some(self.emit(Op::JumpIfIs { a, value: value as u32, to: 0 })),
                SwitchValue::U32(value) => Some(self.emit(Op::JumpIfIs { a, value, to: 0 })),
                SwitchValue::Default => None,
            });
        }
        let otherwise = self.emit(Op::Jump { to: 0 });
        frame.exits.push((Vec::new(), None));
        for (case, jump) in cases.iter().zip(jumps) {
            self.set(jump.unwrap_or(otherwise));
            self.block(frame, &case.body)?;
            if !case.fall_through {
                let out = self.emit(Op::Jump { to: 0 });
                frame.exits.last_mut().expect("pushed above").0.push(out);
            }
        }
        let (breaks, _) = frame.exits.pop().expect("pushed above");
        breaks.into_iter().for_each(|jump| self.set(jump));
        Ok(())
    }

    fn repeat(
        &mut self,
        frame: &mut Frame<'m>,
        body: &'m Block,
        continuing: &'m Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<(), Unsupported> {
        let start = self.here();
        frame.exits.push((Vec::new(), Some(Vec::new())));
        self.block(frame, body)?;
        let continues = frame.exits.last_mut().and_then(|(_, continues)| continues.take()).unwrap_or_default();
        continues.into_iter().for_each(|jump| self.set(jump));
        self.block(frame, continuing)?;
        if let Some(condition) = break_if {
            let a = self.value(frame, condition)?;
            let out = self.emit(Op::JumpIf { a, to: 0 });
            frame.exits.last_mut().expect("pushed above").0.push(out);
        }
        self.emit(Op::Jump { to: start });
        let (breaks, _) = frame.exits.pop().expect("pushed above");
        breaks.into_iter().for_each(|jump| self.set(jump));
        Ok(())
    }

    fn leave(&mut self, frame: &mut Frame<'m>, value: Option<Handle<Expression>>) -> Result<(), Unsupported> {
        let callee = frame.callee.clone().expect("set before the body");
        if let (Some(value), Some((d, words))) = (value, callee.result) {
            let from = self.value(frame, value)?;
            self.copy(d, from, words);
        }
        let is_entry = frame.name == "main";
        self.emit(if is_entry { Op::Halt } else { Op::Return { back: callee.back } });
        Ok(())
    }

    fn call(
        &mut self,
        frame: &mut Frame<'m>,
        function: Handle<naga::Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Result<(), Unsupported> {
        let callee = self.functions.get(&function).cloned().ok_or("a call before its function")?;
        for (&argument, &(d, words)) in arguments.iter().zip(&callee.arguments) {
            let is_pointer = matches!(
                frame.info[argument].ty.inner_with(&self.module.types),
                TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. }
            );
            let from = if is_pointer { self.address(frame, argument)? } else { self.value(frame, argument)? };
            self.copy(d, from, words);
        }
        self.emit(Op::Call { to: callee.entry, back: callee.back });
        if let (Some(result), Some((from, words))) = (result, callee.result) {
            let d = self.result(frame, result)?;
            self.copy(d, from, words);
        }
        Ok(())
    }

    fn store(
        &mut self,
        frame: &mut Frame<'m>,
        pointer: Handle<Expression>,
        value: Handle<Expression>,
    ) -> Result<(), Unsupported> {
        let (to, a) = (self.place(frame, pointer)?, self.value(frame, value)?);
        if self.is_atomic(frame, pointer) {
            self.emit(Op::AtomicStore { at: to, a });
            return Ok(());
        }
        let parts = runs(self.module, frame.info[value].ty.inner_with(&self.module.types))?;
        for [at, n] in parts {
            self.emit(Op::Store { to: super::expressions::after(to, at), a: a + at, n });
        }
        Ok(())
    }

    pub(super) fn kind(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Kind {
        let inner = frame.info[handle].ty.inner_with(&self.module.types);
        match inner.scalar_kind() {
            Some(ScalarKind::Sint) => Kind::Signed,
            Some(ScalarKind::Float) => Kind::Float,
            Some(ScalarKind::Bool) => Kind::Bool,
            _ => Kind::Unsigned,
        }
    }
}
