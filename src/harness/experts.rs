//! The choice of experts, and products with the chosen ones' matrices: few tokens, and many in tiles. Weights of F32
//! experts that no token chose are NaN: who reads them is found out.

use super::data::Tensor;
use super::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::gguf::GgmlType;
use crate::kernels::caps::Caps;
use crate::kernels::layout::Matrix;
use crate::kernels::mat_mul_experts::{Tiles, expert_add, expert_tiles, head_tiles, mat_mul_experts};
use crate::kernels::mat_vec_experts::{Epilogue, ExpertProduct, RULES, Shape, dispatch, mat_vec_experts};
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::reference;
use crate::kernels::route::{Counts, Params, Route, route};
use crate::model::program::{ExpertActivation, Gating};

/// One router.
#[derive(Debug, Clone, Copy)]
struct Router {
    counts: Counts,
    tokens: u32,
    gating: Gating,
    normalise: bool,
    groups: [u32; 2],
    bias: bool,
    scales: bool,
    /// Elements of a row of logits before and after those of the router.
    beside: [u32; 2],
    /// Added to the logits.
    shift: f32,
    /// Whether logits are whole numbers, so that many are equal.
    whole: bool,
}

const ROUTER: Router = Router {
    counts: Counts { experts: 8, used: 2 },
    tokens: 5,
    gating: Gating::Softmax,
    normalise: true,
    groups: [1, 1],
    bias: false,
    scales: false,
    beside: [0, 0],
    shift: 0.0,
    whole: false,
};

const fn counts(experts: u32, used: u32) -> Counts {
    Counts { experts, used }
}

const ROUTERS: &[Router] = &[
    ROUTER,
    Router { counts: counts(128, 8), beside: [3, 5], ..ROUTER },
    Router { counts: counts(512, 10), tokens: 33, ..ROUTER },
    Router { counts: counts(1, 1), normalise: false, ..ROUTER },
    Router { counts: counts(60, 4), normalise: false, tokens: 1, ..ROUTER },
    Router { counts: counts(32, 4), gating: Gating::SoftmaxOfChosen, normalise: false, ..ROUTER },
    Router { counts: counts(32, 4), gating: Gating::Sigmoid, bias: true, ..ROUTER },
    Router { counts: counts(33, 3), gating: Gating::Sigmoid, normalise: false, scales: true, ..ROUTER },
    Router { counts: counts(300, 16), bias: true, scales: true, ..ROUTER },
    Router { counts: counts(64, 9), whole: true, ..ROUTER },
    Router { counts: counts(32, 4), gating: Gating::Sigmoid, groups: [8, 4], bias: true, ..ROUTER },
    Router { counts: counts(60, 5), groups: [6, 2], tokens: 9, ..ROUTER },
    Router { counts: counts(512, 8), groups: [64, 3], whole: true, ..ROUTER },
    // Weights too small to be scaled up to 1.
    Router { counts: counts(16, 3), gating: Gating::Sigmoid, shift: -25.0, ..ROUTER },
];

/// A product with experts' matrices.
#[derive(Debug, Clone, Copy)]
struct Kind {
    counts: Counts,
    tokens: u32,
    /// Rows of y for an expert.
    rows: u32,
    epilogue: Epilogue,
    bias: bool,
    /// Entries have a bias each, not experts.
    of_entries: bool,
    /// Cuts the matrix after a third of the experts.
    shards: bool,
    /// Every other token's sequence is done.
    done: bool,
}

impl Kind {
    /// Who has a bias: experts, or entries, of which there may be more than the pass has.
    fn biases(&self) -> u32 {
        if self.of_entries { self.tokens * self.counts.used + 3 } else { self.counts.experts }
    }
}

const PLAIN: Kind = Kind {
    counts: counts(6, 2),
    tokens: 1,
    rows: 33,
    epilogue: Epilogue::Store,
    bias: false,
    of_entries: false,
    shards: false,
    done: false,
};

