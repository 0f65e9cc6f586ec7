//! A session on the GPU: its KV cache and its command lists. Its [lanes](super::lane) run them.

use std::cell::Cell;
use std::rc::Rc;

use super::adapters::{Adapted, ListSet, all_of};
use super::choice::Choice;
use super::draft_model::DraftModel;
use super::evaluation::Evaluation;
use super::lane_drafts::Form;
use super::lists::Lists;
use super::model::{GpuModel, SessionPlan};
use super::pace::MIN_TOKENS;
use super::queue::Queue;
use crate::forward::{self, Buffers, CHUNK, MAX_STOPS, Room};
use crate::gpu::{Buffer, BufferTable, CommandList, Copy, Device, ReadBack, Ring, in_background};
use crate::kernels::accept_drafts::Report;
use crate::kernels::caps::ActivationFormat;
use crate::kernels::pass::{Header, READ_BYTES};
use crate::kernels::spec::{BufferId, Slice};
use crate::runtime::sequence::Sequence;
use crate::{Error, ErrorCode, Result};

/// Maximum number of passes in flight.
pub const MAX_DEPTH: usize = 16;

/// Caches and samplers of one sequence or several on the GPU, for a model that other sessions may run, too.
pub struct GpuSession {
    pub(in crate::runtime) model: Rc<GpuModel>,
    /// The model's buffers and the session's own.
    pub(in crate::runtime) table: BufferTable,
    pub(in crate::runtime) buffers: Buffers,
    pub(in crate::runtime) lists: Lists,
    pub(in crate::runtime) evaluation: Option<Evaluation>,
    /// Logits `[EVALUATE_CHUNK, vocab]`, made at the first call of
    /// [`Session::evaluate`](crate::runtime::Session::evaluate).
    pub(in crate::runtime) all_logits: Option<BufferId>,
    pub(in crate::runtime) ring: Ring,
    pub(in crate::runtime) choice: Choice,
    /// The text of each sequence.
    pub(in crate::runtime) texts: Vec<Rc<Sequence>>,
    /// The text of the sequence that the next passes work on.
    pub(in crate::runtime) sequence: Rc<Sequence>,
    /// Lists for passes of several rows, indexed by the number of rows.
    pub(in crate::runtime) few_rows: Vec<Option<Lists>>,
    /// Lists for passes with drafts.
    pub(in crate::runtime) drafts: Option<Lists>,
    /// The model that makes drafts, which other sessions may share.
    pub(in crate::runtime) draft_model: Option<Rc<DraftModel>>,
    /// The adapters in the lists above; `None` without adapters.
    pub(in crate::runtime) adapted: Option<Adapted>,
    /// Sets of lists with other adapters, or none.
    pub(in crate::runtime) set_aside: Vec<ListSet>,
    /// Whether the pipelines of passes with drafts are compiled; `None` before that has begun.
    pub(in crate::runtime) drafts_ahead: Option<Rc<Cell<bool>>>,
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
        plan: SessionPlan,
        table: BufferTable,
    ) -> Result<Self> {
        let lists = Lists::record(&model.device, &plan.lists, &table).await?;
        let read_bytes = match plan.buffers.room {
            Room { sequences: 1, drafts: true, .. } => size_of::<Report>() as u64,
            Room { sequences: 1, .. } => READ_BYTES,
            _ => size_of::<Header>() as u64,
        };
        let ring = Ring::new(&model.device, MAX_DEPTH, read_bytes)?;
        let copies = plan.buffers.checkpoints.len();
        let texts: Vec<_> = (0..plan.buffers.room.sequences).map(|_| Rc::new(Sequence::new(copies))).collect();
        let session = Self {
            model,
            table,
            buffers: plan.buffers,
            lists,
            evaluation: None,
            ring,
            choice: Choice::default(),
            sequence: texts[0].clone(),
            texts,
            few_rows: Vec::new(),
            drafts: None,
            draft_model: None,
            adapted: None,
            set_aside: Vec::new(),
            drafts_ahead: None,
            all_logits: None,
        };
        for (slice, frequencies) in session.buffers.frequencies.iter().zip(&session.model.frequencies) {
            session.write(*slice, bytemuck::cast_slice(frequencies));
        }
        session.start_places();
        Ok(session)
    }

    pub fn model(&self) -> &Rc<GpuModel> {
        &self.model
    }

    /// Bytes that the session, its model and the draft model take on the GPU.
    pub fn bytes(&self) -> u64 {
        let lists: u64 = self.all_lists().map(CommandList::bytes).sum();
        let drafts = self.draft_model.as_ref().map_or(0, |model| model.bytes());
        self.table.bytes() + lists + self.ring.bytes() + self.choice.bytes() + drafts
    }

    /// Sorted ids of all kernel variants that the session and its model run.
    pub fn variants(&self) -> Vec<String> {
        self.model.variants_with(self.all_lists())
    }

    fn all_lists(&self) -> impl Iterator<Item = &CommandList> {
        let aside = self.set_aside.iter().flat_map(ListSet::all);
        all_of(&self.lists, &self.few_rows, &self.drafts, &self.evaluation).chain(aside)
    }

    /// Whether prefill rounds activations.
    pub(in crate::runtime) fn rounds(&self) -> bool {
        self.model.caps.activation_format != ActivationFormat::F32
    }

    /// Number of passes that are submitted and not read back.
    pub fn in_flight(&self) -> usize {
        self.ring.in_flight()
    }

    /// Number of dispatches of one greedily decoded token.
    pub fn dispatches_per_token(&self) -> usize {
        self.lists.decode.len() + self.lists.greedy.len()
    }

    /// Measures how long prefill takes. Leaves nothing behind that a run would see.
    pub(in crate::runtime) async fn measure_pace(&self) -> Result<()> {
        let tokens = MIN_TOKENS.min(CHUNK).min(self.buffers.room.allocated);
        self.begin_pass(&vec![0; tokens], 0, 1).await?;
        Queue::measure(&self.model, &self.lists.prefill, tokens).await
    }

    /// Whether the lists for passes of this form are made.
    pub(in crate::runtime) fn has_form(&self, form: Form) -> bool {
        match form {
            Form::Rows(rows) => rows == 1 || self.few_rows.get(rows).is_some_and(Option::is_some),
            _ => self.drafts.is_some(),
        }
    }

    /// Makes the lists for passes of this form, if they are not made yet.
    pub(in crate::runtime) async fn record_form(&mut self, form: Form) -> Result<()> {
        match form {
            Form::Rows(rows) => self.record_rows(rows).await,
            _ if self.drafts.is_some() => Ok(()),
            _ => {
                let model = self.model.clone();
                let lists = self.lists_of_draft();
                self.drafts = Some(Lists::compile(&model.device, &lists, &self.table).await?);
                Ok(())
            }
        }
    }

    fn lists_of_draft(&self) -> forward::Lists {
        let model = &self.model;
        self.forward(&model.caps, &self.buffers).lists_of_draft()
    }

    /// Whether the pipelines of passes with drafts are compiled.
    pub(in crate::runtime) fn has_drafts_compiled(&self) -> bool {
        self.drafts.is_some() || self.drafts_ahead.as_ref().is_some_and(|is_done| is_done.get())
    }

    /// Begins to compile the pipelines of passes with drafts, where that has not begun.
    pub(in crate::runtime) fn compile_drafts_ahead(&mut self) {
        if self.drafts.is_some() || self.drafts_ahead.is_some() {
            return;
        }
        let is_done = self.drafts_ahead.insert(Rc::default()).clone();
        let (lists, device) = (self.lists_of_draft(), &self.model.device);
        let pipelines = device.compile_ahead(lists.all().map(|dispatch| &dispatch.kernel));
        // A model that is freed meanwhile takes its device along.
        let device = Rc::downgrade(device);
        in_background(async move {
            pipelines.done().await;
            if let Some(device) = device.upgrade() {
                device.finish_ahead(pipelines).await;
                is_done.set(true);
            }
        });
    }

    /// Makes the lists for passes of `rows` rows, if they are not made yet.
    pub(in crate::runtime) async fn record_rows(&mut self, rows: usize) -> Result<()> {
        if self.has_form(Form::Rows(rows)) {
            return Ok(());
        }
        let model = self.model.clone();
        let lists = self.forward(&model.caps, &self.buffers).lists_of_rows(rows as u32);
        let recorded = Lists::compile(&model.device, &lists, &self.table).await?;
        self.few_rows.resize_with(self.few_rows.len().max(rows + 1), || None);
        self.few_rows[rows] = Some(recorded);
        Ok(())
    }

    /// Drops the lists that are made on demand, since the buffers have changed.
    pub(in crate::runtime) fn forget_other_lists(&mut self) {
        self.evaluation = None;
        self.few_rows.clear();
        (self.drafts, self.drafts_ahead) = (None, None);
        self.forget_set_aside();
    }

    /// Writes the ids at which the GPU stops a sequence, at most [`MAX_STOPS`].
    pub(in crate::runtime) fn write_ends(&self, ends: &[u32]) {
        let ends = &ends[..ends.len().min(MAX_STOPS)];
        let words: Vec<u32> = std::iter::once(ends.len() as u32).chain(ends.iter().copied()).collect();
        self.write(self.buffers.sample.stops, bytemuck::cast_slice(&words));
    }

    pub(in crate::runtime) fn write(&self, slice: Slice, bytes: &[u8]) {
        write(&self.model.device, &self.table, slice, bytes);
    }
}

pub(in crate::runtime) fn no_read_back() -> Error {
    Error::new(ErrorCode::LimitExceeded, format!("{MAX_DEPTH} tokens are in flight already"))
}

/// The copy of the start of a pass to its read-back buffer.
pub(in crate::runtime) fn read_copy<'a>(pass: &'a Buffer, read: &'a ReadBack) -> Copy<'a> {
    Copy { source: pass, source_offset: 0, target: read.buffer(), offset: 0, bytes: read.buffer().size() }
}

fn write(device: &Device, table: &BufferTable, slice: Slice, bytes: &[u8]) {
    device.write(table.get(slice.buffer), slice.offset, bytes);
}
