//! Where a model runs: on the GPU or, without one, on the CPU. One interface for the loop in `generate`.

use std::cell::Cell;

use crate::config::ModelConfig;
use crate::forward::EVALUATE_CHUNK;
use crate::gpu::GpuModel;
use crate::reference::{CpuModel, Logits};
use crate::sampler::{Counts, SamplingOptions, counts_of_prompt, sample};
use crate::web::time_slice::TimeSlice;
use crate::{Error, ErrorCode, Result};

/// A sampled token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// Whether it ends the run.
    pub end: bool,
}

/// A loaded model on its device.
pub enum Backend {
    /// On WebGPU.
    Gpu(Box<GpuModel>),
    /// On the CPU.
    Cpu(Box<CpuRunner>),
}

/// A model on the CPU with its sampler: one token in flight at most.
pub struct CpuRunner {
    model: CpuModel,
    options: SamplingOptions,
    ends: Vec<u32>,
    counts: Counts,
    steps: u32,
    /// Sampled and not yet handed out.
    sampled: Option<Token>,
    /// Sampled last.
    last: u32,
    /// Lasts over many tokens: one of a small model takes less than a slice, and the page would never get its turn.
    time_slice: TimeSlice,
}

impl CpuRunner {
    /// A runner of `model`.
    pub fn new(model: CpuModel) -> Self {
        let options = SamplingOptions::default();
        let time_slice = TimeSlice::new();
        Self { model, options, ends: Vec::new(), counts: Counts::new(), steps: 0, sampled: None, last: 0, time_slice }
    }

    /// The logits asked for, or `None` where `stop` was set meanwhile.
    async fn run(
        &mut self,
        ids: &[u32],
        position: usize,
        logits: Logits,
        stop: &Cell<bool>,
    ) -> Result<Option<Vec<f32>>> {
        let mut pass = self.model.begin(ids, position, logits)?;
        while pass.step_yielding(async || self.time_slice.yield_if_over().await).await? {
            if stop.get() {
                return Ok(None);
            }
        }
        Ok(Some(pass.into_logits()))
    }

    fn choose(&mut self, logits: &[f32]) -> Result<()> {
        let id = sample(logits, &self.counts, &self.options, self.steps);
        let id = id.ok_or_else(|| Error::new(ErrorCode::BadFile, "every logit of a token is not a number"))?;
        if let Some(count) = self.counts.get_mut(id as usize) {
            *count += 1;
        }
        self.steps += 1;
        self.last = id;
        self.sampled = Some(Token { id, end: self.ends.contains(&id) });
        Ok(())
    }
}

impl Backend {
    /// The model's numbers.
    pub fn config(&self) -> &ModelConfig {
        match self {
            Self::Gpu(model) => model.config(),
            Self::Cpu(runner) => runner.model.config(),
        }
    }

    /// Positions of the KV cache.
    pub fn context_length(&self) -> usize {
        match self {
            Self::Gpu(model) => model.context_length(),
            Self::Cpu(runner) => runner.model.context_length(),
        }
    }

    /// Sets how the tokens of the next run are chosen. `ends` are the ids that end it; `prompt` counts for penalties.
    pub fn configure(&mut self, options: &SamplingOptions, ends: &[u32], prompt: &[u32]) {
        match self {
            Self::Gpu(model) => model.configure(options, ends, prompt),
            Self::Cpu(runner) => {
                runner.options = *options;
                runner.ends = ends.to_vec();
                runner.counts = counts_of_prompt(runner.model.config().vocab, prompt);
                runner.steps = 0;
                runner.sampled = None;
            }
        }
    }

    /// Runs `ids` at `position` and after, and samples the token after them; ends early once `stop` is set. Returns
    /// how many ids were run.
    pub async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        match self {
            Self::Gpu(model) => model.feed(ids, position, stop).await,
            Self::Cpu(runner) => {
                if let Some(logits) = runner.run(ids, position, Logits::Last, stop).await? {
                    runner.choose(&logits)?;
                }
                Ok(runner.model.cached() - position)
            }
        }
    }

    /// Submits the pass of the next token, ahead of reading the last; false where no more may be in flight.
    pub fn step(&mut self) -> Result<bool> {
        match self {
            Self::Gpu(model) => Ok(model.step()),
            // The CPU computes a token when it is asked for it: see `next`.
            Self::Cpu(_) => Ok(false),
        }
    }

    /// Tokens submitted and not yet read.
    pub fn in_flight(&self) -> usize {
        match self {
            Self::Gpu(model) => model.in_flight(),
            Self::Cpu(_) => 0,
        }
    }

    /// The oldest token in flight, once it is there.
    pub async fn next(&mut self) -> Result<Option<Token>> {
        match self {
            Self::Gpu(model) => Ok(model.next().await?.map(|state| Token { id: state.token, end: state.done != 0 })),
            Self::Cpu(runner) => runner.next().await,
        }
    }

    /// The oldest token in flight, if it is there.
    pub fn next_if_ready(&mut self) -> Result<Option<Token>> {
        match self {
            Self::Gpu(model) => Ok(model.next_if_ready()?.map(|s| Token { id: s.token, end: s.done != 0 })),
            Self::Cpu(_) => Ok(None),
        }
    }

    /// Logits `[ids, vocab]` of up to [`EVALUATE_CHUNK`] ids at `position` and after.
    pub async fn logits_of_all(&mut self, ids: &[u32], position: usize) -> Result<Vec<f32>> {
        debug_assert!(ids.len() <= EVALUATE_CHUNK);
        match self {
            Self::Gpu(model) => model.logits_of_all(ids, position).await,
            Self::Cpu(runner) => {
                let logits = runner.run(ids, position, Logits::All, &Cell::new(false)).await?;
                Ok(logits.unwrap_or_default())
            }
        }
    }
}

impl CpuRunner {
    /// The token sampled last, or else the one after it.
    async fn next(&mut self) -> Result<Option<Token>> {
        if self.sampled.is_none() {
            let logits = self.run(&[self.last], self.model.cached(), Logits::Last, &Cell::new(false)).await?;
            self.choose(&logits.unwrap_or_default())?;
        }
        Ok(self.sampled.take())
    }
}