const SWIGLU: Epilogue = Epilogue::Gate(ExpertActivation::SwiGlu);
const REGLU: Epilogue = Epilogue::Gate(ExpertActivation::ReGlu);
const CLAMPED: Epilogue = Epilogue::Gate(ExpertActivation::ClampedSwiGlu);
const SUM: Epilogue = Epilogue::Sum { add: false };
const ADD: Epilogue = Epilogue::Sum { add: true };

const DECODE: &[Kind] = &[
    Kind { epilogue: SWIGLU, ..PLAIN },
    Kind { epilogue: ADD, rows: 65, bias: true, ..PLAIN },
    Kind { counts: counts(9, 4), epilogue: CLAMPED, bias: true, shards: true, tokens: 3, ..PLAIN },
    Kind { counts: counts(9, 4), epilogue: SUM, bias: true, shards: true, tokens: 2, rows: 31, ..PLAIN },
    Kind { epilogue: Epilogue::Gate(ExpertActivation::GeGlu), rows: 1, ..PLAIN },
    Kind { epilogue: Epilogue::Up(ExpertActivation::SwiGlu), tokens: 8, bias: true, ..PLAIN },
    Kind { epilogue: ADD, tokens: 4, done: true, ..PLAIN },
    Kind { counts: counts(5, 1), bias: true, shards: true, ..PLAIN },
    Kind { epilogue: REGLU, rows: 34, ..PLAIN },
    Kind { epilogue: SWIGLU, bias: true, of_entries: true, tokens: 2, ..PLAIN },
    Kind { counts: counts(9, 4), epilogue: SUM, bias: true, of_entries: true, shards: true, tokens: 2, ..PLAIN },
];

const PREFILL: &[Kind] = &[
    Kind { epilogue: SWIGLU, tokens: 40, rows: 65, ..PLAIN },
    Kind { epilogue: ADD, tokens: 33, rows: 70, bias: true, shards: true, ..PLAIN },
    Kind { counts: counts(9, 4), epilogue: CLAMPED, tokens: 7, bias: true, shards: true, ..PLAIN },
    Kind { counts: counts(64, 8), epilogue: SUM, tokens: 5, rows: 100, ..PLAIN },
    Kind { counts: counts(2, 1), epilogue: Epilogue::Up(ExpertActivation::GeGlu), tokens: 70, bias: true, ..PLAIN },
    Kind { counts: counts(3, 3), tokens: 1, rows: 31, bias: true, ..PLAIN },
    Kind { epilogue: REGLU, tokens: 9, rows: 35, ..PLAIN },
    Kind { epilogue: SWIGLU, tokens: 10, bias: true, of_entries: true, ..PLAIN },
];

const HEADS: &[Kind] = &[
    Kind { counts: counts(5, 5), tokens: 3, shards: true, ..PLAIN },
    Kind { counts: counts(3, 3), tokens: 4, rows: 7, done: true, ..PLAIN },
    Kind { counts: counts(5, 5), tokens: 19, shards: true, ..PLAIN },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random, step) = (suite.caps, &mut suite.random("experts"), suite.step);
    let mut cases: Vec<Case> = ROUTERS.iter().flat_map(|router| route_cases(random, router)).collect();
    let shapes: Vec<Shape> =
        RULES.iter().filter(|rule| caps.subgroups || !rule.subgroups).map(|rule| rule.shape).collect();
    for (t, ty) in GgmlType::ALL.into_iter().enumerate() {
        let widths: &[u32] = match ty.block_len() {
            1 => &[33, 96, 257, 1],
            32 => &[32, 96, 1056],
            _ => &[256, 768],
        };
        // Shapes and widths are cycled through, so that over all types each gets every kind.
        for (k, kind) in DECODE.iter().enumerate().filter(|(k, _)| (t + k) % step == 0) {
            let (shape, cols) = (shapes[(t + k) % shapes.len()], widths[(t / 2 + k) % widths.len()]);
            cases.push(decode_case(random, (ty, cols), shape, kind));
        }
        if t % (2 * step) == 0 {
            let cols = widths[t / 2 / step % widths.len()];
            cases.extend(HEADS.iter().map(|kind| head_case(caps, random, (ty, cols), kind)));
        }
        for (k, kind) in PREFILL.iter().enumerate().filter(|(k, _)| (t + k) % step == 0) {
            cases.push(prefill_case(caps, random, (ty, widths[(t / 2 + k) % widths.len()]), kind));
        }
    }
    cases
}

