//! Many rows: a chunk of tokens through all layers, and the head for several rows.

use super::embedder::Section;
use super::fusion::{Fused, Input, PREFILL, Step, Then, steps};
use super::recurrent::Pass;
use super::{Forward, Lowering, Place, Places};
use crate::kernels::attention::{attention, attention_few};
use crate::kernels::caps::ActivationFormat;
use crate::kernels::lora::OfRows;
use crate::kernels::mat_mul::{MatMul, mat_mul};
use crate::kernels::mat_mul_f16::{self, mat_mul_f16, round_f16_blocks};
use crate::kernels::mat_mul_int8::{self, mat_mul_int8, quantise};
use crate::kernels::mat_mul_subgroup_matrix::{self, Subgroups, mat_mul_subgroup_matrix, round_f16};
use crate::kernels::mat_vec::{Epilogue, MAX_COLUMNS, MatVec, mat_vec};
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::program::{Activation, Keys, Op};

impl<'a> Forward<'a> {
    /// A chunk of tokens through all layers: the residual stream holds the last layer's output, the cache the keys and
    /// values.
    pub fn prefill(&self) -> Vec<Dispatch> {
        self.prefill_and_kept().0
    }

    /// The list of [`Forward::prefill`], and how many of its dispatches it takes until caches and recurrent states are
    /// complete. A chunk of which nothing else is wanted ends there.
    pub fn prefill_and_kept(&self) -> (Vec<Dispatch>, usize) {
        let (mut list, mut kept) = (Vec::new(), 0);
        for (fused, dispatches) in self.prefill_sections().into_iter().flat_map(|section| section.steps) {
            kept = self.kept_after(&fused.step, dispatches.len()).map_or(kept, |count| list.len() + count);
            list.extend(dispatches);
        }
        (list, kept)
    }

    /// Number of the `count` dispatches of a step of several rows up to the one that writes into a cache or a
    /// recurrent state; `None` where none does.
    pub(super) fn kept_after(&self, step: &Step, count: usize) -> Option<usize> {
        match step {
            // Keys and values are written before attention reads them.
            Step::Attention { attend, .. } if !matches!(attend.keys, Keys::OfInput(_)) => attend.kv.map(|_| 1),
            Step::Alone(op) => self.program.state(op).map(|_| count),
            _ => None,
        }
    }

    /// The embedding and the layers of a chunk of tokens.
    pub(super) fn prefill_sections(&self) -> Vec<Section<'a>> {
        let (places, program) = (&self.buffers.places, self.program);
        let section = |part: usize, ops: &'a [Op], places: &'a Places, format: ActivationFormat| Section {
            part,
            ops,
            places,
            steps: self.many_rows(places).steps_many(ops, format),
        };
        let layers = program.layers.iter().zip(&places.layers).zip(1..);
        let embed = section(0, &program.embed, &places.embed, ActivationFormat::F32);
        [embed]
            .into_iter()
            .chain(layers.map(|((ops, places), part)| section(part, ops, places, self.caps.activation_format)))
            .collect()
    }

    /// Every token of a pass of at most [`EVALUATE_CHUNK`](super::EVALUATE_CHUNK) → logits `[tokens, vocab]` in
    /// `all_logits`.
    pub fn head_of_all(&self, all_logits: Slice) -> Vec<Dispatch> {
        let places = self.buffers.places.head.with_logits(self.buffers.logits, all_logits);
        let lowering = Lowering { rows: super::EVALUATE_CHUNK as u32, ..self.many_rows(&places) };
        lowering.lower_many(&self.program.head, ActivationFormat::F32)
    }

    pub(super) fn many_rows<'f>(&'f self, places: &'f Places) -> Lowering<'f> {
        Lowering { forward: *self, places, rows: self.buffers.chunk as u32, spare: None, adapter: None }
    }
}

impl Places {
    /// The same, with `to` in the place of the buffer `from`.
    fn with_logits(&self, from: Slice, to: Slice) -> Self {
        let moved = |place: Place| Place { slice: if place.slice == from { to } else { place.slice }, ..place };
        self.map(moved)
    }
}

