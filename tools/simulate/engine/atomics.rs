//! Atomic operations.

use naga::AtomicFunction;

use super::code::{Op, Space};
use super::faults::outside;
use super::machine::{Fault, Lane, Shared};

impl Lane<'_> {
    pub fn atomic(&mut self, shared: &mut Shared, at: u32) -> Result<(), Fault> {
        let op = shared.program.ops[at as usize];
        let (Op::Atomic { at: place, .. } | Op::AtomicLoad { at: place, .. } | Op::AtomicStore { at: place, .. }) = op
        else {
            return Ok(());
        };
        let word = self.address(place) as usize;
        let (memory, index) = match place.space {
            Space::Buffer(buffer) => {
                let view = shared.views[buffer as usize];
                outside(shared.program, buffer, word, view.words).map_or(Ok(()), |text| Err(Fault { text, at }))?;
                (&mut shared.memories[view.memory], view.first + word)
            }
            _ => (&mut *self.workgroup, word),
        };
        if let Op::AtomicStore { a, .. } = op {
            memory.put(index, self.registers[a as usize]);
            return Ok(());
        }
        let held = memory.atomic(index);
        let before = *held;
        let d = match op {
            Op::Atomic { f, a, compare, d, signed, .. } => {
                let compare = compare.map(|reg| self.registers[reg as usize]);
                *held = changed(f, (before, self.registers[a as usize]), compare, signed);
                d
            }
            Op::AtomicLoad { d, .. } => Some(d),
            _ => None,
        };
        if let Some(d) = d {
            self.set(d, before);
        }
        Ok(())
    }
}

fn changed(f: AtomicFunction, (before, value): (u32, u32), compare: Option<u32>, signed: bool) -> u32 {
    match f {
        AtomicFunction::Add => before.wrapping_add(value),
        AtomicFunction::Subtract => before.wrapping_sub(value),
        AtomicFunction::And => before & value,
        AtomicFunction::ExclusiveOr => before ^ value,
        AtomicFunction::InclusiveOr => before | value,
        AtomicFunction::Min if signed => (before as i32).min(value as i32) as u32,
        AtomicFunction::Max if signed => (before as i32).max(value as i32) as u32,
        AtomicFunction::Min => before.min(value),
        AtomicFunction::Max => before.max(value),
        AtomicFunction::Exchange { .. } if compare.is_some_and(|compare| compare != before) => before,
        AtomicFunction::Exchange { .. } => value,
    }
}
