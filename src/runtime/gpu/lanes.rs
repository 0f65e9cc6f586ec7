//! Requests that share the passes of one session. Each has a *lane*: a sequence with its own cache and sampler. A
//! request that is alone has one, too.
//!
//! A decode pass has a row for each lane whose request wants tokens. As long as these lanes stay the same, passes
//! follow each other without the host. Where lanes join or leave, what is in flight is read back first, and the pass is
//! written anew. This file decides which lanes are in the next pass; `lane_passes.rs` runs it.

use std::collections::VecDeque;
use std::rc::Rc;

use super::drafts::Drafts;
use super::lane_drafts::Form;
use crate::Error;
use crate::kernels::pass::{Header, Pass, Row, Sequence, WAITING};
use crate::kernels::spec::Slice;
use crate::runtime::session::{Choosing, Token};

/// Maximum number of tokens of a lane that nobody has asked for yet. Passes then go on without the lane.
const MOST_AHEAD: usize = 32;

/// A token and, if wanted, the logits that it was chosen from.
pub type Drawn = (Token, Option<Vec<f32>>);

/// Data to write into a lane's part of a buffer.
#[derive(Debug)]
pub struct Write {
    /// Number of the lane's passes since [`Lane::begin`] that must be submitted before the write.
    after: usize,
    pub part: Slice,
    pub bytes: Vec<u8>,
}

/// The state of one request.
#[derive(Debug, Default)]
pub struct Lane {
    /// Whether the prompt is read and the text goes on.
    pub is_on: bool,
    /// Whether no token may be drawn that nobody has asked for, since it could not be taken back.
    pub is_exact: bool,
    /// Number of tokens that were asked for and not taken yet.
    pub wanted: usize,
    /// The state that the lane's next row starts from: its last token, which the cache lacks, and its position. Passes
    /// in flight are not counted.
    pub next: Sequence,
    /// Number of answer tokens before the token that is chosen first when the lane begins.
    pub steps: u32,
    /// Positions and checkpoints of the lane's text in the cache.
    pub text: Rc<crate::runtime::sequence::Sequence>,
    /// The checkpoint that the recurrent states must be restored from before anything is read.
    pub restores: Option<usize>,
    /// How the lane's tokens are chosen.
    pub choosing: Option<Choosing>,
    /// Ids that end the text.
    pub ends: Vec<u32>,
    /// A number that changes whenever the lane stops: what was read before may be gone then.
    pub version: u32,
    /// Decides when the lane's passes have drafts; `None` where they never do.
    pub drafts: Option<Drafts>,
    /// Whether the GPU waits for the table row of the lane's last token.
    waits: bool,
    /// Number of tokens asked for, and of passes submitted for the lane, since it began.
    asked: usize,
    sent: usize,
    writes: VecDeque<Write>,
    inbox: VecDeque<Drawn>,
    error: Option<Error>,
}

impl Lane {
    /// Notes that the cache holds the tokens before `position`.
    pub fn has_read(&mut self, position: usize) {
        self.next.position = position as u32;
    }

    /// Begins decode passes with `token`, after the tokens before `position` were read. Tokens of earlier passes are
    /// dropped.
    pub fn begin(&mut self, token: u32, position: usize) {
        self.stop();
        self.next = Sequence { token, done: 0, steps: self.steps, position: position as u32 };
        (self.is_on, self.asked, self.sent) = (true, 0, 0);
        self.writes.iter_mut().for_each(|write| write.after = 0);
    }

    /// Asks for one more token.
    pub fn ask(&mut self) {
        self.wanted += 1;
        self.asked += 1;
    }

    /// Queues data for `part`, which the passes of tokens asked for from now on will find there.
    pub fn write(&mut self, part: Slice, bytes: Vec<u8>) {
        self.writes.push_back(Write { after: self.asked, part, bytes });
    }

    /// Keeps the lane out of passes until it begins again, and drops its tokens.
    pub fn stop(&mut self) {
        (self.is_on, self.waits, self.wanted) = (false, false, 0);
        self.version += 1;
        self.inbox.clear();
    }

