//! Products of heads with matrices of their own.

use crate::cpu::interpreter::Interpreter;
use crate::error::Result;
use crate::kernels::reference::head_values;
use crate::model::WeightKey;
use crate::model::program::{Activation, HeadRows};

impl Interpreter<'_> {
    /// Head by head: each weight is dequantised once for all tokens.
    pub(super) async fn head_linear(
        &mut self,
        [x, y]: [Activation; 2],
        weight: WeightKey,
        heads: usize,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<()> {
        let mut out = self.run.take(y);
        let x = &self.run.values[x.0];
        let [cols, rows] = [x.len(), out.len()].map(|len| len / self.run.tokens / heads);
        for head in 0..heads {
            let of_head: Vec<f32> = x.chunks_exact(cols).skip(head).step_by(heads).flatten().copied().collect();
            let mut found = vec![0.0; rows * self.run.tokens];
            let tensor = self.weights.tensor(weight);
            tensor.apply_rows(head * rows..(head + 1) * rows, &of_head, &mut found, yield_now).await?;
            let out = out.chunks_exact_mut(rows).skip(head).step_by(heads);
            out.zip(found.chunks_exact(rows)).for_each(|(out, found)| out.copy_from_slice(found));
        }
        self.run.put(y, out);
        Ok(())
    }

    pub(super) fn head_values(&mut self, [x, y]: [Activation; 2], weight: WeightKey, heads: usize, rows: HeadRows) {
        let mut out = self.run.take(y);
        let x = &self.run.values[x.0];
        let sizes = [x.len(), out.len()].map(|len| len / self.run.tokens / heads);
        head_values(x, self.weights.norm(weight), heads, sizes, rows, &mut out);
        self.run.put(y, out);
    }
}
