//! Submits passes, in several parts where they take long, and measures how long they take.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use futures_channel::oneshot::Receiver;

use super::model::GpuModel;
use crate::Result;
use crate::gpu::{CommandList, Part};
use crate::runtime::plan::{LongPass, Plan, Submit};
use crate::time_slice::now;

/// The submits of one caller. At most two wait for the GPU at a time, so that little is left to wait for after a
/// cancel.
pub(in crate::runtime) struct Queue {
    model: Rc<GpuModel>,
    before: Option<Submitted>,
    /// When the last submit that is known to be done was done, in milliseconds.
    last_done: f64,
}

/// A submit that the GPU may not have finished.
struct Submitted {
    done: Receiver<()>,
    since: f64,
    tokens: usize,
    /// Share of the layers' dispatches, from 0 to 1.
    share: f64,
}

impl Queue {
    pub fn new(model: &Rc<GpuModel>) -> Self {
        Self { model: model.clone(), before: None, last_done: 0.0 }
    }

    /// Submits a pass, whose layers are in a list of `len` dispatches, part by part, and waits while two submits are
    /// queued. `execute` gets the parts. False where `stop` was set before all of it was submitted.
    ///
    /// # Errors
    /// The errors of `execute`.
    pub async fn run(
        &mut self,
        (pass, len): (LongPass<'_>, usize),
        stop: &Cell<bool>,
        mut execute: impl FnMut(&Plan<'_>) -> Result<()>,
    ) -> Result<bool> {
        let tokens = pass.layers.rows;
        let parts = self.model.pace.parts(tokens, pass.dispatches(len));
        for (part, Submit { plan, layers }) in (1..).zip(pass.cut(len, parts)) {
            execute(&plan)?;
            self.queued(tokens, layers as f64 / len.max(1) as f64).await;
            if stop.get() && part < parts {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Measures how long a pass over `tokens` tokens takes, which must be written. One layer runs first, since all of
    /// them may take seconds. Nothing else may be queued.
    pub async fn measure(model: &Rc<GpuModel>, layers: &CommandList, tokens: usize) -> Result<()> {
        let dispatches = layers.len();
        let layer = dispatches.div_ceil(model.config.layers.max(1));
        for part in [0..layer, 0..dispatches] {
            if model.pace.parts(tokens, dispatches) > 1 {
                break;
            }
            model.pace.forget();
            let mut queue = Self::new(model);
            queue.submit_layers(layers, part, tokens);
            queue.finish().await;
        }
        model.device.check()
    }

    fn submit_layers(&mut self, list: &CommandList, range: Range<usize>, tokens: usize) {
        let share = range.len() as f64 / list.len().max(1) as f64;
        self.model.device.submit([Part { list, range }], tokens as u32, None);
        self.before = Some(self.submitted(tokens, share));
    }

    /// Waits until the last submit is done.
    pub async fn finish(&mut self) {
        if let Some(before) = self.before.take() {
            self.wait(before).await;
        }
    }

    async fn queued(&mut self, tokens: usize, share: f64) {
        let submitted = self.submitted(tokens, share);
        if let Some(before) = self.before.replace(submitted) {
            self.wait(before).await;
        }
    }

    fn submitted(&self, tokens: usize, share: f64) -> Submitted {
        Submitted { done: self.model.device.submitted(), since: now(), tokens, share }
    }

    async fn wait(&mut self, Submitted { done, since, tokens, share }: Submitted) {
        // A lost device drops the callback; the caller's `check` then reports it.
        let _ = done.await;
        let now = now();
        self.model.pace.observe(tokens, share, now - since.max(self.last_done));
        self.last_done = now;
    }
}
