//! Rows of prompts that are no tokens, such as rows of images: copies into the passes that read them.

use super::layout::Layout;
use crate::forward::Forward;
use crate::gpu::Buffer;
use crate::model::InputRun;
use crate::model::program::Op;
use crate::runtime::plan::{Place, Plan};

/// Number of dispatches at the start of a command list that write the embeddings of tokens.
pub(in crate::runtime) fn embeddings(of: &Forward<'_>) -> usize {
    let Some(Op::Embed { table, .. }) = of.program.embed.first() else { return 0 };
    let adapters = of.adapters.iter().flat_map(|of| of.all).filter(|adapter| adapter.group(*table).is_some());
    let gathered = match &of.weights.row_cache {
        Some(cache) if cache.key == *table => 1 + cache.slots.shards.len(),
        _ => usize::from(of.program.switch.is_some()) + of.weights.tables[table].shards.len(),
    };
    gathered + 2 * adapters.count()
}

/// Copies prompt rows over the embeddings of their placeholders.
pub(in crate::runtime) fn enter<'a>(plan: &mut Plan<'a>, layout: Layout<'_>, runs: &'a [InputRun<Buffer>]) {
    let (row, to) = (layout.row_bytes(), layout.buffers.places.embed.of(layout.program.residual()).slice);
    for run in runs {
        let from = Place::from(&*run.data).after(run.row as u64 * row);
        plan.copy(from, Place::from(to).after(run.at as u64 * row), run.count as u64 * row);
    }
}

/// Copies the rows for deeper layers to where these layers read them.
pub(in crate::runtime) fn enter_deep<'a>(plan: &mut Plan<'a>, layout: Layout<'_>, runs: &'a [InputRun<Buffer>]) {
    let row = layout.row_bytes();
    for (deep, x) in layout.program.inputs().into_iter().enumerate() {
        let to = Place::from(layout.buffers.places.embed.of(x).slice);
        for run in runs {
            let from = Place::from(&*run.data).after(((1 + deep) * run.of + run.row) as u64 * row);
            plan.copy(from, to.after(run.at as u64 * row), run.count as u64 * row);
        }
    }
}

/// Overwrites the rows for deeper layers with zeros again, for decode passes.
pub(in crate::runtime) fn clear_deep(plan: &mut Plan<'_>, layout: Layout<'_>, runs: &[InputRun<Buffer>]) {
    let row = layout.row_bytes();
    for x in layout.program.inputs() {
        let to = layout.buffers.places.embed.of(x).slice;
        for run in runs {
            plan.write_at(to, run.at as u64 * row, vec![0; run.count * row as usize]);
        }
    }
}
