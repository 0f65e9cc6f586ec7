//! Checks whether the kernels that a model runs compute what they should on this device. Drivers have bugs, most of
//! them in what is new (f16, subgroups, packed dot products, subgroup matrices).
//!
//! A short prompt and one token after it run through some parts of the model, those in which each kernel occurs first,
//! with the model's own shapes and weights. After each step the results are read back and compared with those of the
//! same operations on the CPU. For these, some rows of each matrix were kept during loading: see [`SampledModel`]. The
//! choice of experts and their products are not checked. Where a kernel is wrong, the choices of tuning are dropped
//! first.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use serde::Serialize;

use super::builder::TensorSlice;
use crate::Result;
use crate::cpu::{CacheFormat, SampledModel, Samples, sampled_rows, take_sample};
use crate::forward::{Buffers, Forward, Place, Traced, ops_in_a_row};
use crate::gguf::{TensorInfo, row_bytes};
use crate::gpu::{CommandList, Copy, Device, Part};
use crate::kernels::caps::Caps;
use crate::kernels::spec::{Dispatch, Kernel, Slice};
use crate::model::WeightSpec;
use crate::model::program::{Activation, Op, Program};
use crate::runtime::gpu::lists::Lists;
use crate::runtime::gpu::model::GpuModel;
use crate::runtime::gpu::session::GpuSession;
use crate::time_slice::now;

/// Maximum number of tokens of the prompt: more than the rows of a subgroup matrix, fewer than those of a tile.
const TOKENS: usize = 20;

/// Maximum number of layers that are checked.
const LAYERS: usize = 4;

/// Time limit of a round in milliseconds; what is not checked by then is left out.
const BUDGET_MS: f64 = 900.0;

/// Result of a check. Mirrors `SelfCheck` in `js/types.ts`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SelfCheck {
    verdict: Verdict,
    /// Ids of the variants that computed wrong results and were replaced by others.
    replaced: Vec<String>,
    /// Ids of the wrong variants for which there are no others.
    wrong: Vec<String>,
    /// Number of variants that were checked.
    checked: usize,
    milliseconds: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    #[default]
    Skipped,
    Passed,
    Partial,
    Replaced,
    Failed,
    Remembered,
}

/// Keeps some rows of the weights of a model that is to be checked, while they are loaded.
pub(in crate::runtime) struct Sampler {
    /// Parts of the program to check: 0 is the embedding, then come the layers, then the head.
    parts: Vec<usize>,
    /// Weights to keep rows of, with the number of the tensor of each.
    wanted: Vec<(usize, WeightSpec)>,
    samples: Samples,
}

impl Sampler {
    pub fn new(model: &GpuModel, buffers: &Buffers, mut matched: Vec<(usize, WeightSpec)>) -> Self {
        let parts = parts_to_check(&forward(model, buffers));
        matched.retain(|(_, spec)| is_needed(&parts, spec));
        Self { parts, wanted: matched, samples: Samples::new() }
    }

    /// Keeps what is needed from a slice of tensor `index`.
    pub fn take(&mut self, index: usize, tensor: &TensorInfo, slice: &TensorSlice, bytes: &[u8]) {
        let Ok(row @ 1..) = row_bytes(tensor.ty, tensor.dims.first().copied().unwrap_or(0)) else { return };
        let first = (slice.offset / row) as usize;
        for (_, spec) in self.wanted.iter().filter(|(of, _)| *of == index) {
            take_sample(&mut self.samples, spec, tensor.ty, &sampled_rows(spec.rows()), (first, bytes));
        }
    }
}

/// The key under which a verdict is remembered: it identifies the kernels of a model with all their constants, the
/// adapter and this version.
pub(in crate::runtime) fn check_key(device: &Device, dispatches: &[&Dispatch]) -> String {
    let mut hasher = DefaultHasher::new();
    for dispatch in dispatches {
        dispatch.kernel.key().hash(&mut hasher);
    }
    format!("{} {:x}", device.key(), hasher.finish())
}

fn forward<'a>(model: &'a GpuModel, buffers: &'a Buffers) -> Forward<'a> {
    Forward::new(&model.program, &model.caps, &model.weights, buffers)
}

/// The embedding, the head, and the first layers with a kernel that no layer before them has.
fn parts_to_check(forward: &Forward) -> Vec<usize> {
    let steps = [forward.traced_prefill(), forward.traced_decode()];
    let layers = &forward.program.layers;
    // Layers that read the cache of another layer are not checked, since that other one may be left out.
    let shares = |op: &Op| matches!(op, Op::Attend { kv: None, .. });
    let mut known = HashSet::new();
    let mut parts = vec![0, layers.len() + 1];
    for part in (1..=layers.len()).filter(|part| !layers[part - 1].iter().any(shares)) {
        let own = steps.iter().flatten().filter(|step| step.part == part).flat_map(|step| &step.dispatches);
        let new = own.filter(|dispatch| known.insert(dispatch.kernel.key())).count();
        if new > 0 && parts.len() < LAYERS + 2 {
            parts.push(part);
        }
    }
    parts
}

