//! Plans as text, and the passes of small models held by `tests/fixtures/passes.txt`: what is written, copied, run and
//! read back, in which order, and what the schedule needs before. After a change on purpose, write it anew with
//! `WEBGGUF_BLESS=1 cargo test --lib passes_are_those_of_the_fixture`.

mod batches;

use std::collections::VecDeque;
use std::fmt::Write as _;

use super::draft::Drafter;
use super::draft::block::Block;
use super::draft::drafting::Drafting;
use super::draft::drafts::Drafts;
use super::draft::model::FakeDraftModel;
use super::pass::Chunk;
use super::passes::layout::Layout;
use super::passes::prefill::{Ends, Lengths, prefill};
use super::passes::{source, states};
use super::plan::{Form, Of, Place, Plan, Run, Step};
use super::schedule::{Compiled, Facts, Needs, Next, Schedule};
use super::session::Choosing;
use crate::forward::{self, Buffers, Room};
use crate::gguf::HeaderReader;
use crate::kernels::accept_drafts::Report;
use crate::kernels::pass::{Header, Sequence};
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

/// A GPU that computes nothing: the token after each token is its successor, and every draft is right.
struct FakeGpu {
    model: Model,
    schedule: Schedule,
    forms: Vec<Form>,
    answers: VecDeque<Vec<Sequence>>,
    drafter: Option<Box<dyn Drafter>>,
    text: String,
}

impl FakeGpu {
    fn new(file: &[u8], room: Room) -> Self {
        Self::of(Model::new(file, room))
    }

    fn of(model: Model) -> Self {
        let room = model.buffers.room;
        let schedule = Schedule::new(room.sequences, room.context, model.buffers.checkpoints.len());
        let (forms, answers, text) = (vec![Form::Rows(1)], VecDeque::new(), String::new());
        Self { model, schedule, forms, answers, drafter: None, text }
    }

    fn with_drafter(mut self, drafter: impl Drafter + 'static) -> Self {
        self.schedule.draft_context = drafter.context();
        self.drafter = Some(Box::new(drafter));
        self
    }

    fn say(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn next(&mut self) -> Next {
        let (forms, in_flight) = (self.forms.clone(), self.answers.len());
        let facts = Facts {
            layout: self.model.layout(),
            in_flight,
            has_free: [in_flight < 4; 2],
            has_form: &|form| forms.contains(&form),
            drafts: Compiled::Yes,
            drafter: self.drafter.as_deref(),
        };
        self.schedule.next(&facts)
    }

    /// Does what the schedule says until it waits for an answer and none is in flight, or for `answers` answers.
    fn go(&mut self, answers: usize) {
        let mut left = answers;
        loop {
            match self.next() {
                Next::Execute(plan) => {
                    self.say("pass");
                    self.text += &self.model.lines(&plan);
                    self.answers.push_back(self.outcome());
                }
                Next::Needs(needs) => {
                    self.say(&format!("needs {needs:?}"));
                    if needs == Needs::Answer && (left == 0 || !self.answer()) {
                        return;
                    }
                    left -= usize::from(needs == Needs::Answer);
                    self.meet(needs);
                }
            }
        }
    }

    fn meet(&mut self, needs: Needs) {
        match needs {
            Needs::Room(positions) => self.model.buffers.room.allocated = 2 * positions,
            Needs::Lists(form) => self.forms.push(form),
            Needs::Start => {
                while self.answer() {}
                let plan = self.schedule.start(self.model.layout());
                self.text += &self.model.lines(&plan);
            }
            Needs::Answer | Needs::Drafts => {}
        }
    }

    /// How the pass that was just made leaves its sequences.
    fn outcome(&self) -> Vec<Sequence> {
        let passes = self.answers.len() as u32 + 1;
        let left = |&number: &usize| {
            let Sequence { token, position, steps, .. } = self.schedule.texts[number].next;
            let by = passes * self.schedule.width_of(number) as u32;
            Sequence { token: token + by, position: position + by, steps: steps + by, done: 0 }
        };
        self.schedule.rows.iter().map(left).collect()
    }

    /// Hands out the oldest answer; false where nothing is in flight.
    fn answer(&mut self) -> bool {
        let Some(left) = self.answers.pop_front() else { return false };
        if self.schedule.form.is_draft() {
            let report = |(&width, &sequence): (&usize, &Sequence)| {
                let width = width as u32;
                let mut report = Report { accepted: width, drafted: width - 1, sequence, ..Report::default() };
                (1..=width).zip(&mut report.tokens).for_each(|(at, token)| *token = sequence.token - width + at);
                report
            };
            let reports: Vec<Report> = self.schedule.widths.iter().zip(&left).map(report).collect();
            self.schedule.received_drafts(&reports, 0.0);
        } else {
            let mut header = Header::default();
            self.schedule.rows.iter().zip(left).for_each(|(&number, left)| header.sequences[number] = left);
            self.schedule.received(&header, None, 0.0);
        }
        true
    }

    /// Begins a text whose prompt of `prompt` tokens is read, and asks for tokens.
    fn begin(&mut self, number: usize, prompt: usize, tokens: usize) {
        self.say(&format!("text {number} begins at {prompt} and wants {tokens}"));
        let text = self.schedule.text(number);
        text.choosing = Some(Choosing { greedy: number == 0, biased: number == 1, logits: false });
        text.begin(100 * number as u32, prompt);
        (0..tokens).for_each(|_| text.ask());
    }
}

fn chapter(text: &mut String, name: &str, mut gpu: FakeGpu, story: impl FnOnce(&mut FakeGpu)) {
    let _ = writeln!(text, "{name}");
    story(&mut gpu);
    text.push_str(&gpu.text);
}

macro_rules! model {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/fixtures/models/", $name, ".gguf"))
    };
}

