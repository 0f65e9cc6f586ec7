//! Passes over the rows of a prompt.

use std::ops::Range;

use super::decode::{Decode, choose};
use super::layout::Layout;
use super::{block, rows};
use crate::gpu::Buffer;
use crate::kernels::accept_drafts::DRAFT_ROWS;
use crate::kernels::pass::Pass;
use crate::model::{InputRun, WholeImages, whole_images};
use crate::runtime::pass::Chunk;
use crate::runtime::plan::{Form, List, LongPass, Place, Plan, Read, Run, Set};
use crate::runtime::session::Choosing;

/// What is wanted of a pass over a prompt.
#[derive(Clone, Copy)]
pub(in crate::runtime) enum Ends<'a> {
    /// What the caches and states have of its rows.
    Caches,
    /// The layers of its last row, too.
    Layers,
    /// The token that follows, read back.
    Token(Choosing),
    /// The hidden states of its rows, `[rows, hidden]`, in a buffer from this byte on.
    Hidden(&'a Buffer, u64),
    /// The logits of its rows.
    Logits,
}

/// The recorded lists that a pass over a prompt runs, as far as their lengths matter.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Lengths {
    /// Dispatches at the start of a list that write embeddings.
    pub embeddings: usize,
    /// Dispatches of [`List::Prefill`], of which the first `kept` bring all that caches and states need.
    pub prefill: usize,
    pub kept: usize,
    /// Whether logits of all rows come from a list without rounding.
    pub is_exact: bool,
}

/// A pass over the rows of a prompt.
pub(in crate::runtime) struct Prefill<'a> {
    pub pass: LongPass<'a>,
    /// At the end, even where the pass was given up half-way.
    pub always: Plan<'a>,
}

/// A pass over the rows of a chunk of a sequence, which must be written.
pub(in crate::runtime) fn prefill<'a>(
    layout: Layout<'_>,
    (number, chunk): (usize, &Chunk),
    runs: &'a [InputRun<Buffer>],
    (ends, of): (Ends<'a>, Lengths),
) -> Prefill<'a> {
    let tokens = chunk.rows.len();
    let (mut before, mut then, mut always) = (Plan::default(), Plan::default(), Plan::default());
    let list = if matches!(ends, Ends::Logits) && of.is_exact { List::ExactPrefill } else { List::Prefill };
    block::carry(&mut before, layout, (number, tokens));
    let from = embed(&mut before, layout, (list, tokens), (runs, of.embeddings));
    rows::enter_deep(&mut before, layout, runs);
    then.run(Set::Rows(1), List::Follow, tokens);
    block::keep(&mut then, layout, number);
    let choosing = |choosing| Decode { form: Form::Rows(1), choosing, started: true };
    match ends {
        Ends::Token(how) => {
            then.run(Set::Rows(1), List::Head, tokens);
            choose(&mut then, choosing(how));
            then.read(layout.buffers.pass, Read::Outcome, None);
        }
        Ends::Hidden(target, offset) => keep_hidden(&mut then, layout, Place::from(target).after(offset), tokens),
        Ends::Logits => then.run(Set::Rows(1), List::HeadOfAll, tokens),
        Ends::Caches | Ends::Layers => {}
    }
    rows::clear_deep(&mut always, layout, runs);
    // A chunk in the middle of a prompt leaves nothing but what the caches and states have of it.
    let end = if matches!(ends, Ends::Caches) { of.kept } else { of.prefill };
    let layers = Run { set: Set::Rows(1), list, range: from..end, rows: tokens };
    Prefill { pass: LongPass { before, layers, then }, always }
}

/// The layers of a pass of one row by the decode list. Its row must be written.
pub(in crate::runtime) fn single<'a>(
    plan: &mut Plan<'a>,
    layout: Layout<'_>,
    runs: &'a [InputRun<Buffer>],
    of: Lengths,
) {
    let from = embed(plan, layout, (List::Decode, 1), (runs, of.embeddings));
    plan.run_part(Run { set: Set::Rows(1), list: List::Decode, range: from..usize::MAX, rows: 1 });
}

/// Copies the hidden states of the rows of a pass.
pub(in crate::runtime) fn keep_hidden<'a>(plan: &mut Plan<'a>, layout: Layout<'_>, target: Place<'a>, rows: usize) {
    let source = layout.buffers.places.head.of(layout.program.residual()).slice;
    plan.copy(source, target, rows as u64 * layout.row_bytes());
}

/// The layers of a pass of a few rows, as far as the caches need them: the first `kept` dispatches.
pub(in crate::runtime) fn few(plan: &mut Plan<'_>, kept: usize) {
    plan.run_part(Run { set: Set::Draft(DRAFT_ROWS), list: List::Decode, range: 0..kept, rows: DRAFT_ROWS });
}

/// Writes the embeddings of tokens where prompt rows go over them. Returns how many dispatches ran.
fn embed<'a>(
    plan: &mut Plan<'a>,
    layout: Layout<'_>,
    (list, tokens): (List, usize),
    (runs, embeddings): (&'a [InputRun<Buffer>], usize),
) -> usize {
    if runs.is_empty() {
        return 0;
    }
    plan.run_part(Run { set: Set::Rows(1), list, range: 0..embeddings, rows: tokens });
    rows::enter(plan, layout, runs);
    embeddings
}

/// Says which rows of a chunk belong to an image whose rows see each other.
pub(in crate::runtime) fn see_image(
    plan: &mut Plan<'_>,
    layout: Layout<'_>,
    chunk: &Range<usize>,
    images: &[Range<usize>],
) {
    let Some(image) = images.iter().find(|image| image.start < chunk.end && image.end > chunk.start) else { return };
    let row = |at: usize| (at.clamp(chunk.start, chunk.end) - chunk.start) as u32;
    let [first, end] = [row(image.start), row(image.end)];
    let is_everywhere = whole_images(layout.config) == WholeImages::Always;
    let seen = [first, if is_everywhere { end } else { end | Pass::SEEN_IN_WINDOWS }];
    plan.write(layout.buffers.pass.after(Pass::SEEN), bytemuck::cast_slice(&seen));
}
