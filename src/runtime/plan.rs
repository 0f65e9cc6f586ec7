//! A pass as a value: steps for the GPU, in order.
//!
//! Code that makes a plan knows texts and where their data lies, and no device. Code that executes it
//! (`gpu/execute.rs`) knows a device, and no text. So the order of a pass is data, which a test can read.

use std::ops::Range;

use crate::gpu::Buffer;
use crate::kernels::spec::{BufferId, Slice};

/// The whole of a list.
const ALL: Range<usize> = 0..usize::MAX;

/// What the rows of a decode pass are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The last tokens of this many sequences.
    Rows(usize),
    /// The last tokens of some sequences, and behind some of them drafts of the tokens after them, which their texts
    /// predict: this many rows.
    Draft(usize),
    /// The same, where a [drafter](super::draft::Drafter) writes the drafts of some sequences on the GPU before the
    /// pass.
    DraftOfModel { texts: usize, rows: usize },
}

impl Form {
    /// Number of rows of a pass.
    pub fn rows(self) -> usize {
        match self {
            Self::Rows(rows) | Self::Draft(rows) | Self::DraftOfModel { rows, .. } => rows,
        }
    }

    /// Whether the pass has drafts.
    pub fn is_draft(self) -> bool {
        !matches!(self, Self::Rows(_))
    }

    /// The set of lists that the steps of a drafter run before the pass, if one drafts.
    pub fn steps(self) -> Option<Set> {
        match self {
            Self::DraftOfModel { texts, .. } => Some(Set::Steps(texts)),
            _ => None,
        }
    }

    /// The set of lists that a pass runs.
    pub fn set(self) -> Set {
        match self {
            Self::Rows(rows) => Set::Rows(rows),
            Self::Draft(rows) | Self::DraftOfModel { rows, .. } => Set::Draft(rows),
        }
    }
}

/// Lists that are recorded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// For decode passes of this many rows. The lists for one row also read prompts.
    Rows(usize),
    /// For passes of this many rows with drafts.
    Draft(usize),
    /// A step that drafts a token for each of this many sequences, by the model's own block.
    Steps(usize),
    /// The draft model's lists for this many rows.
    DraftModel(usize),
    /// An embedder's lists for batches of few rows.
    SmallBatch,
    /// An embedder's lists for batches of as many rows as it has room for.
    LargeBatch,
}

/// A command list of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// The layers over the rows of a prompt.
    Prefill,
    /// The same without rounded activations, where [`List::Prefill`] rounds them.
    ExactPrefill,
    /// What follows each pass over a prompt.
    Follow,
    /// The logits of the last row of a prompt.
    Head,
    /// The logits of all its rows.
    HeadOfAll,
    /// The layers and the logits of a decode pass.
    Decode,
    /// Adds biases to logits.
    Bias,
    /// Chooses the token with the largest logit.
    Greedy,
    /// Draws a token.
    Sample,
    /// Runs recurrent states along the accepted rows of a draft.
    Replay,
    /// One token of a draft, by the model's own block, or all of them.
    Step,
    /// The encoder over the rows of a source.
    Source,
    /// The keys and values of a source, for each sequence in turn.
    Keys,
    /// A stage of an encoder before the last one.
    Stage(usize),
    /// The layers of an embedder over the rows of a batch.
    Batch,
    /// Over the inputs of a batch: pooling and what follows.
    Inputs,
}

/// Dispatches of a list, over a pass of some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub set: Set,
    pub list: List,
    /// Which dispatches; an end past the last one means all of them.
    pub range: Range<usize>,
    pub rows: usize,
}

/// A pass whose layers may be cut into several submits.
pub struct LongPass<'a> {
    /// Before the layers.
    pub before: Plan<'a>,
    /// The layers, which may be cut between any two dispatches.
    pub layers: Run,
    /// After the layers.
    pub then: Plan<'a>,
}

/// A submit of a pass.
pub struct Submit<'a> {
    pub plan: Plan<'a>,
    /// How many dispatches of the layers it has.
    pub layers: usize,
}

