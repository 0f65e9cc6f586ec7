//! Sessions that are lanes of one session on the GPU. Their tokens come out of the same passes, which read the weights
//! once for all lanes. A session alone is the only lane of a session of its own.

use std::cell::Cell;
use std::rc::Rc;

use super::model::GpuModel;
use super::session::GpuSession;
use super::source::read_source;
use super::turns::Turn;
use crate::forward::{Room, SampleBuffers};
use crate::kernels::accept_drafts::DRAFT_ROWS;
use crate::kernels::kv_type::KvType;
use crate::kernels::logit_bias;
use crate::kernels::sample::{Options, mask_words, words_of_mask};
use crate::kernels::spec::Slice;
use crate::model::{Adapter, ModelConfig};
use crate::runtime::draft::drafting::Drafting;
use crate::runtime::draft::drafts::Drafts;
use crate::runtime::drive::Drive;
use crate::runtime::pass::Reading;
use crate::runtime::passes::saved::{digest_of, regions};
use crate::runtime::passes::{axes, states};
use crate::runtime::plan::Plan;
use crate::runtime::prefixes::store::PrefixCache;
use crate::runtime::read::Wants;
use crate::runtime::saved::head::{Head, unsealed};
use crate::runtime::saved::regions::{bytes_of_parts, part};
use crate::runtime::session::{AdapterUse, Choosing, Listener, RunIds, Session, Token};
use crate::runtime::text::Text;
use crate::sampler::{Counts, SamplingOptions, count_answer, counts_of_prompt};
use crate::{Error, Result};

/// A session that owns one sequence of a session on the GPU.
pub struct GpuLane {
    pub(in crate::runtime) drive: Rc<Drive>,
    pub(in crate::runtime) number: usize,
    model: Rc<GpuModel>,
    room: Room,
    /// Buffers of the sampler, which stay in place when caches grow.
    sample: SampleBuffers,
    pub(in crate::runtime) rewindable: usize,
    /// Token counts at the start of the answer; `None` where the run has no penalties.
    counts: Option<Counts>,
    /// Logits of the token that came out last.
    last_logits: Option<Vec<f32>>,
    /// Hears how much of a text is read.
    pub(in crate::runtime) listener: Option<Listener>,
}

impl GpuLane {
    /// The first lane of a session. That must have room for as many rows as it has sequences, at least.
    pub fn first(session: GpuSession) -> Self {
        let room = session.buffers.room;
        let (model, sample, rewindable) = (session.model.clone(), session.buffers.sample, session.buffers.rewindable());
        let drive = Rc::new(Drive::new(session));
        Self { drive, number: 0, model, room, sample, rewindable, counts: None, last_logits: None, listener: None }
    }

    /// Another lane of the session, by its number.
    pub(in crate::runtime) fn numbered(&self, number: usize) -> Self {
        let (drive, model) = (self.drive.clone(), self.model.clone());
        Self { drive, model, number, counts: None, last_logits: None, listener: None, ..*self }
    }

    /// Takes the turn to use the session for this lane alone.
    pub(in crate::runtime) async fn turn(&self) -> Result<Turn<GpuSession>> {
        self.drive.turn(self.number).await
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
        self.drive.session.ask(ask).unwrap_or_default()
    }

    /// Bytes that the session, its model, kept prefixes and the draft model take on the GPU; 0 while the session is in
    /// use.
    pub fn bytes(&self) -> u64 {
        let drafts = self.drive.drafter().map_or(0, |drafter| drafter.bytes());
        self.drive.session.ask(GpuSession::bytes).map_or(0, |bytes| bytes + drafts + self.model.prefixes.bytes())
    }

    /// Whether what the option `draft` names makes drafts for this session, another model or a block with a file of its
    /// own; and whether a block of the model itself does.
    pub fn drafters(&self) -> [bool; 2] {
        let drafter = self.drive.drafter();
        if self.model.config.drafter.is_some() {
            return [drafter.is_some(), false];
        }
        let is = |own| drafter.as_ref().is_some_and(|drafter| drafter.is_own_block() == own);
        [is(false), is(true)]
    }

