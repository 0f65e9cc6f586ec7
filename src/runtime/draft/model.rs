//! A smaller model with the same vocabulary, on the same device, that drafts what a larger one checks.
//!
//! A round is: copies of the last rows of some texts into the draft model's pass, a greedy decode pass for each token
//! to draft, each followed by copies of these tokens into the next rows of the checking pass, and one decode pass more,
//! so that the cache has the last drafted tokens, too. The checking pass follows, and leaves its last rows for the next
//! round. So rounds follow each other without the host.
//!
//! It has a sequence for each text of the session, whose cache follows that text. What a text has in common with the
//! one before is not read again, and what the checking pass refuses is overwritten. A wrong cache costs right drafts
//! and nothing else.

use std::cell::{Cell, RefCell};
use std::mem::take;
use std::rc::Rc;

use super::{Drafter, Later};
use crate::forward::takes_drafts;
use crate::kernels::spec::Slice;
use crate::runtime::gpu::execute::Executor;
use crate::runtime::gpu::lane::GpuLane;
use crate::runtime::gpu::session::GpuSession;
use crate::runtime::pass::Reading;
use crate::runtime::passes::layout::Layout;
use crate::runtime::passes::round::{Drafted, Round};
use crate::runtime::plan::{Form, List, Place, Plan, Set};
use crate::runtime::read::Wants;
use crate::runtime::session::Session;
use crate::{Error, Result};

/// A model that makes drafts.
pub(in crate::runtime) struct DraftModel {
    /// A lane of its session for each text, by number.
    lanes: Vec<GpuLane>,
    /// Where its passes lie.
    pass: Slice,
    /// The tokens that the cache of each lane holds.
    ids: RefCell<Vec<Vec<u32>>>,
}

impl GpuLane {
    /// Lets the model of `draft`, a session on the same device, draft tokens for this session and those made from it.
    ///
    /// # Errors
    /// `invalid_argument` where the passes of one of the models cannot be taken back, where the devices differ, and
    /// where the draft's session has fewer lanes.
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
        let [own, theirs] = [self.lanes(), draft.lanes()];
        if theirs < own {
            let message = format!("option 'draft': a model with {theirs} lanes, expected {own} as the model has");
            return Err(Error::invalid_argument(message));
        }
        let drafter: Option<Rc<dyn Drafter>> = DraftModel::new(draft).map(|drafter| Rc::new(drafter) as Rc<_>);
        self.drive.use_drafter(drafter);
        Ok(())
    }
}

impl DraftModel {
    /// Lets the session of this lane make drafts; `None` while it reads.
    fn new(lane: GpuLane) -> Option<Self> {
        let pass = lane.drive.session.ask(|session| session.buffers.pass)?;
        let lanes: Vec<GpuLane> = (0..lane.lanes()).map(|number| lane.numbered(number)).collect();
        Some(Self { pass, ids: vec![Vec::new(); lanes.len()].into(), lanes })
    }

    async fn read(&self, (number, text): (usize, &[u32]), most: usize, stop: &Cell<bool>) -> Result<bool> {
        let (lane, mut ids) = (&self.lanes[number], take(&mut self.ids.borrow_mut()[number]));
        let same = ids.iter().zip(text).take_while(|(a, b)| a == b).count();
        let reached = lane.go_back(same);
        ids.truncate(reached);
        if reached < text.len() {
            let count = most.min(text.len() - reached);
            let mut reading = Reading::new(&text[reached..][..count], reached);
            lane.run(&mut reading, Wants::Nothing, stop).await?;
            ids.extend_from_slice(&text[reached..reading.next()]);
        }
        let is_whole = ids.len() == text.len();
        self.ids.borrow_mut()[number] = ids;
        Ok(is_whole)
    }

    fn ask<T: Default>(&self, ask: impl FnOnce(&GpuSession) -> T) -> T {
        self.lanes[0].of_session(ask)
    }
}

impl Drafter for DraftModel {
    fn context(&self) -> usize {
        self.lanes[0].context_length()
    }

    fn is_own_block(&self) -> bool {
        false
    }

    fn bytes(&self) -> u64 {
        self.lanes[0].bytes()
    }

    fn follow<'a>(&'a self, text: (usize, &'a [u32]), most: usize, stop: &'a Cell<bool>) -> Later<'a, bool> {
        Box::pin(self.read(text, most, stop))
    }

    /// The cache held the beginning of this text.
    fn holds(&self, number: usize, text: &[u32]) {
        let ids = &mut self.ids.borrow_mut()[number];
        let known = ids.len().min(text.len());
        ids.truncate(known);
        ids.extend_from_slice(&text[known..]);
    }

    fn has_room(&self, positions: usize) -> bool {
        self.ask(|session| positions <= session.buffers.room.allocated)
    }

    fn grow_to(&self, positions: usize) -> Later<'_, ()> {
        Box::pin(async move {
            let drive = &self.lanes[0].drive;
            let mut session = drive.session.take().await;
            let written = drive.schedule.borrow().written();
            session.grow_to(positions, written).await
        })
    }

    fn has_lists(&self, texts: usize) -> bool {
        self.ask(|session| session.gpu.lists.has(Form::Rows(texts)))
    }

    fn record(&self, texts: usize) -> Later<'_, ()> {
        Box::pin(async move { self.lanes[0].drive.session.take().await.record_form(Form::Rows(texts)).await })
    }

    fn draft(&self, plan: &mut Plan<'static>, layout: Layout<'_>, (_, texts): (usize, &[Drafted])) {
        draft(plan, (self.pass, layout.buffers.pass), texts);
        texts.iter().for_each(|text| self.lanes[text.number].state(|own| own.positions.advance_to(text.end)));
    }

    fn with_session(&self, run: &mut dyn FnMut(Option<&Executor>) -> Result<()>) -> Result<()> {
        let turn = self.lanes[0].drive.session.take_if_free();
        run(turn.as_ref().map(|session| &session.gpu))
    }
}

/// Adds a round of drafts of a model. `own`: its pass, in its session. `checking`: the pass that has the texts.
fn draft(plan: &mut Plan<'static>, (own, checking): (Slice, Slice), texts: &[Drafted]) {
    let round = Round { texts, own: Place::of_draft_model(own), checking: checking.into() };
    round.begin(plan);
    for step in 1..=round.steps() + 1 {
        let set = Set::DraftModel(texts.len());
        [List::Decode, List::Greedy].into_iter().for_each(|list| plan.run(set, list, texts.len()));
        round.take(plan, step);
    }
    round.end(plan);
}

/// A draft model whose session has the same buffers as the model's, for tests of plans.
#[cfg(test)]
pub(in crate::runtime) struct FakeDraftModel {
    pub pass: Slice,
}

#[cfg(test)]
impl Drafter for FakeDraftModel {
    fn context(&self) -> usize {
        usize::MAX
    }

    fn is_own_block(&self) -> bool {
        false
    }

    fn draft(&self, plan: &mut Plan<'static>, layout: Layout<'_>, (_, texts): (usize, &[Drafted])) {
        draft(plan, (self.pass, layout.buffers.pass), texts);
    }
}
