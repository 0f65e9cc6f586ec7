// Cases of gradients: what `Gpu` computes, and the same in plain JavaScript and double precision, of which the tests
// take central differences. Both sides make the same numbers of a case's name.

import { blocksOf } from './blocks.mjs';
import { COMPUTE_CASES } from './gradient_cases_compute.mjs';

/** Uniform f32 numbers from a name (Mulberry32). */
export function numbers(name, count, low = -1, high = 1) {
  let state = [...name].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193), 7) >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return low + (high - low) * (((x ^ (x >>> 14)) >>> 0) / 2 ** 32);
  });
}

export const size = (shape) => shape.reduce((product, n) => product * n, 1);

/** The inputs of a case, `{values, shape}`; of the last `fixed` no gradient is taken. */
export const inputsOf = ({ name, inputs }) =>
  inputs.map(([shape, low, high], at) => ({ shape, values: numbers(`${name} ${at}`, size(shape), low, high) }));

/** What a result is multiplied with before it is added up: a gradient of its own for each element. */
export const weightsOf = ({ name }, count) => numbers(`${name} weights`, count, -1, 1);

const one = (name, shape, ...range) => ({ name, inputs: [[shape, ...range]] });
const u32 = (gpu, values, shape = [values.length]) => gpu.tensor(Uint32Array.from(values), shape);

// ---- element by element ---------------------------------------------------------------------------------------------

const RANGES = { log: [0.2, 3], sqrt: [0.2, 3], rsqrt: [0.3, 3], silu: [-4, 4], gelu: [-4, 4], geluErf: [-4, 4] };
const METHODS = { min: 'minimum', max: 'maximum' };
const UNARY = 'neg abs exp log sqrt rsqrt sin cos tanh sigmoid relu silu gelu geluErf'.split(' ');

const unary = (op) => ({
  ...one(op, [3, 5], ...(RANGES[op] ?? [-2, 2])),
  gpu: (gpu, x) => gpu[op](x),
  plain: ({ UNARY }, x) => x.values.map(UNARY[op]),
});

/** [5, 1, 3] with [7, 1]: both sides are repeated. */
const binary = (op) => ({
  name: op,
  inputs: [
    [[5, 1, 3], 0.3, 2],
    [[7, 1], 0.3, 2],
  ],
  gpu: (gpu, a, b) => gpu[METHODS[op] ?? op](a, b),
  plain: ({ BINARY, map }, a, b) => map(BINARY[op], [5, 7, 3], a, b),
});

const ELEMENTWISE = [
  ...UNARY.map(unary),
  ...['add', 'sub', 'mul', 'div', 'min', 'max', 'pow'].map(binary),
  {
    ...one('numbers on either side', [2, 3], 0.5, 2),
    gpu: (gpu, x) => gpu.sub(2, gpu.pow(gpu.div(3, gpu.scale(x, 0.7)), 1.5)),
    plain: (_, x) => x.values.map((v) => 2 - (3 / (v * 0.7)) ** 1.5),
  },
  {
    ...one('a power of 0, at 0', [3], 0, 0),
    gpu: (gpu, x) => gpu.add(gpu.pow(x, 0), x),
    plain: (_, x) => x.values.map((v) => v ** 0 + v),
  },
  {
    name: 'where',
    inputs: [[[4, 1]], [[1, 5]], [[4, 5]]],
    gpu: (gpu, c, a, b) => gpu.add(gpu.where(gpu.greater(c, 0), a, b), c),
    plain: ({ map }, c, a, b) => map((c, a, b) => (c > 0 ? a : b) + c, [4, 5], c, a, b),
  },
  {
    name: 'a formula of 16 steps over six broadcast tensors',
    fixed: 4, // each gradient is some shaders, which take SwiftShader half a second each
    inputs: [[[2, 3], 0.5, 1], [[3]], [[2, 1]], [[2, 3]], [[1]], [[3]]],
    gpu: (gpu, ...x) =>
      gpu.fuse(x, (a, b, c, d, e, f) => {
        const s = a.mul(b).add(c.sigmoid()).mul(d.gelu());
        return s.mul(s).add(e.mul(f).tanh()).mul(a.log()).add(b.greater(0).where(s, c)).sub(d.silu());
      }),
    plain: ({ UNARY: { sigmoid, gelu, silu }, map }, ...x) =>
      map(
        (a, b, c, d, e, f) => {
          const s = (a * b + sigmoid(c)) * gelu(d);
          return (s * s + Math.tanh(e * f)) * Math.log(a) + (b > 0 ? s : c) - silu(d);
        },
        [2, 3],
        ...x,
      ),
  },
  {
    ...one('used more than once', [2, 3]),
    gpu: (gpu, x) => gpu.add(gpu.mul(x, x), gpu.add(x, gpu.neg(gpu.copy(x)))),
    plain: (_, x) => x.values.map((v) => v * v),
  },
  {
    ...one('cast', [5]),
    gpu: (gpu, x) => gpu.mul(gpu.cast(gpu.cast(x, 'f16'), 'f32'), 3),
    plain: (_, x) => x.values.map((v) => 3 * v),
  },
];