/// Whether a check of these parts needs a weight. Vectors at the end of a layer may be applied along with the first
/// products of the next layer.
fn is_needed(parts: &[usize], spec: &WeightSpec) -> bool {
    let is_of = |layer: usize| parts.contains(&(layer + 1)) || spec.values && parts.contains(&(layer + 2));
    spec.dims.len() < 3 && spec.layer.is_none_or(is_of)
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

impl GpuSession {
    /// Runs without these variants, which an earlier check has found to be wrong.
    pub(in crate::runtime) async fn run_without(&mut self, replaced: Vec<String>) -> Result<()> {
        if !replaced.is_empty() {
            let lists = forward(&self.model, &self.buffers).lists();
            let kernels = lists.all().map(|dispatch| &dispatch.kernel).filter(|kernel| replaced.contains(&kernel.id));
            if let Some(caps) = self.model.caps.without_needs_of(kernels) {
                self.run_with(caps).await?;
            }
        }
        self.set_verdict(SelfCheck { verdict: Verdict::Remembered, replaced, ..SelfCheck::default() });
        Ok(())
    }

    /// Checks the kernels, and replaces wrong ones by plain ones. Only for the first session of a model, before it is
    /// used.
    pub(in crate::runtime) async fn check_kernels(&mut self, sampler: Sampler) -> Result<()> {
        let start = now();
        let Sampler { parts, samples, .. } = sampler;
        let cache = CacheFormat::Rounded(self.buffers.room.kv_type);
        let room = (self.buffers.room.context, cache);
        let Some(mut model) = SampledModel::new(&self.model.config, samples, |spec| is_needed(&parts, spec), room)
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
            let Some(caps) = self.model.caps.without_needs_of(wrong.iter()) else {
                report.verdict = Verdict::Failed;
                report.wrong = wrong.into_iter().map(|kernel| kernel.id).collect();
                break;
            };
            report.verdict = Verdict::Replaced;
            let has_needs = |kernel: &&Kernel| self.model.caps.without_needs_of([*kernel].into_iter()).is_some();
            report.replaced.extend(wrong.iter().filter(has_needs).map(|kernel| kernel.id.clone()));
            self.run_with(caps).await?;
        }
        report.milliseconds = now() - start;
        self.set_verdict(report);
        Ok(())
    }

    fn set_verdict(&mut self, verdict: SelfCheck) {
        if let Some(model) = Rc::get_mut(&mut self.model) {
            model.self_check = verdict;
        }
    }

    async fn run_with(&mut self, caps: Caps) -> Result<()> {
        if let Some(model) = Rc::get_mut(&mut self.model) {
            model.caps = caps;
        }
        let lists = forward(&self.model, &self.buffers).lists();
        self.lists = Lists::record(&self.model.device, &lists, &self.table).await?;
        self.model.device.check_pipelines().await
    }

    /// Runs a prompt and one token after it, and checks each step until one is wrong.
    async fn round(&self, model: &mut SampledModel, parts: &[usize]) -> Result<Found> {
        let deadline = now() + BUDGET_MS;
        let ids: Vec<u32> = sampled_rows(self.model.config.vocab).into_iter().map(|row| row as u32).collect();
        // The first ids of a vocabulary are special tokens.
        let ids = &ids[ids.len().saturating_sub(TOKENS + 1)..];
        let ids = &ids[..ids.len().min(self.model.chunk()).min(self.buffers.room.context)];
        let (prompt, next) = ids.split_at(ids.len().saturating_sub(1));
        let forward = forward(&self.model, &self.buffers);
        let ops = ops_in_a_row(&self.model.program);
        let mut found = Found::default();
        for (steps, ids, position) in
            [(forward.traced_prefill(), prompt, 0), (forward.traced_decode(), next, prompt.len())]
        {
            if ids.is_empty() {
                continue;
            }
            self.begin_pass(ids, position, 1).await?;
            model.begin(ids, position);
            let mut stream = None;
            for part in steps.chunk_by(|a, b| a.part == b.part).filter(|steps| parts.contains(&steps[0].part)) {
                self.move_stream(stream, part[0].stream, ids.len());
                let results = self.run_steps(part, ids.len()).await?;
                let residual = self.model.program.residual();
                let mut written = part.iter().flat_map(|step| &step.results).filter(|(of, _)| *of == residual);
                stream = written.next_back().map_or(Some(part[0].stream), |(_, place)| Some(place.slice));
                for (step, results) in part.iter().zip(results) {
                    if now() > deadline {
                        found.is_partial = true;
                        return Ok(found);
                    }
                    if !is_right(model, &ops[step.ops.clone()], results).await? {
                        found.wrong = step.dispatches.iter().map(|dispatch| dispatch.kernel.clone()).collect();
                        return Ok(found);
                    }
                    found.checked.extend(step.dispatches.iter().map(|dispatch| dispatch.kernel.id.clone()));
                }
            }
        }
        Ok(found)
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
        let Self { model, table, .. } = self;
        let (device, program) = (&model.device, &model.program);
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
    // Of matrices of experts and heads no rows are kept.
    let of_experts = |op: &Op| {
        matches!(op, Op::Route { .. } | Op::ExpertGate { .. } | Op::ExpertDown { .. } | Op::HeadLinear { .. })
    };
    let is_checked = !ops.iter().any(of_experts);
    if is_checked {
        model.run(ops).await?;
    }
    let mut right = true;
    for (activation, found) in results {
        right &= model.replace(activation, found) || !is_checked;
    }
    Ok(right)
}
