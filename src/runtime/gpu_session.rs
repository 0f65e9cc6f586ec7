//! A session on the GPU: its KV cache, its command lists made once, and the passes that run them.

use std::cell::Cell;
use std::rc::Rc;

use super::gpu_choice::Choice;
use super::gpu_evaluation::Evaluation;
use super::gpu_model::{GpuModel, SessionPlan};
use super::lists::Lists;
use super::pace::MIN_TOKENS;
use super::pass::{Reading, Until};
use super::queue::Queue;
use super::scheduler::{Received, Wants};
use super::sequence::Sequence;
use super::session::{RunIds, Session, Token};
use super::snapshot::Head;
use crate::forward::{Buffers, CHUNK, Forward, MAX_STOPS, Room};
use crate::gpu::{Buffer, BufferTable, CommandList, Copy, Device, ReadBack, Ring};
use crate::kernels::caps::ActivationFormat;
use crate::kernels::kv_type::KvType;
use crate::kernels::logit_bias;
use crate::kernels::pass::{self, Header, Pass, READ_BYTES, WAITING};
use crate::kernels::sample;
use crate::kernels::spec::{BufferId, Slice};
use crate::model::ModelConfig;
use crate::sampler::{SamplingOptions, counts_of_prompt};
use crate::{Error, ErrorCode, Result};

/// Tokens in flight, at most.
pub const MAX_DEPTH: usize = 16;

/// A KV cache and a sampler on the GPU, over a model that others may run too.
pub struct GpuSession {
    pub(super) model: Rc<GpuModel>,
    /// The model's buffers and the session's own.
    pub(super) table: BufferTable,
    pub(super) buffers: Buffers,
    pub(super) lists: Lists,
    pub(super) evaluation: Option<Evaluation>,
    /// `[EVALUATE_CHUNK, vocab]`, made at the first call of [`Session::evaluate`].
    pub(super) all_logits: Option<BufferId>,
    pub(super) ring: Ring,
    pub(super) choice: Choice,
    /// The text of each sequence.
    pub(super) texts: Vec<Rc<Sequence>>,
    /// Of these, the one that the next passes go on with.
    pub(super) sequence: Rc<Sequence>,
    /// Lists for passes of several rows, by their number.
    pub(super) few_rows: Vec<Option<Lists>>,
    /// The sequence, where it waits for a row of a table: its pass was read back, and nothing in flight does anything.
    pub(super) waiting: Option<pass::Sequence>,
    /// A pass waits for room in the caches ...
    wants_room: bool,
    /// ... which could not be made.
    no_room: Option<Error>,
}

impl GpuSession {
    /// A session of a model that is loaded already, with a context of so many positions.
    ///
    /// # Errors
    /// `limit_exceeded` where the cache is too large for the device; `device_lost` and `out_of_memory` as the browser
    /// reports them.
    pub async fn new(model: Rc<GpuModel>, context: usize) -> Result<Self> {
        Self::with_room(model, Room::one(context)).await
    }

    /// As [`GpuSession::new`], for several sequences, and for passes of several rows.
    pub async fn with_room(model: Rc<GpuModel>, room: Room) -> Result<Self> {
        let plan = SessionPlan::new(&model, room)?;
        let mut table = model.table.clone();
        table.make(&model.device, &plan.specs)?;
        let session = Self::assemble(model, plan, table).await?;
        session.model.device.check_pipelines().await?;
        Ok(session)
    }

    /// A session whose buffers are in `table`.
    pub(super) async fn assemble(model: Rc<GpuModel>, plan: SessionPlan, table: BufferTable) -> Result<Self> {
        let lists = Lists::record(&model.device, &plan.lists, &table).await?;
        let read_bytes = if plan.buffers.room.sequences > 1 { size_of::<Header>() as u64 } else { READ_BYTES };
        let ring = Ring::new(&model.device, MAX_DEPTH, read_bytes)?;
        let copies = plan.buffers.checkpoints.len();
        let texts: Vec<_> = (0..plan.buffers.room.sequences).map(|_| Rc::new(Sequence::new(copies))).collect();
        let session = Self {
            model,
            table,
            buffers: plan.buffers,
            lists,
            evaluation: None,
            ring,
            choice: Choice::default(),
            sequence: texts[0].clone(),
            texts,
            few_rows: Vec::new(),
            waiting: None,
            all_logits: None,
            wants_room: false,
            no_room: None,
        };
        for (slice, frequencies) in session.buffers.frequencies.iter().zip(&session.model.frequencies) {
            session.write(*slice, bytemuck::cast_slice(frequencies));
        }
        session.start_places();
        Ok(session)
    }

    /// The model.
    pub fn model(&self) -> &Rc<GpuModel> {
        &self.model
    }

    /// Bytes on the GPU of the session and its model.
    pub fn bytes(&self) -> u64 {
        let lists: u64 = self.all_lists().map(CommandList::bytes).sum();
        self.table.bytes() + lists + self.ring.bytes() + self.choice.bytes()
    }

