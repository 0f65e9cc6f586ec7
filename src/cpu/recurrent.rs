//! Operations with a recurrent state.

use crate::cpu::interpreter::Interpreter;
use crate::kernels::reference::{ChannelToken, channel_scan};
use crate::model::program::Op;

impl Interpreter<'_> {
    /// Mamba's scan, token by token.
    pub(super) fn channel_scan(&mut self, op: &Op) {
        let Op::ChannelScan { x, z, dt, bc: [b, c], ref scan, state, y } = *op else { return };
        let [a, d] = [scan.a, scan.d].map(|key| self.weights.norm(key));
        let mut out = self.run.take(y);
        let [x, z, dt, b, c] = [x, z, dt, b, c].map(|of| &self.run.values[of.0]);
        for (token, y) in out.chunks_exact_mut(scan.channels).enumerate() {
            let [x, z, dt] = [x, z, dt].map(|of| &of[token * scan.channels..][..scan.channels]);
            let [b, c] = [b, c].map(|of| &of[token * scan.state..][..scan.state]);
            channel_scan(ChannelToken { x, z, dt, b, c }, [a, d], &mut self.states[state], y);
        }
        self.run.put(y, out);
    }
}
