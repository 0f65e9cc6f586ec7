//! How a session on the GPU chooses the tokens of its passes.

use super::model::GpuModel;
use super::session::MAX_DEPTH;
use crate::Result;
use crate::gpu::Ring;
use crate::kernels::pass::Pass;
use crate::runtime::session::Choosing;

/// Maximum number of passes of several rows in flight whose logits are read back, since these are large.
const LOGITS_AHEAD: usize = 4;

/// The state that the passes over a text go on from.
#[derive(Default)]
pub(in crate::runtime) struct Choice {
    /// Number of the sequence that the next passes work on.
    pub sequence: u32,
    /// How the token after the text is chosen.
    pub choosing: Choosing,
    /// Number of answer tokens before that token.
    pub steps: u32,
    /// Whether the layers of the next pass are submitted already, without the kernels that choose a token.
    pub started: bool,
    /// Read-back buffers for logits, made when a run first wants some.
    pub logits: Option<Ring>,
}

impl Choice {
    /// Makes a pass over tokens that the host knows.
    pub fn pass(&self, ids: &[u32], position: usize) -> Pass {
        let mut pass = Pass::chunk(self.sequence, position as u32, ids);
        pass.header.sequences[self.sequence as usize].steps = self.steps;
        pass
    }

    /// Makes the read-back buffers for the logits of passes of up to `rows` rows.
    pub fn prepare_logits(&mut self, model: &GpuModel, rows: usize) -> Result<()> {
        if self.logits.is_none() {
            let depth = if rows > 1 { LOGITS_AHEAD } else { MAX_DEPTH };
            self.logits = Some(Ring::new(&model.device, depth, (rows * model.config.vocab * 4) as u64)?);
        }
        Ok(())
    }

    /// Bytes of the read-back buffers.
    pub fn bytes(&self) -> u64 {
        self.logits.as_ref().map_or(0, Ring::bytes)
    }
}
