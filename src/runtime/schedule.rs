//! Continuous batching: which texts are in the next decode pass, and what is to be done for it.
//!
//! A decode pass has a row for each text whose request wants tokens. As long as these texts stay the same, passes
//! follow each other without the host. Where texts join or leave, what is in flight is read back first, and the pass is
//! written anew. Everything here is a decision: [`Schedule::next`] returns a plan, or says what must be there before.
//! The loop that acts is in `drive.rs`.

use std::rc::Rc;

use super::draft::Drafter;
use super::draft::drafts::Drafts;
use super::gpu::adapters::GpuAdapter;
use super::passes::decode::{Decode, decode, write_ends};
use super::passes::layout::Layout;
use super::passes::round::{Drafted, end_of};
use super::passes::states;
use super::plan::{Form, Plan};
use super::session::Choosing;
use super::text::{Drawn, Text, Write};
use crate::Error;
use crate::kernels::pass::{Header, Pass, Row, Sequence};

/// Maximum number of tokens of a text that nobody has asked for yet. Passes then go on without the text.
const MOST_AHEAD: usize = 32;

/// What the schedule must know of a session.
pub struct Facts<'a> {
    pub layout: Layout<'a>,
    /// Number of passes in flight.
    pub in_flight: usize,
    /// Whether one more pass may be in flight, without logits and with them.
    pub has_free: [bool; 2],
    /// Whether the lists for passes of a form are recorded.
    pub has_form: &'a dyn Fn(Form) -> bool,
    /// How far the pipelines of passes with drafts are compiled.
    pub drafts: Compiled,
    /// What drafts on the GPU, if anything does.
    pub drafter: Option<&'a dyn Drafter>,
}

/// How far pipelines are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiled {
    No,
    UnderWay,
    Yes,
}

/// What comes next.
pub enum Next {
    /// A pass, to be executed.
    Execute(Plan<'static>),
    /// Something that must be there before.
    Needs(Needs),
}

/// What must be there before the next pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The answer of the oldest pass in flight.
    Answer,
    /// A pass with other rows: what they read must be there, and [`Schedule::start`] writes it.
    Start,
    /// Room for this many positions.
    Room(usize),
    /// Lists for passes of this form.
    Lists(Form),
    /// The pipelines of passes with drafts, which are compiled while tokens come without.
    Drafts,
}

/// The texts of a session, and its decode passes in flight.
pub struct Schedule {
    pub(super) texts: Vec<Text>,
    pub(super) context: usize,
    /// Numbers of the texts of the passes in flight, in the order of their rows.
    pub(super) rows: Vec<usize>,
    /// How many rows of the passes each of these texts has: its last token, and a draft of those after it.
    pub(super) widths: Vec<usize>,
    /// Number of passes in flight.
    pub(super) in_flight: usize,
    pub(super) form: Form,
    /// Whether passes can have drafts.
    pub(super) has_drafts: bool,
    /// Number of positions that the cache of the drafter can have; 0 without one.
    pub draft_context: usize,
    /// Whether the layers of the next pass are submitted already, without the kernels that choose a token.
    pub started: bool,
}

impl Schedule {
    /// Makes a schedule of this many texts of up to `context` tokens, with slots for `copies` checkpoints each.
    pub fn new(count: usize, context: usize, copies: usize) -> Self {
        Self {
            texts: (0..count).map(|_| Text::new(copies)).collect(),
            context,
            rows: Vec::new(),
            widths: Vec::new(),
            in_flight: 0,
            form: Form::Rows(0),
            has_drafts: false,
            draft_context: 0,
            started: false,
        }
    }

    /// What comes next for the texts that want tokens.
    pub fn next(&mut self, facts: &Facts<'_>) -> Next {
        if self.lack_drafts() {
            match facts.drafts {
                Compiled::No => return Next::Needs(Needs::Drafts),
                Compiled::UnderWay => {}
                Compiled::Yes => self.allow_drafts(),
            }
        }
        if !self.go_on() {
            let is_read_first = facts.in_flight > 0 && self.is_wanted();
            return Next::Needs(if is_read_first { Needs::Answer } else { Needs::Start });
        }
        let (form, positions, drafted) = (self.form, self.positions(), self.drafted());
        let drafter = facts.drafter.filter(|_| !drafted.is_empty());
        if !self.is_due() || !facts.has_free[usize::from(self.choosing().logits)] {
            return Next::Needs(Needs::Answer);
        }
        if positions > facts.layout.buffers.room.allocated || drafter.is_some_and(|of| !of.has_room(end_of(&drafted))) {
            return Next::Needs(Needs::Room(positions));
        }
        if !(facts.has_form)(form) || drafter.is_some_and(|of| !of.has_lists(drafted.len())) {
            return Next::Needs(Needs::Lists(form));
        }
        Next::Execute(self.decode(facts.layout, drafter, &drafted))
    }

