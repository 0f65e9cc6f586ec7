//! Passes of embedders over batches of texts, and of encoders over an image or a sound.

use super::layout::Layout;
use super::rows;
use crate::forward::Tables;
use crate::gpu::Buffer;
use crate::kernels::pass::Pass;
use crate::kernels::spec::Slice;
use crate::model::program::Op;
use crate::model::{EncoderInput, InputRun, Item};
use crate::runtime::plan::{List, LongPass, Place, Plan, Run, Set};

/// What the passes of an embedder are made from.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Batches<'a> {
    pub layout: Layout<'a>,
    /// Maximum number of rows of a small batch.
    pub small: usize,
    /// The results of a batch, `[inputs, width]`.
    pub pooled: Slice,
    /// Dispatches at the start of the layers that write embeddings.
    pub embeddings: usize,
}

impl Batches<'_> {
    /// The lists for a batch of `rows` rows.
    pub fn set(&self, rows: usize) -> Set {
        if rows <= self.small { Set::SmallBatch } else { Set::LargeBatch }
    }

    /// Bytes of the result of an input.
    fn result_bytes(&self) -> u64 {
        let program = self.layout.program;
        program.width(program.output_activation()) as u64 * 4
    }
}

/// Writes a pass over a batch that has `outputs` results; returns its number of rows.
pub(in crate::runtime) fn begin(plan: &mut Plan<'_>, layout: Layout<'_>, batch: &[&[u32]], outputs: usize) -> usize {
    let tokens: Vec<Vec<u32>> = batch.iter().map(|ids| Item::tokens(ids)).collect();
    let pass = Pass::batch(&tokens.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let buffers = layout.buffers;
    plan.write(buffers.pass, pass.bytes());
    plan.write(buffers.inputs.spans, bytemuck::cast_slice(&Pass::spans(batch)));
    plan.write(buffers.inputs.pass, Pass::chunk(0, 0, &vec![0; outputs]).bytes());
    pass.rows.len()
}

/// A pass over a batch of texts, whose results go to a place. `runs`: the rows in them that are no tokens.
pub(in crate::runtime) fn texts<'a>(
    of: Batches<'_>,
    batch: &[&[u32]],
    runs: &'a [InputRun<Buffer>],
    results: Place<'a>,
) -> LongPass<'a> {
    let (mut before, mut then) = (Plan::default(), Plan::default());
    let rows = begin(&mut before, of.layout, batch, batch.len());
    let set = of.set(rows);
    let mut from = 0;
    if !runs.is_empty() {
        from = of.embeddings;
        before.run_part(Run { set, list: List::Batch, range: 0..from, rows });
        rows::enter(&mut before, of.layout, runs);
    }
    then.run(set, List::Inputs, batch.len());
    then.copy(of.pooled, results, batch.len() as u64 * of.result_bytes());
    LongPass { before, layers: Run { set, list: List::Batch, range: from..usize::MAX, rows }, then }
}

/// A pass over an image or a sound.
pub(in crate::runtime) struct ImagePass<'a> {
    /// Before all, then each stage before the last: what goes to the device at once.
    pub stages: Vec<Plan<'a>>,
    /// The last stage, and the layers.
    pub pass: LongPass<'a>,
}

/// A pass over an image or a sound, which leaves `[outputs, width]` values in `results`, then as many for each deeper
/// layer that takes rows.
pub(in crate::runtime) fn image<'a>(of: Batches<'_>, input: &EncoderInput, results: Place<'a>) -> ImagePass<'a> {
    let (layout, outputs) = (of.layout, input.outputs);
    let set = of.set(input.rows.max(outputs));
    let mut stages = vec![Plan::default()];
    begin_image(&mut stages[0], layout, input);
    let before_last = input.rows_of_stages().take(input.folds.len());
    stages.extend(before_last.enumerate().map(|(stage, rows)| {
        let mut plan = Plan::default();
        plan.run(set, List::Stage(stage), rows);
        plan
    }));
    let (before, mut then) = (Plan::default(), Plan::default());
    then.run(set, List::Inputs, outputs);
    let bytes = outputs as u64 * of.result_bytes();
    let sides = layout.program.sides.iter().map(|&side| layout.buffers.places.head.of(side).slice);
    for (part, source) in [of.pooled].into_iter().chain(sides).enumerate() {
        then.copy(source, results.after(part as u64 * bytes), bytes);
    }
    let layers = Run { set, list: List::Batch, range: 0..usize::MAX, rows: input.rows };
    ImagePass { stages, pass: LongPass { before, layers, then } }
}

