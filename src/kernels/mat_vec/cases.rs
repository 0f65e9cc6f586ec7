//! Every type in every shape of the table that the device can run, with every epilogue.

use crate::gguf::GgmlType;
use crate::harness::data::Tensor;
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::lora::{Segment, Terms};
use crate::kernels::mat_vec::{Epilogue, MatVec, RULES, SPEC, Shape, columns, dispatch};
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::prologue::{Gate, LayerNorm, Prologue, Update};
use crate::kernels::reference::{self, NormShape, layer_norm};
use crate::kernels::spec::{BufferId, MAX_WORKGROUPS};
use crate::model::GateKind;

/// The epilogue inputs and sizes of a case.
#[derive(Debug, Clone, Copy)]
struct Kind {
    rows: u32,
    norm: bool,
    before: Before,
    bias: bool,
    epilogue: Epilogue,
    /// Tokens of the pass, of which the last is used where there are several.
    tokens: u32,
    /// Rows of the pass at once.
    columns: u32,
    shards: bool,
    /// Every other row belongs to a sequence that is done, the first among them.
    done: bool,
    /// The rows at which segments of an adapter begin and end, and their ranks.
    adapter: &'static [(u32, u32, u32)],
}

/// The prologue of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    /// With a factor or without; what is compared is y, or x afterwards.
    Update {
        scaled: bool,
        new_x: bool,
    },
    LayerNorm {
        biased: bool,
    },
    Gate(GateKind),
}

const PLAIN: Kind = Kind {
    rows: 33,
    norm: false,
    before: Before::Nothing,
    bias: false,
    epilogue: Epilogue::Store,
    tokens: 1,
    columns: 1,
    shards: false,
    done: false,
    adapter: &[],
};

const KINDS: &[Kind] = &[
    PLAIN,
    Kind { rows: 257, norm: true, bias: true, ..PLAIN },
    Kind { rows: 31, tokens: 3, epilogue: Epilogue::Residual, ..PLAIN },
    Kind { rows: 66, norm: true, epilogue: Epilogue::Gate(GateKind::SwiGlu), ..PLAIN },
    Kind { rows: 98, norm: true, epilogue: Epilogue::Gate(GateKind::GeGlu), ..PLAIN },
    Kind { rows: 1000, bias: true, shards: true, epilogue: Epilogue::Residual, ..PLAIN },
    Kind { rows: 1, norm: true, tokens: 2, ..PLAIN },
    Kind { done: true, ..PLAIN },
    Kind { rows: 39, bias: true, epilogue: Epilogue::Scaled(0.3), ..PLAIN },
    Kind { rows: 41, bias: true, epilogue: Epilogue::Gelu, ..PLAIN },
    Kind { rows: 43, norm: true, before: Before::Update { scaled: true, new_x: false }, ..PLAIN },
    Kind { rows: 45, before: Before::Update { scaled: false, new_x: false }, ..PLAIN },
    Kind { rows: 265, norm: true, before: Before::Update { scaled: true, new_x: true }, ..PLAIN },
    Kind {
        rows: 50,
        norm: true,
        before: Before::Update { scaled: false, new_x: false },
        epilogue: Epilogue::Gate(GateKind::GeGlu),
        ..PLAIN
    },
    Kind { rows: 47, before: Before::LayerNorm { biased: true }, bias: true, ..PLAIN },
    Kind { rows: 49, tokens: 3, before: Before::LayerNorm { biased: false }, epilogue: Epilogue::Gelu, ..PLAIN },
    Kind { rows: 51, before: Before::Gate(GateKind::GeGlu), bias: true, ..PLAIN },
    Kind { rows: 53, before: Before::Gate(GateKind::SwiGlu), ..PLAIN },
    Kind {
        rows: 68,
        norm: true,
        adapter: &[(0, 34, 4), (34, 68, 5)],
        epilogue: Epilogue::Gate(GateKind::SwiGlu),
        ..PLAIN
    },
    Kind { rows: 901, bias: true, shards: true, adapter: &[(3, 700, 300), (700, 899, 1)], ..PLAIN },
    Kind {
        rows: 60,
        adapter: &[(0, 8, 2), (9, 20, 33), (20, 41, 3), (41, 59, 200)],
        epilogue: Epilogue::Scaled(0.3),
        ..PLAIN
    },
];

