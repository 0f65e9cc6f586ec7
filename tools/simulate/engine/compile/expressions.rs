//! Expressions that are no function of numbers: values, pointers, loads.

use naga::{Expression, Handle, TypeInner};

use super::super::code::{Alu, Arg, Op, Place, Reg, Space, Whole};
use super::super::layout::{Unsupported, component, elements, runs, shape};
use super::{Compiler, Frame};

/// The place `words` further on.
pub(super) fn after(place: Place, words: u32) -> Place {
    Place { at: place.at + words, ..place }
}

impl<'m> Compiler<'m> {
    pub(super) fn inner<'a>(&'a self, frame: &'a Frame<'m>, handle: Handle<Expression>) -> &'a TypeInner {
        frame.info[handle].ty.inner_with(&self.module.types)
    }

    pub(super) fn size(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Result<u32, Unsupported> {
        Ok(shape(self.module, self.inner(frame, handle))?.words)
    }

    /// The type that a pointer points at.
    fn pointee(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Result<TypeInner, Unsupported> {
        match self.inner(frame, handle) {
            TypeInner::Pointer { base, .. } => Ok(self.module.types[*base].inner.clone()),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => {
                Ok(TypeInner::Vector { size: *size, scalar: *scalar })
            }
            TypeInner::ValuePointer { size: None, scalar, .. } => Ok(TypeInner::Scalar(*scalar)),
            other => Err(format!("a pointer that is {other:?}")),
        }
    }

    fn is_pointer(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> bool {
        matches!(self.inner(frame, handle), TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. })
    }

    pub(super) fn is_atomic(&self, frame: &Frame<'m>, pointer: Handle<Expression>) -> bool {
        matches!(self.pointee(frame, pointer), Ok(TypeInner::Atomic(_)))
    }

    /// Registers for the result of an expression.
    pub(super) fn result(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>) -> Result<Reg, Unsupported> {
        if let Some(reg) = frame.values[handle.index()] {
            return Ok(reg);
        }
        let words = self.size(frame, handle)?;
        let reg = self.reserve(words);
        frame.values[handle.index()] = Some(reg);
        Ok(reg)
    }

    /// The registers of a value.
    pub(super) fn value(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>) -> Result<Reg, Unsupported> {
        if let Some(reg) = frame.values[handle.index()] {
            return Ok(reg);
        }
        let reg = match &frame.function.expressions[handle] {
            Expression::FunctionArgument(i) => frame.callee.as_ref().ok_or("no arguments")?.arguments[*i as usize].0,
            Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => {
                let words = self.evaluate(&frame.function.expressions, handle)?;
                self.constant(words)
            }
            other => return Err(format!("a value that nothing computes: {other:?}")),
        };
        frame.values[handle.index()] = Some(reg);
        Ok(reg)
    }

    /// Where a pointer points.
    pub(super) fn place(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>) -> Result<Place, Unsupported> {
        if let Some(place) = frame.places[handle.index()] {
            return Ok(place);
        }
        let place = match &frame.function.expressions[handle] {
            Expression::GlobalVariable(of) => self.globals[of],
            Expression::LocalVariable(of) => Place { space: Space::Registers, reg: None, at: frame.locals[of] },
            Expression::FunctionArgument(_) => {
                let space = match self.inner(frame, handle).pointer_space() {
                    Some(naga::AddressSpace::Function | naga::AddressSpace::Private) => Space::Registers,
                    Some(naga::AddressSpace::WorkGroup) => Space::Workgroup,
                    other => return Err(format!("a pointer to {other:?} as an argument")),
                };
                Place { space, reg: Some(self.value(frame, handle)?), at: 0 }
            }
            other => return Err(format!("the pointer {other:?}")),
        };
        frame.places[handle.index()] = Some(place);
        Ok(place)
    }

    /// A register with a pointer's address.
    pub(super) fn address(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>) -> Result<Reg, Unsupported> {
        let Place { reg, at, .. } = self.place(frame, handle)?;
        let offset = self.constant(vec![at]);
        let Some(reg) = reg else { return Ok(offset) };
        let d = self.reserve(1);
        let args = [reg, offset, offset].map(|reg| Arg { reg, step: 0 });
        let f = Alu::Binary(naga::BinaryOperator::Add, super::super::code::Kind::Unsigned);
        self.emit(Op::Alu { f, n: 1, d, args });
        Ok(d)
    }

    pub(super) fn expression(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>) -> Result<(), Unsupported> {
        match &frame.function.expressions[handle] {
            Expression::Access { base, index } if self.is_pointer(frame, *base) => {
                self.index_pointer(frame, handle, *base, *index)
            }
            Expression::AccessIndex { base, index } if self.is_pointer(frame, *base) => {
                let at = component(self.module, &self.pointee(frame, *base)?, *index)?;
                let base = self.place(frame, *base)?;
                frame.places[handle.index()] = Some(after(base, at));
                Ok(())
            }
            Expression::Access { base, index } => self.index_value(frame, handle, *base, *index),
            Expression::AccessIndex { base, index } => {
                let at = component(self.module, self.inner(frame, *base), *index)?;
                let base = self.value(frame, *base)?;
                frame.values[handle.index()] = Some(base + at);
                Ok(())
            }
            Expression::Load { pointer } => {
                let from = self.place(frame, *pointer)?;
                let d = self.result(frame, handle)?;
                if self.is_atomic(frame, *pointer) {
                    self.emit(Op::AtomicLoad { d, at: from });
                    return Ok(());
                }
                self.load_from(frame, handle, d, from)
            }
            Expression::Compose { components, .. } => self.compose(frame, handle, components),
            Expression::ArrayLength(of) => self.array_length(frame, handle, *of),
            Expression::FunctionArgument(_) | Expression::Literal(_) | Expression::Constant(_) => Ok(()),
            _ => self.compute(frame, handle),
        }
    }

    pub(super) fn load_from(
        &mut self,
        frame: &Frame<'m>,
        value: Handle<Expression>,
        d: Reg,
        from: Place,
    ) -> Result<(), Unsupported> {
        for [at, n] in runs(self.module, self.inner(frame, value))? {
            self.emit(Op::Load { d: d + at, from: after(from, at), n });
        }
        Ok(())
    }

    fn index_pointer(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<(), Unsupported> {
        let (stride, count) = elements(self.module, &self.pointee(frame, base)?)?;
        let signed = self.kind(frame, index) == super::super::code::Kind::Signed;
        let (base, index) = (self.place(frame, base)?, self.value(frame, index)?);
        let d = self.reserve(1);
        self.emit(Op::Index { d, base, index, signed, stride, count });
        frame.places[handle.index()] = Some(Place { space: base.space, reg: Some(d), at: 0 });
        Ok(())
    }

    fn index_value(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<(), Unsupported> {
        let (stride, count) = elements(self.module, self.inner(frame, base))?;
        let (from, at) = (self.value(frame, base)?, self.value(frame, index)?);
        let d = self.result(frame, handle)?;
        let words = self.size(frame, handle)?;
        if words == 1 && stride == 1 {
            self.emit(Op::Whole { f: Whole::Component, n: count.unwrap_or(0), d, a: from, b: at });
            return Ok(());
        }
        let base = Place { space: Space::Registers, reg: None, at: from };
        let pointer = self.reserve(1);
        self.emit(Op::Index { d: pointer, base, index: at, signed: false, stride, count });
        self.emit(Op::Load { d, from: Place { space: Space::Registers, reg: Some(pointer), at: 0 }, n: words });
        Ok(())
    }

    fn compose(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        components: &'m [Handle<Expression>],
    ) -> Result<(), Unsupported> {
        let d = self.result(frame, handle)?;
        let mut next = 0;
        for (i, &part) in components.iter().enumerate() {
            let words = self.size(frame, part)?;
            let at = match self.inner(frame, handle) {
                TypeInner::Vector { .. } => next,
                inner => component(self.module, inner, i as u32)?,
            };
            let from = self.value(frame, part)?;
            self.copy(d + at, from, words);
            next = at + words;
        }
        Ok(())
    }

    fn array_length(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        of: Handle<Expression>,
    ) -> Result<(), Unsupported> {
        let (stride, _) = elements(self.module, &self.pointee(frame, of)?)?;
        let Place { space: Space::Buffer(buffer), at, .. } = self.place(frame, of)? else {
            return Err("the length of an array in no buffer".into());
        };
        let d = self.result(frame, handle)?;
        self.emit(Op::ArrayLength { d, buffer, before: at, stride });
        Ok(())
    }
}
