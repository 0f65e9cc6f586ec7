//! Builds a model on the GPU from tensors in file order: slices of raw rows go to a staging buffer, from which a repack
//! kernel packs them.

use std::collections::{BTreeSet, HashMap};
use std::future::Ready;
use std::rc::Rc;

use super::encoder_check::lists_of_encoder;
use super::made::{GpuRun, TensorSlice};
use super::self_check::{Sampler, check_key, lists_of_session};
use super::staging::{RowRange, Staging};
use super::tuning::Tuning;
use super::verdict::SelfCheck;
use crate::forward::{Forward, Plan, Room, RowRun, Target, place};
use crate::gguf::{TensorInfo, dequantize, row_bytes};
use crate::gpu::{Ahead, Buffer, BufferTable, Device};
use crate::kernels::caps::Caps;
use crate::kernels::repack::staging_bytes;
use crate::kernels::rope::{Frequencies, Yarn};
use crate::kernels::spec::BufferId;
use crate::kernels::tuned::Tuned;
use crate::model::program::{Output, RopeTable};
use crate::model::{ModelConfig, WeightKey, WeightSpec, rounded_kernel};
use crate::runtime::gpu::embedder::GpuEmbedder;
use crate::runtime::gpu::model::GpuModel;
use crate::runtime::gpu::pace::Pace;
use crate::runtime::gpu::plans::{BatchPlan, RunPlan, SessionPlan};
use crate::runtime::gpu::row_cache::{RowSource, Rows};
use crate::runtime::gpu::session::GpuSession;
use crate::runtime::gpu::slots::Slots;
use crate::{Error, Result};

/// Maximum number of bytes of a slice of a tensor, unless one row has more.
const SLICE: u64 = 8 << 20;

/// A model that is being loaded: its buffers exist, its tensors are still to come.
pub struct GpuModelBuilder<'a> {
    model: GpuModel,
    tensors: &'a [TensorInfo],
    /// Where each tensor goes; `None` for one that the model does not use.
    targets: Vec<Option<Target>>,
    staging: BufferId,
    /// Values of tensors that the host keeps until the model is made.
    kept: HashMap<WeightKey, Vec<f32>>,
    /// Number of positions of the context.
    context: usize,
    /// The first session, or the embedder. It is planned at once, so that what is too large fails before anything is
    /// read.
    run: RunPlan,
    run_table: BufferTable,
    /// The pipelines of `run`, which compile while tensors arrive.
    pipelines: Ahead,
    matched: Vec<(usize, WeightSpec)>,
    check: Check,
}

/// What is done about kernels that may be wrong on this device.
enum Check {
    Skipped,
    /// Kernels are checked, with these samples of the weights.
    Sampled(Sampler),
    /// Variants that were found to be wrong before.
    Known(Vec<String>),
}

impl<'a> GpuModelBuilder<'a> {
    /// Plans and makes every buffer of a model, and of a session with this room; a number of positions is enough for
    /// that. `caps` are the device's capabilities, or a part of them.
    ///
    /// # Errors
    /// `limit_exceeded` where something is too large for the device, `unsupported_architecture` where the GPU path does
    /// not take the model.
    pub fn new(
        device: Rc<Device>,
        caps: Caps,
        config: ModelConfig,
        room: impl Into<Room>,
        tensors: &'a [TensorInfo],
        matched: Vec<(usize, WeightSpec)>,
    ) -> Result<Self> {
        let (room, mut plan) = (room.into(), Plan::default());
        let program = crate::model::program(&config);
        let placement = place(&program, &caps, tensors, matched.clone(), &mut plan)?;
        let mut table = BufferTable::default();
        table.make(&device, &plan.buffers)?;
        let mut model = GpuModel {
            device,
            caps,
            config,
            program,
            weights: placement.weights,
            plan,
            table,
            frequencies: Vec::new(),
            repacks: BTreeSet::new(),
            rows: None,
            input_rows: Default::default(),
            adapters: Default::default(),
            prefixes: Default::default(),
            pace: Pace::default(),
            self_check: SelfCheck::default(),
        };
        let run = match model.program.output {
            Output::Logits => RunPlan::Session(SessionPlan::new(&model, room)?.into()),
            _ => RunPlan::Batches(BatchPlan::new(&model, room.context)?.into()),
        };
        let mut run_table = model.table.clone();
        run_table.make(&model.device, run.specs())?;
        let staging = model.table.add(staging_buffer(&model.device, tensors)?);
        let pipelines = model.device.compile_ahead(run.dispatches().into_iter().map(|dispatch| &dispatch.kernel));
        let targets = placement.targets;
        let (context, kept) = (room.context, HashMap::new());
        Ok(Self {
            model,
            tensors,
            targets,
            staging,
            kept,
            context,
            run,
            run_table,
            pipelines,
            matched,
            check: Check::Skipped,
        })
    }

