//! Reads ids from an empty cache, for their logits or their hidden states.

use std::rc::Rc;

use super::engine::Engine;
use crate::gpu::{Buffer, Device};
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
            AnySession::Gpu(lane) => lane.hidden_states(ids, target, &self.stop).await?,
            AnySession::Cpu(_) => 0,
        };
        self.cached.extend_from_slice(&ids[..read]);
        Ok(read == ids.len())
    }
}
