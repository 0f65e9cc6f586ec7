// Cases that go through the package's tensor API as a page would use it, against the references in plain JavaScript.

import { attention, BINARY, compare, map, matmul, rmsNorm, rope, sinkhorn, softmax, UNARY } from './references.js';

const VARIANT = 'tensor api';

/** What rounding may do: for exact operations, for those that round once, and for the rest. */
const EXACT = { abs: 0, rel: 0 };
const ROUNDED = { abs: 1e-37, rel: 2.5e-7 };
const PLAIN = { abs: 2e-6, rel: 2e-5 };

/** Uniform numbers from a seed (Mulberry32). */
class Random {
  #state;

  /** Every case has numbers of its own, so that one alone gives the same as all. */
  constructor(seed, name) {
    const mix = (hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
    this.#state = [...name].reduce(mix, seed | 0) >>> 0;
  }

  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }

  /** `count` f32 numbers from `low` to `high`. */
  floats(count, low = -1, high = 1) {
    return Float32Array.from({ length: count }, () => low + (high - low) * this.next());
  }
}

const size = (shape) => shape.reduce((product, n) => product * n, 1);

// ---- elementwise ----------------------------------------------------------------------------------------------------

const UNARY_RANGE = {
  exp: [-20, 20],
  log: [1e-3, 50],
  sqrt: [0, 100],
  rsqrt: [1e-3, 100],
  sin: [-100, 100],
  cos: [-100, 100],
};
const UNARY_LIMIT = { neg: EXACT, abs: EXACT, relu: EXACT };
const BINARY_LIMIT = { add: ROUNDED, sub: ROUNDED, mul: ROUNDED, div: { abs: 1e-37, rel: 5e-7 }, pow: PLAIN };
/** Names of the API where they are not those of the operations. */
const METHOD = { min: 'minimum', max: 'maximum' };

function unaryCase(op, random) {
  const x = random.floats(1000, ...(UNARY_RANGE[op] ?? [-8, 8]));
  return {
    run: (gpu) => gpu[op](gpu.tensor(x, [8, 125])),
    expected: Float64Array.from(x, UNARY[op]),
    limit: UNARY_LIMIT[op] ?? PLAIN,
  };
}

/** [5, 1, 33] with [7, 1]: both sides are repeated. */
function binaryCase(op, random) {
  const shapes = [
    [5, 1, 33],
    [7, 1],
  ];
  const isComparison = !(op in BINARY_LIMIT) && !(op in METHOD);
  const low = op === 'pow' || op === 'div' ? 0.1 : -3;
  const [a, b] = shapes.map((shape) => {
    const values = random.floats(size(shape), low, 3);
    // Whole numbers, so that some are equal.
    return { values: isComparison ? values.map(Math.round) : values, shape };
  });
  return {
    run: (gpu) => gpu[METHOD[op] ?? op](...[a, b].map(({ values, shape }) => gpu.tensor(values, shape))),
    expected: map(BINARY[op], [5, 7, 33], a, b),
    limit: BINARY_LIMIT[op] ?? EXACT,
  };
}

function whereCase(random) {
  const input = (...shape) => ({ values: random.floats(size(shape)), shape });
  const [condition, a, b] = [input(31, 1), input(1, 33), input(31, 33)];
  condition.values = condition.values.map((x) => Number(x > 0));
  const tensors = (gpu) => [condition, a, b].map(({ values, shape }) => gpu.tensor(values, shape));
  return {
    run: (gpu) => gpu.where(...tensors(gpu)),
    limit: EXACT,
    expected: map((c, x, y) => (c ? x : y), [31, 33], condition, a, b),
  };
}

