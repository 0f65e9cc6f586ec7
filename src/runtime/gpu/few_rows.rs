//! Passes of a few rows, for tests of the kernels. The rows belong to several sequences, each with its own cache, or to
//! one sequence, where each row sees those before it.

use std::cell::Cell;

use super::lane_drafts::Form;
use super::scheduler::Wants;
use super::session::GpuSession;
use crate::gpu::Part;
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};
use crate::kernels::pass::{Header, Pass, ROW_DONE, Row, Sequence};
use crate::runtime::pass::{Reading, Until};
use crate::runtime::session::Choosing;
use crate::{Error, Result};

impl GpuSession {
    /// Reads tokens into the cache of a sequence, at `position` and after.
    ///
    /// # Errors
    /// Errors of the device.
    pub async fn read_sequence(&mut self, sequence: u32, position: usize, ids: &[u32]) -> Result<()> {
        self.select(sequence as usize);
        self.run(&mut Reading::new(ids, position), Wants::Nothing, Until::stopped(&Cell::new(false))).await
    }

    /// The logits `[rows, vocab]` of a pass. Rows of one sequence see those before them.
    ///
    /// # Errors
    /// `invalid_argument` for more rows or sequences than the session has room for; errors of the device.
    pub async fn logits_of_rows(&mut self, rows: &[Row]) -> Result<Vec<f32>> {
        self.grow_to(end_of(rows)).await?;
        self.ensure_rows_of(rows.iter().map(|row| row.token)).await?;
        let count = self.start_rows(rows).await?;
        self.submit_rows(count, false);
        let bytes = rows.len() * self.model.config.vocab * 4;
        let logits = self.buffers.logits;
        let bytes = self.model.device.read(self.table.get(logits.buffer), logits.offset, bytes as u64).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// Decodes `steps` tokens greedily, with one row for each of several sequences. Returns the state of these
    /// sequences after each step.
    ///
    /// # Errors
    /// The errors of [`GpuSession::logits_of_rows`].
    pub async fn decode_rows(&mut self, rows: &[Row], steps: usize) -> Result<Vec<Vec<Sequence>>> {
        self.grow_to(end_of(rows) + steps).await?;
        let count = self.start_rows(rows).await?;
        let mut all: Vec<Vec<Sequence>> = Vec::with_capacity(steps);
        for _ in 0..steps {
            match all.last() {
                Some(last) => self.ensure_rows_of(last.iter().map(|sequence| sequence.token)).await?,
                None => self.ensure_rows_of(rows.iter().map(|row| row.token)).await?,
            }
            self.submit_rows(count, true);
            let pass = self.table.get(self.buffers.pass.buffer);
            let bytes = self.model.device.read(pass, 0, size_of::<Header>() as u64).await?;
            let header: Header = bytemuck::pod_read_unaligned(&bytes);
            all.push(rows.iter().map(|row| header.sequences[row.sequence as usize]).collect());
        }
        Ok(all)
    }

    /// Lets the model's own block draft `steps` tokens after this row, or after the one that the last pass left. Gives
    /// these tokens, and the logits of the last one.
    ///
    /// # Errors
    /// Errors of the device.
    pub async fn drafts_after(&mut self, first: Option<Row>, steps: usize) -> Result<(Vec<u32>, Vec<f32>)> {
        self.record_form(Form::DraftOfModel).await?;
        if let Some(first) = first {
            let row = |at: u32| Row { position: first.position + at, flags: ROW_DONE * u32::from(at > 0), ..first };
            let mut pass = Pass::decode(&(0..DRAFT_ROWS as u32).map(row).collect::<Vec<Row>>());
            pass.header.sequences[0] = Sequence { token: first.token, position: first.position, done: 0, steps: 0 };
            self.write(self.buffers.pass, &pass.bytes());
            self.keep_states_before_draft(0);
        }
        self.begin_steps();
        self.draft_next(steps);
        let pass = self.buffers.pass;
        let bytes =
            self.model.device.read(self.table.get(pass.buffer), pass.offset, Pass::bytes_of(DRAFT_ROWS)).await?;
        let token = |row: usize| bytemuck::pod_read_unaligned::<u32>(&bytes[Pass::bytes_of(row) as usize..][..4]);
        let (logits, vocab) = (self.buffers.logits, self.model.config.vocab as u64);
        let logits = self.model.device.read(self.table.get(logits.buffer), logits.offset, 4 * vocab).await?;
        self.model.device.check()?;
        Ok(((1..=steps).map(token).collect(), bytemuck::pod_collect_to_vec(&logits)))
    }

    /// Runs the pass with these drafts, greedily. Gives the tokens that it accepts.
    ///
    /// # Errors
    /// Errors of the device.
    pub async fn accepted(&mut self) -> Result<Vec<u32>> {
        let greedy = Choosing { greedy: true, biased: false, logits: false };
        self.submit_decode(Form::DraftOfModel, greedy);
        self.replay_accepted(0);
        let bytes = self.receive().await?.map(|received| received.header).unwrap_or_default();
        let report: Report = bytemuck::pod_read_unaligned(&bytes[..size_of::<Report>()]);
        Ok(report.tokens[..report.accepted as usize].to_vec())
    }

    async fn ensure_rows_of(&self, tokens: impl Iterator<Item = u32>) -> Result<()> {
        self.model.ensure_rows(&tokens.collect::<Vec<_>>()).await
    }

    /// Writes the pass, and makes its lists if they are not made yet. Returns the number of rows.
    async fn start_rows(&mut self, rows: &[Row]) -> Result<u32> {
        let room = self.buffers.room;
        if rows.is_empty() || rows.len() > room.rows {
            return Err(Error::invalid_argument(format!(
                "a pass of {} rows, there is room for {}",
                rows.len(),
                room.rows
            )));
        }
        if let Some(row) = rows.iter().find(|row| row.sequence as usize >= room.sequences) {
            let message = format!("a row of sequence {}, there is room for {}", row.sequence, room.sequences);
            return Err(Error::invalid_argument(message));
        }
        let count = rows.len() as u32;
        self.record_rows(rows.len()).await?;
        self.write(self.buffers.pass, &Pass::decode(rows).bytes());
        Ok(count)
    }

    fn submit_rows(&self, count: u32, greedy: bool) {
        let lists = self.few_rows.get(count as usize).and_then(Option::as_ref).unwrap_or(&self.lists);
        let parts = [&lists.decode, &lists.greedy].into_iter().take(if greedy { 2 } else { 1 }).map(Part::from);
        self.model.device.submit(parts, count, None);
    }
}

/// Number of positions up to and with those of the rows.
fn end_of(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.position as usize + 1).max().unwrap_or(0)
}
