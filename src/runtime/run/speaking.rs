//! Reads what speech is made of, row after row, and gives the hidden state of the last one. Pages that load no vocoder
//! do not have this code: it belongs to a part of the WebAssembly (`tools/modules.mjs`).

use std::pin::Pin;

use super::engine::Engine;
use crate::kernels::reference::{NormShape, layer_norm};
use crate::model::WeightKey;
use crate::model::program::{Norm, NormKind, Op};
use crate::runtime::any::AnySession;
use crate::runtime::session::Session;
use crate::{Error, Result};

/// A hidden state that is being computed.
pub type NextState<'a> = Pin<Box<dyn Future<Output = Result<Option<Vec<f32>>>> + 'a>>;

impl Engine {
    /// Reads what of `ids` is not cached, at least the last one, and gives the hidden state of that behind the output
    /// norm, `[hidden]`. Rows among them that are not cached must be held, and are let go of. `None` where `stop` was
    /// set meanwhile; it is not reset here.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, for no or unknown ids, and where the output norm has no weight;
    /// `context_full` where the ids do not fit; errors of the device.
    pub fn next_state<'a>(&'a mut self, ids: &'a [u32]) -> NextState<'a> {
        Box::pin(self.state_of_last(ids))
    }

    async fn state_of_last(&mut self, ids: &[u32]) -> Result<Option<Vec<f32>>> {
        self.check_idle()?;
        self.check_ids(ids)?;
        let (keys, eps, centred) = self.output_norm()?;
        let _rows = std::mem::take(&mut self.rows);
        let known = self.rewound(ids);
        let weights = self.norm_weights(keys).await?;
        let (state, read) = match &mut self.session {
            AnySession::Cpu(session) => session.next_state(&ids[known..], known, &self.stop).await?,
            AnySession::Gpu(lane) => {
                let device = lane.model().device().clone();
                let bytes = weights[0].len() as u64 * 4;
                let target = device.storage_buffer("hidden states", (ids.len() - known) as u64 * bytes)?;
                let read = lane.hidden_states(&ids[known..], known, &target, &self.stop).await?;
                let state = match read.checked_sub(1) {
                    None => Vec::new(),
                    Some(last) => device.read(&target, last as u64 * bytes, bytes).await?,
                };
                (bytemuck::pod_collect_to_vec(&state), read)
            }
        };
        self.cached.extend_from_slice(&ids[known..known + read]);
        if known + read < ids.len() {
            self.norm = Some(weights);
            return Ok(None);
        }
        let [weight, bias] = &weights;
        let shape = NormShape {
            width: weight.len(),
            centred,
            eps,
            weight: Some(weight),
            weight_offset: 0.0,
            bias: Some(bias.as_slice()).filter(|_| centred),
        };
        let normed = layer_norm(&state, &shape);
        self.norm = Some(weights);
        Ok(Some(normed))
    }

    /// The weight and the bias of the output norm, its epsilon, and whether it is a layer norm: for an RMS norm, which
    /// has no bias, its weight twice.
    fn output_norm(&self) -> Result<([WeightKey; 2], f32, bool)> {
        let program = crate::model::program(self.session.config());
        let norm = program.head.iter().find_map(|op| match op {
            Op::Norm { norm: Norm { kind: NormKind::Layer, weight: Some(key), bias: Some(bias), eps, .. }, .. } => {
                Some(([*key, bias.key], *eps, true))
            }
            Op::Norm { norm: Norm { kind: NormKind::Rms, weight: Some(key), bias: None, eps, .. }, .. } => {
                Some(([*key; 2], *eps, false))
            }
            _ => None,
        });
        norm.ok_or_else(|| Error::invalid_argument("the output norm of the model has no weight of its own"))
    }

    /// Forgets what of the cache `ids` do not begin with. How many of them are cached; never the last one.
    fn rewound(&mut self, ids: &[u32]) -> usize {
        // The CPU gives the states of what it has read since somebody first asked for them.
        let is_fresh = matches!(&self.session, AnySession::Cpu(session) if !session.keeps_states());
        let is_plain = self.cached_with.is_empty() && !is_fresh;
        let known = if is_plain { self.common_prefix(ids).min(ids.len() - 1) } else { 0 };
        let known = if known == 0 { 0 } else { self.session.rewind(known) };
        if known == 0 {
            self.empty();
            self.read_with(Vec::new());
        }
        self.cached.truncate(known);
        known
    }

    /// The weights and biases of the output norm, which are read from the GPU once.
    async fn norm_weights(&mut self, keys: [WeightKey; 2]) -> Result<[Vec<f32>; 2]> {
        if let Some(known) = self.norm.take() {
            return Ok(known);
        }
        let bytes = self.session.config().hidden as u64 * 4;
        match &self.session {
            AnySession::Cpu(session) => Ok(keys.map(|key| session.model().norm_weight(key).to_vec())),
            AnySession::Gpu(lane) => {
                let model = lane.model();
                let device = model.device().clone();
                let mut found = [Vec::new(), Vec::new()];
                for (found, key) in found.iter_mut().zip(keys) {
                    let slice = model.weights.vectors[&key];
                    let read = device.read(model.buffer(slice.buffer), slice.offset, bytes).await?;
                    *found = bytemuck::pod_collect_to_vec(&read);
                }
                Ok(found)
            }
        }
    }
}
