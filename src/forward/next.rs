//! Multi-token prediction: the block that drafts the token after the next. It takes the rows of every pass along, each
//! with the hidden state of the row before it, so that its cache has the text; it drafts in steps of its own.

use super::activations::{self, AllPlaces};
use super::fusion::{DECODE, steps};
use super::plan::Plan;
use super::prefill::format_of_keys;
use super::{Buffers, CHUNK, Forward, Place, Places, Room};
use crate::kernels::carry_row::{Moving, carry_row, carry_rows, move_rows};
use crate::kernels::pass::Pass;
use crate::kernels::sample::mask_words;
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::program::{Op, Program};

/// What [`Program::next`] needs.
#[derive(Debug, Clone)]
pub struct Next {
    /// Where its activations are in the passes of the model, whose rows it takes along.
    pub places: AllPlaces,
    /// Values of a hidden state.
    pub width: usize,
    /// Hidden states `[1 + rows, width]`: of the token before the pass, then of its rows.
    pub states: Slice,
    /// The hidden state of the last token of each sequence, `[sequences, width]`: of one sequence, the first row of
    /// `states`.
    pub carried: Slice,
    /// Where there are several sequences: the hidden states before the rows of a decode pass, `[rows, width]`.
    pub before: Option<Slice>,
    /// In a step that drafts: the hidden state before each row, `[sequences, width]`.
    pub state: Slice,
    /// The [`Pass`] of such a step: a row for each sequence, and one that stands for no draft.
    pub pass: Slice,
    /// On the way to hidden states: of the model, and of the block.
    behind: [Places; 2],
    /// Where a token has the position before its own: a [`Pass`] with these.
    earlier: Option<Slice>,
    /// Where the block has no keys of its own: a [`Pass`] as [`Next::pass`], in which the tokens of all steps have the
    /// position of the first one.
    pub held: Option<Slice>,
    /// Where the block has a vocabulary of its own: a mask that allows all of it.
    mask: Option<Slice>,
}

impl Next {
    /// What the block of this program needs, if it has one.
    #[inline(never)]
    pub(super) fn alloc(
        program: &Program,
        (room, chunk): (Room, usize),
        logits: Slice,
        plan: &mut Plan,
    ) -> Option<Self> {
        let next = program.next.as_deref()?;
        let before = next.inputs()[0];
        let width = next.width(before);
        let states = plan.words("hidden states before", (chunk + 1) * width);
        // Without keys of its own it takes no rows along.
        let most = if next.drafted.held { room.rows } else { chunk };
        let mut places = activations::place(next, most, logits, plan);
        places.embed = places.embed.moved(before, states);
        let (count, is_alone) = (room.sequences, room.sequences == 1);
        let vocab = next.width(next.output_activation()) as u32;
        Some(Self {
            places,
            width,
            states,
            carried: if is_alone { states } else { plan.words("hidden states of sequences", count * width) },
            before: (!is_alone).then(|| plan.words("hidden states before rows", room.rows * width)),
            state: plan.words("hidden state before", count * width),
            pass: plan.alloc("pass of a draft", Pass::bytes_of(count + 1)).into(),
            held: next.drafted.held.then(|| plan.alloc("pass of the first step", Pass::bytes_of(count + 1)).into()),
            behind: [
                activations::place_behind(program, &program.hands_on, chunk, plan),
                activations::place_behind(next, &next.hands_on, room.rows, plan),
            ],
            earlier: next
                .drafted
                .earlier
                .then(|| plan.alloc("pass a position earlier", Pass::bytes_of(chunk.max(CHUNK))).into()),
            mask: next.drafted.ids.map(|_| plan.words("mask without effect", count * mask_words(vocab))),
        })
    }
}

/// The block, and the model that it belongs to.
pub(super) struct Following<'a> {
    pub forward: Forward<'a>,
    pub program: &'a Program,
    pub next: &'a Next,
}

/// Rows of a pass whose hidden states are made.
#[derive(Clone, Copy)]
enum Rows {
    Few(u32),
    Many,
}