impl<'a> LongPass<'a> {
    /// The submits of the pass, whose layers are in a list of `len` dispatches: `parts` with nearly as many dispatches
    /// each.
    pub fn cut(self, len: usize, parts: usize) -> impl Iterator<Item = Submit<'a>> {
        let count = self.dispatches(len);
        let Self { mut before, layers, mut then } = self;
        let start = layers.range.start;
        (0..parts).map(move |part| {
            let range = start + part * count / parts..start + (part + 1) * count / parts;
            let mut plan = std::mem::take(&mut before);
            plan.run_part(Run { range: range.clone(), ..layers.clone() });
            if part + 1 == parts {
                plan.append(std::mem::take(&mut then));
            }
            Submit { plan, layers: range.len() }
        })
    }

    /// Number of dispatches of its layers, which are in a list of `len`.
    pub fn dispatches(&self, len: usize) -> usize {
        self.layers.range.end.min(len).saturating_sub(self.layers.range.start)
    }
}

#[cfg(test)]
impl<'a> LongPass<'a> {
    /// The pass in one piece.
    pub fn whole(self) -> Plan<'a> {
        let mut plan = self.before;
        plan.run_part(self.layers);
        plan.append(self.then);
        plan
    }
}

/// The buffer of a copy.
#[derive(Clone, Copy)]
pub enum Of<'a> {
    /// One of the session.
    Session(BufferId),
    /// One of the draft model's session.
    DraftModel(BufferId),
    /// One that no plan of buffers knows.
    Other(&'a Buffer),
}

/// Where a copy starts.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub of: Of<'a>,
    /// In bytes.
    pub offset: u64,
}

impl Place<'_> {
    /// The place `bytes` further on.
    pub fn after(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }

    /// A place in the draft model's session.
    pub fn of_draft_model(slice: Slice) -> Self {
        Self { of: Of::DraftModel(slice.buffer), offset: slice.offset }
    }
}

impl From<Slice> for Place<'_> {
    fn from(slice: Slice) -> Self {
        Self { of: Of::Session(slice.buffer), offset: slice.offset }
    }
}

impl<'a> From<&'a Buffer> for Place<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self { of: Of::Other(buffer), offset: 0 }
    }
}

/// What is read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// How the pass left its sequences, or the report of a pass with a draft.
    Outcome,
    /// Logits `[rows, vocab]`.
    Logits,
}

/// A step of a plan.
#[derive(Clone)]
pub enum Step<'a> {
    /// Writes bytes of the host into a buffer.
    Write { to: Place<'a>, bytes: Vec<u8> },
    /// Copies bytes between buffers.
    Copy { from: Place<'a>, to: Place<'a>, bytes: u64 },
    /// Runs dispatches.
    Run(Run),
    /// Reads bytes back, which are an [answer](super::gpu::execute::Answer) later. `bytes`: all that the read-back
    /// buffer holds, if not given.
    Read { from: Slice, what: Read, bytes: Option<u64> },
}

impl Step<'_> {
    pub fn is_write(&self) -> bool {
        matches!(self, Self::Write { .. })
    }
}

/// Steps in order.
#[derive(Clone, Default)]
pub struct Plan<'a> {
    pub steps: Vec<Step<'a>>,
}

impl<'a> Plan<'a> {
    /// Adds a write; nothing where there are no bytes.
    pub fn write(&mut self, to: impl Into<Place<'a>>, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.steps.push(Step::Write { to: to.into(), bytes });
        }
    }

    /// Adds a write at an offset of a slice.
    pub fn write_at(&mut self, to: Slice, offset: u64, bytes: impl Into<Vec<u8>>) {
        self.write(Slice { offset: to.offset + offset, ..to }, bytes);
    }

    /// Adds a copy.
    pub fn copy(&mut self, from: impl Into<Place<'a>>, to: impl Into<Place<'a>>, bytes: u64) {
        self.steps.push(Step::Copy { from: from.into(), to: to.into(), bytes });
    }

    /// Adds all dispatches of a list.
    pub fn run(&mut self, set: Set, list: List, rows: usize) {
        self.steps.push(Step::Run(Run { set, list, range: ALL, rows }));
    }

    /// Adds some dispatches of a list.
    pub fn run_part(&mut self, run: Run) {
        self.steps.push(Step::Run(run));
    }

    /// Adds a read-back of what is at the start of a slice.
    pub fn read(&mut self, from: Slice, what: Read, bytes: Option<u64>) {
        self.steps.push(Step::Read { from, what, bytes });
    }

    /// Adds the steps of another plan.
    pub fn append(&mut self, mut other: Plan<'a>) {
        self.steps.append(&mut other.steps);
    }
}
