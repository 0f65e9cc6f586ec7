//! One invocation from where it is to where it waits for others.

use std::collections::BTreeSet;

use super::code::{Alu, Arg, Op, Place, Program, Reg, Space};
use super::faults::{name, outside, told};
use super::memory::{Memory, Who};
use super::numbers::Numbers;

/// Why an invocation stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Ended,
    /// At a barrier, the instruction.
    Barrier(u32),
    /// At a subgroup operation.
    Subgroup(u32),
    /// It could go on: others come first.
    Yielded,
}

/// A word that an instruction cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub text: String,
    /// The instruction.
    pub at: u32,
}

/// What a binding shows of a buffer: its number among the memories, first word, words.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub memory: usize,
    pub first: usize,
    pub words: usize,
}

/// What all invocations of a dispatch share.
pub struct Shared<'a> {
    pub program: &'a Program,
    pub memories: &'a mut [Memory],
    pub views: &'a [View],
    pub numbers: &'a mut Numbers,
    /// Instructions until the run is given up.
    pub fuel: u64,
    pub random: u64,
    /// Instructions that read what is in no binding.
    pub outside: BTreeSet<u32>,
}

/// What runs: registers of one invocation, and the memory of its workgroup.
pub struct Lane<'l> {
    pub registers: &'l mut [u32],
    pub workgroup: &'l mut Memory,
    pub who: Who,
    /// Barriers of the workgroup before: for its memory, and for buffers.
    pub intervals: [u32; 2],
}

/// The address of what no binding has: words after it are in none, either.
const OUTSIDE: u32 = 1 << 31;

fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

impl Shared<'_> {
    /// An invocation stands still after some instructions.
    fn stop(&mut self, steps: u64, stop: Stop) -> Result<Stop, Fault> {
        self.fuel = self.fuel.saturating_sub(steps);
        Ok(stop)
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (next(&mut self.random) >> 16) as usize % count.max(1)
    }
}

