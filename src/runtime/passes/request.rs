//! What is written for a request before its passes: how much of each adapter it has, how its tokens are chosen, and the
//! rows of its prompt.

use super::decode::write_ends;
use super::layout::Layout;
use super::{axes, states};
use crate::gpu::Buffer;
use crate::kernels::lora::{SEQUENCE_BYTES, scale_words};
use crate::kernels::pass::Pass;
use crate::model::{InputRows, Item};
use crate::runtime::plan::Plan;
use crate::runtime::text::{Text, Write};

/// Writes how much of each adapter a text has, and, where a token is chosen after the prompt, what that needs.
pub(in crate::runtime) fn prepare(
    plan: &mut Plan<'_>,
    layout: Layout<'_>,
    (number, text): (usize, &mut Text),
    chooses: bool,
) {
    let scales = scale_words(text.adapters.iter().map(|(adapter, scale, from)| (adapter.slot, *scale, *from)));
    plan.write_at(layout.buffers.scales, (number * SEQUENCE_BYTES) as u64, bytemuck::cast_slice(&scales));
    if !chooses {
        return;
    }
    write_ends(plan, layout, &text.ends);
    for Write { part, bytes, .. } in text.take_all_writes() {
        plan.write(part, bytes);
    }
}

/// The rows of a pass over a prompt.
pub(in crate::runtime) struct Rows<'a> {
    pub ids: &'a [u32],
    pub position: usize,
    /// Whether the recurrent states are kept before the pass.
    pub keeps: bool,
    /// How many rows the pass has at least.
    pub least: usize,
}

/// Writes a pass over rows of a prompt, and where these lie on each axis.
pub(in crate::runtime) fn write_rows(
    plan: &mut Plan<'_>,
    layout: Layout<'_>,
    (number, text): (usize, &mut Text),
    Rows { ids, position, keeps, least }: Rows<'_>,
    held: &InputRows<Buffer>,
) {
    if keeps {
        states::keep(plan, layout, number, &mut text.positions);
    }
    axes::write(plan, layout, &mut text.positions.places, (ids, position), held);
    let mut pass = Pass::chunk(number as u32, position as u32, &Item::tokens(ids));
    pass.header.sequences[number].steps = text.steps;
    plan.write(layout.buffers.pass, pass.padded_to(least).bytes());
    text.positions.advance_to(position + ids.len());
}
