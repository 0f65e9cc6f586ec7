//! A block that drafts several tokens in one pass. The passes of the model write the keys and values of the text, so it
//! goes along none of them.

use super::activations::{self, AllPlaces};
use super::plan::Plan;
use super::{Buffers, Forward, Room};
use crate::kernels::carry_row::{Moving, move_rows};
use crate::kernels::pass::Pass;
use crate::kernels::sample::mask_words;
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::program::Program;

/// What such a block needs.
#[derive(Debug, Clone)]
pub struct Whole {
    places: AllPlaces,
    /// A [`Pass`] with the rows of the one that checks the draft, and one that stands for no draft. Tokens of the draft
    /// come here.
    pub pass: Slice,
    /// The same with tokens and masks, at the positions up to which rows see.
    pub seen: Slice,
    /// A mask that allows all of the block's vocabulary.
    mask: Slice,
}

impl Whole {
    /// What the block of this program needs.
    #[inline(never)]
    pub(super) fn alloc(program: &Program, room: Room, logits: Slice, plan: &mut Plan) -> Option<Self> {
        let next = program.next.as_deref()?;
        let vocab = next.width(next.output_activation()) as u32;
        Some(Self {
            places: activations::place(next, room.rows, logits, plan),
            pass: plan.alloc("pass of a draft", Pass::bytes_of(room.rows + 1)).into(),
            seen: plan.alloc("pass of a draft, as it sees", Pass::bytes_of(room.rows + 1)).into(),
            mask: plan.words("mask without effect", room.sequences * mask_words(vocab)),
        })
    }
}

/// The block, and the model that it belongs to.
pub(super) struct Together<'a> {
    pub forward: Forward<'a>,
    pub program: &'a Program,
    pub whole: &'a Whole,
}

impl Together<'_> {
    /// Drafts a token in each of the `rows` rows of the block's own pass that stand for one.
    #[inline(never)]
    pub fn step(&self, rows: u32) -> Vec<Dispatch> {
        let Whole { pass, seen, mask, .. } = *self.whole;
        let mut buffers = self.forward.buffers.clone();
        (buffers.places, buffers.pass, buffers.turned) = (self.whole.places.clone(), seen, Some(pass));
        // No draft ends a text.
        (buffers.sample.mask, buffers.sample.stops) = (mask, buffers.dummy);
        let of = |buffers| Forward { program: self.program, buffers, adapters: None, ..self.forward };
        let mut list = of(&buffers).decode(rows);
        match self.program.drafted.ids.map(|ids| self.forward.vector(ids)) {
            ids @ Some(_) => {
                list.extend(of(&buffers).greedy(rows));
                list.push(move_rows(Moving::Forth, [seen, pass], ids, buffers.dummy));
            }
            None => list.extend(of(&Buffers { pass, ..buffers.clone() }).greedy(rows)),
        }
        list
    }
}
