//! Kernel cases: dispatches with their buffers and what must come out, for the tests on the GPU and the harness page.
//!
//! Everything is plain data made on the CPU; whoever has a device makes the buffers, runs the dispatches and hands the
//! output to [`Case::check`]. Data is random from a seed, sizes are odd, and every variant that the device can run
//! has its cases. The expected values come from `kernels::reference`, or from `gguf` where that says what a weight is.

pub(crate) mod cache;
pub mod costs;
pub(crate) mod data;
mod digest;
mod draws;
mod experts;
mod fused;
mod grid_2d;
mod large;
pub(crate) mod op_bench;
pub(crate) mod product;
mod quantised;
mod rules;
mod tolerance;

pub use data::Random;
pub use digest::Digest;
pub use draws::{Draws, chi_square};
pub use grid_2d::folded;
pub use large::{Large, large};
pub use op_bench::OpBench;
pub use rules::{Choice, choices};
pub use tolerance::Tolerance;

use crate::gguf::f16_to_f32;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::spec::{BufferId, Dispatch, Slice};
use crate::kernels::{self, caps::Caps};

/// One run of one variant on one set of numbers.
#[derive(Debug, Clone)]
pub struct Case {
    /// The kernel's name.
    pub kernel_name: &'static str,
    /// The variant's id, such as `mat_vec.q4_k.subgroup`.
    pub variant: String,
    /// Sizes and flags.
    pub name: String,
    /// The dispatches to run in order, in one pass of `pass.header.rows` rows.
    pub dispatches: Vec<Dispatch>,
    /// Every buffer with its first contents, the pass among them; sizes are multiples of 16.
    pub buffers: Vec<(BufferId, Vec<u8>)>,
    /// The buffer to compare.
    pub output: BufferId,
    /// The expected first elements of the output.
    pub expected: Expected,
    /// The pass before the run.
    pub pass: Pass,
    /// The feature that this case needs and the device lacks.
    pub needs: Option<&'static str>,
    /// Floating-point operations of a run; 0 where moving bytes is what counts.
    pub flops: u64,
}

/// How a case came out.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The largest absolute error.
    pub max_abs: f32,
    /// The largest error relative to the expected value, where that is not 0.
    pub max_rel: f32,
    /// The largest error as a multiple of the tolerance: at most 1 where the case passed.
    pub of_limit: f32,
    /// The first element that is wrong: index, found, expected.
    pub first: Option<(usize, String, String)>,
}

/// The values a case must give.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// Close to these.
    Close(Vec<f32>, Tolerance),
    /// f16 numbers, two to a word, close to these.
    Halves(Vec<u16>, Tolerance),
    /// These words, bit for bit.
    Exact(Vec<u32>),
}

impl Expected {
    /// The tolerance of the values; `None` where bits must be equal.
    pub fn tolerance(&self) -> Tolerance {
        match self {
            Self::Close(_, tolerance) | Self::Halves(_, tolerance) => *tolerance,
            Self::Exact(_) => Tolerance { abs: 0.0, rel: 0.0 },
        }
    }

    /// Bytes of the output to read.
    pub fn bytes(&self) -> usize {
        4 * match self {
            Self::Close(values, _) => values.len(),
            Self::Halves(values, _) => values.len().div_ceil(2),
            Self::Exact(words) => words.len(),
        }
    }
}

impl Case {
    /// Compares the output's first bytes with what is expected.
    pub fn check(&self, output: &[u8]) -> Outcome {
        let words = output.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        if output.len() < self.expected.bytes() {
            let [found, expected] = [output.len(), self.expected.bytes()].map(|bytes| format!("{bytes} bytes"));
            return Outcome { first: Some((0, found, expected)), of_limit: f32::NAN, ..Outcome::default() };
        }
        match &self.expected {
            Expected::Exact(expected) => exact(words, expected),
            Expected::Close(expected, tolerance) => {
                close(words.map(f32::from_bits).zip(expected.iter().copied()), tolerance)
            }
            Expected::Halves(expected, tolerance) => {
                let halves = words.flat_map(|word| [word as u16, (word >> 16) as u16]);
                // With an odd number of elements, the other half of the last word is 0.
                let expected = expected.iter().copied().chain((expected.len() % 2 == 1).then_some(0));
                close(halves.map(f16_to_f32).zip(expected.map(f16_to_f32)), tolerance)
            }
        }
    }

    /// The fault of an outcome, as a line of a log.
    pub fn failure(&self, outcome: &Outcome) -> Option<String> {
        let (index, found, expected) = outcome.first.as_ref()?;
        Some(format!("{} ({}): element {index} is {found}, expected {expected}", self.variant, self.name))
    }

    /// Bytes that a run reads and writes at least: every buffer once.
    pub fn traffic(&self) -> u64 {
        self.buffers.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }
}

fn exact(words: impl Iterator<Item = u32>, expected: &[u32]) -> Outcome {
    let wrong = words.zip(expected).enumerate().find(|(_, (found, expected))| found != *expected);
    let first = wrong.map(|(i, (found, expected))| (i, format!("{found:#010x}"), format!("{expected:#010x}")));
    let of_limit = if first.is_some() { f32::INFINITY } else { 0.0 };
    Outcome { of_limit, first, ..Outcome::default() }
}

