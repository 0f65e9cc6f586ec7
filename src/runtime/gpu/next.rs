//! Multi-token prediction: a block of the model's own file that drafts tokens. It runs within the passes of the model,
//! so that its cache has the text; before a pass with a draft it writes the draft, a token a step.

use std::mem::offset_of;

use super::draft_model::PassOf;
use super::session::GpuSession;
use crate::gpu::{Copy, Part};
use crate::kernels::accept_drafts::{DRAFT_ROWS, Report};
use crate::kernels::pass::{Pass, ROW_DONE, Row};

impl GpuSession {
    /// Whether a block of the model drafts tokens.
    pub(in crate::runtime) fn predicts_next(&self) -> bool {
        self.buffers.next.is_some()
    }

    /// Begins to read at this position: before the first token there is no hidden state.
    pub(in crate::runtime) fn begin_next(&self, position: usize) {
        if let Some(next) = self.buffers.next.as_ref().filter(|_| position == 0) {
            self.write(next.states, &vec![0; self.model.config.hidden * 4]);
        }
    }

    /// Before a pass of so many rows: the hidden state of the last one will be that before the next pass.
    pub(in crate::runtime) fn carry_next(&self, rows: usize) {
        if self.predicts_next() {
            let accepted = self.buffers.sample.drafts.report.after(offset_of!(Report, accepted) as u64);
            self.write(accepted, bytemuck::bytes_of(&(rows as u32)));
        }
    }

    /// Writes what the steps of drafts need beside the passes.
    pub(in crate::runtime) fn begin_steps(&self) {
        if let Some(next) = &self.buffers.next {
            let mut pass = Pass::decode(&[Row::default()]);
            pass.rows.push(Row { flags: ROW_DONE, ..Row::default() });
            self.write(next.pass, &pass.bytes());
        }
    }

    /// Submits the drafting of `steps` tokens after the one in the first row of the next pass.
    pub(in crate::runtime) fn draft_next(&self, steps: usize) {
        let Some((next, lists)) = self.buffers.next.as_ref().zip(self.drafts.as_ref()) else { return };
        let [states, state] = [next.states, next.state].map(|of| (self.table.get(of.buffer), of.offset));
        let bytes = self.model.config.hidden as u64 * 4;
        let before = Copy { source: states.0, source_offset: states.1, target: state.0, offset: state.1, bytes };
        let [own, pass] = [next.pass, self.buffers.pass].map(|of| PassOf::at(&self.table, of));
        self.model.device.submit_all(|commands| {
            commands.copy(&before);
            pass.copy_row(commands, 0, own, 0);
            for row in 1..=steps {
                commands.run([Part::from(&lists.step)], 1);
                own.copy_row(commands, 0, pass, row);
            }
            own.copy_no_draft(commands, pass, steps + 1..DRAFT_ROWS);
        });
    }
}