// ---- matrices -------------------------------------------------------------------------------------------------------

/** A batch of products by definition; `at` and `bt` say which are transposed. */
function product(a, b, { at, bt }) {
  const turn = ({ values, shape: [z, n, m] }) => ({
    shape: [z, m, n],
    values: Float64Array.from(
      values,
      (_, i) => values[i - (i % (n * m)) + (i % n) * m + Math.floor((i % (n * m)) / n)],
    ),
  });
  const [left, right] = [at ? turn(a) : a, bt ? turn(b) : b];
  const [z, m, k] = left.shape;
  const [zb, , n] = right.shape;
  return Float64Array.from({ length: z * m * n }, (_, i) => {
    const [batch, row, column] = [Math.floor(i / (m * n)), Math.floor(i / n) % m, i % n];
    let sum = 0;
    for (let j = 0; j < k; j += 1) {
      sum += left.values[(batch * m + row) * k + j] * right.values[((zb === 1 ? 0 : batch) * k + j) * n + column];
    }
    return sum;
  });
}

const MATMULS = [
  { a: [3, 5], b: [5, 7] },
  { a: [3, 5], b: [7, 5], bt: true },
  { a: [5, 3], b: [5, 7], at: true },
  { a: [5, 3], b: [7, 5], at: true, bt: true },
  { a: [2, 3, 5], b: [2, 5, 4] },
  { a: [2, 3, 5], b: [4, 5], bt: true },
  { a: [2, 5, 3], b: [1, 5, 4], at: true },
];
const batched = (x) => ({ ...x, shape: [...Array(3 - x.shape.length).fill(1), ...x.shape] });

const matmul = ({ a, b, at, bt }) => ({
  name: `matmul [${a}]${at ? 'ᵀ' : ''} · [${b}]${bt ? 'ᵀ' : ''}`,
  inputs: [[a], [b]],
  gpu: (gpu, a, b) => gpu.matmul(a, b, { transposeA: at, transposeB: bt }),
  plain: (_, a, b) => product(batched(a), batched(b), { at, bt }),
});

const activated = (activation) => ({
  name: `matmul with bias, ${activation} and residual`,
  inputs: [[[3, 5]], [[4, 5]], [[4]], [[3, 4]]],
  gpu: (gpu, a, b, bias, residual) => gpu.matmul(a, b, { transposeB: true, bias, residual, activation }),
  plain: ({ UNARY }, a, b, bias, residual) =>
    product(batched(a), batched(b), { bt: true }).map(
      (y, i) => (UNARY[activation] ?? Number)(y + bias.values[i % 4]) + residual.values[i],
    ),
});

const gated = (rows, activation) =>
  Float64Array.from({ length: rows.length / 2 }, (_, i) => {
    const at = Math.floor(i / 4) * 8 + (i % 4);
    return activation(rows[at]) * rows[at + 4];
  });

/** A product with a matrix in blocks, which has no gradient itself. */
const throughBlocks = ([type, ofX, ofW, bt]) => {
  const w = blocksOf(type, ofW);
  const name = `matmul [${ofX}] · ${type} [${ofW}]${bt ? 'ᵀ' : ''}`;
  return {
    ...one(name, ofX),
    gpu: (gpu, x) => gpu.matmul(x, gpu.tensor(w.bytes, ofW, type), { transposeB: bt }),
    plain: (_, x) => product({ values: x.values, shape: [1, size(ofX) / ofX.at(-1), ofX.at(-1)] }, batched(w), { bt }),
  };
};