impl Following<'_> {
    /// The block along the rows of a chunk, once the layers have run.
    #[inline(never)]
    pub fn follow_many(&self) -> Vec<Dispatch> {
        let stream = self.forward.buffers.places.head.of(self.forward.program.residual());
        let buffers = self.buffers_in_passes();
        let mut list = self.states(Rows::Many, stream, self.rows_after_first());
        if self.next.held.is_none() {
            list.extend(self.moved_rows());
            let (block, kept) = self.of(&buffers).prefill_and_kept();
            list.extend(block.into_iter().take(kept));
        }
        list.push(self.carry());
        list
    }

    /// The same along the few rows of a pass, which has left the residual stream at `stream`. Of one row the hidden
    /// state is needed in the next pass only.
    #[inline(never)]
    pub fn follow_few(&self, rows: u32, stream: Place) -> Vec<Dispatch> {
        let mut buffers = self.buffers_in_passes();
        if let Some(before) = self.next.before {
            self.take_states_from(before, &mut buffers);
        }
        let is_alone = self.next.before.is_none() && rows == 1;
        let to = if is_alone { self.first_row(self.next.states) } else { self.rows_after_first() };
        let states = self.states(Rows::Few(rows), stream, to);
        let (block, kept, _) = self.of(&buffers).decode_and_kept(rows);
        let block = self.moved_rows().into_iter().chain(block.into_iter().take(kept));
        if is_alone {
            return block.chain(states).collect();
        }
        let before = self.next.before.map(|_| self.carry_rows(self.forward.buffers.pass, self.next.before));
        states.into_iter().chain(before).chain(block).collect()
    }

    /// Keeps the hidden state of the last row of a prompt's pass for the next pass.
    pub fn carry(&self) -> Dispatch {
        carry_row(self.width(), self.forward.buffers.sample.drafts.report, self.next.states)
    }

    /// Keeps the hidden state of the last accepted row, of each sequence, for the next pass.
    #[inline(never)]
    pub fn carry_accepted(&self) -> Dispatch {
        match self.next.before {
            None => self.carry(),
            Some(_) => self.carry_rows(self.forward.buffers.sample.drafts.kept, None),
        }
    }

    fn carry_rows(&self, pass: Slice, before: Option<Slice>) -> Dispatch {
        let Next { states, carried, .. } = *self.next;
        carry_rows(self.width(), pass, [states, carried], (before, self.forward.buffers.dummy))
    }

    /// The rows of the pass at the positions that they have in the block, where these are others.
    fn moved_rows(&self) -> Option<Dispatch> {
        let to = self.next.earlier.filter(|_| self.next.held.is_none())?;
        Some(move_rows(Moving::Back, [self.forward.buffers.pass, to], None, self.forward.buffers.dummy))
    }

    /// Lets the block find the hidden states before its rows in another buffer.
    fn take_states_from(&self, slice: Slice, buffers: &mut Buffers) {
        buffers.places.embed = buffers.places.embed.moved(self.program.inputs()[0], slice);
    }

    /// Drafts a token after the one in each of the rows of the step's own pass, and leaves their hidden states for the
    /// next step.
    #[inline(never)]
    pub fn step(&self, rows: u32) -> Vec<Dispatch> {
        let (mut buffers, own, dummy) = (self.buffers_in_passes(), self.next.pass, self.forward.buffers.dummy);
        self.take_states_from(self.next.state, &mut buffers);
        buffers.pass = self.next.earlier.unwrap_or(own);
        buffers.turned = self.next.held;
        buffers.sample.mask = self.next.mask.unwrap_or(buffers.sample.mask);
        // No draft ends a text.
        buffers.sample.stops = dummy;
        let ids = self.program.drafted.ids.map(|ids| self.forward.vector(ids));
        let move_rows = |how, from, to, ids| self.next.earlier.map(|_| move_rows(how, [from, to], ids, dummy));
        let forward = self.of(&buffers);
        let (block, _, stream) = forward.decode_and_kept(rows);
        let from = self.next.held.unwrap_or(own);
        let mut list: Vec<Dispatch> = move_rows(Moving::Back, from, buffers.pass, None).into_iter().collect();
        list.extend(block);
        match self.next.held {
            Some(_) => list.extend(self.of(&Buffers { pass: own, ..buffers.clone() }).greedy(rows)),
            None => {
                list.extend(forward.greedy(rows).into_iter().chain(move_rows(Moving::Forth, buffers.pass, own, ids)))
            }
        }
        list.extend(self.states_of_block(&buffers, rows, stream));
        list
    }

    fn of<'b>(&'b self, buffers: &'b Buffers) -> Forward<'b> {
        Forward { program: self.program, buffers, adapters: None, ..self.forward }
    }

    /// The buffers with which the block runs in the passes of the model.
    fn buffers_in_passes(&self) -> Buffers {
        let mut buffers = self.forward.buffers.clone();
        buffers.places = self.next.places.clone();
        buffers.pass = self.next.earlier.unwrap_or(buffers.pass);
        buffers
    }

    fn width(&self) -> u32 {
        self.next.width as u32
    }

    fn first_row(&self, slice: Slice) -> Place {
        Place { slice, stride: self.next.width, offset: 0 }
    }

    fn rows_after_first(&self) -> Place {
        Place { offset: self.next.width, ..self.first_row(self.next.states) }
    }

    /// The hidden states of the model's rows, which its layers have left at `stream`.
    fn states(&self, rows: Rows, stream: Place, to: Place) -> Vec<Dispatch> {
        // What adapters add to the layers is in the stream.
        let forward = Forward { adapters: None, ..self.forward };
        states(&forward, rows, &self.next.behind[0], [stream, to])
    }

    /// The hidden states of the block's own rows, for the next step.
    fn states_of_block(&self, buffers: &Buffers, rows: u32, stream: Place) -> Vec<Dispatch> {
        states(&self.of(buffers), Rows::Few(rows), &self.next.behind[1], [stream, self.first_row(self.next.state)])
    }
}

/// What a program hands on, given where its layers have left the residual stream.
fn states(forward: &Forward, rows: Rows, behind: &Places, [stream, to]: [Place; 2]) -> Vec<Dispatch> {
    let (program, ops) = (forward.program, &forward.program.hands_on);
    let ends = [(program.residual(), stream)].into_iter().chain(ops.last().map(|op: &Op| (op.writes(), to)));
    let places = forward.buffers.places.head.and(behind).with(ends);
    match rows {
        Rows::Many => forward.many_rows(&places).lower_many(ops, format_of_keys(forward.caps.activation_format)),
        Rows::Few(rows) => {
            let lowering = forward.few_rows(rows, &places);
            steps(ops, DECODE).iter().flat_map(|fused| lowering.step(&fused.step, false)).collect()
        }
    }
}