impl Lane<'_> {
    pub fn get(&self, reg: Reg) -> u32 {
        self.registers[reg as usize]
    }

    pub fn set(&mut self, reg: Reg, value: u32) {
        self.registers[reg as usize] = value;
    }

    /// Runs from `counter` on, and leaves there where to go on.
    pub fn run(&mut self, shared: &mut Shared, counter: &mut u32) -> Result<Stop, Fault> {
        let ops: &[Op] = &shared.program.ops;
        let mut steps = 0u64;
        loop {
            let at = *counter;
            *counter += 1;
            steps += 1;
            match ops[at as usize] {
                Op::Alu { f, n, d, args } => self.alu(shared.numbers, (f, n, d, args)),
                Op::Load { d, from, n } => self.load(shared, d, from, (n, at))?,
                Op::Store { to, a, n } => self.store(shared, to, a, (n, at))?,
                Op::Index { .. } => self.index(shared, at)?,
                Op::Jump { to } => *counter = to,
                Op::JumpUnless { a, to } if self.get(a) == 0 => *counter = to,
                Op::JumpIf { a, to } if self.get(a) != 0 => *counter = to,
                Op::JumpIfIs { a, value, to } if self.get(a) == value => *counter = to,
                Op::JumpUnless { .. } | Op::JumpIf { .. } | Op::JumpIfIs { .. } => {}
                Op::Call { to, back } => {
                    self.set(back, *counter);
                    *counter = to;
                }
                Op::Return { back } => *counter = self.get(back),
                Op::Halt => return shared.stop(steps, Stop::Ended),
                Op::Barrier { .. } => return shared.stop(steps, Stop::Barrier(at)),
                Op::Subgroup { .. } => return shared.stop(steps, Stop::Subgroup(at)),
                Op::Atomic { .. } | Op::AtomicLoad { .. } | Op::AtomicStore { .. } => {
                    self.atomic(shared, at)?;
                    if shared.below(4) == 0 {
                        return shared.stop(steps, Stop::Yielded);
                    }
                }
                Op::Whole { f, n, d, a, b } => self.whole(shared.numbers, f, (n, d, a, b)),
                Op::Swizzle { d, a, n, pattern } => self.swizzle(d, a, (n, pattern)),
                Op::ArrayLength { d, buffer, before, stride } => {
                    self.set(d, (shared.views[buffer as usize].words as u32 - before) / stride);
                }
            }
            if let Some(text) = shared.numbers.fault.take() {
                return Err(Fault { text: text.into(), at });
            }
            if steps > shared.fuel {
                return shared.stop(steps, Stop::Yielded);
            }
        }
    }

    fn swizzle(&mut self, d: Reg, a: Reg, (n, pattern): (u32, [u8; 4])) {
        let parts = pattern.map(|part| self.registers.get((a + u32::from(part)) as usize).copied());
        (0..n).for_each(|i| self.set(d + i, parts[i as usize].unwrap_or(0)));
    }

    fn alu(&mut self, numbers: &mut Numbers, (f, n, d, args): (Alu, u32, Reg, [Arg; 3])) {
        for i in 0..n {
            let [x, y, z] = args.map(|arg| self.get(arg.reg + i * arg.step));
            let value = match f {
                Alu::Copy => x,
                Alu::Binary(f, kind) => numbers.binary(f, kind, x, y),
                Alu::Fused => numbers.fused([x, y, z], [1.0, 1.0]),
                Alu::FusedLess => numbers.fused([x, y, z], [1.0, -1.0]),
                Alu::FusedFrom => numbers.fused([x, y, z], [-1.0, 1.0]),
                Alu::Select => [y, x][usize::from(z != 0)],
                Alu::Unary(f, kind) => numbers.unary(f, kind, x),
                Alu::Convert(from, to) => numbers.convert(from, to, x),
                Alu::Math(f, kind) => numbers.math(f, kind, [x, y, z]).unwrap_or_else(|| {
                    numbers.fault = Some("a function that the simulator lacks");
                    0
                }),
            };
            self.set(d + i, value);
        }
    }

    fn index(&mut self, shared: &Shared, at: u32) -> Result<(), Fault> {
        let Op::Index { d, base, index, signed, stride, count } = shared.program.ops[at as usize] else {
            return Ok(());
        };
        let start = base.at.wrapping_add(base.reg.map_or(0, |reg| self.get(reg)));
        let index = self.get(index);
        if start >= OUTSIDE {
            self.set(d, OUTSIDE);
            return Ok(());
        }
        let count = match (count, base.space) {
            (Some(count), _) => count,
            (None, Space::Buffer(buffer)) => (shared.views[buffer as usize].words as u32 - start) / stride,
            (None, _) => 0,
        };
        if index >= count && matches!(base.space, Space::Buffer(_)) {
            // Only what uses the address knows whether it matters.
            self.set(d, OUTSIDE);
            return Ok(());
        }
        if index >= count {
            let index = if signed { i64::from(index as i32) } else { i64::from(index) };
            let of = name(shared.program, base.space, start);
            return Err(Fault { text: format!("element {index} of {count} of {of}"), at });
        }
        self.set(d, start + index * stride);
        Ok(())
    }

    fn who_at(&self, space: Space, at: u32) -> Who {
        self.who.at(self.intervals[usize::from(space != Space::Workgroup)], at)
    }

    pub fn address(&self, place: Place) -> u32 {
        place.at.wrapping_add(place.reg.map_or(0, |reg| self.get(reg)))
    }

    fn load(&mut self, shared: &mut Shared, d: Reg, from: Place, (n, at): (u32, u32)) -> Result<(), Fault> {
        let start = self.address(from) as usize;
        if from.space == Space::Registers {
            self.registers.copy_within(start..start + n as usize, d as usize);
            return Ok(());
        }
        let who = self.who_at(from.space, at);
        for i in 0..n {
            let word = start + i as usize;
            let value = match from.space {
                Space::Buffer(buffer) => {
                    let view = shared.views[buffer as usize];
                    if word >= view.words {
                        // WGSL allows any value of the binding, or zero: a result that depends on it comes out wrong.
                        // As one number and as two halves the bits are finite: kernels compute with what they drop.
                        self.set(d + i, next(&mut shared.random) as u32 & 0xbfff_bfff);
                        shared.outside.insert(at);
                        continue;
                    }
                    shared.memories[view.memory].read(view.first + word, &who)
                }
                _ => self.workgroup.read(word, &who),
            };
            let value = value.map_err(|wrong| told(shared.program, &wrong, (from.space, word as u32), &who))?;
            self.set(d + i, value);
        }
        Ok(())
    }

    fn store(&mut self, shared: &mut Shared, to: Place, a: Reg, (n, at): (u32, u32)) -> Result<(), Fault> {
        let start = self.address(to) as usize;
        if to.space == Space::Registers {
            self.registers.copy_within(a as usize..(a + n) as usize, start);
            return Ok(());
        }
        let who = self.who_at(to.space, at);
        for i in 0..n {
            let (word, value) = (start + i as usize, self.get(a + i));
            let done = match to.space {
                Space::Buffer(buffer) => {
                    let view = shared.views[buffer as usize];
                    outside(shared.program, buffer, word, view.words).map_or(Ok(()), |text| Err(Fault { text, at }))?;
                    shared.memories[view.memory].write(view.first + word, value, &who)
                }
                _ => self.workgroup.write(word, value, &who),
            };
            done.map_err(|wrong| told(shared.program, &wrong, (to.space, word as u32), &who))?;
        }
        Ok(())
    }
}
