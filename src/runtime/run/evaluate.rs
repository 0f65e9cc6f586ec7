//! Reads ids from an empty cache, for their logits or their hidden states.

use std::rc::Rc;

use super::engine::Engine;
use crate::gpu::{Buffer, Device};
use crate::kernels::reference::rms_norm;
use crate::model::program::Op;
use crate::runtime::any::AnySession;
use crate::runtime::session::Session;
use crate::{Error, ErrorCode, Result};

impl<S: Session> Engine<S> {
    /// Reads `ids` from an empty cache, and hands their logits to `each` a few rows at a time: (index of the first
    /// row's id, logits `[rows, vocab]`). False where `stop` was set meanwhile; it is not reset here.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on or for unknown ids; `context_full` where the ids do not fit.
    pub async fn evaluate(&mut self, ids: &[u32], each: impl FnMut(usize, &[f32])) -> Result<bool> {
        self.evaluate_with(ids, &[], each).await
    }

    /// Evaluates with these adapters, given as pairs of number and scale.
    ///
    /// # Errors
    /// The errors of [`Engine::evaluate`] and of [`Engine::adapters_of`].
    pub async fn evaluate_with(
        &mut self,
        ids: &[u32],
        adapters: &[(u32, f32)],
        mut each: impl FnMut(usize, &[f32]),
    ) -> Result<bool> {
        self.check_idle()?;
        self.check_ids(ids)?;
        let context = self.session.context_length();
        if ids.len() > context {
            let message = format!("{} tokens to evaluate, the context holds {context}", ids.len());
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        let adapters = self.adapters_of(adapters, ids)?;
        self.empty();
        self.read_with(adapters);
        let read = self.session.evaluate(ids, 0, &self.stop, &mut each).await?;
        self.cached.extend_from_slice(&ids[..read]);
        Ok(read == ids.len())
    }
}

impl Engine {
    /// Gives what the head reads of each of `ids`: the hidden states behind the output norm, `[ids, hidden]`. Reads
    /// them from an empty cache, unless they were kept on the CPU when they were cached. `None` where `stop` was set
    /// meanwhile; it is not reset here.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, for no or unknown ids, and where the output norm is no RMS norm;
    /// `context_full` where the ids do not fit; errors of the device.
    pub async fn normed_states(&mut self, ids: &[u32]) -> Result<Option<Vec<f32>>> {
        self.check_idle()?;
        self.check_ids(ids)?;
        let config = self.session.config();
        let (hidden, program) = (config.hidden, crate::model::program(config));
        let norm =
            program.head.iter().find_map(|op| if let Op::Norm { norm, .. } = op { norm.plain_rms() } else { None });
        let (key, eps) = norm.ok_or_else(|| Error::invalid_argument("the output norm of the model is no RMS norm"))?;
        let kept = self.kept_states(ids);
        let is_kept = kept.is_some();
        if !is_kept {
            self.empty();
            self.read_with(Vec::new());
        }
        let (mut states, weight) = match &mut self.session {
            AnySession::Gpu(lane) => {
                let model = lane.model();
                let (device, slice) = (model.device().clone(), model.weights.vectors[&key]);
                let bytes = hidden as u64 * 4;
                let weight = device.read(model.buffer(slice.buffer), slice.offset, bytes).await?;
                let target = device.storage_buffer("hidden states", ids.len() as u64 * bytes)?;
                let read = lane.hidden_states(ids, 0, &target, &self.stop).await? as u64;
                let states = if read > 0 { device.read(&target, 0, read * bytes).await? } else { Vec::new() };
                let [states, weight] = [states, weight].map(|bytes| bytemuck::pod_collect_to_vec::<u8, f32>(&bytes));
                (states, weight)
            }
            AnySession::Cpu(session) => {
                let states = match kept {
                    Some(states) => states,
                    None => session.hidden_states(ids, &self.stop).await?,
                };
                (states, session.model().norm_weight(key).to_vec())
            }
        };
        let read = states.len() / hidden;
        if !is_kept {
            self.cached.extend_from_slice(&ids[..read]);
        }
        rms_norm(&mut states, &weight, eps);
        Ok((read == ids.len()).then_some(states))
    }

    /// The hidden states of `ids` that the CPU kept, where `ids` are cached and were read without adapters.
    fn kept_states(&self, ids: &[u32]) -> Option<Vec<f32>> {
        let AnySession::Cpu(session) = &self.session else { return None };
        let is_cached = self.cached_with.is_empty() && self.cached.starts_with(ids);
        is_cached.then(|| session.kept_states(ids)).flatten()
    }

    /// Reads `ids` from an empty cache, and leaves the hidden states of the last layer in `target`, a buffer of
    /// `device`: see [`crate::runtime::GpuLane::hidden_states`]. False where `stop` was set meanwhile; it is not reset
    /// here.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, for unknown ids, where the model is not on that device, and where `target`
    /// is too small; `context_full` where the ids do not fit.
    pub async fn hidden_states(&mut self, ids: &[u32], device: &Rc<Device>, target: &Buffer) -> Result<bool> {
        self.check_idle()?;
        self.check_ids(ids)?;
        let model = match &self.session {
            AnySession::Gpu(lane) => lane.model(),
            AnySession::Cpu(_) => return Err(Error::invalid_argument("the model runs on the CPU: it has no tensors")),
        };
        if !Rc::ptr_eq(model.device(), device) {
            return Err(Error::invalid_argument("the model is on another device: load it with the option 'gpu'"));
        }
        self.empty();
        self.read_with(Vec::new());
        let read = match &mut self.session {
            AnySession::Gpu(lane) => lane.hidden_states(ids, 0, target, &self.stop).await?,
            AnySession::Cpu(_) => 0,
        };
        self.cached.extend_from_slice(&ids[..read]);
        Ok(read == ids.len())
    }
}
