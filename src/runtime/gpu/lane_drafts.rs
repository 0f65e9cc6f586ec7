//! The passes of [lanes](super::lanes) with drafts, which only a lane that is alone in the pass has.

use super::drafts::Drafts;
use super::lanes::{Lane, Lanes};
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};
use crate::kernels::pass::{ROW_DONE, Row};
use crate::model::Item;

/// What the rows of a pass are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The last tokens of this many sequences.
    Rows(usize),
    /// The last token of one sequence, and a draft of the tokens after it, which the text foretells.
    Draft,
    /// The same with a draft that the [draft model](super::draft_model), or the model's own [block](super::next),
    /// writes on the GPU before the pass.
    DraftOfModel,
}

impl Form {
    /// Number of positions of a sequence that a pass takes, and maximum number of tokens that it gives for one.
    pub fn width(self) -> usize {
        match self {
            Self::Rows(_) => 1,
            _ => DRAFT_ROWS,
        }
    }

    /// Whether the pass has a draft.
    pub fn is_draft(self) -> bool {
        !matches!(self, Self::Rows(_))
    }
}

impl Lanes {
    /// The form that the next pass of these lanes should have.
    pub(in crate::runtime) fn form_of(&self, members: &[usize]) -> Form {
        match members {
            [alone] if self.has_drafts && self.wants_drafts(*alone) => match self.is_of_model(*alone) {
                true => Form::DraftOfModel,
                false => Form::Draft,
            },
            _ => Form::Rows(members.len()),
        }
    }

    fn is_of_model(&self, number: usize) -> bool {
        self.lanes[number].drafts.as_ref().is_some_and(Drafts::is_of_model)
    }

    /// Whether the lane's next pass should have a draft, for which there is room.
    fn wants_drafts(&self, number: usize) -> bool {
        let context = if self.is_of_model(number) { self.context.min(self.draft_context) } else { self.context };
        let fits = self.end_of(number) + DRAFT_ROWS <= context;
        fits && self.lanes[number].drafts.as_ref().is_some_and(Drafts::is_on)
    }

    /// Whether the next pass would have a draft if passes could have drafts.
    pub fn lack_drafts(&self) -> bool {
        !self.has_drafts && matches!(*self.members(), [alone] if self.wants_drafts(alone))
    }

    /// Allows drafts in passes from now on.
    pub fn allow_drafts(&mut self) {
        self.has_drafts = true;
    }

    /// A row, followed by the rows of a draft of the next tokens.
    pub(in crate::runtime) fn with_draft(&self, first: Row) -> Vec<Row> {
        let drafts = self.lanes[first.sequence as usize].drafts.as_ref();
        let mut ids = drafts.map(Drafts::next).unwrap_or_default();
        let is_token = |&id: &u32| matches!(Item::from(id), Item::Token(_));
        ids.truncate(ids.iter().position(|id| !is_token(id)).unwrap_or(ids.len()));
        let row = |at: usize| {
            let position = first.position + at as u32;
            match ids.get(at.wrapping_sub(1)) {
                Some(&token) => Row { token, position, ..first },
                None => Row { position, flags: ROW_DONE, ..first },
            }
        };
        [first].into_iter().chain((1..DRAFT_ROWS).map(row)).collect()
    }

    /// Turns drafts off for the lane whose passes have them: memory for rows that may come to nothing is missing.
    pub fn give_up_drafts(&mut self) {
        if self.form.is_draft() {
            self.rows.iter().for_each(|&number| self.lanes[number].drafts = None);
        }
    }

    /// The text in which the GPU looks for drafts, in the layout of its buffer; `None` where the passes have no drafts.
    pub fn text_of_draft(&self) -> Option<Vec<u32>> {
        let alone = self.rows.first().filter(|_| self.form.is_draft())?;
        self.lanes[*alone].drafts.as_ref().map(Drafts::words)
    }

