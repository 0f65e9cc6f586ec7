//! Passes of a few rows, for tests of the kernels. The rows belong to several sequences, each with its own cache, or to
//! one sequence, where each row sees those before it.

use std::cell::{Cell, RefCell};

use super::reads::Answer;
use super::session::GpuSession;
use crate::gpu::Part;
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};
use crate::kernels::pass::{Header, Pass, ROW_DONE, Row, Sequence};
use crate::runtime::draft::Drafter;
use crate::runtime::draft::block::Block;
use crate::runtime::pass::{Reading, Until};
use crate::runtime::passes::decode::{Decode, decode};
use crate::runtime::passes::round::Drafted;
use crate::runtime::passes::states;
use crate::runtime::plan::{Form, List, Plan};
use crate::runtime::read::{Reader, Wants};
use crate::runtime::schedule::Schedule;
use crate::runtime::session::Choosing;
use crate::{Error, Result};

/// A session whose passes a test writes.
pub struct FewRows {
    session: GpuSession,
    schedule: RefCell<Schedule>,
}

impl FewRows {
    /// Takes a session in which nothing was read.
    pub fn new(session: GpuSession) -> Self {
        let (room, copies) = (session.buffers.room, session.buffers.checkpoints.len());
        Self { session, schedule: Schedule::new(room.sequences, room.context, copies).into() }
    }

    /// The session.
    pub fn session(&self) -> &GpuSession {
        &self.session
    }

    /// Reads tokens into the cache of a sequence, at `position` and after.
    ///
    /// # Errors
    /// Errors of the device.
    pub async fn read_sequence(&mut self, sequence: u32, position: usize, ids: &[u32]) -> Result<()> {
        let Self { session, schedule } = self;
        let mut reader = Reader { session, schedule, number: sequence as usize };
        reader.read(&mut Reading::new(ids, position), Wants::Nothing, Until::stopped(&Cell::new(false))).await
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
        self.logits(rows.len()).await
    }

