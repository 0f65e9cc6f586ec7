//! Checks whether the kernels that a model, or an encoder of images or sounds, runs compute what they should on this
//! device. Drivers have bugs, most of them in what is new (f16, subgroups, packed dot products, subgroup matrices).
//!
//! A short prompt and one token after it (for an encoder see [`super::encoder_check`]) run through some parts of the
//! model, those in which each kernel occurs first, with the model's own shapes and weights. After each step the results
//! are read back and compared with those of the same operations on the CPU. For these, some rows of each matrix were
//! kept during loading: see [`SampledModel`]. Experts, their choice and attention to a source are not checked. Where a
//! kernel is wrong, the choices of tuning are dropped first.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::encoder_check::{TOKENS, begin_encoder, lists_of_encoder};
use super::made::{GpuRun, TensorSlice};
use super::verdict::{SelfCheck, Verdict};
use crate::Result;
use crate::cpu::{CacheFormat, SampledModel, Samples, sampled_rows, take_sample};
use crate::forward::{BatchLists, Forward, Place, Room, Traced, ops_in_a_row};
use crate::gguf::{TensorInfo, row_bytes};
use crate::gpu::{BufferTable, CommandList, Copy, Device, Part};
use crate::kernels::caps::Caps;
use crate::kernels::spec::{Dispatch, Kernel, Slice};
use crate::model::program::{Activation, Op, Program, Switching};
use crate::model::{EncoderInput, WeightKey, WeightSpec};
use crate::runtime::gpu::model::GpuModel;
use crate::runtime::gpu::session::GpuSession;
use crate::time_slice::now;

/// Maximum number of layers that are checked.
const LAYERS: usize = 4;

/// Time limit of a round in milliseconds; what is not checked by then is left out.
const BUDGET_MS: f64 = 900.0;

/// Keeps some rows of the weights of a model that is to be checked, while they are loaded.
pub(super) struct Sampler {
    /// Parts of the program to check: 0 is the embedding, then come the layers, then the head.
    parts: Vec<usize>,
    /// The weights that these read.
    read: Vec<WeightKey>,
    /// Weights to keep rows of, with the number of the tensor of each.
    wanted: Vec<(usize, WeightSpec)>,
    samples: Samples,
}

impl Sampler {
    /// Of what takes these steps, in lists that are checked one after the other.
    pub fn new(program: &Program, lists: &[Vec<Traced>], mut matched: Vec<(usize, WeightSpec)>) -> Self {
        let parts = parts_to_check(program, lists);
        let ops = ops_in_a_row(program);
        let steps = lists.iter().flatten().filter(|step| parts.contains(&step.part));
        let of_op = |op: &Op| op.weights(program).into_iter().map(|weight| weight.key);
        let read: Vec<_> = steps.flat_map(|step| &ops[step.ops.clone()]).flat_map(of_op).collect();
        matched.retain(|(_, spec)| is_needed(&read, spec));
        let table = program.embed.iter().find_map(table_of_places);
        for (_, spec) in matched.iter_mut().filter(|(_, spec)| Some(spec.key()) == table) {
            if let [_, rows] = &mut spec.dims[..] {
                *rows = EncoderInput::sampled_places(*rows as usize, TOKENS) as u64;
            }
        }
        Self { parts, read, wanted: matched, samples: Samples::new() }
    }

    /// Keeps what is needed from a slice of tensor `index`.
    pub fn take(&mut self, index: usize, tensor: &TensorInfo, slice: &TensorSlice, bytes: &[u8]) {
        let Ok(row @ 1..) = row_bytes(tensor.ty, tensor.dims.first().copied().unwrap_or(0)) else { return };
        let first = (slice.offset / row) as usize;
        for (_, spec) in self.wanted.iter().filter(|(of, _)| *of == index) {
            // Of a table of positions the first rows are enough.
            let most = spec.tensor_dims()[1..].iter().product::<u64>() * row;
            let bytes = if spec.values { &bytes[..bytes.len().min(most as usize)] } else { bytes };
            take_sample(&mut self.samples, spec, tensor.ty, &sampled_rows(spec.rows()), (first, bytes));
        }
    }
}

const fn table_of_places(op: &Op) -> Option<WeightKey> {
    match op {
        Op::AddPlaces { table, .. } => Some(*table),
        _ => None,
    }
}

