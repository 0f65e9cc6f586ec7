//! How a session on the GPU chooses the tokens of a run.

use super::gpu_model::GpuModel;
use super::gpu_session::MAX_DEPTH;
use super::session::{Choosing, RunIds};
use crate::Result;
use crate::gpu::Ring;
use crate::kernels::pass::Pass;
use crate::sampler::{Counts, SamplingOptions, count_answer};

/// Passes of several rows in flight whose logits are read, at most: they are large.
const LOGITS_AHEAD: usize = 4;

/// How the tokens of a run are chosen.
#[derive(Default)]
pub(super) struct Choice {
    /// Which cache the tokens of the next passes go to.
    pub sequence: u32,
    pub choosing: Choosing,
    /// Of the token that came out last.
    pub last_logits: Option<Vec<f32>>,
    /// The layers of the next pass are submitted: what chooses a token is not.
    pub started: bool,
    /// Read-backs of logits, made when a run wants the first.
    pub logits: Option<Ring>,
    /// Where there are penalties: of the prompt.
    counts: Option<Counts>,
    /// Tokens of the answer before the next pass that the host writes.
    steps: u32,
}

impl Choice {
    /// For a run, before any token of it.
    pub fn of_run(self, options: &SamplingOptions, ids: &RunIds) -> Self {
        let choosing = Choosing::of_run(options, ids);
        Self { choosing, logits: self.logits, sequence: self.sequence, ..Self::default() }
    }

    /// Keeps what a recount starts from.
    pub fn keep_counts(&mut self, options: &SamplingOptions, counts: Counts) {
        self.counts = options.has_penalties().then_some(counts);
    }

    /// The counts with those of an answer, where they matter and are asked for.
    pub fn resume(&mut self, answer: &[u32], recount: bool) -> Option<Counts> {
        self.steps = answer.len() as u32;
        let mut counts = self.counts.clone().filter(|_| recount)?;
        count_answer(&mut counts, answer);
        Some(counts)
    }

    /// A pass over tokens that the host knows.
    pub fn pass(&self, ids: &[u32], position: usize) -> Pass {
        let mut pass = Pass::chunk(self.sequence, position as u32, ids);
        pass.header.sequences[0].steps = self.steps;
        pass
    }

    /// Makes the read-backs of the logits of passes of up to `rows` rows.
    pub fn prepare_logits(&mut self, model: &GpuModel, rows: usize) -> Result<()> {
        if self.logits.is_none() {
            let depth = if rows > 1 { LOGITS_AHEAD } else { MAX_DEPTH };
            self.logits = Some(Ring::new(&model.device, depth, (rows * model.config.vocab * 4) as u64)?);
        }
        Ok(())
    }

    /// Bytes of read-backs.
    pub fn bytes(&self) -> u64 {
        self.logits.as_ref().map_or(0, Ring::bytes)
    }
}