    /// The key under which a verdict on the model's kernels is remembered.
    pub fn check_key(&self) -> String {
        check_key(&self.model.device, &self.run.dispatches())
    }

    /// Lets the kernels be checked once the model is loaded, or replaces those that a check has `found` to be wrong
    /// before. Must be called before any tensor is put; what gives vectors or scores of texts is not checked.
    pub fn check_kernels(&mut self, found: Option<Vec<String>>) {
        let matched = std::mem::take(&mut self.matched);
        let GpuModel { program, caps, weights, .. } = &self.model;
        let lists = match &self.run {
            RunPlan::Session(plan) => lists_of_session(&Forward::new(program, caps, weights, &plan.buffers)),
            RunPlan::Batches(plan) if program.output == Output::Rows => lists_of_encoder(&self.model, plan),
            RunPlan::Batches(_) => return,
        };
        self.check = found.map_or_else(|| Check::Sampled(Sampler::new(program, &lists, matched)), Check::Known);
    }

    /// The slices in which tensor `index` must be put; none for a tensor that the model does not use.
    pub fn slices(&self, index: usize) -> Vec<TensorSlice> {
        let tensor = &self.tensors[index];
        match &self.targets[index] {
            None => Vec::new(),
            Some(Target::Vectors(_) | Target::Kept(_)) => {
                vec![TensorSlice { offset: 0, bytes: tensor.bytes, first_row: 0, rows: 1 }]
            }
            Some(Target::Rows(runs)) => {
                let bytes = tensor_row_bytes(tensor).unwrap_or(1).max(1);
                runs.iter().flat_map(|run| row_slices(run, bytes)).collect()
            }
        }
    }

    /// Uploads a slice of tensor `index`.
    ///
    /// # Errors
    /// `bad_file` where the bytes are not those of such a tensor.
    pub fn put(&mut self, index: usize, slice: &TensorSlice, bytes: &[u8]) -> Result<()> {
        let tensor = &self.tensors[index];
        let bytes = &*rounded_kernel(self.model.config.rounds_kernels(), tensor, bytes);
        if let Check::Sampled(sampler) = &mut self.check {
            sampler.take(index, tensor, slice, bytes);
        }
        match &self.targets[index] {
            None => Ok(()),
            Some(Target::Kept(key)) => {
                self.kept.insert(*key, values(tensor, bytes)?);
                Ok(())
            }
            Some(Target::Vectors(runs)) => {
                let values = values(tensor, bytes)?;
                for run in runs {
                    let values = &values[run.from..][..run.count];
                    self.model.device.write(self.model.table.get(run.buffer), run.offset, bytemuck::cast_slice(values));
                }
                Ok(())
            }
            Some(Target::Rows(runs)) => {
                let run = runs.iter().rfind(|run| run.from <= slice.first_row);
                let run = run.ok_or_else(|| Error::bad_file("a tensor without rows"))?;
                let range = RowRange { first: run.row + slice.first_row - run.from, rows: slice.rows };
                let GpuModel { device, table, .. } = &self.model;
                let staging = Staging { device, table, buffer: self.staging.into() };
                let variant = staging.put(&run.matrix, &[range], bytes)?;
                self.model.repacks.insert(variant);
                Ok(())
            }
        }
    }

