//! Sessions that are [lanes](super::lanes) of one session on the GPU: their tokens come out of the same passes, which
//! read the weights once for all.
//!
//! Whoever waits for a token and finds none runs the next passes, and leaves the others theirs. Prompts are read
//! between passes, a chunk at a time where others wait.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::gpu_model::GpuModel;
use super::gpu_session::GpuSession;
use super::lanes::{Lane, Lanes};
use super::pass::{Reading, Until};
use super::scheduler::{Received, Wants};
use super::session::{Choosing, RunIds, Session, Token};
use super::turns::{Turn, Turns};
use crate::forward::{Room, SampleBuffers};
use crate::gpu::Buffer;
use crate::kernels::caps::ActivationFormat;
use crate::kernels::kv_type::KvType;
use crate::kernels::logit_bias;
use crate::kernels::pass::{Header, Sequence};
use crate::kernels::sample::{Options, mask_words};
use crate::kernels::spec::Slice;
use crate::model::ModelConfig;
use crate::sampler::{Counts, SamplingOptions, count_answer, counts_of_prompt};
use crate::{Error, ErrorCode, Result};

/// A session that has a sequence of a session on the GPU to itself.
pub struct GpuLane {
    shared: Rc<Shared>,
    number: usize,
    model: Rc<GpuModel>,
    room: Room,
    /// They stay where they are when caches grow.
    sample: SampleBuffers,
    rewindable: usize,
    /// Of the run's prompt, where there are penalties.
    counts: Option<Counts>,
    /// Of the token that came out last.
    last_logits: Option<Vec<f32>>,
}

/// What lanes have in common.
struct Shared {
    turns: Turns,
    /// For who has the turn.
    session: RefCell<GpuSession>,
    lanes: RefCell<Lanes>,
    /// Lanes that have an owner.
    taken: Cell<usize>,
}

impl GpuLane {
    /// The first lane of a session with room for several sequences and as many rows.
    pub fn first(session: GpuSession) -> Self {
        let room = session.buffers.room;
        // What ends a text is told apart here, since it may differ from one to the other.
        session.write(session.buffers.sample.stops, &0u32.to_le_bytes());
        let (model, sample, rewindable) = (session.model.clone(), session.buffers.sample, session.buffers.rewindable());
        let shared = Shared {
            turns: Turns::default(),
            session: session.into(),
            lanes: Lanes::new(room.sequences, room.context).into(),
            taken: Cell::new(1),
        };
        Self { shared: shared.into(), number: 0, model, room, sample, rewindable, counts: None, last_logits: None }
    }

    /// The next lane that has no owner: an empty one.
    ///
    /// # Errors
    /// `invalid_argument` where there is none, and with `with_cache`: what a lane has read is not copied to another.
    pub fn another(&self, with_cache: bool) -> Result<Self> {
        if with_cache {
            return Err(Error::invalid_argument("a session that shares passes with others cannot be copied"));
        }
        let (number, count) = (self.shared.taken.get(), self.lanes());
        if number >= count {
            return Err(Error::invalid_argument(format!("the model runs {count} requests at once")));
        }
        self.shared.taken.set(number + 1);
        let (shared, model) = (self.shared.clone(), self.model.clone());
        Ok(Self { shared, model, number, counts: None, last_logits: None, ..*self })
    }

    /// The model.
    pub fn model(&self) -> &Rc<GpuModel> {
        &self.model
    }

    /// How many lanes there are.
    pub fn lanes(&self) -> usize {
        self.room.sequences
    }

    /// What the session that all lanes are of says; nothing while it is at work.
    pub fn of_session<T: Default>(&self, ask: impl FnOnce(&GpuSession) -> T) -> T {
        self.shared.session.try_borrow().map(|session| ask(&session)).unwrap_or_default()
    }

    /// See [`GpuSession::hidden_states`].
    ///
    /// # Errors
    /// Those of that.
    pub async fn hidden_states(&mut self, ids: &[u32], target: &Buffer, stop: &Cell<bool>) -> Result<usize> {
        let mut reading = Reading::new(ids, 0);
        self.model.check_hidden(&reading, self.room.context, target)?;
        self.run(&mut reading, Wants::Hidden(target), stop).await?;
        Ok(reading.done)
    }