/// All weights of a router, and the ids of the first token.
fn route_cases(random: &mut Random, router: &Router) -> [Case; 2] {
    let Router { counts: Counts { experts, used }, tokens, gating, normalise, beside: [before, after], .. } = *router;
    let mut bench = Bench::new(tokens);
    let stride = before + experts + after;
    let logit = |x: f32| if router.whole { (4.0 * x).round() } else { 6.0 * x + router.shift };
    let logits: Vec<f32> = random.floats((tokens * stride) as usize).into_iter().map(logit).collect();
    let bias = router.bias.then(|| random.floats(experts as usize));
    let scales = router.scales.then(|| random.floats(experts as usize));
    let routing = reference::Routing {
        used: used as usize,
        gating,
        normalise,
        scale: 1.5,
        logit_scale: 0.75,
        groups: router.groups.map(|count| count as usize),
        bias: bias.as_deref(),
        expert_scales: scales.as_deref(),
    };
    let rows = logits.chunks_exact(stride as usize).map(|row| &row[before as usize..][..experts as usize]);
    let chosen: Vec<_> = rows.map(|row| reference::route(&routing, row)).collect();
    let ids = |row: &Vec<(usize, f32)>| row.iter().map(|(id, _)| *id as u32).collect::<Vec<u32>>();
    // Bits of ids, as floats, are subnormal: all alike to a tolerance, so that the other case has them.
    let values = chosen.iter().flat_map(|row| [vec![0.0; row.len()], row.iter().map(|(_, weight)| *weight).collect()]);
    let expected = [Expected::Exact(ids(&chosen[0])), Expected::Close(values.flatten().collect(), Tolerance::PLAIN)];
    let routes = bench.floats(&vec![f32::NAN; (tokens * 2 * used) as usize]);
    let problem = Route {
        counts: router.counts,
        gating,
        normalise,
        scale: routing.scale,
        logit_scale: routing.logit_scale,
        groups: router.groups,
        bias: bias.as_ref().map(|bias| bench.floats(bias).into()),
        expert_scales: scales.as_ref().map(|scales| bench.floats(scales).into()),
        logits: bench.floats(&logits).into(),
        params: Params { stride, offset: before },
        routes: routes.into(),
    };
    let (_, dummy) = bench.fixed();
    let case = bench.case(format!("{router:?}"), vec![route(dummy, &problem)], routes, Expected::Exact(Vec::new()));
    expected.map(|expected| Case { expected, ..case.clone() })
}

/// The inputs of a case besides the weights, with the experts of each token.
struct Inputs {
    tensor: Tensor,
    /// The experts of each token, with their weights.
    chosen: Vec<Vec<(usize, f32)>>,
    /// A row for each token, or for each choice.
    x: Vec<f32>,
    bias: Option<Vec<f32>>,
    before: Vec<f32>,
}

