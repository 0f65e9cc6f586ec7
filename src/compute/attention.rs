//! Attention that keeps the log-sum-exp of each query, and its gradient: what `webgguf/training` computes in place of
//! `attention_strided`.

use super::Run;
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance, folded};
use crate::kernels::caps::Caps;
use crate::kernels::spec::{Dispatch, Kernel, KernelSpec, PARAMS, grid_1d, params, read, write};
use crate::tensor::{DType, Tensor};
use std::ops::Range;

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
        /// `HEAD_DIM`.
        pub dim: u32,
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
        /// Factor of scores.
        pub scale: f32,
        /// Scores become `soft_cap · tanh(score / soft_cap)`; 0: no cap.
        pub soft_cap: f32,
        /// The first KV head, counted over all sequences, that a dispatch of the gradient computes.
        pub first_head: u32,
        /// How many of these.
        pub head_count: u32,
        /// The first row: rows are the queries of all heads that share keys. A multiple of [`TILE`].
        pub first_row: u32,
        /// How many of these.
        pub row_count: u32,
        /// Parts that the sums over keys are cut into.
        pub splits: u32,
        /// 1: sums over rows are added to those of the rows before.
        pub adds: u32,
    }
}

/// The contract with `shaders/compute/attention_forward.wgsl`.
pub static FORWARD: KernelSpec = KernelSpec {
    kernel_name: "compute/attention_forward",
    bindings: &[PARAMS, read("q"), read("k"), read("v"), read("mask"), write("y"), write("lse")],
    params: Params::LAYOUT,
    overrides: &["HEAD_DIM"],
};

/// The contract with `shaders/compute/attention_weights.wgsl`.
pub static WEIGHTS: KernelSpec = KernelSpec {
    kernel_name: "compute/attention_weights",
    bindings: &[
        PARAMS,
        read("q"),
        read("k"),
        read("v"),
        read("dy"),
        read("lse"),
        read("delta"),
        read("mask"),
        write("weights"),
    ],
    params: Params::LAYOUT,
    overrides: &["HEAD_DIM"],
};

/// The contract with `shaders/compute/attention_grad.wgsl`.
pub static GRAD: KernelSpec = KernelSpec {
    kernel_name: "compute/attention_grad",
    bindings: &[PARAMS, read("weights"), read("q"), read("k"), read("dy"), read("before"), write("dq"), write("d")],
    params: Params::LAYOUT,
    overrides: &["HEAD_DIM"],
};

/// Rows, and keys, of a tile of scores.
const TILE: u32 = 64;

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
    part: Part,
}

/// The heads and rows that one dispatch of the gradient computes.
#[derive(Debug, Clone, Copy)]
struct Part {
    head: u32,
    row: u32,
    splits: u32,
}

const ALL: Part = Part { head: 0, row: 0, splits: 1 };

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
    part: ALL,
};

const SHAPES: &[Shape] = &[
    ONE,
    Shape {
        batch: 2,
        heads: 4,
        kv_heads: 2,
        queries: 33,
        keys: 33,
        dim: 64,
        causal: true,
        part: Part { head: 1, ..ALL },
        ..ONE
    },
    Shape { heads: 3, queries: 70, keys: 131, dim: 48, part: Part { row: 64, splits: 2, ..ALL }, ..ONE },
    Shape { heads: 2, queries: 131, keys: 70, dim: 128, causal: true, soft_cap: 2.0, ..ONE },
    Shape { batch: 2, heads: 2, queries: 65, keys: 97, dim: 80, is_masked: true, ..ONE },
    Shape {
        heads: 6,
        kv_heads: 2,
        queries: 100,
        keys: 150,
        dim: 32,
        causal: true,
        window: 37,
        part: Part { head: 1, row: 128, splits: 3 },
        ..ONE
    },
    Shape { queries: 40, keys: 34, dim: 256, causal: true, is_masked: true, ..ONE },
    // Some row of every tile attends to some key of it, so that p and ds can be compared: the first tile of rows is of
    // several heads, the second of one whose window is in both tiles of keys.
    Shape { heads: 4, queries: 20, keys: 70, causal: true, window: 37, soft_cap: 2.0, ..ONE },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/attention"));
    let mut cases: Vec<Case> = SHAPES.iter().flat_map(|shape| cases_of(caps, random, shape)).collect();
    // The last workgroups compute dv: one left out shows there, but not in dq.
    let is_last = |case: &&Case| case.name.starts_with("dk and dv");
    let in_two_dimensions = cases.iter().find(is_last).map(|case| folded(GRAD.kernel_name, case));
    cases.extend(in_two_dimensions);
    cases
}

/// Numbers of an attention.
struct Given {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    dy: Vec<f32>,
    mask: Vec<f32>,
    /// dk and behind it dv of other rows.
    before: Vec<f32>,
}

