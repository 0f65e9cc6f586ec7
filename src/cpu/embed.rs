//! An embedder on the CPU: one input after the other, without a cache.

use crate::cpu::CpuModel;
use crate::cpu::interpreter::Activations;
use crate::error::{Error, Result};
use crate::kernels::reference::pool;
use crate::model::program::{Op, Output};

impl CpuModel {
    /// What the model gives for one input: a vector, or a score for each label. `yield_now` is awaited every
    /// millisecond or two; once `is_over` the work ends without a result.
    ///
    /// # Errors
    /// `invalid_argument` for no ids, ids outside the vocabulary, and for a model that writes text.
    pub async fn embed(
        &mut self,
        ids: &[u32],
        mut yield_now: impl AsyncFnMut(),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<f32>>> {
        if self.program().output == Output::Logits {
            return Err(Error::invalid_argument("the model writes text and gives no embeddings"));
        }
        if ids.is_empty() {
            return Err(Error::invalid_argument("no tokens to run"));
        }
        let mut run = Activations::new(self.program(), ids.len());
        let (program, mut interpreter) = self.interpreter(&mut run, ids);
        for ops in [&program.embed].into_iter().chain(&program.layers) {
            if is_over() {
                return Ok(None);
            }
            for op in ops {
                interpreter.run(op, &mut yield_now).await?;
            }
        }
        let found = self.embedder_head(run, &mut yield_now).await?;
        Ok((!is_over()).then_some(found))
    }

    /// Norm, pooling and what comes after it.
    async fn embedder_head(&mut self, run: Activations, yield_now: &mut impl AsyncFnMut()) -> Result<Vec<f32>> {
        let mut rows = run.last(run.tokens, self.program());
        let (program, mut interpreter) = self.interpreter(&mut rows, &[]);
        for op in program.head_parts().0 {
            interpreter.run(op, yield_now).await?;
        }
        let program = self.program();
        let pooled = program.head_parts().1;
        let mut one = Activations::of(program, pooled, 1);
        if let Some(Op::Pool { x, kind, y }) = pooled.first() {
            one.values[y.0] = pool(*kind, program.width(*x), &rows.values[x.0]);
        }
        let (program, mut interpreter) = self.interpreter(&mut one, &[]);
        for op in program.head_parts().1 {
            interpreter.run(op, yield_now).await?;
        }
        let output = program.output_activation();
        Ok(std::mem::take(&mut one.values[output.0]))
    }
}
