//! Plans as text, and the passes of small models held by `tests/fixtures/passes.txt`: what is written, copied, run and
//! read back, in which order, and what the schedule needs before. After a change on purpose, write it anew with
//! `WEBGGUF_BLESS=1 cargo test --lib passes_are_those_of_the_fixture`.

mod batches;
mod drafts;
mod fake;
mod requests;
mod texts;

use std::fmt::Write as _;

use super::passes::layout::Layout;
use super::plan::{Of, Place, Plan, Run, Step};
use crate::forward::{self, Buffers, Room};
use crate::gguf::HeaderReader;
use crate::kernels::spec::Slice;
use crate::model::ModelConfig;
use crate::model::program::Program;

/// A model's buffers, without a device.
struct Model {
    config: ModelConfig,
    program: Program,
    buffers: Buffers,
    plan: forward::Plan,
}

impl Model {
    fn new(file: &[u8], room: Room) -> Self {
        Self::with(file, room, false)
    }

    /// With a block for multi-token prediction or without.
    fn with(file: &[u8], room: Room, predicts_next: bool) -> Self {
        let mut reader = HeaderReader::new(Some(file.len() as u64));
        let gguf = reader.push(file).expect("a good header").expect("a whole header");
        let mut config = crate::model::config(&gguf).expect("a known model");
        if predicts_next {
            config.predicts_next = true;
            config.tensor_names.insert(format!("blk.{}.nextn.eh_proj.weight", config.layers));
        }
        let program = crate::model::program(&config);
        let mut plan = forward::Plan { buffers: Vec::new() };
        let buffers = Buffers::alloc(&program, config.vocab, room, &mut plan);
        Self { config, program, buffers, plan }
    }

    fn layout(&self) -> Layout<'_> {
        Layout { config: &self.config, program: &self.program, buffers: &self.buffers }
    }

    fn slice(&self, slice: Slice) -> String {
        let label = &self.plan.buffers[slice.buffer.0 as usize].label;
        if slice.offset == 0 { label.clone() } else { format!("{label}+{}", slice.offset) }
    }

    fn place(&self, Place { of, offset }: Place<'_>) -> String {
        match of {
            Of::Session(buffer) => self.slice(Slice { offset, ..Slice::from(buffer) }),
            Of::DraftModel(buffer) => format!("draft model {}", self.slice(Slice { offset, ..Slice::from(buffer) })),
            Of::Other(_) => format!("other+{offset}"),
        }
    }

    fn lines(&self, plan: &Plan<'_>) -> String {
        let mut text = String::new();
        for step in &plan.steps {
            let line = match step {
                Step::Write { to, bytes } => format!("write {} bytes to {}", bytes.len(), self.place(*to)),
                Step::Copy { from, to, bytes } => {
                    format!("copy {bytes} bytes from {} to {}", self.place(*from), self.place(*to))
                }
                Step::Run(Run { set, list, range, rows }) => {
                    let end = if range.end == usize::MAX { String::new() } else { range.end.to_string() };
                    format!("run {list:?} of {set:?}, {}..{end}, {rows} rows", range.start)
                }
                Step::Read { from, what, .. } => format!("read {what:?} at {}", self.slice(*from)),
            };
            let _ = writeln!(text, "    {line}");
        }
        text
    }
}

macro_rules! model {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/", $name, ".gguf"))
    };
}

use model;

fn lanes(context: usize, count: usize) -> Room {
    Room::one(context).for_requests(count)
}

#[test]
fn passes_are_those_of_the_fixture() {
    let mut found = String::new();
    texts::prompts(&mut found);
    texts::texts(&mut found);
    requests::write(&mut found);
    drafts::drafts(&mut found);
    drafts::drafters(&mut found);
    texts::sources(&mut found);
    batches::write(&mut found);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/passes.txt");
    if std::env::var_os("WEBGGUF_BLESS").is_some() {
        std::fs::write(file, &found).expect("a writable snapshot");
    }
    let expected = std::fs::read_to_string(file).unwrap_or_default();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of the snapshot", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}
