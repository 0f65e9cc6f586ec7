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
use std::rc::Rc;

use super::{Drafter, Later};
use crate::forward::takes_drafts;
use crate::kernels::accept_drafts::DRAFT_ROWS;
use crate::kernels::spec::Slice;
use crate::runtime::gpu::execute::Executor;
use crate::runtime::gpu::lane::GpuLane;
use crate::runtime::pass::Reading;
use crate::runtime::passes::block::{copy_no_draft, copy_row, rows_of_drafter};
use crate::runtime::passes::layout::Layout;
use crate::runtime::plan::{List, Place, Plan, Set};
use crate::runtime::read::Wants;
use crate::runtime::session::Session;
use crate::{Error, Result};

/// A model that makes drafts.
pub(in crate::runtime) struct DraftModel {
    lane: GpuLane,
    /// Where its passes lie.
    pass: Slice,
    /// The tokens that its cache holds.
    ids: RefCell<Vec<u32>>,
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
        let drafter: Option<Rc<dyn Drafter>> = DraftModel::new(draft).map(|drafter| Rc::new(drafter) as Rc<_>);
        self.drive.use_drafter(drafter);
        Ok(())
    }
}

impl DraftModel {
    /// Lets this lane, the only one of its session, make drafts; `None` while it reads.
    fn new(lane: GpuLane) -> Option<Self> {
        let pass = lane.drive.session.ask(|session| session.buffers.pass)?;
        Some(Self { lane, pass, ids: RefCell::default() })
    }

    async fn read(&self, text: &[u32], most: usize, stop: &Cell<bool>) -> Result<bool> {
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
        let turn = self.lane.drive.session.take().await;
        turn.write(self.pass, &rows_of_drafter().bytes());
        Ok(is_whole)
    }
}

impl Drafter for DraftModel {
    fn context(&self) -> usize {
        self.lane.context_length()
    }

    fn is_own_block(&self) -> bool {
        false
    }

    fn bytes(&self) -> u64 {
        self.lane.bytes()
    }

    fn follow<'a>(&'a self, text: &'a [u32], most: usize, stop: &'a Cell<bool>) -> Later<'a, bool> {
        Box::pin(self.read(text, most, stop))
    }

    /// The cache held the beginning of this text.
    fn holds(&self, text: &[u32]) {
        let mut ids = self.ids.borrow_mut();
        let known = ids.len().min(text.len());
        ids.truncate(known);
        ids.extend_from_slice(&text[known..]);
    }

    fn has_room(&self, positions: usize) -> bool {
        self.lane.drive.session.ask(|session| positions <= session.buffers.room.allocated).unwrap_or_default()
    }

    fn grow_to(&self, positions: usize) -> Later<'_, ()> {
        Box::pin(async move {
            let mut session = self.lane.drive.session.take().await;
            let written = self.lane.drive.schedule.borrow().written();
            session.grow_to(positions, written).await
        })
    }

    fn draft(&self, plan: &mut Plan<'static>, layout: Layout<'_>, [steps, end]: [usize; 2]) {
        let (own, other) = (Place::of_draft_model(self.pass), Place::from(layout.buffers.pass));
        copy_row(plan, (other, 0), (own, 0));
        for row in 1..=steps + 1 {
            [List::Decode, List::Greedy].into_iter().for_each(|list| plan.run(Set::DraftModel, list, 1));
            if row <= steps {
                copy_row(plan, (own, 0), (other, row));
            }
        }
        copy_no_draft(plan, own, (other, steps + 1..DRAFT_ROWS));
        self.lane.state(|text| text.positions.advance_to(end));
    }

    fn with_session(&self, run: &mut dyn FnMut(Option<&Executor>) -> Result<()>) -> Result<()> {
        let turn = self.lane.drive.session.take_if_free();
        run(turn.as_ref().map(|session| &session.gpu))
    }
}
