//! A session on the GPU: caches, samplers and command lists of one sequence or several. It knows no text.

use std::rc::Rc;

use super::adapters::GpuAdapter;
use super::execute::Executor;
use super::list_sets::{ListSets, Recorded};
use super::lists::Lists;
use super::model::GpuModel;
use super::pace::MIN_TOKENS;
use super::plans::SessionPlan;
use super::queue::Queue;
use super::reads::Reads;
use crate::forward::{Buffers, CHUNK, EVALUATE_CHUNK, Forward, Growth, Room, START_CONTEXT, grown_lengths};
use crate::gpu::{Buffer, BufferTable};
use crate::kernels::accept_drafts::{Report, bytes_of_reports};
use crate::kernels::pass::{Header, Pass, READ_BYTES};
use crate::kernels::spec::{BufferId, Slice};
use crate::runtime::passes::layout::Layout;
use crate::runtime::passes::prefill::Lengths;
use crate::runtime::passes::saved::{Direction, copy, kept};
use crate::runtime::passes::{axes, rows, source};
use crate::runtime::plan::{Form, List, Place, Plan, Set};
use crate::runtime::prefixes::store::PrefixCache;
use crate::runtime::saved::regions::{Region, bytes_of};
use crate::{Error, ErrorCode, Result};

/// What grows.
#[derive(Clone, Copy)]
pub(in crate::runtime) enum Grown {
    /// The caches, of whose positions the first `written` are in use.
    Caches { written: usize },
    /// The room for sources.
    Source,
}

/// Caches and samplers of one sequence or several on the GPU, for a model that other sessions may run, too.
pub struct GpuSession {
    pub(in crate::runtime) model: Rc<GpuModel>,
    pub(in crate::runtime) buffers: Buffers,
    pub(in crate::runtime) gpu: Executor,
    /// Logits `[EVALUATE_CHUNK, vocab]`, made at the first evaluation.
    all_logits: Option<BufferId>,
    /// How many tokens the source of each sequence has; 0 where none is read.
    pub(in crate::runtime) sources: Vec<usize>,
}

impl GpuSession {
    /// Makes a session of a loaded model, with a context of this many positions.
    ///
    /// # Errors
    /// `limit_exceeded` where the cache is too large for the device; `device_lost` and `out_of_memory` as the browser
    /// reports them.
    pub async fn new(model: Rc<GpuModel>, context: usize) -> Result<Self> {
        Self::with_room(model, Room::one(context)).await
    }

    /// Makes a session for several sequences, or for passes of several rows; otherwise like [`GpuSession::new`].
    pub async fn with_room(model: Rc<GpuModel>, room: Room) -> Result<Self> {
        let plan = SessionPlan::new(&model, room)?;
        let mut table = model.table.clone();
        table.make(&model.device, &plan.specs)?;
        let session = Self::assemble(model, plan, table).await?;
        session.model.device.check_pipelines().await?;
        Ok(session)
    }

    /// Makes a session whose buffers are in `table`.
    pub(in crate::runtime) async fn assemble(
        model: Rc<GpuModel>,
        SessionPlan { buffers, lists, .. }: SessionPlan,
        table: BufferTable,
    ) -> Result<Self> {
        let lists = ListSets::record(&model, &lists, &table).await?;
        let bytes = match buffers.room {
            Room { sequences: 1, drafts: true, .. } => size_of::<Report>() as u64,
            Room { sequences: 1, .. } => READ_BYTES,
            Room { drafts: true, sequences, .. } => bytes_of_reports(sequences),
            _ => size_of::<Header>() as u64,
        };
        let reads = Reads::new(&model.device, bytes)?;
        let gpu = Executor::new(model.device.clone(), table, lists, reads);
        let sources = vec![0; buffers.room.sequences];
        let mut session = Self { model, buffers, gpu, all_logits: None, sources };
        let mut plan = Plan::default();
        for (slice, frequencies) in session.buffers.frequencies.iter().zip(&session.model.frequencies) {
            plan.write(*slice, bytemuck::cast_slice(frequencies));
        }
        axes::start(&mut plan, session.layout());
        source::write_spans(&mut plan, session.layout(), &session.sources);
        session.gpu.execute(&plan)?;
        Ok(session)
    }