    /// Makes room for so many positions of each lane before they are there.
    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    pub(super) async fn make_room(&self, positions: usize) -> Result<()> {
        let _turn = self.turn().await?;
        self.shared.session.borrow_mut().make_room(positions).await
    }

    fn state<T>(&self, change: impl FnOnce(&mut Lane) -> T) -> T {
        change(self.shared.lanes.borrow_mut().lane(self.number))
    }

    /// The turn to use the session for this lane alone: nothing of others is in flight, and their next pass is written
    /// anew.
    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    async fn turn(&self) -> Result<Turn> {
        let turn = self.shared.turns.take().await;
        let mut session = self.shared.session.borrow_mut();
        let drained = self.shared.drain(&mut session).await;
        self.shared.told(&mut session, drained)?;
        self.shared.lanes.borrow_mut().leave_pass();
        session.choice.sequence = self.number as u32;
        Ok(turn)
    }

    /// Runs `reading` in turns of this lane, until it is done or `stop` is set. Where other lanes wait, they have
    /// their turn after each pass.
    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    async fn run(&self, reading: &mut Reading<'_>, mut wants: Wants<'_>, stop: &Cell<bool>) -> Result<()> {
        let pause = || self.shared.turns.are_wanted();
        loop {
            let _turn = self.turn().await?;
            let mut session = self.shared.session.borrow_mut();
            session.make_room(reading.end()).await?;
            let outcome = session.run(reading, wants.again(), Until { stop, pause: &pause }).await;
            self.state(|lane| {
                lane.has_read(reading.next());
                // A pass that was left half-way has written some of its rows.
                if !reading.ids.is_empty() {
                    lane.text.advance_to(session.sequence.next());
                }
            });
            self.shared.told(&mut session, outcome)?;
            if reading.is_done() || stop.get() {
                return Ok(());
            }
        }
    }

    /// Reads `ids` but for the last, which is the lane's next row. As [`Session::feed`].
    async fn fill(&self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        let Some((&token, many)) = ids.split_last() else { return Ok(0) };
        let mut reading = Reading::new(many, position);
        self.run(&mut reading, Wants::Nothing, stop).await?;
        if !reading.is_done() || stop.get() {
            return Ok(reading.done);
        }
        self.state(|lane| {
            lane.next = Sequence { token, position: reading.end() as u32, ..lane.next };
            lane.is_on = true;
        });
        Ok(ids.len())
    }

    fn take(&mut self) -> Result<Option<Token>> {
        let found = self.shared.lanes.borrow_mut().take(self.number).transpose()?;
        Ok(found.map(|(token, logits)| {
            self.last_logits = logits;
            token
        }))
    }

    /// What the lane's part of a buffer is to hold with its next pass.
    fn write(&self, of: Slice, stride: usize, bytes: &[u8]) {
        let part = Slice { offset: of.offset + (self.number * stride) as u64, ..of };
        self.state(|lane| lane.writes.push((part, bytes.to_vec())));
    }
}

impl Shared {
    /// Tells all whose texts are on of an error, but for missing memory.
    fn told<T>(&self, session: &mut GpuSession, outcome: Result<T>) -> Result<T> {
        let failed = |error: &Error| {
            session.discard();
            let mut lanes = self.lanes.borrow_mut();
            lanes.fail(error, 0);
            lanes.leave_pass();
        };
        outcome.inspect_err(failed)
    }

    /// Reads all that is in flight.
    async fn drain(&self, session: &mut GpuSession) -> Result<()> {
        while session.ring.in_flight() > 0 {
            self.receive(session).await?;
        }
        Ok(())
    }

    /// Hands out the tokens of the oldest pass in flight.
    async fn receive(&self, session: &mut GpuSession) -> Result<()> {
        let Some(Received { header, logits }) = session.receive().await? else { return Ok(()) };
        let header: Header = bytemuck::pod_read_unaligned(&header);
        let mut lanes = self.lanes.borrow_mut();
        let used = lanes.rows() * session.model.config.vocab;
        lanes.received(&header, logits.as_ref().map(|all| &all[..used]));
        Ok(())
    }

