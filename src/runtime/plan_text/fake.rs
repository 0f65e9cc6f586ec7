//! A GPU that computes nothing, and notes the passes that the schedule wants of it.

use std::collections::VecDeque;
use std::fmt::Write as _;

use super::Model;
use crate::forward::{Moved, Room, grown_lengths};
use crate::kernels::accept_drafts::Report;
use crate::kernels::pass::{Header, Sequence, WAITING};
use crate::kernels::spec::Slice;
use crate::runtime::draft::Drafter;
use crate::runtime::passes::states;
use crate::runtime::plan::{Form, Plan};
use crate::runtime::schedule::{Compiled, Facts, Needs, Next, Schedule};
use crate::runtime::session::Choosing;

/// A GPU that computes nothing: the token after each token is its successor, and every draft is right.
pub(super) struct FakeGpu {
    pub model: Model,
    pub schedule: Schedule,
    forms: Vec<Form>,
    pub answers: VecDeque<Vec<Sequence>>,
    drafter: Option<Box<dyn Drafter>>,
    /// The text whose passes find that a row of a table is missing, until it is there.
    pub lacks: Option<usize>,
    pub text: String,
}

impl FakeGpu {
    pub fn new(file: &[u8], room: Room) -> Self {
        Self::of(Model::new(file, room))
    }

    pub fn of(model: Model) -> Self {
        let room = model.buffers.room;
        let schedule = Schedule::new(room.sequences, room.context, model.buffers.checkpoints.len());
        let (forms, answers, text) = (vec![Form::Rows(1)], VecDeque::new(), String::new());
        Self { model, schedule, forms, answers, drafter: None, lacks: None, text }
    }

    pub fn with_drafter(mut self, drafter: impl Drafter + 'static) -> Self {
        self.schedule.draft_context = drafter.context();
        self.drafter = Some(Box::new(drafter));
        self
    }

    pub fn say(&mut self, line: &str) {
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
    pub fn go(&mut self, answers: usize) {
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

    /// Hands out what is in flight as long as somebody waits for it, and drops the remaining answers.
    pub fn drain(&mut self) {
        while self.schedule.is_wanted() && self.answer() {}
        self.answers.clear();
        self.schedule.forget_in_flight();
    }

    fn meet(&mut self, needs: Needs) {
        match needs {
            Needs::Room(positions) => self.grow(positions),
            Needs::Lists(form) => self.forms.push(form),
            Needs::Start => {
                self.drain();
                if self.schedule.texts.iter().any(|text| text.waits) {
                    self.lacks = None;
                }
                let plan = self.schedule.start(self.model.layout());
                let adapters: Vec<u32> = self.schedule.adapters_of_pass().iter().map(|adapter| adapter.id).collect();
                if !adapters.is_empty() {
                    self.say(&format!("  lists with adapters {adapters:?}"));
                }
                for (&number, width) in self.schedule.rows.iter().zip(&self.schedule.widths) {
                    let Sequence { token, position, steps, .. } = self.schedule.texts[number].next;
                    let of_text =
                        format!("    text {number}: {width} rows from token {token} at {position}, step {steps}");
                    let _ = writeln!(self.text, "{of_text}");
                }
                self.text += &self.model.lines(&plan);
            }
            Needs::Answer | Needs::Drafts => {}
        }
    }

    fn grow(&mut self, positions: usize) {
        let buffers = &self.model.buffers;
        let length = grown_lengths(buffers.room.allocated, positions, buffers.room.context)[0];
        let growth = buffers.grown(length, self.schedule.written());
        for Moved { buffer, from, to, bytes } in growth.moved {
            let name = self.model.slice(Slice::from(buffer));
            let _ = writeln!(self.text, "    copy {bytes} bytes from {name}+{from} to new {name}+{to}");
        }
        self.model.buffers = growth.buffers;
    }

    /// How the pass that was just made leaves its sequences.
    fn outcome(&self) -> Vec<Sequence> {
        let passes = self.answers.len() as u32 + 1;
        let left = |&number: &usize| {
            let Sequence { token, position, steps, .. } = self.schedule.texts[number].next;
            let by = passes * self.schedule.width_of(number) as u32;
            if self.lacks == Some(number) {
                return Sequence { done: WAITING, ..self.schedule.texts[number].next };
            }
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
    pub fn begin(&mut self, number: usize, prompt: usize, tokens: usize) {
        self.say(&format!("text {number} begins at {prompt} and wants {tokens}"));
        let text = self.schedule.text(number);
        text.choosing = Some(Choosing { greedy: number == 0, biased: number == 1, logits: false });
        text.begin(100 * number as u32, prompt);
        (0..tokens).for_each(|_| text.ask());
    }

    /// Ends a text, whatever is in flight.
    pub fn rest(&mut self, number: usize, why: &str) {
        let held = self.schedule.rest(number);
        self.say(&format!("text {number} {why}, its cache holds {held}"));
    }

    /// Takes what a text has, as its request does.
    pub fn take(&mut self, number: usize) {
        let found = std::iter::from_fn(|| self.schedule.take(number));
        let found: Vec<String> =
            found.map(|drawn| drawn.map_or_else(|e| e.to_string(), |d| d.0.id.to_string())).collect();
        self.say(&format!("text {number} gets {}", found.join(", ")));
    }

    /// Says where a text goes on that is cut at this position.
    pub fn rewind(&mut self, number: usize, position: usize) {
        let rewindable = self.model.buffers.rewindable();
        let (reached, slot) = self.schedule.text(number).positions.rewind(position, rewindable);
        self.say(&format!("text {number} is cut at {position} and goes on at {reached}"));
        let mut plan = Plan::default();
        states::restore(&mut plan, self.model.layout(), number, slot);
        self.text += &self.model.lines(&plan);
    }
}

/// A chapter of the fixture.
pub(super) fn chapter(text: &mut String, name: &str, mut gpu: FakeGpu, story: impl FnOnce(&mut FakeGpu)) {
    let _ = writeln!(text, "{name}");
    story(&mut gpu);
    text.push_str(&gpu.text);
}
