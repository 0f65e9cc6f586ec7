//! The loop that awaits: meets what the schedule needs, executes its plans, and hands out answers.
//!
//! Nobody drives the passes of a session all the time. Who waits for a token and finds none takes the turn, keeps
//! passes in flight and leaves the other texts their tokens. Prompts are read under the same turn, which is given away
//! after each pass that others wait at.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::draft::Drafter;
use super::draft::block::Block;
use super::draft::drafts::Drafts;
use super::gpu::reads::Answer;
use super::gpu::session::GpuSession;
use super::gpu::turns::{Turn, Turns};
use super::pass::{Reading, Until};
use super::passes::request::prepare;
use super::passes::round::{Drafted, end_of};
use super::passes::states;
use super::plan::{Form, Plan};
use super::read::{Reader, Wants};
use super::schedule::{Compiled, Facts, Needs, Next, Schedule};
use super::session::Listener;
use super::text::Text;
use crate::forward::CHUNK;
use crate::kernels::accept_drafts::Report;
use crate::time_slice::now;
use crate::{Error, ErrorCode, Result};

/// Reads a value from the start of `bytes`; missing bytes are zeros.
fn start_of<T: bytemuck::Pod>(bytes: &[u8]) -> T {
    let mut all = T::zeroed();
    let count = bytes.len().min(size_of::<T>());
    bytemuck::bytes_of_mut(&mut all)[..count].copy_from_slice(&bytes[..count]);
    all
}

/// A session, the texts in it, and what drafts for them.
pub(in crate::runtime) struct Drive {
    pub session: Turns<GpuSession>,
    pub schedule: RefCell<Schedule>,
    drafter: RefCell<Option<Rc<dyn Drafter>>>,
    /// Number of texts that have an owner.
    pub taken: Cell<usize>,
}

impl Drive {
    /// Makes the texts of a session. The session must have room for as many rows as sequences, at least.
    pub fn new(session: GpuSession) -> Self {
        let (room, copies) = (session.buffers.room, session.buffers.checkpoints.len());
        let block = session.buffers.has_block().then_some(Block { context: room.context });
        let drive = Self {
            session: Turns::new(session),
            schedule: Schedule::new(room.sequences, room.context, copies).into(),
            drafter: RefCell::default(),
            taken: Cell::new(1),
        };
        if let Some(block) = block {
            drive.use_drafter(Some(Rc::new(block)));
        }
        drive
    }

    /// What drafts for this session's texts.
    pub fn drafter(&self) -> Option<Rc<dyn Drafter>> {
        self.drafter.borrow().clone()
    }

    /// Lets this one draft, if any.
    pub fn use_drafter(&self, drafter: Option<Rc<dyn Drafter>>) {
        self.schedule.borrow_mut().draft_context = drafter.as_ref().map_or(0, |drafter| drafter.context());
        self.drafter.replace(drafter);
    }

    /// Changes a text.
    pub fn text<T>(&self, number: usize, change: impl FnOnce(&mut Text) -> T) -> T {
        change(self.schedule.borrow_mut().text(number))
    }

