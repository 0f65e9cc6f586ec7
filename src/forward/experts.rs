//! Mixtures of experts: the choice, and products with the chosen ones' matrices, for few rows and for many.

use super::plan::Plan;
use super::recurrent::Pass;
use super::{Forward, Lowering, Place};
use crate::kernels::elementwise::{self, Arg, Element, Input, Output, elementwise};
use crate::kernels::head_values::{HeadValues, head_values};
use crate::kernels::join_heads::join_heads;
use crate::kernels::layout::Matrix;
use crate::kernels::mat_mul_experts::{Tiles, expert_add, expert_tiles, head_tiles, mat_mul_experts};
use crate::kernels::mat_vec_experts::{Epilogue, ExpertProduct, mat_vec_experts};
use crate::kernels::route::{Counts, Params, Route, route};
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::WeightKey;
use crate::model::program::{Activation, ExpertActivation, Experts, GateUp, HeadRows, Op, Program, Routing};

/// Matrices of experts: of gate and up together, or of one of the two, or of down.
#[derive(Debug, Clone)]
pub struct ExpertPart {
    /// `[experts, rows of an expert, cols]`, its shards of whole experts.
    pub matrix: Matrix,
    /// `[experts, rows]` f32; of gate and up together those of all gates, then those of all ups.
    pub bias: Option<Slice>,
}

/// What prefill needs for experts.
#[derive(Debug, Clone, Copy)]
pub struct ExpertScratch {
    /// The [`Tiles`] of the layer at hand.
    pub plan: Slice,
    /// `[rows, experts of a token, hidden]` f32: results before they are added up.
    pub results: Slice,
}

impl ExpertScratch {
    /// For passes of up to `rows` rows; none for a program without experts.
    pub fn alloc(program: &Program, rows: usize, plan: &mut Plan) -> Option<Self> {
        let counts = |op: &Op| match op {
            Op::ExpertDown { experts, y, .. } => {
                Some((Tiles::words(counts_of(*experts), rows as u32) as usize, experts.used * program.width(*y)))
            }
            Op::HeadLinear { heads, .. } => Some((Tiles::words(counts_of_heads(*heads), rows as u32) as usize, 0)),
            _ => None,
        };
        let sizes: Vec<(usize, usize)> = program.ops().filter_map(counts).collect();
        let words = sizes.iter().map(|(words, _)| *words).max()?;
        let width = sizes.iter().map(|(_, width)| *width).max()?;
        Some(Self {
            plan: plan.words("plan of experts", words),
            results: plan.words("results of experts", rows * width),
        })
    }
}

/// Heads with a matrix each are experts that all tokens go to.
fn counts_of_heads(heads: usize) -> Counts {
    Counts { experts: heads as u32, used: heads as u32 }
}

pub(super) fn counts_of(experts: Experts) -> Counts {
    Counts { experts: experts.count as u32, used: experts.used as u32 }
}

/// The gate or the down operation of experts, as both lowerings take it.
pub(super) struct Product<'a> {
    part: &'a ExpertPart,
    pub experts: Experts,
    epilogue: Epilogue,
    routes: Activation,
    /// Whether a row of x has one for each expert of the token.
    pub per_choice: bool,
    x: Activation,
    y: Activation,
    /// `[parts, entries, rows]`, in the place of biases, and how many entries these are.
    pub added: Option<(Slice, u32)>,
}