fn lanes(context: usize, count: usize) -> Room {
    Room::one(context).for_requests(count)
}

/// A pass of a prompt, for each of what may be wanted.
fn prompts(text: &mut String) {
    let model = Model::new(model!("gemma3-f16"), Room::one(512));
    let of = Lengths { embeddings: 1, prefill: 40, kept: 37, is_exact: true };
    let choosing = Choosing { greedy: true, biased: true, logits: false };
    for (name, ends) in [("caches", Ends::Caches), ("a token", Ends::Token(choosing)), ("logits", Ends::Logits)] {
        let chunk = Chunk { rows: 0..100, is_single: false, is_last: true };
        let found = prefill(model.layout(), (0, &chunk), &[], (ends, of));
        let _ = writeln!(text, "a prompt of 100 tokens, for {name}");
        let mut plan = found.pass.whole();
        plan.append(found.always);
        text.push_str(&model.lines(&plan));
    }
}

/// Texts that join, leave, grow and fail.
fn texts(text: &mut String) {
    let llama = model!("llama-f32");
    chapter(text, "alone, until nobody asks for more", FakeGpu::new(llama, Room::one(64)), |gpu| {
        gpu.begin(0, 5, 6);
        gpu.go(6);
    });
    chapter(
        text,
        "four texts: one joins while two are written, one leaves",
        FakeGpu::new(llama, lanes(64, 4)),
        |gpu| {
            gpu.begin(0, 5, 2);
            gpu.begin(1, 9, 4);
            gpu.go(1);
            gpu.begin(3, 2, 3);
            gpu.go(2);
            gpu.say("text 0 leaves");
            gpu.schedule.rest(0);
            gpu.go(9);
        },
    );
    let small = Room { allocated: 8, ..Room::one(64) };
    chapter(text, "caches that grow", FakeGpu::new(llama, small), |gpu| {
        gpu.begin(0, 7, 3);
        gpu.go(3);
    });
    chapter(
        text,
        "an error ends the texts that need room",
        FakeGpu::new(llama, Room { allocated: 8, ..lanes(64, 2) }),
        |gpu| {
            gpu.begin(0, 3, 2);
            gpu.begin(1, 8, 2);
            gpu.schedule.fail(&crate::Error::invalid_argument("no room"), 8);
            gpu.go(2);
        },
    );
}

