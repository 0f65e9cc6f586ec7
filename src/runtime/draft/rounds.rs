//! The passes of a schedule with drafts, which only a text that is alone in the pass has.

use super::drafts::Drafts;
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};
use crate::kernels::pass::{ROW_DONE, Row};
use crate::model::Item;
use crate::runtime::plan::Form;
use crate::runtime::schedule::Schedule;
use crate::runtime::text::Text;

impl Schedule {
    /// The form that the next pass of these texts should have.
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
        self.texts[number].drafts.as_ref().is_some_and(Drafts::is_of_model)
    }

    /// Whether the text's next pass should have a draft, for which there is room.
    fn wants_drafts(&self, number: usize) -> bool {
        let context = if self.is_of_model(number) { self.context.min(self.draft_context) } else { self.context };
        let fits = self.end_of(number) + DRAFT_ROWS <= context;
        fits && self.texts[number].drafts.as_ref().is_some_and(Drafts::is_on)
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
        let drafts = self.texts[first.sequence as usize].drafts.as_ref();
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
            self.rows.iter().for_each(|&number| self.texts[number].drafts = None);
        }
    }

    /// The text in which the GPU looks for drafts, in the layout of its buffer; `None` where the passes have no drafts.
    pub fn text_of_draft(&self) -> Option<Vec<u32>> {
        let alone = self.rows.first().filter(|_| self.form.is_draft())?;
        self.texts[*alone].drafts.as_ref().map(Drafts::words)
    }

    /// The lane that is alone in the next pass, where the draft model is to draft for it, and how often it has stopped.
    pub fn drafts_for(&self) -> Option<(usize, u32)> {
        match *self.members() {
            [alone] if self.form_of(&[alone]) == Form::DraftOfModel => Some((alone, self.texts[alone].version)),
            _ => None,
        }
    }

    /// The text of a lane before its last token, which the draft model reads; `None` where it is not known.
    pub fn text_before(&self, number: usize) -> Option<&[u32]> {
        let Text { drafts, next, .. } = &self.texts[number];
        drafts.as_ref()?.text(next.position as usize)
    }

    /// The text in the passes, before its last token; `None` where it is not known.
    pub fn text_of_pass(&self) -> Option<&[u32]> {
        self.text_before(*self.rows.first()?)
    }

    /// Of the next pass with a draft of the model: the number of tokens to draft, and of positions that the draft
    /// model's cache needs.
    pub fn drafted_pass(&self) -> [usize; 2] {
        let number = self.rows.first().copied().unwrap_or(0);
        let steps = self.texts[number].drafts.as_ref().map_or(1, Drafts::steps);
        [steps, self.end_of(number) + DRAFT_ROWS]
    }

    /// Takes in the report of the oldest pass in flight, which had a draft. `now` is in milliseconds.
    pub fn received_draft(&mut self, report: &Report, now: f64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(&number) = self.rows.first() else { return };
        let text = &mut self.texts[number];
        if !text.is_on || report.accepted == 0 {
            return;
        }
        text.left(report.sequence);
        if self.in_flight == 0 {
            text.positions.moved_states(Some(report.sequence.position as usize));
        }
        let ids = &report.tokens[..DRAFT_ROWS.min(report.accepted as usize)];
        for &id in ids {
            text.take_in(id, None);
            if !text.is_on {
                break;
            }
        }
        text.drafts.iter_mut().for_each(|drafts| drafts.took_draft(ids, report.drafted as usize, now));
    }
}

#[cfg(test)]
mod tests {
    use super::super::drafting::Drafting;
    use super::*;
    use crate::kernels::pass::Sequence;

    /// Schedule for texts of up to `context` tokens. The text of the first one repeats one token.
    fn predicted(count: usize, context: usize) -> Schedule {
        let mut schedule = Schedule::new(count, context, 0);
        let mut drafts = Drafts::new(Drafting::Prompt, (&[], 0), &[5; 4]);
        drafts.read(&[5; 4], 0);
        while !drafts.is_on() {
            drafts.took(5, 0.0);
        }
        schedule.text(0).begin(5, 20);
        schedule.text(0).drafts = Some(drafts);
        schedule.text(0).ask();
        schedule
    }

    /// The report of a pass that leaves the text at `position`.
    fn report(ids: &[u32], position: u32) -> Report {
        let mut report = Report { accepted: ids.len() as u32, drafted: 7, ..Report::default() };
        report.tokens[..ids.len()].copy_from_slice(ids);
        report.sequence = Sequence { token: ids[ids.len() - 1], done: 0, steps: 9, position };
        report
    }

    fn tokens(schedule: &mut Schedule) -> Vec<u32> {
        std::iter::from_fn(|| schedule.take(0)).map(|drawn| drawn.expect("a token").0.id).collect()
    }