/** Sixteen steps in one dispatch. */
function fuseCase(random) {
  const [a, b] = [random.floats(1000), random.floats(1000)];
  const formula = (x, y) => {
    let sum = x.silu().mul(y);
    for (let i = 1; i <= 7; i += 1) sum = sum.mul(0.5).add(i);
    return sum;
  };
  const plain = (x, y) => {
    let sum = UNARY.silu(x) * y;
    for (let i = 1; i <= 7; i += 1) sum = sum * 0.5 + i;
    return sum;
  };
  return {
    run: (gpu) => gpu.fuse([gpu.tensor(a), gpu.tensor(b)], formula),
    expected: Float64Array.from(a, (x, i) => plain(x, b[i])),
    limit: PLAIN,
  };
}

// ---- rows and matrices ----------------------------------------------------------------------------------------------

function matmulCase({ batch = 1, m, k, n, transposeB = false }, random) {
  const [a, b] = [random.floats(batch * m * k), random.floats(batch * k * n)];
  const shapes = [[m, k], transposeB ? [n, k] : [k, n]].map((shape) => (batch > 1 ? [batch, ...shape] : shape));
  return {
    run: (gpu) => gpu.matmul(gpu.tensor(a, shapes[0]), gpu.tensor(b, shapes[1]), { transposeB }),
    expected: matmul(a, b, { batch, m, k, n, transposeB }),
    limit: { abs: 5e-7 * Math.sqrt(k), rel: 1e-5 },
  };
}

function softmaxCase({ rows, width, scale, causal = false, softCap }, random) {
  const x = random.floats(rows * width, -10, 10);
  const allowed = (row, column) => !causal || column <= row + width - rows;
  return {
    run: (gpu) => gpu.softmax(gpu.tensor(x, [rows, width]), { scale, causal, softCap }),
    expected: softmax(x, width, { scale, softCap, allowed }),
    limit: { abs: 1e-7, rel: 2e-5 },
  };
}

function rmsNormCase({ rows, width }, random) {
  const [x, weight] = [random.floats(rows * width, -4, 4), random.floats(width, 0.5, 1.5)];
  return {
    run: (gpu) => gpu.rmsNorm(gpu.tensor(x, [rows, width]), gpu.tensor(weight), { eps: 1e-5 }),
    expected: rmsNorm(x, weight, { eps: 1e-5 }),
    limit: PLAIN,
  };
}

function sinkhornCase({ batch, n, iterations }, random) {
  const values = random.floats(batch * n * n, 0, 1);
  return {
    run: (gpu) => gpu.sinkhorn(gpu.tensor(values, [batch, n, n]), { iterations }),
    expected: sinkhorn(values, n, iterations),
    limit: PLAIN,
  };
}

// ---- attention ------------------------------------------------------------------------------------------------------

function ropeCase({ positions, heads, dim, rotated, offset, interleaved = false }, random) {
  const shape = [2, positions, heads, dim];
  const x = random.floats(size(shape));
  const pairing = interleaved ? 'interleaved' : 'splitHalf';
  return {
    run: (gpu) => gpu.rope(gpu.tensor(x, shape), { layout: 'bshd', pairing, dims: rotated, position: offset }),
    expected: rope(x, { positions, heads, dim, rotated, offset, interleaved }),
    limit: { abs: 1e-5, rel: 1e-5 },
  };
}

function attentionCase(sizes, random) {
  const { batch, heads, kvHeads, queries, keys, dim, causal, window, softCap } = sizes;
  const q = random.floats(batch * heads * queries * dim, -2, 2);
  const [k, v] = [0, 1].map(() => random.floats(batch * kvHeads * keys * dim, -2, 2));
  const tensors = (gpu) => [
    gpu.tensor(q, [batch, heads, queries, dim]),
    ...[k, v].map((x) => gpu.tensor(x, [batch, kvHeads, keys, dim])),
  ];
  return {
    run: (gpu) => gpu.attention(...tensors(gpu), { causal, window, softCap }),
    expected: attention(q, k, v, sizes),
    limit: { abs: 1e-5, rel: 1e-4 },
  };
}

// ---- the list -------------------------------------------------------------------------------------------------------