    /// Decodes `steps` tokens greedily, with one row for each of several sequences. Returns the state of these
    /// sequences after each step.
    ///
    /// # Errors
    /// The errors of [`FewRows::logits_of_rows`].
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
            let bytes = self.pass(size_of::<Header>() as u64).await?;
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
        let first = first.map(|first| [first]);
        let (mut drafts, logits) = self.drafts_of(1, first.as_ref().map(<[Row; 1]>::as_slice), steps).await?;
        Ok((drafts.swap_remove(0), logits))
    }

    /// The same for the first `count` sequences at once, which have as many rows each of the pass that follows. The
    /// logits are `[count, vocab]`, of a block that drafts several tokens at once those of all rows of the pass.
    ///
    /// # Errors
    /// Errors of the device.
    pub async fn drafts_of(
        &mut self,
        count: usize,
        first: Option<&[Row]>,
        steps: usize,
    ) -> Result<(Vec<Vec<u32>>, Vec<f32>)> {
        let Self { session, .. } = self;
        session.record_form(form_of(count)).await?;
        let (layout, mut plan, width) = (session.layout(), Plan::default(), DRAFT_ROWS / count);
        if let Some(first) = first {
            let row = |first: Row, at: u32| Row { position: first.position + at, flags: ROW_DONE * at.min(1), ..first };
            let rows = first.iter().flat_map(|&first| (0..width as u32).map(move |at| row(first, at)));
            let mut pass = Pass::decode(&rows.collect::<Vec<Row>>());
            for (number, &Row { token, position, .. }) in first.iter().enumerate() {
                pass.header.sequences[number] = Sequence { token, position, done: 0, steps: 0 };
                states::keep_before_draft(&mut plan, layout, number);
            }
            plan.write(layout.buffers.pass, pass.bytes());
        }
        let of = |number| Drafted { number, rows: number * width..(number + 1) * width, steps, end: 0 };
        let (of, context) = ((0..count).map(of).collect::<Vec<Drafted>>(), layout.buffers.room.context);
        let outputs = if layout.buffers.whole.is_some() { DRAFT_ROWS } else { count };
        Block { context }.draft(&mut plan, layout, (DRAFT_ROWS, &of));
        session.gpu.execute(&plan)?;
        let bytes = self.pass(Pass::bytes_of(DRAFT_ROWS)).await?;
        let token = |row: usize| bytemuck::pod_read_unaligned::<u32>(&bytes[Pass::bytes_of(row) as usize..][..4]);
        let drafts = (0..count).map(|number| (1..=steps).map(|step| token(number * width + step)).collect()).collect();
        let logits = self.logits(outputs).await?;
        self.session.model.device.check()?;
        Ok((drafts, logits))
    }

    /// Runs the pass with these drafts, greedily. Gives the tokens that it accepts.
    ///
    /// # Errors
    /// Errors of the device.
    pub async fn accepted(&mut self) -> Result<Vec<u32>> {
        Ok(self.accepted_of(1).await?.swap_remove(0))
    }

    /// The same for the first `count` sequences.
    ///
    /// # Errors
    /// Errors of the device.
    pub async fn accepted_of(&mut self, count: usize) -> Result<Vec<Vec<u32>>> {
        let choosing = Choosing { greedy: true, biased: false, logits: false };
        let (form, layout, mut plan) = (form_of(count), self.session.layout(), Plan::default());
        decode(&mut plan, layout, Decode { form, choosing, started: false });
        states::replay(&mut plan, layout, (form, &(0..count).collect::<Vec<usize>>()));
        self.session.gpu.execute(&plan)?;
        let Some(Answer { outcome, .. }) = self.session.gpu.answer().await? else { return Ok(vec![Vec::new(); count]) };
        let report = |bytes: &[u8]| bytemuck::pod_read_unaligned::<Report>(bytes);
        let reports = outcome.chunks_exact(size_of::<Report>()).take(count).map(report);
        Ok(reports.map(|report| report.tokens[..report.accepted as usize].to_vec()).collect())
    }

    async fn grow_to(&mut self, positions: usize) -> Result<()> {
        let written = self.schedule.borrow().written();
        self.session.grow_to(positions, written).await
    }

    async fn ensure_rows_of(&self, tokens: impl Iterator<Item = u32>) -> Result<()> {
        self.session.model.ensure_rows(&tokens.collect::<Vec<_>>()).await
    }

    async fn logits(&self, rows: usize) -> Result<Vec<f32>> {
        let (logits, bytes) = (self.session.buffers.logits, rows * self.session.model.config.vocab * 4);
        let buffer = self.session.gpu.table.get(logits.buffer);
        let bytes = self.session.model.device.read(buffer, logits.offset, bytes as u64).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    async fn pass(&self, bytes: u64) -> Result<Vec<u8>> {
        let pass = self.session.buffers.pass;
        self.session.model.device.read(self.session.gpu.table.get(pass.buffer), pass.offset, bytes).await
    }

    /// Writes the pass, and makes its lists if they are not made yet. Returns the number of rows.
    async fn start_rows(&mut self, rows: &[Row]) -> Result<u32> {
        let room = self.session.buffers.room;
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
        self.session.record_form(Form::Rows(rows.len())).await?;
        self.session.write(self.session.buffers.pass, &Pass::decode(rows).bytes());
        Ok(rows.len() as u32)
    }

    fn submit_rows(&self, count: u32, greedy: bool) {
        let gpu = &self.session.gpu;
        let lists = [List::Decode, List::Greedy].into_iter().take(if greedy { 2 } else { 1 });
        let lists = lists.filter_map(|list| gpu.lists.get(Form::Rows(count as usize).set(), list)).map(Part::from);
        self.session.model.device.submit(lists, count, None);
    }
}

/// A pass with drafts of this many sequences.
fn form_of(texts: usize) -> Form {
    Form::DraftOfModel { texts, rows: DRAFT_ROWS }
}

/// Number of positions up to and with those of the rows.
fn end_of(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.position as usize + 1).max().unwrap_or(0)
}
