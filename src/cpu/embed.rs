//! Embeddings, scores and encoders on the CPU: one input after the other, without a cache.

use crate::cpu::CpuModel;
use crate::cpu::encode::cells;
use crate::cpu::interpreter::Activations;
use crate::cpu::model::enter_behind;
use crate::cpu::weights::Weights;
use crate::error::{Error, Result};
use crate::kernels::mix::{Mode, Shape};
use crate::kernels::reference::{mix, mix_channels, pool};
use crate::model::program::{BlockSpec, Grouping, Op, Output, Program};
use crate::model::{EncoderInput, Item, Taps};

/// Rows of a sound that goes on that are forgotten at once.
const FORGOTTEN: usize = 256;

/// Tokens, or patches.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// The token ids of a text, with the ids of rows among them.
    Ids(&'a [u32]),
    /// The token ids of a source, whose encoder gives a row for each.
    Source(&'a [u32]),
    /// The input for an image or a tile.
    Image(&'a EncoderInput),
}

impl<'a> Input<'a> {
    fn parts(self) -> (&'a [u32], Option<&'a EncoderInput>) {
        match self {
            Self::Ids(ids) | Self::Source(ids) => (ids, None),
            Self::Image(image) => (&[], Some(image)),
        }
    }

    /// Rows of each stage of the embedding.
    fn rows_of_stages(self) -> Vec<usize> {
        match self {
            Self::Ids(ids) | Self::Source(ids) => vec![ids.len()],
            Self::Image(image) => image.rows_of_stages().collect(),
        }
    }

    /// Rows, and what becomes of them.
    fn counts(&self) -> [usize; 2] {
        match self {
            Self::Ids(ids) | Self::Source(ids) => [ids.len(), 1],
            Self::Image(image) => [image.rows, image.outputs],
        }
    }
}

impl CpuModel {
    /// Runs one input: returns a vector, a score for each label, or the rows of an image. `yield_now` is awaited every
    /// millisecond or two; once `is_over` the work ends without a result.
    ///
    /// # Errors
    /// `invalid_argument` for no ids, ids outside the vocabulary, rows that nobody holds, and for a model that writes
    /// text or reads something else; the errors of [`EncoderInput::check`].
    pub async fn embed(
        &mut self,
        input: Input<'_>,
        mut yield_now: impl AsyncFnMut(),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<f32>>> {
        self.check_input(input)?;
        let [rows, outputs] = input.counts();
        let (ids, image) = input.parts();
        let (tokens, runs) = (Item::tokens(ids), self.input_rows().runs(ids)?);
        let before = input.rows_of_stages();
        let mut run = Activations::of(self.program(), [], 0);
        self.go_on_at(image.map_or(0, |image| image.position))?;
        let parts = before.len() + self.program().layers.len() + 2;
        for part in 0..parts {
            if is_over() {
                return Ok(None);
            }
            run = match (parts - part, before.get(part)) {
                // Rows stay what they are.
                (1, _) if self.program().head_parts().1.is_empty() => run,
                (1, _) => regrouped((self.program(), &self.weights), run, image, outputs),
                (2, _) => run.last(rows, self.program()),
                (_, Some(&rows)) => staged((self.program(), &self.weights), run, image, (part, rows)),
                _ => run,
            };
            let (program, mut interpreter) = self.interpreter(&mut run, &tokens);
            interpreter.input = image;
            let ops = match part {
                _ if parts - part == 1 => program.head_parts().1,
                _ if parts - part == 2 => program.head_parts().0,
                _ if part < before.len() => program.stages()[part],
                _ => &program.layers[part - before.len()][..],
            };
            for op in ops {
                interpreter.run(op, &mut yield_now).await?;
                if part < before.len() {
                    enter_behind(op, program, &runs, interpreter.run);
                }
            }
        }
        self.cached += rows;
        let output = self.program().output_activation();
        let mut found = std::mem::take(&mut run.values[output.0]);
        self.program().sides.iter().for_each(|side| found.append(&mut run.values[side.0]));
        Ok((!is_over()).then_some(found))
    }

    /// Goes to a position, and forgets from time to time what no row from there on sees.
    ///
    /// # Errors
    /// `invalid_argument` where the rows before are not those that were read last.
    fn go_on_at(&mut self, position: usize) -> Result<()> {
        if position > 0 && position != self.cached {
            let message = format!("row {position} of a sound behind {} others", self.cached);
            return Err(Error::invalid_argument(message));
        }
        self.go_to(position);
        self.forgotten *= usize::from(position > 0);
        let window = self.program.cached_attentions().filter_map(|attention| attention.window).max().unwrap_or(0);
        let unseen = (position - self.forgotten).saturating_sub(window);
        if unseen >= FORGOTTEN {
            for (cache, bytes) in self.row_bytes().into_iter().enumerate() {
                self.cache[cache].forget(unseen * bytes);
            }
            self.forgotten += unseen;
        }
        Ok(())
    }

    fn check_input(&self, input: Input<'_>) -> Result<()> {
        match (input, self.program().output) {
            (_, Output::Logits) => Err(Error::invalid_argument("the model writes text and gives no embeddings")),
            (Input::Image(image), Output::Rows) => image.check(self.program(), self.context_length()),
            (Input::Source([_, ..]), Output::Rows) => Ok(()),
            (Input::Ids([]) | Input::Source([]), _) => Err(Error::invalid_argument("no tokens to run")),
            (Input::Image(_) | Input::Source(_), _) | (_, Output::Rows) => {
                Err(Error::invalid_argument("the model reads something else"))
            }
            _ => Ok(()),
        }
    }
}

/// Room for a stage of the embedding, with its rows made of those of the one before; with the last for the layers. What
/// else it reads of that one stays as it is.
fn staged(
    (program, weights): (&Program, &Weights),
    mut rows: Activations,
    image: Option<&EncoderInput>,
    (stage, count): (usize, usize),
) -> Activations {
    let stages = program.stages();
    let layers = program.layers.iter().flatten().filter(|_| stage + 1 == stages.len());
    let mut made = Activations::of(program, stages[stage].iter().chain(layers), count);
    if let (Some(image), Some(before)) = (image, stage.checked_sub(1)) {
        let op = &stages[stage][0];
        regroup((program, weights), op, (&rows.values, &mut made.values[op.writes().0]), &image.folds[before].taps);
        carry((program, &stages[stage..]), (&mut rows, &mut made), count);
    }
    made
}

/// Keeps the rows of stages before that this one or a later one reads before it writes them.
#[inline(never)]
fn carry((program, stages): (&Program, &[&[Op]]), (rows, made): (&mut Activations, &mut Activations), count: usize) {
    let ops: Vec<&Op> = stages.iter().copied().flatten().collect();
    for x in ops[1..].iter().flat_map(|op| op.reads()) {
        let is_of = |op: &Op| op.reads().contains(&x) || op.writes() == x;
        let is_read = ops.iter().find(|op| is_of(op)).is_some_and(|op| op.reads().contains(&x));
        let is_later = !stages[0].iter().any(is_of) && !rows.values[x.0].is_empty();
        if is_read && (is_later || rows.values[x.0].len() == count * program.width(x)) {
            made.values[x.0] = std::mem::take(&mut rows.values[x.0]);
        }
    }
}

/// Room for what follows pooling, with the pooled rows.
fn regrouped(
    (program, weights): (&Program, &Weights),
    rows: Activations,
    image: Option<&EncoderInput>,
    outputs: usize,
) -> Activations {
    let mut made = Activations::of(program, program.head_parts().1, outputs);
    for op in program.head_parts().1 {
        match (op, image) {
            (Op::Pool { x, kind, y }, _) => made.values[y.0] = pool(*kind, program.width(*x), &rows.values[x.0]),
            (Op::Regroup { y, .. }, Some(image)) => {
                regroup((program, weights), op, (&rows.values, &mut made.values[y.0]), &image.groups);
            }
            (Op::AttendRows { kv, .. } | Op::AttendBlocks { kv, spec: BlockSpec { filled: true, .. }, .. }, _) => {
                // The keys of the rows before stay what they are.
                kv.iter().for_each(|key| made.values[key.0].clone_from(&rows.values[key.0]));
            }
            _ => {}
        }
    }
    made
}

/// Runs an operation that makes other rows.
pub(super) fn regroup(
    (program, weights): (&Program, &Weights),
    op: &Op,
    (rows, made): (&[Vec<f32>], &mut [f32]),
    taps: &Taps,
) {
    if let Op::ConvGrid { x, ref spec, .. } = *op {
        return cells(weights, spec, &rows[x.0], made);
    }
    let Op::Regroup { x, grouping: Grouping { parts, taps: of_part, by_value }, kernel, y } = *op else { return };
    let taps = [&taps[0][..], &taps[1]];
    if let Some(kernel) = kernel {
        return mix_channels([program.width(x), of_part], taps, [&rows[x.0], weights.norm(kernel)], made);
    }
    let width = program.width(y) / parts;
    mix(Shape { width, parts, taps: of_part, by_value, mode: Mode::Write }, taps, &rows[x.0], made);
}
