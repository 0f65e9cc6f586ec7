//! Kernel cases on the simulator.

use std::collections::{BTreeSet, HashMap, HashSet};

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::process_overrides;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use webgguf::harness::{Case, Expected};
use webgguf::kernels::spec::{Access, BufferId, Dispatch, Kernel};

use super::code::Program;
use super::compile::compile;
use super::dispatch::{Failed, Grid, dispatch};
use super::layout::Unsupported;
use super::machine::{Shared, View};
use super::memory::Memory;
use super::numbers::Numbers;

/// How a case is run.
#[derive(Debug, Clone)]
pub struct Options {
    pub seed: u64,
    /// Results are as far off as WGSL allows.
    pub rough: bool,
    /// Threads of a subgroup.
    pub subgroup: u32,
    /// Instructions of a case at most.
    pub fuel: u64,
}

/// How a case came out.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With the largest error as a multiple of the tolerance, and the instructions that it took.
    Right {
        of_limit: f32,
        fuel: u64,
    },
    Wrong(String),
    /// More instructions than there may be.
    TooLong,
    Unsupported(Unsupported),
}

/// Programs by the keys of pipelines.
#[derive(Default, Clone)]
pub struct Programs {
    made: HashMap<String, Result<Program, Unsupported>>,
    changed: HashSet<String>,
}

impl Programs {
    pub fn get(&mut self, kernel: &Kernel, seed: u64) -> Result<&mut Program, Unsupported> {
        let made = self.made.entry(kernel.key()).or_insert_with(|| program(kernel, seed));
        made.as_mut().map_err(|told| told.clone())
    }

    /// The compiled programs, in the order of their keys.
    pub fn made(&self) -> impl Iterator<Item = &Program> {
        let mut keys: Vec<&String> = self.made.keys().collect();
        keys.sort();
        keys.into_iter().filter_map(|key| self.made[key].as_ref().ok())
    }

    /// Changes programs; `change` says whether it did.
    pub fn change(&mut self, change: impl Fn(&mut Program) -> bool) {
        for (key, program) in &mut self.made {
            if program.as_mut().is_ok_and(&change) {
                self.changed.insert(key.clone());
            }
        }
    }

    pub fn is_changed(&self, kernel: &Kernel) -> bool {
        self.changed.contains(&kernel.key())
    }
}

fn program(kernel: &Kernel, seed: u64) -> Result<Program, Unsupported> {
    let constants = kernel.constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    parsed(&kernel.wgsl(), &constants, seed).map_err(|error| format!("{}: {error}", kernel.id))
}

/// The program of a text.
pub fn parsed(wgsl: &str, constants: &PipelineConstants, seed: u64) -> Result<Program, Unsupported> {
    // naga has subgroup operations without being asked, and knows no line that asks.
    let wgsl = &wgsl.replace("enable subgroups;", "").replace("diagnostic(off, subgroup_uniformity);", "");
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|error| error.message().to_owned())?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(&module).map_err(|error| format!("{error:?}"))?;
    let entry = Some((naga::ShaderStage::Compute, "main"));
    let (module, info) = process_overrides(&module, &info, entry, constants).map_err(|error| error.to_string())?;
    compile(&module, &info, wgsl, seed)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// The buffers of a case; what the first dispatch that binds a buffer of zeros may write has no known contents yet.
fn memories(case: &Case) -> (HashMap<BufferId, usize>, Vec<Memory>) {
    let writes = |id: BufferId| {
        let uses = case
            .dispatches
            .iter()
            .flat_map(|dispatch| dispatch.buffers.iter().zip(&dispatch.kernel.spec.bindings[1..]));
        uses.into_iter().find(|(slice, _)| slice.buffer == id).is_some_and(|(_, to)| to.access == Access::ReadWrite)
    };
    let mut numbers = HashMap::new();
    let mut all = Vec::new();
    for (id, bytes) in &case.buffers {
        let known = !writes(*id) || bytes.iter().any(|&byte| byte != 0);
        numbers.insert(*id, all.len());
        all.push(Memory::new(words(bytes), known));
    }
    (numbers, all)
}

/// The bindings of a dispatch: `params`, then slices of buffers.
fn views(dispatch: &Dispatch, numbers: &HashMap<BufferId, usize>, all: &mut Vec<Memory>) -> Vec<View> {
    let params = words(&dispatch.params);
    let mut views = vec![View { memory: all.len(), first: 0, words: params.len() }];
    all.push(Memory::new(params, true));
    for slice in &dispatch.buffers {
        let memory = numbers[&slice.buffer];
        let first = (slice.offset / 4) as usize;
        let left = all[memory].words.len() - first;
        let words = slice.size.map_or(left, |bytes| (bytes / 4) as usize).min(left);
        views.push(View { memory, first, words });
    }
    views
}

/// Whether a case is about numbers that are not finite: nothing is said about what becomes of them then.
fn expects_infinities(case: &Case) -> bool {
    match &case.expected {
        Expected::Close(values, _) => values.iter().any(|value| !value.is_finite()),
        Expected::Halves(values, _) => values.iter().any(|half| half & 0x7c00 == 0x7c00),
        Expected::Exact(_) => false,
    }
}

/// Runs a case, and compares.
pub fn run(case: &Case, programs: &mut Programs, options: &Options) -> Outcome {
    let (numbers, mut all) = memories(case);
    let mut latitude = Numbers {
        seed: options.seed,
        rough: options.rough,
        flush: options.seed.is_multiple_of(2),
        strict: !expects_infinities(case),
        fault: None,
    };
    let mut fuel = options.fuel;
    for (number, of) in (1..).zip(&case.dispatches) {
        let program = match programs.get(&of.kernel, options.seed) {
            Ok(program) => &*program,
            Err(told) => return Outcome::Unsupported(told),
        };
        let views = views(of, &numbers, &mut all);
        let mut shared = Shared {
            program,
            memories: &mut all,
            views: &views,
            numbers: &mut latitude,
            fuel,
            outside: BTreeSet::new(),
            random: options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        let workgroups = of.grid.map(|extent| extent.resolve(case.pass.header.rows));
        let grid = Grid { dispatch: number, workgroups, subgroup: options.subgroup };
        match dispatch(&mut shared, &grid) {
            Ok(()) => fuel = shared.fuel,
            Err(Failed::TooLong) => return Outcome::TooLong,
            Err(Failed::Fault(fault)) => {
                return Outcome::Wrong(format!("{}: {}, {}", of.kernel.id, fault.text, program.quote(fault.at)));
            }
        }
    }
    compared(case, &all[numbers[&case.output]], options.fuel - fuel)
}

fn compared(case: &Case, output: &Memory, fuel: u64) -> Outcome {
    let found: Vec<u8> = output.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let outcome = case.check(&found);
    match case.failure(&outcome) {
        Some(failure) => Outcome::Wrong(failure),
        None => Outcome::Right { of_limit: outcome.of_limit, fuel },
    }
}
