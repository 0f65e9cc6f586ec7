//! A session on the CPU: one token at a time, computed when it is asked for.

use std::cell::Cell;

use super::session::{NO_TOKEN, Session, Token};
use crate::Result;
use crate::model::ModelConfig;
use crate::reference::{CpuModel, Logits};
use crate::sampler::{Counts, SamplingOptions, counts_of_prompt, sample};
use crate::time_slice::TimeSlice;

/// A model on the CPU with its cache and sampler.
pub struct CpuSession {
    model: CpuModel,
    options: SamplingOptions,
    ends: Vec<u32>,
    counts: Counts,
    steps: u32,
    /// Sampled and not yet handed out.
    sampled: Option<Token>,
    /// Sampled last.
    last: u32,
    /// Lasts over many tokens: one of a small model takes less than a slice, and the page would never get to run.
    time_slice: TimeSlice,
}

impl CpuSession {
    /// A session of `model`, with nothing cached.
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

    fn choose(&mut self, logits: &[f32]) {
        let id = sample(logits, &self.counts, &self.options, self.steps).unwrap_or(NO_TOKEN);
        if let Some(count) = self.counts.get_mut(id as usize) {
            *count += 1;
        }
        self.steps += 1;
        self.last = id;
        self.sampled = Some(Token { id, end: self.ends.contains(&id) });
    }
}

impl Session for CpuSession {
    fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    fn context_length(&self) -> usize {
        self.model.context_length()
    }

    fn configure(&mut self, options: &SamplingOptions, ends: &[u32], prompt: &[u32]) {
        self.options = *options;
        self.ends = ends.to_vec();
        self.counts = counts_of_prompt(self.model.config().vocab, prompt);
        self.steps = 0;
        self.sampled = None;
    }

    fn rewind(&mut self, position: usize) -> usize {
        position.min(self.model.cached())
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        self.sampled = None;
        if let Some(logits) = self.run(ids, position, Logits::Last, stop).await? {
            self.choose(&logits);
        }
        Ok(self.model.cached() - position)
    }

    fn step(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn in_flight(&self) -> usize {
        0
    }

    async fn next(&mut self) -> Result<Option<Token>> {
        if self.sampled.is_none() {
            let logits = self.run(&[self.last], self.model.cached(), Logits::Last, &Cell::new(false)).await?;
            self.choose(&logits.unwrap_or_default());
        }
        Ok(self.sampled.take())
    }

    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        Ok(None)
    }

    async fn logits_of_all(&mut self, ids: &[u32], position: usize) -> Result<Vec<f32>> {
        let logits = self.run(ids, position, Logits::All, &Cell::new(false)).await?;
        Ok(logits.unwrap_or_default())
    }
}