/// Several columns.
const COLUMN_KINDS: &[Kind] = &[
    Kind { rows: 35, columns: 2, norm: true, bias: true, ..PLAIN },
    Kind { rows: 65, columns: 8, epilogue: Epilogue::Residual, shards: true, ..PLAIN },
    Kind { rows: 34, columns: 5, norm: true, epilogue: Epilogue::Gate(GateKind::SwiGlu), ..PLAIN },
    Kind { rows: 37, columns: 4, epilogue: Epilogue::Residual, done: true, ..PLAIN },
    Kind { rows: 133, columns: 8, norm: true, epilogue: Epilogue::Scaled(0.3), ..PLAIN },
    Kind { rows: 66, columns: 7, epilogue: Epilogue::Gate(GateKind::GeGlu), ..PLAIN },
    Kind { rows: 39, columns: 3, tokens: 5, bias: true, epilogue: Epilogue::Gelu, ..PLAIN },
    Kind { rows: 41, columns: 6, tokens: 9, norm: true, ..PLAIN },
];

const EPS: f32 = 1e-5;
const PROLOGUE_EPS: f32 = 0.1;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random, step) = (suite.caps, &mut suite.random("mat_vec"), suite.step);
    // (with subgroups, split, limbs) → shapes of the table
    let shapes = |wanted: (bool, bool, bool)| -> Vec<Shape> {
        let of = |shape: &Shape| (shape.lanes == 0, shape.split, shape.limbs) == wanted;
        let runs = |shape: &Shape| shape.wg_size <= caps.workgroup_threads && of(shape);
        RULES.iter().filter(|rule| caps.software || !rule.software).map(|rule| rule.shape).filter(runs).collect()
    };
    let mut topologies = vec![(false, false, false), (false, true, false)];
    if caps.subgroups {
        topologies.extend([(true, false, false), (true, true, false)]);
    }
    if caps.subgroups && caps.dot4 {
        topologies.push((true, false, true));
    }
    let mut cases = Vec::new();
    for (t, ty) in GgmlType::ALL.into_iter().enumerate() {
        for (s, &(with, split, limbs)) in topologies.iter().enumerate().filter(|(_, t)| !t.2 || ty.is_quantised()) {
            let shapes = shapes((with, split, limbs));
            // Shapes and widths are cycled through, so that over all types each gets every kind.
            let chosen = KINDS.iter().enumerate().filter(|(k, _)| (t + s + k) % step == 0);
            let with_shape = |(k, kind): (usize, &'static Kind)| {
                let widths = widths(ty, kind.before);
                (kind, shapes[(t + k) % shapes.len()], widths[(t + k) % widths.len()])
            };
            let shaped = chosen.map(with_shape);
            cases.extend(shaped.map(|(kind, shape, cols)| case(caps, random, (ty, cols), Spread::One(shape), kind)));
        }
        for (k, kind) in COLUMN_KINDS.iter().enumerate().filter(|(k, _)| (t + k) % step == 0) {
            let (widths, rules) = (widths(ty, kind.before), &columns::RULES);
            let (cols, shape) = (widths[(t + k) % widths.len()], rules[(t + k) % rules.len()].shape);
            cases.push(case(caps, random, (ty, cols), Spread::Columns(shape), kind));
        }
    }
    if caps.subgroups {
        cases.extend(row_passes(caps, random));
    }
    // More workgroups than one axis of a grid takes.
    let last = RULES[RULES.len() - 1].shape;
    let tall = Kind { rows: last.rows_per_group * MAX_WORKGROUPS + 5, ..PLAIN };
    cases.push(case(caps, random, (GgmlType::Q4_0, 32), Spread::One(last), &tall));
    cases
}