    /// Makes another session of the model. With the caches of a text of this one it gets the same room, so that
    /// buffers are copied whole, whatever they hold.
    ///
    /// # Errors
    /// `out_of_memory`, which leaves everything else on the device as it was; `device_lost`.
    pub(in crate::runtime) async fn another(&self, with_caches: bool) -> Result<Self> {
        let room = self.buffers.room;
        let allocated = if with_caches { room.allocated } else { room.context.min(START_CONTEXT) };
        let mut made = self.with_the_same_model(Room { allocated, ..room }).await?;
        if with_caches {
            let mut plan = Plan::default();
            for (from, to) in kept(&self.buffers).zip(kept(&made.buffers)) {
                let source = self.gpu.table.get(from.buffer);
                plan.copy(&**source, Slice { offset: 0, ..*to }, source.size());
            }
            made.gpu.execute(&plan)?;
        }
        self.model.device.check()?;
        Ok(made)
    }

    async fn with_the_same_model(&self, room: Room) -> Result<Self> {
        let (model, device) = (self.model.clone(), &self.model.device);
        let plan = SessionPlan::new(&model, room)?;
        let mut table = model.table.clone();
        while device.try_make(|| table.make(device, &plan.specs)).await?.is_none() {
            if model.prefixes.give_way() {
                continue;
            }
            let bytes: u64 = plan.specs.iter().map(|spec| spec.bytes).sum();
            let message =
                format!("the GPU has no room for {bytes} bytes, another session of {} tokens", room.allocated);
            return Err(Error::new(ErrorCode::OutOfMemory, message));
        }
        Self::assemble(model, plan, table).await
    }

    pub fn model(&self) -> &Rc<GpuModel> {
        &self.model
    }

    /// Bytes that the session and its model take on the GPU.
    pub fn bytes(&self) -> u64 {
        self.gpu.bytes()
    }

    /// Sorted ids of all kernel variants that the session and its model run.
    pub fn variants(&self) -> Vec<String> {
        self.model.variants_with(self.gpu.lists.all())
    }

    /// Number of passes that are submitted and not read back.
    pub fn in_flight(&self) -> usize {
        self.gpu.reads.in_flight()
    }

    /// Number of dispatches of one greedily decoded token.
    pub fn dispatches_per_token(&self) -> usize {
        let of = |list| self.gpu.lists.get(Set::Rows(1), list).map_or(0, |list| list.len());
        of(List::Decode) + of(List::Greedy)
    }

