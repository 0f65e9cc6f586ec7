//! Sessions that are [lanes](super::lanes) of one session on the GPU. Their tokens come out of the same passes, which
//! read the weights once for all lanes. A session alone is the only lane of a session of its own.
//!
//! Whoever waits for a token and finds none runs the next passes, and leaves the other lanes their tokens. Prompts are
//! read between passes, one chunk at a time where others wait.

use std::cell::Cell;
use std::rc::Rc;

use super::drafts::{Drafting, Drafts};
use super::lane_passes::Shared;
use super::lanes::Lane;
use super::model::GpuModel;
use super::scheduler::Wants;
use super::session::GpuSession;
use crate::forward::{Room, SampleBuffers};
use crate::kernels::caps::ActivationFormat;
use crate::kernels::kv_type::KvType;
use crate::kernels::logit_bias;
use crate::kernels::sample::{Options, mask_words, words_of_mask};
use crate::kernels::spec::Slice;
use crate::model::{Adapter, ModelConfig};
use crate::runtime::adapters::AdapterUse;
use crate::runtime::pass::Reading;
use crate::runtime::saved::snapshot::Head;
use crate::runtime::session::{Choosing, Listener, RunIds, Session, Token};
use crate::sampler::{Counts, SamplingOptions, count_answer, counts_of_prompt};
use crate::{Error, Result};

/// A session that owns one sequence of a session on the GPU.
pub struct GpuLane {
    pub(in crate::runtime) shared: Rc<Shared>,
    pub(in crate::runtime) number: usize,
    model: Rc<GpuModel>,
    room: Room,
    /// Buffers of the sampler, which stay in place when caches grow.
    sample: SampleBuffers,
    rewindable: usize,
    /// Token counts at the start of the answer; `None` where the run has no penalties.
    counts: Option<Counts>,
    /// Logits of the token that came out last.
    last_logits: Option<Vec<f32>>,
    /// Hears how much of a text is read.
    pub(in crate::runtime) listener: Option<Listener>,
}

/// A handle to what a lane has read, valid as long as nothing else is read there.
pub struct ReadLane {
    lane: GpuLane,
    version: u32,
}

impl GpuLane {
    /// The first lane of a session. That must have room for as many rows as it has sequences, at least.
    pub fn first(session: GpuSession) -> Self {
        let room = session.buffers.room;
        let (model, sample, rewindable) = (session.model.clone(), session.buffers.sample, session.buffers.rewindable());
        let shared = Rc::new(Shared::new(session));
        Self { shared, number: 0, model, room, sample, rewindable, counts: None, last_logits: None, listener: None }
    }

    /// The next lane without an owner, or, if the session has a single lane, that of another session. It is empty, or
    /// has what this one has read.
    ///
    /// # Errors
    /// `invalid_argument` where all lanes have owners; `out_of_memory`, `device_lost`.
    pub async fn another(&self, with_cache: bool) -> Result<Self> {
        if self.is_alone() {
            return self.of_another_session(with_cache).await;
        }
        let (number, count) = (self.shared.taken.get(), self.lanes());
        if number >= count {
            return Err(Error::invalid_argument(format!("the model runs {count} requests at once")));
        }
        self.shared.taken.set(number + 1);
        let made = self.numbered(number);
        if with_cache {
            made.take_over(&self.read_so_far()).await?;
        }
        Ok(made)
    }

    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    async fn of_another_session(&self, with_cache: bool) -> Result<Self> {
        let _turn = self.turn().await?;
        let session = self.shared.session.borrow().another(with_cache).await?;
        let made = Self::first(session);
        if with_cache {
            let position = self.state(|lane| lane.next.position);
            made.state(|lane| lane.has_read(position as usize));
        }
        Ok(made)
    }

    fn numbered(&self, number: usize) -> Self {
        let (shared, model) = (self.shared.clone(), self.model.clone());
        Self { shared, model, number, counts: None, last_logits: None, listener: None, ..*self }
    }

    /// A handle to what the lane has read, to be copied while the lane may be in use.
    pub fn read_so_far(&self) -> ReadLane {
        ReadLane { lane: self.numbered(self.number), version: self.state(|lane| lane.version) }
    }

    /// Copies what another lane of the session has read. False, with nothing copied, where that has changed since.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`.
    pub async fn take_over(&self, ReadLane { lane: other, version }: &ReadLane) -> Result<bool> {
        // If the other lane's states must be restored from a checkpoint, this turn does so first.
        drop(other.turn().await?);
        let _turn = self.turn().await?;
        if other.state(|lane| lane.version) != *version || !Rc::ptr_eq(&self.shared, &other.shared) {
            return Ok(false);
        }
        self.shared.session.borrow_mut().copy_text(other.number, self.number)?;
        let position = other.state(|lane| lane.next.position);
        self.state(|lane| {
            lane.stop();
            lane.restores = None;
            lane.has_read(position as usize);
        });
        Ok(true)
    }

