//! The pieces of programs that have a recurrent state.

use super::super::super::program::{Activation, ChannelSpec, ConvSpec, DeltaSpec, Norm, Op, ScanSpec};
use super::super::builder::{Bias, Builder};
use crate::model::Role;

impl Builder<'_> {
    /// The number of a new recurrent state.
    pub(super) fn new_state(&mut self) -> usize {
        self.states += 1;
        self.states - 1
    }

    /// A convolution along the tokens, gated by b and c where there are any.
    pub fn conv(
        &mut self,
        x: Activation,
        gates: Option<[Activation; 2]>,
        conv: ConvSpec,
        y: &'static str,
    ) -> Activation {
        let (y, state) = (self.program.activation(y, self.program.width(x)), self.new_state());
        self.ops.push(Op::Conv { x, gates, conv, state, y });
        y
    }

    /// The convolution before a scan or a delta rule, with SiLU on its result.
    pub fn ssm_conv(&mut self, x: Activation, bias: Bias, y: &'static str) -> Activation {
        let (weight, bias) = (Some(self.weight(Role::SsmConv)), self.bias(bias, Role::SsmConvBias));
        let kernel = self.config.ssm.unwrap_or_default().kernel;
        self.conv(x, None, ConvSpec { weight, bias, kernel, ahead: 0, silu: true }, y)
    }

    /// The gated delta rule over q, k and v side by side, with beta and alpha.
    pub fn delta_net(&mut self, [qkv, beta, alpha]: [Activation; 3], delta: DeltaSpec) -> Activation {
        let (y, state) = (self.program.activation("delta rule", delta.value_width()), self.new_state());
        self.ops.push(Op::DeltaNet { qkv, beta, alpha, delta, state, y });
        y
    }

    /// Mamba-2's scan.
    pub fn scan(&mut self, [z, dt, xbc]: [Activation; 3], scan: ScanSpec) -> Activation {
        let (y, state) = (self.program.activation("scanned", scan.inner()), self.new_state());
        self.ops.push(Op::Scan { z, dt, xbc, scan, state, y });
        y
    }

    /// Mamba's scan of x, z and time steps, with B and C.
    pub fn channel_scan(&mut self, [x, z, dt]: [Activation; 3], bc: [Activation; 2], scan: ChannelSpec) -> Activation {
        let (y, state) = (self.program.activation("scanned", scan.channels), self.new_state());
        self.ops.push(Op::ChannelScan { x, z, dt, bc, scan, state, y });
        y
    }

    /// An RMS norm of each of the `groups` equal parts of a row.
    pub fn group_norm(&mut self, x: Activation, role: Role, groups: usize) -> Activation {
        // The program's check refuses none.
        if groups <= 1 {
            return self.norm(x, role);
        }
        let width = self.program.width(x);
        let y = self.program.activation("normed", width);
        let norm = Norm { is_grouped: true, ..self.plain_rms(self.weight(role), width / groups) };
        self.ops.push(Op::Norm { x, norm, y });
        y
    }
}