    /// Where the session's data lies.
    pub(in crate::runtime) fn layout(&self) -> Layout<'_> {
        Layout { config: &self.model.config, program: &self.model.program, buffers: &self.buffers }
    }

    /// What its lists are recorded from.
    pub(in crate::runtime) fn forward(&self) -> Forward<'_> {
        self.gpu.lists.forward(Recorded { model: &self.model, buffers: &self.buffers })
    }

    /// The lengths of the lists that read prompts.
    pub(in crate::runtime) fn lengths(&self) -> Lengths {
        let lists = &self.gpu.lists;
        Lengths {
            embeddings: rows::embeddings(&self.forward()),
            prefill: lists.get(Set::Rows(1), List::Prefill).map_or(0, |list| list.len()),
            kept: lists.kept(Set::Rows(1)),
            is_exact: lists.is_exact(),
        }
    }

    /// Measures how long prefill takes. Leaves nothing behind that a run would see.
    pub(in crate::runtime) async fn measure_pace(&mut self) -> Result<()> {
        let tokens = MIN_TOKENS.min(CHUNK).min(self.buffers.room.allocated);
        self.begin_pass(&vec![0; tokens], 0).await?;
        let Some(list) = self.gpu.lists.get(Set::Rows(1), List::Prefill) else { return Ok(()) };
        Queue::measure(&self.model, list, tokens).await
    }

    /// Writes a pass over ids of the first sequence, for measurements and checks.
    pub(in crate::runtime) async fn begin_pass(&self, ids: &[u32], position: usize) -> Result<()> {
        self.model.ensure_rows(ids).await?;
        self.write(self.buffers.pass, &Pass::chunk(0, position as u32, ids).bytes());
        Ok(())
    }

    /// Replaces the first lists, for other capabilities of the model.
    pub(in crate::runtime) async fn record_anew(&mut self) -> Result<()> {
        let lists = self.forward().lists();
        let lists = Lists::record(&self.model.device, &lists, &self.gpu.table).await?;
        self.gpu.lists.replace(lists, &mut self.gpu.table);
        Ok(())
    }

    /// Records the lists for passes of this form, if they are not recorded yet.
    pub(in crate::runtime) async fn record_form(&mut self, form: Form) -> Result<()> {
        let Self { model, buffers, gpu, .. } = self;
        gpu.lists.record_form(Recorded { model, buffers }, form, &gpu.table).await
    }

    /// Begins to compile the pipelines of passes with drafts, where that has not begun.
    pub(in crate::runtime) fn compile_drafts_ahead(&mut self, has_drafter: bool) {
        let Self { model, buffers, gpu, .. } = self;
        gpu.lists.compile_drafts_ahead(Recorded { model, buffers }, has_drafter);
    }

    /// Prepares the lists for passes with these adapters, in any of their sequences.
    pub(in crate::runtime) async fn use_adapters(&mut self, wanted: Vec<Rc<GpuAdapter>>) -> Result<()> {
        let Self { model, buffers, gpu, .. } = self;
        gpu.lists.use_adapters(Recorded { model, buffers }, wanted, &mut gpu.table).await
    }

    /// Drops lists with adapters that the model no longer has, except for the lists in use.
    pub(in crate::runtime) fn forget_removed(&mut self) {
        self.gpu.lists.forget_removed(&self.model, &mut self.gpu.table);
    }

    pub(in crate::runtime) fn write(&self, slice: Slice, bytes: &[u8]) {
        self.model.device.write(self.gpu.table.get(slice.buffer), slice.offset, bytes);
    }

    /// Makes room for this many positions, or as many as the context has. Tokens may be in flight: passes submitted
    /// before write to the old caches, which are then copied. `written`: positions of the longest text.
    ///
    /// # Errors
    /// `out_of_memory`, which leaves everything as it was; errors of the device.
    pub(in crate::runtime) async fn grow_to(&mut self, positions: usize, written: usize) -> Result<()> {
        self.grow_by(positions, Grown::Caches { written }).await
    }

    /// Makes room for this many positions of caches, or rows of sources, as far as the context goes.
    ///
    /// # Errors
    /// The errors of [`GpuSession::grow_to`].
    pub(in crate::runtime) async fn grow_by(&mut self, count: usize, of: Grown) -> Result<()> {
        let room = self.buffers.room;
        let (needed, name, known) = match of {
            Grown::Caches { .. } => (count.min(room.context), "KV cache", room.allocated),
            Grown::Source => (count, "source", self.buffers.source.as_ref().map_or(count, |source| source.rows)),
        };
        if needed <= known {
            return Ok(());
        }
        let (model, mut wanted) = (self.model.clone(), 0);
        let lengths = grown_lengths(known, needed, room.context);
        for (attempt, &length) in lengths.iter().chain(&lengths).enumerate() {
            if attempt == lengths.len() && !model.prefixes.give_way() {
                break;
            }
            let growth = match of {
                Grown::Caches { written } => self.buffers.grown(length, written),
                Grown::Source => self.buffers.with_source_of(&model.program, length),
            };
            let mut table = self.gpu.table.clone();
            match model.device.try_make(|| table.make(&model.device, &growth.specs)).await? {
                Some(()) => return self.grow(growth, table).await,
                None => wanted = growth.bytes(),
            }
        }
        let message =
            format!("the GPU has no room for {wanted} bytes, a {name} of {needed} tokens: {known} tokens still fit");
        Err(Error::new(ErrorCode::OutOfMemory, message))
    }

    /// Copies the caches and replaces the old ones.
    async fn grow(&mut self, Growth { buffers, moved, .. }: Growth, table: BufferTable) -> Result<()> {
        let model = self.model.clone();
        let lists = self.gpu.lists.forward(Recorded { model: &model, buffers: &buffers }).lists();
        let lists = Lists::compile(&model.device, &lists, &table).await?;
        let mut plan = Plan::default();
        for of in &moved {
            let from = Slice { offset: of.from, ..Slice::from(of.buffer) };
            let to: &Buffer = table.get(of.buffer);
            plan.copy(from, Place::from(to).after(of.to), of.bytes);
        }
        self.gpu.execute(&plan)?;
        // The old caches go with their table. What was submitted before still runs.
        (self.gpu.table, self.buffers) = (table, buffers);
        self.gpu.lists.replace(lists, &mut self.gpu.table);
        let mut plan = Plan::default();
        source::write_spans(&mut plan, self.layout(), &self.sources);
        self.gpu.execute(&plan)?;
        model.device.check()
    }

    /// Makes the read-back buffers for the logits of decode passes, if they are not made yet.
    pub(in crate::runtime) fn prepare_logits(&mut self) -> Result<()> {
        let (rows, vocab) = (self.buffers.room.sequences, self.model.config.vocab);
        self.gpu.reads.prepare_logits(&self.model.device, rows, vocab)
    }

    /// Makes the lists and the buffer for logits of every token.
    pub(in crate::runtime) fn prepare_evaluation(&mut self) -> Result<()> {
        let logits = match self.all_logits {
            Some(id) => id,
            None => self.add_all_logits()?,
        };
        let Self { model, buffers, gpu, .. } = self;
        gpu.lists.record_evaluation(Recorded { model, buffers }, logits, &gpu.table)
    }

    fn add_all_logits(&mut self) -> Result<BufferId> {
        let model = &self.model;
        let (bytes, most) = ((EVALUATE_CHUNK * model.config.vocab * 4) as u64, model.caps.max_binding);
        if bytes > most {
            let message = format!("{EVALUATE_CHUNK} rows of logits take {bytes} bytes, a binding here holds {most}");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let id = self.gpu.table.add(model.device.storage_buffer("all logits", bytes)?);
        self.all_logits = Some(id);
        Ok(id)
    }

    /// The logits `[rows, vocab]` of the last pass of an evaluation.
    pub(in crate::runtime) async fn read_all_logits(&self, rows: usize) -> Result<Vec<f32>> {
        let Some(logits) = self.all_logits else { return Ok(Vec::new()) };
        let bytes = (rows * self.model.config.vocab * 4) as u64;
        let bytes = self.model.device.read(self.gpu.table.get(logits), 0, bytes).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// The bytes of regions of its buffers, one after the other; `None` without regions.
    pub(in crate::runtime) async fn read_regions(&mut self, regions: &[Region]) -> Result<Option<Vec<u8>>> {
        let bytes = bytes_of(regions);
        if bytes == 0 {
            return Ok(None);
        }
        let device = self.model.device.clone();
        let gathered = device.storage_buffer("part", bytes)?;
        self.gpu.execute(&copy(regions, &gathered, Direction::Out))?;
        device.read(&gathered, 0, bytes).await.map(Some)
    }

    /// Writes the bytes of regions, one after the other.
    pub(in crate::runtime) fn write_regions(&self, regions: &[Region], mut bytes: &[u8]) -> Result<()> {
        for region in regions {
            let (these, rest) = bytes.split_at(region.bytes as usize);
            self.write(Slice { offset: region.offset, ..Slice::from(region.buffer) }, these);
            bytes = rest;
        }
        self.model.device.check()
    }
}
