//! How a lane reads a text, taking turns with the other lanes of its session.

use std::cell::Cell;

use super::lane::GpuLane;
use crate::forward::CHUNK;
use crate::gpu::Buffer;
use crate::model::Item;
use crate::runtime::draft::drafts::Drafts;
use crate::runtime::pass::Reading;
use crate::runtime::plan::Form;
use crate::runtime::read::Wants;
use crate::runtime::session::Session;
use crate::{Error, ErrorCode, Result};

impl GpuLane {
    /// Runs `reading` in turns of this lane, until it is done or `stop` is set.
    pub(in crate::runtime) async fn run(
        &self,
        reading: &mut Reading<'_>,
        wants: Wants<'_>,
        stop: &Cell<bool>,
    ) -> Result<()> {
        self.drive.read(self.number, reading, wants, (stop, self.listener.as_ref())).await
    }

    /// Runs `ids` from this position on, and leaves their hidden states on the GPU: what the last layer adds up in the
    /// residual stream, before the output norm. They go to `target`, `[ids, hidden]` f32, a buffer of the model's
    /// device such as that of a tensor. Returns how many of the ids are in the KV cache: fewer where `stop` was set
    /// meanwhile.
    ///
    /// # Errors
    /// `invalid_argument` where `target` is too small, `context_full` where the ids do not fit.
    pub async fn hidden_states(
        &mut self,
        ids: &[u32],
        position: usize,
        target: &Buffer,
        stop: &Cell<bool>,
    ) -> Result<usize> {
        let mut reading = Reading::new(ids, position);
        self.check_hidden(&reading, target)?;
        self.run(&mut reading, Wants::Hidden(target), stop).await?;
        Ok(reading.done)
    }

    /// Checks that the target is large enough, and that the ids fit the context.
    fn check_hidden(&self, reading: &Reading<'_>, target: &Buffer) -> Result<()> {
        let (count, context) = (reading.ids.len(), self.context_length());
        let bytes = count as u64 * self.model().config.hidden as u64 * 4;
        if bytes > target.size() {
            let message = format!("hidden states of {count} tokens take {bytes} bytes, found {}", target.size());
            return Err(Error::invalid_argument(message));
        }
        if reading.end() > context {
            let message = format!("{count} tokens at {}, the context holds {context}", reading.position);
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        Ok(())
    }

    async fn make_drafts_ready(&self, rows: usize) -> Result<()> {
        self.turn().await?.record_form(Form::Draft(rows)).await?;
        self.drive.schedule.borrow_mut().allow_drafts();
        Ok(())
    }

    /// Lets the draft model read the text before `position`, which can be stopped here. Other lanes get their turn
    /// after each chunk.
    async fn let_draft_model_read(&self, position: usize, stop: &Cell<bool>) -> Result<()> {
        let text = self.state(|text| {
            let drafts = text.drafts.as_ref().filter(|drafts| drafts.is_of_model())?;
            drafts.text(position).map(<[u32]>::to_vec)
        });
        let drafter = self.drive.drafter().filter(|drafter| !drafter.is_own_block());
        let (Some(text), Some(drafter)) = (text, drafter) else { return Ok(()) };
        let mut is_whole = false;
        while !is_whole && !stop.get() {
            // The draft model's passes are written by rounds of other lanes, too.
            let _turn = self.turn().await?;
            is_whole = match drafter.follow((self.number, &text), CHUNK, stop).await {
                Err(error) if error.code() == ErrorCode::OutOfMemory => {
                    self.state(|text| text.drafts = None);
                    true
                }
                other => other?,
            };
        }
        Ok(())
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
        let (certain, not_run) = self.state(|text| {
            // A grammar may force tokens right after others were read.
            let not_run = text.not_run(position).filter(|_| !self.is_alone());
            text.stop();
            text.drafts.iter_mut().for_each(|drafts| drafts.read(ids, position));
            (text.drafts.as_ref().filter(|drafts| drafts.is_certain()).map(Drafts::rows), not_run)
        });
        if let Some(rows) = certain {
            self.make_drafts_ready(rows).await?;
            self.let_draft_model_read(position + ids.len().saturating_sub(1), stop).await?;
        }
        let known = usize::from(not_run.is_some());
        let ids: Vec<u32> = not_run.into_iter().chain(ids.iter().copied()).collect();
        let position = position - known;
        let done = self.read_or_begin(&ids, position, (wants, stop)).await?;
        Ok(done.saturating_sub(known))
    }

    /// Reads `ids` at `position` and after, where nothing before is left to run.
    async fn read_or_begin(
        &self,
        ids: &[u32],
        position: usize,
        (wants, stop): (Wants<'_>, &Cell<bool>),
    ) -> Result<usize> {
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
        self.state(|text| text.begin(token, reading.end()));
        Ok(ids.len())
    }
}