    /// On an error, drops what is in flight, and ends the texts that are on with that error.
    pub fn told<T>(&self, session: &mut GpuSession, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| {
            session.gpu.reads.discard();
            self.schedule.borrow_mut().lose(error);
        })
    }

    /// Reads back what is in flight as long as somebody waits for it, and drops the rest.
    async fn drain(&self, session: &mut GpuSession) -> Result<()> {
        while session.in_flight() > 0 && self.schedule.borrow().is_wanted() {
            self.receive(session).await?;
        }
        session.gpu.reads.discard();
        self.schedule.borrow_mut().forget_in_flight();
        Ok(())
    }

    /// Reads back the oldest pass in flight, and hands out its tokens.
    async fn receive(&self, session: &mut GpuSession) -> Result<()> {
        let answer = session.gpu.answer().await?;
        answer.into_iter().for_each(|answer| self.hand_out(session, &answer));
        Ok(())
    }

    fn hand_out(&self, session: &GpuSession, Answer { outcome, logits }: &Answer) {
        let mut schedule = self.schedule.borrow_mut();
        if schedule.form().is_draft() {
            let reports: Vec<Report> = outcome.chunks(size_of::<Report>()).map(start_of).collect();
            let mut drafted = schedule.drafted();
            drafted.retain(|of| schedule.text(of.number).is_on);
            schedule.received_drafts(&reports, now());
            if let Some(drafter) = self.drafter().filter(|drafter| !drafter.is_own_block()) {
                for Drafted { number, .. } in drafted {
                    schedule.text_before(number).into_iter().for_each(|text| drafter.holds(number, text));
                }
            }
            return;
        }
        let used = schedule.rows.len() * session.model.config.vocab;
        schedule.received(&start_of(outcome), logits.as_ref().map(|all| &all[..used]), now());
        schedule.tokens().into_iter().for_each(|token| session.model.touch_row(token));
    }

    /// Executes the passes that are due, and reads the oldest one back.
    ///
    /// # Errors
    /// Errors of the device, and of the source of rows.
    pub async fn pass(&self, session: &mut GpuSession) -> Result<()> {
        loop {
            match self.next(session) {
                Next::Execute(plan) => self.execute(session, &plan)?,
                Next::Needs(Needs::Answer) => return self.receive(session).await,
                Next::Needs(Needs::Drafts) => session.compile_drafts_ahead(self.drafter().is_some()),
                Next::Needs(Needs::Lists(form)) => self.record(session, form).await?,
                Next::Needs(Needs::Start) => self.start(session).await?,
                Next::Needs(Needs::Room(positions)) => {
                    if !self.has_room(session, positions).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Does what [`Drive::pass`] does, as far as that needs no wait, and if nobody has the turn. Errors go to those
    /// who wait.
    pub fn pass_if_ready(&self) {
        let Some(mut session) = self.session.take_if_free() else { return };
        let outcome = self.try_pass(&mut session);
        let _ = self.told(&mut session, outcome);
    }

    fn try_pass(&self, session: &mut GpuSession) -> Result<()> {
        while self.schedule.borrow().go_on() {
            match self.next(session) {
                Next::Execute(plan) => self.execute(session, &plan)?,
                Next::Needs(Needs::Drafts) => session.compile_drafts_ahead(self.drafter().is_some()),
                Next::Needs(Needs::Answer) => {
                    let answer = session.gpu.answer_if_ready()?;
                    answer.into_iter().for_each(|answer| self.hand_out(session, &answer));
                    return Ok(());
                }
                Next::Needs(_) => return Ok(()),
            }
        }
        Ok(())
    }

    fn next(&self, session: &GpuSession) -> Next {
        let (gpu, drafter) = (&session.gpu, self.drafter());
        let facts = Facts {
            layout: session.layout(),
            in_flight: session.in_flight(),
            has_free: [false, true].map(|with_logits| gpu.reads.has_free(with_logits)),
            has_form: &|form| gpu.lists.has(form),
            drafts: match gpu.lists.has_drafts_compiled() {
                true => Compiled::Yes,
                false if gpu.lists.compiles_drafts() => Compiled::UnderWay,
                false => Compiled::No,
            },
            drafter: drafter.as_deref(),
        };
        self.schedule.borrow_mut().next(&facts)
    }

    fn execute(&self, session: &mut GpuSession, plan: &Plan<'_>) -> Result<()> {
        if self.schedule.borrow().choosing().logits {
            session.prepare_logits()?;
        }
        match self.drafter() {
            Some(drafter) => drafter.with_session(&mut |draft_model| session.gpu.execute_with(plan, draft_model)),
            None => session.gpu.execute(plan),
        }
    }

    /// Writes the pass anew, for other texts than those in flight.
    async fn start(&self, session: &mut GpuSession) -> Result<()> {
        self.drain(session).await?;
        self.follow().await?;
        let plan = self.schedule.borrow_mut().start(session.layout());
        let tokens = self.schedule.borrow().tokens();
        session.model.ensure_rows(&tokens).await?;
        let adapters = self.schedule.borrow().adapters_of_pass();
        session.use_adapters(adapters).await?;
        session.gpu.execute(&plan)
    }

    /// Records the lists for passes of a form, and what drafts before these.
    async fn record(&self, session: &mut GpuSession, form: Form) -> Result<()> {
        if let (Form::DraftOfModel { texts, .. }, Some(drafter)) = (form, self.drafter()) {
            drafter.record(texts).await?;
        }
        session.record_form(form).await
    }

    /// Lets the draft model read the texts that it is to draft for next. A long text takes several calls, each before a
    /// token without a draft. Without memory for it, or where it is not known, a text goes on without drafts.
    async fn follow(&self) -> Result<()> {
        let Some(drafter) = self.drafter().filter(|drafter| !drafter.is_own_block()) else { return Ok(()) };
        loop {
            let wanted = self.schedule.borrow().drafts_for();
            for &(number, _) in &wanted {
                let text = self.schedule.borrow().text_before(number).map(<[u32]>::to_vec);
                let is_read = match &text {
                    Some(text) => drafter.follow((number, text), CHUNK, &Cell::new(false)).await.map_err(Some),
                    None => Err(None),
                };
                match is_read {
                    Err(Some(error)) if error.code() != ErrorCode::OutOfMemory => return Err(error),
                    Err(_) => self.text(number, |text| text.drafts = None),
                    Ok(true) => {}
                    Ok(false) => self.text(number, |text| text.drafts.iter_mut().for_each(Drafts::postpone)),
                }
            }
            // Texts may have come and gone meanwhile.
            if self.schedule.borrow().drafts_for() == wanted {
                return Ok(());
            }
        }
    }

    /// Makes room for this many positions. False where memory is missing; texts that need it get the error.
    async fn has_room(&self, session: &mut GpuSession, positions: usize) -> Result<bool> {
        let (written, drafted) = (self.schedule.borrow().written(), self.schedule.borrow().drafted());
        let grown = async {
            if let Some(drafter) = self.drafter().filter(|_| !drafted.is_empty()) {
                drafter.grow_to(end_of(&drafted)).await?;
            }
            session.grow_to(positions, written).await
        };
        match grown.await {
            Err(error) if error.code() == ErrorCode::OutOfMemory => {
                // Tokens in flight come first: the texts' positions are known only once these are read.
                while session.in_flight() > 0 {
                    self.receive(session).await?;
                }
                let mut schedule = self.schedule.borrow_mut();
                schedule.fail(&error, session.buffers.room.allocated);
                schedule.give_up_drafts();
                Ok(false)
            }
            other => other.map(|()| true),
        }
    }

    /// Takes the turn to use the session for one text alone. Passes in flight are read back, and the next pass of other
    /// texts is written anew.
    ///
    /// # Errors
    /// `device_lost`.
    pub async fn turn(&self, number: usize) -> Result<Turn<GpuSession>> {
        let mut session = self.session.take().await;
        let drained = self.drain(&mut session).await;
        self.told(&mut session, drained)?;
        self.schedule.borrow_mut().leave_pass();
        let mut plan = Plan::default();
        states::restore(&mut plan, session.layout(), number, self.text(number, |text| text.restores.take()));
        session.gpu.execute(&plan)?;
        Ok(session)
    }

    /// Reads a text in turns of its own, until it is done or `stop` is set. Where others wait, they get their turn
    /// after each pass.
    ///
    /// # Errors
    /// Errors of the device, and of the source of rows.
    pub async fn read(
        &self,
        number: usize,
        reading: &mut Reading<'_>,
        mut wants: Wants<'_>,
        (stop, listener): (&Cell<bool>, Option<&Listener>),
    ) -> Result<()> {
        let pause = || self.session.are_wanted();
        let tell = |read| listener.into_iter().for_each(|listener| listener(read));
        loop {
            let mut session = self.turn(number).await?;
            let written = self.schedule.borrow().written();
            session.grow_to(reading.end(), written).await?;
            let adapters = self.text(number, |text| text.adapters.clone());
            session.use_adapters(adapters.iter().map(|(adapter, ..)| adapter.clone()).collect()).await?;
            let mut plan = Plan::default();
            self.text(number, |text| prepare(&mut plan, session.layout(), (number, text), wants.runs_last()));
            session.gpu.execute(&plan)?;
            let mut reader = Reader { session: &mut session, schedule: &self.schedule, number };
            let outcome = reader.read(reading, wants.again(), Until { stop, pause: &pause, tell: &tell }).await;
            self.text(number, |text| text.has_read(reading.next()));
            // That this text's rows cannot be read does not concern the others.
            let is_own = |error: &Error| matches!(error.code(), ErrorCode::DownloadFailed | ErrorCode::InvalidArgument);
            match outcome {
                Err(error) if is_own(&error) => return Err(error),
                other => self.told(&mut session, other)?,
            }
            if reading.is_done() && !stop.get() && wants.runs_last() {
                self.schedule.borrow_mut().begin_within(number, reading.end() - 1, session.in_flight());
            }
            if reading.is_done() || stop.get() {
                return Ok(());
            }
        }
    }
}
