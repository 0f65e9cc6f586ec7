//! How a session on the GPU chooses the tokens of a run, in passes whose layers may be submitted before what chooses.

use super::gpu_model::GpuModel;
use super::gpu_session::{GpuSession, MAX_DEPTH, read_copy};
use super::session::RunIds;
use crate::Result;
use crate::gpu::{Copy, Part, Ring};
use crate::kernels::pass::Pass;
use crate::sampler::{Counts, SamplingOptions, count_answer};

/// How the tokens of a run are chosen.
#[derive(Default)]
pub(super) struct Choice {
    /// Which cache the tokens of the next passes go to.
    pub sequence: u32,
    /// The largest logit, whatever came before.
    pub greedy: bool,
    /// Some ids have a bias.
    pub is_biased: bool,
    /// The logits of each token are read, too.
    pub wants_logits: bool,
    /// Of the token that came out last.
    pub last_logits: Option<Vec<f32>>,
    /// The layers of the next pass are submitted: what chooses a token is not.
    pub started: bool,
    /// Read-backs of logits, made when a run wants the first.
    logits: Option<Ring>,
    /// Where there are penalties: of the prompt.
    counts: Option<Counts>,
    /// Tokens of the answer before the next pass that the host writes.
    steps: u32,
}

impl Choice {
    /// For a run, before any token of it.
    pub fn of_run(self, options: &SamplingOptions, ids: &RunIds) -> Self {
        Self {
            // The kernels of sampling alone know suppressed tokens, also with a temperature of 0.
            greedy: options.is_plain_greedy() && ids.suppressed.is_empty(),
            is_biased: !ids.biases.is_empty(),
            wants_logits: ids.logits,
            logits: self.logits,
            sequence: self.sequence,
            ..Self::default()
        }
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

    /// Makes the read-backs of logits where the run wants them.
    pub fn prepare_logits(&mut self, model: &GpuModel) -> Result<()> {
        if self.wants_logits && self.logits.is_none() {
            self.logits = Some(Ring::new(&model.device, MAX_DEPTH, model.config.vocab as u64 * 4)?);
        }
        Ok(())
    }

    /// Bytes of read-backs.
    pub fn bytes(&self) -> u64 {
        self.logits.as_ref().map_or(0, Ring::bytes)
    }
}

impl GpuSession {
    /// Drops what is in flight.
    pub(super) fn discard(&mut self) {
        self.ring.discard();
        self.waiting = None;
        self.choice.logits.iter_mut().for_each(Ring::discard);
        self.choice.started = false;
    }

    /// Submits one decode pass and the read-back of its token. The pass's row must be written; the layers are skipped
    /// where they already ran. False where [`MAX_DEPTH`] tokens are in flight.
    pub(super) fn submit_one(&mut self) -> bool {
        let Some(read) = self.ring.reserve() else { return false };
        let layers = (!self.choice.started).then_some(&self.lists.decode).into_iter().map(Part::from);
        let choosing = self.lists.choosing(self.choice.greedy, self.choice.is_biased).map(Part::from);
        let copy = read_copy(self.table.get(self.buffers.pass.buffer), &read);
        let device = &self.model.device;
        let wants_logits = self.choice.wants_logits;
        let logits = self.choice.logits.as_mut().filter(|_| wants_logits).and_then(Ring::reserve);
        match &logits {
            Some(logits) => {
                let (source, target) = (self.buffers.logits, logits.buffer());
                let source_offset = source.offset;
                let source = self.table.get(source.buffer);
                // Bias and penalties change the logits in place.
                let raw = Copy { source, source_offset, target, offset: 0, bytes: target.size() };
                device.submit(layers, 1, Some(&raw));
                device.submit(choosing, 1, Some(&copy));
            }
            None => device.submit(layers.chain(choosing), 1, Some(&copy)),
        }
        if let Some((ring, logits)) = self.choice.logits.as_mut().zip(logits) {
            ring.submitted(logits);
        }
        self.ring.submitted(read);
        self.choice.started = false;
        true
    }

    /// The logits of the oldest token in flight, where the run wants them.
    pub(super) async fn read_logits(&mut self) -> Result<()> {
        if !self.choice.wants_logits {
            return Ok(());
        }
        if let Some(ring) = &mut self.choice.logits {
            let bytes = ring.next(&self.model.device).await?;
            self.choice.last_logits = bytes.map(|bytes| bytemuck::pod_collect_to_vec(&bytes));
        }
        Ok(())
    }
}