impl Inputs {
    fn new(random: &mut Random, (ty, cols): (GgmlType, u32), kind: &Kind, per_choice: bool) -> Self {
        let Kind { counts: Counts { experts, used }, tokens, rows, .. } = *kind;
        let matrix_rows = rows * (1 + u32::from(kind.epilogue.is_paired()));
        let mut tensor = Tensor::new(random, ty, [experts * matrix_rows, cols], 2.0 / (cols as f32).sqrt());
        let chosen: Vec<Vec<(usize, f32)>> = (0..tokens).map(|_| choice(random, kind.counts)).collect();
        if ty == GgmlType::F32 {
            let of_expert = tensor.raw.len() / experts as usize;
            let unused = |e: &usize| chosen.iter().flatten().all(|(chosen, _)| chosen != e);
            for e in (0..experts as usize).filter(unused) {
                tensor.raw[e * of_expert..(e + 1) * of_expert].fill(0xff);
            }
        }
        let x_rows = if per_choice { tokens * used } else { tokens };
        let bias = kind.bias.then(|| random.floats((kind.biases() * matrix_rows) as usize));
        // Clamped activations want values past their limits.
        let size = if kind.epilogue == CLAMPED { 8.0 } else { 1.0 };
        let x = random.floats((x_rows * cols) as usize).iter().map(|x| size * x).collect();
        let before = random.floats((tokens * used * (rows + 3)) as usize);
        Self { tensor, chosen, x, bias, before }
    }

    /// `[tokens, 2 · used]`
    fn routes(&self) -> Vec<u32> {
        let row = |row: &Vec<(usize, f32)>| {
            let ids = row.iter().map(|(id, _)| *id as u32);
            ids.chain(row.iter().map(|(_, weight)| weight.to_bits())).collect::<Vec<u32>>()
        };
        self.chosen.iter().flat_map(row).collect()
    }

    /// The expected `y` after the product, with rows `stride` apart.
    fn expected(&self, kind: &Kind, per_choice: bool, stride: usize) -> Vec<f32> {
        let mut y = self.before.clone();
        let (rows, cols, used) = (kind.rows as usize, self.tensor.cols as usize, kind.counts.used as usize);
        for (token, chosen) in self.chosen.iter().enumerate().filter(|(token, _)| !(kind.done && token % 2 == 0)) {
            for (s, &(expert, weight)) in chosen.iter().enumerate() {
                let x = if per_choice { token * used + s } else { token };
                let of = if kind.of_entries { token * used + s } else { expert };
                let sums = self.sums(kind, [expert, of], &self.x[x * cols..][..cols]);
                let summed = matches!(kind.epilogue, Epilogue::Sum { .. });
                let y = &mut y[stride * if summed { token } else { token * used + s }..][..rows];
                for (r, y) in y.iter_mut().enumerate() {
                    *y = match kind.epilogue {
                        Epilogue::Store => sums[r],
                        Epilogue::Gate(kind) => reference::gated(kind, sums[r], sums[rows + r]),
                        Epilogue::Up(kind) => reference::gated(kind, *y, sums[r]),
                        Epilogue::Sum { add: false } if s == 0 => weight * sums[r],
                        Epilogue::Sum { .. } => *y + weight * sums[r],
                    }
                }
            }
        }
        y
    }

    /// An expert's matrix times x, plus a bias.
    fn sums(&self, kind: &Kind, [expert, of]: [usize; 2], x: &[f32]) -> Vec<f32> {
        let rows = self.tensor.rows as usize / kind.counts.experts as usize;
        let matrix = self.tensor.reference().rows(expert * rows..(expert + 1) * rows);
        let mut sums = vec![0.0; rows];
        reference::mat_vec(&matrix, x, &mut sums).expect("the matrix is whole");
        let half = kind.rows as usize;
        for (r, sum) in sums.iter_mut().enumerate() {
            // With gate and up in one tensor, the biases of all gates come first.
            let at = r / half * kind.biases() as usize * half + of * half + r % half;
            *sum += self.bias.as_ref().map_or(0.0, |bias| bias[at]);
        }
        sums
    }

