// How fast the operations of `webgguf/compute` are, and the gradient of attention; bench-compute.html says what the
// query may ask for. The result is `{device, wait_ms, peak: {gflops, gbps}, rows}` or `{error}`, a row being
// `{operation, shape, ms, best, worst, calls, batches}` with `gflops`, `gbps` and their shares of the peak, `of_flops`
// and `of_bandwidth`, where they were counted. `data-state` of the root element becomes `done` or `error`.

import * as shaders from '../../dist/compute/shaders.js';
import { Gpu } from '../../dist/training/index.js';
import { checkNames, wrong } from '../shared/address.js';
import { errorReport, postReport } from '../shared/post-report.js';

const MOST_CALLS = 1 << 14;

const query = new URLSearchParams(location.search);
const isSmall = query.get('small') === '1';
const status = document.getElementById('status');

/** A positive number of the query. */
function numberOf(name, otherwise) {
  const value = Number(query.get(name) || otherwise);
  if (value > 0) return value;
  throw wrong(`'${name}' is '${query.get(name)}', not a number above 0`);
}

const random = (length) => Float32Array.from({ length }, () => Math.random() * 2 - 1);

/** Sums of products in registers, 32 chains of them for each thread. */
const MULTIPLY = `
  @group(0) @binding(0) var<uniform> params: vec4<u32>;
  @group(0) @binding(1) var<storage, read_write> y: array<f32>;
  @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let a = vec4<f32>(f32(params.y) * 0.5);
    var s0 = vec4<f32>(f32(id.x)); var s1 = s0 + 1.0; var s2 = s0 + 2.0; var s3 = s0 + 3.0;
    var s4 = s0 + 4.0; var s5 = s0 + 5.0; var s6 = s0 + 6.0; var s7 = s0 + 7.0;
    for (var i = 0u; i < params.x; i += 1u) {
      s0 = s0 * a + a; s1 = s1 * a + a; s2 = s2 * a + a; s3 = s3 * a + a;
      s4 = s4 * a + a; s5 = s5 * a + a; s6 = s6 * a + a; s7 = s7 * a + a;
    }
    let sum = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;
    y[id.x] = sum.x + sum.y + sum.z + sum.w;
  }`;

const COPY = `
  @group(0) @binding(0) var<uniform> params: vec4<u32>;
  @group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
  @group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;
  @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = x[id.x]; }`;

/** Arithmetic alone. */
function multiply(gpu) {
  const [groups, steps] = isSmall ? [8, 64] : [4096, 4096];
  const work = { label: 'multiply', code: MULTIPLY, outputs: [{ shape: [groups * 256] }], workgroups: [groups] };
  return {
    operation: 'multiply',
    shape: `${groups * 256} threads`,
    inputs: [],
    flops: groups * 256 * steps * 64,
    call: () => gpu.shader({ ...work, params: Uint32Array.of(steps, 1, 0, 0) })[0],
  };
}

/** Reading and writing alone. */
function copy(gpu) {
  const length = isSmall ? 1 << 16 : 1 << 25;
  const x = gpu.zeros([length]);
  const work = { label: 'copy', code: COPY, inputs: [x], outputs: [{ shape: [length] }], workgroups: [length / 1024] };
  const [shape, bytes] = [`${length * 4} bytes`, length * 8];
  return { operation: 'copy', shape, inputs: [x], bytes, call: () => gpu.shader(work)[0] };
}

function conv2d(gpu, n, channels, height, width) {
  const x = gpu.tensor(random(n * channels * height * width), [n, channels, height, width]);
  const w = gpu.tensor(random(channels * channels * 9), [channels, channels, 3, 3]);
  return {
    operation: 'conv2d',
    shape: `[${x.shape}], 3 × 3`,
    inputs: [x, w],
    flops: 2 * n * channels * channels * 9 * height * width,
    call: () => gpu.conv2d(x, w, { padding: 1 }),
  };
}

/** Transforms of pairs; two dispatches each read and write all of them. */
function fft(gpu, rows, length) {
  const x = gpu.tensor(random(rows * length * 2), [rows, length, 2]);
  const passes = length > 1024 ? 2 : 1;
  return {
    operation: 'fft',
    shape: `${rows} × ${length}`,
    inputs: [x],
    flops: 5 * rows * length * Math.log2(length),
    bytes: passes * 16 * rows * length,
    call: () => gpu.fft(x),
  };
}

/** Neighbours: a difference and a product for each number of each pair of points. */
function knn(gpu, points, width, k) {
  const x = gpu.tensor(random(points * width), [points, width]);
  return {
    operation: 'knn',
    shape: `${points} × ${width}, k = ${k}`,
    inputs: [x],
    flops: 3 * points * points * width,
    call: () => {
      const { indices, distances } = gpu.knn(x, { k });
      gpu.free(indices);
      return distances;
    },
  };
}

