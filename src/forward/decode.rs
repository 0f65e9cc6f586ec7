//! Few rows, of one sequence or several, through all layers and the head, with whatever stands between products folded
//! into them.

use super::fusion::{DECODE, PlainNorm, Step, Then, steps};
use super::recurrent::Pass;
use super::{Forward, Lowering, Part, Place};
use crate::kernels::attention::{Limits, Splits, attention_decode, split_count};
use crate::kernels::mat_vec::{Epilogue, MatVec, mat_vec};
use crate::kernels::spec::Dispatch;
use crate::kernels::swiglu::{side_by_side, swiglu};
use crate::model::program::{Activation, Op};

impl Forward<'_> {
    /// The `rows` rows of the pass, up to [`MAX_COLUMNS`](crate::kernels::mat_vec::MAX_COLUMNS), through all layers and
    /// the head: `logits` holds `[rows, vocab]`.
    pub fn decode(&self, rows: u32) -> Vec<Dispatch> {
        let places = &self.buffers.places;
        let mut list = self.few_rows(rows, &places.embed).lower(&self.program.embed, false);
        for (ops, places) in self.program.layers.iter().zip(&places.layers) {
            list.extend(self.few_rows(rows, places).lower(ops, false));
        }
        list.extend(self.head(rows));
        list
    }

    /// The last `rows` rows of the pass → logits `[rows, vocab]`.
    pub fn head(&self, rows: u32) -> Vec<Dispatch> {
        self.few_rows(rows, &self.buffers.places.head).lower(&self.program.head, true)
    }

    fn few_rows<'a>(&'a self, rows: u32, places: &'a super::Places) -> Lowering<'a> {
        Lowering { forward: *self, places, rows }
    }
}

impl Lowering<'_> {
    /// The dispatches of operations; with `of_outputs` the first activation is read at the rows of the pass that have
    /// logits.
    fn lower(&self, ops: &[Op], of_outputs: bool) -> Vec<Dispatch> {
        let step = |step: &Step| match step {
            Step::Linears { x, norm, linears, then } => self.products(*x, *norm, linears, *then, of_outputs),
            Step::Attention { heads, attend } => {
                let (attention, limits) = self.attention(attend);
                let Forward { buffers, .. } = self.forward;
                let mut list = vec![self.rope_kv(heads, attend)];
                list.extend(attention_decode(buffers.pass, self.rows, &attention, &self.splits(limits), limits));
                list
            }
            Step::Alone(op) if self.forward.program.state(op).is_some() => self.recurrent(op, Pass::Few),
            Step::Experts { op, to } => self.few_by_experts(op, *to),
            other => self.simple(other),
        };
        steps(ops, DECODE).iter().flat_map(|fused| step(&fused.step)).collect()
    }

    fn products(
        &self,
        x: Activation,
        norm: Option<PlainNorm>,
        linears: &[Op],
        then: Then,
        of_outputs: bool,
    ) -> Vec<Dispatch> {
        let Forward { weights, .. } = self.forward;
        let Some(Op::Linear { weight, y, .. }) = linears.first() else { return Vec::new() };
        let projection = &weights.projections[weight];
        let x = self.places.of(x);
        let norm = norm.map(|(weight, eps)| (self.forward.vector(weight), eps));
        let product = |part: &Part, epilogue: Epilogue, y: Place| {
            let (bias, y_offset) = (part.bias, part.first_output);
            debug_assert!(self.rows == 1 || x.stride == part.matrix.cols as usize, "rows of x follow each other");
            let y_stride = if self.rows > 1 { y.stride as u32 } else { 0 };
            self.mat_vec(&MatVec {
                norm,
                bias,
                epilogue,
                y_offset,
                y_stride,
                columns: self.rows,
                of_outputs,
                ..MatVec::new(&part.matrix, x.slice, y.slice)
            })
        };
        let stored = self.places.of(*y);
        match then {
            Then::Store => projection.iter().flat_map(|part| product(part, Epilogue::Store, stored)).collect(),
            Then::Add(to) => {
                let to = self.places.of(to);
                projection.iter().flat_map(|part| product(part, Epilogue::Residual, to)).collect()
            }
            Then::Gate(kind, y) => {
                let y = self.places.of(y);
                if let [part] = projection.as_slice()
                    && part.bias.is_none()
                {
                    return product(part, Epilogue::Gate(kind), y);
                }
                let mut list: Vec<Dispatch> =
                    projection.iter().flat_map(|part| product(part, Epilogue::Store, stored)).collect();
                let width = stored.stride as u32 / 2;
                list.push(swiglu(kind, width, side_by_side(width, stored.slice), y.slice));
                list
            }
        }
    }

    /// A layer with a window needs fewer splits.
    fn splits(&self, limits: Limits) -> Splits {
        let splits = self.forward.buffers.scratch.splits;
        let most = if limits.window > 0 { split_count(limits.window) } else { splits.count };
        Splits { count: splits.count.min(most), ..splits }
    }

    fn mat_vec(&self, problem: &MatVec) -> Vec<Dispatch> {
        mat_vec(self.forward.caps, self.forward.buffers.pass, self.forward.buffers.dummy, problem)
    }
}