    /// The product on a bench.
    fn problem<'a>(&self, bench: &mut Bench, kind: &Kind, weights: &'a Matrix, y_stride: u32) -> ExpertProduct<'a> {
        ExpertProduct {
            of_heads: None,
            counts: kind.counts,
            weights,
            bias: self.bias.as_ref().map(|bias| bench.floats(bias).into()),
            bias_of_entries: if kind.of_entries { kind.biases() } else { 0 },
            epilogue: kind.epilogue,
            routes: bench.bytes(bytemuck::cast_slice(&self.routes())).into(),
            x: bench.floats(&self.x).into(),
            x_stride: self.tensor.cols,
            y: bench.floats(&self.before).into(),
            y_stride,
        }
    }

    /// The first row of each shard.
    fn starts(&self, kind: &Kind) -> Vec<u32> {
        let Kind { counts: Counts { experts, .. }, shards, .. } = *kind;
        if shards { vec![0, experts / 3 * (self.tensor.rows / experts)] } else { vec![0] }
    }
}

/// Different experts with weights.
fn choice(random: &mut Random, Counts { experts, used }: Counts) -> Vec<(usize, f32)> {
    let mut ids: Vec<usize> = Vec::new();
    while ids.len() < used as usize {
        let id = random.below(experts) as usize;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids.into_iter().zip(random.floats(used as usize)).collect()
}

fn decode_case(random: &mut Random, format: (GgmlType, u32), shape: Shape, kind: &Kind) -> Case {
    let per_choice = matches!(kind.epilogue, Epilogue::Sum { .. });
    let inputs = Inputs::new(random, format, kind, per_choice);
    let flags = |sequence| if kind.done && sequence % 2 == 0 { ROW_DONE } else { 0 };
    let row = |sequence| Row { sequence, flags: flags(sequence), ..Row::default() };
    let mut bench = Bench::of(Pass::decode(&(0..kind.tokens).map(row).collect::<Vec<_>>()));
    let weights = inputs.tensor.upload(&mut bench, &inputs.starts(kind));
    let stride = kind.rows + 3;
    let problem = inputs.problem(&mut bench, kind, &weights, stride);
    let shards = weights.shards.iter().enumerate();
    let dispatches = shards.map(|(number, shard)| {
        let epilogue = if per_choice && number > 0 { ADD } else { kind.epilogue };
        dispatch(shape, bench.fixed(), kind.tokens, &ExpertProduct { epilogue, ..problem }, shard)
    });
    let dispatches = dispatches.collect();
    let expected = inputs.expected(kind, per_choice, stride as usize);
    let Shape { wg_size, lanes, rows_per_group } = shape;
    let name = format!("{kind:?}, {} columns; {wg_size}/{lanes}/{rows_per_group}", format.1);
    bench.case(name, dispatches, problem.y.buffer, Expected::Close(expected, tolerance(format.0, kind)))
}

/// The chunk is smaller than what the plan has room for.
fn prefill_case(caps: &Caps, random: &mut Random, format: (GgmlType, u32), kind: &Kind) -> Case {
    let Kind { counts: Counts { experts, used }, tokens, rows, .. } = *kind;
    let sum = matches!(kind.epilogue, Epilogue::Sum { .. });
    let inputs = Inputs::new(random, format, kind, sum);
    let mut bench = Bench::new(tokens);
    let weights = inputs.tensor.upload(&mut bench, &inputs.starts(kind));
    let stride = rows + 3;
    let problem = inputs.problem(&mut bench, kind, &weights, stride);
    let (pass, dummy) = bench.fixed();
    let room = tokens + 9;
    let plan = bench.bytes(&vec![0xff; 4 * Tiles::words(kind.counts, room) as usize]);
    let tiles = Tiles::new(caps, kind.counts, room, plan.into());
    let mut dispatches = vec![expert_tiles(pass, problem.routes, &tiles)];
    if let Epilogue::Sum { add } = kind.epilogue {
        let z = bench.floats(&vec![f32::NAN; (tokens * used * rows) as usize]).into();
        let product = ExpertProduct { epilogue: Epilogue::Store, y: z, y_stride: rows, ..problem };
        dispatches.extend(mat_mul_experts(dummy, true, &tiles, &product));
        dispatches.push(expert_add(problem.routes, used, (z, rows), (problem.y, stride), add));
    } else {
        dispatches.extend(mat_mul_experts(dummy, false, &tiles, &problem));
    }
    let expected = Expected::Close(inputs.expected(kind, sum, stride as usize), tolerance(format.0, kind));
    let name = format!("{kind:?}, {} columns, {}", format.1, tiles.tile.name);
    let case = bench.case(name, dispatches, problem.y.buffer, expected);
    let flops = 2 * u64::from(tokens * used) * u64::from(inputs.tensor.rows / experts) * u64::from(format.1);
    // The plan and the sum run in the cases of the products.
    let variant = case.dispatches[1].kernel.id.clone();
    Case { kernel_name: "mat_mul_experts", variant, flops, ..case }
}

/// Heads with a matrix each, in rows that have some values more: few rows, many, and rows that are done.
fn head_case(caps: &Caps, random: &mut Random, (ty, cols): (GgmlType, u32), kind: &Kind) -> Case {
    let Kind { counts: Counts { used: heads, .. }, tokens, rows, .. } = *kind;
    let mut inputs = Inputs::new(random, (ty, cols), kind, true);
    let in_order = |(head, (_, weight)): (usize, &(usize, f32))| (head, *weight);
    inputs.chosen.iter_mut().for_each(|of| *of = of.iter().enumerate().map(in_order).collect());
    let flags = |row| if kind.done && row % 2 == 0 { ROW_DONE } else { 0 };
    let (many, more) = (tokens > 8, if kind.shards { 4 } else { 2 });
    let row = |sequence| Row { sequence, flags: flags(sequence), ..Row::default() };
    let few = || Bench::of(Pass::decode(&(0..tokens).map(row).collect::<Vec<_>>()));
    let mut bench = if many { Bench::new(tokens) } else { few() };
    let weights = inputs.tensor.upload(&mut bench, &inputs.starts(kind));
    let in_rows = inputs.x.chunks_exact((heads * cols) as usize).flat_map(|row| [row, &[f32::NAN; 4][..more]].concat());
    let x = bench.floats(&in_rows.collect::<Vec<f32>>()).into();
    let (pass, dummy) = bench.fixed();
    let problem = inputs.problem(&mut bench, kind, &weights, rows);
    let problem =
        ExpertProduct { of_heads: Some(cols), routes: dummy, x, x_stride: heads * cols + more as u32, ..problem };
    let mut dispatches = Vec::new();
    if many {
        let plan = bench.bytes(&vec![0xff; 4 * Tiles::words(kind.counts, tokens) as usize]);
        let tiles = Tiles::new(caps, kind.counts, tokens, plan.into());
        dispatches.push(head_tiles([pass, dummy], &tiles));
        dispatches.extend(mat_mul_experts(dummy, false, &tiles, &problem));
    } else {
        dispatches.extend(mat_vec_experts(caps, (pass, dummy), tokens, &problem));
    }
    let y = inputs.expected(kind, true, rows as usize);
    let expected = Expected::Close(y, tolerance(ty, kind));
    let name = format!("{kind:?}, {cols} columns, heads");
    let kernel_name = if many { "mat_mul_experts" } else { "mat_vec_experts" };
    let case = bench.case(name, dispatches, problem.y.buffer, expected);
    let variant = case.dispatches.last().map_or_else(String::new, |last| last.kernel.id.clone());
    Case { kernel_name, variant, ..case }
}

/// Sums of several experts, or of large inputs.
fn tolerance(ty: GgmlType, kind: &Kind) -> Tolerance {
    let Tolerance { abs, rel } = Tolerance::dot(ty);
    let times = if kind.epilogue == CLAMPED { 64.0 } else { kind.counts.used as f32 };
    Tolerance { abs: times * abs, rel: rel.max(2e-5) }
}
