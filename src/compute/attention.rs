//! Attention that keeps the log-sum-exp of each query, and its gradient: what `webgguf/training` computes in place of
//! `attention_strided`.

use super::Run;
use crate::harness::{Case, Expected, OpBench, Random, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::spec::{Dispatch, Kernel, KernelSpec, PARAMS, bool_override, grid_1d, params, read, write};
use crate::kernels::wgsl::wgsl;
use crate::tensor::{DType, Tensor};

params! {
    /// Sizes, and what is masked.
    pub struct Params {
        /// Sequences.
        pub batch: u32,
        /// Query heads.
        pub heads: u32,
        /// Query heads per key and value head.
        pub group: u32,
        /// Queries of a sequence.
        pub queries: u32,
        /// Keys of a sequence.
        pub keys: u32,
        /// 1: a mask is added to the scores; its strides below are 0 where it is broadcast.
        pub masked: u32,
        /// Elements of the mask from one sequence to the next.
        pub mask_batch: u32,
        /// From one query head to the next.
        pub mask_head: u32,
        /// From one query to the next.
        pub mask_row: u32,
        /// From one key to the next.
        pub mask_key: u32,
        /// 1: query i attends to the keys up to `i + keys - queries`.
        pub causal: u32,
        /// Sliding window, causal: of these keys, at most this many, the last ones; 0: all of them.
        pub window: u32,
        /// What products are multiplied by.
        pub scale: f32,
        /// Scores become `soft_cap · tanh(score / soft_cap)`; 0: no cap.
        pub soft_cap: f32,
    }
}

/// The contract with `shaders/compute/attention_forward.wgsl`.
pub static FORWARD: KernelSpec = KernelSpec {
    kernel_name: "compute/attention_forward",
    source: wgsl!("compute/attention_forward"),
    bindings: &[PARAMS, read("q"), read("k"), read("v"), read("mask"), write("y"), write("lse")],
    params: Params::LAYOUT,
    overrides: &["HEAD_DIM"],
};

/// The contract with `shaders/compute/attention_grad.wgsl`.
pub static GRAD: KernelSpec = KernelSpec {
    kernel_name: "compute/attention_grad",
    source: wgsl!("compute/attention_grad"),
    bindings: &[
        PARAMS,
        read("q"),
        read("k"),
        read("v"),
        read("dy"),
        read("lse"),
        read("delta"),
        read("mask"),
        write("d"),
    ],
    params: Params::LAYOUT,
    overrides: &["HEAD_DIM", "OF_KEYS"],
};

/// Rows that a workgroup computes.
const ROWS: u32 = 64;

/// One attention; the mask is `[queries, keys]` for all heads.
#[derive(Debug, Clone, Copy)]
struct Shape {
    batch: u32,
    heads: u32,
    kv_heads: u32,
    queries: u32,
    keys: u32,
    dim: u32,
    causal: bool,
    window: u32,
    soft_cap: f32,
    is_masked: bool,
}

const ONE: Shape = Shape {
    batch: 1,
    heads: 1,
    kv_heads: 1,
    queries: 1,
    keys: 1,
    dim: 16,
    causal: false,
    window: 0,
    soft_cap: 0.0,
    is_masked: false,
};

const SHAPES: &[Shape] = &[
    ONE,
    Shape { batch: 2, heads: 4, kv_heads: 2, queries: 33, keys: 33, dim: 64, causal: true, ..ONE },
    Shape { heads: 3, queries: 70, keys: 131, dim: 48, ..ONE },
    Shape { heads: 2, queries: 131, keys: 70, dim: 128, causal: true, soft_cap: 2.0, ..ONE },
    Shape { batch: 2, heads: 2, queries: 65, keys: 97, dim: 80, is_masked: true, ..ONE },
    Shape { heads: 6, kv_heads: 2, queries: 100, keys: 150, dim: 32, causal: true, window: 37, ..ONE },
    Shape { queries: 40, keys: 34, dim: 256, causal: true, is_masked: true, ..ONE },
];

pub fn cases(caps: &Caps, random: &mut Random) -> Vec<Case> {
    SHAPES.iter().flat_map(|shape| cases_of(caps, random, shape)).collect()
}

/// Numbers of an attention.
struct Given {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    dy: Vec<f32>,
    mask: Vec<f32>,
}

/// What kernels compute of them.
#[derive(Default)]
struct Results {
    y: Vec<f64>,
    lse: Vec<f64>,
    delta: Vec<f64>,
    dq: Vec<f64>,
    dk: Vec<f64>,
    dv: Vec<f64>,
}

impl Shape {
    fn of_q(&self) -> [u32; 4] {
        [self.batch, self.heads, self.queries, self.dim]
    }

    fn of_k(&self) -> [u32; 4] {
        [self.batch, self.kv_heads, self.keys, self.dim]
    }

    fn scale(&self) -> f32 {
        (self.dim as f32).sqrt().recip()
    }

    fn params(&self) -> Params {
        Params {
            batch: self.batch,
            heads: self.heads,
            group: self.heads / self.kv_heads,
            queries: self.queries,
            keys: self.keys,
            masked: self.is_masked.into(),
            mask_batch: 0,
            mask_head: 0,
            mask_row: self.keys,
            mask_key: 1,
            causal: self.causal.into(),
            window: self.window,
            scale: self.scale(),
            soft_cap: self.soft_cap,
        }
    }

    /// Numbers so large that the softmax is peaked, as trained models have it; a fifth of the mask hides.
    fn numbers(&self, random: &mut Random) -> Given {
        let mut make = |shape: [u32; 4], most: f32| -> Vec<f32> {
            let values = random.floats(shape.iter().product::<u32>() as usize).into_iter();
            values.map(|x| most * x).collect()
        };
        let [q, k] = [make(self.of_q(), 3.0), make(self.of_k(), 2.0)];
        let [v, dy] = [make(self.of_k(), 2.0), make(self.of_q(), 1.0)];
        let mask = make([1, 1, self.queries, self.keys], 1.0).into_iter();
        Given { q, k, v, dy, mask: mask.map(|x| if x < -0.6 { f32::NEG_INFINITY } else { x }).collect() }
    }
}

/// The cases of one attention: result and log-sum-exp, dq, and dk with dv behind it.
fn cases_of(caps: &Caps, random: &mut Random, shape: &Shape) -> Vec<Case> {
    let given = shape.numbers(random);
    let results = reference(shape, &given);
    let close =
        |values: &[f64]| Expected::Close(values.iter().map(|&value| value as f32).collect(), Tolerance::ATTENTION);
    let mut cases: Vec<Case> = [false, true]
        .map(|is_lse| {
            let mut bench = OpBench::new(caps);
            let [y, lse] = forward(&mut bench, shape, &given);
            let (tensor, values) = if is_lse { (&lse, &results.lse) } else { (&y, &results.y) };
            let what = if is_lse { "lse" } else { "y" };
            bench.case(FORWARD.kernel_name, format!("{what} of {shape:?}"), tensor, close(values))
        })
        .into();
    let of_keys: Vec<f64> = results.dk.iter().chain(&results.dv).copied().collect();
    for (is_keys, expected) in [(false, &results.dq), (true, &of_keys)] {
        let mut bench = OpBench::new(caps);
        let d = grad(&mut bench, shape, &given, &results, is_keys);
        let what = if is_keys { "dk and dv" } else { "dq" };
        cases.push(bench.case(GRAD.kernel_name, format!("{what} of {shape:?}"), &d, close(expected)));
    }
    cases
}

fn tensors(bench: &mut OpBench, shape: &Shape, given: &Given) -> [Tensor; 4] {
    [
        bench.floats(&shape.of_q(), &given.q),
        bench.floats(&shape.of_k(), &given.k),
        bench.floats(&shape.of_k(), &given.v),
        bench.floats(&[shape.queries, shape.keys], &given.mask),
    ]
}

fn forward(bench: &mut OpBench, shape: &Shape, given: &Given) -> [Tensor; 2] {
    let [q, k, v, mask] = tensors(bench, shape, given);
    let [batch, heads, queries, _] = shape.of_q();
    let sizes: [&[u32]; 2] = [&shape.of_q(), &[batch, heads, queries]];
    let made = sizes.map(|shape| bench.tape.output(DType::F32, shape).expect("a case's shape fits"));
    let buffers = [&q, &k, &v, &mask, &made[0], &made[1]].map(|tensor| tensor.slice());
    let kernel = Kernel::new(&FORWARD, &[("HEAD_DIM", shape.dim.into())]);
    let grid = grid_1d(batch * heads * queries.div_ceil(ROWS));
    bench.tape.push(Dispatch::new(kernel, &shape.params(), &buffers, grid));
    made
}

fn grad(bench: &mut OpBench, shape: &Shape, given: &Given, results: &Results, is_keys: bool) -> Tensor {
    let [q, k, v, mask] = tensors(bench, shape, given);
    let dy = bench.floats(&shape.of_q(), &given.dy);
    let rows = [shape.batch, shape.heads, shape.queries];
    let [lse, delta] = [&results.lse, &results.delta]
        .map(|values| bench.floats(&rows, &values.iter().map(|&value| value as f32).collect::<Vec<_>>()));
    let [batch, heads, positions, dim] = if is_keys { shape.of_k() } else { shape.of_q() };
    let run = Run {
        spec: &GRAD,
        variant: if is_keys { "keys" } else { "queries" },
        constants: &[("HEAD_DIM", dim.into()), ("OF_KEYS", bool_override(is_keys))],
        inputs: &[&q, &k, &v, &dy, &lse, &delta, &mask],
        shape: &[if is_keys { 2 } else { 1 }, batch, heads, positions, dim],
        grid: grid_1d(batch * heads * positions.div_ceil(ROWS)),
    };
    run.push(bench, &shape.params())
}

/// The definitions, in f64.
fn reference(shape: &Shape, given: &Given) -> Results {
    let [of_q, of_k] = [shape.of_q(), shape.of_k()].map(|shape| shape.iter().product::<u32>() as usize);
    let [dk, dv] = [vec![0.0; of_k], vec![0.0; of_k]];
    let mut results = Results { dk, dv, ..Results::default() };
    results.y.reserve(of_q);
    for head in 0..shape.batch * shape.heads {
        for query in 0..shape.queries {
            row(shape, given, [head as usize, query as usize], &mut results);
        }
    }
    results
}

fn row(shape: &Shape, given: &Given, [head, query]: [usize; 2], results: &mut Results) {
    let [queries, keys, dim] = [shape.queries, shape.keys, shape.dim].map(|size| size as usize);
    let kv_head = head / (shape.heads / shape.kv_heads) as usize;
    let line = |values: &[f32], at: usize| -> Vec<f64> {
        values[at * dim..(at + 1) * dim].iter().map(|&value| f64::from(value)).collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let [q, dy] = [&given.q, &given.dy].map(|values| line(values, head * queries + query));
    let (scale, cap) = (f64::from(shape.scale()), f64::from(shape.soft_cap));
    let end = if shape.causal { (query + 1 + keys).saturating_sub(queries) } else { keys };
    let start = if shape.window == 0 { 0 } else { end.saturating_sub(shape.window as usize) };
    let mut seen = Vec::new();
    for key in start..end {
        let added = if shape.is_masked { f64::from(given.mask[query * keys + key]) } else { 0.0 };
        if added > -1e38 {
            let product = dot(&q, &line(&given.k, kv_head * keys + key)) * scale;
            let t = if cap == 0.0 { 0.0 } else { (product / cap).tanh() };
            seen.push((kv_head * keys + key, if cap == 0.0 { product } else { cap * t } + added, 1.0 - t * t));
        }
    }
    let high = seen.iter().fold(f64::NEG_INFINITY, |high, seen| high.max(seen.1));
    let total: f64 = seen.iter().map(|seen| (seen.1 - high).exp()).sum();
    let lse = if seen.is_empty() { 0.0 } else { high + total.ln() };
    let mut y = vec![0.0; dim];
    for &(key, score, _) in &seen {
        add(&mut y, (score - lse).exp(), &line(&given.v, key));
    }
    let delta = dot(&dy, &y);
    let mut dq = vec![0.0; dim];
    for &(key, score, slope) in &seen {
        let p = (score - lse).exp();
        let ds = p * (dot(&dy, &line(&given.v, key)) - delta) * slope * scale;
        add(&mut dq, ds, &line(&given.k, key));
        add(&mut results.dk[key * dim..(key + 1) * dim], ds, &q);
        add(&mut results.dv[key * dim..(key + 1) * dim], p, &dy);
    }
    results.y.extend(y);
    results.lse.push(lse);
    results.delta.push(delta);
    results.dq.extend(dq);
}

/// `to += factor · values`
fn add(to: &mut [f64], factor: f64, values: &[f64]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += factor * value);
}