    /// Writes where the ids of the text, of which all are cached, lie on each axis of positions with several.
    pub(in crate::runtime) fn write_places(&self, ids: &[u32]) -> Result<()> {
        let Some(mut session) = self.drive.session.take_if_free() else { return Ok(()) };
        let mut plan = Plan::default();
        let (layout, rows) = (session.layout(), &self.model.input_rows);
        self.state(|text| axes::write(&mut plan, layout, &mut text.positions.places, (ids, 0), rows));
        session.gpu.execute(&plan)
    }

    pub(in crate::runtime) fn state<T>(&self, change: impl FnOnce(&mut Text) -> T) -> T {
        self.drive.text(self.number, change)
    }

    /// See [`Session::rewind`].
    pub(in crate::runtime) fn go_back(&self, position: usize) -> usize {
        self.state(|text| {
            text.stop();
            let (reached, slot) = text.positions.rewind(position, self.rewindable);
            text.restores = slot.or(text.restores);
            text.has_read(reached);
            reached
        })
    }

    fn take(&mut self) -> Result<Option<Token>> {
        let found = self.drive.schedule.borrow_mut().take(self.number).transpose()?;
        Ok(found.map(|(token, logits)| {
            self.last_logits = logits;
            token
        }))
    }

    /// Queues data for the lane's part of a buffer, to be written before its next pass. `stride`: bytes of a lane's
    /// part.
    fn write(&self, of: Slice, stride: usize, bytes: &[u8]) {
        let part = Slice { offset: of.offset + (self.number * stride) as u64, ..of };
        self.state(|text| text.write(part, bytes.to_vec()));
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
        self.state(|text| {
            text.drafts = takes_drafts.then(|| Drafts::new(ids.drafting, prediction, prompt).by_model(by_model));
            text.choosing = Some(choosing);
            text.ends = ids.ends.to_vec();
            (text.steps, text.is_exact) = (0, false);
            text.forget_writes();
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
        self.model.prefixes.forget_adapter(id);
        if let Some(mut session) = self.drive.session.take_if_free() {
            session.forget_removed();
        }
        was_there
    }

    fn invocation(&self, id: u32) -> Option<Vec<u32>> {
        self.model.adapters.get(id).map(|adapter| adapter.invocation.clone())
    }

    fn set_adapters(&mut self, adapters: &[AdapterUse]) {
        let active = |of: &AdapterUse| Some((self.model.adapters.get(of.id)?, of.scale, of.from));
        let adapters = adapters.iter().filter_map(active).collect();
        self.state(|text| text.adapters = adapters);
    }

    async fn read_source(&mut self, ids: &[u32], stop: &Cell<bool>) -> Result<bool> {
        self.go_back(0);
        read_source(&mut *self.turn().await?, self.number, ids, stop).await
    }

    fn rewind(&mut self, position: usize) -> usize {
        self.go_back(position)
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        let has_logits = self.state(|text| text.choosing.is_some_and(|of| of.logits));
        let wants = if has_logits { Wants::TokenLater } else { Wants::Token };
        let done = self.fill(ids, position, (wants, stop)).await?;
        self.state(|text| {
            if text.is_on {
                text.ask()
            }
        });
        Ok(done)
    }

    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        self.fill(ids, position, (Wants::TokenLater, stop)).await
    }

    fn resume(&mut self, answer: &[u32], recount: bool) {
        self.state(|text| text.steps = answer.len() as u32);
        if let Some(mut counts) = self.counts.clone().filter(|_| recount) {
            count_answer(&mut counts, answer);
            self.write(self.sample.counts, self.model.config.vocab * 4, bytemuck::cast_slice(&counts));
        }
    }

    fn allow(&mut self, mask: Option<&[u32]>) {
        let is_exact = !self.draws_ahead();
        self.state(|text| text.is_exact = is_exact);
        let vocab = self.model.config.vocab as u32;
        let words = words_of_mask(mask, vocab);
        self.write(self.sample.mask, mask_words(vocab) * 4, bytemuck::cast_slice(&words));
    }

    fn draws_ahead(&self) -> bool {
        self.state(|text| !text.positions.has_states())
    }

    fn drafts_ahead(&self) -> usize {
        self.state(|text| if text.drafts.as_ref().is_some_and(Drafts::is_on) { DRAFT_ROWS } else { 0 })
    }

    fn rounds(&self) -> bool {
        self.model.rounds()
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        self.last_logits.take()
    }

    /// Asks for a token. The pass is submitted by whoever waits for one.
    fn step(&mut self) -> Result<bool> {
        self.state(Text::ask);
        Ok(true)
    }

    fn in_flight(&self) -> usize {
        self.state(|text| text.wanted)
    }

    async fn next(&mut self) -> Result<Option<Token>> {
        loop {
            if let Some(token) = self.take()? {
                return Ok(Some(token));
            }
            let mut session = self.drive.session.take().await;
            {
                let schedule = self.drive.schedule.borrow();
                if schedule.has_news(self.number) {
                    continue;
                }
                if !schedule.is_coming(self.number) && !schedule.members().contains(&self.number) {
                    return Ok(None);
                }
            }
            let outcome = self.drive.pass(&mut session).await;
            // This lane's text has got the error, too: `take` returns it.
            let _ = self.drive.told(&mut session, outcome);
        }
    }

    /// Returns no error: those are for callers that wait, so that the tokens before one make a piece of their own.
    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        if !self.state(|text| text.has_token()) {
            self.drive.pass_if_ready();
        }
        if self.state(|text| text.has_token()) { self.take() } else { Ok(None) }
    }

