//! Attention over the cache, over the rows of an input, and to a source.

use crate::cpu::interpreter::Interpreter;
use crate::error::Result;
use crate::kernels::reference::{Alibi, AttentionShape, ByDistance, Visible, attention_batch, attention_over};
use crate::model::program::{Activation, AttentionSpec, Keys, Op, Sight};

impl Interpreter<'_> {
    /// Runs an attention.
    pub(super) async fn attention(&mut self, op: &Op, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        match *op {
            Op::Attend { q, kv, ref attention, keys: Keys::Cached(cache), y } => {
                self.attend((q, kv), attention, cache, y, yield_now).await?;
            }
            Op::Attend { q, kv, ref attention, keys: Keys::OfInput(sight), y } => {
                self.attend_input((q, kv), (attention, sight), y, yield_now).await;
            }
            Op::AttendRows { q, kv, ref attention, y } => {
                self.attend_rows([q, y], kv, attention, yield_now).await;
            }
            Op::AttendGrid { q, kv, far, fill, spec, y } => {
                self.attend_grid([q, y], kv, ([far, fill], spec), yield_now).await;
            }
            Op::AttendSource { q, kv, ref attention, number, y } => {
                self.attend_source([q, y], (kv, attention), number, yield_now).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Token by token: with thousands of keys one takes milliseconds.
    async fn attend(
        &mut self,
        (q, kv): (Activation, Option<[Activation; 2]>),
        spec: &AttentionSpec,
        cache: usize,
        y: Activation,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<()> {
        let AttentionSpec { heads, kv_heads, head_dim, value_dim, window, soft_cap, sinks, .. } = *spec;
        let sinks = sinks.and_then(|key| self.weights.vector(key));
        let distances = self.weights.distances(spec);
        let cache = &mut self.cache[cache];
        let first = self.position - self.forgotten;
        let mut out = self.run.take(y);
        let q = &self.run.values[q.0];
        if let Some([k, v]) = kv.map(|kv| kv.map(|of| &self.run.values[of.0])) {
            cache.write(first, [kv_heads, head_dim], [k, v])?;
        }
        let width = spec.query_width();
        let rows = q.chunks_exact(width).zip(out.chunks_exact_mut(spec.attended_width()));
        for (token, (q, out)) in rows.enumerate() {
            let position = first + token;
            let scale = spec.scale * spec.temperature.map_or(1.0, |temperature| temperature.at(position));
            // A row of an image sees its last one, and as far back as by itself.
            let sees = self.seen.contains(&position) && (window.is_some() || !self.seen_in_windows);
            let last = if sees { self.seen.end - 1 } else { position };
            let window = window.map(|window| window + last - position);
            let alibi = spec.alibi.map(|bias| Alibi { bias, ahead: last - position });
            let distances = distances.map(|of| ByDistance { ahead: last - position, ..of });
            let sizes = AttentionShape { value_dim, ..AttentionShape::plain([heads, kv_heads, head_dim], last) };
            let shape = AttentionShape { scale, window, soft_cap, alibi, distances, ..sizes };
            attention_over(shape, sinks, q, cache.rows(), out);
            yield_now().await;
        }
        self.run.put(y, out);
        Ok(())
    }

    /// The rows belong to one input.
    async fn attend_input(
        &mut self,
        (q, kv): (Activation, Option<[Activation; 2]>),
        (spec, sight): (&AttentionSpec, Sight),
        y: Activation,
        yield_now: &mut impl AsyncFnMut(),
    ) {
        let Some([k, v]) = kv else { return };
        let AttentionSpec { heads, kv_heads, head_dim, scale, window, soft_cap, .. } = *spec;
        let alibi = spec.alibi.map(|bias| Alibi { bias, ahead: 0 });
        let sizes = AttentionShape::plain([heads, kv_heads, head_dim], 0);
        let distances = self.weights.distances(spec);
        let shape = AttentionShape { scale, soft_cap, alibi, distances, ..sizes };
        let mut out = self.run.take(y);
        let [q, k, v] = [q, k, v].map(|of| self.run.values[of.0].as_slice());
        let (width, kv_width) = (spec.query_width(), spec.kv_width());
        let visible = Visible { causal: sight == Sight::Causal, window };
        let parts = self.input.map_or(&[][..], |input| &input.parts);
        let whole = [self.run.tokens as u32];
        let mut first = 0;
        for &part in if sight == Sight::Part { parts } else { &whole } {
            let (start, rows) = (first, part as usize);
            let [k, v] = [k, v].map(|of| &of[start * kv_width..][..rows * kv_width]);
            for row in 0..rows {
                let [from, to] = [start + row, start + row + 1].map(|row| row * width);
                attention_batch(shape, visible, (row, &q[from..to]), [k, v], &mut out[from..to]);
                yield_now().await;
            }
            first += rows;
        }
        self.run.put(y, out);
    }
}