    pub fn model(&self) -> &Rc<GpuModel> {
        &self.model
    }

    /// Number of lanes of the session.
    pub fn lanes(&self) -> usize {
        self.room.sequences
    }

    /// Whether this is the only lane of its session.
    pub fn is_alone(&self) -> bool {
        self.room.sequences == 1
    }

    /// Asks the session that the lanes share; returns the default while that is in use.
    pub fn of_session<T: Default>(&self, ask: impl FnOnce(&GpuSession) -> T) -> T {
        self.shared.session.try_borrow().map(|session| ask(&session)).unwrap_or_default()
    }

    pub(in crate::runtime) fn state<T>(&self, change: impl FnOnce(&mut Lane) -> T) -> T {
        change(self.shared.lanes.borrow_mut().lane(self.number))
    }

    /// See [`Session::rewind`].
    pub(in crate::runtime) fn go_back(&self, position: usize) -> usize {
        self.state(|lane| {
            lane.stop();
            let (reached, slot) = lane.text.rewind(position, self.rewindable);
            lane.restores = slot.or(lane.restores);
            lane.has_read(reached);
            reached
        })
    }

    fn take(&mut self) -> Result<Option<Token>> {
        let found = self.shared.lanes.borrow_mut().take(self.number).transpose()?;
        Ok(found.map(|(token, logits)| {
            self.last_logits = logits;
            token
        }))
    }

    /// Queues data for the lane's part of a buffer, to be written before its next pass. `stride`: bytes of a lane's
    /// part.
    fn write(&self, of: Slice, stride: usize, bytes: &[u8]) {
        let part = Slice { offset: of.offset + (self.number * stride) as u64, ..of };
        self.state(|lane| lane.write(part, bytes.to_vec()));
    }
}

impl Session for GpuLane {
    fn config(&self) -> &ModelConfig {
        &self.model.config
    }

    fn context_length(&self) -> usize {
        self.room.context
    }

    fn kv_type(&self) -> KvType {
        self.room.kv_type
    }

    fn knows_row(&self, id: u32) -> bool {
        self.model.input_rows.knows(id)
    }