const MATRICES = {
  '1x31x33': { m: 1, k: 31, n: 33 },
  '33x257x65': { m: 33, k: 257, n: 65 },
  '65x33x129, B transposed': { m: 65, k: 33, n: 129, transposeB: true },
  '3 of 17x40x19': { batch: 3, m: 17, k: 40, n: 19 },
};
const SOFTMAXES = {
  '31x257': { rows: 31, width: 257 },
  '3x1': { rows: 3, width: 1 },
  '2x10000, scale 0.5': { rows: 2, width: 10_000, scale: 0.5 },
  '33x40 causal': { rows: 33, width: 40, causal: true },
  '5x255, soft cap 5': { rows: 5, width: 255, softCap: 5 },
};
const NORMS = { '7x1': { rows: 7, width: 1 }, '5x257': { rows: 5, width: 257 }, '2x5000': { rows: 2, width: 5000 } };
const ROPES = {
  'split half, 5 heads of 32 from 0': { positions: 7, heads: 5, dim: 32, offset: 0 },
  'interleaved, 3 heads of 64 from 1000': { positions: 9, heads: 3, dim: 64, offset: 1000, interleaved: true },
  '24 of 80 dims from 100000': { positions: 3, heads: 1, dim: 80, rotated: 24, offset: 100_000 },
};
const HEADS = { batch: 1, heads: 4, kvHeads: 2, queries: 19, keys: 33, dim: 32 };
const ATTENTIONS = {
  '4 heads over 2, 19 queries, 33 keys': HEADS,
  causal: { ...HEADS, causal: true },
  'causal, window 7': { ...HEADS, causal: true, window: 7 },
  '2 of 1 head of 80, soft cap 10': { ...HEADS, batch: 2, heads: 1, kvHeads: 1, dim: 80, softCap: 10 },
};
const SINKHORNS = {
  '2x2, 20 iterations': { batch: 1, n: 2, iterations: 20 },
  '3 of 31x31, 10 iterations': { batch: 3, n: 31, iterations: 10 },
  '100x100, 10 iterations': { batch: 1, n: 100, iterations: 10 },
};

/** `[kernel, case, make]`: `make(random)` gives `{run, expected, limit}`. */
const CASES = [
  ...Object.keys(UNARY).map((op) => ['elementwise', op, (random) => unaryCase(op, random)]),
  ...Object.keys(BINARY).map((op) => ['elementwise', op, (random) => binaryCase(op, random)]),
  ['elementwise', 'where', whereCase],
  ['elementwise', 'fuse, 16 steps', fuseCase],
  ...sized('mat_mul', MATRICES, matmulCase),
  ...sized('softmax', SOFTMAXES, softmaxCase),
  ...sized('rms_norm', NORMS, rmsNormCase),
  ...sized('rope', ROPES, ropeCase),
  ...sized('attention', ATTENTIONS, attentionCase),
  ...sized('sinkhorn', SINKHORNS, sinkhornCase),
];

function sized(kernel, table, make) {
  return Object.entries(table).map(([name, sizes]) => [kernel, name, (random) => make(sizes, random)]);
}

/** Runs a case twice: the first time shaders compile, the second time is measured, with reading back. */
async function work(gpu, { run, expected, limit }) {
  const once = async () => {
    const result = gpu.scope(() => run(gpu));
    try {
      return await result.data();
    } finally {
      result.free();
    }
  };
  const found = await once();
  const started = performance.now();
  await once();
  const ms = performance.now() - started;
  const seen = compare(found, expected, limit);
  return { status: seen.first ? 'failed' : 'passed', ...seen, limit, ms };
}

/** The rows of these cases for the table. */
export function referenceCases(gpu, seed) {
  return CASES.map(([kernel, name, make]) => ({
    kernel,
    variant: VARIANT,
    case: name,
    work: () => work(gpu, make(new Random(seed, `${kernel} ${name}`))),
  }));
}