impl Lowering<'_> {
    /// The dispatches of operations whose products take activations in `format`.
    pub(super) fn lower_many(&self, ops: &[Op], format: ActivationFormat) -> Vec<Dispatch> {
        self.steps_many(ops, format).into_iter().flat_map(|(_, dispatches)| dispatches).collect()
    }

    /// The same step by step.
    pub(super) fn steps_many<'o>(&self, ops: &'o [Op], format: ActivationFormat) -> Vec<(Fused<'o>, Vec<Dispatch>)> {
        let step = |(step, rest): (Step, &[Op])| match step {
            Step::Linears { input: Input { x, norm: None, .. }, linears, then } => {
                let format = if self.feeds_cache(linears, rest) { format_of_keys(format) } else { format };
                self.multiply(format, &self.problems(x, linears, then))
            }
            Step::Attention { heads, attend } => match attend.keys {
                Keys::OfInput(sight) => self.attention_input(&heads, &attend, sight),
                Keys::Kept(_) => vec![self.rope_kv(&heads, &attend)],
                Keys::Cached(_) => {
                    let (problem, limits) = self.attention(&attend);
                    let Forward { buffers, caps, .. } = self.forward;
                    let attention = match buffers.room.whole_images {
                        true => attention_few(buffers.pass, &problem, limits),
                        false => attention(caps, (buffers.pass, self.rows), &problem, limits),
                    };
                    vec![self.rope_kv(&heads, &attend), attention]
                }
            },
            Step::Alone(op) if self.forward.program.state(op).is_some() => self.recurrent(op, Pass::Many),
            Step::Alone(op @ Op::HeadLinear { .. }) => self.head_linear(op, Pass::Many),
            Step::Experts { op, to } => self.many_by_experts(op, to),
            Step::Adapt(op) => self.adapt(op, OfRows::All),
            other => self.simple(&other),
        };
        let lowered = |fused: Fused<'o>| {
            let dispatches = step((fused.step.clone(), &ops[fused.end..]));
            (fused, dispatches)
        };
        steps(ops, PREFILL).into_iter().map(lowered).collect()
    }

    /// Whether a cache or a recurrent state among `rest` takes what these products write.
    fn feeds_cache(&self, linears: &[Op], rest: &[Op]) -> bool {
        let mut written: Vec<Activation> = linears.iter().map(Op::writes).collect();
        // What is joined or copied to others, and values on their way to others.
        let passes =
            |op: &&Op| matches!(op, Op::Norm { .. } | Op::JoinHeads { .. } | Op::Copy { .. } | Op::Lerp { .. });
        for op in rest.iter().filter(passes) {
            if op.reads().iter().any(|of| written.contains(of)) {
                written.push(op.writes());
            }
        }
        let keeps = |op: &Op| match op {
            Op::Attend { kv, keys: Keys::Cached(_) | Keys::Kept(_), .. } => {
                kv.iter().flatten().any(|of| written.contains(of))
            }
            other => self.forward.program.state(other).is_some() && other.reads().iter().any(|of| written.contains(of)),
        };
        rest.iter().any(keeps)
    }

    fn problems(&self, x: Activation, linears: &[Op], then: Then) -> Vec<MatMul<'_>> {
        let Some(Op::Linear { weight, y, .. }) = linears.first() else { return Vec::new() };
        let x = self.places.of(x);
        let (y, epilogue) = match then {
            Then::Add { to, .. } => (self.places.of(to), Epilogue::Residual),
            _ => (self.places.of(*y), Epilogue::Store),
        };
        let problem = |part: &'_ super::Part| (part.bias, part.first_output);
        let parts = self.forward.weights.projections[weight].iter();
        parts
            .map(|part| {
                let (bias, y_offset) = problem(part);
                let x_rows = self.forward.buffers.chunk as u32;
                let (x_stride, y_stride) = (x.stride as u32, y.stride as u32);
                MatMul {
                    x_rows,
                    weights: &part.matrix,
                    x: x.slice,
                    x_stride,
                    bias,
                    epilogue,
                    y: y.slice,
                    y_stride,
                    y_offset,
                }
            })
            .collect()
    }

    /// Products with one x, which is rounded once for those that take it so.
    pub(super) fn multiply(&self, format: ActivationFormat, problems: &[MatMul]) -> Vec<Dispatch> {
        let Forward { buffers, caps, .. } = self.forward;
        if problems.iter().all(are_few_rows) {
            return problems.iter().flat_map(|problem| self.multiply_few(problem)).collect();
        }
        let (pass, dummy, scratch) = (buffers.pass, buffers.dummy, &buffers.scratch);
        let groups = |problem: &MatMul| match format {
            ActivationFormat::F16Blocks => mat_mul_f16::choose(caps, problem),
            _ => None,
        };
        let takes = |problem: &&MatMul| match format {
            ActivationFormat::F32 => false,
            ActivationFormat::Int8 => mat_mul_int8::supports(problem.weights),
            ActivationFormat::F16(_) => mat_mul_subgroup_matrix::supports(problem.weights, problem.x_stride),
            ActivationFormat::F16Blocks => groups(problem).is_some(),
        };
        let round = |&MatMul { weights, x, x_stride, .. }: &MatMul| match format {
            ActivationFormat::Int8 => quantise(pass, (weights.cols, x_stride), x, &scratch.quants),
            ActivationFormat::F16Blocks => round_f16_blocks(pass, (weights.cols, x_stride), x, &scratch.halves),
            _ => round_f16((weights.cols, x_stride), x, &scratch.halves),
        };
        let product = |problem: &MatMul| match format {
            ActivationFormat::Int8 if takes(&problem) => mat_mul_int8((pass, dummy), problem, &scratch.quants),
            ActivationFormat::F16(shape) if takes(&problem) => {
                let subgroups = Subgroups { size: caps.subgroup_size.0, shape };
                mat_mul_subgroup_matrix(caps, subgroups, (pass, dummy), problem, &scratch.halves)
            }
            _ => match groups(problem) {
                Some(groups) => mat_mul_f16(groups, (pass, dummy), problem, &scratch.halves),
                None => mat_mul(caps, pass, dummy, problem),
            },
        };
        let rounded = problems.iter().find(takes).map(round);
        rounded.into_iter().chain(problems.iter().flat_map(product)).collect()
    }

    /// A product of [few rows](are_few_rows).
    fn multiply_few(&self, problem: &MatMul) -> Vec<Dispatch> {
        let Forward { buffers, caps, .. } = self.forward;
        let &MatMul { x_rows, weights, x, x_stride, bias, epilogue, y, y_stride, y_offset } = problem;
        let part = |first: u32| {
            let columns = MAX_COLUMNS.min(x_rows - first);
            let x = x.after(u64::from(first * x_stride) * size_of::<f32>() as u64);
            let y_offset = y_offset + first * y_stride;
            let part = MatVec { columns, bias, epilogue, y_offset, y_stride, ..MatVec::new(weights, x, y) };
            mat_vec(caps, buffers.pass, buffers.dummy, &part)
        };
        (0..x_rows).step_by(MAX_COLUMNS as usize).flat_map(part).collect()
    }
}