/// The key under which a verdict is remembered: the kernels of a model with all constants, the adapter, this version.
pub(super) fn check_key(device: &Device, dispatches: &[&Dispatch]) -> String {
    let mut hasher = DefaultHasher::new();
    for dispatch in dispatches {
        dispatch.kernel.key().hash(&mut hasher);
    }
    format!("{} {:x}", device.key(), hasher.finish())
}

/// The lists of a session that are checked.
pub(super) fn lists_of_session(forward: &Forward) -> Vec<Vec<Traced>> {
    vec![forward.traced_prefill(), forward.traced_decode()]
}

/// The embedding, the head, and the first layers with a kernel that no layer before them has.
fn parts_to_check(program: &Program, lists: &[Vec<Traced>]) -> Vec<usize> {
    let layers = &program.layers;
    // Layers that read the cache of another layer are not checked, since that other one may be left out.
    let shares = |op: &Op| matches!(op, Op::Attend { kv: None, .. });
    let mut known = HashSet::new();
    let mut parts = vec![0, layers.len() + 1];
    for part in (1..=layers.len()).filter(|part| !layers[part - 1].iter().any(shares)) {
        let own = lists.iter().flatten().filter(|step| step.part == part).flat_map(|step| &step.dispatches);
        let new = own.filter(|dispatch| known.insert(dispatch.kernel.key())).count();
        if new > 0 && parts.len() < LAYERS + 2 {
            parts.push(part);
        }
    }
    parts
}

/// Whether a check that reads these weights needs one of them, or one of no layer.
fn is_needed(read: &[WeightKey], spec: &WeightSpec) -> bool {
    spec.dims.len() < 3 && (spec.layer.is_none() || read.contains(&spec.key()))
}

/// Result of one round of checks.
#[derive(Default)]
struct Found {
    checked: HashSet<String>,
    /// Kernels of the first step with a wrong result.
    wrong: Vec<Kernel>,
    /// Whether time was up before all steps were checked.
    is_partial: bool,
}

impl GpuRun {
    /// Runs without these variants, which an earlier check has found to be wrong.
    pub(super) async fn run_without(&mut self, replaced: Vec<String>) -> Result<()> {
        let wrong: Vec<Kernel> = self.kernels().into_iter().filter(|kernel| replaced.contains(&kernel.id)).collect();
        if !wrong.is_empty()
            && let Some(caps) = self.model().caps.without_needs_of(wrong.iter())
        {
            self.run_with(caps).await?;
        }
        self.set_verdict(SelfCheck { verdict: Verdict::Remembered, replaced, ..SelfCheck::default() });
        Ok(())
    }

    /// Checks the kernels, and replaces wrong ones by plain ones. Only for the first session of a model or an encoder,
    /// before it is used.
    pub(super) async fn check_kernels(&mut self, sampler: Sampler) -> Result<()> {
        let start = now();
        let Sampler { parts, read, samples, .. } = sampler;
        let cache = match self {
            Self::Session(session) => {
                let Room { context, kv_type, .. } = session.buffers.room;
                (context, CacheFormat::Rounded(kv_type))
            }
            Self::Embedder(encoder) => (encoder.plan.context, CacheFormat::F32),
        };
        let Some(mut model) = SampledModel::new(&self.model().config, samples, |spec| is_needed(&read, spec), cache)
        else {
            return Ok(());
        };
        let mut report = SelfCheck { verdict: Verdict::Passed, ..SelfCheck::default() };
        loop {
            let Found { checked, wrong, is_partial } = self.round(&mut model, &parts).await?;
            report.checked = checked.len();
            if is_partial {
                report.verdict = Verdict::Partial;
            }
            if wrong.is_empty() {
                break;
            }
            let caps = &self.model().caps;
            let Some(without) = caps.without_needs_of(wrong.iter()) else {
                report.verdict = Verdict::Failed;
                report.wrong = wrong.into_iter().map(|kernel| kernel.id).collect();
                break;
            };
            report.verdict = Verdict::Replaced;
            let has_needs = |kernel: &&Kernel| caps.without_needs_of([*kernel].into_iter()).is_some();
            report.replaced.extend(wrong.iter().filter(has_needs).map(|kernel| kernel.id.clone()));
            self.run_with(without).await?;
        }
        report.milliseconds = now() - start;
        self.set_verdict(report);
        Ok(())
    }

