//! Multi-token prediction: the block that drafts the token after the next. It takes the rows of every pass along, each
//! with the hidden state of the row before it, so that its cache has the text; it drafts in steps of its own.

use super::activations::{self, AllPlaces};
use super::plan::Plan;
use super::{Buffers, Forward, Place, Room};
use crate::kernels::carry_row::{carry_row, carry_rows};
use crate::kernels::norm::{self, Rows};
use crate::kernels::pass::Pass;
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::program::{NormKind, Op, Program};

/// What [`Program::next`] needs.
#[derive(Debug, Clone)]
pub struct Next {
    /// Where its activations are in the passes of the model, whose rows it takes along.
    pub places: AllPlaces,
    /// Hidden states `[1 + rows, hidden]`: of the token before the pass, then of its rows.
    pub states: Slice,
    /// The hidden state of the last token of each sequence, `[sequences, hidden]`: of one sequence, the first row of
    /// `states`.
    pub carried: Slice,
    /// Where there are several sequences: the hidden states before the rows of a decode pass, `[rows, hidden]`.
    pub before: Option<Slice>,
    /// In a step that drafts: the hidden state before each row, `[sequences, hidden]`.
    pub state: Slice,
    /// The [`Pass`] of such a step: a row for each sequence, and one that stands for no draft.
    pub pass: Slice,
}

impl Next {
    pub(super) fn alloc(next: &Program, (room, chunk): (Room, usize), logits: Slice, plan: &mut Plan) -> Self {
        let before = next.inputs()[0];
        let width = next.width(before);
        let states = plan.words("hidden states before", (chunk + 1) * width);
        let mut places = activations::place(next, chunk, logits, plan);
        places.embed = places.embed.moved(before, states);
        let (count, is_alone) = (room.sequences, room.sequences == 1);
        Self {
            places,
            states,
            carried: if is_alone { states } else { plan.words("hidden states of sequences", count * width) },
            before: (!is_alone).then(|| plan.words("hidden states before rows", room.rows * width)),
            state: plan.words("hidden state before", count * width),
            pass: plan.alloc("pass of a draft", Pass::bytes_of(count + 1)).into(),
        }
    }
}

/// The block, and the model that it belongs to.
pub(super) struct Following<'a> {
    forward: Forward<'a>,
    program: &'a Program,
    next: &'a Next,
}

impl<'a> Forward<'a> {
    /// What predicts the token after the next, if there is room for that.
    pub(super) fn next(&self) -> Option<Following<'a>> {
        let (program, next) = (self.program.next.as_deref()?, self.buffers.next.as_ref()?);
        Some(Following { forward: *self, program, next })
    }
}

impl Following<'_> {
    /// The block along the rows of a chunk, once the layers have run.
    pub fn follow_many(&self) -> Vec<Dispatch> {
        let stream = self.forward.buffers.places.head.of(self.forward.program.residual());
        let buffers = self.buffers_in_passes();
        let (mut list, kept) = self.of(&buffers).prefill_and_kept();
        list.truncate(kept);
        list.insert(0, self.states(self.forward.program, stream, self.rows_after_first()));
        list.push(self.carry());
        list
    }

    /// The same along the few rows of a pass, which has left the residual stream at `stream`. Of one row the hidden
    /// state is needed in the next pass only.
    pub fn follow_few(&self, rows: u32, stream: Place) -> Vec<Dispatch> {
        let mut buffers = self.buffers_in_passes();
        if let Some(before) = self.next.before {
            self.take_states_from(before, &mut buffers);
        }
        let (mut list, kept, _) = self.of(&buffers).decode_and_kept(rows);
        list.truncate(kept);
        let (at, to) = match (self.next.before, rows) {
            (None, 1) => (list.len(), self.first_row(self.next.states)),
            _ => (0, self.rows_after_first()),
        };
        list.insert(at, self.states(self.forward.program, stream, to));
        if self.next.before.is_some() {
            list.insert(1, self.carry_rows(self.forward.buffers.pass, self.next.before));
        }
        list
    }

    /// Keeps the hidden state of the last row of a prompt's pass for the next pass.
    pub fn carry(&self) -> Dispatch {
        carry_row(self.width(), self.forward.buffers.sample.drafts.report, self.next.states)
    }

    /// Keeps the hidden state of the last accepted row, of each sequence, for the next pass.
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

    /// Lets the block find the hidden states before its rows in another buffer.
    fn take_states_from(&self, slice: Slice, buffers: &mut Buffers) {
        buffers.places.embed = buffers.places.embed.moved(self.program.inputs()[0], slice);
    }

    /// Drafts a token after the one in each of the rows of the step's own pass, and leaves their hidden states for the
    /// next step.
    pub fn step(&self, rows: u32) -> Vec<Dispatch> {
        let mut buffers = self.buffers_in_passes();
        self.take_states_from(self.next.state, &mut buffers);
        buffers.pass = self.next.pass;
        // No draft ends a text.
        buffers.sample.stops = buffers.dummy;
        let forward = self.of(&buffers);
        let (mut list, _, stream) = forward.decode_and_kept(rows);
        list.extend(forward.greedy(rows));
        list.push(self.states(self.program, stream, self.first_row(self.next.state)));
        list
    }

    fn of<'b>(&'b self, buffers: &'b Buffers) -> Forward<'b> {
        Forward { program: self.program, buffers, adapters: None, ..self.forward }
    }

    /// The buffers with which the block runs in the passes of the model.
    fn buffers_in_passes(&self) -> Buffers {
        let mut buffers = self.forward.buffers.clone();
        buffers.places = self.next.places.clone();
        buffers
    }

    fn width(&self) -> u32 {
        self.program.width(self.program.residual()) as u32
    }

    fn first_row(&self, slice: Slice) -> Rows {
        Rows { slice, stride: self.width(), offset: 0 }
    }

    fn rows_after_first(&self) -> Rows {
        Rows { offset: self.width(), ..self.first_row(self.next.states) }
    }

    /// The hidden states of a program's rows: what its head multiplies.
    fn states(&self, program: &Program, stream: Place, to: Rows) -> Dispatch {
        let norm = program.head.iter().find_map(|op| match op {
            Op::Norm { norm, .. } => Some(norm),
            _ => None,
        });
        let norm = norm.expect("a head begins with a norm");
        let problem = norm::Norm {
            width: self.width(),
            groups: 1,
            centred: norm.kind == NormKind::Layer,
            eps: norm.eps,
            x: stream.rows(),
            weight: norm.weight.map(|weight| self.forward.vector(weight)),
            weight_by_group: false,
            bias: None,
            y: to,
            add: None,
        };
        norm::norm(&problem, self.forward.buffers.dummy)
    }
}