    /// Writes the pass of the texts that should be in it.
    pub fn start(&mut self, layout: Layout<'_>) -> Plan<'static> {
        let pass = self.begin_pass();
        let mut plan = Plan::default();
        write_ends(&mut plan, layout, &self.ends());
        plan.write(layout.buffers.pass, pass.bytes());
        if self.form.is_draft() {
            self.begin_drafts(&mut plan, layout);
        }
        plan
    }

    /// A pass over the rows on the GPU.
    fn decode(&mut self, layout: Layout<'_>, drafter: Option<&dyn Drafter>, drafted: &[Drafted]) -> Plan<'static> {
        let mut plan = Plan::default();
        for Write { part, bytes, .. } in self.take_writes() {
            plan.write(part, bytes);
        }
        self.keep_for_refusal(&mut plan, layout);
        if let Some(drafter) = drafter {
            drafter.draft(&mut plan, layout, (self.form.rows(), drafted));
        }
        let started = std::mem::take(&mut self.started);
        decode(&mut plan, layout, Decode { form: self.form, choosing: self.choosing(), started });
        if self.form.is_draft() {
            states::replay(&mut plan, layout, (self.form, &self.rows));
        }
        for number in self.submitted() {
            states::keep(&mut plan, layout, number, &mut self.texts[number].positions);
        }
        plan
    }

    /// Number of positions of the longest text in the caches.
    pub fn written(&self) -> usize {
        self.texts.iter().map(|text| text.positions.written()).max().unwrap_or(0)
    }

    /// The text with this number.
    pub fn text(&mut self, number: usize) -> &mut Text {
        &mut self.texts[number]
    }

    /// Numbers of the texts that should be in the next pass. A text that is in the passes now stays, even with enough
    /// tokens, since each change takes a wait.
    pub fn members(&self) -> Vec<usize> {
        let mut members = Vec::new();
        for (number, text) in self.texts.iter().enumerate() {
            let ahead = self.ahead(number);
            let stays = !text.is_exact && self.rows.contains(&number) && ahead < MOST_AHEAD;
            let fits = self.end_of(number) < self.context;
            if text.is_on && fits && (stays || text.wanted > ahead) {
                members.push(number);
            }
        }
        members
    }

    /// Whether the next pass can follow those in flight without being written anew.
    pub fn go_on(&self) -> bool {
        let members = self.members();
        if self.rows != members || self.rows.iter().any(|&at| self.texts[at].waits) {
            return false;
        }
        let (form, widths) = self.shape_of(&members);
        self.form == form && self.widths == widths
    }

    /// The position after those that the passes in flight write.
    pub(in crate::runtime) fn end_of(&self, number: usize) -> usize {
        self.texts[number].next.position as usize + self.in_flight_of(number) * self.width_of(number)
    }

    /// Whether one more pass should be submitted.
    pub fn is_due(&self) -> bool {
        self.go_on() && self.rows.iter().any(|&number| self.texts[number].wanted > self.ahead(number))
    }

    /// Whether a pass in flight has a token for this text.
    pub fn is_coming(&self, number: usize) -> bool {
        self.in_flight_of(number) > 0
    }

    /// Puts the texts that should be in it into a new pass, and returns that. Nothing may be in flight.
    pub(super) fn begin_pass(&mut self) -> Pass {
        debug_assert_eq!(self.in_flight, 0, "what is in flight has other rows");
        (self.rows, self.widths) = (self.members(), Vec::new());
        (self.form, self.widths) = self.shape_of(&self.rows);
        self.settle_drafts();
        let row = |&number: &usize| {
            let Sequence { token, position, .. } = self.texts[number].next;
            Row { token, position, sequence: number as u32, flags: 0 }
        };
        let of_text = |(number, &width)| self.with_draft(row(number), width);
        let rows: Vec<Row> = self.rows.iter().zip(&self.widths).flat_map(of_text).collect();
        let mut pass = Pass::decode(&rows);
        for &number in &self.rows {
            let text = &mut self.texts[number];
            text.waits = false;
            pass.header.sequences[number] = text.next;
        }
        pass
    }

    /// Begins a text that was read including its last token, at `position`. That token's first decode pass is
    /// among the `in_flight` ones, and the passes that follow find its row written.
    pub fn begin_within(&mut self, number: usize, position: usize, in_flight: usize) {
        let text = &mut self.texts[number];
        text.begin(0, position);
        text.sent = in_flight;
        (self.rows, self.widths) = (vec![number], vec![1]);
        (self.in_flight, self.form) = (in_flight, Form::Rows(1));
    }

    /// Whether passes in flight have tokens that somebody waits for.
    pub fn is_wanted(&self) -> bool {
        self.rows.iter().any(|&number| self.texts[number].is_on && !self.texts[number].waits)
    }

    /// The last token of each row.
    pub fn tokens(&self) -> Vec<u32> {
        self.rows.iter().map(|&number| self.texts[number].next.token).collect()
    }

    /// The adapters of all rows.
    pub fn adapters_of_pass(&self) -> Vec<Rc<GpuAdapter>> {
        let of_rows = self.rows.iter().flat_map(|&number| &self.texts[number].adapters);
        of_rows.map(|(adapter, ..)| adapter.clone()).collect()
    }

    /// The ids that end all texts in the passes: those at which the GPU may stop.
    pub fn ends(&self) -> Vec<u32> {
        let mut of_rows = self.rows.iter().map(|&number| &self.texts[number].ends);
        let mut ends = of_rows.next().cloned().unwrap_or_default();
        of_rows.for_each(|others| ends.retain(|id| others.contains(id)));
        ends
    }

    /// Takes the data that must be written before the next pass.
    pub fn take_writes(&mut self) -> Vec<Write> {
        self.rows.iter().flat_map(|&number| self.texts[number].take_due_writes()).collect()
    }

    /// What the rows of the passes are.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Number of positions that the caches need for one more pass.
    pub fn positions(&self) -> usize {
        let end = |&number: &usize| self.end_of(number) + self.width_of(number);
        self.rows.iter().map(end).max().unwrap_or(0)
    }

    /// How the tokens of all rows are chosen at once: with all that any of the texts needs.
    pub fn choosing(&self) -> Choosing {
        let mut all = Choosing { greedy: true, biased: false, logits: false };
        for &number in &self.rows {
            let Some(of) = self.texts[number].choosing else { continue };
            all.greedy &= of.greedy;
            all.biased |= of.biased;
            all.logits |= of.logits;
        }
        all
    }

    /// Notes that one more pass is in flight. Returns the texts whose recurrent states should be copied behind it.
    pub fn submitted(&mut self) -> Vec<usize> {
        let passes = self.in_flight + 1;
        for (&number, &width) in self.rows.iter().zip(&self.widths) {
            let text = &mut self.texts[number];
            let next = text.next.position as usize + passes * width;
            text.positions.advance_to(next);
            text.positions.moved_states((!self.form.is_draft()).then_some(next));
            text.sent += 1;
        }
        self.in_flight += 1;
        self.rows.iter().copied().filter(|&number| self.texts[number].positions.is_copy_due()).collect()
    }

    /// Takes in the oldest pass in flight: how it left the sequences, and the logits of its rows, if read back. `now`
    /// is in milliseconds.
    pub fn received(&mut self, header: &Header, logits: Option<&[f32]>, now: f64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let of_row =
            |index| logits.map(|all| &all[index * (all.len() / self.rows.len())..][..all.len() / self.rows.len()]);
        for (index, &number) in self.rows.iter().enumerate() {
            let text = &mut self.texts[number];
            if !text.is_on || text.waits {
                continue;
            }
            let wants_logits = text.choosing.is_some_and(|of| of.logits);
            let left = header.sequences[number];
            text.left(left);
            if !text.waits {
                text.take_in(left.token, of_row(index).filter(|_| wants_logits).map(<[f32]>::to_vec));
                text.drafts.iter_mut().for_each(|drafts| drafts.took(left.token, now));
            }
        }
    }

    /// Notes that nothing is in flight any more.
    pub fn forget_in_flight(&mut self) {
        self.in_flight = 0;
    }

    /// Notes that the pass is overwritten. Texts that go on get a row in the next one.
    pub fn leave_pass(&mut self) {
        self.rows.clear();
        self.widths.clear();
        self.in_flight = 0;
    }

    /// Ends the texts that are on with an error, if their next position is `positions` or more.
    pub fn fail(&mut self, error: &Error, positions: usize) {
        for text in self.texts.iter_mut().filter(|text| text.is_on && text.next.position as usize >= positions) {
            text.is_on = false;
            text.error = Some(error.clone());
        }
    }

    /// Drops what is in flight, which an error has ended, and ends all texts that are on with that error.
    pub fn lose(&mut self, error: &Error) {
        self.fail(error, 0);
        self.leave_pass();
    }

    /// Whether [`Schedule::take`] would return something.
    pub fn has_news(&self, number: usize) -> bool {
        self.texts[number].has_token() || self.texts[number].error.is_some()
    }

    /// Takes the oldest token of a text, or else the error that ended it.
    pub fn take(&mut self, number: usize) -> Option<Result<Drawn, Error>> {
        let text = &mut self.texts[number];
        let Some(drawn) = text.inbox.pop_front() else { return text.error.take().map(Err) };
        text.wanted = text.wanted.saturating_sub(1);
        Some(Ok(drawn))
    }

    /// Ends a text. Returns how many tokens its cache holds.
    pub fn rest(&mut self, number: usize) -> usize {
        let text = &mut self.texts[number];
        text.stop();
        (text.is_exact, text.error) = (false, None);
        text.next.position as usize
    }

    fn in_flight_of(&self, number: usize) -> usize {
        if self.rows.contains(&number) { self.in_flight } else { 0 }
    }

    /// Number of tokens of a text that nobody has taken yet, including those in flight: with drafts, as many as are
    /// likely.
    fn ahead(&self, number: usize) -> usize {
        let text = &self.texts[number];
        let width = self.width_of(number);
        let of_pass = text.drafts.as_ref().filter(|_| width > 1).map_or(1, Drafts::likely).min(width);
        match text.inbox.len() + self.in_flight_of(number) * of_pass {
            1.. if text.is_exact => usize::MAX,
            ahead => ahead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::pass::WAITING;
    use crate::kernels::spec::Slice;

    /// This many schedule without recurrent states, for texts of up to `context` tokens.
    fn empty(count: usize, context: usize) -> Schedule {
        Schedule::new(count, context, 0)
    }

    /// Begins a lane whose prompt of `prompt` tokens is read.
    fn begin(schedule: &mut Schedule, number: usize, prompt: usize) {
        schedule.text(number).begin(100 * number as u32, prompt - 1);
        schedule.text(number).ask();
    }

    /// Does what a GPU would: the token after each row is its successor.
    fn run(pass: &mut Pass) {
        for row in &mut pass.rows {
            (row.token, row.position) = (row.token + 1, row.position + 1);
            let steps = pass.header.sequences[row.sequence as usize].steps + 1;
            pass.header.sequences[row.sequence as usize] =
                Sequence { token: row.token, done: 0, steps, position: row.position };
        }
    }

    /// Submits the passes that are due, and reads them; returns how many these were.
    fn go(schedule: &mut Schedule) -> usize {
        let mut pass = schedule.begin_pass();
        let mut headers = Vec::new();
        while schedule.is_due() {
            run(&mut pass);
            schedule.submitted();
            headers.push(pass.header);
        }
        headers.iter().for_each(|header| schedule.received(header, None, 0.0));
        headers.len()
    }

    fn tokens(schedule: &mut Schedule, number: usize) -> Vec<u32> {
        std::iter::from_fn(|| schedule.take(number)).map(|drawn| drawn.expect("a token").0.id).collect()
    }

    #[test]
    fn passes_are_as_many_as_one_lane_wants() {
        let mut schedule = empty(4, 64);
        begin(&mut schedule, 1, 5);
        begin(&mut schedule, 3, 9);
        schedule.text(3).wanted = 4;
        assert_eq!((schedule.members(), go(&mut schedule)), (vec![1, 3], 4));
        assert_eq!(
            [1, 3].map(|text| tokens(&mut schedule, text)),
            [vec![101, 102, 103, 104], vec![301, 302, 303, 304]]
        );
        assert_eq!((schedule.text(1).next.position, schedule.text(3).next.position), (8, 12));
        assert_eq!((schedule.text(1).positions.written(), schedule.text(3).positions.written()), (8, 12));
    }

    #[test]
    fn a_lane_that_nobody_reads_waits() {
        let mut schedule = empty(2, 1000);
        begin(&mut schedule, 0, 1);
        begin(&mut schedule, 1, 1);
        let mut read = 0;
        for _ in 0..200 {
            schedule.text(0).wanted = 1;
            go(&mut schedule);
            read += tokens(&mut schedule, 0).len();
        }
        assert_eq!((read, schedule.members()), (200, vec![0]));
        assert_eq!(tokens(&mut schedule, 1), (101..101 + MOST_AHEAD as u32).collect::<Vec<_>>());
        schedule.text(1).wanted = 1;
        assert_eq!((schedule.members(), go(&mut schedule), tokens(&mut schedule, 1)), (vec![0, 1], 1, vec![133]));
    }

    /// The first bytes of what is written before the next pass, which is then submitted.
    fn sends(schedule: &mut Schedule) -> Vec<u8> {
        let written = schedule.take_writes().iter().map(|write| write.bytes[0]).collect();
        schedule.submitted();
        written
    }

    #[test]
    fn what_was_written_before_passes_that_did_nothing_is_written_again() {
        let mut schedule = empty(2, 64);
        let part = Slice::from(crate::kernels::spec::BufferId(0));
        schedule.text(1).begin(3, 8);
        for byte in 1..4 {
            schedule.text(1).write(part, vec![byte]);
            schedule.text(1).ask();
        }
        let mut pass = schedule.begin_pass();
        assert_eq!([0; 3].map(|_| sends(&mut schedule)), [[1], [2], [3]]);
        run(&mut pass);
        schedule.received(&pass.header, None, 0.0);
        // The second pass lacks a row of a table, and so do those behind it.
        pass.header.sequences[1].done = WAITING;
        (0..2).for_each(|_| schedule.received(&pass.header, None, 0.0));
        schedule.begin_pass();
        assert_eq!([0; 3].map(|_| sends(&mut schedule)), [vec![2], vec![3], vec![]]);
        pass.header.sequences[1].done = 0;
        (0..2).for_each(|_| schedule.received(&pass.header, None, 0.0));
        assert!(schedule.text(1).written.is_empty());
        schedule.forget_in_flight();
        schedule.text(1).begin(3, 8);
        schedule.text(1).write(part, vec![7]);
        schedule.text(1).ask();
        schedule.begin_pass();
        assert_eq!(sends(&mut schedule), [7], "of another run nothing is left");
    }

    #[test]
    fn a_text_ends_at_its_own_tokens_and_at_the_context() {
        let mut schedule = empty(2, 8);
        begin(&mut schedule, 0, 2);
        begin(&mut schedule, 1, 5);
        schedule.text(0).ends = vec![3, 103];
        schedule.text(1).wanted = 9;
        // The passes take positions 4 to 7.
        assert_eq!(go(&mut schedule), 4);
        assert_eq!(tokens(&mut schedule, 0), [1, 2, 3], "nothing of it after its end");
        assert_eq!(tokens(&mut schedule, 1), [101, 102, 103, 104], "which ends the other alone");
        assert_eq!(schedule.members(), [0; 0]);
        assert_eq!(schedule.rest(0), 4, "tokens before its end are cached");
    }

    #[test]
    fn a_lane_that_cannot_go_back_is_in_a_pass_for_each_token_that_is_wanted() {
        let mut schedule = empty(2, 64);
        begin(&mut schedule, 0, 1);
        begin(&mut schedule, 1, 1);
        (schedule.text(0).wanted, schedule.text(1).is_exact) = (3, true);
        assert_eq!(go(&mut schedule), 1, "the next pass has other rows");
        assert_eq!((schedule.members(), go(&mut schedule)), (vec![0], 2));
        assert_eq!((tokens(&mut schedule, 0), tokens(&mut schedule, 1)), (vec![1, 2, 3], vec![101]));
    }

    /// The data written before each of the passes that are due.
    fn written(schedule: &mut Schedule) -> Vec<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        while schedule.is_due() {
            all.push(schedule.take_writes().into_iter().map(|write| write.bytes).collect());
            schedule.submitted();
        }
        all
    }

    #[test]
    fn a_mask_is_for_the_passes_that_are_asked_for_after_it() {
        let mut schedule = empty(2, 64);
        let part = Slice::from(crate::kernels::spec::BufferId(0));
        schedule.text(1).write(part, vec![1]);
        begin(&mut schedule, 0, 1);
        begin(&mut schedule, 1, 9);
        schedule.text(0).wanted = 4;
        schedule.text(1).write(part, vec![2]);
        schedule.text(1).ask();
        schedule.begin_pass();
        assert_eq!(written(&mut schedule), [vec![vec![1]], vec![vec![2]], vec![], vec![]]);
        // The lane's tokens are refused while they are in flight, and it starts anew.
        schedule.text(1).steps = 7;
        schedule.text(1).write(part, vec![3]);
        schedule.text(1).stop();
        assert!(!schedule.go_on());
        let mut late = Header::default();
        late.sequences[1] = Sequence { token: 9, done: 0, steps: 4, position: 12 };
        (0..4).for_each(|_| schedule.received(&late, None, 0.0));
        schedule.leave_pass();
        schedule.text(1).begin(5, 10);
        schedule.text(1).ask();
        assert!(!schedule.has_news(1), "what was refused is nobody's");
        assert_eq!(schedule.begin_pass().header.sequences[1], Sequence { token: 5, done: 0, steps: 7, position: 10 });
        assert_eq!(written(&mut schedule)[0], [vec![3]]);
    }

    #[test]
    fn a_lane_that_waits_for_a_row_goes_on_from_where_it_was() {
        let mut schedule = empty(2, 64);
        begin(&mut schedule, 0, 1);
        begin(&mut schedule, 1, 5);
        (0..2).for_each(|_| schedule.text(1).ask());
        schedule.begin_pass();
        assert_eq!(written(&mut schedule).len(), 3);
        let mut header = Header::default();
        header.sequences[0] = Sequence { token: 1, done: 0, steps: 1, position: 1 };
        header.sequences[1] = Sequence { token: 33, done: WAITING, steps: 2, position: 5 };
        (0..3).for_each(|_| schedule.received(&header, None, 0.0));
        assert_eq!((tokens(&mut schedule, 0), schedule.has_news(1)), (vec![1, 1, 1], false));
        assert!(!schedule.go_on() && schedule.members() == [0, 1] && schedule.text(1).positions.next() == 5);
        let again = schedule.begin_pass();
        assert_eq!((again.rows[1].token, again.rows[1].position), (33, 5));
        assert_eq!(again.header.sequences[1], Sequence { token: 33, done: 0, steps: 2, position: 5 });
        assert_eq!((schedule.tokens(), schedule.is_due()), (vec![1, 33], true));
    }

    #[test]
    fn states_stay_at_the_end_of_a_text() {
        let mut schedule = Schedule::new(2, 200, 2);
        begin(&mut schedule, 0, 10);
        begin(&mut schedule, 1, 80);
        schedule.text(0).ends = vec![7, 8];
        schedule.text(1).ends = vec![8, 9];
        (1..70).for_each(|_| schedule.text(0).ask());
        schedule.begin_pass();
        assert_eq!(schedule.ends(), [8], "which the GPU may stop both at");
        let due: Vec<_> = (0..70).map(|_| schedule.submitted()).collect();
        assert_eq!(due[0], [1], "the first 64 tokens have no copy");
        assert_eq!(due[54], [0, 1], "whoever has gone on so far");
        let mut header = Header::default();
        header.sequences[0] = Sequence { token: 8, done: 1, steps: 1, position: 12 };
        header.sequences[1] = Sequence { token: 3, done: 0, steps: 1, position: 80 };
        schedule.received(&header, None, 0.0);
        assert_eq!((schedule.rest(0), schedule.text(0).positions.rewind(12, usize::MAX)), (12, (12, None)));
        assert_eq!(
            (schedule.rest(1), schedule.text(1).positions.rewind(80, usize::MAX)),
            (80, (0, None)),
            "passes in flight went on"
        );
    }

    #[test]
    fn what_is_in_flight_of_a_text_that_is_over_is_nobodys() {
        let mut schedule = empty(2, 64);
        begin(&mut schedule, 0, 1);
        begin(&mut schedule, 1, 7);
        let mut pass = schedule.begin_pass();
        run(&mut pass);
        schedule.submitted();
        assert!(schedule.is_coming(1) && !schedule.is_due());
        assert_eq!(schedule.rest(1), 6, "the last token of the prompt has not come through");
        schedule.received(&pass.header, None, 0.0);
        assert!(!schedule.has_news(1) && schedule.has_news(0) && !schedule.go_on());
        let error = Error::invalid_argument("a reason");
        schedule.fail(&error, 1);
        assert_eq!(
            schedule.take(0).map(|drawn| drawn.map(|(token, _)| token.id)),
            Some(Ok(1)),
            "first what came before"
        );
        assert!(matches!(schedule.take(0), Some(Err(found)) if found == error));
        assert!(schedule.take(0).is_none() && schedule.take(1).is_none());
    }
}
