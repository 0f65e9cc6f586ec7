//! A smaller model with the same vocabulary, on the same device, that drafts what a larger one checks.
//!
//! A round is: copies of the checking session's last row into the draft model's pass, a greedy decode pass for each
//! token to draft, each followed by a copy of that token into the next row of the checking pass, and one decode pass
//! more, so that the cache has the last drafted token, too. The checking pass follows, and leaves its last row for the
//! next round. So rounds follow each other without the host.
//!
//! Its cache follows one text at a time. What a text has in common with the one before is not read again, and what the
//! checking pass refuses is overwritten. A wrong cache costs right drafts and nothing else.

use std::cell::{Cell, RefCell};
use std::mem::offset_of;
use std::ops::Range;
use std::rc::Rc;

use super::lane::GpuLane;
use super::scheduler::Wants;
use super::session::GpuSession;
use crate::forward::takes_drafts;
use crate::gpu::{Buffer, BufferTable, Commands, Copy, Part};
use crate::kernels::accept_drafts::DRAFT_ROWS;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::spec::Slice;
use crate::runtime::pass::Reading;
use crate::runtime::session::Session;
use crate::{Error, Result};

/// A model that makes drafts.
pub(in crate::runtime) struct DraftModel {
    lane: GpuLane,
    /// The tokens that its cache holds.
    ids: RefCell<Vec<u32>>,
}

/// The pass of a session, on the GPU.
#[derive(Clone, Copy)]
pub(super) struct PassOf<'a> {
    buffer: &'a Buffer,
    offset: u64,
}

impl<'a> PassOf<'a> {
    fn of(session: &'a GpuSession) -> Self {
        Self::at(&session.table, session.buffers.pass)
    }

    pub fn at(table: &'a BufferTable, Slice { buffer, offset, .. }: Slice) -> Self {
        Self { buffer: table.get(buffer), offset }
    }

    /// Copies `bytes` at `from` to `at` of another pass.
    fn copy(self, commands: &mut Commands, (from, bytes): (u64, u64), (to, at): (Self, u64)) {
        commands.copy(&Copy {
            source: self.buffer,
            source_offset: self.offset + from,
            target: to.buffer,
            offset: to.offset + at,
            bytes,
        });
    }

    /// Copies token, position and flags of a row, but not the number of its sequence.
    pub fn copy_row(self, commands: &mut Commands, from: usize, to: Self, at: usize) {
        let [from, at] = [from, at].map(Pass::bytes_of);
        self.copy(commands, (from, offset_of!(Row, sequence) as u64), (to, at));
        let flags = offset_of!(Row, flags) as u64;
        self.copy(commands, (from + flags, size_of::<u32>() as u64), (to, at + flags));
    }

    /// Marks rows of another pass as no draft, as the second row of this one is.
    pub fn copy_no_draft(self, commands: &mut Commands, to: Self, rows: Range<usize>) {
        let flags = offset_of!(Row, flags) as u64;
        let done = (Pass::bytes_of(1) + flags, size_of::<u32>() as u64);
        rows.for_each(|row| self.copy(commands, done, (to, Pass::bytes_of(row) + flags)));
    }
}

impl GpuLane {
    /// Lets `draft`, a lane alone on the same device, draft tokens for this session and those made from it.
    ///
    /// # Errors
    /// `invalid_argument` where the passes of one of the models cannot be taken back, and where the devices differ.
    pub fn use_draft(&mut self, draft: Self) -> Result<()> {
        for (model, is_draft) in [(self.model(), false), (draft.model(), true)] {
            // What a model drafts is written over and not taken back.
            let has_states = is_draft && !model.program.states().is_empty();
            if has_states || !takes_drafts(&model.weights) {
                let architecture = model.config.architecture;
                let message = format!("option 'draft': passes of architecture {architecture} cannot be taken back");
                return Err(Error::invalid_argument(message));
            }
        }
        if !Rc::ptr_eq(self.model().device(), draft.model().device()) {
            return Err(Error::invalid_argument("option 'draft': a model on another device"));
        }
        let mut session = self.shared.session.borrow_mut();
        let mut lanes = self.shared.lanes.borrow_mut();
        (lanes.draft_context, lanes.predicts_next) = (draft.context_length(), false);
        session.draft_model = Some(Rc::new(DraftModel::new(draft)));
        Ok(())
    }

