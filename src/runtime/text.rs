//! The text of one request.

use std::collections::VecDeque;

use super::draft::drafts::Drafts;
use super::gpu::adapters::ActiveAdapter;
use super::positions::Positions;
use super::session::{Choosing, Token};
use crate::Error;
use crate::kernels::pass::{Sequence, WAITING};
use crate::kernels::spec::Slice;

/// A token and, if wanted, the logits that it was chosen from.
pub type Drawn = (Token, Option<Vec<f32>>);

/// Data to write into a lane's part of a buffer.
#[derive(Debug, Clone)]
pub struct Write {
    /// Number of the lane's passes since [`Text::begin`] that must be submitted before the write.
    pub(super) after: usize,
    pub part: Slice,
    pub bytes: Vec<u8>,
}

/// The text of one request in the caches of a session, and all of its state.
#[derive(Default)]
pub struct Text {
    /// Whether the prompt is read and the text goes on.
    pub is_on: bool,
    /// Whether no pass may begin before the tokens of the one before are taken, since each of these may be refused, and
    /// recurrent states go back to where a pass began at most.
    pub is_exact: bool,
    /// Number of tokens that were asked for and not taken yet.
    pub wanted: usize,
    /// The state that the lane's next row starts from: its last token, which the cache lacks, and its position. Passes
    /// in flight are not counted.
    pub next: Sequence,
    /// Number of answer tokens before the token that is chosen first when the lane begins.
    pub steps: u32,
    /// How far it is in the cache, and its checkpoints.
    pub positions: Positions,
    /// The adapters at work in it.
    pub adapters: Vec<ActiveAdapter>,
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
    pub(super) waits: bool,
    /// Number of tokens asked for, of passes submitted for the lane, and of passes that gave it tokens, since it began.
    pub(super) asked: usize,
    pub(super) sent: usize,
    pub(super) given: usize,
    pub(super) writes: VecDeque<Write>,
    /// Writes before passes that have not given a token yet.
    pub(super) written: VecDeque<Write>,
    pub(super) inbox: VecDeque<Drawn>,
    pub(super) error: Option<Error>,
}

impl Text {
    /// An empty text, with slots for this many checkpoints of recurrent states.
    pub fn new(copies: usize) -> Self {
        Self { positions: Positions::new(copies), ..Self::default() }
    }

    /// Notes that the cache holds the tokens before `position`.
    pub fn has_read(&mut self, position: usize) {
        self.next.position = position as u32;
    }

    /// Begins decode passes with `token`, after the tokens before `position` were read. Tokens of earlier passes are
    /// dropped.
    pub fn begin(&mut self, token: u32, position: usize) {
        self.stop();
        self.next = Sequence { token, done: 0, steps: self.steps, position: position as u32 };
        (self.is_on, self.asked, self.sent, self.given) = (true, 0, 0, 0);
        self.written.clear();
        self.writes.iter_mut().for_each(|write| write.after = 0);
    }

    /// The token that the next pass was to begin with, where no pass has run it and the text goes on at `position`,
    /// right behind it.
    pub fn not_run(&self, position: usize) -> Option<u32> {
        let is_left = self.is_on && self.sent == 0 && self.next.position as usize + 1 == position;
        is_left.then_some(self.next.token)
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

    /// Takes the writes that must come before the next pass.
    pub(in crate::runtime) fn take_due_writes(&mut self) -> Vec<Write> {
        let (writes, sent) = (&mut self.writes, self.sent);
        let due: Vec<Write> = std::iter::from_fn(|| writes.pop_front_if(|write| write.after <= sent)).collect();
        self.written.extend(due.iter().cloned());
        due
    }

    /// Notes that a pass gave the text a token, or that it and those in flight behind it did nothing. What was written
    /// before these is written again before the passes that do their work.
    fn passed(&mut self) {
        if self.waits {
            self.sent = self.given;
            self.written.drain(..).rev().for_each(|write| self.writes.push_front(write));
        } else {
            self.given += 1;
            self.written.retain(|write| write.after >= self.given);
        }
    }

    /// Takes all queued writes, for a pass that begins the lane's text.
    pub fn take_all_writes(&mut self) -> VecDeque<Write> {
        std::mem::take(&mut self.writes)
    }

    /// Drops queued writes, which belong to another run.
    pub fn forget_writes(&mut self) {
        self.writes.clear();
    }

    /// Takes in the state in which a pass left the lane's sequence.
    pub(in crate::runtime) fn left(&mut self, left: Sequence) {
        self.next = Sequence { done: 0, ..left };
        if left.done != 0 {
            // Passes in flight change nothing from here on. Checkpoints past the position would be those of such
            // passes.
            self.positions.stay_at(left.position as usize);
            self.positions.moved_states(Some(left.position as usize));
            self.positions.rewind_states(left.position as usize);
        }
        self.waits = left.done == WAITING;
        self.passed();
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