/** Weights [n, n]: f16, or in blocks of Q4_0, 18 bytes that begin with a scale. */
function weights(gpu, n, type) {
  if (type === 'f16') return gpu.tensor(random(n * n), [n, n], type);
  const bytes = Uint8Array.from({ length: ((n * n) / 32) * 18 }, () => Math.random() * 256);
  for (let at = 0; at < bytes.length; at += 18) bytes.set([0x00, 0x20], at);
  return gpu.tensor(bytes, [n, n], type);
}

/** x · Wᵀ as in a model, and dx = dy · W as on the way back. */
const products = (type, rows, n) =>
  [true, false].map((transposeB) => (gpu) => {
    const x = gpu.tensor(random(rows * n), [rows, n]);
    const w = weights(gpu, n, type);
    return {
      operation: transposeB ? 'matmul, transposed' : 'matmul',
      shape: `[${rows}, ${n}] by ${type} [${n}, ${n}]`,
      inputs: [x, w],
      flops: 2 * rows * n * n,
      call: () => gpu.matmul(x, w, { transposeB }),
    };
  });

/** Sums of short rows. */
function sum(gpu, rows, width) {
  const x = gpu.tensor(random(rows * width), [rows, width]);
  const [shape, bytes] = [`[${rows}, ${width}], the last axis`, 4 * rows * (width + 1)];
  return { operation: 'sum', shape, inputs: [x], bytes, call: () => gpu.sum(x, { axis: 1 }) };
}

/** Attention of `heads` over `n` positions each: the parts of its gradient, and all together. */
function attentions(heads, n, dim, causal) {
  const shape = [1, heads, n, dim];
  const options = `${heads} heads of ${dim}, ${n} positions${causal ? ', causal' : ''}`;
  const inputs = (gpu) => Array.from({ length: 4 }, () => gpu.tensor(random(heads * n * dim), shape));
  // A product of n × n × dim for each head; each query of causal ones sees half of the keys.
  const product = (2 * heads * n * n * dim) / (causal ? 2 : 1);
  const part = (operation, products, make) => (gpu) => {
    const [q, k, v, dy] = inputs(gpu);
    return {
      operation,
      shape: options,
      inputs: [q, k, v, dy],
      flops: products * product,
      call: make(gpu, q, k, v, dy),
    };
  };
  const zeros = { masked: 0, mask_batch: 0, mask_head: 0, mask_row: 0, mask_key: 0, window: 0, soft_cap: 0 };
  const numbers = { batch: 1, heads, group: 1, queries: n, keys: n, dim, causal: Number(causal), scale: dim ** -0.5 };
  // The gradient as js/training/attention.ts computes it, of some rows of some heads: all where there are few.
  const tiles = Math.ceil(n / 64);
  const own = {
    first_head: 0,
    head_count: Math.min(heads, 8),
    first_row: n - Math.min(n, 512),
    row_count: Math.min(n, 512),
  };
  const [rows, splits] = [Math.ceil(own.row_count / 64), Math.ceil(n / own.row_count)];
  const params = { ...zeros, ...numbers, ...own, splits, adds: 0 };
  const constants = { HEAD_DIM: dim };
  const weightsOf = (gpu, q, k, v, dy) => {
    const some = gpu.filled([1, heads, n], 1);
    const made = gpu.dispatch('bench', shaders.attentionWeights, {
      inputs: { q, k, v, dy, lse: some, delta: some, mask: undefined },
      shape: [2, own.head_count, rows, tiles, 4096],
      ...{ params, constants, workgroups: [own.head_count * rows * tiles, 1, 1] },
    });
    some.free();
    return made;
  };
  // The share of all scores, or of all visible ones.
  const share = ((own.head_count * own.row_count) / heads / n) * (causal ? 2 - own.row_count / n : 1);
  return [
    part('attention', 2, (gpu, q, k, v) => () => gpu.attention(q, k, v, { causal })),
    part('attention with lse', 2, (gpu, q, k, v) => () => {
      const [y, lse] = gpu.dispatchAll('bench', shaders.attentionForward, {
        ...{ inputs: { q, k, v, mask: undefined }, shape, more: [[1, heads, n]], params, constants },
        workgroups: [heads * tiles, 1, 1],
      });
      lse.free();
      return y;
    }),
    part(
      "attention's gradient: weights, of a part",
      2 * share,
      (...given) =>
        () =>
          weightsOf(...given),
    ),
    part("attention's gradient: products, of a part", 3 * share, (gpu, q, k, v, dy) => {
      const weights = weightsOf(gpu, q, k, v, dy);
      return () => {
        const [dq, d] = gpu.dispatchAll('bench', shaders.attentionGrad, {
          inputs: { weights, q, k, dy, before: undefined },
          shape: [splits, own.head_count, own.row_count, dim],
          more: [[2, own.head_count, n, dim]],
          ...{ params, constants },
          workgroups: [own.head_count * (splits * rows + 2 * tiles) * Math.ceil(dim / 64), 1, 1],
        });
        dq.free();
        return d;
      };
    }),
    part('attention and its gradient', 7, (gpu, q, k, v, dy) => () => {
      const [of_q, ...others] = gpu.grad(() => gpu.sum(gpu.mul(gpu.attention(q, k, v, { causal }), dy)), [q, k, v]);
      gpu.free(others);
      return of_q;
    }),
  ];
}

