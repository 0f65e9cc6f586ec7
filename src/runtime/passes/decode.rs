//! Decode passes: the last token of each sequence, through the layers to the choice of the next one.

use super::layout::Layout;
use crate::forward::MAX_STOPS;
use crate::runtime::plan::{Form, List, Plan, Read};
use crate::runtime::session::Choosing;

/// A decode pass, whose rows lie on the GPU.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct Decode {
    pub form: Form,
    pub choosing: Choosing,
    /// Whether the layers have run already.
    pub started: bool,
}

/// Runs a decode pass and reads its outcome back.
pub(in crate::runtime) fn decode(plan: &mut Plan<'_>, layout: Layout<'_>, of: Decode) {
    let (rows, set) = (of.form.rows(), of.form.set());
    if !of.started {
        plan.run(set, List::Decode, rows);
    }
    if of.choosing.logits {
        // Bias and penalties change the logits in place.
        let bytes = (rows * layout.config.vocab * 4) as u64;
        plan.read(layout.buffers.logits, Read::Logits, Some(bytes));
    }
    choose(plan, of);
    let sample = &layout.buffers.sample;
    plan.read(if of.form.is_draft() { sample.drafts.report } else { layout.buffers.pass }, Read::Outcome, None);
}

/// Writes the ids at which the GPU stops a sequence, at most [`MAX_STOPS`].
pub(in crate::runtime) fn write_ends(plan: &mut Plan<'_>, layout: Layout<'_>, ends: &[u32]) {
    let ends = &ends[..ends.len().min(MAX_STOPS)];
    let words: Vec<u32> = std::iter::once(ends.len() as u32).chain(ends.iter().copied()).collect();
    plan.write(layout.buffers.sample.stops, bytemuck::cast_slice(&words));
}

/// Chooses a token for each row from its logits.
pub(in crate::runtime) fn choose(plan: &mut Plan<'_>, Decode { form, choosing, .. }: Decode) {
    if choosing.biased {
        plan.run(form.set(), List::Bias, form.rows());
    }
    plan.run(form.set(), if choosing.greedy { List::Greedy } else { List::Sample }, form.rows());
}