    /// Takes all queued writes, for a pass that begins the lane's text.
    pub fn take_all_writes(&mut self) -> VecDeque<Write> {
        std::mem::take(&mut self.writes)
    }

    /// Drops queued writes, which were those of another run.
    pub fn forget_writes(&mut self) {
        self.writes.clear();
    }

    /// Takes in the state in which a pass left the lane's sequence.
    pub(in crate::runtime) fn left(&mut self, left: Sequence) {
        self.next = Sequence { done: 0, ..left };
        if left.done != 0 {
            // Passes in flight change nothing from here on. Checkpoints past the position would be those of such
            // passes.
            self.text.stay_at(left.position as usize);
            self.text.moved_states(Some(left.position as usize));
            self.text.rewind_states(left.position as usize);
        }
        self.waits = left.done == WAITING;
    }

    /// Queues a token of a pass for the request, and notes whether it ends the text.
    pub(in crate::runtime) fn take_in(&mut self, id: u32, logits: Option<Vec<f32>>) {
        let end = self.ends.contains(&id);
        self.is_on = !end;
        self.inbox.push_back((Token { id, end }, logits));
    }

    /// Whether a token waits to be taken.
    pub fn has_token(&self) -> bool {
        !self.inbox.is_empty()
    }
}

/// All lanes of a session.
#[derive(Debug)]
pub struct Lanes {
    pub(in crate::runtime) lanes: Vec<Lane>,
    pub(in crate::runtime) context: usize,
    /// Numbers of the lanes of the passes in flight, in the order of their rows.
    pub(in crate::runtime) rows: Vec<usize>,
    /// Number of passes in flight.
    pub(in crate::runtime) in_flight: usize,
    pub(in crate::runtime) form: Form,
    /// Whether passes can have drafts.
    pub(in crate::runtime) has_drafts: bool,
    /// Number of positions that the cache of the draft model, or of the model's own block, can have; 0 without both.
    pub draft_context: usize,
    /// Whether a block of the model itself is what drafts.
    pub predicts_next: bool,
}

impl Lanes {
    /// Makes a lane for each of these texts of up to `context` tokens.
    pub fn new(texts: &[Rc<crate::runtime::sequence::Sequence>], context: usize) -> Self {
        let lane = |text: &Rc<crate::runtime::sequence::Sequence>| Lane { text: text.clone(), ..Lane::default() };
        let lanes = texts.iter().map(lane).collect();
        Self {
            lanes,
            context,
            rows: Vec::new(),
            in_flight: 0,
            form: Form::Rows(0),
            has_drafts: false,
            draft_context: 0,
            predicts_next: false,
        }
    }

    /// The lane with this number.
    pub fn lane(&mut self, number: usize) -> &mut Lane {
        &mut self.lanes[number]
    }

    /// Numbers of the lanes that should be in the next pass. A lane that is in the passes now stays, even with enough
    /// tokens, since each change takes a wait.
    pub fn members(&self) -> Vec<usize> {
        let mut members = Vec::new();
        for (number, lane) in self.lanes.iter().enumerate() {
            let ahead = self.ahead(number);
            let stays = !lane.is_exact && self.rows.contains(&number) && ahead < MOST_AHEAD;
            let fits = self.end_of(number) < self.context;
            if lane.is_on && fits && (stays || lane.wanted > ahead) {
                members.push(number);
            }
        }
        members
    }

    /// Whether the next pass can follow those in flight without being written anew.
    pub fn go_on(&self) -> bool {
        let members = self.members();
        self.rows == members && self.form == self.form_of(&members) && self.rows.iter().all(|&at| !self.lanes[at].waits)
    }

    /// The position after those that the passes in flight write.
    pub(in crate::runtime) fn end_of(&self, number: usize) -> usize {
        self.lanes[number].next.position as usize + self.in_flight_of(number) * self.form.width()
    }

    /// Whether one more pass should be submitted.
    pub fn is_due(&self) -> bool {
        self.go_on() && self.rows.iter().any(|&number| self.lanes[number].wanted > self.ahead(number))
    }

