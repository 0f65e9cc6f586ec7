//! What models give for an input as a whole, on the CPU: one input after the other, without a cache.

use crate::cpu::CpuModel;
use crate::cpu::interpreter::Activations;
use crate::error::{Error, Result};
use crate::kernels::mix::{Mode, Shape};
use crate::kernels::reference::{mix, pool};
use crate::model::EncoderInput;
use crate::model::program::{Grouping, Op, Output, Program};

/// Tokens, or patches.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// Of a text.
    Ids(&'a [u32]),
    /// Of an image or a tile.
    Image(&'a EncoderInput),
}

impl Input<'_> {
    /// Rows, and what becomes of them.
    fn counts(&self) -> [usize; 2] {
        match self {
            Self::Ids(ids) => [ids.len(), 1],
            Self::Image(image) => [image.rows, image.outputs],
        }
    }
}

impl CpuModel {
    /// What the model gives for one input: a vector, a score for each label, or the rows of an image. `yield_now` is
    /// awaited every millisecond or two; once `is_over` the work ends without a result.
    ///
    /// # Errors
    /// `invalid_argument` for no ids, ids outside the vocabulary, and for a model that writes text or reads something
    /// else; those of [`EncoderInput::check`].
    pub async fn embed(
        &mut self,
        input: Input<'_>,
        mut yield_now: impl AsyncFnMut(),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<f32>>> {
        self.check_input(input)?;
        let [rows, outputs] = input.counts();
        let (ids, image) = match input {
            Input::Ids(ids) => (ids, None),
            Input::Image(image) => (&[][..], Some(image)),
        };
        let mut run = Activations::new(self.program(), rows);
        let parts = self.program().layers.len() + 3;
        for part in 0..parts {
            if is_over() {
                return Ok(None);
            }
            match parts - part {
                1 => run = regrouped(self.program(), run, image, outputs),
                2 => run = run.last(rows, self.program()),
                _ => {}
            }
            let (program, mut interpreter) = self.interpreter(&mut run, ids);
            interpreter.input = image;
            let ops = match part {
                0 => &program.embed[..],
                _ if parts - part == 1 => program.head_parts().1,
                _ if parts - part == 2 => program.head_parts().0,
                _ => &program.layers[part - 1][..],
            };
            for op in ops {
                interpreter.run(op, &mut yield_now).await?;
            }
        }
        let output = self.program().output_activation();
        let mut found = std::mem::take(&mut run.values[output.0]);
        self.program().sides.iter().for_each(|side| found.append(&mut run.values[side.0]));
        Ok((!is_over()).then_some(found))
    }

    fn check_input(&self, input: Input<'_>) -> Result<()> {
        match (input, self.program().output) {
            (_, Output::Logits) => Err(Error::invalid_argument("the model writes text and gives no embeddings")),
            (Input::Image(image), Output::Rows) => image.check(self.program(), self.context_length()),
            (Input::Image(_), _) | (_, Output::Rows) => Err(Error::invalid_argument("the model reads something else")),
            (Input::Ids([]), _) => Err(Error::invalid_argument("no tokens to run")),
            _ => Ok(()),
        }
    }
}

/// Room for what follows pooling, with the pooled rows.
fn regrouped(program: &Program, rows: Activations, image: Option<&EncoderInput>, outputs: usize) -> Activations {
    let mut made = Activations::of(program, program.head_parts().1, outputs);
    for op in program.head_parts().1 {
        match (op, image) {
            (Op::Pool { x, kind, y }, _) => made.values[y.0] = pool(*kind, program.width(*x), &rows.values[x.0]),
            (Op::Regroup { x, grouping: Grouping { parts, taps, by_value }, y }, Some(image)) => {
                let (width, by_value) = (program.width(*x), *by_value);
                let shape = Shape { width, parts: *parts, taps: *taps, by_value, mode: Mode::Write };
                mix(shape, [&image.groups[0], &image.groups[1]], &rows.values[x.0], &mut made.values[y.0]);
            }
            _ => {}
        }
    }
    made
}