impl Lowering<'_> {
    /// The choice of a row's experts.
    pub(super) fn route(&self, logits: Activation, routing: &Routing, routes: Activation) -> Dispatch {
        let logits = self.places.of(logits);
        let problem = Route {
            counts: counts_of(routing.experts),
            gating: routing.gating,
            normalise: routing.normalise,
            scale: routing.scale,
            logit_scale: routing.logit_scale,
            groups: routing.groups.map(|count| count as u32),
            bias: routing.bias.map(|key| self.forward.vector(key)),
            expert_scales: routing.expert_scales.map(|key| self.forward.vector(key)),
            logits: logits.slice,
            params: Params { stride: logits.stride as u32, offset: logits.offset as u32 },
            routes: self.places.of(routes).slice,
        };
        route(self.forward.buffers.dummy, &problem)
    }

    /// A row times the sigmoid of its one gate.
    pub(super) fn gate_row(&self, x: Activation, gate: Activation) -> Dispatch {
        let [x, gate] = [x, gate].map(|of| self.places.of(of));
        debug_assert!(x.offset == 0 && gate.offset == 0, "a gate of rows has a buffer to itself");
        let input = |place: Place, column| Input {
            slice: place.slice,
            element: Element::F32,
            strides: vec![place.stride as u32, column],
        };
        let sigmoid = elementwise::Step::new(elementwise::Op::Sigmoid, &[Arg::Input(1)]);
        let product = elementwise::Step::new(elementwise::Op::Mul, &[Arg::Input(0), Arg::Step(0)]);
        let program = elementwise::Program::new(&[sigmoid, product], 2).expect("a chain without mistakes");
        let sizes = [self.rows, x.stride as u32];
        let y = Output { slice: x.slice, element: Element::F32, sizes: &sizes };
        elementwise(&program, &[input(x, 1), input(gate, 0)], &y, true, self.forward.buffers.dummy)
    }

    /// Few rows: gate and up of the chosen experts, or their down with the sum.
    pub(super) fn few_by_experts(&self, op: &Op, to: Option<Activation>) -> Vec<Dispatch> {
        let run = |product: Product| {
            let Self { forward, rows, .. } = *self;
            let fixed = (forward.buffers.pass, forward.buffers.dummy);
            mat_vec_experts(forward.caps, fixed, rows, &self.problem(&product))
        };
        let (of, mut products) = match *op {
            Op::ExpertDown { weight, y, .. } => {
                (weight, self.down(op, Epilogue::Sum { add: to.is_some() }, to.unwrap_or(y)))
            }
            _ => self.gates(op),
        };
        let mut list = self.adapt_experts(of, &mut products, Some(self.rows));
        list.extend(products.into_iter().flat_map(run));
        list
    }

    /// Many rows: the same, in tiles of rows with one expert.
    pub(super) fn many_by_experts(&self, op: &Op, to: Option<Activation>) -> Vec<Dispatch> {
        let buffers = self.forward.buffers;
        let Some(scratch) = buffers.scratch.experts else { return Vec::new() };
        let tiles = |experts| Tiles::new(self.forward.caps, counts_of(experts), self.rows, scratch.plan);
        match *op {
            Op::ExpertDown { weight, experts, y, .. } => {
                let (width, results) = (self.forward.width(y), scratch.results);
                let mut products = self.down(op, Epilogue::Store, y);
                let mut list = self.adapt_experts(weight, &mut products, None);
                let problem = ExpertProduct { y: results, y_stride: width, ..self.problem(&products[0]) };
                list.extend(mat_mul_experts(buffers.dummy, true, &tiles(experts), &problem));
                let to_place = self.places.of(to.unwrap_or(y));
                debug_assert_eq!(to_place.offset, 0, "sums of experts have a buffer to themselves");
                let sum = (to_place.slice, to_place.stride as u32);
                list.push(expert_add(problem.routes, experts.used as u32, (results, width), sum, to.is_some()));
                list
            }
            Op::ExpertGate { routes, experts, .. } => {
                let tiles = tiles(experts);
                let product = |product| mat_mul_experts(buffers.dummy, false, &tiles, &self.problem(&product));
                let (of, mut products) = self.gates(op);
                let mut list = vec![expert_tiles(buffers.pass, self.places.of(routes).slice, &tiles)];
                list.extend(self.adapt_experts(of, &mut products, None));
                list.extend(products.into_iter().flat_map(product));
                list
            }
            _ => Vec::new(),
        }
    }

    /// Products of heads with a matrix each.
    pub(super) fn head_linear(&self, op: &Op, pass: Pass) -> Vec<Dispatch> {
        let Op::HeadLinear { x, weight, heads, y } = *op else { return Vec::new() };
        let Forward { buffers, caps, .. } = self.forward;
        let [x_width, y_width] = [x, y].map(|of| self.forward.width(of) / heads as u32);
        let [x, y] = [x, y].map(|of| self.places.of(of));
        debug_assert!(x.offset == 0 && y.offset == 0 && y.stride == heads * y_width as usize, "rows begin with heads");
        let problem = ExpertProduct {
            counts: counts_of_heads(heads),
            weights: &self.parts(weight)[0].matrix,
            bias: None,
            bias_of_entries: 0,
            epilogue: Epilogue::Store,
            routes: buffers.dummy,
            of_heads: Some(x_width),
            x: x.slice,
            x_stride: x.stride as u32,
            y: y.slice,
            y_stride: y_width,
        };
        match (pass, buffers.scratch.experts) {
            (Pass::Many, Some(scratch)) => {
                let tiles = Tiles::new(caps, problem.counts, self.rows, scratch.plan);
                let plan = head_tiles([buffers.pass, buffers.dummy], &tiles);
                [plan].into_iter().chain(mat_mul_experts(buffers.dummy, false, &tiles, &problem)).collect()
            }
            _ => mat_vec_experts(caps, (buffers.pass, buffers.dummy), self.rows, &problem),
        }
    }

    /// The same with matrices as values.
    pub(super) fn head_values(
        &self,
        [x, y]: [Activation; 2],
        weight: WeightKey,
        heads: usize,
        rows: HeadRows,
    ) -> Dispatch {
        let sizes = [x, y].map(|of| self.forward.width(of) / heads as u32);
        let [x, y] = [x, y].map(|of| self.places.of(of));
        debug_assert!(x.offset == 0 && y.offset == 0 && y.stride == heads * sizes[1] as usize, "rows begin with heads");
        let problem = HeadValues {
            heads: heads as u32,
            sizes,
            rows,
            x: x.slice,
            x_stride: x.stride as u32,
            w: self.forward.vector(weight),
            y: y.slice,
        };
        head_values(self.forward.buffers.pass, &problem)
    }

    /// Heads of two activations as heads of one.
    pub(super) fn join_heads(&self, [a, b]: [Activation; 2], heads: usize, y: Activation) -> Dispatch {
        let [of_a, of_b] = [a, b].map(|of| self.forward.width(of) / heads as u32);
        join_heads([heads as u32, of_a, of_b], [a, b, y].map(|of| self.places.of(of).rows()))
    }

    fn parts(&self, key: WeightKey) -> &[ExpertPart] {
        &self.forward.weights.experts[&key]
    }

    /// The products of gate and up: one where they are in one matrix, or the gate and then the up.
    fn gates(&self, op: &Op) -> (WeightKey, Vec<Product<'_>>) {
        let Op::ExpertGate { x, routes, ref gate_up, kind, experts, y } = *op else { unreachable!("not of experts") };
        let parts = self.parts(gate_up.key());
        let product =
            |(part, epilogue)| Product { part, experts, epilogue, routes, per_choice: false, x, y, added: None };
        (gate_up.key(), parts.iter().zip(epilogues(gate_up, parts.len(), kind)).map(product).collect())
    }

    /// The product of down, to y.
    fn down(&self, op: &Op, epilogue: Epilogue, y: Activation) -> Vec<Product<'_>> {
        let Op::ExpertDown { x, routes, weight, experts, .. } = *op else { return Vec::new() };
        let part = &self.parts(weight)[0];
        vec![Product { part, experts, epilogue, routes, per_choice: true, x, y, added: None }]
    }

    pub(super) fn problem<'p>(&self, product: &Product<'p>) -> ExpertProduct<'p> {
        let [routes, x, y] = [product.routes, product.x, product.y].map(|of| self.places.of(of));
        debug_assert!(x.offset == 0 && y.offset == 0, "activations of experts have buffers to themselves");
        let [x_width, y_width] = [product.x, product.y].map(|of| self.forward.width(of));
        let used = product.experts.used as u32;
        let sum = matches!(product.epilogue, Epilogue::Sum { .. });
        ExpertProduct {
            counts: counts_of(product.experts),
            weights: &product.part.matrix,
            bias: product.added.map(|(added, _)| added).or(product.part.bias),
            bias_of_entries: product.added.map_or(0, |(_, entries)| entries),
            epilogue: product.epilogue,
            routes: routes.slice,
            of_heads: None,
            x: x.slice,
            x_stride: if product.per_choice { x_width / used } else { x.stride as u32 },
            y: y.slice,
            y_stride: if sum { y.stride as u32 } else { y_width / used },
        }
    }
}

fn epilogues(gate_up: &GateUp, parts: usize, kind: ExpertActivation) -> Vec<Epilogue> {
    match (gate_up, parts) {
        (GateUp::Alone(_), _) => vec![Epilogue::Store],
        (_, 1) => vec![Epilogue::Gate(kind)],
        _ => vec![Epilogue::Store, Epilogue::Up(kind)],
    }
}
