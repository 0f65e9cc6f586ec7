//! Results for every token of a text on the GPU: logits and hidden states.

use super::model::GpuModel;
use super::session::GpuSession;
use crate::forward::EVALUATE_CHUNK;
use crate::gpu::{Buffer, CommandList};
use crate::kernels::caps::Precision;
use crate::kernels::spec::BufferId;
use crate::runtime::pass::Reading;
use crate::{Error, ErrorCode, Result};

/// The lists of [`Session::evaluate`](crate::runtime::Session::evaluate), made at its first call.
pub(in crate::runtime) struct Evaluation {
    /// Prefill without rounding, where the model's own prefill rounds.
    pub exact: Option<CommandList>,
    pub head: CommandList,
}

impl GpuModel {
    /// Checks that the target is large enough, and that the ids fit the context.
    pub(in crate::runtime) fn check_hidden(&self, reading: &Reading, context: usize, target: &Buffer) -> Result<()> {
        let count = reading.ids.len();
        let bytes = count as u64 * self.config.hidden as u64 * 4;
        if bytes > target.size() {
            let message = format!("hidden states of {count} tokens take {bytes} bytes, found {}", target.size());
            return Err(Error::invalid_argument(message));
        }
        if reading.end() > context {
            let message = format!("{count} tokens at {}, the context holds {context}", reading.position);
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        Ok(())
    }
}

impl GpuSession {
    /// Makes the lists and the buffer for logits of every token.
    pub(in crate::runtime) fn prepare_evaluation(&mut self) -> Result<()> {
        let logits = self.all_logits()?;
        if self.evaluation.is_none() {
            self.evaluation = Some(self.record_evaluation(logits)?);
        }
        Ok(())
    }

    /// The logits `[rows, vocab]` of the last pass.
    pub(in crate::runtime) async fn read_all_logits(&self, rows: usize) -> Result<Vec<f32>> {
        let Some(logits) = self.all_logits else { return Ok(Vec::new()) };
        let bytes = (rows * self.model.config.vocab * 4) as u64;
        let bytes = self.model.device.read(self.table.get(logits), 0, bytes).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// The buffer for the logits of a chunk, `[EVALUATE_CHUNK, vocab]`, made at the first call.
    fn all_logits(&mut self) -> Result<BufferId> {
        if let Some(id) = self.all_logits {
            return Ok(id);
        }
        let model = &self.model;
        let (bytes, most) = ((EVALUATE_CHUNK * model.config.vocab * 4) as u64, model.caps.max_binding);
        if bytes > most {
            let message = format!("{EVALUATE_CHUNK} rows of logits take {bytes} bytes, a binding here holds {most}");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let id = self.table.add(model.device.storage_buffer("all logits", bytes)?);
        self.all_logits = Some(id);
        Ok(id)
    }

    fn record_evaluation(&mut self, logits: BufferId) -> Result<Evaluation> {
        let model = &self.model;
        let caps = model.caps.clone().with_precision(Precision::Exact);
        let forward = self.forward(&caps, &self.buffers);
        let record = |dispatches: Vec<_>| CommandList::record(&model.device, &dispatches, &self.table);
        let head = record(forward.head_of_all(logits.into()))?;
        let exact = self.rounds().then(|| record(forward.prefill())).transpose()?;
        Ok(Evaluation { exact, head })
    }
}
