//! The passes of lanes: written anew where the lanes in them change, submitted as long as tokens are wanted, read back
//! and handed out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::adapters::{ActiveAdapter, GpuAdapter};
use super::drafts::Drafts;
use super::lane_drafts::Form;
use super::lanes::{Lanes, Write};
use super::scheduler::Received;
use super::session::{GpuSession, MAX_DEPTH};
use super::turns::Turns;
use crate::forward::CHUNK;
use crate::time_slice::now;
use crate::{Error, ErrorCode, Result};

/// Reads a value from the start of `bytes`; missing bytes are zeros.
fn start_of<T: bytemuck::Pod>(bytes: &[u8]) -> T {
    let mut all = T::zeroed();
    let count = bytes.len().min(size_of::<T>());
    bytemuck::bytes_of_mut(&mut all)[..count].copy_from_slice(&bytes[..count]);
    all
}

/// What the lanes of a session share.
pub(in crate::runtime) struct Shared {
    pub turns: Turns,
    /// The session; only who has the turn may borrow it.
    pub session: RefCell<GpuSession>,
    pub lanes: RefCell<Lanes>,
    /// The adapters at work in the text of each lane.
    pub adapters: RefCell<Vec<Vec<ActiveAdapter>>>,
    /// Number of lanes that have an owner.
    pub taken: Cell<usize>,
}

impl Shared {
    /// Makes the shared state of a session's lanes. The session must have room for as many rows as sequences, at least.
    pub fn new(session: GpuSession) -> Self {
        let count = session.texts.len();
        let context = session.buffers.room.context;
        let predicts_next = session.draft_model.is_none() && session.predicts_next();
        let of_block = if predicts_next { context } else { 0 };
        let draft_context = session.draft_model.as_ref().map_or(of_block, |model| model.context());
        Self {
            turns: Turns::default(),
            lanes: Lanes { draft_context, predicts_next, ..Lanes::new(&session.texts, context) }.into(),
            session: session.into(),
            adapters: vec![Vec::new(); count].into(),
            taken: Cell::new(1),
        }
    }

    /// On an error, drops what is in flight, and ends the texts of all lanes that are on with that error.
    pub fn told<T>(&self, session: &mut GpuSession, outcome: Result<T>) -> Result<T> {
        let failed = |error: &Error| {
            session.discard();
            let mut lanes = self.lanes.borrow_mut();
            lanes.fail(error, 0);
            lanes.leave_pass();
        };
        outcome.inspect_err(failed)
    }

    /// Reads back what is in flight as long as somebody waits for it, and drops the rest.
    pub async fn drain(&self, session: &mut GpuSession) -> Result<()> {
        while session.in_flight() > 0 && self.lanes.borrow().is_wanted() {
            self.receive(session).await?;
        }
        session.discard();
        self.lanes.borrow_mut().forget_in_flight();
        Ok(())
    }

    /// Reads back the oldest pass in flight, and hands out its tokens.
    async fn receive(&self, session: &mut GpuSession) -> Result<()> {
        let received = session.receive().await?;
        received.into_iter().for_each(|received| self.hand_out(session, &received));
        Ok(())
    }

    fn hand_out(&self, session: &GpuSession, Received { header, logits }: &Received) {
        let mut lanes = self.lanes.borrow_mut();
        if lanes.form().is_draft() {
            lanes.received_draft(&start_of(header), now());
            self.note_drafted(session, &lanes);
            return;
        }
        let used = lanes.members_of_pass() * session.model.config.vocab;
        lanes.received(&start_of(header), logits.as_ref().map(|all| &all[..used]), now());
        lanes.tokens().into_iter().for_each(|token| session.model.touch_row(token));
    }

    /// Submits the passes that are due, and reads the oldest back. Lane `number` gets a token that way, if there can be
    /// one.
    pub async fn pass(&self, session: &mut GpuSession, number: usize) -> Result<()> {
        self.look_for_drafts(session);
        if !self.lanes.borrow().go_on() {
            self.drain(session).await?;
            if self.lanes.borrow().has_news(number) {
                return Ok(());
            }
            self.follow(session).await?;
            let pass = self.lanes.borrow_mut().start();
            let (tokens, ends) = (self.lanes.borrow().tokens(), self.lanes.borrow().ends());
            session.model.ensure_rows(&tokens).await?;
            session.use_adapters(self.adapters_of_pass()).await?;
            session.write_ends(&ends);
            session.write(session.buffers.pass, &pass.bytes());
            if let Some(words) = self.lanes.borrow().text_of_draft() {
                session.write(session.buffers.sample.drafts.text, bytemuck::cast_slice(&words));
                session.keep_states_before_draft(self.lanes.borrow().rows[0]);
                session.begin_steps();
            }
        }
        loop {
            let (is_due, positions, form) = self.next_pass();
            if !is_due || !self.has_room(session, positions).await? {
                break;
            }
            session.record_form(form).await?;
            if !self.submit(session)? {
                break;
            }
        }
        self.receive(session).await
    }

    /// Does what [`Shared::pass`] does, as far as that needs no wait, and if nobody has the turn. Errors go to those
    /// who wait.
    pub fn pass_if_ready(&self) {
        let Some(_turn) = self.turns.take_if_free() else { return };
        let mut session = self.session.borrow_mut();
        let outcome = self.try_pass(&mut session);
        let _ = self.told(&mut session, outcome);
    }