const BLOCKS = [
  ['q4_0', [9, 32], [35, 32], true],
  ['q6_k', [3, 256], [33, 256], true],
  ['iq4_nl', [2, 5, 64], [7, 64], true],
  ['q4_0', [3, 5], [5, 96], false],
].map(throughBlocks);

const HALVES = numbers('f16', 45).map((value) => Math.round(value * 256) / 256);

const MATRICES = [
  ...MATMULS.map(matmul),
  ...BLOCKS,
  {
    ...one('matmul [11,9] · f16 [5,9]ᵀ', [11, 9]),
    gpu: (gpu, x) => gpu.matmul(x, gpu.tensor(HALVES, [5, 9], 'f16'), { transposeB: true }),
    plain: (_, x) => product(batched(x), { values: HALVES, shape: [1, 5, 9] }, { bt: true }),
  },
  ...['none', 'relu', 'silu', 'gelu'].map(activated),
  {
    name: 'project',
    inputs: [[[3, 5]], [[4, 5]], [[5], 0.5, 1.5], [[4]]],
    gpu: (gpu, x, w, norm, bias) => gpu.project(x, w, { norm, bias, eps: 1e-3 }),
    plain: ({ rmsNorm }, x, w, norm, bias) => {
      const values = rmsNorm(x.values, norm.values, { eps: 1e-3 });
      return product(batched({ ...x, values }), batched(w), { bt: true }).map((y, i) => y + bias.values[i % 4]);
    },
  },
  {
    name: 'gateUp',
    inputs: [[[3, 5]], [[8, 5]], [[5], 0.5, 1.5]],
    gpu: (gpu, x, w, norm) => gpu.gateUp(x, w, { norm, activation: 'geglu' }),
    plain: ({ rmsNorm, UNARY }, x, w, norm) => {
      const values = rmsNorm(x.values, norm.values, { eps: 1e-5 });
      return gated(product(batched({ ...x, values }), batched(w), { bt: true }), UNARY.gelu);
    },
  },
  {
    ...one('gated', [3, 8], -2, 2),
    gpu: (gpu, x) => gpu.gated(x),
    plain: ({ UNARY }, x) => gated(x.values, UNARY.silu),
  },
];

// ---- movement -------------------------------------------------------------------------------------------------------

const picked = (x, places) => Float64Array.from(places, (place) => x.values[place]);

const MOVEMENT = [
  {
    ...one('reshape, transpose, expand', [2, 3, 2]),
    gpu: (gpu, x) => gpu.expand(gpu.transpose(gpu.reshape(x, [3, 4, 1]), [1, -1, 0]), [4, 2, 3]),
    plain: (_, x) =>
      picked(
        x,
        Array.from({ length: 24 }, (_, i) => (i % 3) * 4 + Math.floor(i / 6)),
      ),
  },
  {
    ...one('transpose of the last axes', [2, 3]),
    gpu: (gpu, x) => gpu.transpose(x),
    plain: (_, x) => picked(x, [0, 3, 1, 4, 2, 5]),
  },
  {
    name: 'narrow and concat',
    inputs: [[[2, 4]], [[2, 1]]],
    gpu: (gpu, a, b) => gpu.concat([gpu.narrow(a, 1, 1, 2), b, gpu.narrow(a, -1, 0, 2)], { axis: -1 }),
    plain: (_, a, b) =>
      Float64Array.from(
        [0, 1].flatMap((r) => [1, 2, -1, 0, 1].map((c) => (c < 0 ? b.values[r] : a.values[r * 4 + c]))),
      ),
  },
  {
    ...one('gather with an index twice', [2, 3, 2]),
    gpu: (gpu, x) => gpu.gather(x, u32(gpu, [2, 0, 2]), { axis: 1 }),
    plain: (_, x) => picked(x, [4, 5, 0, 1, 4, 5, 10, 11, 6, 7, 10, 11]),
  },
  {
    ...one('embedding', [4, 3]),
    gpu: (gpu, x) => gpu.embedding(x, u32(gpu, [3, 1, 3, 3])),
    plain: (_, x) => picked(x, [9, 10, 11, 3, 4, 5, 9, 10, 11, 9, 10, 11]),
  },
  {
    name: 'scatterAdd with an index outside',
    inputs: [[[3, 2]], [[4, 2]]],
    gpu: (gpu, base, values) => gpu.scatterAdd(base, u32(gpu, [1, 7, 0, 1]), values),
    plain: (_, { values: base }, { values: v }) =>
      Float64Array.of(base[0] + v[4], base[1] + v[5], base[2] + v[0] + v[6], base[3] + v[1] + v[7], base[4], base[5]),
  },
];