/// Long rows in several row passes, as where subgroup sizes vary: the device is said to have smaller ones, too.
fn row_passes(caps: &Caps, random: &mut Random) -> Vec<Case> {
    let (min, max) = caps.subgroup_size;
    let caps = &Caps { subgroup_size: (min / 2, max), ..caps.clone() };
    let tall =
        |rows_per_group, limbs| Shape { split: false, limbs, wg_size: 128, lanes: 0, rows_per_group, row_passes: 1 };
    let limbs = caps.dot4;
    [
        (GgmlType::Q4_0, 4128, tall(2, false), 1),
        (GgmlType::Q6_K, 3328, tall(4, limbs), 3),
        (GgmlType::F32, 3333, tall(2, false), 4),
    ]
    .map(|(ty, cols, shape, kind)| {
        let case = case(caps, random, (ty, cols), Spread::One(shape), &KINDS[kind]);
        Case { name: format!("{}, in row passes", case.name), ..case }
    })
    .into()
}

fn widths(ty: GgmlType, before: Before) -> &'static [u32] {
    match ty.block_len() {
        1 if before != Before::Nothing => &[96, 1056, 3328, 32],
        1 => &[1000, 257, 96, 33, 1, 31, 3333],
        32 => &[32, 96, 1056, 4128],
        64 | 128 => &[384, 128, 3328],
        _ => &[256, 768, 3328],
    }
}

/// How the rows are spread over threads.
#[derive(Debug, Clone, Copy)]
enum Spread {
    One(Shape),
    Columns(columns::Shape),
}

fn case(caps: &Caps, random: &mut Random, (ty, cols): (GgmlType, u32), spread: Spread, kind: &Kind) -> Case {
    let tensor = Tensor::new(random, ty, [kind.rows, cols], 2.0 / (cols as f32).sqrt());
    let mut bench = Bench::of(pass(kind));
    let starts: &[u32] = if kind.shards { &[0, kind.rows / 3] } else { &[0] };
    let weights = tensor.upload(&mut bench, starts);
    let x = random.floats((cols * kind.tokens.max(kind.columns)) as usize);
    let norm_weight = kind.norm.then(|| random.floats(cols as usize));
    let bias = kind.bias.then(|| random.floats(kind.rows as usize));
    let (y_offset, y_stride) = (kind.rows % 5, kind.rows + 2);
    let before = random.floats((y_offset + kind.columns * y_stride + 3) as usize);
    let y = bench.floats(&before);
    let input = &mut Input { x: x[x.len() - (cols * kind.columns) as usize..].to_vec(), new_x: None };
    let prologue = prologue(&mut bench, random, kind, norm_weight.as_deref(), input);
    let (terms, added) = adapter(&mut bench, random, kind, y_offset);
    let problem = MatVec {
        adapter: terms,
        columns: kind.columns,
        norm: norm_weight.as_ref().map(|weight| (bench.floats(weight).into(), EPS)),
        prologue,
        bias: bias.as_ref().map(|bias| bench.floats(bias).into()),
        epilogue: kind.epilogue,
        y_offset,
        y_stride,
        of_outputs: kind.tokens > 1,
        ..MatVec::new(&weights, bench.floats(&x).into(), y.into())
    };
    let of_shard = |shard| match spread {
        Spread::One(shape) => dispatch(caps, shape, bench.fixed(), &problem, shard),
        Spread::Columns(shape) => columns::dispatch(shape, bench.fixed(), &problem, shard),
    };
    let dispatches = weights.shards.iter().map(of_shard).collect();
    let mut expected = before;
    let columns = input.x.chunks_exact(cols as usize).zip(expected[y_offset as usize..].chunks_mut(y_stride as usize));
    for (_, (x, y)) in columns.enumerate().filter(|(row, _)| !(kind.done && row % 2 == 0)) {
        apply(&tensor, x, norm_weight.as_deref(), [bias.as_deref(), added.as_deref()], kind.epilogue, y);
    }
    let Kind { rows, norm, bias, tokens, columns, epilogue, done, .. } = kind;
    let before = kind.before;
    let spread = match spread {
        Spread::One(Shape { wg_size, lanes, rows_per_group, .. }) => format!("{wg_size}/{lanes}/{rows_per_group}"),
        Spread::Columns(columns::Shape { wg_size, lanes }) => format!("{wg_size}/{lanes}"),
    };
    let shards = starts.len();
    let adapted = if kind.adapter.is_empty() { String::new() } else { format!(" adapter {:?}", kind.adapter) };
    let name = format!(
        "{rows}x{cols} by {columns} {before:?} {epilogue:?} norm {norm} bias {bias} tokens {tokens} shards {shards} \
         done {done}{adapted}; {spread}"
    );
    let case = match (before, input.new_x.take()) {
        (Before::Update { new_x: true, .. }, Some(buffer)) => {
            bench.case(name, dispatches, buffer, Expected::Close(std::mem::take(&mut input.x), Tolerance::PLAIN))
        }
        _ => bench.case(name, dispatches, y, Expected::Close(expected, Tolerance::dot(ty))),
    };
    // All topologies are one kernel.
    let flops = 2 * u64::from(*rows) * u64::from(cols * columns);
    Case { kernel_name: SPEC.kernel_name, flops, ..case }
}