    fn set_listener(&mut self, listener: Option<Listener>) {
        self.listener = listener;
    }

    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]) {
        let vocab = self.model.config.vocab;
        let choosing = Choosing::of_run(options, ids);
        let takes_drafts = self.room.drafts && !choosing.logits && ids.drafting != Drafting::Off;
        let prediction = (ids.prediction, self.room.context);
        let is_text = prompt.iter().all(|&id| (id as usize) < vocab); // no draft model reads rows of images
        let by_model = self.drafters().contains(&true) && ids.drafting != Drafting::Prompt && is_text;
        self.state(|lane| {
            lane.drafts = takes_drafts.then(|| Drafts::new(ids.drafting, prediction, prompt).by_model(by_model));
            lane.choosing = Some(choosing);
            lane.ends = ids.ends.to_vec();
            (lane.steps, lane.is_exact) = (0, false);
            lane.forget_writes();
        });
        self.write(self.sample.options, size_of::<Options>(), bytemuck::bytes_of(&Options::from(options)));
        self.write(self.sample.biases, logit_bias::WORDS * 4, bytemuck::cast_slice(&logit_bias::words(ids.biases)));
        self.write(self.sample.mask, mask_words(vocab as u32) * 4, &0u32.to_le_bytes());
        let counts = (!choosing.greedy).then(|| counts_of_prompt(vocab, prompt, ids.suppressed));
        if let Some(counts) = &counts {
            self.write(self.sample.counts, vocab * 4, bytemuck::cast_slice(counts));
        }
        self.counts = counts.filter(|_| options.has_penalties());
    }

    async fn add_adapter(&mut self, id: u32, adapter: Adapter) -> Result<()> {
        self.model.add_adapter(id, adapter).await
    }

    fn remove_adapter(&mut self, id: u32) -> bool {
        let was_there = self.model.adapters.remove(id);
        if let Ok(mut session) = self.shared.session.try_borrow_mut() {
            session.forget_removed();
        }
        was_there
    }

    fn invocation(&self, id: u32) -> Option<Vec<u32>> {
        self.model.adapters.get(id).map(|adapter| adapter.invocation.clone())
    }

    fn set_adapters(&mut self, adapters: &[AdapterUse]) {
        let active = |of: &AdapterUse| Some((self.model.adapters.get(of.id)?, of.scale, of.from));
        self.shared.adapters.borrow_mut()[self.number] = adapters.iter().filter_map(active).collect();
    }

    fn rewind(&mut self, position: usize) -> usize {
        self.go_back(position)
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        let has_logits = self.state(|lane| lane.choosing.is_some_and(|of| of.logits));
        let wants = if has_logits { Wants::TokenLater } else { Wants::Token };
        let done = self.fill(ids, position, (wants, stop)).await?;
        self.state(|lane| {
            if lane.is_on {
                lane.ask()
            }
        });
        Ok(done)
    }

    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        self.fill(ids, position, (Wants::TokenLater, stop)).await
    }

    fn resume(&mut self, answer: &[u32], recount: bool) {
        self.state(|lane| lane.steps = answer.len() as u32);
        if let Some(mut counts) = self.counts.clone().filter(|_| recount) {
            count_answer(&mut counts, answer);
            self.write(self.sample.counts, self.model.config.vocab * 4, bytemuck::cast_slice(&counts));
        }
    }

    fn allow(&mut self, mask: Option<&[u32]>) {
        let is_exact = !self.draws_ahead();
        self.state(|lane| {
            lane.is_exact = is_exact;
            // The mask of a token is known only once the tokens before it are.
            lane.drafts = None;
        });
        let vocab = self.model.config.vocab as u32;
        let words = words_of_mask(mask, vocab);
        self.write(self.sample.mask, mask_words(vocab) * 4, bytemuck::cast_slice(&words));
    }

    fn draws_ahead(&self) -> bool {
        self.state(|lane| !lane.text.has_states())
    }

    fn rounds(&self) -> bool {
        self.model.caps.activation_format != ActivationFormat::F32
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        self.last_logits.take()
    }

    /// Asks for a token. The pass is submitted by whoever waits for one.
    fn step(&mut self) -> Result<bool> {
        self.state(Lane::ask);
        Ok(true)
    }

    fn in_flight(&self) -> usize {
        self.state(|lane| lane.wanted)
    }

    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    async fn next(&mut self) -> Result<Option<Token>> {
        loop {
            if let Some(token) = self.take()? {
                return Ok(Some(token));
            }
            let _turn = self.shared.turns.take().await;
            {
                let lanes = self.shared.lanes.borrow();
                if lanes.has_news(self.number) {
                    continue;
                }
                if !lanes.is_coming(self.number) && !lanes.members().contains(&self.number) {
                    return Ok(None);
                }
            }
            let mut session = self.shared.session.borrow_mut();
            let outcome = self.shared.pass(&mut session, self.number).await;
            // This lane's text has got the error, too: `take` returns it.
            let _ = self.shared.told(&mut session, outcome);
        }
    }

    /// Returns no error: those are for callers that wait, so that the tokens before one make a piece of their own.
    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        if !self.state(|lane| lane.has_token()) {
            self.shared.pass_if_ready();
        }
        if self.state(|lane| lane.has_token()) { self.take() } else { Ok(None) }
    }

    fn drafts(&self) -> [usize; 2] {
        self.state(|lane| lane.drafts.as_ref().map_or([0; 2], |drafts| [drafts.drafted, drafts.accepted]))
    }

    fn rest(&mut self) -> usize {
        self.last_logits = None;
        let held = self.shared.lanes.borrow_mut().rest(self.number);
        // For a lane alone, every token that was fed has been submitted, so all of them are cached.
        if self.is_alone() { usize::MAX } else { held }
    }

    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    async fn make_room(&mut self, tokens: usize) -> Result<()> {
        let _turn = self.turn().await?;
        self.shared.session.borrow_mut().grow_to(tokens).await
    }

    async fn with_caches(&mut self, head: Head) -> Result<Head> {
        let _turn = self.turn().await?;
        Ok(self.shared.session.borrow_mut().caches_of(head))
    }

    async fn restore(&mut self, head: &Head) -> Result<bool> {
        let _turn = self.turn().await?;
        let restored = self.shared.session.borrow_mut().go_on_from(head)?;
        if restored {
            self.state(|lane| {
                lane.stop();
                lane.has_read(head.tokens.len());
            });
        }
        Ok(restored)
    }

    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    async fn read_part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        let _turn = self.turn().await?;
        self.shared.session.borrow().part(tokens, number).await
    }

    async fn write_part(&self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
        let _turn = self.turn().await?;
        self.shared.session.borrow().put_part(tokens, number, file)
    }

    async fn evaluate(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize> {
        let mut reading = Reading::new(ids, position);
        self.run(&mut reading, Wants::Logits(each), stop).await?;
        Ok(reading.done)
    }
}
