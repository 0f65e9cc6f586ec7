//! A round of drafts of a block that drafts all tokens of a pass at once.

use std::mem::offset_of;

use super::layout::Layout;
use super::round::Drafted;
use crate::forward::Whole;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::model::Masks;
use crate::runtime::plan::{List, Place, Plan, Set};

/// A word of a row.
const WORD: u64 = size_of::<u32>() as u64;

/// The words of a row in a pass.
#[derive(Clone, Copy)]
struct At(Place<'static>);

impl At {
    fn row(self, row: usize) -> Place<'static> {
        self.0.after(Pass::bytes_of(row))
    }

    fn position(self, row: usize) -> Place<'static> {
        self.row(row).after(offset_of!(Row, position) as u64)
    }

    fn flags(self, row: usize) -> Place<'static> {
        self.row(row).after(offset_of!(Row, flags) as u64)
    }
}

/// Drafts tokens after the last one of each text in the next pass, which has `rows` rows.
#[inline(never)]
pub(in crate::runtime) fn draft(
    plan: &mut Plan<'static>,
    layout: Layout<'_>,
    (whole, rows): (&Whole, usize),
    texts: &[Drafted],
) {
    let Some(masks) = layout.program.next.as_ref().and_then(|next| next.drafted.masks) else { return };
    let [checking, own, seen] = [layout.buffers.pass, whole.pass, whole.seen].map(|pass| At(pass.into()));
    let pass = block_pass((masks, rows), texts);
    [own, seen].into_iter().for_each(|of| plan.write(of.0, pass.bytes()));
    for text in texts {
        let first = text.rows.start;
        let last = first + steps(text, masks);
        [own, seen].into_iter().for_each(|of| plan.copy(checking.row(first), of.row(first), size_of::<Row>() as u64));
        for row in first + 1..=last {
            plan.copy(checking.position(row), own.position(row), WORD);
        }
        for row in first..=last {
            let up_to = if masks.sees_all { last } else { row };
            plan.copy(checking.position(up_to), seen.position(row), WORD);
        }
    }
    plan.run(Set::Draft(rows), List::Step, rows);
    for text in texts {
        let first = text.rows.start;
        for row in first + 1..=first + steps(text, masks) {
            plan.copy(own.row(row), checking.row(row), WORD);
            // A text that has ended has no draft.
            plan.copy(own.flags(first), checking.flags(row), WORD);
        }
        for row in first + steps(text, masks) + 1..text.rows.end {
            plan.copy(own.flags(rows), checking.flags(row), WORD);
        }
    }
}

fn steps(text: &Drafted, masks: Masks) -> usize {
    text.steps.min(masks.rows - 1)
}

/// The pass of the block: masks at the rows that get a draft, and behind all rows one that stands for no draft.
fn block_pass((masks, rows): (Masks, usize), texts: &[Drafted]) -> Pass {
    let done = Row { token: masks.id, flags: ROW_DONE, ..Row::default() };
    let mut pass = Pass::decode(&vec![done; rows]);
    for text in texts {
        for row in &mut pass.rows[text.rows.start..=text.rows.start + steps(text, masks)] {
            (row.sequence, row.flags) = (text.number as u32, 0);
        }
    }
    pass.rows.push(done);
    pass
}
