//! The workgroups of a dispatch: in random order and interleaved, each with its invocations in random order between
//! barriers.

use naga::{BuiltIn, SubgroupOperation};

use super::code::{Kind, Op, Take, Together};
use super::machine::{Fault, Lane, Shared, Stop};
use super::memory::{Memory, Who};

/// Workgroups that run at a time.
const AT_A_TIME: usize = 3;

/// The dispatch as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// The number of the dispatch, from 1.
    pub dispatch: u32,
    pub workgroups: [u32; 3],
    pub subgroup: u32,
}

/// Why a dispatch did not end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed {
    Fault(Fault),
    /// It takes too many instructions.
    TooLong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Waits(Stop),
}

struct Group {
    number: u32,
    states: Vec<State>,
    counters: Vec<u32>,
    /// Registers of all invocations, one after the other.
    registers: Vec<u32>,
    memory: Memory,
    /// Barriers for workgroup memory, and for buffers.
    intervals: [u32; 2],
}

/// Runs all workgroups.
pub fn dispatch(shared: &mut Shared, grid: &Grid) -> Result<(), Failed> {
    let count: u32 = grid.workgroups.iter().product();
    let mut waiting: Vec<u32> = (0..count).collect();
    let mut running: Vec<Group> = Vec::new();
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < AT_A_TIME && !waiting.is_empty() {
            let chosen = shared.below(waiting.len());
            running.push(Group::new(shared, grid, waiting.swap_remove(chosen)));
        }
        let chosen = shared.below(running.len());
        if running[chosen].advance(shared, grid)? {
            running.swap_remove(chosen);
        }
    }
    Ok(())
}

impl Group {
    fn new(shared: &Shared, grid: &Grid, number: u32) -> Self {
        let program = shared.program;
        let threads = program.workgroup_size.iter().product::<u32>();
        let [x, y, _] = grid.workgroups;
        let id = [number % x, number / x % y, number / x / y];
        let mut registers = program.registers.repeat(threads as usize);
        for (thread, own) in (0..threads).zip(registers.chunks_exact_mut(program.registers.len().max(1))) {
            let [wide, high, _] = program.workgroup_size;
            let local = [thread % wide, thread / wide % high, thread / wide / high];
            for &(builtin, reg) in &program.builtins {
                let values = match builtin {
                    BuiltIn::GlobalInvocationId => [0, 1, 2].map(|i| id[i] * program.workgroup_size[i] + local[i]),
                    BuiltIn::LocalInvocationId => local,
                    BuiltIn::LocalInvocationIndex => [thread; 3],
                    BuiltIn::WorkGroupId => id,
                    BuiltIn::NumWorkGroups => grid.workgroups,
                    BuiltIn::SubgroupSize => [grid.subgroup; 3],
                    BuiltIn::SubgroupInvocationId => [thread % grid.subgroup; 3],
                    BuiltIn::SubgroupId => [thread / grid.subgroup; 3],
                    BuiltIn::NumSubgroups => [threads.div_ceil(grid.subgroup); 3],
                    _ => [0; 3],
                };
                let is_vector = matches!(
                    builtin,
                    BuiltIn::GlobalInvocationId
                        | BuiltIn::LocalInvocationId
                        | BuiltIn::WorkGroupId
                        | BuiltIn::NumWorkGroups
                );
                let words = if is_vector { 3 } else { 1 };
                own[reg as usize..][..words].copy_from_slice(&values[..words]);
            }
        }
        Self {
            number,
            states: vec![State::Ready; threads as usize],
            counters: vec![program.entry; threads as usize],
            registers,
            // WGSL sets workgroup memory to zero.
            memory: Memory::new(vec![0; program.workgroup_words as usize], true),
            intervals: [0; 2],
        }
    }

    /// Runs to the next barrier, or to the end, which is `true`.
    fn advance(&mut self, shared: &mut Shared, grid: &Grid) -> Result<bool, Failed> {
        loop {
            self.run_ready(shared, grid)?;
            if !self.subgroups(shared, grid)? {
                break;
            }
        }
        if self.states.iter().all(|state| *state == State::Waits(Stop::Ended)) {
            return Ok(true);
        }
        let first = self.states[0];
        if let (State::Waits(Stop::Barrier(at)), true) = (first, self.states.iter().all(|state| *state == first)) {
            if let Op::Barrier { workgroup, storage } = shared.program.ops[at as usize] {
                self.intervals[0] += u32::from(workgroup);
                self.intervals[1] += u32::from(storage);
            }
            self.states.fill(State::Ready);
            return Ok(false);
        }
        Err(Failed::Fault(self.stuck(shared)))
    }

    fn run_ready(&mut self, shared: &mut Shared, grid: &Grid) -> Result<(), Failed> {
        let ready = |(i, state): (usize, &State)| (*state == State::Ready).then_some(i);
        let mut open: Vec<usize> = self.states.iter().enumerate().filter_map(ready).collect();
        let size = shared.program.registers.len();
        while !open.is_empty() {
            let chosen = shared.below(open.len());
            let thread = open[chosen];
            let who = Who::new(grid.dispatch, self.number, thread as u32);
            let registers = &mut self.registers[thread * size..(thread + 1) * size];
            let mut lane = Lane { registers, workgroup: &mut self.memory, who, intervals: self.intervals };
            let stop = lane.run(shared, &mut self.counters[thread]).map_err(Failed::Fault)?;
            if shared.fuel == 0 {
                return Err(Failed::TooLong);
            }
            if stop != Stop::Yielded {
                self.states[thread] = State::Waits(stop);
                open.swap_remove(chosen);
            }
        }
        Ok(())
    }