    fn model(&mut self) -> &mut Rc<GpuModel> {
        match self {
            Self::Session(session) => &mut session.model,
            Self::Embedder(embedder) => &mut embedder.model,
        }
    }

    fn kernels(&self) -> Vec<Kernel> {
        let kernel = |dispatch: &Dispatch| dispatch.kernel.clone();
        match self {
            Self::Session(session) => lists_of(session).all().map(kernel).collect(),
            Self::Embedder(embedder) => embedder.plan.lists.iter().flat_map(BatchLists::all).map(kernel).collect(),
        }
    }

    fn set_verdict(&mut self, verdict: SelfCheck) {
        if let Some(model) = Rc::get_mut(self.model()) {
            model.self_check = verdict;
        }
    }

    async fn run_with(&mut self, caps: Caps) -> Result<()> {
        if let Some(model) = Rc::get_mut(self.model()) {
            model.caps = caps;
        }
        match self {
            Self::Session(session) => {
                session.record_anew().await?;
            }
            Self::Embedder(embedder) => embedder.record_anew()?,
        }
        self.model().device.check_pipelines().await
    }

    /// Runs lists until a step of them is wrong: a prompt and one token after it, or what [`begin_encoder`] begins.
    async fn round(&self, model: &mut SampledModel, parts: &[usize]) -> Result<Found> {
        let (own, table, lists) = match self {
            Self::Session(session) => (&session.model, &session.gpu.table, lists_of_session(&session.forward())),
            Self::Embedder(encoder) => {
                (&encoder.model, &encoder.table, lists_of_encoder(&encoder.model, &encoder.plan))
            }
        };
        let mut round = Round::new(own, table, parts);
        for (number, steps) in lists.iter().enumerate() {
            let tokens = match self {
                Self::Session(session) => {
                    let (ids, position) = sampled_ids(session, number);
                    if ids.is_empty() {
                        continue;
                    }
                    session.begin_pass(&ids, position).await?;
                    model.begin(&ids, position);
                    ids.len()
                }
                Self::Embedder(encoder) => begin_encoder(encoder, model),
            };
            if !round.check(model, steps, tokens).await? {
                break;
            }
        }
        Ok(round.found)
    }
}

fn lists_of(session: &GpuSession) -> crate::forward::Lists {
    session.forward().lists()
}

/// The ids for a list, and their position.
fn sampled_ids(session: &GpuSession, list: usize) -> (Vec<u32>, usize) {
    let mut ids: Vec<u32> = sampled_rows(session.model.config.vocab).into_iter().map(|row| row as u32).collect();
    // The first ids of a vocabulary are special tokens.
    ids.drain(..ids.len().saturating_sub(TOKENS + 1));
    ids.truncate(session.model.chunk().min(session.buffers.room.context));
    let next = ids.split_off(ids.len().saturating_sub(1));
    if list == 0 { (ids, 0) } else { (next, ids.len()) }
}

/// What checks the lists one after the other.
struct Round<'a> {
    model: &'a GpuModel,
    table: &'a BufferTable,
    /// Parts of the program to check.
    parts: &'a [usize],
    ops: Vec<Op>,
    deadline: f64,
    found: Found,
}

impl<'a> Round<'a> {
    /// Starts the clock.
    fn new(model: &'a GpuModel, table: &'a BufferTable, parts: &'a [usize]) -> Self {
        let ops = ops_in_a_row(&model.program);
        Self { model, table, parts, ops, deadline: now() + BUDGET_MS, found: Found::default() }
    }