/// The expected results of the kernels.
#[derive(Default)]
struct Results {
    y: Vec<f64>,
    lse: Vec<f64>,
    delta: Vec<f64>,
    /// p and behind it ds: `[2, heads, tiles of rows, tiles of keys, TILE, TILE]`.
    weights: Vec<f64>,
    /// `[splits, heads, rows, dim]`
    dq: Vec<f64>,
    /// dk and behind it dv: `[2, heads, keys, dim]`.
    d: Vec<f64>,
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
            dim: self.dim,
            masked: self.is_masked.into(),
            mask_batch: 0,
            mask_head: 0,
            mask_row: self.keys,
            mask_key: 1,
            causal: self.causal.into(),
            window: self.window,
            scale: self.scale(),
            soft_cap: self.soft_cap,
            first_head: self.part.head,
            head_count: self.head_count(),
            first_row: self.part.row,
            row_count: self.row_count(),
            splits: self.part.splits,
            adds: (self.part.row > 0).into(),
        }
    }

    fn head_count(&self) -> u32 {
        self.batch * self.kv_heads - self.part.head
    }

    /// Rows that share keys.
    fn rows(&self) -> u32 {
        self.heads / self.kv_heads * self.queries
    }

    fn row_count(&self) -> u32 {
        self.rows() - self.part.row
    }

    fn of_weights(&self) -> [u32; 5] {
        [2, self.head_count(), self.row_count().div_ceil(TILE), self.keys.div_ceil(TILE), TILE * TILE]
    }

    fn of_dq(&self) -> [u32; 4] {
        [self.part.splits, self.head_count(), self.row_count(), self.dim]
    }

    fn of_d(&self) -> [u32; 4] {
        [2, self.head_count(), self.keys, self.dim]
    }

    /// Keys that a query attends to.
    fn keys_of(&self, query: u32) -> Range<u32> {
        let end = if self.causal { (query + 1 + self.keys).saturating_sub(self.queries) } else { self.keys };
        let start = if self.window == 0 { 0 } else { end.saturating_sub(self.window) };
        start..end
    }

    /// A head of keys and a row of it, counted from the part's first; `None` where they are before.
    fn in_part(&self, [kv_head, row]: [usize; 2]) -> Option<[usize; 2]> {
        Some([kv_head.checked_sub(self.part.head as usize)?, row.checked_sub(self.part.row as usize)?])
    }

    /// Where p and ds of a head, row and key of the part are.
    fn places(&self, kv: usize, row: usize, key: usize) -> [usize; 2] {
        let [_, heads, rows, keys, len] = self.of_weights().map(|size| size as usize);
        let side = TILE as usize;
        let place = ((kv * rows + row / side) * keys + key / side) * len + row % side * side + key % side;
        [place, heads * rows * keys * len + place]
    }

    /// Tiles of a head that kernels leave out: rows of one query head that attend to none of the keys.
    fn unseen_tiles(&self) -> Vec<usize> {
        let [_, _, rows, keys, _] = self.of_weights();
        let is_unseen = |tile: &u32| {
            let (row, key) = (self.part.row + tile / keys * TILE, tile % keys * TILE);
            let last = (row + TILE).min(self.rows()) - 1;
            let all = self.keys_of(row % self.queries).start..self.keys_of(last % self.queries).end;
            row / self.queries == last / self.queries && (all.start >= key + TILE || all.end <= key)
        };
        (0..rows * keys).filter(is_unseen).map(|tile| tile as usize).collect()
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
        let mask = mask.map(|x| if x < -0.6 { f32::NEG_INFINITY } else { x }).collect();
        Given { q, k, v, dy, mask, before: make(self.of_d(), 1.0) }
    }
}

/// The cases of one attention: result and log-sum-exp, weights, dq, and dk with dv behind it.
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
    let mut bench = OpBench::new(caps);
    let weights = weights(&mut bench, shape, &given, &results);
    if shape.unseen_tiles().is_empty() {
        let name = format!("p and ds of {shape:?}");
        cases.push(bench.case(WEIGHTS.kernel_name, name, &weights, close(&results.weights)));
    }
    for (index, what, expected) in [(0, "dq", &results.dq), (1, "dk and dv", &results.d)] {
        let mut bench = OpBench::new(caps);
        let made = grad(&mut bench, shape, &given, &results);
        cases.push(bench.case(GRAD.kernel_name, format!("{what} of {shape:?}"), &made[index], close(expected)));
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
    let grid = grid_1d(batch * shape.kv_heads * shape.rows().div_ceil(TILE));
    bench.tape.push(Dispatch::new(kernel, &shape.params(), &buffers, grid));
    made
}

/// p and ds.
fn weights(bench: &mut OpBench, shape: &Shape, given: &Given, results: &Results) -> Tensor {
    let [q, k, v, mask] = tensors(bench, shape, given);
    let dy = bench.floats(&shape.of_q(), &given.dy);
    let rows = [shape.batch, shape.heads, shape.queries];
    let [lse, delta] = [&results.lse, &results.delta]
        .map(|values| bench.floats(&rows, &values.iter().map(|&value| value as f32).collect::<Vec<_>>()));
    let of_weights = shape.of_weights();
    let run = Run {
        spec: &WEIGHTS,
        variant: "",
        constants: &[("HEAD_DIM", shape.dim.into())],
        inputs: &[&q, &k, &v, &dy, &lse, &delta, &mask],
        shape: &of_weights,
        grid: grid_1d(of_weights[1..4].iter().product()),
    };
    run.push(bench, &shape.params())
}

