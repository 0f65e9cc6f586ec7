//! An embedder on the GPU. It runs batches of inputs, whose results stay on the GPU until a group of them is read at
//! once.

use std::cell::Cell;
use std::rc::Rc;

use super::model::GpuModel;
use super::pace::MIN_TOKENS;
use super::plans::BatchPlan;
use super::queue::Queue;
use crate::Result;
use crate::forward::Tables;
use crate::gpu::{Buffer, BufferTable, CommandList, Copy, Part};
use crate::kernels::pass::Pass;
use crate::kernels::spec::Slice;
use crate::model::program::Op;
use crate::model::{EncoderInput, Item, ModelConfig};
use crate::runtime::pass::batches;

/// Maximum size in bytes of the results that are read back at once.
const RESULT_BYTES: u64 = 16 << 20;

/// A model on the GPU that gives one result for each input as a whole.
pub struct GpuEmbedder {
    pub(in crate::runtime) model: Rc<GpuModel>,
    /// The model's buffers and the embedder's own.
    pub(in crate::runtime) table: BufferTable,
    pub(in crate::runtime) plan: BatchPlan,
    lists: Vec<Lists>,
}

/// The lists of [`BatchLists`](crate::forward::BatchLists), ready to run.
pub(in crate::runtime) struct Lists {
    most: usize,
    pub stages: Vec<CommandList>,
    pub rows: CommandList,
    pub inputs: CommandList,
}

impl GpuEmbedder {
    /// Makes an embedder whose buffers are in `table`.
    pub(in crate::runtime) fn assemble(model: Rc<GpuModel>, plan: BatchPlan, table: BufferTable) -> Result<Self> {
        let mut embedder = Self { model, table, plan, lists: Vec::new() };
        embedder.record_lists()?;
        for (slice, frequencies) in embedder.plan.buffers.frequencies.iter().zip(&embedder.model.frequencies) {
            embedder.write(*slice, bytemuck::cast_slice(frequencies));
        }
        Ok(embedder)
    }

    /// Records the lists of the plan.
    pub(in crate::runtime) fn record_lists(&mut self) -> Result<()> {
        let record = |dispatches: &[_]| CommandList::record(&self.model.device, dispatches, &self.table);
        let lists = self.plan.lists.iter().map(|of| {
            let stages = of.stages.iter().map(|stage| record(stage)).collect::<Result<_>>()?;
            Ok(Lists { most: of.most, stages, rows: record(&of.rows)?, inputs: record(&of.inputs)? })
        });
        self.lists = lists.collect::<Result<_>>()?;
        Ok(())
    }

    pub fn model(&self) -> &Rc<GpuModel> {
        &self.model
    }

    /// The model's configuration.
    pub fn config(&self) -> &ModelConfig {
        &self.model.config
    }

    /// Maximum number of tokens of an input.
    pub fn context_length(&self) -> usize {
        self.plan.context
    }

    /// Bytes that the embedder and its model take on the GPU.
    pub fn bytes(&self) -> u64 {
        self.table.bytes() + self.all_lists().map(CommandList::bytes).sum::<u64>()
    }

    /// Sorted ids of all kernel variants that the embedder and its model run.
    pub fn variants(&self) -> Vec<String> {
        self.model.variants_with(self.all_lists())
    }

    fn all_lists(&self) -> impl Iterator<Item = &CommandList> {
        self.lists.iter().flat_map(|lists| lists.stages.iter().chain([&lists.rows, &lists.inputs]))
    }

    /// The lists for a batch of `rows` rows.
    pub(in crate::runtime) fn lists_for(&self, rows: usize) -> &Lists {
        let fitting = self.lists.iter().find(|lists| rows <= lists.most);
        fitting.unwrap_or(&self.lists[self.lists.len() - 1])
    }

    /// Number of values that the model gives for each input.
    pub(in crate::runtime) fn width(&self) -> usize {
        self.model.program.width(self.model.program.output_activation())
    }

    /// Runs inputs; returns `[inputs, width]` values, or `None` where `stop` was set before all was submitted. Each
    /// input must have between 1 and [`Self::context_length`] tokens.
    ///
    /// # Errors
    /// `invalid_argument` for a row that nobody holds; `device_lost` and `out_of_memory` as the browser reports them.
    pub async fn embed(&mut self, inputs: &[&[u32]], stop: &Cell<bool>) -> Result<Option<Vec<f32>>> {
        let bytes = self.width() as u64 * 4;
        let at_once = usize::try_from(RESULT_BYTES / bytes).unwrap_or(1).max(1);
        let mut found = Vec::with_capacity(inputs.len() * self.width());
        for group in inputs.chunks(at_once) {
            let device = self.model.device.clone();
            let results = device.storage_buffer("results", group.len() as u64 * bytes)?;
            if !self.run(group, &results, stop).await? {
                return Ok(None);
            }
            let values = device.read(&results, 0, group.len() as u64 * bytes).await?;
            found.extend(bytemuck::pod_collect_to_vec::<u8, f32>(&values));
        }
        Ok(Some(found))
    }