    /// Runs a list for the pass that has begun. Returns whether to go on with the next.
    async fn check(&mut self, model: &mut SampledModel, steps: &[Traced], tokens: usize) -> Result<bool> {
        let residual = self.model.program.residual();
        let mut stream = None;
        for part in steps.chunk_by(|a, b| a.part == b.part).filter(|steps| self.parts.contains(&steps[0].part)) {
            self.move_stream(stream, part[0].stream, tokens);
            let results = self.run_steps(part, tokens).await?;
            let mut written = part.iter().flat_map(|step| &step.results).filter(|(of, _)| *of == residual);
            stream = written.next_back().map_or(Some(part[0].stream), |(_, place)| Some(place.slice));
            for (step, results) in part.iter().zip(results) {
                if now() > self.deadline {
                    self.found.is_partial = true;
                    return Ok(false);
                }
                if !is_right(model, &self.ops[step.ops.clone()], results).await? {
                    self.found.wrong = step.dispatches.iter().map(|dispatch| dispatch.kernel.clone()).collect();
                    return Ok(false);
                }
                self.found.checked.extend(step.dispatches.iter().map(|dispatch| dispatch.kernel.id.clone()));
            }
        }
        Ok(true)
    }

    /// Moves the residual stream to where the next part reads it: decode changes its buffer between parts, and those in
    /// between may be left out.
    fn move_stream(&self, from: Option<Slice>, to: Slice, tokens: usize) {
        let Some(from) = from.filter(|&from| from != to) else { return };
        let program = &self.model.program;
        let bytes = (tokens * program.width(program.residual()) * 4) as u64;
        let [source, target] = [from, to].map(|slice| self.table.get(slice.buffer));
        self.model.device.copy([Copy { source, source_offset: from.offset, target, offset: to.offset, bytes }]);
    }

    /// Runs the steps one after the other. Returns the results of each.
    async fn run_steps(&self, steps: &[Traced], tokens: usize) -> Result<Vec<Vec<(Activation, Vec<f32>)>>> {
        let Self { model: GpuModel { device, program, .. }, table, .. } = self;
        let dispatches: Vec<Dispatch> = steps.iter().flat_map(|step| &step.dispatches).cloned().collect();
        let list = CommandList::record(device, &dispatches, table)?;
        let bytes_of = |place: &Place| (tokens * place.stride * 4) as u64;
        let total = steps.iter().flat_map(|step| &step.results).map(|(_, place)| bytes_of(place)).sum();
        let target = device.storage_buffer("self-check", total)?;
        let (mut first, mut offset) = (0, 0);
        for step in steps {
            let range = first..first + step.dispatches.len();
            first = range.end;
            device.submit([Part { list: &list, range }], tokens as u32, None);
            let copies = step.results.iter().map(|(_, place)| {
                let (source, bytes) = (table.get(place.slice.buffer), bytes_of(place));
                offset += bytes;
                Copy { source, source_offset: place.slice.offset, target: &target, offset: offset - bytes, bytes }
            });
            device.copy(copies);
        }
        let bytes = device.read(&target, 0, total).await?;
        let mut words: &[f32] = &bytemuck::pod_collect_to_vec(&bytes);
        let mut take = |(activation, place): &(Activation, Place)| {
            let (own, rest) = words.split_at(tokens * place.stride);
            words = rest;
            (*activation, rows_of(program, *activation, place, own))
        };
        Ok(steps.iter().map(|step| step.results.iter().map(&mut take).collect()).collect())
    }
}

fn rows_of(program: &Program, activation: Activation, place: &Place, words: &[f32]) -> Vec<f32> {
    let row = |row: &[f32]| row[place.offset..][..program.width(activation)].to_vec();
    words.chunks_exact(place.stride).flat_map(row).collect()
}

/// Whether a step's results match those of its operations on the CPU.
async fn is_right(model: &mut SampledModel, ops: &[Op], results: Vec<(Activation, Vec<f32>)>) -> Result<bool> {
    // Of matrices of experts and heads no rows are kept, nor all of a table of positions, there is no source, and grids
    // have more rows than are made up.
    let is_left_out = |op: &Op| match op {
        Op::Route { .. } | Op::ExpertGate { .. } | Op::ExpertDown { .. } => true,
        Op::Switch { kind: Switching::Slot(_), .. } => true,
        Op::HeadValues { weight, .. } => weight.layer.is_none(),
        _ => matches!(op, Op::HeadLinear { .. } | Op::AttendSource { .. } | Op::ConvGrid { .. }),
    };
    let is_checked = !ops.iter().any(is_left_out);
    if is_checked {
        model.run(ops).await?;
    }
    let mut right = true;
    for (activation, found) in results {
        right &= model.replace(activation, found) || !is_checked;
    }
    Ok(right)
}
