//! An embedder on the GPU. It runs batches of inputs, whose results stay on the GPU until a group of them is read at
//! once.

use std::cell::Cell;
use std::rc::Rc;

use super::execute::{Names, execute};
use super::lists::FindList;
use super::model::GpuModel;
use super::pace::MIN_TOKENS;
use super::plans::BatchPlan;
use super::queue::Queue;
use crate::Result;
use crate::gpu::{Buffer, BufferTable, CommandList};
use crate::model::{EncoderInput, ModelConfig};
use crate::runtime::pass::batches;
use crate::runtime::passes::batch::{self, Batches, ImagePass};
use crate::runtime::passes::layout::Layout;
use crate::runtime::plan::{List, LongPass, Place, Plan, Set};

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
    pub stages: Vec<CommandList>,
    pub rows: CommandList,
    pub inputs: CommandList,
}

impl GpuEmbedder {
    /// Makes an embedder whose buffers are in `table`.
    pub(in crate::runtime) fn assemble(model: Rc<GpuModel>, plan: BatchPlan, table: BufferTable) -> Result<Self> {
        let mut embedder = Self { model, table, plan, lists: Vec::new() };
        embedder.record_lists()?;
        let mut plan = Plan::default();
        for (slice, frequencies) in embedder.plan.buffers.frequencies.iter().zip(&embedder.model.frequencies) {
            plan.write(*slice, bytemuck::cast_slice(frequencies));
        }
        embedder.execute(&plan);
        Ok(embedder)
    }

    /// Records the lists of the plan.
    pub(in crate::runtime) fn record_lists(&mut self) -> Result<()> {
        let record = |dispatches: &[_]| CommandList::record(&self.model.device, dispatches, &self.table);
        let lists = self.plan.lists.iter().map(|of| {
            let stages = of.stages.iter().map(|stage| record(stage)).collect::<Result<_>>()?;
            Ok(Lists { stages, rows: record(&of.rows)?, inputs: record(&of.inputs)? })
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
        let ImagePass { stages, pass } = batch::image(self.batches(), input, Place::from(&results));
        stages.iter().for_each(|stage| self.execute(stage));
        if !self.run_pass(&mut Queue::new(&self.model), pass, stop).await? {
            return Ok(false);
        }
        device.read_pieces(&results, 0, bytes, take).await?;
        Ok(true)
    }

    /// Measures how long a batch takes, so that long ones can be cut into several submits.
    pub(in crate::runtime) async fn measure_pace(&self) -> Result<()> {
        let tokens = MIN_TOKENS.min(self.plan.context);
        let mut plan = Plan::default();
        batch::begin(&mut plan, self.layout(), &[&vec![0; tokens]], 1);
        self.execute(&plan);
        let layers = self.lists.find(self.batches().set(tokens), List::Batch);
        Queue::measure(&self.model, layers.expect("it is recorded"), tokens).await
    }

    /// What plans are made from.
    pub(in crate::runtime) fn layout(&self) -> Layout<'_> {
        Layout { config: &self.model.config, program: &self.model.program, buffers: &self.plan.buffers }
    }

    fn batches(&self) -> Batches<'_> {
        let BatchPlan { pooled, embeddings, .. } = self.plan;
        Batches { layout: self.layout(), small: self.plan.lists[0].most, pooled, embeddings }
    }

    /// Executes a plan that reads nothing back.
    pub(in crate::runtime) fn execute(&self, plan: &Plan<'_>) {
        execute(&self.model.device, Names { table: &self.table, lists: &self.lists }, plan);
    }

    /// Runs `inputs` batch by batch, and leaves the results in `results`, `[inputs, width]`. False where `stop` was set
    /// before all was submitted.
    ///
    /// # Errors
    /// `invalid_argument` for a row that nobody holds.
    async fn run(&self, inputs: &[&[u32]], results: &Buffer, stop: &Cell<bool>) -> Result<bool> {
        let mut queue = Queue::new(&self.model);
        let mut offset = 0;
        for batch in batches(inputs, self.plan.buffers.chunk) {
            let runs = self.model.input_rows.runs(&batch.concat())?;
            let pass = batch::texts(self.batches(), batch, &runs, Place::from(results).after(offset));
            if !self.run_pass(&mut queue, pass, stop).await? {
                return Ok(false);
            }
            offset += batch.len() as u64 * self.width() as u64 * 4;
        }
        Ok(true)
    }

    /// Submits a pass. False where `stop` was set meanwhile.
    async fn run_pass(&self, queue: &mut Queue, pass: LongPass<'_>, stop: &Cell<bool>) -> Result<bool> {
        let len = self.lists.find(pass.layers.set, List::Batch).map_or(0, CommandList::len);
        let execute = |part: &Plan<'_>| {
            self.execute(part);
            Ok(())
        };
        Ok(queue.run((pass, len), stop, execute).await? && !stop.get())
    }
}

/// The lists of small batches, then the lists of large ones.
impl FindList for Vec<Lists> {
    fn find(&self, set: Set, list: List) -> Option<&CommandList> {
        let lists = self.get(usize::from(set == Set::LargeBatch))?;
        match list {
            List::Stage(stage) => lists.stages.get(stage),
            List::Batch => Some(&lists.rows),
            List::Inputs => Some(&lists.inputs),
            _ => None,
        }
    }
}
