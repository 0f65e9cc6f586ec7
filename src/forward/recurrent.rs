//! Operations with a recurrent state.

use super::buffers::Replay;
use super::fusion::Step;
use super::{Forward, Lists, Lowering};
use crate::kernels::channel_scan::{ChannelScan, channel_scan};
use crate::kernels::conv_causal::{ConvCausal, conv_causal, conv_causal_few};
use crate::kernels::delta_net::{DeltaHeads, DeltaNet, delta_net};
use crate::kernels::lerp::{Way, lerp};
use crate::kernels::norm::Rows;
use crate::kernels::spec::Dispatch;
use crate::kernels::ssm_scan::{SsmScan, SsmShape, ssm_scan, ssm_scan_chunked};
use crate::kernels::wkv::{Form, Wkv, wkv};
use crate::kernels::wkv_output::{WkvOutput, wkv_output};
use crate::model::program::{Activation, ConvSpec, DeltaSpec, Op, Operand, ScanSpec, WkvForm, WkvSpec};

/// The rows of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// A few, of any sequences.
    Few,
    /// Many, of one sequence.
    Many,
}

impl ScanSpec {
    /// As kernels take it.
    pub(super) fn shape(&self) -> SsmShape {
        let [heads, head_dim, state, groups] =
            [self.heads, self.head_dim, self.state, self.groups].map(|count| count as u32);
        SsmShape { heads, head_dim, state, groups }
    }
}

impl DeltaSpec {
    /// As kernels take it.
    pub(crate) fn heads(&self) -> DeltaHeads {
        let [k_heads, v_heads, head_dim] = [self.k_heads, self.v_heads, self.head_dim].map(|count| count as u32);
        DeltaHeads { k_heads, v_heads, head_dim, tiled: self.tiled }
    }
}

impl WkvSpec {
    /// As kernels take it.
    pub(crate) fn shape(&self) -> DeltaHeads {
        let [k_heads, v_heads, head_dim] = [self.kv_heads, self.heads, self.head_dim].map(|count| count as u32);
        DeltaHeads { k_heads, v_heads, head_dim, tiled: false }
    }
}

impl Forward<'_> {
    /// The lists of a pass with a draft, and the list that takes the states of before along the accepted rows.
    pub(super) fn lists_with_replay(&self, replay: &Replay, rows: u32) -> Lists {
        let mut buffers = self.buffers.clone();
        buffers.places = replay.places.clone();
        let mut lists = Forward { buffers: &buffers, ..*self }.lists_of_rows(rows);
        buffers.pass = buffers.sample.drafts.kept;
        buffers.states = replay.states.clone();
        Forward { buffers: &buffers, ..*self }.decode_steps(rows, &mut |fused, _, dispatches| {
            if matches!(&fused.step, Step::Alone(op) if self.program.state(op).is_some()) {
                lists.replay.extend(dispatches);
            }
        });
        lists
    }
}