    /// Number of the tensor of which only the first rows are put, since the others are read later. It needs a source,
    /// see [`GpuModelBuilder::read_rows_from`].
    pub fn cached_tensor(&self) -> Option<usize> {
        self.model.weights.row_cache.as_ref().map(|cache| cache.tensor)
    }

    /// Sets the source of the rows of [`GpuModelBuilder::cached_tensor`].
    pub fn read_rows_from(&mut self, source: Box<dyn RowSource>) {
        let GpuModel { weights, device, table, rows, .. } = &mut self.model;
        let Some(cache) = &weights.row_cache else { return };
        let slots = Slots::new(cache.rows, cache.slots.rows);
        device.write(table.get(cache.slot_of_row.buffer), 0, bytemuck::cast_slice(slots.table()));
        *rows = Some(Rows::new(slots, source));
    }

    /// The first session of the model, once all tensors are put and all pipelines compiled.
    ///
    /// # Errors
    /// `device_lost` and `out_of_memory` as the browser reports them, also for a shader that it refuses;
    /// `invalid_argument` for an embedder, and where a cached table has no source.
    pub async fn finish(self) -> Result<GpuSession> {
        match self.finish_any().await? {
            GpuRun::Session(session) => Ok(*session),
            GpuRun::Embedder(_) => Err(Error::invalid_argument("the model writes no text")),
        }
    }

    /// The first session of the model, or the embedder, once all tensors are put and all pipelines compiled.
    ///
    /// # Errors
    /// The errors of [`Self::finish`].
    pub async fn finish_any(self) -> Result<GpuRun> {
        self.finish_tuned(None::<fn(Tuning) -> Ready<String>>).await
    }

    /// Finishes like [`Self::finish_any`], with the lines of verdicts that `tune` returns; embedders are not tuned.
    ///
    /// # Errors
    /// The errors of [`Self::finish`].
    pub async fn finish_tuned(self, tune: Option<impl AsyncFnOnce(Tuning) -> String>) -> Result<GpuRun> {
        if self.model.rows.is_none() && self.cached_tensor().is_some() {
            return Err(Error::invalid_argument(
                "a table of which some rows are on the GPU has no source of the others",
            ));
        }
        let Self { mut model, staging, kept, context, run, run_table, pipelines, check, .. } = self;
        model.device.finish_ahead(pipelines).await;
        model.table.remove(staging);
        let frequencies = |table: &RopeTable| {
            let factors = table.factors.and_then(|of| kept.get(&of.for_context(context))).map(Vec::as_slice);
            let found = frequencies_of(table, factors).turns().into_iter().enumerate();
            found.map(|(pair, of)| if table.turns(pair) { of } else { [0; 2] }).collect()
        };
        model.frequencies = model.program.rope_tables.iter().map(frequencies).collect();
        let device = model.device.clone();
        let mut model: Rc<GpuModel> = model.into();
        let mut run = match run {
            RunPlan::Session(mut plan) => {
                if let Some(tune) = tune {
                    model.ensure_rows(&[0]).await?;
                    let lines = tune(Tuning::new(&model, &run_table, &plan.buffers)).await;
                    // Nobody else holds the model, once what tuned it is freed.
                    if !lines.is_empty()
                        && let Some(model) = Rc::get_mut(&mut model)
                    {
                        model.caps = model.caps.under(Tuned::of(&lines));
                        plan.lists = Forward::new(&model.program, &model.caps, &model.weights, &plan.buffers).lists();
                    }
                }
                GpuRun::Session(GpuSession::assemble(model, *plan, run_table).await?.into())
            }
            RunPlan::Batches(plan) => GpuRun::Embedder(GpuEmbedder::assemble(model, *plan, run_table)?.into()),
        };
        device.check_pipelines().await?;
        match &mut run {
            GpuRun::Session(session) => session.measure_pace().await?,
            GpuRun::Embedder(embedder) => embedder.measure_pace().await?,
        }
        match check {
            Check::Skipped => {}
            Check::Sampled(sampler) => run.check_kernels(sampler).await?,
            Check::Known(found) => run.run_without(found).await?,
        }
        // Kernels are checked with the weights that the file has.
        if let GpuRun::Session(session) = &run {
            apply_conditions(&session.model, &kept).await?;
        }
        Ok(run)
    }
}

