//! The passes of a schedule with drafts, from the texts or by a drafter, for one text or several at once.

use super::drafts::Drafts;
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report, words_of};
use crate::kernels::pass::{ROW_DONE, Row};
use crate::model::Item;
use crate::runtime::passes::layout::Layout;
use crate::runtime::passes::round::Drafted;
use crate::runtime::passes::states;
use crate::runtime::plan::{Form, Plan};
use crate::runtime::schedule::Schedule;
use crate::runtime::text::Text;

impl Schedule {
    /// The form that the next pass of these texts should have, and how many rows each of them has there. The rows that
    /// are left are for drafts, as many for each: the first guess at a text is more often right than the fourth. One
    /// text alone says [how many rows](Drafts::rows) are worth their time.
    pub(in crate::runtime) fn shape_of(&self, members: &[usize]) -> (Form, Vec<usize>) {
        let mut widths = vec![1; members.len()];
        let drafting: Vec<usize> = self.drafting(members).filter(|_| self.has_drafts).collect();
        if drafting.is_empty() {
            return (Form::Rows(members.len()), widths);
        }
        let places = (0..members.len()).filter(|&at| drafting.contains(&members[at]));
        let rows = match members {
            [number] => self.texts[*number].drafts.as_ref().map_or(DRAFT_ROWS, Drafts::rows),
            _ => DRAFT_ROWS,
        };
        places.cycle().take(rows - members.len()).for_each(|at| widths[at] += 1);
        let has_draft_of_model = |&(number, width): &(&usize, &usize)| *width > 1 && self.is_of_model(*number);
        let form = match members.iter().zip(&widths).filter(has_draft_of_model).count() {
            0 => Form::Draft(rows),
            texts => Form::DraftOfModel { texts, rows },
        };
        (form, widths)
    }