impl Lowering<'_> {
    /// The dispatches of an operation for which `Program::state` has a state.
    pub(super) fn recurrent(&self, op: &Op, pass: Pass) -> Vec<Dispatch> {
        match *op {
            Op::Conv { x, gates, ref conv, state, y } => self.conv([x, y], gates, (conv, state), pass),
            Op::Scan { z, dt, xbc, ref scan, state, y } => self.scan([z, dt, xbc, y], (scan, state), pass),
            Op::ChannelScan { .. } => vec![self.channel_scan(op, pass)],
            Op::DeltaNet { qkv, beta, alpha, ref delta, state, y } => {
                vec![self.delta_net([qkv, beta, alpha, y], delta, state)]
            }
            Op::Wkv { r, w, kv: [k, v], ref wkv, state, y } => vec![self.wkv([r, w, k, v], wkv, state, y)],
            _ => unreachable!("no recurrent state"),
        }
    }

    fn conv(
        &self,
        [x, y]: [Activation; 2],
        gates: Option<[Activation; 2]>,
        (conv, state): (&ConvSpec, usize),
        pass: Pass,
    ) -> Vec<Dispatch> {
        let buffers = self.forward.buffers;
        let (channels, rows) = (self.forward.width(x), self.places.of(x).rows());
        let gate = |of| {
            let gate = self.places.of(of).rows();
            debug_assert!(gate.slice == rows.slice, "gates lie beside what they gate");
            gate.offset
        };
        let bias = conv.bias.and_then(|bias| self.forward.weights.vectors.get(&bias.key).copied());
        let problem = ConvCausal {
            channels,
            kernel: conv.kernel as u32,
            ahead: conv.ahead as u32,
            x: rows,
            gates: gates.map(|gates| gates.map(gate)),
            weight: conv.weight.map(|weight| self.forward.vector(weight)),
            bias,
            silu: conv.silu,
            state: buffers.states[state],
            y: self.whole(y).slice,
        };
        match pass {
            Pass::Few => vec![conv_causal_few(buffers.pass, buffers.dummy, &problem)],
            Pass::Many => conv_causal(buffers.pass, buffers.dummy, &problem).into(),
        }
    }

    /// The same for few rows and for many.
    fn delta_net(&self, [qkv, beta, alpha, y]: [Activation; 4], delta: &DeltaSpec, state: usize) -> Dispatch {
        let Forward { buffers, caps, .. } = self.forward;
        let problem = DeltaNet {
            heads: delta.heads(),
            eps: delta.eps,
            sequences: buffers.room.sequences as u32,
            qkv: self.whole(qkv).slice,
            beta: self.places.of(beta).rows(),
            alpha: self.places.of(alpha).rows(),
            dt_bias: self.forward.vector(delta.dt_bias),
            a: self.forward.vector(delta.a),
            state: buffers.states[state],
            y: self.whole(y).slice,
        };
        delta_net(caps, buffers.pass, &problem)
    }

    /// The same for few rows and for many.
    fn wkv(&self, rwkv: [Activation; 4], spec: &WkvSpec, state: usize, y: Activation) -> Dispatch {
        let Forward { buffers, caps, .. } = self.forward;
        let (form, of_heads) = match spec.form {
            WkvForm::Bonus(key) => (Form::Bonus, self.forward.vector(key)),
            WkvForm::Gated => (Form::Gated, buffers.dummy),
            WkvForm::Delta([first, _]) => (Form::Delta, self.forward.vector(first)),
        };
        let problem = Wkv {
            heads: spec.shape(),
            form,
            sequences: buffers.room.sequences as u32,
            rwkv: rwkv.map(|of| self.whole(of).slice),
            of_heads,
            state: buffers.states[state],
            y: self.whole(y).slice,
        };
        wkv(caps, buffers.pass, &problem)
    }

    /// What stands around RWKV's time mixing: an activation on its way to another, and the end.
    pub(super) fn of_rwkv(&self, op: &Op) -> Dispatch {
        let Op::WkvOutput { x, norm, own, gate, head_dim } = *op else { return self.lerp(op) };
        let slice = |of| self.whole(of).slice;
        let keys = op.weights(self.forward.program);
        let problem = WkvOutput {
            heads: [self.forward.program.width(x) / head_dim, head_dim].map(|count| count as u32),
            norm_eps: norm.map(|(_, eps)| eps),
            own: own.map(|own| own.rwkv.map(slice)),
            gate: gate.map(slice),
            of_heads: keys.first().map_or(self.forward.buffers.dummy, |first| self.forward.vector(first.key)),
            y: slice(x),
        };
        wkv_output(&problem, self.forward.buffers.dummy)
    }

    fn lerp(&self, op: &Op) -> Dispatch {
        let Op::Lerp { x, to, by, more, y } = *op else { unreachable!("a way between activations") };
        let (share, by) = match by {
            Operand::Vector(key) => (Some(self.forward.vector(key)), more),
            Operand::Rows(by) => (None, Some((by, 0))),
        };
        let by = by.map(|(of, at)| {
            let rows = self.places.of(of).rows();
            Rows { offset: rows.offset + at as u32, ..rows }
        });
        let buffers = [x, to, y].map(|of| self.whole(of).slice);
        lerp(self.forward.width(x), Way { share, by }, buffers, self.forward.buffers.dummy)
    }

    fn scan(&self, [z, dt, xbc, y]: [Activation; 4], (scan, state): (&ScanSpec, usize), pass: Pass) -> Vec<Dispatch> {
        let buffers = self.forward.buffers;
        let problem = SsmScan {
            shape: scan.shape(),
            z: self.places.of(z).rows(),
            dt: self.places.of(dt).rows(),
            xbc: self.whole(xbc).slice,
            heads: self.forward.vector(scan.dt_bias),
            state: buffers.states[state],
            y: self.whole(y).slice,
        };
        match pass {
            Pass::Few => vec![ssm_scan(buffers.pass, &problem)],
            Pass::Many => ssm_scan_chunked(buffers.pass, &problem, buffers.scratch.products).into(),
        }
    }

    /// Mamba's scan.
    fn channel_scan(&self, op: &Op, pass: Pass) -> Dispatch {
        let Op::ChannelScan { x, z, dt, bc, ref scan, state, y } = *op else { unreachable!("a scan of channels") };
        let buffers = self.forward.buffers;
        let [x, dt, y] = [x, dt, y].map(|of| self.whole(of).slice);
        let problem = ChannelScan {
            channels: scan.channels as u32,
            state_size: scan.state as u32,
            x,
            z: self.places.of(z).rows(),
            dt,
            bc: bc.map(|of| self.places.of(of).rows()),
            of_channels: self.forward.vector(scan.a),
            state: buffers.states[state],
            y,
        };
        channel_scan(buffers.pass, &problem, pass == Pass::Many)
    }

    /// The rows of an activation that has a buffer to itself.
    fn whole(&self, of: Activation) -> Rows {
        let rows = self.places.of(of).rows();
        debug_assert!(rows.offset == 0 && rows.stride == self.forward.width(of), "rows follow each other");
        rows
    }
}

/// What the copies of a session's recurrent states may take together, in bytes ...
const CHECKPOINT_BYTES: u64 = 64 << 20;
/// ... and how many there are: one for the end of the prompt and one for the answer, at least.
const CHECKPOINTS: std::ops::RangeInclusive<u64> = 2..=8;

/// Copies that a session keeps of recurrent states of so many bytes.
pub fn checkpoint_slots(bytes: u64) -> usize {
    match bytes {
        0 => 0,
        _ => (CHECKPOINT_BYTES / bytes).clamp(*CHECKPOINTS.start(), *CHECKPOINTS.end()) as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::checkpoint_slots;

    #[test]
    fn copies_of_states_take_a_bounded_part_of_memory() {
        assert_eq!([0, 1, 160 << 10, 20 << 20, 1 << 30].map(checkpoint_slots), [0, 8, 8, 3, 2]);
    }
}