    /// Submits what there is to do, and brings `number` a token, if it can.
    async fn pass(&self, session: &mut GpuSession, number: usize) -> Result<()> {
        if !self.lanes.borrow().go_on() {
            self.drain(session).await?;
            if self.lanes.borrow().has_news(number) {
                return Ok(());
            }
            let pass = self.lanes.borrow_mut().start();
            for (slice, bytes) in self.lanes.borrow_mut().take_writes() {
                session.write(slice, &bytes);
            }
            session.write(session.buffers.pass, &pass.bytes());
        }
        loop {
            let (is_due, positions, rows) = {
                let lanes = self.lanes.borrow();
                (lanes.is_due(), lanes.positions(), lanes.rows())
            };
            if !is_due || !self.has_room(session, positions).await? {
                break;
            }
            if rows > 1 {
                session.record_rows(rows).await?;
            }
            if !self.submit(session)? {
                break;
            }
        }
        self.receive(session).await
    }

    /// Makes room for so many positions; false where there is none for some lanes, which are told.
    async fn has_room(&self, session: &mut GpuSession, positions: usize) -> Result<bool> {
        session.sequence.advance_to(positions - 1);
        match session.make_room(positions).await {
            Err(error) if error.code() == ErrorCode::OutOfMemory => {
                // Tokens in flight come first: where these lanes are is known once they are read.
                if session.ring.in_flight() == 0 {
                    self.lanes.borrow_mut().fail(&error, session.buffers.room.allocated);
                }
                Ok(false)
            }
            other => other.map(|()| true),
        }
    }

    /// Submits a pass over the rows that the GPU has; false where no more may be in flight.
    fn submit(&self, session: &mut GpuSession) -> Result<bool> {
        let mut lanes = self.lanes.borrow_mut();
        let choosing = lanes.choosing();
        if choosing.logits {
            session.choice.prepare_logits(&session.model, session.buffers.room.rows)?;
        }
        let submitted = session.submit_decode(lanes.rows(), choosing);
        if submitted {
            lanes.submitted();
        }
        Ok(submitted)
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

    fn holds_row(&self, id: u32) -> bool {
        self.model.input_rows.holds(id)
    }

    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]) {
        let vocab = self.model.config.vocab;
        let choosing = Choosing::of_run(options, ids);
        self.state(|lane| {
            lane.choosing = Some(choosing);
            lane.ends = ids.ends.to_vec();
            lane.next.steps = 0;
            lane.is_masked = false;
            lane.writes.clear();
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

    fn rewind(&mut self, position: usize) -> usize {
        self.state(|lane| {
            // Models with recurrent states have no lanes.
            let (reached, _) = lane.text.rewind(position, self.rewindable);
            lane.next.position = reached as u32;
            reached
        })
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        let done = self.fill(ids, position, stop).await?;
        self.state(|lane| lane.wanted = usize::from(lane.is_on));
        Ok(done)
    }

    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        self.fill(ids, position, stop).await
    }

    fn resume(&mut self, answer: &[u32], recount: bool) {
        self.state(|lane| lane.next.steps = answer.len() as u32);
        if let Some(mut counts) = self.counts.clone().filter(|_| recount) {
            count_answer(&mut counts, answer);
            self.write(self.sample.counts, self.model.config.vocab * 4, bytemuck::cast_slice(&counts));
        }
    }

    /// A mask stays until the next one.
    fn allow(&mut self, mask: Option<&[u32]>) {
        let Some(mask) = mask else { return };
        let size = mask_words(self.model.config.vocab as u32);
        let words: Vec<u32> =
            [1].into_iter().chain(mask.iter().copied().chain(std::iter::repeat(0)).take(size - 1)).collect();
        self.state(|lane| lane.is_masked = true);
        self.write(self.sample.mask, size * 4, bytemuck::cast_slice(&words));
    }

    fn draws_ahead(&self) -> bool {
        false
    }

    fn rounds(&self) -> bool {
        self.model.caps.activation_format != ActivationFormat::F32
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        self.last_logits.take()
    }

    /// Passes are submitted by who waits for one.
    fn step(&mut self) -> Result<bool> {
        self.state(|lane| lane.wanted += 1);
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
            // It is this lane's, too.
            let _ = self.shared.told(&mut session, outcome);
        }
    }

    /// An error is for who waits: tokens before it are a piece of their own.
    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        if self.state(|lane| lane.has_token()) { self.take() } else { Ok(None) }
    }

    fn rest(&mut self) -> usize {
        self.last_logits = None;
        self.shared.lanes.borrow_mut().rest(self.number)
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
