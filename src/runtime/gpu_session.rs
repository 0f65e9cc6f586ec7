//! A model on the GPU: its buffers, its command lists made once, and the passes that run them.

use std::cell::Cell;
use std::rc::Rc;

use super::session::{Session, Token};
use crate::config::ModelConfig;
use crate::forward::{self, BufferSpec, Buffers, CHUNK, EVALUATE_CHUNK, Forward, MAX_STOPS, Weights};
use crate::gpu::{BufferTable, CommandList, Gpu, ReadBack, Ring};
use crate::kernels::caps::{ActivationFormat, Precision};
use crate::kernels::spec::Slice;
use crate::kernels::state::State;
use crate::sampler::{SamplingOptions, counts_of_prompt};
use crate::time_slice::TimeSlice;
use crate::{Error, ErrorCode, Result};

/// Tokens in flight, at most.
pub const MAX_DEPTH: usize = 16;

struct Lists {
    prefill: CommandList,
    head: CommandList,
    decode: CommandList,
    greedy: CommandList,
    sample: CommandList,
}

impl Lists {
    /// What chooses a token from the logits.
    fn tail(&self, greedy: bool) -> &CommandList {
        if greedy { &self.greedy } else { &self.sample }
    }
}

/// A model whose weights are on the GPU, ready to run.
pub struct GpuSession {
    gpu: Rc<Gpu>,
    config: ModelConfig,
    weights: Weights,
    table: BufferTable,
    buffers: Buffers,
    lists: Lists,
    evaluation: Option<Evaluation>,
    ring: Ring,
    greedy: bool,
}

/// What a pass over ids of a prompt does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PassKind {
    /// Fills the cache.
    Through,
    /// Chooses the next token too.
    Choose,
    /// The same, for one id, as decode does it.
    One,
}

/// Made at the first call of [`Session::logits_of_all`].
struct Evaluation {
    /// Prefill without rounding, where the model's own rounds.
    exact: Option<CommandList>,
    head: CommandList,
    logits: wgpu::Buffer,
}

