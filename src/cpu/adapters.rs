//! The terms that adapters add to the products of a model.

use std::rc::Rc;

use crate::cpu::interpreter::Interpreter;
use crate::kernels::reference::{lora_a, lora_b};
use crate::model::program::Activation;
use crate::model::{Adapter, Pair, WeightKey};
use crate::simd::add_scaled;

/// An adapter that is at work in a text.
#[derive(Debug, Clone)]
pub struct ActiveAdapter {
    /// The adapter.
    pub adapter: Rc<Adapter>,
    /// The factor of what it adds.
    pub scale: f32,
    /// The first position of the tokens that it changes.
    pub from: usize,
}

impl Interpreter<'_> {
    /// Adds to `out` what the adapters add to the product of the rows of `x` and the matrix of an expert, or the only
    /// matrix, expert 0; `x` is the rows and the length of a row. `token` maps a row of x to its token in the chunk.
    pub(super) fn adapt(
        &self,
        weight: WeightKey,
        expert: usize,
        x: (&[f32], usize),
        token: impl Fn(usize) -> usize,
        out: &mut [f32],
    ) {
        let (x, cols) = x;
        let rows = out.len() / (x.len() / cols).max(1);
        for (Pair { rank, a, b }, scale, from) in self.pairs(weight) {
            let [a, b] =
                [(a.as_slice(), cols), (b.as_slice(), rows)].map(|(of, n)| &of[expert * rank * n..][..rank * n]);
            for (row, (x, out)) in x.chunks_exact(cols).zip(out.chunks_exact_mut(rows)).enumerate() {
                if self.position + token(row) >= from {
                    lora_b(1.0, b, &lora_a(scale, a, x), out);
                }
            }
        }
    }

    /// Adds to the embeddings in `y` what the adapters add to the rows of the table.
    pub(super) fn adapt_table(&mut self, table: WeightKey, factor: f32, y: Activation) {
        let mut out = self.run.take(y);
        let width = out.len() / self.run.tokens.max(1);
        for (Pair { rank, a, b }, scale, from) in self.pairs(table) {
            for ((out, &id), position) in out.chunks_exact_mut(width).zip(self.ids).zip(self.position..) {
                let inner = &a[id as usize * rank..][..*rank];
                let own = if position >= from { scale * factor } else { 0.0 };
                lora_b(own, b, inner, out);
            }
        }
        self.run.put(y, out);
    }

    /// Adds to what a layer has given what control vectors have for it.
    pub(super) fn steer(&mut self, layer: usize, y: Activation) {
        for ActiveAdapter { adapter, scale, from } in self.adapters {
            for (_, direction) in adapter.directions.iter().filter(|(of, _)| *of == layer) {
                let rows = self.run.values[y.0].chunks_exact_mut(direction.len()).zip(self.position..);
                let rows = rows.filter(|(_, position)| position >= from);
                rows.for_each(|(row, _)| add_scaled(row, *scale, direction));
            }
        }
    }

    fn pairs(&self, weight: WeightKey) -> impl Iterator<Item = (&Pair, f32, usize)> {
        self.adapters.iter().filter_map(move |active| Some((active.adapter.pair(weight)?, active.scale, active.from)))
    }
}