    /// Encodes an image or a tile to rows `[outputs, width]`, followed by as many for each deeper layer that takes
    /// rows, whose bytes `take` gets in pieces; `false` where `stop` was set before all was submitted.
    ///
    /// # Errors
    /// The errors of [`EncoderInput::check`]; `device_lost` and `out_of_memory` as the browser reports them.
    pub async fn encode(
        &mut self,
        input: &EncoderInput,
        stop: &Cell<bool>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<bool> {
        input.check(&self.model.program, self.plan.context)?;
        let parts = 1 + self.model.program.sides.len() as u64;
        let bytes = parts * input.outputs as u64 * self.width() as u64 * 4;
        let device = self.model.device.clone();
        let results = device.storage_buffer("rows of an image", bytes.max(16))?;
        if !self.run_image(input, &results, stop).await {
            return Ok(false);
        }
        device.read_pieces(&results, 0, bytes, take).await?;
        Ok(true)
    }

    /// Writes the inputs of an encoder behind the pass.
    pub(in crate::runtime) fn write_image(&self, input: &EncoderInput) {
        let buffers = &self.plan.buffers;
        if let Some(Op::Input { y }) = self.model.program.embed.first() {
            self.write(buffers.places.embed.of(*y).slice, bytemuck::cast_slice(&input.patches));
        }
        let Some(tables) = &buffers.tables else { return };
        let own = [(tables.places, &input.places), (tables.groups, &input.groups)].into_iter();
        for (([pass, spans], _), fold) in tables.folds.iter().zip(&input.folds) {
            self.write(*pass, &Pass::chunk(0, 0, &vec![0; fold.rows]).bytes());
            self.write(*spans, bytemuck::cast_slice(&[0, fold.rows as u32]));
        }
        let folds = tables.folds.iter().zip(&input.folds).map(|((_, slices), fold)| (*slices, &fold.taps));
        for (slice, values) in own.chain(folds).flat_map(|(slices, values)| slices.into_iter().zip(values)) {
            self.write(slice, bytemuck::cast_slice(values));
        }
        let marked = input.breaks.len() / tables.breaks.len().max(1);
        for (slices, marks) in tables.breaks.iter().zip(input.breaks.chunks(marked.max(1))) {
            self.write(slices[1], bytemuck::cast_slice(marks));
        }
        let program = &self.model.program;
        self.write_repeats(input, tables);
        let mut turns = tables.turns;
        for op in &program.embed {
            if let Op::Angles { before, y } = *op {
                turns = buffers.places.embed.of(y).slice;
                let [first, count] = [before, program.width(y)].map(|width| width * input.rows);
                let own = input.turns.get(first..first + count).unwrap_or_default();
                self.write(turns, bytemuck::cast_slice(own));
            }
        }
        if turns == tables.turns {
            self.write(turns, bytemuck::cast_slice(&input.turns));
        }
        let parts: Vec<Vec<u32>> = input.parts.iter().map(|&rows| vec![0; rows as usize]).collect();
        let parts: Vec<&[u32]> = parts.iter().map(Vec::as_slice).collect();
        if !parts.is_empty() {
            self.write(tables.parts[0], &Pass::batch(&parts).bytes());
            self.write(tables.parts[1], bytemuck::cast_slice(&Pass::spans(&parts)));
        }
    }

    /// Writes which rows of tables are repeated.
    fn write_repeats(&self, input: &EncoderInput, tables: &Tables) {
        let program = &self.model.program;
        for (op, [rows, weights]) in program.repeats().zip(&tables.repeats) {
            let &Op::Repeat { rows: count, .. } = op else { continue };
            let most = input.rows.max(input.outputs);
            let indices: Vec<u32> = (0..most).map(|row| (row % count) as u32).collect();
            self.write(*rows, bytemuck::cast_slice(&indices));
            self.write(*weights, bytemuck::cast_slice(&vec![1.0_f32; most]));
        }
    }

    /// Measures how long a batch takes, so that long ones can be cut into several submits.
    pub(in crate::runtime) async fn measure_pace(&self) -> Result<()> {
        let tokens = MIN_TOKENS.min(self.plan.context);
        self.begin_batch(&[&vec![0; tokens]]);
        Queue::measure(&self.model, &self.lists_for(tokens).rows, tokens).await
    }

    pub(in crate::runtime) fn write(&self, slice: Slice, bytes: &[u8]) {
        self.model.device.write(self.table.get(slice.buffer), slice.offset, bytes);
    }

    /// Runs `inputs` batch by batch, and leaves the results in `results`, `[inputs, width]`. False where `stop` was set
    /// before all was submitted.
    ///
    /// # Errors
    /// `invalid_argument` for a row that nobody holds.
    pub(in crate::runtime) async fn run(&self, inputs: &[&[u32]], results: &Buffer, stop: &Cell<bool>) -> Result<bool> {
        let (row, source) = (self.width() as u64 * 4, self.plan.pooled);
        let mut queue = Queue::new(&self.model);
        let mut offset = 0;
        for batch in batches(inputs, self.plan.buffers.chunk) {
            let tokens = self.begin_batch(batch);
            let lists = self.lists_for(tokens);
            let from = self.enter_rows(batch, lists, tokens)?;
            if !queue.run_list((&lists.rows, from), tokens, stop).await || stop.get() {
                return Ok(false);
            }
            let bytes = batch.len() as u64 * row;
            let (source, source_offset) = (self.table.get(source.buffer), source.offset);
            let copy = Copy { source, source_offset, target: results, offset, bytes };
            self.model.device.submit([Part::from(&lists.inputs)], batch.len() as u32, Some(&copy));
            offset += bytes;
        }
        Ok(true)
    }

    /// Where a batch holds rows beside tokens: writes the embeddings, and copies the rows over the embeddings in their
    /// places. Returns how many dispatches ran.
    fn enter_rows(&self, batch: &[&[u32]], lists: &Lists, tokens: usize) -> Result<usize> {
        let runs = self.model.input_rows.runs(&batch.concat())?;
        if runs.is_empty() {
            return Ok(0);
        }
        let (device, range) = (&self.model.device, 0..self.plan.embeddings);
        device.submit([Part { list: &lists.rows, range: range.clone() }], tokens as u32, None);
        let to = self.plan.buffers.places.embed.of(self.model.program.residual()).slice;
        let row = self.model.config.row_width() as u64 * 4;
        device.copy(runs.iter().map(|run| Copy {
            source: &run.data,
            source_offset: run.row as u64 * row,
            target: self.table.get(to.buffer),
            offset: to.offset + run.at as u64 * row,
            bytes: run.count as u64 * row,
        }));
        Ok(range.end)
    }

    /// Encodes an image or a tile, and leaves its rows in `results`: `[outputs, width]`, then as many for each deeper
    /// layer that takes rows. False where `stop` was set before all was submitted.
    pub(in crate::runtime) async fn run_image(
        &self,
        input: &EncoderInput,
        results: &Buffer,
        stop: &Cell<bool>,
    ) -> bool {
        let (tokens, outputs) = (input.rows, input.outputs);
        self.begin_image(input);
        let lists = self.lists_for(tokens.max(outputs));
        for (stage, rows) in lists.stages.iter().zip(input.rows_of_stages()) {
            self.model.device.submit([Part::from(stage)], rows as u32, None);
        }
        let mut queue = Queue::new(&self.model);
        if !queue.run_list((&lists.rows, 0), tokens, stop).await || stop.get() {
            return false;
        }
        let source = self.plan.pooled;
        let bytes = outputs as u64 * self.width() as u64 * 4;
        let (source, source_offset) = (self.table.get(source.buffer), source.offset);
        let copy = Copy { source, source_offset, target: results, offset: 0, bytes };
        self.model.device.submit([Part::from(&lists.inputs)], outputs as u32, Some(&copy));
        let sides = self.model.program.sides.iter().map(|&side| self.plan.buffers.places.head.of(side).slice);
        self.model.device.copy(sides.zip(1..).map(|(side, part)| Copy {
            source: self.table.get(side.buffer),
            source_offset: side.offset,
            target: results,
            offset: part * bytes,
            bytes,
        }));
        true
    }

    /// Writes a pass over what an encoder reads.
    pub(in crate::runtime) fn begin_image(&self, input: &EncoderInput) {
        self.begin_batch(&[&vec![0; input.rows]]);
        self.write(self.plan.buffers.inputs.pass, &Pass::chunk(0, 0, &vec![0; input.outputs]).bytes());
        self.write_image(input);
    }

    /// Writes a pass over a batch; returns its number of rows.
    pub(in crate::runtime) fn begin_batch(&self, batch: &[&[u32]]) -> usize {
        let tokens: Vec<Vec<u32>> = batch.iter().map(|ids| Item::tokens(ids)).collect();
        let pass = Pass::batch(&tokens.iter().map(Vec::as_slice).collect::<Vec<_>>());
        self.write(self.plan.buffers.pass, &pass.bytes());
        self.write(self.plan.buffers.inputs.spans, bytemuck::cast_slice(&Pass::spans(batch)));
        let of_inputs = Pass::chunk(0, 0, &vec![0; batch.len()]);
        self.write(self.plan.buffers.inputs.pass, &of_inputs.bytes());
        pass.rows.len()
    }
}
