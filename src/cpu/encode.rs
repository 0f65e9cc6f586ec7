//! The operations of encoders.

use crate::cpu::interpreter::Interpreter;
use crate::cpu::weights::Weights;
use crate::kernels::mix::{Mode, Shape};
use crate::kernels::reference::{
    AttentionShape, Visible, attention_batch, attention_blocks, attention_far, attention_grid, attention_near,
    conv_grid, mix, mix_channels, project, turn,
};
use crate::model::WeightKey;
use crate::model::program::{Activation, AttentionSpec, CellKind, CellSpec, Combining, GridSpec, Op, Operand};

impl Interpreter<'_> {
    /// A product with a small matrix of f32, row by row: with that of Gemma 3 a row takes milliseconds.
    pub(super) async fn project(
        &mut self,
        [x, y]: [Activation; 2],
        weight: WeightKey,
        yield_now: &mut impl AsyncFnMut(),
    ) {
        let mut out = self.run.take(y);
        let x = &self.run.values[x.0];
        let [taps, width] = [x.len(), out.len()].map(|len| len / self.run.tokens);
        for (x, out) in x.chunks_exact(taps).zip(out.chunks_exact_mut(width)) {
            project([taps, width], x, self.weights.norm(weight), out);
            yield_now().await;
        }
        self.run.put(y, out);
    }

    /// Attention to all rows of the layers.
    pub(super) async fn attend_rows(
        &mut self,
        [q, y]: [Activation; 2],
        kv: [Activation; 2],
        spec: &AttentionSpec,
        yield_now: &mut impl AsyncFnMut(),
    ) {
        let sizes = AttentionShape::plain([spec.heads, spec.kv_heads, spec.head_dim], 0);
        let shape = AttentionShape { scale: spec.scale, ..sizes };
        let width = spec.query_width();
        let mut out = self.run.take(y);
        let [q, k, v] = [q, kv[0], kv[1]].map(|of| self.run.values[of.0].as_slice());
        for (q, out) in q.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            attention_batch(shape, Visible { causal: false, window: None }, (0, q), [k, v], out);
            yield_now().await;
        }
        self.run.put(y, out);
    }

    /// Attention of the rows of a square grid.
    pub(super) async fn attend_grid(
        &mut self,
        [q, y]: [Activation; 2],
        kv: [Activation; 2],
        (weights, spec): ([[WeightKey; 2]; 2], GridSpec),
        yield_now: &mut impl AsyncFnMut(),
    ) {
        let mut out = self.run.take(y);
        let qkv = [q, kv[0], kv[1]].map(|of| self.run.values[of.0].as_slice());
        let weights = weights.map(|two| two.map(|key| self.weights.norm(key)));
        for (cell, out) in out.chunks_exact_mut(spec.heads * spec.head_dim).enumerate() {
            attention_grid(spec, cell, qkv, weights, out);
            yield_now().await;
        }
        self.run.put(y, out);
    }

    /// A convolution over an image. Where others than the rows of its input follow, it is the caller's.
    pub(super) fn convolve(&mut self, op: &Op) {
        match *op {
            Op::ConvAround { x, kernel, taps, y } => {
                let Some(input) = self.input else { return };
                let mut out = self.run.take(y);
                let width = out.len() / self.run.tokens;
                let inputs = [self.run.values[x.0].as_slice(), self.weights.norm(kernel)];
                mix_channels([width, taps], [&input.places[0], &input.places[1]], inputs, &mut out);
                self.run.put(y, out);
            }
            Op::ConvGrid { x, ref spec, y } if !spec.opens => {
                let mut out = self.run.take(y);
                cells(self.weights, spec, &self.run.values[x.0], &mut out);
                self.run.put(y, out);
            }
            _ => {}
        }
    }

    /// An operation over rows that encoders have, and some models.
    pub(super) fn over_rows(&mut self, op: &Op) {
        match *op {
            Op::Input { y } => {
                let values = &mut self.run.values[y.0];
                match self.input {
                    Some(input) => values.copy_from_slice(&input.patches),
                    None => {
                        let beside = std::mem::take(&mut self.source.beside);
                        values.fill(0.0);
                        values.iter_mut().zip(&beside).for_each(|(value, row)| *value = *row);
                    }
                }
            }
            Op::Copy { x, y } => {
                let mut out = self.run.take(y);
                out.copy_from_slice(&self.run.values[x.0]);
                self.run.put(y, out);
            }
            Op::Combine { x, kind, with } => {
                let mut out = self.run.take(x);
                let other = match with {
                    Operand::Vector(key) => self.weights.norm(key),
                    Operand::Rows(other) => &self.run.values[other.0],
                };
                for (x, other) in out.iter_mut().zip(other.iter().cycle()) {
                    match kind {
                        Combining::Multiply => *x *= other,
                        Combining::Subtract => *x -= other,
                        Combining::Add => *x += other,
                        Combining::DivideByRoot => *x /= other.sqrt(),
                    }
                }
                self.run.put(x, out);
            }
            Op::Angles { before, y } => {
                let Some(input) = self.input else { return };
                let out = &mut self.run.values[y.0];
                let first = before * self.run.tokens;
                let own = input.turns.get(first..first + out.len());
                own.into_iter().for_each(|own| out.copy_from_slice(own));
            }
            _ => {}
        }
    }

    /// An operation that only encoders have. Pages that load none have no code for it.
    pub(super) fn of_encoder(&mut self, op: &Op) {
        match *op {
            Op::AddPlaces { table, taps, number, to, .. } => {
                let Some(input) = self.input else { return };
                let mut sum = self.run.take(to);
                let width = sum.len() / self.run.tokens;
                let shape = Shape { width, parts: 1, taps, by_value: false, mode: Mode::Add };
                let places = number.checked_sub(1).map_or(&input.places, |later| &input.later[later]);
                mix(shape, [&places[0], &places[1]], self.weights.norm(table), &mut sum);
                self.run.put(to, sum);
            }
            Op::Break { row, number, to } => {
                let Some(input) = self.input else { return };
                let row = self.weights.norm(row);
                let rows = self.run.values[to.0].chunks_exact_mut(row.len());
                let marks = &input.breaks[number * rows.len()..];
                rows.zip(marks).filter(|(_, mark)| **mark != 0.0).for_each(|(to, _)| to.copy_from_slice(row));
            }
            Op::Repeat { table, y, .. } => {
                let rows = self.weights.norm(table);
                let out = &mut self.run.values[y.0];
                out.chunks_mut(rows.len()).for_each(|out| out.copy_from_slice(&rows[..out.len()]));
            }
            Op::Turn { x, head_dim, apart } => {
                let Some(input) = self.input else { return };
                let values = &mut self.run.values[x.0];
                turn([values.len() / self.run.tokens / head_dim, head_dim, apart], &input.turns, values);
            }
            Op::Bound { x, least, most } => {
                let [least, most] = [least, most].map(|key| self.weights.norm(key)[0]);
                self.run.values[x.0].iter_mut().for_each(|x| *x = x.max(least).min(most));
            }
            _ => self.attend_by_distance(op),
        }
    }

    /// Attention with an embedding of the distance.
    fn attend_by_distance(&mut self, op: &Op) {
        match *op {
            Op::AttendNear { q, kv: [k, v], far, weights, near, y } => {
                let mut out = self.run.take(y);
                let [q, k, v, far] = [q, k, v, far].map(|of| self.run.values[of.0].as_slice());
                let weights = weights.map(|key| key.map(|key| self.weights.norm(key)));
                attention_near(near, [q, k, v], far, weights, &mut out);
                self.run.put(y, out);
            }
            Op::AttendFar { q, kv: [k, v], far, biases, spec, y } => {
                let mut out = self.run.take(y);
                let values = |of: Activation| self.run.values[of.0].as_slice();
                let biases = biases.map(|key| self.weights.norm(key));
                attention_far(spec, [q, k, v].map(values), far.map(values), biases, &mut out);
                self.run.put(y, out);
            }
            Op::AttendBlocks { q, kv: [k, v], with: weights, spec, y } => {
                let mut out = self.run.take(y);
                let values = |of: Activation| self.run.values[of.0].as_slice();
                let weights = weights.map(|key| key.map_or(&[][..], |key| self.weights.norm(key)));
                attention_blocks(spec, [q, k, v].map(values), weights, &mut out);
                self.run.put(y, out);
            }
            _ => {}
        }
    }
}

/// Cells of a grid from cells of another one.
pub(super) fn cells(weights: &Weights, spec: &CellSpec, x: &[f32], y: &mut [f32]) {
    let (kernel, bias) = match spec.kind {
        CellKind::Depthwise(kernel) => (weights.norm(kernel), None),
        CellKind::Dense(kernel, bias) => (weights.norm(kernel), bias.and_then(|bias| weights.vector(bias.key))),
        CellKind::Beside | CellKind::Mean => (&[][..], None),
    };
    conv_grid(spec, x, [kernel, bias.unwrap_or_default()], y);
}
