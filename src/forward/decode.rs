//! Few rows, of one sequence or several, through all layers and the head, with whatever stands between products folded
//! into them.

use super::fusion::{DECODE, Fused, Gated, Input, Step, Then, Update, steps};
use super::recurrent::Pass;
use super::{Forward, Lowering, Part, Place, Places};
use crate::kernels::attention::{Limits, Splits, attention_decode, attention_rotated, can_rotate, split_count};
use crate::kernels::layout::BLOCK;
use crate::kernels::lora::{OfRows, Terms};
use crate::kernels::mat_vec::{Epilogue, MatVec, mat_vec};
use crate::kernels::prologue::{self, Prologue};
use crate::kernels::spec::{Dispatch, Slice};
use crate::kernels::swiglu::{side_by_side, swiglu};
use crate::model::WeightKey;
use crate::model::program::{Factor, Keys, Norm, NormKind, Op, Program};

/// The operations of all parts, and the part of each: 0 the embedding, then the layers, then the head.
pub(super) fn in_a_row(program: &Program) -> (Vec<Op>, Vec<usize>) {
    let parts = program.parts().into_iter();
    let ops = parts.enumerate().flat_map(|(part, ops)| ops.iter().map(move |op| (op.clone(), part)));
    ops.unzip()
}

/// Takes a step, the places before it and those of its results, and its dispatches.
pub(super) type EachStep<'e> = dyn FnMut(&Fused, [&Places; 2], Vec<Dispatch>) + 'e;

impl Forward<'_> {
    /// The `rows` rows of the pass, up to [`MAX_COLUMNS`](crate::kernels::mat_vec::MAX_COLUMNS), through all layers and
    /// the head: `logits` holds `[rows, vocab]`.
    pub fn decode(&self, rows: u32) -> Vec<Dispatch> {
        self.decode_and_kept(rows).0
    }

    /// The list of [`Forward::decode`], how many of its dispatches it takes until caches and recurrent states are
    /// complete, where it has several rows, and where it leaves the residual stream.
    pub(super) fn decode_and_kept(&self, rows: u32) -> (Vec<Dispatch>, usize, Place) {
        let (mut list, mut kept) = (Vec::new(), 0);
        let residual = self.program.residual();
        let mut place = self.buffers.places.head.of(residual);
        self.decode_steps(rows, &mut |fused, [_, after], dispatches| {
            kept = self.kept_after(&fused.step, dispatches.len()).map_or(kept, |count| list.len() + count);
            list.extend(dispatches);
            place = after.of(residual);
        });
        (list, kept, place)
    }

    /// The steps of [`Forward::decode`], one after the other.
    pub(super) fn decode_steps(&self, rows: u32, each: &mut EachStep) {
        let one_row = self.adapters.filter(|_| rows == 1);
        let (adapter, program) = match one_row.and_then(|adapters| Some((adapters.in_products()?, adapters.base))) {
            Some((adapter, base)) => (Some(adapter), base),
            None => (None, self.program),
        };
        let (ops, part_of) = in_a_row(program);
        let all = &self.buffers.places;
        let parts: Vec<&Places> = [&all.embed].into_iter().chain(&all.layers).chain([&all.head]).collect();
        let residual = self.program.residual();
        let moved: Vec<Places> = parts.iter().map(|places| places.moved(residual, self.buffers.spare)).collect();
        let mut is_moved = false;
        let inputs = self.program.inputs();
        for fused in steps(&ops, DECODE) {
            // Rows of images come by passes of many rows: what they add is zero here.
            if matches!(fused.step, Step::Alone(Op::Add { x, .. }) if inputs.contains(x)) {
                continue;
            }
            // An update that reaches over parts has the same place in all.
            let part = part_of[fused.end - 1];
            let [places, others] = if is_moved { [&moved[part], parts[part]] } else { [parts[part], &moved[part]] };
            let spare = (rows == 1).then(|| others.of(residual).slice);
            let step =
                Lowering { spare, adapter, ..self.few_rows(rows, places) }.step(&fused.step, part + 1 == parts.len());
            let moves = step.iter().any(|dispatch| dispatch.buffers.last().copied() == spare && spare.is_some());
            is_moved ^= moves;
            each(&fused, [places, if moves { others } else { places }], step);
        }
    }

    /// The last `rows` rows of the pass → logits `[rows, vocab]`.
    pub fn head(&self, rows: u32) -> Vec<Dispatch> {
        let lowering = self.few_rows(rows, &self.buffers.places.head);
        steps(&self.program.head, DECODE).iter().flat_map(|fused| lowering.step(&fused.step, true)).collect()
    }

    pub(super) fn few_rows<'a>(&'a self, rows: u32, places: &'a Places) -> Lowering<'a> {
        Lowering { forward: *self, places, rows, spare: None, adapter: None }
    }
}

/// The products of one x, and where they go.
struct Products<'a> {
    parts: &'a [Part],
    stored: Place,
    then: Then,
    of_outputs: bool,
    terms: Option<Terms>,
}