    /// Ids of the variants of all kernels that it and its model run, sorted.
    pub fn variants(&self) -> Vec<String> {
        let ids = self.all_lists().flat_map(CommandList::variants).map(str::to_owned);
        let mut all = self.model.repacks.clone();
        all.extend(ids);
        all.into_iter().collect()
    }

    fn all_lists(&self) -> impl Iterator<Item = &CommandList> {
        let evaluation = self.evaluation.iter().flat_map(|it| it.exact.iter().chain([&it.head]));
        let lists = [&self.lists].into_iter().chain(self.few_rows.iter().flatten());
        lists.flat_map(Lists::all).chain(evaluation)
    }

    /// Dispatches of one decoded token that is the likeliest.
    pub fn dispatches_per_token(&self) -> usize {
        self.lists.decode.len() + self.lists.greedy.len()
    }

    /// Measures how long prefill takes. Leaves nothing behind that a run sees.
    pub(super) async fn measure_pace(&self) -> Result<()> {
        let tokens = MIN_TOKENS.min(CHUNK).min(self.buffers.room.allocated);
        self.begin_pass(&vec![0; tokens], 0).await?;
        Queue::measure(&self.model, &self.lists.prefill, tokens).await
    }

    /// The token of a read-back; `None` where its sequence waits. One that ends the run leaves the states where they
    /// are, whatever is in flight.
    fn token(&mut self, bytes: &[u8]) -> Option<Token> {
        let sequence = sequence(bytes);
        if sequence.done == WAITING {
            self.waiting = Some(sequence);
            return None;
        }
        if sequence.done != 0 {
            self.sequence.stay_at(sequence.position as usize);
            self.moved(Some(sequence.position as usize));
        }
        self.model.touch_row(sequence.token);
        Some(Token { id: sequence.token, end: sequence.done != 0 })
    }

    /// Fetches the row that a sequence waits for, and submits again the passes that did nothing without it.
    async fn go_on(&mut self, sequence: pass::Sequence) -> Result<()> {
        let passes = 1 + self.ring.in_flight();
        self.discard();
        self.model.ensure_rows(&[sequence.token]).await?;
        self.write(self.buffers.pass, &Pass::again(sequence).bytes());
        let position = sequence.position as usize;
        self.sequence.stay_at(position);
        // Copies of states past it are of passes that did nothing.
        self.moved(Some(position));
        self.rewind_states(position);
        for _ in 0..passes {
            if !self.step()? {
                return Err(no_read_back());
            }
        }
        self.model.device.check()
    }

    /// Makes the lists for passes of `rows` rows, where they are not made yet.
    pub(super) async fn record_rows(&mut self, rows: usize) -> Result<()> {
        if self.few_rows.get(rows).is_some_and(Option::is_some) {
            return Ok(());
        }
        let model = self.model.clone();
        let lists = Forward::new(&model.program, &model.caps, &model.weights, &self.buffers).lists_of_rows(rows as u32);
        let recorded = Lists::compile(&model.device, &lists, &self.table).await?;
        self.few_rows.resize_with(self.few_rows.len().max(rows + 1), || None);
        self.few_rows[rows] = Some(recorded);
        Ok(())
    }

    /// Drops the lists that are made on demand: the buffers have changed.
    pub(super) fn forget_other_lists(&mut self) {
        self.evaluation = None;
        self.few_rows.clear();
    }

    /// Whether the next pass of one token has to wait for room.
    fn is_full(&self) -> bool {
        let room = self.buffers.room;
        self.sequence.next() >= room.allocated && room.allocated < room.context
    }

    /// The ids at which the GPU stops a sequence.
    pub(super) fn write_ends(&self, ends: &[u32]) {
        let ends = &ends[..ends.len().min(MAX_STOPS)];
        let words: Vec<u32> = std::iter::once(ends.len() as u32).chain(ends.iter().copied()).collect();
        self.write(self.buffers.sample.stops, bytemuck::cast_slice(&words));
    }

    pub(super) fn write(&self, slice: Slice, bytes: &[u8]) {
        write(&self.model.device, &self.table, slice, bytes);
    }
}

impl Session for GpuSession {
    fn config(&self) -> &ModelConfig {
        &self.model.config
    }

    fn context_length(&self) -> usize {
        self.buffers.room.context
    }

    fn kv_type(&self) -> KvType {
        self.buffers.room.kv_type
    }

