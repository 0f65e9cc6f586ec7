//! What a session on the GPU gives of every token of a text: logits, or hidden states.

use std::cell::Cell;

use super::gpu_session::GpuSession;
use super::queue::{Queue, Work};
use super::session::Session;
use crate::forward::{EVALUATE_CHUNK, Forward};
use crate::gpu::{Buffer, CommandList, Copy};
use crate::kernels::caps::Precision;
use crate::kernels::spec::BufferId;
use crate::{Error, ErrorCode, Result};

/// Made at the first call of [`GpuSession::evaluate`].
pub(super) struct Evaluation {
    /// Prefill without rounding, where the model's own rounds.
    pub exact: Option<CommandList>,
    pub head: CommandList,
}

impl GpuSession {
    /// The hidden states of `ids` at `position` and after: what the last layer leaves in the residual stream, before
    /// the output norm. They go to `target`, `[ids, hidden]` f32, on the GPU: a buffer of the model's device, such as
    /// that of a tensor. The KV cache then holds the ids.
    ///
    /// # Errors
    /// `invalid_argument` where `target` is too small, `context_full` where the ids do not fit.
    pub async fn hidden_states(&mut self, ids: &[u32], position: usize, target: &Buffer) -> Result<()> {
        let row = self.model.config.hidden as u64 * 4;
        let bytes = ids.len() as u64 * row;
        if bytes > target.size() {
            let message = format!("hidden states of {} tokens take {bytes} bytes, found {}", ids.len(), target.size());
            return Err(Error::invalid_argument(message));
        }
        if position + ids.len() > self.context_length() {
            let message = format!("{} tokens at {position}, the context holds {}", ids.len(), self.context_length());
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        self.make_room(position + ids.len()).await?;
        let mut queue = Queue::new(&self.model);
        let most = self.model.chunk();
        for (index, chunk) in ids.chunks(most).enumerate() {
            let first = index * most;
            self.model.ensure_rows(chunk).await?;
            self.write_pass(chunk, position + first);
            let source = self.buffers.places.head.of(self.model.program.residual()).slice;
            let copy = Copy {
                source: self.table.get(source.buffer),
                source_offset: source.offset,
                target,
                offset: first as u64 * row,
                bytes: chunk.len() as u64 * row,
            };
            let work = Work { layers: &self.lists.prefill, then: &[], tokens: chunk.len(), copy: Some(copy) };
            queue.run(work, &Cell::new(false)).await;
        }
        self.moved(Some(position + ids.len()));
        self.model.device.check()
    }

    /// Logits `[ids, vocab]`, without rounding of activations: see [`Session::logits_of_all`].
    pub(super) async fn evaluate(&mut self, ids: &[u32], position: usize) -> Result<Vec<f32>> {
        self.make_room(position + ids.len()).await?;
        let logits = self.all_logits()?;
        if self.evaluation.is_none() {
            self.evaluation = Some(self.record_evaluation(logits)?);
        }
        self.model.ensure_rows(ids).await?;
        self.moved(Some(position + ids.len()));
        let Some(evaluation) = &self.evaluation else { return Ok(Vec::new()) };
        self.write_pass(ids, position);
        let layers = evaluation.exact.as_ref().unwrap_or(&self.lists.prefill);
        let work = Work { layers, then: &[&evaluation.head], tokens: ids.len(), copy: None };
        Queue::new(&self.model).run(work, &Cell::new(false)).await;
        let bytes = (ids.len() * self.model.config.vocab * 4) as u64;
        let bytes = self.model.device.read(self.table.get(logits), 0, bytes).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// The buffer for all logits of a chunk.
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
        let forward = Forward::new(&model.program, &caps, &model.weights, &self.buffers);
        let record = |dispatches: Vec<_>| CommandList::record(&model.device, &dispatches, &self.table);
        let head = record(forward.head_of_all(logits.into()))?;
        let exact = self.rounds().then(|| record(forward.prefill())).transpose()?;
        Ok(Evaluation { exact, head })
    }
}
