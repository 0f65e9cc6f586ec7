//! Passes over the source that a text attends to: its rows through the encoder, then the keys and values of each layer.

use super::layout::Layout;
use crate::kernels::pass::Pass;
use crate::runtime::plan::{List, LongPass, Plan, Run, Set};

/// A pass over the source of a text, one of `texts`: the encoder, then the keys and values of this text's part of the
/// caches. `keys`: dispatches of [`List::Keys`], which serves each text in
/// turn. `None` for a model without an encoder.
pub(in crate::runtime) fn read(
    layout: Layout<'_>,
    (number, texts): (usize, usize),
    ids: &[u32],
    keys: usize,
) -> Option<LongPass<'static>> {
    let source = layout.buffers.source.as_ref()?;
    let (mut before, mut then) = (Plan::default(), Plan::default());
    before.write(source.encoder.pass, Pass::batch(&[ids]).bytes());
    before.write(source.encoder.inputs.spans, bytemuck::cast_slice(&Pass::spans(&[ids])));
    let (set, rows, own) = (Set::Rows(1), ids.len(), keys / texts);
    then.run_part(Run { set, list: List::Keys, range: number * own..(number + 1) * own, rows });
    Some(LongPass { before, layers: Run { set, list: List::Source, range: 0..usize::MAX, rows }, then })
}

/// Writes where the keys and values of each text lie. What has none attends to a row of zeros. `sources`: rows of the
/// source of each text.
pub(in crate::runtime) fn write_spans(plan: &mut Plan<'_>, layout: Layout<'_>, sources: &[usize]) {
    let Some(source) = &layout.buffers.source else { return };
    let span = |(of, &rows): (usize, &usize)| [of * source.rows, of * source.rows + rows.max(1)].map(|row| row as u32);
    let spans: Vec<[u32; 2]> = sources.iter().enumerate().map(span).collect();
    plan.write(source.spans, bytemuck::cast_slice(&spans));
}