// ---- along an axis --------------------------------------------------------------------------------------------------

/** Lines of [2, 3, 4] along axis 1, each through `f`. */
function lines(x, f) {
  const out = Array.from({ length: 8 }, (_, i) =>
    f([0, 1, 2].map((r) => x.values[Math.floor(i / 4) * 12 + r * 4 + (i % 4)])),
  );
  return Float64Array.from(out);
}
const sum = (list) => list.reduce((a, b) => a + b, 0);
const REDUCE = {
  sum,
  mean: (list) => sum(list) / list.length,
  prod: (list) => list.reduce((a, b) => a * b, 1),
  max: (list) => Math.max(...list),
  min: (list) => Math.min(...list),
};
const rows = (values, width, f) =>
  Float64Array.from({ length: values.length / width }, (_, i) => i).reduce((out, i) => {
    out.set(f(Float64Array.from(values.slice(i * width, (i + 1) * width)), i), i * width);
    return out;
  }, new Float64Array(values.length));

const layerNorm = (row, eps) => {
  const mean = sum([...row]) / row.length;
  const variance = sum([...row].map((v) => (v - mean) ** 2)) / row.length;
  return row.map((v) => (v - mean) / Math.sqrt(variance + eps));
};
const rmsNorm = (row, eps) => row.map((v) => v / Math.sqrt(sum([...row].map((u) => u * u)) / row.length + eps));
const NORM_INPUTS = [[[3, 5]], [[5], 0.5, 1.5], [[5]], [[3, 5]]];

const norm = (method, plain) => ({
  name: `${method} with weight, bias, residual and their sum`,
  inputs: NORM_INPUTS,
  gpu: (gpu, x, weight, bias, residual) => {
    const [y, v] = gpu[method](x, weight, { bias, residual, eps: 1e-2, weightOffset: 1, sum: true });
    return gpu.concat([y, v]);
  },
  plain: (_, x, weight, bias, residual) => {
    const v = Float64Array.from(x.values, (value, i) => value + residual.values[i]);
    const y = rows(v, 5, (row) => plain(row, 1e-2).map((n, i) => n * (1 + weight.values[i]) + bias.values[i]));
    return Float64Array.of(...y, ...v);
  },
});