    /// Whether a pass in flight has a token for this lane.
    pub fn is_coming(&self, number: usize) -> bool {
        self.in_flight_of(number) > 0
    }

    /// Puts the lanes that should be in it into a new pass, and returns that. Nothing may be in flight.
    pub fn start(&mut self) -> Pass {
        debug_assert_eq!(self.in_flight, 0, "what is in flight has other rows");
        self.rows = self.members();
        self.form = self.form_of(&self.rows);
        let row = |&number: &usize| {
            let Sequence { token, position, .. } = self.lanes[number].next;
            Row { token, position, sequence: number as u32, flags: 0 }
        };
        let mut rows: Vec<Row> = self.rows.iter().map(row).collect();
        if self.form.is_draft() {
            rows = self.with_draft(rows[0]);
        }
        let mut pass = Pass::decode(&rows);
        for &number in &self.rows {
            let lane = &mut self.lanes[number];
            lane.waits = false;
            pass.header.sequences[number] = lane.next;
        }
        pass
    }

    /// Begins a lane whose text was read including its last token, at `position`. That token's first decode pass is
    /// among the `in_flight` ones, and the passes that follow find its row written.
    pub fn begin_within(&mut self, number: usize, position: usize, in_flight: usize) {
        let lane = &mut self.lanes[number];
        lane.begin(0, position);
        lane.sent = in_flight;
        (self.rows, self.in_flight, self.form) = (vec![number], in_flight, Form::Rows(1));
    }

    /// Whether passes in flight have tokens that somebody waits for.
    pub fn is_wanted(&self) -> bool {
        self.rows.iter().any(|&number| self.lanes[number].is_on && !self.lanes[number].waits)
    }

    /// The last token of each row.
    pub fn tokens(&self) -> Vec<u32> {
        self.rows.iter().map(|&number| self.lanes[number].next.token).collect()
    }

    /// The ids that end the texts of all lanes in the passes: those at which the GPU may stop.
    pub fn ends(&self) -> Vec<u32> {
        let mut of_rows = self.rows.iter().map(|&number| &self.lanes[number].ends);
        let mut ends = of_rows.next().cloned().unwrap_or_default();
        of_rows.for_each(|others| ends.retain(|id| others.contains(id)));
        ends
    }

    /// Takes the data that must be written before the next pass.
    pub fn take_writes(&mut self) -> Vec<Write> {
        let mut due = Vec::new();
        for &number in &self.rows {
            let Lane { writes, sent, .. } = &mut self.lanes[number];
            due.extend(std::iter::from_fn(|| writes.pop_front_if(|write| write.after <= *sent)));
        }
        due
    }

    /// Number of lanes in the passes.
    pub fn members_of_pass(&self) -> usize {
        self.rows.len()
    }

    /// What the rows of the passes are.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Number of positions that the caches need for one more pass.
    pub fn positions(&self) -> usize {
        let end = |&number: &usize| self.end_of(number) + self.form.width();
        self.rows.iter().map(end).max().unwrap_or(0)
    }

    /// How the tokens of all rows are chosen at once: with all that any of the lanes needs.
    pub fn choosing(&self) -> Choosing {
        let mut all = Choosing { greedy: true, biased: false, logits: false };
        for &number in &self.rows {
            let Some(of) = self.lanes[number].choosing else { continue };
            all.greedy &= of.greedy;
            all.biased |= of.biased;
            all.logits |= of.logits;
        }
        all
    }

    /// Notes that one more pass is in flight. Returns the lanes whose recurrent states should be copied behind it.
    pub fn submitted(&mut self) -> Vec<usize> {
        let passes = self.in_flight + 1;
        for &number in &self.rows {
            let lane = &mut self.lanes[number];
            let next = lane.next.position as usize + passes * self.form.width();
            lane.text.advance_to(next);
            lane.text.moved_states((!self.form.is_draft()).then_some(next));
            lane.sent += 1;
        }
        self.in_flight += 1;
        self.rows.iter().copied().filter(|&number| self.lanes[number].text.is_copy_due()).collect()
    }

