//! How a lane reads a text, taking turns with the other lanes of its session.

use std::cell::Cell;

use super::drafts::Drafts;
use super::lane::GpuLane;
use super::lane_drafts::Form;
use super::lanes::Write;
use super::scheduler::Wants;
use super::session::GpuSession;
use super::turns::Turn;
use crate::gpu::Buffer;
use crate::model::Item;
use crate::runtime::pass::{Reading, Until};
use crate::runtime::session::Session;
use crate::{Error, ErrorCode, Result};

impl GpuLane {
    /// Takes the turn to use the session for this lane alone. Passes in flight are read back, and the next pass of
    /// other lanes is written anew.
    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    pub(in crate::runtime) async fn turn(&self) -> Result<Turn> {
        let turn = self.shared.turns.take().await;
        let mut session = self.shared.session.borrow_mut();
        let drained = self.shared.drain(&mut session).await;
        self.shared.told(&mut session, drained)?;
        self.shared.lanes.borrow_mut().leave_pass();
        session.select(self.number);
        session.restore_states(self.state(|lane| lane.restores.take()));
        Ok(turn)
    }

    /// Runs `reading` in turns of this lane, until it is done or `stop` is set. Where other lanes wait, they get their
    /// turn after each pass.
    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    pub(in crate::runtime) async fn run(
        &self,
        reading: &mut Reading<'_>,
        mut wants: Wants<'_>,
        stop: &Cell<bool>,
    ) -> Result<()> {
        let pause = || self.shared.turns.are_wanted();
        let tell = |read| self.listener.iter().for_each(|listener| listener(read));
        loop {
            let _turn = self.turn().await?;
            let mut session = self.shared.session.borrow_mut();
            session.grow_to(reading.end()).await?;
            let adapters = self.shared.adapters.borrow()[self.number].clone();
            session.use_adapters(adapters.iter().map(|(adapter, ..)| adapter.clone()).collect()).await?;
            session.write_scales(self.number, &adapters);
            if wants.runs_last() {
                self.prepare(&mut session);
            }
            let outcome = session.run(reading, wants.again(), Until { stop, pause: &pause, tell: &tell }).await;
            self.state(|lane| lane.has_read(reading.next()));
            // That this lane's rows cannot be read does not concern the texts of others.
            let is_own = |error: &Error| matches!(error.code(), ErrorCode::DownloadFailed | ErrorCode::InvalidArgument);
            match outcome {
                Err(error) if is_own(&error) => return Err(error),
                other => self.shared.told(&mut session, other)?,
            }
            if reading.is_done() && !stop.get() && wants.runs_last() {
                let in_flight = session.in_flight();
                self.shared.lanes.borrow_mut().begin_within(self.number, reading.end() - 1, in_flight);
            }
            if reading.is_done() || stop.get() {
                return Ok(());
            }
        }
    }

    /// Runs `ids` from position 0 on, and leaves their hidden states on the GPU: what the last layer adds up in the
    /// residual stream, before the output norm. They go to `target`, `[ids, hidden]` f32, a buffer of the model's
    /// device such as that of a tensor. Returns how many of the ids are in the KV cache: fewer where `stop` was set
    /// meanwhile.
    ///
    /// # Errors
    /// `invalid_argument` where `target` is too small, `context_full` where the ids do not fit.
    pub async fn hidden_states(&mut self, ids: &[u32], target: &Buffer, stop: &Cell<bool>) -> Result<usize> {
        let mut reading = Reading::new(ids, 0);
        self.model().check_hidden(&reading, self.context_length(), target)?;
        self.run(&mut reading, Wants::Hidden(target), stop).await?;
        Ok(reading.done)
    }

    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    async fn make_drafts_ready(&self) -> Result<()> {
        let _turn = self.turn().await?;
        self.shared.session.borrow_mut().record_form(Form::Draft).await?;
        self.shared.lanes.borrow_mut().allow_drafts();
        Ok(())
    }

    /// Lets the draft model read the text before `position`, which can be stopped here. Among several lanes it reads
    /// once one of them is alone.
    async fn let_draft_model_read(&self, position: usize, stop: &Cell<bool>) -> Result<()> {
        let text = self.state(|lane| {
            let drafts = lane.drafts.as_ref().filter(|drafts| drafts.is_of_model())?;
            drafts.text(position).map(<[u32]>::to_vec)
        });
        let model = self.of_session(|session| session.draft_model.clone());
        let (Some(text), Some(model), true) = (text, model, self.is_alone()) else { return Ok(()) };
        match model.follow(&text, usize::MAX, stop).await {
            Err(error) if error.code() == ErrorCode::OutOfMemory => {
                self.state(|lane| lane.drafts = None);
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    /// Writes what choosing the token after a text needs, before the text is read.
    fn prepare(&self, session: &mut GpuSession) {
        let (choosing, steps, ends, writes) = self.state(|lane| {
            let writes = lane.take_all_writes();
            (lane.choosing.unwrap_or_default(), lane.steps, lane.ends.clone(), writes)
        });
        (session.choice.choosing, session.choice.steps) = (choosing, steps);
        session.write_ends(&ends);
        for Write { part, bytes, .. } in writes {
            session.write(part, &bytes);
        }
    }

    /// Reads `ids` like [`Session::feed`](crate::runtime::Session::feed); `wants` says what is done after the last one.
    /// Where a session has several lanes, the last id becomes the lane's row in the next decode pass, unless it is a
    /// prompt row.
    pub(in crate::runtime) async fn fill(
        &self,
        ids: &[u32],
        position: usize,
        (wants, stop): (Wants<'_>, &Cell<bool>),
    ) -> Result<usize> {
        let is_certain = self.state(|lane| {
            lane.stop();
            lane.drafts.iter_mut().for_each(|drafts| drafts.read(ids, position));
            lane.drafts.as_ref().is_some_and(Drafts::is_certain)
        });
        if is_certain {
            self.make_drafts_ready().await?;
            self.let_draft_model_read(position + ids.len().saturating_sub(1), stop).await?;
        }
        let Some((&token, many)) = ids.split_last() else { return Ok(0) };
        let is_row = matches!(Item::from(token), Item::Row(_));
        if self.is_alone() || (is_row && matches!(wants, Wants::Token)) {
            let mut reading = Reading::new(ids, position);
            self.run(&mut reading, wants, stop).await?;
            return Ok(reading.done);
        }
        if is_row {
            let message = "a prompt that ends with a row, with a grammar or log-probabilities: 'parallel' takes none";
            return Err(Error::invalid_argument(message));
        }
        let mut reading = Reading::new(many, position);
        self.run(&mut reading, Wants::Nothing, stop).await?;
        if !reading.is_done() || stop.get() {
            return Ok(reading.done);
        }
        self.state(|lane| lane.begin(token, reading.end()));
        Ok(ids.len())
    }
}