const ROWS = [
  ...Object.entries(REDUCE).flatMap(([op, f]) => [
    {
      ...one(`${op} along an axis`, [2, 3, 4]),
      gpu: (gpu, x) => gpu[op](x, { axis: -2 }),
      plain: (_, x) => lines(x, f),
    },
    {
      ...one(`${op} of all`, [2, 3]),
      gpu: (gpu, x) => gpu[op](x, { keepDims: true }),
      plain: (_, x) => Float64Array.of(f([...x.values])),
    },
  ]),
  {
    ...one('prod with zeros', [3, 3]),
    gpu: (gpu, x) => gpu.prod(gpu.mul(x, gpu.tensor([0, 1, 1, 0, 0, 1, 1, 1, 1], [3, 3])), { axis: 1 }),
    plain: (_, x) =>
      Float64Array.of(...[0, 0, 1].map((on, r) => on * REDUCE.prod([...x.values.slice(r * 3, r * 3 + 3)]))),
    // The mask is in the way of the differences: d/dx₀ of 0·x₀·x₁·x₂ is 0 all the same.
  },
  ...[true, false].map((exclusive) => ({
    ...one(`cumsum${exclusive ? ', exclusive' : ''}`, [2, 4]),
    gpu: (gpu, x) => gpu.cumsum(x, { axis: 1, exclusive }),
    plain: (_, x) => rows(x.values, 4, (row) => row.map((_, i) => sum([...row.slice(0, exclusive ? i : i + 1)]))),
  })),
  {
    ...one('topK', [3, 5]),
    gpu: (gpu, x) => gpu.topK(x, 2).values,
    plain: (_, x) =>
      Float64Array.from(
        [0, 1, 2].flatMap((r) => [...x.values.slice(r * 5, r * 5 + 5)].sort((a, b) => b - a).slice(0, 2)),
      ),
  },
  {
    name: 'softmax, causal, with scale, cap and mask',
    inputs: [[[2, 3, 4], -3, 3], [[3, 4]]],
    gpu: (gpu, x, mask) => gpu.softmax(x, { mask, causal: true, scale: 0.7, softCap: 2 }),
    plain: ({ softmax }, x, mask) => {
      const z = Float64Array.from(x.values, (v, i) => 2 * Math.tanh((v * 0.7) / 2) + mask.values[i % 12]);
      return softmax(z, 4, { allowed: (row, column) => column <= (row % 3) + 1 });
    },
  },
  {
    ...one('softmax', [3, 5], -3, 3),
    gpu: (gpu, x) => gpu.softmax(x),
    plain: ({ softmax }, x) => softmax(Float64Array.from(x.values), 5),
  },
  norm('rmsNorm', rmsNorm),
  norm('layerNorm', layerNorm),
  {
    ...one('layerNorm alone', [2, 7]),
    gpu: (gpu, x) => gpu.layerNorm(x),
    plain: (_, x) => rows(x.values, 7, (row) => layerNorm(row, 1e-5)),
  },
];

// ---- language models ------------------------------------------------------------------------------------------------

const HEADS = { batch: 2, heads: 4, kvHeads: 2, queries: 3, keys: 5, dim: 4 };
const attention = (name, options) => ({
  name: `attention, ${name}`,
  inputs: [
    [[2, 4, 3, 4], -2, 2],
    [[2, 2, 5, 4], -2, 2],
    [[2, 2, 5, 4], -2, 2],
  ],
  gpu: (gpu, q, k, v) => gpu.attention(q, k, v, options),
  plain: ({ attention }, ...x) =>
    attention(...x.map(({ values }) => Float64Array.from(values)), { ...HEADS, ...options }),
});

const logLoss = (rows, targets, width) => {
  const losses = targets.map((target, r) => {
    const row = [...rows.slice(r * width, (r + 1) * width)];
    return target < 0 ? 0 : Math.log(sum(row.map(Math.exp))) - row[target];
  });
  return Float64Array.of(sum(losses) / targets.filter((target) => target >= 0).length);
};
const TARGETS = [4, -1, 0, 2, 4];
const targets = (gpu) => gpu.tensor(Int32Array.from(TARGETS));

/** By the definition; `of` says what of y and the last state. */
function scanned({ x, delta, a, b, c, d, state }) {
  const [[batch, length, channels], n] = [x.shape, a.shape[1]];
  const h = state ? Float64Array.from(state.values) : new Float64Array(batch * channels * n);
  const y = new Float64Array(batch * length * channels);
  for (let i = 0; i < y.length; i += 1) {
    const [row, channel] = [Math.floor(i / channels), i % channels];
    y[i] = d ? d.values[channel] * x.values[i] : 0;
    for (let j = 0; j < n; j += 1) {
      const at = (Math.floor(row / length) * channels + channel) * n + j;
      const kept = Math.exp(delta.values[i] * a.values[channel * n + j]) * h[at];
      h[at] = kept + delta.values[i] * b.values[row * n + j] * x.values[i];
      y[i] += c.values[row * n + j] * h[at];
    }
  }
  return { y, h };
}