/// Speculative decoding, and recurrent states.
fn drafts(text: &mut String) {
    let llama = model!("llama-f32");
    let drafts = Room::one(200).with_drafts(true);
    let predicted = |gpu: &mut FakeGpu, number: usize| {
        gpu.schedule.allow_drafts();
        gpu.begin(number, 20, 20);
        let mut drafts = Drafts::new(Drafting::Prompt, (&[], 0), &[5; 20]);
        drafts.read(&[5; 20], 0);
        while !drafts.is_on() {
            drafts.took(5, 0.0);
        }
        gpu.schedule.text(number).drafts = Some(drafts);
    };
    chapter(text, "drafts from the text", FakeGpu::new(llama, drafts), |gpu| {
        predicted(gpu, 0);
        gpu.go(2);
    });
    chapter(text, "drafts where states are recurrent", FakeGpu::new(model!("lfm2-bf16"), drafts), |gpu| {
        predicted(gpu, 0);
        gpu.go(1);
    });
    chapter(text, "states copied while a text is written", FakeGpu::new(model!("lfm2-bf16"), lanes(200, 2)), |gpu| {
        gpu.begin(1, 63, 3);
        gpu.go(3);
        let mut plan = Plan::default();
        states::restore(&mut plan, gpu.model.layout(), 1, Some(0));
        gpu.say("text 1 goes back to its checkpoint");
        gpu.text += &gpu.model.lines(&plan);
    });
    chapter(
        text,
        "three texts, two of which have drafts",
        FakeGpu::new(model!("lfm2-bf16"), lanes(200, 3).with_drafts(true)),
        |gpu| {
            predicted(gpu, 0);
            gpu.begin(1, 7, 9);
            predicted(gpu, 2);
            gpu.go(1);
            gpu.say("text 0 leaves");
            gpu.schedule.rest(0);
            gpu.go(1);
        },
    );
}

/// Drafts of a model and of a block of the model, for one text and several.
fn drafters(text: &mut String) {
    let of_model = |gpu: &mut FakeGpu, number: usize| {
        gpu.schedule.allow_drafts();
        gpu.begin(number, 20, 2);
        let mut drafts = Drafts::new(Drafting::Model, (&[], 0), &[5; 20]).by_model(true);
        drafts.read(&[5; 20], 0);
        drafts.took(5, 0.0);
        gpu.schedule.text(number).drafts = Some(drafts);
    };
    let gpu = FakeGpu::new(model!("llama-f32"), lanes(200, 3).with_drafts(true));
    let pass = gpu.model.buffers.pass;
    let gpu = gpu.with_drafter(FakeDraftModel { pass });
    chapter(text, "three texts, for two of which a model drafts: a step for both at a time", gpu, |gpu| {
        of_model(gpu, 0);
        gpu.begin(1, 7, 1);
        of_model(gpu, 2);
        gpu.go(1);
        gpu.say("text 0 leaves");
        gpu.schedule.rest(0);
        gpu.schedule.text(2).ask();
        gpu.go(0);
    });
    for (name, room) in [("one text", Room::one(200)), ("two texts", lanes(200, 2))] {
        let room = room.with_drafts(true);
        let gpu = FakeGpu::of(Model::with(model!("qwen35-f32"), room, true)).with_drafter(Block { context: 200 });
        chapter(text, &format!("{name} for which a block of the model drafts"), gpu, |gpu| {
            (0..room.sequences).for_each(|number| of_model(gpu, number));
            gpu.go(0);
        });
    }
    let model = Model::with(model!("qwen35-f32"), lanes(200, 2).with_drafts(true), true);
    let chunk = Chunk { rows: 0..100, is_single: false, is_last: false };
    let of = Lengths { embeddings: 1, prefill: 40, kept: 40, is_exact: true };
    let found = prefill(model.layout(), (1, &chunk), &[], (Ends::Caches, of));
    let _ = writeln!(text, "a prompt of 100 tokens of the second text, which the block goes along");
    text.push_str(&model.lines(&found.pass.before));
    text.push_str(&model.lines(&found.pass.then));
}

fn sources(text: &mut String) {
    let model = Model::new(include_bytes!("../../tests/fixtures/sources/t5-f16.gguf"), lanes(64, 2));
    let Some(found) = source::read(model.layout(), (1, 2), &[3; 40], 12) else { return };
    let mut plan = found.whole();
    source::write_spans(&mut plan, model.layout(), &[0, 40]);
    let _ = writeln!(text, "a source of 40 tokens of the second of two texts\n{}", model.lines(&plan).trim_end());
}

#[test]
fn passes_are_those_of_the_fixture() {
    let mut found = String::new();
    prompts(&mut found);
    texts(&mut found);
    drafts(&mut found);
    drafters(&mut found);
    sources(&mut found);
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