    fn drafts(&self) -> [usize; 2] {
        self.state(|text| text.drafts.as_ref().map_or([0; 2], |drafts| [drafts.drafted, drafts.accepted]))
    }

    fn rest(&mut self) -> usize {
        self.last_logits = None;
        let held = self.drive.schedule.borrow_mut().rest(self.number);
        // For a lane alone, every token that was fed has been submitted, so all of them are cached.
        if self.is_alone() { usize::MAX } else { held }
    }

    async fn make_room(&mut self, tokens: usize) -> Result<()> {
        let mut session = self.turn().await?;
        let written = self.drive.schedule.borrow().written();
        session.grow_to(tokens, written).await
    }

    /// States are saved as checkpoints; one of these is the current state.
    async fn with_caches(&mut self, mut head: Head) -> Result<Head> {
        let mut session = self.turn().await?;
        let (layout, mut plan) = (session.layout(), Plan::default());
        head.layout = digest_of(layout);
        self.state(|text| {
            states::keep(&mut plan, layout, self.number, &mut text.positions);
            head.written = head.written.max(text.positions.written() as u32);
            head.parts = bytes_of_parts(&regions(layout, self.number, &text.positions, head.tokens.len()));
            head.copies = text.positions.kept();
        });
        session.gpu.execute(&plan)?;
        Ok(head)
    }

    async fn restore(&mut self, head: &Head) -> Result<bool> {
        let session = self.turn().await?;
        let (layout, room) = (session.layout(), &session.buffers);
        let has_room = head.written as usize <= room.room.context && head.copies.len() <= room.checkpoints.len();
        if head.parts == 0 || head.layout != digest_of(layout) || !has_room {
            return Ok(false);
        }
        let expected = self.state(|text| {
            text.positions.restore(head.tokens.len(), head.written as usize, &head.copies);
            bytes_of_parts(&regions(layout, self.number, &text.positions, head.tokens.len()))
        });
        if head.parts != expected {
            let message = format!("the saved session has {} bytes of caches, expected {expected}", head.parts);
            return Err(Error::bad_file(message));
        }
        self.state(|text| {
            text.stop();
            text.has_read(head.tokens.len());
        });
        Ok(true)
    }

    async fn read_part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        let mut session = self.turn().await?;
        let all = self.state(|text| regions(session.layout(), self.number, &text.positions, tokens));
        session.read_regions(&part(&all, number)).await
    }

    async fn write_part(&mut self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
        let session = self.turn().await?;
        let all = self.state(|text| regions(session.layout(), self.number, &text.positions, tokens));
        let part = part(&all, number);
        session.write_regions(&part, unsealed(file, bytes_of_parts(&part))?)
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