    #[test]
    fn a_pass_with_a_draft_gives_several_tokens() {
        let mut schedule = predicted(2, 100);
        assert!(schedule.lack_drafts());
        assert_eq!((schedule.begin_pass().rows.len(), schedule.form()), (1, Form::Rows(1)), "nothing is compiled yet");
        schedule.allow_drafts();
        assert!(!schedule.go_on() && !schedule.lack_drafts());
        (1..12).for_each(|_| schedule.text(0).ask());
        let pass = schedule.begin_pass();
        assert_eq!((schedule.form(), pass.header.rows, schedule.positions()), (Form::Draft, 8, 28));
        assert!(pass.rows.iter().zip(20..).all(|(row, at)| (row.token, row.position, row.flags) == (5, at, 0)));
        assert_eq!(schedule.text_of_draft().map(|words| words.len()), Some(2 + 4 + 2));
        let mut passes = 0;
        while schedule.is_due() {
            schedule.submitted();
            passes += 1;
        }
        assert_eq!((passes, schedule.text(0).positions.written()), (3, 44), "4 tokens of each are likely");
        schedule.received_draft(&report(&[5, 5, 6], 23), 0.0);
        assert_eq!((tokens(&mut schedule), schedule.text(0).next.position), (vec![5, 5, 6], 23));
        assert_eq!(schedule.positions(), 23 + 3 * 8, "two are in flight");
        schedule.text(1).begin(9, 3);
        schedule.text(1).ask();
        assert!(!schedule.go_on(), "another joins");
        schedule.forget_in_flight();
        assert_eq!((schedule.begin_pass().rows.len(), schedule.form()), (2, Form::Rows(2)));
    }

    #[test]
    fn a_pass_waits_for_the_draft_of_a_model() {
        let mut schedule = predicted(2, 100);
        let mut drafts = Drafts::new(Drafting::Model, (&[], 0), &[5; 19]).by_model(true);
        drafts.read(&[5; 19], 0);
        (0..2).for_each(|id| drafts.took(id, 0.0));
        schedule.text(0).drafts = Some(drafts);
        schedule.allow_drafts();
        assert_eq!(schedule.drafts_for(), None, "no model is there");
        schedule.draft_context = 60;
        assert_eq!(schedule.drafts_for(), Some((0, 1)));
        assert_eq!(schedule.text_before(0), Some(&[&[5; 19][..], &[0]].concat()[..]));
        (1..20).for_each(|_| schedule.text(0).ask());
        let pass = schedule.begin_pass();
        assert_eq!((schedule.form(), pass.header.rows, schedule.drafted_pass()), (Form::DraftOfModel, 8, [3, 28]));
        let drafted: Vec<u32> = pass.rows.iter().map(|row| row.flags).collect();
        assert_eq!(drafted, [0, 1, 1, 1, 1, 1, 1, 1], "none of the host's");
        schedule.submitted();
        assert_eq!(schedule.drafted_pass(), [3, 36]);
        schedule.received_draft(&report(&[5, 5, 6], 23), 0.0);
        assert_eq!(schedule.text_before(0).map(|text| text.len()), Some(23));
        assert_eq!((schedule.drafted_pass(), schedule.go_on()), ([3, 31], true));
        schedule.text(1).begin(9, 3);
        schedule.text(1).ask();
        assert_eq!((schedule.drafts_for(), schedule.go_on()), (None, false), "another joins");
    }

    #[test]
    fn a_model_drafts_within_its_own_context() {
        let mut schedule = predicted(1, 100);
        schedule.texts[0].drafts = schedule.texts[0].drafts.take().map(|drafts| drafts.by_model(true));
        schedule.allow_drafts();
        for (context, form) in [(28, Form::DraftOfModel), (27, Form::Rows(1))] {
            schedule.draft_context = context;
            assert_eq!(schedule.form_of(&[0]), form);
        }
    }

    #[test]
    fn drafts_stay_within_the_context() {
        let mut schedule = predicted(1, 30);
        schedule.allow_drafts();
        (0..9).for_each(|_| schedule.text(0).ask());
        schedule.begin_pass();
        assert!(schedule.is_due());
        schedule.submitted();
        assert!(!schedule.is_due(), "where the next begins is not known");
        schedule.received_draft(&report(&[5, 5], 22), 0.0);
        assert!(schedule.is_due(), "up to position 30");
        schedule.submitted();
        schedule.received_draft(&report(&[5], 23), 0.0);
        assert!(!schedule.go_on());
        assert_eq!((schedule.begin_pass().rows.len(), schedule.is_due()), (1, true));
    }

    #[test]
    fn what_comes_after_an_end_is_no_part_of_the_text() {
        let mut schedule = predicted(1, 100);
        schedule.allow_drafts();
        schedule.text(0).ends = vec![6];
        schedule.begin_pass();
        schedule.submitted();
        schedule.received_draft(&report(&[5, 6, 5], 23), 0.0);
        assert_eq!(tokens(&mut schedule), [5, 6]);
        assert!(schedule.members().is_empty());
    }
}