/// dq, and dk with dv behind it, from the weights of the reference.
fn grad(bench: &mut OpBench, shape: &Shape, given: &Given, results: &Results) -> [Tensor; 2] {
    let [q, k, ..] = tensors(bench, shape, given);
    let dy = bench.floats(&shape.of_q(), &given.dy);
    let before = bench.floats(&shape.of_d(), &given.before);
    let values: Vec<f32> = results.weights.iter().map(|&value| value as f32).collect();
    let weights = bench.floats(&shape.of_weights(), &values);
    let sizes: [&[u32]; 2] = [&shape.of_dq(), &shape.of_d()];
    let made = sizes.map(|shape| bench.tape.output(DType::F32, shape).expect("a case's shape fits"));
    let buffers = [&weights, &q, &k, &dy, &before, &made[0], &made[1]].map(|tensor| tensor.slice());
    let kernel = Kernel::new(&GRAD, &[("HEAD_DIM", shape.dim.into())]);
    let [_, heads, rows, keys, _] = shape.of_weights();
    let grid = grid_1d(heads * (shape.part.splits * rows + 2 * keys) * shape.dim.div_ceil(TILE));
    bench.tape.push(Dispatch::new(kernel, &shape.params(), &buffers, grid));
    made
}

/// The definitions, in f64.
fn reference(shape: &Shape, given: &Given) -> Results {
    let zeros = |shape: &[u32]| vec![0.0; shape.iter().product::<u32>() as usize];
    let mut results = Results {
        weights: zeros(&shape.of_weights()),
        dq: zeros(&shape.of_dq()),
        d: if shape.part.row > 0 {
            given.before.iter().copied().map(f64::from).collect()
        } else {
            zeros(&shape.of_d())
        },
        ..Results::default()
    };
    for head in 0..shape.batch * shape.heads {
        for query in 0..shape.queries {
            row(shape, given, [head as usize, query as usize], &mut results);
        }
    }
    let [_, heads, rows, keys, len] = shape.of_weights().map(|size| size as usize);
    for tile in shape.unseen_tiles() {
        for matrix in 0..2 * heads {
            let at = (matrix * rows * keys + tile) * len;
            results.weights[at..at + len].fill(9.0); // anything: nobody writes or reads it
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
    let mut seen = Vec::new();
    for key in shape.keys_of(query as u32).map(|key| key as usize) {
        let added = if shape.is_masked { f64::from(given.mask[query * keys + key]) } else { 0.0 };
        if added > -1e38 {
            let product = dot(&q, &line(&given.k, kv_head * keys + key)) * scale;
            let t = if cap == 0.0 { 0.0 } else { (product / cap).tanh() };
            seen.push((key, if cap == 0.0 { product } else { cap * t } + added, 1.0 - t * t));
        }
    }
    let high = seen.iter().fold(f64::NEG_INFINITY, |high, seen| high.max(seen.1));
    let total: f64 = seen.iter().map(|seen| (seen.1 - high).exp()).sum();
    let lse = if seen.is_empty() { 0.0 } else { high + total.ln() };
    let mut y = vec![0.0; dim];
    for &(key, score, _) in &seen {
        add(&mut y, (score - lse).exp(), &line(&given.v, kv_head * keys + key));
    }
    let delta = dot(&dy, &y);
    results.y.extend(y);
    results.lse.push(lse);
    results.delta.push(delta);
    let at = [kv_head, head % (shape.heads / shape.kv_heads) as usize * queries + query];
    let Some([kv, row]) = shape.in_part(at) else { return };
    for &(key, score, slope) in &seen {
        let p = (score - lse).exp();
        let ds = p * (dot(&dy, &line(&given.v, kv_head * keys + key)) - delta) * slope * scale;
        for (place, value) in shape.places(kv, row, key).into_iter().zip([p, ds]) {
            results.weights[place] = value;
        }
        let [splits, heads, rows, _] = shape.of_dq().map(|size| size as usize);
        let split = key / TILE as usize / shape.of_weights()[3].div_ceil(splits as u32) as usize;
        add(
            &mut results.dq[((split * heads + kv) * rows + row) * dim..][..dim],
            ds,
            &line(&given.k, kv_head * keys + key),
        );
        add(&mut results.d[(kv * keys + key) * dim..][..dim], ds, &q);
        add(&mut results.d[((heads + kv) * keys + key) * dim..][..dim], p, &dy);
    }
}

/// `to += factor · values`
fn add(to: &mut [f64], factor: f64, values: &[f64]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += factor * value);
}