    /// Takes in the oldest pass in flight: how it left the sequences, and the logits of its rows, if read back. `now`
    /// is in milliseconds.
    pub fn received(&mut self, header: &Header, logits: Option<&[f32]>, now: f64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let of_row =
            |index| logits.map(|all| &all[index * (all.len() / self.rows.len())..][..all.len() / self.rows.len()]);
        for (index, &number) in self.rows.iter().enumerate() {
            let lane = &mut self.lanes[number];
            if !lane.is_on || lane.waits {
                continue;
            }
            let wants_logits = lane.choosing.is_some_and(|of| of.logits);
            let left = header.sequences[number];
            lane.left(left);
            if !lane.waits {
                lane.take_in(left.token, of_row(index).filter(|_| wants_logits).map(<[f32]>::to_vec));
                lane.drafts.iter_mut().for_each(|drafts| drafts.took(left.token, now));
            }
        }
    }

    /// Notes that nothing is in flight any more.
    pub fn forget_in_flight(&mut self) {
        self.in_flight = 0;
    }

    /// Notes that the pass is overwritten. Lanes that go on get a row in the next one.
    pub fn leave_pass(&mut self) {
        self.rows.clear();
        self.in_flight = 0;
    }

    /// Ends the texts that are on with an error, if their next position is `positions` or more.
    pub fn fail(&mut self, error: &Error, positions: usize) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.is_on && lane.next.position as usize >= positions) {
            lane.is_on = false;
            lane.error = Some(error.clone());
        }
    }

    /// Whether [`Lanes::take`] would return something.
    pub fn has_news(&self, number: usize) -> bool {
        self.lanes[number].has_token() || self.lanes[number].error.is_some()
    }

    /// Takes the oldest token of a lane, or else the error that ended its text.
    pub fn take(&mut self, number: usize) -> Option<Result<Drawn, Error>> {
        let lane = &mut self.lanes[number];
        let Some(drawn) = lane.inbox.pop_front() else { return lane.error.take().map(Err) };
        lane.wanted = lane.wanted.saturating_sub(1);
        Some(Ok(drawn))
    }

    /// Ends the text of a lane. Returns how many tokens its cache holds.
    pub fn rest(&mut self, number: usize) -> usize {
        let lane = &mut self.lanes[number];
        lane.stop();
        (lane.is_exact, lane.error) = (false, None);
        lane.next.position as usize
    }

    fn in_flight_of(&self, number: usize) -> usize {
        if self.rows.contains(&number) { self.in_flight } else { 0 }
    }

    /// Number of tokens of a lane that nobody has taken yet, including those in flight: with drafts, as many as are
    /// likely.
    fn ahead(&self, number: usize) -> usize {
        let lane = &self.lanes[number];
        let of_pass = if self.form.is_draft() { lane.drafts.as_ref().map_or(1, Drafts::likely) } else { 1 };
        lane.inbox.len() + self.in_flight_of(number) * of_pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many lanes without recurrent states, for texts of up to `context` tokens.
    fn empty(count: usize, context: usize) -> Lanes {
        Lanes::new(&vec![(); count].iter().map(|()| Rc::default()).collect::<Vec<_>>(), context)
    }

    /// Begins a lane whose prompt of `prompt` tokens is read.
    fn begin(lanes: &mut Lanes, number: usize, prompt: usize) {
        lanes.lane(number).begin(100 * number as u32, prompt - 1);
        lanes.lane(number).ask();
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
    fn go(lanes: &mut Lanes) -> usize {
        let mut pass = lanes.start();
        let mut headers = Vec::new();
        while lanes.is_due() {
            run(&mut pass);
            lanes.submitted();
            headers.push(pass.header);
        }
        headers.iter().for_each(|header| lanes.received(header, None, 0.0));
        headers.len()
    }

    fn tokens(lanes: &mut Lanes, number: usize) -> Vec<u32> {
        std::iter::from_fn(|| lanes.take(number)).map(|drawn| drawn.expect("a token").0.id).collect()
    }

    #[test]
    fn passes_are_as_many_as_one_lane_wants() {
        let mut lanes = empty(4, 64);
        begin(&mut lanes, 1, 5);
        begin(&mut lanes, 3, 9);
        lanes.lane(3).wanted = 4;
        assert_eq!((lanes.members(), go(&mut lanes)), (vec![1, 3], 4));
        assert_eq!([1, 3].map(|lane| tokens(&mut lanes, lane)), [vec![101, 102, 103, 104], vec![301, 302, 303, 304]]);
        assert_eq!((lanes.lane(1).next.position, lanes.lane(3).next.position), (8, 12));
        assert_eq!((lanes.lane(1).text.written(), lanes.lane(3).text.written()), (8, 12));
    }

    #[test]
    fn a_lane_that_nobody_reads_waits() {
        let mut lanes = empty(2, 1000);
        begin(&mut lanes, 0, 1);
        begin(&mut lanes, 1, 1);
        let mut read = 0;
        for _ in 0..200 {
            lanes.lane(0).wanted = 1;
            go(&mut lanes);
            read += tokens(&mut lanes, 0).len();
        }
        assert_eq!((read, lanes.members()), (200, vec![0]));
        assert_eq!(tokens(&mut lanes, 1), (101..101 + MOST_AHEAD as u32).collect::<Vec<_>>());
        lanes.lane(1).wanted = 1;
        assert_eq!((lanes.members(), go(&mut lanes), tokens(&mut lanes, 1)), (vec![0, 1], 1, vec![133]));
    }

    #[test]
    fn a_text_ends_at_its_own_tokens_and_at_the_context() {
        let mut lanes = empty(2, 8);
        begin(&mut lanes, 0, 2);
        begin(&mut lanes, 1, 5);
        lanes.lane(0).ends = vec![3, 103];
        lanes.lane(1).wanted = 9;
        // The passes take positions 4 to 7.
        assert_eq!(go(&mut lanes), 4);
        assert_eq!(tokens(&mut lanes, 0), [1, 2, 3], "nothing of it after its end");
        assert_eq!(tokens(&mut lanes, 1), [101, 102, 103, 104], "which ends the other alone");
        assert_eq!(lanes.members(), [0; 0]);
        assert_eq!(lanes.rest(0), 4, "tokens before its end are cached");
    }

    #[test]
    fn a_lane_that_cannot_go_back_is_in_a_pass_for_each_token_that_is_wanted() {
        let mut lanes = empty(2, 64);
        begin(&mut lanes, 0, 1);
        begin(&mut lanes, 1, 1);
        (lanes.lane(0).wanted, lanes.lane(1).is_exact) = (3, true);
        assert_eq!(go(&mut lanes), 1, "the next pass has other rows");
        assert_eq!((lanes.members(), go(&mut lanes)), (vec![0], 2));
        assert_eq!((tokens(&mut lanes, 0), tokens(&mut lanes, 1)), (vec![1, 2, 3], vec![101]));
    }

    /// The data written before each of the passes that are due.
    fn written(lanes: &mut Lanes) -> Vec<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        while lanes.is_due() {
            all.push(lanes.take_writes().into_iter().map(|write| write.bytes).collect());
            lanes.submitted();
        }
        all
    }

    #[test]
    fn a_mask_is_for_the_passes_that_are_asked_for_after_it() {
        let mut lanes = empty(2, 64);
        let part = Slice::from(crate::kernels::spec::BufferId(0));
        lanes.lane(1).write(part, vec![1]);
        begin(&mut lanes, 0, 1);
        begin(&mut lanes, 1, 9);
        lanes.lane(0).wanted = 4;
        lanes.lane(1).write(part, vec![2]);
        lanes.lane(1).ask();
        lanes.start();
        assert_eq!(written(&mut lanes), [vec![vec![1]], vec![vec![2]], vec![], vec![]]);
        // The lane's tokens are refused while they are in flight, and it starts anew.
        lanes.lane(1).steps = 7;
        lanes.lane(1).write(part, vec![3]);
        lanes.lane(1).stop();
        assert!(!lanes.go_on());
        let mut late = Header::default();
        late.sequences[1] = Sequence { token: 9, done: 0, steps: 4, position: 12 };
        (0..4).for_each(|_| lanes.received(&late, None, 0.0));
        lanes.leave_pass();
        lanes.lane(1).begin(5, 10);
        lanes.lane(1).ask();
        assert!(!lanes.has_news(1), "what was refused is nobody's");
        assert_eq!(lanes.start().header.sequences[1], Sequence { token: 5, done: 0, steps: 7, position: 10 });
        assert_eq!(written(&mut lanes)[0], [vec![3]]);
    }

    #[test]
    fn a_lane_that_waits_for_a_row_goes_on_from_where_it_was() {
        let mut lanes = empty(2, 64);
        begin(&mut lanes, 0, 1);
        begin(&mut lanes, 1, 5);
        (0..2).for_each(|_| lanes.lane(1).ask());
        lanes.start();
        assert_eq!(written(&mut lanes).len(), 3);
        let mut header = Header::default();
        header.sequences[0] = Sequence { token: 1, done: 0, steps: 1, position: 1 };
        header.sequences[1] = Sequence { token: 33, done: WAITING, steps: 2, position: 5 };
        (0..3).for_each(|_| lanes.received(&header, None, 0.0));
        assert_eq!((tokens(&mut lanes, 0), lanes.has_news(1)), (vec![1, 1, 1], false));
        assert!(!lanes.go_on() && lanes.members() == [0, 1] && lanes.lane(1).text.next() == 5);
        let again = lanes.start();
        assert_eq!((again.rows[1].token, again.rows[1].position), (33, 5));
        assert_eq!(again.header.sequences[1], Sequence { token: 33, done: 0, steps: 2, position: 5 });
        assert_eq!((lanes.tokens(), lanes.is_due()), (vec![1, 33], true));
    }

    #[test]
    fn states_stay_at_the_end_of_a_text() {
        let texts: Vec<_> = (0..2).map(|_| Rc::new(crate::runtime::sequence::Sequence::new(2))).collect();
        let mut lanes = Lanes::new(&texts, 200);
        begin(&mut lanes, 0, 10);
        begin(&mut lanes, 1, 80);
        lanes.lane(0).ends = vec![7, 8];
        lanes.lane(1).ends = vec![8, 9];
        (1..70).for_each(|_| lanes.lane(0).ask());
        lanes.start();
        assert_eq!(lanes.ends(), [8], "which the GPU may stop both at");
        let due: Vec<_> = (0..70).map(|_| lanes.submitted()).collect();
        assert_eq!(due[0], [1], "the first 64 tokens have no copy");
        assert_eq!(due[54], [0, 1], "whoever has gone on so far");
        let mut header = Header::default();
        header.sequences[0] = Sequence { token: 8, done: 1, steps: 1, position: 12 };
        header.sequences[1] = Sequence { token: 3, done: 0, steps: 1, position: 80 };
        lanes.received(&header, None, 0.0);
        assert_eq!((lanes.rest(0), texts[0].rewind(12, usize::MAX)), (12, (12, None)));
        assert_eq!((lanes.rest(1), texts[1].rewind(80, usize::MAX)), (80, (0, None)), "passes in flight went on");
    }

    #[test]
    fn what_is_in_flight_of_a_text_that_is_over_is_nobodys() {
        let mut lanes = empty(2, 64);
        begin(&mut lanes, 0, 1);
        begin(&mut lanes, 1, 7);
        let mut pass = lanes.start();
        run(&mut pass);
        lanes.submitted();
        assert!(lanes.is_coming(1) && !lanes.is_due());
        assert_eq!(lanes.rest(1), 6, "the last token of the prompt has not come through");
        lanes.received(&pass.header, None, 0.0);
        assert!(!lanes.has_news(1) && lanes.has_news(0) && !lanes.go_on());
        let error = Error::invalid_argument("a reason");
        lanes.fail(&error, 1);
        assert_eq!(lanes.take(0).map(|drawn| drawn.map(|(token, _)| token.id)), Some(Ok(1)), "first what came before");
        assert!(matches!(lanes.take(0), Some(Err(found)) if found == error));
        assert!(lanes.take(0).is_none() && lanes.take(1).is_none());
    }
}