    /// The texts among `members` that have a draft where these are together in a pass: a row must be left, and logits
    /// are read back of passes without drafts.
    fn drafting<'a>(&'a self, members: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let has_logits = |&other: &usize| self.texts[other].choosing.is_some_and(|of| of.logits);
        let may_draft = members.len() < DRAFT_ROWS && !members.iter().any(has_logits);
        members.iter().copied().filter(move |&number| may_draft && self.wants_drafts(number))
    }

    /// Tells the drafts of the texts what their passes are like now.
    pub(in crate::runtime) fn settle_drafts(&mut self) {
        let company = self.rows.len();
        for (&number, &width) in self.rows.iter().zip(&self.widths) {
            self.texts[number].drafts.iter_mut().for_each(|drafts| drafts.settle(company, width));
        }
    }

    fn is_of_model(&self, number: usize) -> bool {
        self.texts[number].drafts.as_ref().is_some_and(Drafts::is_of_model)
    }

    /// Whether the text's next pass should have a draft, for which there is room.
    fn wants_drafts(&self, number: usize) -> bool {
        self.has_room_for_draft(number) && self.texts[number].drafts.as_ref().is_some_and(Drafts::is_on)
    }

    fn has_room_for_draft(&self, number: usize) -> bool {
        let context = if self.is_of_model(number) { self.context.min(self.draft_context) } else { self.context };
        self.end_of(number) + DRAFT_ROWS <= context
    }

    /// Whether the next pass would have a draft if passes could have drafts.
    pub fn lack_drafts(&self) -> bool {
        !self.has_drafts && self.drafting(&self.members()).next().is_some()
    }

    /// Allows drafts in passes from now on.
    pub fn allow_drafts(&mut self) {
        self.has_drafts = true;
    }

    /// A row, followed by the draft of the next tokens: `width` rows.
    pub(in crate::runtime) fn with_draft(&self, first: Row, width: usize) -> Vec<Row> {
        if width == 1 {
            return vec![first];
        }
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
        [first].into_iter().chain((1..width).map(row)).collect()
    }

    /// Turns drafts off for the texts in the passes: memory for rows that may come to nothing is missing.
    pub fn give_up_drafts(&mut self) {
        if self.form.is_draft() {
            self.rows.iter().for_each(|&number| self.texts[number].drafts = None);
        }
    }

    /// Number of positions that each pass takes of a text, and maximum number of tokens that it gives for it.
    pub(in crate::runtime) fn width_of(&self, number: usize) -> usize {
        let place = self.rows.iter().position(|&other| other == number);
        place.and_then(|at| self.widths.get(at).copied()).unwrap_or(1)
    }

    /// Writes what the first pass with drafts needs beside its rows.
    pub(in crate::runtime) fn begin_drafts(&self, plan: &mut Plan<'_>, layout: Layout<'_>) {
        let text = layout.buffers.sample.drafts.text;
        for (number, words) in self.texts_of_drafts() {
            let offset = number * words_of(self.context) * size_of::<u32>();
            plan.write_at(text, offset as u64, bytemuck::cast_slice(&words));
        }
        self.rows.iter().for_each(|&number| states::keep_before_draft(plan, layout, number));
    }

    /// Keeps the states of texts in which a grammar may refuse a token of the next pass: they go back to its start.
    pub(in crate::runtime) fn keep_for_refusal(&mut self, plan: &mut Plan<'_>, layout: Layout<'_>) {
        for &number in self.rows.iter().filter(|_| self.form.is_draft()) {
            let text = &mut self.texts[number];
            if text.is_exact {
                states::keep(plan, layout, number, &mut text.positions);
            }
        }
    }

    /// The texts in which the GPU looks for drafts, by number, in the layout of their part of the buffer.
    pub fn texts_of_drafts(&self) -> Vec<(usize, Vec<u32>)> {
        let with_draft = self.rows.iter().zip(&self.widths).filter(|(_, width)| **width > 1);
        with_draft.filter_map(|(&at, _)| Some((at, self.texts[at].drafts.as_ref()?.words()))).collect()
    }

    /// The texts that a drafter is to draft for in the next pass, and how often each of them has stopped.
    pub fn drafts_for(&self) -> Vec<(usize, u32)> {
        let members = self.members();
        let (_, widths) = self.shape_of(&members);
        let rows = members.into_iter().zip(widths);
        let drafted = rows.filter(|&(number, width)| width > 1 && self.is_of_model(number));
        drafted.map(|(number, _)| (number, self.texts[number].version)).collect()
    }

    /// The text of a lane before its last token, which the draft model reads; `None` where it is not known.
    pub fn text_before(&self, number: usize) -> Option<&[u32]> {
        let Text { drafts, next, .. } = &self.texts[number];
        drafts.as_ref()?.text(next.position as usize)
    }

    /// What a drafter drafts for the next pass.
    pub(in crate::runtime) fn drafted(&self) -> Vec<Drafted> {
        let (mut drafted, mut start) = (Vec::new(), 0);
        for (&number, &width) in self.rows.iter().zip(&self.widths) {
            let rows = start..start + width;
            start = rows.end;
            let drafts = self.texts[number].drafts.as_ref().filter(|of| width > 1 && of.is_of_model());
            let steps = drafts.map(|drafts| drafts.steps().min(width - 1));
            drafted.extend(steps.map(|steps| Drafted { number, rows, steps, end: self.end_of(number) + width }));
        }
        drafted
    }

    /// Takes in the reports of the oldest pass in flight, which had drafts, one for each text. `now`: in milliseconds.
    pub fn received_drafts(&mut self, reports: &[Report], now: f64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        for ((&number, &width), report) in self.rows.iter().zip(&self.widths).zip(reports) {
            let text = &mut self.texts[number];
            if !text.is_on || report.accepted == 0 {
                continue;
            }
            text.left(report.sequence);
            if self.in_flight == 0 {
                text.positions.moved_states(Some(report.sequence.position as usize));
            }
            let ids = &report.tokens[..width.min(report.accepted as usize)];
            for &id in ids {
                text.take_in(id, None);
                if !text.is_on {
                    break;
                }
            }
            match &mut text.drafts {
                Some(drafts) if width > 1 => drafts.took_draft(ids, report.drafted as usize, now),
                Some(drafts) => ids.iter().for_each(|&id| drafts.took(id, now)),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drafting::Drafting;
    use super::*;
    use crate::kernels::pass::Sequence;
    use crate::runtime::session::Choosing;

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
        assert_eq!((schedule.form(), pass.header.rows, schedule.positions()), (Form::Draft(8), 8, 28));
        assert!(pass.rows.iter().zip(20..).all(|(row, at)| (row.token, row.position, row.flags) == (5, at, 0)));
        assert_eq!(schedule.texts_of_drafts().iter().map(|of| of.1.len()).collect::<Vec<_>>(), [2 + 4 + 2]);
        let mut passes = 0;
        while schedule.is_due() {
            schedule.submitted();
            passes += 1;
        }
        assert_eq!((passes, schedule.text(0).positions.written()), (3, 44), "4 tokens of each are likely");
        schedule.received_drafts(&[report(&[5, 5, 6], 23)], 0.0);
        assert_eq!((tokens(&mut schedule), schedule.text(0).next.position), (vec![5, 5, 6], 23));
        assert_eq!(schedule.positions(), 23 + 3 * 8, "two are in flight");
        schedule.text(1).begin(9, 3);
        schedule.text(1).ask();
        assert!(!schedule.go_on(), "another joins");
        schedule.forget_in_flight();
        assert_eq!(
            (schedule.begin_pass().rows.len(), schedule.form(), &schedule.widths[..]),
            (8, Form::Draft(8), &[7, 1][..])
        );
    }

    #[test]
    fn texts_in_one_pass_have_drafts_side_by_side() {
        let mut schedule = predicted(4, 100);
        schedule.allow_drafts();
        for number in 1..4 {
            schedule.text(number).begin(9, 3);
            (0..40).for_each(|_| schedule.text(number).ask());
        }
        (0..40).for_each(|_| schedule.text(0).ask());
        // One of four has drafts.
        let pass = schedule.begin_pass();
        assert_eq!((schedule.form(), &schedule.widths[..], pass.header.rows), (Form::Draft(8), &[5, 1, 1, 1][..], 8));
        let of = |row: &Row| (row.sequence, row.position);
        let rows: Vec<_> = pass.rows.iter().map(of).collect();
        assert_eq!(rows, [(0, 20), (0, 21), (0, 22), (0, 23), (0, 24), (1, 3), (2, 3), (3, 3)]);
        schedule.submitted();
        assert_eq!(schedule.positions(), 30, "the next pass takes five more");
        let ended = Report { accepted: 0, ..Report::default() };
        schedule.received_drafts(&[report(&[5, 5, 5], 23), report(&[8], 4), ended, report(&[8], 4)], 0.0);
        assert_eq!([0, 1, 2, 3].map(|number| schedule.text(number).inbox.len()), [3, 1, 0, 1]);
        // Another one gets as many rows.
        let again = predicted(4, 100).texts.swap_remove(0).drafts;
        schedule.text(2).drafts = again;
        assert!(!schedule.go_on());
        schedule.forget_in_flight();
        schedule.begin_pass();
        assert_eq!(schedule.widths, [3, 1, 3, 1]);
        assert_eq!(schedule.texts_of_drafts().iter().map(|of| of.0).collect::<Vec<_>>(), [0, 2]);
        // Logits are read back of passes without drafts.
        schedule.text(3).choosing = Some(Choosing { logits: true, ..Choosing::default() });
        assert_eq!((schedule.shape_of(&[0, 2, 3]).0, schedule.shape_of(&[0, 2]).0), (Form::Rows(3), Form::Draft(8)));
    }

    #[test]
    fn eight_texts_leave_no_row_for_drafts() {
        let mut schedule = predicted(8, 100);
        schedule.allow_drafts();
        for number in 1..8 {
            schedule.text(number).begin(9, 3);
            schedule.text(number).ask();
        }
        schedule.begin_pass();
        assert_eq!((schedule.form(), &schedule.widths), (Form::Rows(8), &vec![1; 8]));
        schedule.text(7).stop();
        schedule.forget_in_flight();
        schedule.begin_pass();
        assert_eq!((schedule.form(), &schedule.widths), (Form::Draft(8), &vec![2, 1, 1, 1, 1, 1, 1]));
    }

    #[test]
    fn a_pass_waits_for_the_draft_of_a_model() {
        let mut schedule = predicted(2, 100);
        schedule.text(0).drafts = Some(of_model());
        schedule.allow_drafts();
        assert_eq!(schedule.drafts_for(), [], "no model is there");
        schedule.draft_context = 60;
        assert_eq!(schedule.drafts_for(), [(0, 1)]);
        assert_eq!(schedule.text_before(0), Some(&[&[5; 19][..], &[0]].concat()[..]));
        (1..20).for_each(|_| schedule.text(0).ask());
        let pass = schedule.begin_pass();
        let round = |end| [Drafted { number: 0, rows: 0..4, steps: 3, end }];
        assert_eq!((schedule.form(), pass.header.rows), (Form::DraftOfModel { texts: 1, rows: 4 }, 4));
        assert_eq!(schedule.drafted(), round(24));
        let drafted: Vec<u32> = pass.rows.iter().map(|row| row.flags).collect();
        assert_eq!(drafted, [0, 1, 1, 1], "none of the host's");
        schedule.submitted();
        assert_eq!(schedule.drafted(), round(28));
        schedule.received_drafts(&[report(&[5, 5, 6], 23)], 0.0);
        assert_eq!(schedule.text_before(0).map(|text| text.len()), Some(23));
        assert_eq!((schedule.drafted(), schedule.go_on()), (round(27).into(), true));
        schedule.text(1).begin(9, 3);
        schedule.text(1).ask();
        assert_eq!((schedule.drafts_for(), schedule.go_on()), (vec![(0, 1)], false), "another joins");
    }

    /// Drafts of a model that have begun, of a text of 20 tokens.
    fn of_model() -> Drafts {
        let mut drafts = Drafts::new(Drafting::Model, (&[], 0), &[5; 19]).by_model(true);
        drafts.read(&[5; 19], 0);
        (0..2).for_each(|id| drafts.took(id, 0.0));
        drafts
    }

    #[test]
    fn a_model_drafts_for_several_texts_beside_drafts_from_a_text() {
        let mut schedule = predicted(4, 100);
        schedule.draft_context = 60;
        schedule.allow_drafts();
        for number in 1..4 {
            schedule.text(number).begin(9, 10 * number);
            schedule.text(number).ask();
        }
        [1, 3].into_iter().for_each(|number| schedule.text(number).drafts = Some(of_model()));
        assert_eq!(schedule.drafts_for(), [(1, 1), (3, 1)]);
        schedule.begin_pass();
        assert_eq!(
            (schedule.form(), &schedule.widths[..]),
            (Form::DraftOfModel { texts: 2, rows: 8 }, &[3, 2, 1, 2][..])
        );
        let of = |number, rows, end| Drafted { number, rows, steps: 1, end };
        assert_eq!(schedule.drafted(), [of(1, 3..5, 12), of(3, 6..8, 32)]);
        schedule.text(3).begin(9, 53);
        schedule.forget_in_flight();
        assert_eq!(schedule.drafts_for(), [(1, 1)], "the model's own context has no room");
    }

    #[test]
    fn a_model_drafts_within_its_own_context() {
        let mut schedule = predicted(1, 100);
        schedule.texts[0].drafts = schedule.texts[0].drafts.take().map(|drafts| drafts.by_model(true));
        schedule.allow_drafts();
        for (context, form) in [(28, Form::DraftOfModel { texts: 1, rows: 4 }), (27, Form::Rows(1))] {
            schedule.draft_context = context;
            assert_eq!(schedule.shape_of(&[0]).0, form);
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
        schedule.received_drafts(&[report(&[5, 5], 22)], 0.0);
        assert!(schedule.is_due(), "up to position 30");
        schedule.submitted();
        schedule.received_drafts(&[report(&[5], 23)], 0.0);
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
        schedule.received_drafts(&[report(&[5, 6, 5], 23)], 0.0);
        assert_eq!(tokens(&mut schedule), [5, 6]);
        assert!(schedule.members().is_empty());
    }
}