/// Makes the buffers of a plan.
pub fn make_buffers(gpu: &Gpu, specs: &[BufferSpec]) -> Result<BufferTable> {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let mut table = BufferTable::default();
    // The device's own limit: `caps` may hold a smaller one, by which matrices are cut.
    let most = gpu.device.limits().max_storage_buffer_binding_size;
    for spec in specs {
        if spec.bytes > most {
            let (label, bytes) = (&spec.label, spec.bytes);
            let message = format!("{label} takes {bytes} bytes, a binding of this device holds {most}");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        table.insert(spec.id, gpu.buffer(&spec.label, spec.bytes, usage)?);
    }
    Ok(table)
}

impl GpuSession {
    /// Records the command lists, as `Forward::lists` gives them, of a model whose weights are in `table`, with turns
    /// for the page in between.
    pub async fn new(
        gpu: Rc<Gpu>,
        config: ModelConfig,
        weights: Weights,
        buffers: Buffers,
        table: BufferTable,
        forward::Lists { prefill, head, decode, greedy, sample }: forward::Lists,
    ) -> Result<Self> {
        let mut time_slice = TimeSlice::new();
        let mut record = async |dispatches: Vec<_>| {
            time_slice.yield_if_over().await;
            CommandList::record(&gpu, &dispatches, &table)
        };
        let lists = Lists {
            prefill: record(prefill).await?,
            head: record(head).await?,
            decode: record(decode).await?,
            greedy: record(greedy).await?,
            sample: record(sample).await?,
        };
        let ring = Ring::new(&gpu, MAX_DEPTH, size_of::<State>() as u64)?;
        Ok(Self { gpu, config, weights, table, buffers, lists, evaluation: None, ring, greedy: true })
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Dispatches of one decoded token.
    pub fn dispatches_per_token(&self) -> usize {
        self.lists.decode.len() + self.lists.tail(self.greedy).len()
    }

    /// Submits one pass over `ids` at `position`.
    fn pass(&mut self, ids: &[u32], position: usize, way: PassKind) -> Result<()> {
        self.write(self.buffers.tokens, bytemuck::cast_slice(ids));
        let state = State { position: position as u32, count: ids.len() as u32, ..Default::default() };
        self.write(self.buffers.state, bytemuck::bytes_of(&state));
        let Lists { prefill, head, decode, .. } = &self.lists;
        let tail = self.lists.tail(self.greedy);
        let lists: &[&CommandList] = match way {
            PassKind::Through => &[prefill],
            PassKind::Choose => &[prefill, head, tail],
            PassKind::One => &[decode, tail],
        };
        let read = (way != PassKind::Through).then(|| self.ring.reserve()).flatten();
        if read.is_none() && way != PassKind::Through {
            return Err(Error::new(ErrorCode::LimitExceeded, format!("{MAX_DEPTH} tokens are in flight already")));
        }
        let submitted = submit(&self.gpu, lists, ids.len() as u32, read.map(|read| (read, self.state())));
        submitted.into_iter().for_each(|read| self.ring.submitted(read));
        Ok(())
    }

    fn record_evaluation(&mut self) -> Result<Evaluation> {
        let bytes = (EVALUATE_CHUNK * self.config.vocab * 4) as u64;
        if bytes > self.gpu.caps.max_binding {
            let message = format!(
                "{EVALUATE_CHUNK} rows of logits take {bytes} bytes, a binding here holds {}",
                self.gpu.caps.max_binding
            );
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let logits = self.gpu.buffer("all logits", bytes, usage)?;
        let id = self.table.add(logits.clone());
        let (config, weights, buffers) = (&self.config, &self.weights, &self.buffers);
        let caps = self.gpu.caps.clone().with_precision(Precision::Exact);
        let forward = Forward { config, caps: &caps, weights, buffers };
        let record = |dispatches: Vec<_>| CommandList::record(&self.gpu, &dispatches, &self.table);
        let head = record(forward.head_of_all(id.into()))?;
        let exact = self.rounds().then(|| record(forward.prefill())).transpose()?;
        Ok(Evaluation { exact, head, logits })
    }

    /// Whether prefill rounds activations.
    fn rounds(&self) -> bool {
        self.gpu.caps.activation_format != ActivationFormat::F32
    }

    fn state(&self) -> &wgpu::Buffer {
        self.table.get(self.buffers.state.buffer)
    }

    fn write(&self, slice: Slice, bytes: &[u8]) {
        self.gpu.queue.write_buffer(self.table.get(slice.buffer), slice.offset, bytes);
    }
}

impl Session for GpuSession {
    fn config(&self) -> &ModelConfig {
        &self.config
    }

    fn context_length(&self) -> usize {
        self.buffers.heads.context as usize
    }

    fn configure(&mut self, options: &SamplingOptions, ends: &[u32], prompt: &[u32]) {
        let ends = &ends[..ends.len().min(MAX_STOPS)];
        let words: Vec<u32> = std::iter::once(ends.len() as u32).chain(ends.iter().copied()).collect();
        let sample = self.buffers.sample;
        self.write(sample.stops, bytemuck::cast_slice(&words));
        self.greedy = options.is_plain_greedy();
        if !self.greedy {
            self.write(sample.options, bytemuck::bytes_of(&crate::kernels::sample::Options::from(options)));
            self.write(sample.counts, bytemuck::cast_slice(&counts_of_prompt(self.config.vocab, prompt)));
        }
    }

    /// In chunks of [`CHUNK`], of which at most two are queued, so that `stop` takes effect soon.
    ///
    /// Where prefill rounds, the last id goes the way of decode, so that nothing is rounded in its own logits.
    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        self.ring.discard();
        let apart = usize::from(self.rounds() || ids.len() == 1);
        let (many, one) = ids.split_at(ids.len() - apart);
        let mut before = None;
        let mut at = position;
        for chunk in many.chunks(CHUNK) {
            let last = at + chunk.len() == position + ids.len();
            self.pass(chunk, at, if last { PassKind::Choose } else { PassKind::Through })?;
            at += chunk.len();
            if !last && let Some(before) = before.replace(self.gpu.submitted()) {
                let _ = before.await;
            }
            if stop.get() {
                break;
            }
        }
        if !one.is_empty() && at + 1 == position + ids.len() && !(stop.get() && at > position) {
            self.pass(one, at, PassKind::One)?;
            at += 1;
        }
        self.gpu.check()?;
        Ok(at - position)
    }

    fn step(&mut self) -> Result<bool> {
        let Some(read) = self.ring.reserve() else { return Ok(false) };
        let lists = [&self.lists.decode, self.lists.tail(self.greedy)];
        let submitted = submit(&self.gpu, &lists, 1, Some((read, self.state())));
        submitted.into_iter().for_each(|read| self.ring.submitted(read));
        Ok(true)
    }

    fn in_flight(&self) -> usize {
        self.ring.in_flight()
    }

    async fn next(&mut self) -> Result<Option<Token>> {
        Ok(self.ring.next(&self.gpu).await?.map(|bytes| token(&bytes)))
    }

    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        Ok(self.ring.next_if_ready(&self.gpu)?.map(|bytes| token(&bytes)))
    }

    /// Without rounding of activations.
    async fn logits_of_all(&mut self, ids: &[u32], position: usize) -> Result<Vec<f32>> {
        if self.evaluation.is_none() {
            self.evaluation = Some(self.record_evaluation()?);
        }
        let Some(evaluation) = &self.evaluation else { return Ok(Vec::new()) };
        self.write(self.buffers.tokens, bytemuck::cast_slice(ids));
        let state = State { position: position as u32, count: ids.len() as u32, ..Default::default() };
        self.write(self.buffers.state, bytemuck::bytes_of(&state));
        let layers = evaluation.exact.as_ref().unwrap_or(&self.lists.prefill);
        submit(&self.gpu, &[layers, &evaluation.head], ids.len() as u32, None);
        let bytes = self.gpu.read(&evaluation.logits, 0, (ids.len() * self.config.vocab * 4) as u64).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }
}

/// The token that a pass left in the state.
fn token(state: &[u8]) -> Token {
    let state: State = bytemuck::pod_read_unaligned(state);
    Token { id: state.token, end: state.done != 0 }
}

/// One submit: the lists in one compute pass, then the copy of the state that is to be read back.
fn submit(gpu: &Gpu, lists: &[&CommandList], tokens: u32, read: Option<(ReadBack, &wgpu::Buffer)>) -> Option<ReadBack> {
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        lists.iter().for_each(|list| list.replay(&mut pass, tokens));
    }
    let read = read.map(|(read, state)| {
        read.copy(&mut encoder, state);
        read
    });
    gpu.queue.submit([encoder.finish()]);
    read
}