/// Multiplies the weights of norms by what the file's number makes of them.
async fn apply_conditions(model: &GpuModel, kept: &HashMap<WeightKey, Vec<f32>>) -> Result<()> {
    for condition in model.program.conditions() {
        let (Some(down), Some(up)) = (kept.get(&condition.by[0]), kept.get(&condition.by[1])) else { continue };
        let slice = model.weights.vectors[&condition.norm];
        let buffer = model.buffer(slice.buffer);
        let read = model.device.read(buffer, slice.offset, condition.sizes[0] as u64 * 4).await?;
        let mut values: Vec<f32> = bytemuck::pod_collect_to_vec(&read);
        condition.apply([down, up], &mut values);
        model.device.write(buffer, slice.offset, bytemuck::cast_slice(&values));
    }
    Ok(())
}

fn frequencies_of<'a>(table: &RopeTable, factors: Option<&'a [f32]>) -> Frequencies<'a> {
    let scale = f64::from(table.scaling.scale);
    let yarn = table.scaling.yarn.map(|ramp| Yarn {
        factor: scale.recip(),
        original_context: ramp.original_context as f64,
        beta_fast: ramp.beta_fast.into(),
        beta_slow: ramp.beta_slow.into(),
    });
    let scale = if yarn.is_some() { 1.0 } else { scale };
    Frequencies { dims: table.dims as u32, base: table.theta.into(), scale, factors, yarn }
}

/// A buffer for a slice of rows, and for a grid behind it.
fn staging_buffer(device: &Device, tensors: &[TensorInfo]) -> Result<Buffer> {
    let longest_row = tensors.iter().map(|tensor| tensor_row_bytes(tensor).unwrap_or(0)).max().unwrap_or(0);
    device.storage_buffer("staging", staging_bytes(SLICE.max(longest_row)))
}

fn tensor_row_bytes(tensor: &TensorInfo) -> Result<u64> {
    row_bytes(tensor.ty, tensor.dims.first().copied().unwrap_or(1))
}

fn values(tensor: &TensorInfo, bytes: &[u8]) -> Result<Vec<f32>> {
    let mut values = vec![0.0; tensor.elements() as usize];
    dequantize(tensor.ty, bytes, &mut values)?;
    Ok(values)
}

/// Cuts a run of a tensor's rows into slices of at most [`SLICE`] bytes, none of them across two shards.
fn row_slices(run: &RowRun, row_bytes: u64) -> Vec<TensorSlice> {
    let max_rows = (SLICE / row_bytes).max(1) as u32;
    let mut slices = Vec::new();
    let (mut row, end) = (run.row, run.row + run.rows);
    while row < end {
        let shard = run.matrix.shards.iter().rfind(|shard| shard.first_row <= row);
        let shard_end = shard.map_or(end, |shard| shard.first_row + shard.rows);
        let rows = max_rows.min(end - row).min(shard_end.max(row + 1) - row);
        let first_row = run.from + row - run.row;
        let [offset, bytes] = [first_row, rows].map(|rows| u64::from(rows) * row_bytes);
        slices.push(TensorSlice { offset, bytes, first_row, rows });
        row += rows;
    }
    slices
}
