//! An encoder on the CPU: one image or tile after the other.

use crate::cpu::CpuModel;
use crate::cpu::interpreter::{Activations, Interpreter};
use crate::error::{Error, Result};
use crate::kernels::mix::Shape;
use crate::kernels::reference::{mix, project, turn};
use crate::model::EncoderInput;
use crate::model::program::{Combining, Grouping, Op, Operand, Output};

impl CpuModel {
    /// The rows that become of an image or a tile, `[outputs, width]`. `yield_now` is awaited every millisecond or two;
    /// once `is_over` the work ends without a result.
    ///
    /// # Errors
    /// Those of [`EncoderInput::check`]; `invalid_argument` for a model that is no encoder.
    pub async fn encode(
        &mut self,
        input: &EncoderInput,
        mut yield_now: impl AsyncFnMut(),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<f32>>> {
        if self.program().output != Output::Rows {
            return Err(Error::invalid_argument("the model is no encoder of images"));
        }
        input.check(self.program(), self.context_length())?;
        let mut run = Activations::new(self.program(), input.rows);
        let (program, interpreter) = self.interpreter(&mut run, &[]);
        let mut interpreter = Interpreter { input: Some(input), ..interpreter };
        for ops in [&program.embed].into_iter().chain(&program.layers) {
            if is_over() {
                return Ok(None);
            }
            for op in ops {
                interpreter.run(op, &mut yield_now).await?;
            }
        }
        let mut rows = run.last(input.rows, self.program());
        let (program, mut interpreter) = self.interpreter(&mut rows, &[]);
        for op in program.head_parts().0 {
            interpreter.run(op, &mut yield_now).await?;
        }
        let found = self.projector(&rows, input, &mut yield_now).await?;
        Ok((!is_over()).then_some(found))
    }

    /// What comes from regrouped rows on.
    async fn projector(
        &mut self,
        rows: &Activations,
        input: &EncoderInput,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<Vec<f32>> {
        let program = self.program();
        let mut made = Activations::of(program, program.head_parts().1, input.outputs);
        for op in program.head_parts().1 {
            if let Op::Regroup { x, grouping: Grouping { parts, taps, by_value }, y } = *op {
                let shape = Shape { width: program.width(x), parts, taps, by_value, add: false };
                mix(shape, [&input.groups[0], &input.groups[1]], &rows.values[x.0], &mut made.values[y.0]);
            }
        }
        let (program, mut interpreter) = self.interpreter(&mut made, &[]);
        for op in program.head_parts().1 {
            interpreter.run(op, yield_now).await?;
        }
        let output = program.output_activation();
        Ok(std::mem::take(&mut made.values[output.0]))
    }
}

impl Interpreter<'_> {
    /// An operation that only encoders have.
    pub(super) fn of_encoder(&mut self, op: &Op) {
        match *op {
            Op::Input { y } => {
                if let Some(input) = self.input {
                    self.run.values[y.0].copy_from_slice(&input.patches);
                }
            }
            Op::AddPlaces { table, taps, to, .. } => {
                let Some(input) = self.input else { return };
                let mut sum = self.run.take(to);
                let width = sum.len() / self.run.tokens;
                let shape = Shape { width, parts: 1, taps, by_value: false, add: true };
                mix(shape, [&input.places[0], &input.places[1]], self.weights.norm(table), &mut sum);
                self.run.put(to, sum);
            }
            Op::Turn { x, head_dim, apart } => {
                let Some(input) = self.input else { return };
                let values = &mut self.run.values[x.0];
                turn([values.len() / self.run.tokens / head_dim, head_dim, apart], &input.turns, values);
            }
            Op::Project { x, weight, y } => {
                let mut out = self.run.take(y);
                let x = &self.run.values[x.0];
                let [taps, width] = [x.len(), out.len()].map(|len| len / self.run.tokens);
                project([taps, width], x, self.weights.norm(weight), &mut out);
                self.run.put(y, out);
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
                    }
                }
                self.run.put(x, out);
            }
            _ => {}
        }
    }
}