/// The columns of x, and after an update their buffer.
struct Input {
    x: Vec<f32>,
    new_x: Option<BufferId>,
}

/// The prologue, which is applied to the columns of x.
fn prologue(bench: &mut Bench, random: &mut Random, kind: &Kind, norm: Option<&[f32]>, input: &mut Input) -> Prologue {
    let cols = input.x.len();
    match kind.before {
        Before::Nothing => Prologue::None,
        Before::Update { scaled, .. } => {
            let (update, weight, factor) = (random.floats(cols), random.floats(cols), 0.7);
            let vectors = [norm.unwrap_or_default(), &weight, &[factor, f32::NAN, f32::NAN, f32::NAN]].concat();
            let mut normed = update.clone();
            reference::rms_norm(&mut normed, &weight, PROLOGUE_EPS);
            let factor = if scaled { factor } else { 1.0 };
            input.x.iter_mut().zip(&normed).for_each(|(x, normed)| *x = factor * (*x + normed));
            let new_x = bench.floats(&vec![f32::NAN; cols]);
            input.new_x = Some(new_x);
            let [update, vectors] = [&update, &vectors].map(|values| bench.floats(values).into());
            Prologue::Update(Update { update, vectors, eps: PROLOGUE_EPS, scaled, new_x: new_x.into() })
        }
        Before::LayerNorm { biased } => {
            let [weight, bias] = [(); 2].map(|()| random.floats(cols));
            let shape = NormShape {
                width: cols,
                centred: true,
                eps: PROLOGUE_EPS,
                weight: Some(&weight),
                weight_offset: 0.0,
                bias: biased.then_some(&bias),
            };
            let x = std::mem::take(&mut input.x);
            input.x = layer_norm(&x, &shape);
            let [weight, bias] = [&weight, &bias].map(|values| bench.floats(values).into());
            Prologue::LayerNorm(LayerNorm { weight, bias: biased.then_some(bias), eps: PROLOGUE_EPS })
        }
        Before::Gate(kind) => {
            let (up_at, up) = (12, random.floats(cols + 12));
            activate(kind, &mut input.x, &up[up_at..]);
            Prologue::Gate(Gate { kind, up: bench.floats(&up).into(), up_at: up_at as u32 })
        }
    }
}