    /// The lane that is alone in the next pass, where the draft model is to draft for it, and how often it has stopped.
    pub fn drafts_for(&self) -> Option<(usize, u32)> {
        match *self.members() {
            [alone] if self.form_of(&[alone]) == Form::DraftOfModel => Some((alone, self.lanes[alone].version)),
            _ => None,
        }
    }

    /// The text of a lane before its last token, which the draft model reads; `None` where it is not known.
    pub fn text_before(&self, number: usize) -> Option<&[u32]> {
        let Lane { drafts, next, .. } = &self.lanes[number];
        drafts.as_ref()?.text(next.position as usize)
    }

    /// Of the next pass with a draft of the model: the number of tokens to draft, and of positions that the draft
    /// model's cache needs.
    pub fn drafted_pass(&self) -> [usize; 2] {
        let number = self.rows.first().copied().unwrap_or(0);
        let steps = self.lanes[number].drafts.as_ref().map_or(1, Drafts::steps);
        [steps, self.end_of(number) + DRAFT_ROWS]
    }

    /// Takes in the report of the oldest pass in flight, which had a draft. `now` is in milliseconds.
    pub fn received_draft(&mut self, report: &Report, now: f64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(&number) = self.rows.first() else { return };
        let lane = &mut self.lanes[number];
        if !lane.is_on || report.accepted == 0 {
            return;
        }
        lane.left(report.sequence);
        if self.in_flight == 0 {
            lane.text.moved_states(Some(report.sequence.position as usize));
        }
        let ids = &report.tokens[..DRAFT_ROWS.min(report.accepted as usize)];
        for &id in ids {
            lane.take_in(id, None);
            if !lane.is_on {
                break;
            }
        }
        lane.drafts.iter_mut().for_each(|drafts| drafts.took_draft(ids, report.drafted as usize, now));
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::drafts::Drafting;
    use super::*;
    use crate::kernels::pass::Sequence;

    /// Lanes for texts of up to `context` tokens. The text of the first one repeats one token.
    fn foretold(count: usize, context: usize) -> Lanes {
        let mut lanes = Lanes::new(&vec![(); count].iter().map(|()| Rc::default()).collect::<Vec<_>>(), context);
        let mut drafts = Drafts::new(Drafting::Prompt, (&[], 0), &[5; 4]);
        drafts.read(&[5; 4], 0);
        while !drafts.is_on() {
            drafts.took(5, 0.0);
        }
        lanes.lane(0).begin(5, 20);
        lanes.lane(0).drafts = Some(drafts);
        lanes.lane(0).ask();
        lanes
    }

    /// The report of a pass that leaves the text at `position`.
    fn report(ids: &[u32], position: u32) -> Report {
        let mut report = Report { accepted: ids.len() as u32, drafted: 7, ..Report::default() };
        report.tokens[..ids.len()].copy_from_slice(ids);
        report.sequence = Sequence { token: ids[ids.len() - 1], done: 0, steps: 9, position };
        report
    }

    fn tokens(lanes: &mut Lanes) -> Vec<u32> {
        std::iter::from_fn(|| lanes.take(0)).map(|drawn| drawn.expect("a token").0.id).collect()
    }

    #[test]
    fn a_pass_with_a_draft_gives_several_tokens() {
        let mut lanes = foretold(2, 100);
        assert!(lanes.lack_drafts());
        assert_eq!((lanes.start().rows.len(), lanes.form()), (1, Form::Rows(1)), "nothing is compiled yet");
        lanes.allow_drafts();
        assert!(!lanes.go_on() && !lanes.lack_drafts());
        (1..12).for_each(|_| lanes.lane(0).ask());
        let pass = lanes.start();
        assert_eq!((lanes.form(), pass.header.rows, lanes.positions()), (Form::Draft, 8, 28));
        assert!(pass.rows.iter().zip(20..).all(|(row, at)| (row.token, row.position, row.flags) == (5, at, 0)));
        assert_eq!(lanes.text_of_draft().map(|words| words.len()), Some(2 + 4 + 2));
        let mut passes = 0;
        while lanes.is_due() {
            lanes.submitted();
            passes += 1;
        }
        assert_eq!((passes, lanes.lane(0).text.written()), (3, 44), "4 tokens of each are likely");
        lanes.received_draft(&report(&[5, 5, 6], 23), 0.0);
        assert_eq!((tokens(&mut lanes), lanes.lane(0).next.position), (vec![5, 5, 6], 23));
        assert_eq!(lanes.positions(), 23 + 3 * 8, "two are in flight");
        lanes.lane(1).begin(9, 3);
        lanes.lane(1).ask();
        assert!(!lanes.go_on(), "another joins");
        lanes.forget_in_flight();
        assert_eq!((lanes.start().rows.len(), lanes.form()), (2, Form::Rows(2)));
    }

    #[test]
    fn a_pass_waits_for_the_draft_of_a_model() {
        let mut lanes = foretold(2, 100);
        let mut drafts = Drafts::new(Drafting::Model, (&[], 0), &[5; 19]).by_model(true);
        drafts.read(&[5; 19], 0);
        (0..2).for_each(|id| drafts.took(id, 0.0));
        lanes.lane(0).drafts = Some(drafts);
        lanes.allow_drafts();
        assert_eq!(lanes.drafts_for(), None, "no model is there");
        lanes.draft_context = 60;
        assert_eq!(lanes.drafts_for(), Some((0, 1)));
        assert_eq!(lanes.text_before(0), Some(&[&[5; 19][..], &[0]].concat()[..]));
        (1..20).for_each(|_| lanes.lane(0).ask());
        let pass = lanes.start();
        assert_eq!((lanes.form(), pass.header.rows, lanes.drafted_pass()), (Form::DraftOfModel, 8, [3, 28]));
        let drafted: Vec<u32> = pass.rows.iter().map(|row| row.flags).collect();
        assert_eq!(drafted, [0, 1, 1, 1, 1, 1, 1, 1], "none of the host's");
        lanes.submitted();
        assert_eq!(lanes.drafted_pass(), [3, 36]);
        lanes.received_draft(&report(&[5, 5, 6], 23), 0.0);
        assert_eq!(lanes.text_before(0).map(|text| text.len()), Some(23));
        assert_eq!((lanes.drafted_pass(), lanes.go_on()), ([3, 31], true));
        lanes.lane(1).begin(9, 3);
        lanes.lane(1).ask();
        assert_eq!((lanes.drafts_for(), lanes.go_on()), (None, false), "another joins");
    }

    #[test]
    fn a_model_drafts_within_its_own_context() {
        let mut lanes = foretold(1, 100);
        lanes.lanes[0].drafts = lanes.lanes[0].drafts.take().map(|drafts| drafts.by_model(true));
        lanes.allow_drafts();
        for (context, form) in [(28, Form::DraftOfModel), (27, Form::Rows(1))] {
            lanes.draft_context = context;
            assert_eq!(lanes.form_of(&[0]), form);
        }
    }

    #[test]
    fn drafts_stay_within_the_context() {
        let mut lanes = foretold(1, 30);
        lanes.allow_drafts();
        (0..9).for_each(|_| lanes.lane(0).ask());
        lanes.start();
        assert!(lanes.is_due());
        lanes.submitted();
        assert!(!lanes.is_due(), "where the next begins is not known");
        lanes.received_draft(&report(&[5, 5], 22), 0.0);
        assert!(lanes.is_due(), "up to position 30");
        lanes.submitted();
        lanes.received_draft(&report(&[5], 23), 0.0);
        assert!(!lanes.go_on());
        assert_eq!((lanes.start().rows.len(), lanes.is_due()), (1, true));
    }

    #[test]
    fn what_comes_after_an_end_is_no_part_of_the_text() {
        let mut lanes = foretold(1, 100);
        lanes.allow_drafts();
        lanes.lane(0).ends = vec![6];
        lanes.start();
        lanes.submitted();
        lanes.received_draft(&report(&[5, 6, 5], 23), 0.0);
        assert_eq!(tokens(&mut lanes), [5, 6]);
        assert!(lanes.members().is_empty());
    }
}