/// x of products: an activation that changes on the way.
struct Source {
    x: Place,
    prologue: Prologue,
    norm: Option<(Slice, f32)>,
}

impl Lowering<'_> {
    /// The dispatches of a step; with `of_outputs` the first activation is read at the rows of the pass that have
    /// logits.
    pub(super) fn step(&self, step: &Step, of_outputs: bool) -> Vec<Dispatch> {
        match step {
            Step::Linears { input, linears, then } => self.products(input, linears, *then, of_outputs),
            Step::Attention { heads, attend } if matches!(attend.keys, Keys::Kept(_)) => {
                vec![self.rope_kv(heads, attend)]
            }
            Step::Attention { heads, attend } => {
                let (attention, limits) = self.attention(attend);
                let Forward { buffers, weights, .. } = self.forward;
                let can_rotate = can_rotate(&attention.heads, attend.kv.is_some())
                    && buffers.turned.is_none()
                    && !heads.norms_rotated
                    && limits.distances.is_none()
                    && attend.attention.value_dim == attend.attention.head_dim;
                if self.rows == 1 && !self.has_axes(heads) && can_rotate {
                    let norms = heads.qk_norm.map_or(buffers.dummy, |(q, _)| weights.head_norms[&q]);
                    let (rope, splits) = (self.rotation(heads, attend), self.splits(limits));
                    return attention_rotated([buffers.pass, norms], &rope, &attention, &splits, limits).into();
                }
                let mut list = vec![self.rope_kv(heads, attend)];
                list.extend(attention_decode(buffers.pass, self.rows, &attention, &self.splits(limits), limits));
                list
            }
            Step::Alone(op) if self.forward.program.state(op).is_some() => self.recurrent(op, Pass::Few),
            Step::Alone(op @ Op::HeadLinear { .. }) => self.head_linear(op, Pass::Few),
            Step::Experts { op, to } => self.few_by_experts(op, *to),
            Step::Adapt(op) if of_outputs => self.adapt(op, OfRows::Last(self.rows)),
            Step::Adapt(op) => self.adapt(op, OfRows::First(self.rows)),
            Step::Alone(Op::Embed { table, scale, y, .. }) if self.group_in_products(*table).is_some() => {
                let adapt = Op::Adapt { x: None, of: *table, ys: vec![*y], factor: *scale };
                let added = self.adapt(&adapt, OfRows::First(self.rows));
                self.simple(step).into_iter().chain(added).collect()
            }
            other => self.simple(other),
        }
    }

    fn products(&self, input: &Input, linears: &[Op], then: Then, of_outputs: bool) -> Vec<Dispatch> {
        let Some(Op::Linear { weight, y, .. }) = linears.first() else { return Vec::new() };
        let parts = &self.forward.weights.projections[weight];
        let group = self.group_in_products(*weight);
        let terms = group.map(|(_, terms)| terms);
        let products = Products { parts, stored: self.places.of(*y), then, of_outputs, terms };
        if let Some(group) = group {
            let (mut list, source) = self.before(input);
            let (x, norm_weight) = ((source.x.slice, parts[0].matrix.cols), source.norm.map(|(weight, _)| weight));
            list.extend(self.ranks_of(group, x, norm_weight, of_outputs));
            list.extend(self.product_of(&source, &products));
            return list;
        }
        if let Some((source, vectors)) = self.on_the_way(input, parts) {
            let list = self.product_of(&source, &products);
            let workgroups =
                list.iter().map(|dispatch| dispatch.grid.map(|extent| extent.resolve(1)).iter().product::<u32>());
            if prologue::pays(workgroups.sum(), vectors, parts[0].matrix.cols) {
                return list;
            }
        }
        let (mut list, source) = self.before(input);
        list.extend(self.product_of(&source, &products));
        list
    }

    /// x with all that happens to it on the way to these products, where they can do that, and how many vectors more
    /// each of their workgroups reads.
    fn on_the_way(&self, input: &Input, parts: &[Part]) -> Option<(Source, u32)> {
        let x = self.places.of(input.x);
        let vector = |key| self.forward.vector(key);
        let rms = self.rms(input);
        let source = |prologue, norm| Source { x, prologue, norm };
        let is_rms = input.norm.is_none() || rms.is_some();
        if input.update.is_none() && input.gate.is_none() && is_rms {
            return Some((source(Prologue::None, rms.map(|(key, eps)| (vector(key), eps))), 0));
        }
        if self.rows != 1 || parts.iter().any(|part| !part.matrix.cols.is_multiple_of(BLOCK)) {
            return None;
        }
        if let Some(Update { of, norm: (weight, eps), factor }) = input.update {
            let vectors = self.forward.weights.updates[&weight];
            let new_x = self.spare.filter(|_| parts.iter().all(|part| part.bias.is_none()))?;
            let (update, scaled) = (self.places.of(of).slice, factor.is_some());
            let prologue = Prologue::Update(prologue::Update { update, vectors, eps, scaled, new_x });
            return is_rms.then(|| (source(prologue, rms.map(|(_, eps)| (vectors, eps))), 2));
        }
        if let Some(Gated { up, at, kind, .. }) = input.gate {
            let up = self.places.of(up);
            let up_at = (up.offset + at) as u32;
            let gate = prologue::Gate { kind, up: up.slice, up_at };
            return up_at.is_multiple_of(4).then(|| (source(Prologue::Gate(gate), None), 1));
        }
        match input.norm {
            Some((Norm { kind: NormKind::Layer, weight, bias, width, eps, .. }, _)) if width == x.stride => {
                let bias = bias.and_then(|bias| self.forward.weights.vectors.get(&bias.key).copied());
                let norm = prologue::LayerNorm { weight: vector(weight?), bias, eps };
                Some((source(Prologue::LayerNorm(norm), None), 2))
            }
            _ => None,
        }
    }

    /// The norm of x that `mat_vec` does anyway.
    fn rms(&self, input: &Input) -> Option<(WeightKey, f32)> {
        let whole = |norm: &Norm| norm.width == self.forward.program.width(input.x);
        input.norm.map(|(norm, _)| norm).filter(whole).and_then(|norm| norm.plain_rms())
    }

    /// The same where products cannot: dispatches before them, and what is left to them.
    fn before(&self, input: &Input) -> (Vec<Dispatch>, Source) {
        let mut list = Vec::new();
        let mut x = input.x;
        if let Some(Update { of, norm: (weight, eps), factor }) = input.update {
            let width = self.forward.program.width(x);
            let norm = Norm { kind: NormKind::Rms, weight: Some(weight), bias: None, width, is_grouped: false, eps };
            list.push(self.norm(of, &norm, x, Some(1.0)));
            list.extend(factor.map(|factor| self.alone(&Op::Scale { x, factor: Factor::Weight(factor) })));
        }
        if let Some(Gated { up, at, kind, y }) = input.gate {
            list.push(self.gate(kind, x, (up, at), y));
            x = y;
        }
        let rms = self.rms(input);
        if let (Some((norm, y)), None) = (input.norm, rms) {
            list.push(self.norm(x, &norm, y, None));
            x = y;
        }
        let norm = rms.map(|(key, eps)| (self.forward.vector(key), eps));
        (list, Source { x: self.places.of(x), prologue: Prologue::None, norm })
    }

    fn product_of(&self, source: &Source, products: &Products) -> Vec<Dispatch> {
        let &Products { parts, stored, then, of_outputs, terms } = products;
        let &Source { x, prologue, norm } = source;
        let product = |part: &Part, epilogue: Epilogue, y: Place| {
            let (bias, y_offset) = (part.bias, part.first_output);
            debug_assert!(self.rows == 1 || x.stride == part.matrix.cols as usize, "rows of x follow each other");
            let y_stride = if self.rows > 1 { y.stride as u32 } else { 0 };
            self.mat_vec(&MatVec {
                norm,
                prologue,
                adapter: terms,
                bias,
                epilogue,
                y_offset,
                y_stride,
                columns: self.rows,
                of_outputs,
                ..MatVec::new(&part.matrix, x.slice, y.slice)
            })
        };
        let all = |epilogue, y| parts.iter().flat_map(|part| product(part, epilogue, y)).collect::<Vec<_>>();
        match then {
            Then::Store => all(Epilogue::Store, stored),
            Then::Gelu => all(Epilogue::Gelu, stored),
            Then::Add { to, scale: 1.0 } => all(Epilogue::Residual, self.places.of(to)),
            Then::Add { to, scale } => all(Epilogue::Scaled(scale), self.places.of(to)),
            Then::Gate(kind, y) => {
                let y = self.places.of(y);
                if let [part] = parts
                    && part.bias.is_none()
                {
                    return product(part, Epilogue::Gate(kind), y);
                }
                let mut list = all(Epilogue::Store, stored);
                let width = stored.stride as u32 / 2;
                list.push(swiglu(kind, width, side_by_side(width, stored.slice), y.slice));
                list
            }
        }
    }

    /// A layer with a window needs fewer splits, and so does a program in place of a GPU, whose workgroups cost much
    /// even where they find no keys.
    fn splits(&self, limits: Limits) -> Splits {
        let splits = self.forward.buffers.scratch.splits;
        let most = if limits.window > 0 { split_count(limits.window) } else { splits.count };
        let count = splits.count.min(most);
        let share = if self.forward.caps.software { 4 } else { 1 };
        Splits { count: count.div_ceil(share), ..splits }
    }

    fn mat_vec(&self, problem: &MatVec) -> Vec<Dispatch> {
        mat_vec(self.forward.caps, self.forward.buffers.pass, self.forward.buffers.dummy, problem)
    }
}