/// Rows that a pass may have at most where they are multiplied as columns: a tile would be of 16 rows or more, and too
/// few workgroups would read a matrix.
const FEW_ROWS: u32 = 2 * MAX_COLUMNS;

/// A binding begins at a multiple of this many bytes.
const BINDING: u32 = 256;

/// Whether a product is one of few rows, which lie one after the other, and of which the ninth begins where a binding
/// may begin.
fn are_few_rows(problem: &MatMul) -> bool {
    let &MatMul { x_rows, x_stride, weights, .. } = problem;
    let is_aligned = x_rows <= MAX_COLUMNS || (4 * MAX_COLUMNS * weights.cols).is_multiple_of(BINDING);
    x_rows <= FEW_ROWS && x_stride == weights.cols && is_aligned
}

/// 8 bits are too few for keys, values and states: an error in them stays for all later tokens.
pub(super) fn format_of_keys(format: ActivationFormat) -> ActivationFormat {
    match format {
        ActivationFormat::Int8 => ActivationFormat::F32,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::GgmlType;
    use crate::kernels::layout::Matrix;
    use crate::kernels::spec::BufferId;

    #[test]
    fn few_rows_are_columns_where_each_part_can_be_bound() {
        let slice = Slice::from(BufferId(0));
        let are_few = |x_rows: u32, x_stride: u32, cols: u32| {
            let weights = Matrix::whole(GgmlType::F32, 40, cols, BufferId(1));
            let (bias, epilogue, y_stride, y_offset) = (None, Epilogue::Store, 40, 0);
            are_few_rows(&MatMul {
                x_rows,
                weights: &weights,
                x: slice,
                x_stride,
                bias,
                epilogue,
                y: slice,
                y_stride,
                y_offset,
            })
        };
        assert!(are_few(1, 52, 52) && are_few(8, 52, 52) && are_few(12, 24, 24) && are_few(16, 64, 64));
        assert!(!are_few(9, 52, 52), "the ninth row begins at byte 1,664");
        assert!(!are_few(17, 64, 64) && !are_few(4, 64, 32));
    }
}