    /// Whether another model makes drafts for this session, and whether a block of the model itself does.
    pub fn drafters(&self) -> [bool; 2] {
        let lanes = self.shared.lanes.borrow();
        [lanes.draft_context > 0 && !lanes.predicts_next, lanes.predicts_next]
    }
}

impl DraftModel {
    /// Lets this lane, the only one of its session, make drafts.
    pub fn new(lane: GpuLane) -> Self {
        Self { lane, ids: RefCell::default() }
    }

    /// Number of positions that its cache can have.
    pub fn context(&self) -> usize {
        self.lane.context_length()
    }

    /// Bytes that it takes on the GPU.
    pub fn bytes(&self) -> u64 {
        self.lane.of_session(GpuSession::bytes)
    }

    /// Reads `text`, as far as the cache does not hold it, up to `most` tokens. False where that was not all, or where
    /// `stop` was set before.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`; the cache counts as empty then.
    pub async fn follow(&self, text: &[u32], most: usize, stop: &Cell<bool>) -> Result<bool> {
        let mut ids = self.ids.take();
        let same = ids.iter().zip(text).take_while(|(a, b)| a == b).count();
        let reached = self.lane.go_back(same);
        ids.truncate(reached);
        if reached < text.len() {
            let count = most.min(text.len() - reached);
            let mut reading = Reading::new(&text[reached..][..count], reached);
            self.lane.run(&mut reading, Wants::Nothing, stop).await?;
            ids.extend_from_slice(&text[reached..reading.next()]);
        }
        let is_whole = ids.len() == text.len();
        *self.ids.borrow_mut() = ids;
        // The rows that a round copies: one to decode, and one that stands for no draft.
        let mut pass = Pass::decode(&[Row::default()]);
        pass.rows.push(Row { flags: ROW_DONE, ..Row::default() });
        let _turn = self.lane.shared.turns.take().await;
        let session = self.lane.shared.session.borrow();
        session.write(session.buffers.pass, &pass.bytes());
        Ok(is_whole)
    }

    /// Notes that the cache holds `text` now, of which it held the beginning.
    pub fn holds(&self, text: &[u32]) {
        let mut ids = self.ids.borrow_mut();
        let known = ids.len().min(text.len());
        ids.truncate(known);
        ids.extend_from_slice(&text[known..]);
    }

    /// Makes room for this many positions.
    ///
    /// # Errors
    /// `out_of_memory`, which leaves everything as it was; `device_lost`.
    #[allow(clippy::await_holding_refcell_ref, reason = "for who has the turn")]
    pub async fn grow_to(&self, positions: usize) -> Result<()> {
        let _turn = self.lane.shared.turns.take().await;
        self.lane.shared.session.borrow_mut().grow_to(positions).await
    }

    /// Whether the cache has room for this many positions.
    pub fn has_room(&self, positions: usize) -> bool {
        self.lane.of_session(|session| positions <= session.buffers.room.allocated)
    }

    /// Submits the drafting of `steps` tokens after the one in the first row of the next pass of `checking`, which has
    /// them in its other rows then. They lie before position `end`. Does nothing while another session's text is read.
    pub fn submit(&self, checking: &GpuSession, [steps, end]: [usize; 2]) {
        let Ok(session) = self.lane.shared.session.try_borrow() else { return };
        let (own, other) = (PassOf::of(&session), PassOf::of(checking));
        session.model.device.submit_all(|commands| {
            other.copy_row(commands, 0, own, 0);
            for row in 1..=steps + 1 {
                commands.run([&session.lists.decode, &session.lists.greedy].map(Part::from), 1);
                if row <= steps {
                    own.copy_row(commands, 0, other, row);
                }
            }
            own.copy_no_draft(commands, other, steps + 1..DRAFT_ROWS);
        });
        session.sequence.advance_to(end);
    }
}