    /// Does what subgroups wait for; whether there was something. An operation on a whole subgroup needs all of it;
    /// where values change places, the invocations that give and take them are enough.
    fn subgroups(&mut self, shared: &Shared, grid: &Grid) -> Result<bool, Failed> {
        let size = grid.subgroup as usize;
        let mut did = false;
        for first in (0..self.states.len()).step_by(size) {
            let lanes = first..(first + size).min(self.states.len());
            let waits = |state: &State| if let State::Waits(Stop::Subgroup(at)) = state { Some(*at) } else { None };
            let Some(at) = self.states[lanes.clone()].iter().find_map(waits) else { continue };
            let there: Vec<usize> = lanes.clone().filter(|&lane| waits(&self.states[lane]) == Some(at)).collect();
            let moves = matches!(shared.program.ops[at as usize], Op::Subgroup { f: Together::Take(_), .. });
            if !moves && there.len() < lanes.len() {
                continue;
            }
            self.together(shared, (first, &there), at)?;
            there.into_iter().for_each(|lane| self.states[lane] = State::Ready);
            did = true;
        }
        Ok(did)
    }

    /// Does a subgroup operation for the threads that are there, of a subgroup whose first thread is `first`.
    fn together(&mut self, shared: &Shared, (first, there): (usize, &[usize]), at: u32) -> Result<(), Failed> {
        let Op::Subgroup { f, d, a, n } = shared.program.ops[at as usize] else { return Ok(()) };
        let size = shared.program.registers.len();
        let mut numbers = shared.numbers.clone();
        for i in 0..n {
            let read = |thread: usize, reg: u32| self.registers[thread * size + reg as usize];
            let values: Vec<u32> = there.iter().map(|&thread| read(thread, a + i)).collect();
            let mut results = Vec::with_capacity(values.len());
            for (place, &thread) in there.iter().enumerate() {
                results.push(match f {
                    Together::Take(take) => {
                        let from = source(take, thread - first, |reg| read(thread, reg) as usize);
                        let place = there.binary_search(&first.wrapping_add(from));
                        let text = || format!("lane {from} of a subgroup, which does not take part");
                        values[place.map_err(|_| Failed::Fault(Fault { text: text(), at }))?]
                    }
                    Together::Reduce(op, kind) => fold(&mut numbers, op, kind, &values),
                    Together::Inclusive(op, kind) => fold(&mut numbers, op, kind, &values[..=place]),
                    Together::Exclusive(op, kind) => fold(&mut numbers, op, kind, &values[..place]),
                    Together::Ballot => (0..values.len().min(32)).map(|bit| (values[bit] & 1) << bit).sum(),
                });
            }
            for (thread, value) in there.iter().zip(results) {
                self.registers[thread * size + (d + i) as usize] = value;
            }
        }
        Ok(())
    }

    /// Invocations wait at different places, or some have ended.
    fn stuck(&self, shared: &Shared) -> Fault {
        let mut places: Vec<(u32, String, u32)> = Vec::new();
        for state in &self.states {
            let (at, text) = match state {
                State::Waits(Stop::Barrier(at)) => (*at, "wait at a barrier"),
                State::Waits(Stop::Subgroup(at)) => (*at, "wait at a subgroup operation"),
                _ => (u32::MAX, "have ended"),
            };
            match places.iter_mut().find(|(of, ..)| *of == at) {
                Some((.., count)) => *count += 1,
                None => places.push((at, text.into(), 1)),
            }
        }
        places.sort();
        let program = shared.program;
        let told: Vec<String> = places
            .iter()
            .map(|(at, text, count)| match at {
                &u32::MAX => format!("{count} {text}"),
                at => format!("{count} {text}, {}", program.quote(*at)),
            })
            .collect();
        let text = format!("control flow is not uniform in workgroup {}: {}", self.number, told.join("; "));
        Fault { text, at: places.first().map_or(0, |(at, ..)| *at) }
    }
}

/// The lane whose value a lane takes.
fn source(take: Take, lane: usize, pick: impl Fn(u32) -> usize) -> usize {
    match take {
        Take::First => 0,
        Take::Lane(reg) => pick(reg),
        Take::Xor(reg) => lane ^ pick(reg),
        Take::Down(reg) => lane + pick(reg),
        Take::Up(reg) => lane.wrapping_sub(pick(reg)),
    }
}

fn fold(numbers: &mut super::numbers::Numbers, op: SubgroupOperation, kind: Kind, values: &[u32]) -> u32 {
    use naga::{BinaryOperator as B, MathFunction as M};
    let one = if kind == Kind::Float { 1f32.to_bits() } else { 1 };
    let first = match op {
        SubgroupOperation::Mul => one,
        SubgroupOperation::All | SubgroupOperation::And => u32::MAX,
        SubgroupOperation::Min | SubgroupOperation::Max => values.first().copied().unwrap_or(0),
        _ => 0,
    };
    values.iter().fold(first, |sum, &value| match op {
        SubgroupOperation::Add => numbers.binary(B::Add, kind, sum, value),
        SubgroupOperation::Mul => numbers.binary(B::Multiply, kind, sum, value),
        SubgroupOperation::Min => numbers.math(M::Min, kind, [sum, value, 0]).unwrap_or(0),
        SubgroupOperation::Max => numbers.math(M::Max, kind, [sum, value, 0]).unwrap_or(0),
        SubgroupOperation::And | SubgroupOperation::All => sum & value,
        SubgroupOperation::Or | SubgroupOperation::Any => sum | value,
        SubgroupOperation::Xor => sum ^ value,
    })
}
