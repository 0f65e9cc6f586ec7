//! How a session on the GPU chooses the tokens of the passes that it runs.

use super::model::GpuModel;
use super::session::MAX_DEPTH;
use crate::Result;
use crate::gpu::Ring;
use crate::kernels::pass::Pass;
use crate::runtime::session::Choosing;

/// Passes of several rows in flight whose logits are read, at most: they are large.
const LOGITS_AHEAD: usize = 4;

/// What the passes over a text go on with.
#[derive(Default)]
pub(in crate::runtime) struct Choice {
    /// Which cache the tokens of the next passes go to.
    pub sequence: u32,
    /// How the token after the text is chosen.
    pub choosing: Choosing,
    /// Tokens of the answer before that.
    pub steps: u32,
    /// The layers of the next pass are submitted: what chooses a token is not.
    pub started: bool,
    /// Read-backs of logits, made when a run wants the first.
    pub logits: Option<Ring>,
}

impl Choice {
    /// A pass over tokens that the host knows.
    pub fn pass(&self, ids: &[u32], position: usize) -> Pass {
        let mut pass = Pass::chunk(self.sequence, position as u32, ids);
        pass.header.sequences[self.sequence as usize].steps = self.steps;
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