    /// The adapters of all lanes in the pass.
    fn adapters_of_pass(&self) -> Vec<Rc<GpuAdapter>> {
        let (lanes, adapters) = (self.lanes.borrow(), self.adapters.borrow());
        let of_rows = lanes.rows.iter().flat_map(|&number| &adapters[number]);
        of_rows.map(|(adapter, ..)| adapter.clone()).collect()
    }

    fn try_pass(&self, session: &mut GpuSession) -> Result<()> {
        self.look_for_drafts(session);
        if !self.lanes.borrow().go_on() {
            return Ok(());
        }
        loop {
            let (is_due, positions, form) = self.next_pass();
            let drafts = session.draft_model.as_ref().filter(|_| form == Form::DraftOfModel);
            let has_room = drafts.is_none_or(|model| model.has_room(positions));
            let is_ready = has_room && positions <= session.buffers.room.allocated && session.has_form(form);
            if !is_due || !is_ready || !self.submit(session)? {
                break;
            }
        }
        // With logits, a pass has two read-backs.
        if self.lanes.borrow().choosing().logits {
            return Ok(());
        }
        let read = session.ring.next_if_ready(&session.model.device)?;
        read.into_iter().for_each(|header| self.hand_out(session, &Received { header, logits: None }));
        Ok(())
    }

    /// Whether a pass is due, how many positions it needs, and its form.
    fn next_pass(&self) -> (bool, usize, Form) {
        let lanes = self.lanes.borrow();
        (lanes.is_due(), lanes.positions(), lanes.form())
    }

    /// Begins to compile passes with drafts where a lane wants them, and allows them once they are compiled.
    fn look_for_drafts(&self, session: &mut GpuSession) {
        let mut lanes = self.lanes.borrow_mut();
        if lanes.lack_drafts() {
            session.compile_drafts_ahead();
            if session.has_drafts_compiled() {
                lanes.allow_drafts();
            }
        }
    }

    /// Lets the draft model read the text of the lane that it is to draft for next. A long text takes several calls,
    /// each before a token without a draft. Without memory for it, or where it is not known, the lane goes on without
    /// drafts.
    async fn follow(&self, session: &GpuSession) -> Result<()> {
        let Some(model) = session.draft_model.clone() else { return Ok(()) };
        loop {
            let wanted = self.lanes.borrow().drafts_for();
            let Some((number, _)) = wanted else { return Ok(()) };
            let text = self.lanes.borrow().text_before(number).map(<[u32]>::to_vec);
            let is_read = match &text {
                Some(text) => model.follow(text, CHUNK, &Cell::new(false)).await.map_err(Some),
                None => Err(None),
            };
            match is_read {
                Err(Some(error)) if error.code() != ErrorCode::OutOfMemory => return Err(error),
                Err(_) => self.lanes.borrow_mut().lane(number).drafts = None,
                Ok(is_whole) if is_whole => {}
                Ok(_) => self.lanes.borrow_mut().lane(number).drafts.iter_mut().for_each(Drafts::postpone),
            }
            // Lanes may have come and gone meanwhile.
            if self.lanes.borrow().drafts_for() == wanted {
                return Ok(());
            }
        }
    }

    /// Tells the draft model which of its drafts are part of the text.
    fn note_drafted(&self, session: &GpuSession, lanes: &Lanes) {
        let Some(model) = session.draft_model.as_ref().filter(|_| lanes.form() == Form::DraftOfModel) else { return };
        let text = lanes.rows.first().and_then(|&number| lanes.text_before(number));
        text.into_iter().for_each(|text| model.holds(text));
    }

    /// Makes room for this many positions. False where memory is missing; lanes that need it get the error.
    async fn has_room(&self, session: &mut GpuSession, positions: usize) -> Result<bool> {
        let draft_model = session.draft_model.clone().filter(|_| self.lanes.borrow().form() == Form::DraftOfModel);
        let grown = async {
            if let Some(model) = draft_model {
                model.grow_to(positions).await?;
            }
            session.grow_to(positions).await
        };
        match grown.await {
            Err(error) if error.code() == ErrorCode::OutOfMemory => {
                // Tokens in flight come first: the lanes' positions are known only once these are read.
                while session.in_flight() > 0 {
                    self.receive(session).await?;
                }
                let mut lanes = self.lanes.borrow_mut();
                lanes.fail(&error, session.buffers.room.allocated);
                lanes.give_up_drafts();
                Ok(false)
            }
            other => other.map(|()| true),
        }
    }

    /// Submits a pass over the rows on the GPU; false where no more passes may be in flight.
    fn submit(&self, session: &mut GpuSession) -> Result<bool> {
        let mut lanes = self.lanes.borrow_mut();
        let choosing = lanes.choosing();
        if choosing.logits {
            session.choice.prepare_logits(&session.model, session.buffers.room.sequences)?;
        }
        for Write { part, bytes, .. } in lanes.take_writes() {
            session.write(part, &bytes);
        }
        if lanes.form() == Form::DraftOfModel && session.in_flight() < MAX_DEPTH {
            match &session.draft_model {
                Some(model) => model.submit(session, lanes.drafted_pass()),
                None => session.draft_next(lanes.drafted_pass()[0]),
            }
        }
        let submitted = session.submit_decode(lanes.form(), choosing);
        if submitted {
            if lanes.form().is_draft() {
                session.replay_accepted(lanes.rows[0]);
            }
            lanes.submitted().into_iter().for_each(|number| session.keep_states_of(number));
        }
        Ok(submitted)
    }
}
