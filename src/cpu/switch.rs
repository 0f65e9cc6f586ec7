//! Rows of tables, and which of a model's own adapters is at work.

use crate::cpu::interpreter::Interpreter;
use crate::error::Result;
use crate::kernels::reference::{signal, slot, switched};
use crate::model::program::Activation;
use crate::model::{Switching, WeightKey};

impl Interpreter<'_> {
    /// Rows of a table by the tokens; a token that switches has the row of another.
    pub(super) fn embed(&mut self, table: WeightKey, scale: f32, y: Activation) -> Result<()> {
        let mut out = self.run.take(y);
        match self.switch {
            Some(switch) => {
                let ids: Vec<u32> = self.ids.iter().map(|&id| switched(switch, id).1).collect();
                self.weights.tensor(table).gather(&ids, &mut out)?;
            }
            None => self.weights.tensor(table).gather(self.ids, &mut out)?,
        }
        out.iter_mut().for_each(|x| *x *= scale);
        self.run.put(y, out);
        self.adapt_table(table, scale, y);
        Ok(())
    }

    /// A part of the attention that finds the slot.
    pub(super) fn switch(&mut self, kind: Switching, y: Activation) {
        let Some(switch) = self.switch else { return };
        let mut out = self.run.take(y);
        let width = out.len() / self.run.tokens;
        for (token, row) in out.chunks_exact_mut(width).enumerate() {
            let first = match kind {
                Switching::Query => [1.0, 0.0],
                Switching::Signal => signal(switch, self.ids[token]),
                Switching::Slot(x) => {
                    let means = &self.run.values[x.0];
                    [slot(switch, means[token * means.len() / self.run.tokens + 1]) as f32, 1.0]
                }
            };
            row.fill(0.0);
            row[..2].copy_from_slice(&first);
        }
        self.run.put(y, out);
    }
}