/// The errors of (found, expected) pairs. Equal infinities and two NaNs are no error.
fn close(pairs: impl Iterator<Item = (f32, f32)>, tolerance: &Tolerance) -> Outcome {
    let mut outcome = Outcome::default();
    for (i, (found, expected)) in pairs.enumerate() {
        if found == expected || (found.is_nan() && expected.is_nan()) {
            continue;
        }
        let error = tolerance.error(found, expected);
        if (error.is_nan() || error > 1.0) && outcome.first.is_none() {
            outcome.first = Some((i, found.to_string(), expected.to_string()));
        }
        let abs = (found - expected).abs();
        // NaN takes no part in `max`; a case with one has failed.
        outcome.max_abs = outcome.max_abs.max(abs);
        outcome.max_rel = outcome.max_rel.max(if expected == 0.0 { 0.0 } else { abs / expected.abs() });
        outcome.of_limit = outcome.of_limit.max(error);
    }
    outcome
}

/// Cases for a device with these capabilities, from a fixed seed: every type in every topology, with and without the
/// device's optional features, and every epilogue; but not each type with each epilogue, since compiling takes time.
pub fn cases(caps: &Caps) -> Vec<Case> {
    some_cases(&Suite { caps, seed: 1, step: 3, weightless: false })
}

/// Every type with every epilogue, as dispatches to look at and not to run: weights are zeros.
pub fn all_cases_without_weights(caps: &Caps) -> Vec<Case> {
    some_cases(&Suite { caps, seed: 3, step: 1, weightless: true })
}

/// The device and the options that the cases of a kernel are made for.
pub(crate) struct Suite<'a> {
    /// The device.
    pub(crate) caps: &'a Caps,
    seed: u64,
    /// The matrix kernels take every `step`th of their combinations.
    pub(crate) step: usize,
    weightless: bool,
}

impl Suite<'_> {
    /// Random numbers of a kernel's own.
    pub(crate) fn random(&self, kernel: &str) -> Random {
        let random = Random::of(self.seed, kernel);
        if self.weightless { random.without_weights() } else { random }
    }
}

fn some_cases(suite: &Suite) -> Vec<Case> {
    // On a software adapter, too, the variants for GPUs: cases ask for the others themselves.
    let suite = &Suite { caps: &suite.caps.with_software(false), ..*suite };
    let mut cases = [kernels::cases, crate::compute::cases, experts::cases, fused::cases, quantised::cases]
        .map(|cases| cases(suite))
        .concat();
    cases.extend(grid_2d::cases(&cases));
    cases
}

/// Where rows are, for the name of a case: `position 7 of 1` where they follow each other in one sequence, else
/// `positions 7 of 0, 3 of 1`.
pub(crate) fn places(rows: &[Row]) -> String {
    match rows {
        [first, ..] if Pass::chunk(first.sequence, first.position, &vec![0; rows.len()]).rows == rows => {
            let of = if first.sequence > 0 { format!(" of {}", first.sequence) } else { String::new() };
            format!("position {}{of}", first.position)
        }
        _ => {
            let places = rows.iter().map(|row| format!("{} of {}", row.position, row.sequence));
            format!("positions {}", places.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The buffers of a case while it is put together.
pub(crate) struct Bench {
    pub(crate) pass: Pass,
    pub(crate) buffers: Vec<(BufferId, Vec<u8>)>,
}

impl Bench {
    pub(crate) const PASS: BufferId = BufferId(0);
    pub(crate) const DUMMY: BufferId = BufferId(1);

    /// A bench for a chunk of `count` rows.
    pub(crate) fn new(count: u32) -> Self {
        Self::at(0, count)
    }

    /// A bench for a chunk of `count` rows from `position` on.
    pub(crate) fn at(position: u32, count: u32) -> Self {
        Self::of(Pass::chunk(0, position, &vec![0; count as usize]))
    }

    /// A bench for a pass.
    pub(crate) fn of(pass: Pass) -> Self {
        let bytes = pass.bytes();
        let mut bench = Self { pass, buffers: Vec::new() };
        bench.bytes(&bytes);
        bench.bytes(&[0; 16]);
        bench
    }

    /// A bench for a pass of one row of a sequence that is done, in which nothing may change.
    pub(crate) fn done() -> Self {
        let mut pass = Pass::chunk(0, 0, &[0]);
        pass.rows[0].flags = ROW_DONE;
        pass.header.sequences[0].done = 1;
        Self::of(pass)
    }

    /// Tokens of the first sequence that were sampled before this pass.
    pub(crate) fn set_steps(&mut self, steps: u32) {
        self.pass.header.sequences[0].steps = steps;
        self.buffers[0].1 = self.pass.bytes();
    }

    /// Pass and dummy, as the kernels want them.
    pub(crate) fn fixed(&self) -> (Slice, Slice) {
        (Self::PASS.into(), Self::DUMMY.into())
    }

    /// A new buffer of these bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> BufferId {
        let id = BufferId(self.buffers.len() as u32);
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().next_multiple_of(16).max(16), 0);
        self.buffers.push((id, bytes));
        id
    }

    /// A new buffer of these numbers.
    pub(crate) fn floats(&mut self, values: &[f32]) -> BufferId {
        self.bytes(bytemuck::cast_slice(values))
    }

    /// The case that `dispatches` make.
    pub(crate) fn case(self, name: String, dispatches: Vec<Dispatch>, output: BufferId, expected: Expected) -> Case {
        let kernel = &dispatches[0].kernel;
        let (kernel_name, variant) = (kernel.spec.kernel_name, kernel.id.clone());
        let (buffers, pass) = (self.buffers, self.pass);
        Case { kernel_name, variant, name, dispatches, buffers, output, expected, pass, needs: None, flops: 0 }
    }
}