const scan = (name, [batch, length, channels, n], isWhole) => {
  const rows = [batch, length, channels];
  const all = [[rows], [rows, 0.1, 1], [[channels, n], -2, -0.1], [[batch, length, n]], [[batch, length, n]]];
  const named = ([x, delta, a, b, c, d, state]) => ({ x, delta, a, b, c, d, state });
  return {
    name: `selectiveScan, ${name}`,
    inputs: isWhole ? [...all, [[channels]], [[batch, channels, n]]] : all,
    gpu: (gpu, ...inputs) => {
      const { y, state } = gpu.selectiveScan(named(inputs));
      return isWhole ? gpu.concat([gpu.reshape(y, [-1]), gpu.reshape(state, [-1])]) : y;
    },
    plain: (_, ...inputs) => {
      const { y, h } = scanned(named(inputs));
      return isWhole ? Float64Array.of(...y, ...h) : y;
    },
  };
};

/** Three experts; token 2 has one that does not exist. */
const IDS = [0, 2, 1, 0, 2, 9, 1, 2];
const experts = (ofX, isWeighted) => ({
  name: `matmulGrouped of [${ofX}]${isWeighted ? ' with weights' : ''}`,
  inputs: [[ofX], [[3, 5, 3]], ...(isWeighted ? [[[4, 2]]] : [])],
  gpu: (gpu, x, w, weights) => gpu.matmulGrouped(x, w, u32(gpu, IDS, [4, 2]), weights),
  plain: (_, x, w, weights) => {
    const y = new Float64Array(isWeighted ? 20 : 40);
    IDS.forEach((expert, slot) => {
      const from = (ofX.length === 2 ? Math.floor(slot / 2) : slot) * 3;
      for (let row = 0; row < 5 && expert < 3; row += 1) {
        const product = sum([0, 1, 2].map((i) => w.values[(expert * 5 + row) * 3 + i] * x.values[from + i]));
        y[(isWeighted ? Math.floor(slot / 2) : slot) * 5 + row] += product * (weights?.values[slot] ?? 1);
      }
    });
    return y;
  },
});