/** What is measured, each made when its turn comes. */
const OPERATIONS = isSmall
  ? {
      conv2d: [(gpu) => conv2d(gpu, 1, 16, 12, 12)],
      fft: [(gpu) => fft(gpu, 2, 2048)],
      knn: [(gpu) => knn(gpu, 100, 20, 5)],
      attention: attentions(2, 70, 32, true),
      matmul: ['f16', 'q4_0'].flatMap((type) => products(type, 9, 64)),
      sum: [(gpu) => sum(gpu, 1000, 2)],
    }
  : {
      conv2d: [(gpu) => conv2d(gpu, 1, 256, 128, 128), (gpu) => conv2d(gpu, 8, 256, 56, 56)],
      fft: [(gpu) => fft(gpu, 1, 2 ** 20), (gpu) => fft(gpu, 16, 2 ** 20)],
      knn: [(gpu) => knn(gpu, 10_000, 128, 15)],
      attention: [false, true].flatMap((causal) => attentions(16, 2048, 64, causal)),
      matmul: [512, 4].flatMap((rows) => ['f16', 'q4_0'].flatMap((type) => products(type, rows, 4096))),
      sum: [2, 32, 1000].map((width) => (gpu) => sum(gpu, 2 ** 20 / (width > 32 ? 16 : 1), width)),
    };

/** Milliseconds of `calls` calls and the wait behind them. */
async function timed(gpu, call, calls) {
  const begun = performance.now();
  for (let i = 1; i < calls; i += 1) gpu.free(call());
  const last = call();
  const part = gpu.scope(() => gpu.narrow(gpu.reshape(last, [last.size]), 0, 0, 1));
  await part.data();
  const ms = performance.now() - begun;
  gpu.free(last, part);
  return ms;
}

/** The row of `work`: batches that are long enough, and the median of their times for a call. */
async function measure(gpu, work) {
  const [batches, least] = [numberOf('batches', 12), numberOf('batch_ms', 250)];
  await timed(gpu, work.call, 1); // compiles
  let calls = 1;
  for (;;) {
    const ms = await timed(gpu, work.call, calls);
    if (ms >= least || calls >= MOST_CALLS) break;
    calls = Math.min(Math.max(2 * calls, Math.ceil((1.2 * calls * least) / Math.max(ms, 1))), MOST_CALLS);
  }
  const times = [];
  for (let i = 0; i < batches; i += 1) times.push((await timed(gpu, work.call, calls)) / calls);
  times.sort((a, b) => a - b);
  const ms = (times[(batches - 1) >> 1] + times[batches >> 1]) / 2;
  const rates = { gflops: work.flops && work.flops / ms / 1e6, gbps: work.bytes && work.bytes / ms / 1e6 };
  const { operation, shape } = work;
  return { operation, shape, ms, best: times[0], worst: times.at(-1), calls, batches, ...rates };
}

/** The row of what `make` makes; its tensors are freed. */
async function row(gpu, make) {
  const work = make(gpu);
  status.textContent = `measuring ${work.operation}, ${work.shape}`;
  const found = await measure(gpu, work);
  gpu.free(work.inputs);
  return found;
}

/** Milliseconds from a call to its result where there is nearly nothing to compute. */
async function waitOf(gpu) {
  const call = () => gpu.zeros([1]);
  const times = [];
  for (let i = 0; i < 21; i += 1) times.push(await timed(gpu, call, 1));
  return times.sort((a, b) => a - b)[10];
}

async function run() {
  checkNames(query, ['only', 'batches', 'batch_ms', 'small', 'report']);
  const only = query.get('only')?.split(',') ?? Object.keys(OPERATIONS);
  const unknown = only.find((name) => !Object.hasOwn(OPERATIONS, name));
  if (unknown) throw wrong(`'only' has '${unknown}'; there are ${Object.keys(OPERATIONS).join(', ')}`);
  const gpu = await Gpu.create();
  const [most, fastest] = [await row(gpu, multiply), await row(gpu, copy)];
  const rows = [];
  for (const make of only.flatMap((name) => OPERATIONS[name])) {
    const found = await row(gpu, make);
    rows.push({ ...found, of_flops: found.gflops / most.gflops, of_bandwidth: found.gbps / fastest.gbps });
  }
  const result = { device: gpu.info, wait_ms: await waitOf(gpu), peak: { gflops: most.gflops, gbps: fastest.gbps } };
  gpu.destroy();
  return { ...result, rows };
}

/** Shows and reports what came out. */
async function finish(result) {
  document.getElementById('result').textContent = JSON.stringify(result, null, 2);
  const refused = query.get('report') ? await postReport(query.get('report'), result) : undefined;
  status.textContent = refused ? `not reported: ${refused}` : result.error ? 'failed' : 'done';
  document.documentElement.dataset.state = result.error ? 'error' : 'done';
}

run().catch(errorReport).then(finish);
