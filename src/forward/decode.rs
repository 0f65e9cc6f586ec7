//! Few rows: one token through all layers and the head, with whatever stands between products folded into them.

use super::fusion::{Step, Then, steps};
use super::{Forward, Lowering, Part};
use crate::kernels::attention::attention_decode;
use crate::kernels::mat_vec::{Epilogue, MatVec, mat_vec};
use crate::kernels::spec::Dispatch;
use crate::kernels::swiglu::swiglu;
use crate::model::program::{Activation, Op, RmsNorm};

impl Forward<'_> {
    /// The pass's one token through all layers and the head.
    pub fn decode(&self) -> Vec<Dispatch> {
        let mut list = self.embed();
        for (ops, places) in self.program.layers.iter().zip(&self.buffers.layers) {
            list.extend(self.few_rows(places).lower(ops, false));
        }
        list.extend(self.head());
        list
    }

    /// The last token of the pass → logits `[vocab]`.
    pub fn head(&self) -> Vec<Dispatch> {
        self.few_rows(&self.buffers.head).lower(&self.program.head, true)
    }

    fn few_rows<'a>(&'a self, places: &'a super::Places) -> Lowering<'a> {
        Lowering { forward: *self, places, rows: 1 }
    }
}

impl Lowering<'_> {
    /// The dispatches of operations; with `of_outputs` the first activation is read at the rows of the pass that have
    /// logits.
    fn lower(&self, ops: &[Op], of_outputs: bool) -> Vec<Dispatch> {
        let step = |step: &Step| match step {
            Step::Linears { x, norm, linears, then } => self.products(*x, *norm, linears, *then, of_outputs),
            Step::Attention { qk_norm, rope, attend } => {
                let (attention, limits) = self.attention(attend);
                let Forward { buffers, .. } = self.forward;
                let mut list = vec![self.rope_kv(qk_norm, *rope, attend)];
                list.extend(attention_decode(buffers.pass, 1, &attention, &buffers.scratch.splits, limits));
                list
            }
            other => self.simple(other),
        };
        // The head reads those rows on the way of its first product, which must have the norm folded in.
        let rules = if of_outputs { super::DECODE } else { self.forward.decode_rules };
        steps(ops, rules).iter().flat_map(|fused| step(&fused.step)).collect()
    }

    fn products(
        &self,
        x: Activation,
        norm: Option<RmsNorm>,
        linears: &[Op],
        then: Then,
        of_outputs: bool,
    ) -> Vec<Dispatch> {
        let Forward { weights, .. } = self.forward;
        let Some(Op::Linear { weight, y, .. }) = linears.first() else { return Vec::new() };
        let projection = &weights.projections[weight];
        let x = self.places.of(x);
        let norm = norm.map(|norm| (self.forward.vector(norm.weight), norm.eps));
        let product = |part: &Part, epilogue: Epilogue, y| {
            let (bias, y_offset) = (part.bias, part.first_output);
            self.mat_vec(&MatVec {
                norm,
                bias,
                epilogue,
                y_offset,
                of_outputs,
                ..MatVec::new(&part.matrix, x.slice, y)
            })
        };
        let stored = self.places.of(*y);
        match then {
            Then::Store => projection.iter().flat_map(|part| product(part, Epilogue::Store, stored.slice)).collect(),
            Then::Add(to) => {
                let to = self.places.of(to).slice;
                projection.iter().flat_map(|part| product(part, Epilogue::Residual, to)).collect()
            }
            Then::Gate(kind, y) => {
                let y = self.places.of(y).slice;
                if let [part] = projection.as_slice()
                    && part.bias.is_none()
                {
                    return product(part, Epilogue::Gate(kind), y);
                }
                let mut list: Vec<Dispatch> =
                    projection.iter().flat_map(|part| product(part, Epilogue::Store, stored.slice)).collect();
                list.push(swiglu(kind, stored.stride as u32 / 2, stored.slice, y));
                list
            }
        }
    }

    fn mat_vec(&self, problem: &MatVec) -> Vec<Dispatch> {
        mat_vec(self.forward.caps, self.forward.buffers.pass, self.forward.buffers.dummy, problem)
    }
}