const MODELS = [
  scan('y alone', [1, 1, 2, 1], false),
  scan('with d, a state and the last state', [2, 4, 3, 2], true),
  experts([4, 3], true),
  experts([4, 2, 3], false),
  attention('four heads over two', {}),
  attention('causal with a window and a cap', { causal: true, window: 2, softCap: 3 }),
  {
    name: 'attention in the other layout with a mask',
    inputs: [[[3, 2, 4], -2, 2], [[5, 1, 4], -2, 2], [[5, 1, 4], -2, 2], [[3, 1]]],
    gpu: (gpu, q, k, v, bias) => {
      const mask = gpu.mul(bias, gpu.tensor([1, 2, 0, 1, 3]));
      return gpu.attention(q, k, v, { layout: 'bshd', scale: 0.4, mask });
    },
    plain: ({ softmax }, q, k, v, bias) => {
      const out = new Float64Array(24);
      for (let at = 0; at < 6; at += 1) {
        const [query, mask] = [[...q.values.slice(at * 4, at * 4 + 4)], bias.values[Math.floor(at / 2)]];
        const scores = [1, 2, 0, 1, 3].map(
          (m, j) => 0.4 * sum(query.map((x, i) => x * k.values[j * 4 + i])) + mask * m,
        );
        const shares = softmax(Float64Array.from(scores), 5);
        for (let i = 0; i < 4; i += 1) out[at * 4 + i] = sum([...shares].map((p, j) => p * v.values[j * 4 + i]));
      }
      return out;
    },
  },
  {
    name: 'attention of single heads, in the other layout',
    inputs: [
      [[3, 5], -2, 2],
      [[4, 5], -2, 2],
      [[4, 5], -2, 2],
    ],
    gpu: (gpu, q, k, v) => gpu.attention(q, k, v, { layout: 'bshd', mask: gpu.tensor([0, -Infinity, 1, 2]) }),
    plain: ({ softmax }, q, k, v) => {
      const scores = [0, 1, 2].flatMap((i) =>
        [0, -Infinity, 1, 2].map(
          (m, j) => m + sum([0, 1, 2, 3, 4].map((d) => q.values[i * 5 + d] * k.values[j * 5 + d])) / Math.sqrt(5),
        ),
      );
      const shares = softmax(Float64Array.from(scores), 4);
      return Float64Array.from({ length: 15 }, (_, i) =>
        sum([0, 1, 2, 3].map((j) => shares[Math.floor(i / 5) * 4 + j] * v.values[j * 5 + (i % 5)])),
      );
    },
  },
  ...[true, false].map((interleaved) => ({
    ...one(`rope${interleaved ? ', interleaved' : ''}`, [2, 3, 2, 6]),
    gpu: (gpu, x) =>
      gpu.rope(x, {
        layout: 'bshd',
        pairing: interleaved ? 'interleaved' : 'splitHalf',
        dims: 4,
        position: 3,
        base: 50,
      }),
    plain: ({ rope }, x) =>
      rope(x.values, { positions: 3, heads: 2, dim: 6, rotated: 4, base: 50, offset: 3, interleaved }),
  })),
  {
    ...one('rope with a table', [1, 2, 3, 4]),
    gpu: (gpu, x) => gpu.rope(x, { table: gpu.ropeTable({ positions: 6, dims: 4 }), position: 2 }),
    plain: ({ rope }, x) =>
      Float64Array.of(
        ...[0, 1].flatMap((h) => [
          ...rope(x.values.slice(h * 12, h * 12 + 12), { positions: 3, heads: 1, dim: 4, offset: 2 }),
        ]),
      ),
  },
  {
    ...one('crossEntropy', [5, 7], -3, 3),
    gpu: (gpu, x) => gpu.crossEntropy(x, targets(gpu)),
    plain: (_, x) => logLoss(x.values, TARGETS, 7),
  },
  {
    name: 'crossEntropy of states, two rows at a time',
    inputs: [
      [[5, 3], -2, 2],
      [[7, 3], -2, 2],
    ],
    gpu: (gpu, x, weights) => gpu.crossEntropy(x, targets(gpu), { weights, rows: 2 }),
    plain: (_, x, w) => logLoss(product(batched(x), batched(w), { bt: true }), TARGETS, 7),
  },
  {
    name: 'checkpoint',
    inputs: [[[3, 4]], [[4, 4]], [[4]]],
    gpu: (gpu, x, w, b) => {
      const block = (x) => gpu.tanh(gpu.matmul(x, w, { bias: b }));
      return gpu.checkpoint(
        block,
        gpu.checkpoint((h) => gpu.mul(gpu.checkpoint(block, h), x), x),
      );
    },
    plain: (_, x, w, b) => {
      const block = (values) =>
        product(batched({ ...x, values }), batched(w), {}).map((y, i) => Math.tanh(y + b.values[i % 4]));
      return block(block(x.values).map((y, i) => y * x.values[i]));
    },
  },
];

export const CASES = [...ELEMENTWISE, ...MATRICES, ...MOVEMENT, ...ROWS, ...MODELS, ...COMPUTE_CASES];

/** The gradients that `gpu` has for a case, an array of numbers for each input. */
export async function gradientsOn(gpu, item) {
  const inputs = inputsOf(item).map(({ values, shape }) => gpu.tensor(values, shape));
  const loss = () => {
    const y = item.gpu(gpu, ...inputs);
    return gpu.sum(gpu.mul(y, gpu.tensor(weightsOf(item, y.size), y.shape)));
  };
  const gradients = gpu.grad(loss, inputs.slice(0, inputs.length - (item.fixed ?? 0)));
  const found = await Promise.all(gradients.map((gradient) => gradient.data()));
  const shapes = gradients.map(({ shape }) => String(shape));
  gpu.free(inputs, gradients);
  return { shapes, gradients: found.map((values) => [...values]) };
}

/** The same by central differences of the plain form. */
export function differences(references, item) {
  const inputs = inputsOf(item).map(({ values, shape }) => ({ values: Float64Array.from(values), shape }));
  const loss = () => {
    const y = item.plain(references, ...inputs);
    const weights = weightsOf(item, y.length);
    return y.reduce((total, value, i) => total + value * weights[i], 0);
  };
  const step = 1e-5;
  return inputs.slice(0, inputs.length - (item.fixed ?? 0)).map(({ values }) =>
    [...values].map((value, at) => {
      const [up, down] = [value + step, value - step].map((moved) => {
        values[at] = moved;
        return loss();
      });
      values[at] = value;
      return (up - down) / (2 * step);
    }),
  );
}