/// Writes a pass over what an encoder reads, and its tables.
pub(in crate::runtime) fn begin_image(plan: &mut Plan<'_>, layout: Layout<'_>, input: &EncoderInput) {
    let buffers = layout.buffers;
    begin(plan, layout, &[&vec![0; input.rows]], input.outputs);
    if input.position > 0 {
        plan.write(buffers.pass, Pass::chunk(0, input.position as u32, &vec![0; input.rows]).bytes());
    }
    if let Some(Op::Input { y }) = layout.program.embed.first() {
        plan.write(buffers.places.embed.of(*y).slice, bytemuck::cast_slice(&input.patches));
    }
    let Some(tables) = &buffers.tables else { return };
    let own = [(tables.places, &input.places), (tables.groups, &input.groups)].into_iter();
    let own = own.chain(tables.later.iter().copied().zip(&input.later));
    for (([pass, spans], _), fold) in tables.folds.iter().zip(&input.folds) {
        plan.write(*pass, Pass::chunk(0, 0, &vec![0; fold.rows]).bytes());
        plan.write(*spans, bytemuck::cast_slice(&[0, fold.rows as u32]));
    }
    let folds = tables.folds.iter().zip(&input.folds).map(|((_, slices), fold)| (*slices, &fold.taps));
    for (slice, values) in own.chain(folds).flat_map(|(slices, values)| slices.into_iter().zip(values)) {
        plan.write(slice, bytemuck::cast_slice(values));
    }
    let marked = input.breaks.len() / tables.breaks.len().max(1);
    for (slices, marks) in tables.breaks.iter().zip(input.breaks.chunks(marked.max(1))) {
        plan.write(slices[1], bytemuck::cast_slice(marks));
    }
    write_repeats(plan, layout, (input, tables));
    write_turns(plan, layout, (input, tables));
    let parts: Vec<Vec<u32>> = input.parts.iter().map(|&rows| vec![0; rows as usize]).collect();
    let parts: Vec<&[u32]> = parts.iter().map(Vec::as_slice).collect();
    if !parts.is_empty() {
        plan.write(tables.parts[0], Pass::batch(&parts).bytes());
        plan.write(tables.parts[1], bytemuck::cast_slice(&Pass::spans(&parts)));
    }
}

/// Writes the angles of the rows, each where an operation computes with them or in a table for all.
fn write_turns(plan: &mut Plan<'_>, layout: Layout<'_>, (input, tables): (&EncoderInput, &Tables)) {
    let program = layout.program;
    let mut turns = tables.turns;
    for op in &program.embed {
        if let Op::Angles { before, y } = *op {
            turns = layout.buffers.places.embed.of(y).slice;
            let [first, count] = [before, program.width(y)].map(|width| width * input.rows);
            let own = input.turns.get(first..first + count).unwrap_or_default();
            plan.write(turns, bytemuck::cast_slice(own));
        }
    }
    if turns == tables.turns {
        plan.write(turns, bytemuck::cast_slice(&input.turns));
    }
}

/// Writes which rows of tables are repeated.
fn write_repeats(plan: &mut Plan<'_>, layout: Layout<'_>, (input, tables): (&EncoderInput, &Tables)) {
    for (op, [rows, weights]) in layout.program.repeats().zip(&tables.repeats) {
        let &Op::Repeat { rows: count, .. } = op else { continue };
        let most = input.rows.max(input.outputs);
        let indices: Vec<u32> = (0..most).map(|row| (row % count) as u32).collect();
        plan.write(*rows, bytemuck::cast_slice(&indices));
        plan.write(*weights, bytemuck::cast_slice(&vec![1.0_f32; most]));
    }
}