    fn holds_row(&self, id: u32) -> bool {
        self.model.input_rows.holds(id)
    }

    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]) {
        (self.wants_room, self.no_room) = (false, None);
        let sample = self.buffers.sample;
        self.write_ends(ids.ends);
        self.choice = std::mem::take(&mut self.choice).of_run(options, ids);
        if !self.choice.choosing.greedy {
            self.write(sample.options, bytemuck::bytes_of(&crate::kernels::sample::Options::from(options)));
            let counts = counts_of_prompt(self.model.config.vocab, prompt, ids.suppressed);
            self.write(sample.counts, bytemuck::cast_slice(&counts));
            self.choice.keep_counts(options, counts);
        }
        if self.choice.choosing.biased {
            self.write(sample.biases, bytemuck::cast_slice(&logit_bias::words(ids.biases)));
        }
        self.allow(None);
    }

    fn rewind(&mut self, position: usize) -> usize {
        let (reached, slot) = self.sequence.rewind(position, self.buffers.rewindable());
        self.restore_states(slot);
        reached
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        let wants = if self.choice.choosing.logits { Wants::TokenLater } else { Wants::Token };
        let mut reading = Reading::new(ids, position);
        self.run(&mut reading, wants, Until::stopped(stop)).await?;
        if self.choice.started {
            self.step()?;
        }
        Ok(reading.done)
    }

    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        let mut reading = Reading::new(ids, position);
        self.run(&mut reading, Wants::TokenLater, Until::stopped(stop)).await?;
        Ok(reading.done)
    }

    fn resume(&mut self, answer: &[u32], recount: bool) {
        if let Some(counts) = self.choice.resume(answer, recount) {
            self.write(self.buffers.sample.counts, bytemuck::cast_slice(&counts));
        }
    }

    fn allow(&mut self, mask: Option<&[u32]>) {
        let words = sample::words_of_mask(mask, self.model.config.vocab as u32);
        self.write(self.buffers.sample.mask, bytemuck::cast_slice(&words));
    }

    fn draws_ahead(&self) -> bool {
        !self.sequence.has_states()
    }

    /// Prefill rounds activations.
    fn rounds(&self) -> bool {
        self.model.caps.activation_format != ActivationFormat::F32
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        self.choice.last_logits.take()
    }

    fn step(&mut self) -> Result<bool> {
        let started = self.choice.started;
        self.wants_room = !started && self.waiting.is_none() && self.is_full();
        let submitted = self.waiting.is_none() && !self.wants_room && self.submit_decode(1, self.choice.choosing);
        if submitted && !started {
            let next = self.sequence.next() + 1;
            self.sequence.advance_to(next);
            self.moved(Some(next));
            if self.sequence.is_copy_due() {
                self.keep_states();
            }
        }
        Ok(submitted)
    }

    fn in_flight(&self) -> usize {
        self.ring.in_flight() + usize::from(self.waiting.is_some())
    }

    /// Makes room for the passes after those in flight, where there is none. Where that fails, the tokens in flight
    /// come first.
    async fn next(&mut self) -> Result<Option<Token>> {
        if self.wants_room && self.no_room.is_none() {
            self.wants_room = false;
            self.no_room = self.grow_to(self.sequence.next() + 1).await.err();
        }
        loop {
            if let Some(error) = self.no_room.take_if(|_| self.ring.in_flight() == 0 && self.waiting.is_none()) {
                return Err(error);
            }
            if let Some(sequence) = self.waiting.take() {
                self.go_on(sequence).await?;
            }
            let Some(Received { header, logits }) = self.receive().await? else { return Ok(None) };
            self.choice.last_logits = logits;
            let token = self.token(&header);
            if token.is_some() {
                return Ok(token);
            }
        }
    }

    /// With logits a token is always waited for: there are two reads of it.
    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        if self.waiting.is_some() || self.choice.choosing.logits {
            return Ok(None);
        }
        let bytes = self.ring.next_if_ready(&self.model.device)?;
        Ok(bytes.and_then(|bytes| self.token(&bytes)))
    }

    async fn make_room(&mut self, tokens: usize) -> Result<()> {
        self.grow_to(tokens).await
    }

    async fn with_caches(&mut self, head: Head) -> Result<Head> {
        Ok(self.caches_of(head))
    }

    async fn restore(&mut self, head: &Head) -> Result<bool> {
        self.go_on_from(head)
    }

    async fn read_part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        self.part(tokens, number).await
    }

    async fn write_part(&self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
        self.put_part(tokens, number, file)
    }

    async fn evaluate(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize> {
        let mut reading = Reading::new(ids, position);
        self.run(&mut reading, Wants::Logits(each), Until::stopped(stop)).await?;
        Ok(reading.done)
    }
}

pub(super) fn no_read_back() -> Error {
    Error::new(ErrorCode::LimitExceeded, format!("{MAX_DEPTH} tokens are in flight already"))
}

/// The copy of the pass's start that is read back.
pub(super) fn read_copy<'a>(pass: &'a Buffer, read: &'a ReadBack) -> Copy<'a> {
    Copy { source: pass, source_offset: 0, target: read.buffer(), offset: 0, bytes: read.buffer().size() }
}

/// How a pass left its first sequence, given the pass's first [`READ_BYTES`].
fn sequence(bytes: &[u8]) -> pass::Sequence {
    let at = std::mem::offset_of!(Header, sequences);
    bytemuck::pod_read_unaligned(&bytes[at..at + size_of::<pass::Sequence>()])
}

fn write(device: &Device, table: &BufferTable, slice: Slice, bytes: &[u8]) {
    device.write(table.get(slice.buffer), slice.offset, bytes);
}
