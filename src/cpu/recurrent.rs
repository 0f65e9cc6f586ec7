//! Operations with a recurrent state.

use crate::cpu::interpreter::Interpreter;
use crate::kernels::reference::{ChannelToken, Own, WkvShape, channel_scan, lerp, wkv, wkv_output};
use crate::kernels::wkv::Form;
use crate::model::program::{Activation, Op, Operand, WkvForm};

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

    /// RWKV's time mixing, token by token: one takes a millisecond in a large model.
    pub(super) async fn wkv(&mut self, op: &Op, yield_now: &mut impl AsyncFnMut()) {
        let Op::Wkv { r, w, kv: [k, v], wkv: ref spec, state, y } = *op else { return };
        let vector = |key| self.weights.norm(key);
        let (form, of_heads) = match spec.form {
            WkvForm::Bonus(key) => (Form::Bonus, [vector(key), &[]]),
            WkvForm::Gated => (Form::Gated, [&[][..]; 2]),
            WkvForm::Delta(keys) => (Form::Delta, keys.map(vector)),
        };
        let shape = WkvShape { heads: spec.heads, kv_heads: spec.kv_heads, head_dim: spec.head_dim, form };
        let mut out = self.run.take(y);
        let tokens = self.run.tokens;
        let inputs = [r, w, k, v].map(|of| self.run.values[of.0].as_slice());
        let state = &mut self.states[state][..spec.width() * spec.head_dim];
        for (token, y) in out.chunks_exact_mut(spec.width()).enumerate() {
            wkv(shape, inputs.map(|of| row(of, token, tokens)), of_heads, state, y);
            yield_now().await;
        }
        self.run.put(y, out);
    }

    /// The output of time mixing.
    pub(super) fn wkv_output(&mut self, op: &Op) {
        let Op::WkvOutput { x, norm, own, gate, head_dim } = *op else { return };
        let mut out = self.run.take(x);
        let tokens = self.run.tokens;
        let width = out.len() / tokens;
        let norm = norm.map(|(keys, eps)| (keys.map(|key| self.weights.norm(key)), eps));
        let own = own.map(|own| {
            let [shares, factors] = own.weights.map(|key| self.weights.norm(key));
            (own.rwkv.map(|of| self.run.values[of.0].as_slice()), shares, factors)
        });
        for (token, y) in out.chunks_exact_mut(width).enumerate() {
            let own = own.map(|(rwkv, shares, factors)| {
                let rwkv = rwkv.map(|of| row(of, token, tokens));
                Own { rwkv, shares, factors }
            });
            wkv_output(y, head_dim, norm, own.as_ref());
        }
        if let Some(gate) = gate {
            out.iter_mut().zip(&self.run.values[gate.0]).for_each(|(y, gate)| *y *= gate);
        }
        self.run.put(x, out);
    }

    /// An activation on its way to another.
    pub(super) fn lerp(&mut self, op: &Op) {
        let Op::Lerp { x, to, by, more, y } = *op else { return };
        let mut out = self.run.take(y);
        let tokens = self.run.tokens;
        let width = out.len() / tokens;
        let values = |of: Activation| self.run.values[of.0].as_slice();
        for (token, y) in out.chunks_exact_mut(width).enumerate() {
            let [x, to] = [x, to].map(|of| row(values(of), token, tokens));
            let by = match by {
                Operand::Vector(key) => self.weights.norm(key),
                Operand::Rows(by) => row(values(by), token, tokens),
            };
            let more = more.map(|(more, at)| &row(values(more), token, tokens)[at..]);
            for (i, y) in y.iter_mut().enumerate() {
                *y = lerp(x[i], to[i], by[i] + more.map_or(0.0, |more| more[i]));
            }
        }
        self.run.put(y, out);
    }
}

/// Row `row` of `rows` rows.
fn row(values: &[f32], row: usize, rows: usize) -> &[f32] {
    let width = values.len() / rows;
    &values[row * width..][..width]
}