/// An adapter adds little: sums over hundreds of ranks of numbers up to 1 would be rounded more than the product.
fn small(mut values: Vec<f32>) -> Vec<f32> {
    values.iter_mut().for_each(|value| *value *= 0.125);
    values
}

/// The terms of an adapter, and their expected values.
fn adapter(bench: &mut Bench, random: &mut Random, kind: &Kind, y_offset: u32) -> (Option<Terms>, Option<Vec<f32>>) {
    if kind.adapter.is_empty() {
        return (None, None);
    }
    let ranks: u32 = kind.adapter.iter().map(|(_, _, rank)| rank).sum();
    let (b_at, mut plan) = (ranks + 3, Vec::new());
    let mut values = random.floats(b_at as usize);
    let mut added = vec![0.0; kind.rows as usize];
    let mut first = 0;
    for &(begin, end, rank) in kind.adapter {
        let (outputs, at) = (end - begin, values.len() as u32 - b_at);
        plan.push(Segment { output: y_offset + begin, outputs, first, rank, at });
        let (b, t) = (small(random.floats((outputs * rank) as usize)), &values[first as usize..][..rank as usize]);
        reference::lora_b(1.0, &b, t, &mut added[begin as usize..end as usize]);
        values.extend(b);
        first += rank;
    }
    (Terms::new(bench.floats(&values).into(), &plan, b_at), Some(added))
}

fn activate(kind: GateKind, gate: &mut [f32], up: &[f32]) {
    match kind {
        GateKind::SwiGlu => reference::swiglu(gate, up),
        GateKind::GeGlu => reference::geglu(gate, up),
    }
}

fn pass(kind: &Kind) -> Pass {
    if kind.tokens > 1 {
        let mut pass = Pass::chunk(0, 0, &vec![0; kind.tokens as usize]);
        pass.header.outputs = kind.columns;
        return pass;
    }
    let flags = |sequence| if kind.done && sequence % 2 == 0 { ROW_DONE } else { 0 };
    let row = |sequence| Row { sequence, flags: flags(sequence), ..Row::default() };
    Pass::decode(&(0..kind.columns).map(row).collect::<Vec<_>>())
}

/// The reference: norm, product, bias, what an adapter adds to the sums, and epilogue one after the other.
fn apply(
    tensor: &Tensor,
    x: &[f32],
    norm: Option<&[f32]>,
    [bias, adapter]: [Option<&[f32]>; 2],
    epilogue: Epilogue,
    y: &mut [f32],
) {
    let mut x = x.to_vec();
    let mut factor = 1.0;
    if let Some(weight) = norm {
        factor = (x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32 + EPS).sqrt().recip();
        reference::rms_norm(&mut x, weight, EPS);
    }
    let mut sums = vec![0.0; tensor.rows as usize];
    reference::mat_vec(&tensor.reference(), &x, &mut sums).expect("the matrix is whole");
    for (sum, bias) in sums.iter_mut().zip(bias.unwrap_or_default()) {
        *sum += bias;
    }
    for (sum, added) in sums.iter_mut().zip(adapter.unwrap_or_default()) {
        *sum += factor * added;
    }
    match epilogue {
        Epilogue::Store => y[..sums.len()].copy_from_slice(&sums),
        Epilogue::Residual => y.iter_mut().zip(&sums).for_each(|(y, sum)| *y += sum),
        Epilogue::Scaled(factor) => y.iter_mut().zip(&sums).for_each(|(y, sum)| *y += factor * sum),
        Epilogue::Gelu => {
            let ones = vec![1.0; sums.len()];
            reference::geglu(&mut sums, &ones);
            y[..sums.len()].copy_from_slice(&sums);
        }
        Epilogue::Gate(kind) => {
            let (gate, up) = sums.split_at_mut(tensor.rows as usize / 2);
            activate(kind, gate, up);
            y[..gate.len()].copy_from_slice(gate);
        }
    }
}
