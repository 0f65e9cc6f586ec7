// In the page of compute.test.mjs: calls of every operation of `webgguf/compute` with odd shapes and every option,
// against compute_reference.mjs. A case is `[method, call]`; `call` gives pairs of a tensor and what it should be.

import * as reference from './compute_reference.mjs';

/** Numbers between -1 and 1, the same for a shape each time, as f16 and bf16 hold them. */
function numbers(shape, salt = 0) {
  let state = 12345 + salt;
  const values = Array.from({ length: reference.size(shape) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.round((state / 2 ** 31 - 1) * 128) / 128;
  });
  return { shape, values };
}

const upload = (gpu, { shape, values }, dtype = 'f32') => gpu.tensor(values, shape, dtype);
const vector = (length, salt) => numbers([length], salt).values;

/** What SciPy says of signals: tools/make_signal_fixtures.py. */
const SCIPY = await (await fetch('/fixtures/signal.json')).json();

/** A signal of the fixture. */
function signalOf({ x }) {
  const shape = Array.isArray(x[0]) ? [x.length, x[0].length] : [x.length];
  return { shape, values: x.flat().map((value) => value / SCIPY.unit) };
}

function welched(item) {
  return [
    'welch',
    (gpu) => {
      const signal = signalOf(item);
      const { frequencies, power } = gpu.welch(upload(gpu, signal), item.options);
      const odd = frequencies.findIndex((value, k) => Math.abs(value - item.frequencies[k]) > 1e-8 * value);
      if (odd >= 0) throw new Error(`bin ${odd} is ${frequencies[odd]}, expected ${item.frequencies[odd]}`);
      // Each row has its own scale: one may have an offset of hundreds.
      const bins = item.frequencies.length;
      return Array.from({ length: item.power.length / bins }, (_, row) => {
        const values = item.power.slice(row * bins, (row + 1) * bins);
        const most = Math.max(...values);
        const rows = gpu.reshape(power, [-1, bins]);
        const found = gpu.scale(gpu.narrow(rows, 0, row, 1), 1 / most);
        return [found, { shape: [1, bins], values: values.map((value) => value / most), limit: 2e-6 }];
      });
    },
  ];
}

/** Weights in blocks of 32 bytes with the scale 2^-7: Q8_0, which holds them without an error. */
function blocks(gpu, { shape, values }) {
  const bytes = values.map((value) => Math.min(Math.round(value * 128), 127));
  const blocked = Array.from({ length: values.length / 32 }, (_, i) => [
    0x00,
    0x20,
    ...bytes.slice(32 * i, 32 * i + 32),
  ]);
  const matrix = [shape[0], values.length / shape[0]];
  return [
    gpu.tensor(Uint8Array.from(blocked.flat()), matrix, 'q8_0'),
    { shape, values: bytes.map((byte) => byte / 128) },
  ];
}

/** A convolution whose weights are quantised: shapes of x and of w as if it were not. */
function multiplied(method, ofX, ofW, { bias, ...options } = {}, type = 'f32') {
  return [
    method,
    (gpu) => {
      const x = numbers(ofX);
      const [w, plain] = blocks(gpu, numbers(ofW, 1));
      const offsets = bias ? vector(ofW[0], 2) : undefined;
      const given = { ...options, kernel: ofW.slice(2), bias: offsets && gpu.tensor(offsets) };
      const like = { ...options, bias: offsets };
      for (const name of ['stride', 'padding', 'dilation']) like[name] &&= [like[name]].flat();
      return [[gpu[method](upload(gpu, x, type), w, given), reference.conv(x, plain, like)]];
    },
  ];
}

/** Lists of numbers, and how many they are, as pairs for `failure`. */
const lists = (gpu, found, expected) =>
  found.map((list, i) => [
    gpu.tensor([list.length, ...list]),
    { shape: [1 + expected[i].length], values: [expected[i].length, ...expected[i]], limit: 1e-6 },
  ]);

function peaked({ options, rows, ...item }) {
  return [
    'findPeaks',
    async (gpu) => {
      const found = await gpu.findPeaks(upload(gpu, signalOf(item)), options);
      if (found.length !== rows.length) throw new Error(`${found.length} rows, expected ${rows.length}`);
      return found.flatMap(({ indices, heights, prominences }, row) =>
        lists(gpu, [indices, heights, prominences], rows[row]),
      );
    },
  ];
}

/** Tones in two channels: their frequencies are where SciPy's peaks of SciPy's spectrum would be. */
const TONES = [
  'welchPeaks',
  async (gpu) => {
    const tones = [
      [440, 1000],
      [700, 2500.5],
    ];
    const wave = (i) => (f) => Math.sin((2 * Math.PI * f * i) / 8000);
    const rows = tones.map((row) =>
      Float32Array.from({ length: 8192 }, (_, i) => 3 + wave(i)(row[0]) + wave(i)(row[1])),
    );
    const x = gpu.tensor(Float32Array.from(rows.flatMap((row) => [...row])), [2, 8192], 'f16');
    const found = await gpu.welchPeaks(x, { sampleRate: 8000, segmentLength: 2048, prominence: 1e-3, distance: 5 });
    const bin = 8000 / 2048;
    return tones.flatMap((row, i) => {
      const nearest = row.map((f) => Math.round(f / bin));
      const { indices, frequencies } = found[i];
      return lists(gpu, [indices, frequencies], [nearest, nearest.map((k) => k * bin)]);
    });
  },
];

/** Neighbours of these points: distances of the k nearest, and of the named ones. */
function neighbours({ shape, values }, options, isSame = false) {
  return [
    'knn',
    async (gpu) => {
      const { indices, distances } = gpu.knn(gpu.tensor(values, shape), options);
      const expected = reference.knn({ shape, values: Array.from(Float32Array.from(values)) }, options);
      const named = Array.from(await indices.data(), (b, i) => expected.between(Math.floor(i / options.k), b));
      const own = Array.from(await indices.data()).some((b, i) => b === Math.floor(i / options.k));
      const twice = expected.rows(await indices.data()).some((row) => new Set(row).size < row.length);
      if (own || twice) throw new Error(own ? 'a point is its own neighbour' : 'a neighbour comes twice');
      const all = { shape: [shape[0], options.k], limit: 1e-6 };
      return [
        [distances, { ...all, values: expected.distances }],
        [gpu.tensor(named, all.shape), { ...all, values: expected.distances }],
        // With numbers whose squares have no error, equals are in their order, too.
        ...(isSame ? [[indices, { ...all, values: expected.indices }]] : []),
      ];
    },
  ];
}

/** Attention over many queries: those of sizes.queries, of all heads that share keys, are more than a tile has. */
function attended(sizes, { masked, dtype, ...options } = {}) {
  const { batch, heads, shared, queries, keys, dim } = sizes;
  const ordered = (heads, positions) =>
    options.layout === 'bshd' ? [batch, positions, heads, dim] : [batch, heads, positions, dim];
  const [q, k, v] = [ordered(heads, queries), ordered(shared, keys), ordered(shared, keys)].map(numbers);
  // The first query sees no key, the others not those of which a number is below a half.
  const hide = (value, i) => (i < keys || value < -0.5 ? -Infinity : value);
  const mask = masked && { shape: [queries, keys], values: numbers([queries, keys], 3).values.map(hide) };
  return [
    'attention',
    (gpu) => {
      let tiles = 0;
      const { inTiles } = gpu;
      gpu.inTiles = (...given) => {
        tiles += 1;
        return inTiles.apply(gpu, given);
      };
      const given = [upload(gpu, q), upload(gpu, k, dtype), upload(gpu, v, dtype)];
      const y = gpu.attention(...given, { ...options, ...(mask && { mask: upload(gpu, mask) }) });
      delete gpu.inTiles;
      if (tiles !== 1) throw new Error('these queries are not many');
      return [[y, { shape: q.shape, values: reference.attention(sizes, [q, k, v, mask], options), limit: 1e-5 }]];
    },
  ];
}

/** Points with few different numbers, many of which are equally near. */
const grainy = (shape) => {
  const { values } = numbers(shape, 3);
  return { shape, values: values.map((value) => Math.round(value * 1.5)) };
};

/** Points far from the origin and near to each other. */
const offCentre = (shape) => {
  const { values } = numbers(shape, 4);
  return { shape, values: values.map((value) => 500 + value / 32) };
};

/**
 * A formula over tensors of these shapes and types, on a device that binds `slots` tensors and a result at once. The
 * same function computes with numbers.
 */
function fused(given, shape, formula, { dtype, limit = 1e-5, slots } = {}) {
  return [
    'fuse',
    (gpu) => {
      const whole = (x, type) => (/32$/.test(type) && type !== 'f32' ? { ...x, values: x.values.map(Math.round) } : x);
      const inputs = given.map(([of, type = 'f32'], i) => whole(numbers(of, i), type));
      const tensors = inputs.map((x, i) => upload(gpu, x, given[i][1]));
      const { info } = gpu;
      if (slots) gpu.info = { ...info, limits: { ...info.limits, maxStorageBuffersPerShaderStage: slots + 1 } };
      const y = gpu.fuse(tensors, formula, { dtype });
      gpu.info = info;
      const onNumbers = (...values) => formula(...values.map(reference.numeric)).value;
      return [[y, { ...reference.broadcast(inputs, shape, onNumbers), limit }]];
    },
  ];
}

/** Every operation of expressions. */
const everything = (x, y) => {
  const positive = x.abs().add(0.25);
  const smooth = [x.neg(), x.exp(), positive.log(), positive.sqrt(), positive.rsqrt(), x.sin(), x.cos(), x.tanh()];
  const bent = [x.sigmoid(), x.relu(), x.silu(), x.gelu(), x.geluErf(), positive.pow(y), x.min(y), x.max(y)];
  const yesNo = [x.equal(y), x.notEqual(y), x.less(y), x.lessEqual(y), x.greater(y), x.greaterEqual(y)];
  const all = [...smooth, ...bent, ...yesNo, x.div(y.abs().add(1)), x.greater(0).where(y, x.mul(3))];
  return all.reduce((sum, value, i) => sum.add(value.mul(i + 1)));
};

/** Σ cos(x + x · the next) · a number, over as many tensors as are given: none can be done without. */
const chained = (...x) =>
  x
    .map((value, i) =>
      value
        .add(value.mul(x[(i + 1) % x.length]))
        .cos()
        .mul(i + 1.5),
    )
    .reduce((sum, value) => sum.add(value));

const SUM = (...x) => x.reduce((sum, value) => sum.add(value));
const FULL = [[3, 5, 7]];
const MIXED = [
  [[3, 5, 7]],
  [[5, 7], 'f16'],
  [[3, 1, 1], 'bf16'],
  [[1, 5, 1], 'i32'],
  [[], 'f32'],
  [[7], 'f16'],
  [[3, 5, 1]],
  [[1, 5, 7], 'bf16'],
];

function unary(method, options, formula) {
  return [
    method,
    (gpu) => {
      const x = numbers([3, 5, 7]);
      const values = x.values.map((value) => 4 * value);
      return [[gpu[method](gpu.tensor(values, x.shape), options), { shape: x.shape, values: values.map(formula) }]];
    },
  ];
}

function pooled(method, shape, options, dtype) {
  return [
    method,
    (gpu) => {
      const x = numbers(shape);
      return [[gpu[method](upload(gpu, x, dtype), options), reference.pool(method.slice(0, 3), x, options)]];
    },
  ];
}

function globally(method) {
  return [
    method,
    (gpu) => {
      const x = numbers([2, 3, 5, 7]);
      const expected = reference.pool(method === 'globalMaxPool' ? 'max' : 'avg', x, { kernel: [5, 7] });
      return [[gpu[method](upload(gpu, x, 'f16')), expected]];
    },
  ];
}

/** Shapes of x and w, options (`bias` says whether there is one), types of x and w. */
function convolved(method, [of_x, of_w], { bias = false, ...options } = {}, [x_type, w_type] = ['f32', 'f32']) {
  return [
    method,
    (gpu) => {
      const [x, w] = [numbers(of_x), numbers(of_w, 1)];
      const isTransposed = method.startsWith('convTranspose');
      const outputs = isTransposed ? of_w[1] * (options.groups ?? 1) : of_w[0];
      const offsets = bias ? vector(outputs, 2) : undefined;
      const given = { ...options, bias: offsets && gpu.tensor(offsets) };
      const found = gpu[method](upload(gpu, x, x_type), upload(gpu, w, w_type), given);
      const compute = isTransposed ? reference.convTranspose : reference.conv;
      return [[found, compute(x, w, { ...options, bias: offsets })]];
    },
  ];
}

function normalised(method, shape, given) {
  return [
    method,
    (gpu) => {
      const x = numbers(shape);
      const { eps, groups, weight, bias } = given;
      const moments = { mean: vector(shape[1], 3), variance: vector(shape[1], 4).map((value) => value ** 2) };
      const vectors = { weight: weight && vector(shape[1], 5), bias: bias && vector(shape[1], 6) };
      const tensors = Object.fromEntries(
        Object.entries(vectors).map(([name, list]) => [name, list && gpu.tensor(list)]),
      );
      if (method === 'groupNorm') {
        const found = gpu.groupNorm(upload(gpu, x, 'f16'), { groups, eps, ...tensors });
        return [[found, reference.normalise(x, { groups, eps, ...vectors })]];
      }
      const [mean, variance] = [gpu.tensor(moments.mean), gpu.tensor(moments.variance)];
      const found = gpu.batchNorm(upload(gpu, x), mean, variance, { eps, ...tensors });
      return [[found, reference.normalise(x, { eps, ...moments, ...vectors })]];
    },
  ];
}

function padded(shape, pairs, options, dtype) {
  return [
    'pad',
    (gpu) => {
      const x = numbers(shape);
      const whole = [...Array(shape.length - pairs.length).fill([0, 0]), ...pairs];
      return [[gpu.pad(upload(gpu, x, dtype), pairs, options), reference.pad(x, whole, options)]];
    },
  ];
}

function resized(shape, to, options, given = {}) {
  return [
    'upsample',
    (gpu) => {
      const x = numbers(shape);
      return [[gpu.upsample(upload(gpu, x), { ...given, ...options }), reference.upsample(x, to, options)]];
    },
  ];
}

/** Transforms of rows, there and back; `fft` and `ifft` of pairs, `rfft` and `irfft` of real numbers. */
function transformed(shape, dtype) {
  const length = shape.at(-1);
  const bins = Math.floor(length / 2) + 1;
  const limit = 3e-6;
  const pairs = numbers([...shape, 2]);
  const real = numbers(shape);
  const whole = reference.dft(
    real.values.flatMap((value) => [value, 0]),
    length,
  );
  const half = whole.filter((_, i) => (i >> 1) % length < bins);
  return [
    ...['fft', 'ifft'].map((method) => [
      method,
      (gpu) => {
        const values = reference.dft(pairs.values, length, method === 'ifft');
        return [[gpu[method](upload(gpu, pairs, dtype)), { ...pairs, values, limit }]];
      },
    ]),
    [
      'rfft',
      (gpu) => [[gpu.rfft(upload(gpu, real, dtype)), { shape: [...shape.slice(0, -1), bins, 2], values: half, limit }]],
    ],
    [
      'irfft',
      (gpu) => {
        const spectrum = gpu.tensor(half, [...shape.slice(0, -1), bins, 2]);
        return [[gpu.irfft(spectrum, { length }), { ...real, limit }]];
      },
    ],
  ];
}

/** Frames of `length` times a window. */
function framed(shape, length, hop) {
  return [
    'stft',
    (gpu) => {
      const [x, window] = [numbers(shape), vector(length, 7)];
      const [frames, bins] = [Math.floor((shape.at(-1) - length) / hop) + 1, Math.floor(length / 2) + 1];
      const pairs = [];
      for (let row = 0; row < x.values.length; row += shape.at(-1)) {
        for (let frame = 0; frame < frames; frame += 1) {
          window.forEach((factor, i) => pairs.push(factor * x.values[row + frame * hop + i], 0));
        }
      }
      const values = reference.dft(pairs, length).filter((_, i) => (i >> 1) % length < bins);
      const found = gpu.stft(upload(gpu, x), { window: gpu.tensor(window), hop });
      return [[found, { shape: [...shape.slice(0, -1), frames, bins, 2], values, limit: 3e-6 }]];
    },
  ];
}

/** A long transform against that of the CPU, relative to its largest element. */
function long(length) {
  return [
    'fft',
    async (gpu) => {
      const { transform } = await import('/dist/fourier-transform.js');
      const pairs = numbers([length, 2]);
      const [re, im] = [0, 1].map((part) => Float64Array.from(pairs.values.filter((_, i) => i % 2 === part)));
      transform(re, im);
      const values = pairs.values.map((_, i) => (i % 2 === 0 ? re : im)[i >> 1]);
      return [[gpu.fft(gpu.tensor(pairs.values, [length, 2])), { ...pairs, values, limit: 3e-6 }]];
    },
  ];
}

export const CASES = [
  attended({ batch: 32, heads: 8, shared: 8, queries: 65, keys: 33, dim: 20 }),
  attended({ batch: 16, heads: 12, shared: 4, queries: 83, keys: 90, dim: 16 }, { causal: true, dtype: 'f16' }),
  attended(
    { batch: 9, heads: 32, shared: 16, queries: 35, keys: 67, dim: 24 },
    { layout: 'bshd', masked: true, scale: 0.4, softCap: 2 },
  ),
  attended({ batch: 128, heads: 1, shared: 1, queries: 129, keys: 129, dim: 7 }, { window: 9 }),
  unary('hardSwish', undefined, (x) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6),
  unary('leakyRelu', undefined, (x) => (x > 0 ? x : 0.01 * x)),
  unary('leakyRelu', { slope: 0.3 }, (x) => (x > 0 ? x : 0.3 * x)),
  unary('elu', { alpha: 0.7 }, (x) => (x > 0 ? x : 0.7 * Math.expm1(x))),
  normalised('batchNorm', [2, 3, 5, 7], { weight: true, bias: true }),
  normalised('batchNorm', [2, 3], { bias: true, eps: 0.1 }),
  normalised('batchNorm', [1, 9, 4], {}),
  normalised('groupNorm', [2, 6, 5, 7], { groups: 3, weight: true, bias: true }),
  normalised('groupNorm', [3, 4, 31], { groups: 1, eps: 0.1, weight: true }),
  pooled('maxPool1d', [2, 3, 31], { kernel: 4 }),
  pooled('avgPool1d', [2, 3, 31], { kernel: 3, stride: 2, padding: 1 }, 'f16'),
  pooled('maxPool2d', [1, 5, 9, 7], { kernel: [3, 2], stride: [2, 1], padding: [1, 0] }, 'bf16'),
  pooled('avgPool2d', [1, 5, 9, 7], { kernel: 3, stride: 2, padding: 1, countIncludePad: false }),
  pooled('maxPool3d', [2, 1, 4, 5, 6], { kernel: 2, stride: 1, padding: 1 }),
  pooled('avgPool3d', [2, 1, 4, 5, 6], { kernel: [2, 3, 5], stride: 2, padding: [1, 0, 2] }),
  globally('globalMaxPool'),
  globally('globalAvgPool'),
  padded(
    [2, 3, 4],
    [
      [1, 2],
      [0, 3],
    ],
    { value: 0.5 },
  ),
  padded(
    [2, 3, 5],
    [
      [1, 2],
      [4, 3],
    ],
    { mode: 'reflect' },
    'f16',
  ),
  padded([5], [[7, 9]], { mode: 'edge' }),
  padded(
    [1, 2, 3, 2, 3],
    [
      [1, 0],
      [0, 1],
      [1, 1],
      [2, 0],
      [0, 0],
    ],
  ),
  resized([2, 3, 5], [15], {}, { scale: 3 }),
  resized([1, 2, 3, 4], [7, 9], {}, { size: [7, 9] }),
  resized([1, 1, 70_000], [140_000], {}, { scale: 2 }),
  resized([1, 1, 70_000], [70_001], { mode: 'linear' }, { size: [70_001] }),
  resized([1, 2, 3, 4], [6, 4], { mode: 'linear' }, { scale: [2, 1] }),
  resized([1, 1, 3, 2], [5, 7], { mode: 'bilinear' }, { size: [5, 7] }),
  resized([2, 1, 5, 4], [3, 11], { mode: 'linear', alignCorners: true }, { size: [3, 11] }),
  convolved(
    'conv1d',
    [
      [2, 3, 31],
      [5, 3, 4],
    ],
    { stride: 3 },
  ),
  convolved(
    'conv1d',
    [
      [1, 40, 100],
      [70, 40, 5],
    ],
    { padding: 2, bias: true, activation: 'gelu' },
    ['f16', 'f32'],
  ),
  convolved(
    'conv2d',
    [
      [2, 3, 9, 11],
      [16, 3, 3, 3],
    ],
    { padding: 1, bias: true, activation: 'relu' },
  ),
  convolved(
    'conv2d',
    [
      [1, 6, 9, 8],
      [18, 3, 3, 2],
    ],
    { stride: [2, 1], padding: [2, 0], dilation: [1, 2], groups: 2 },
  ),
  convolved(
    'conv2d',
    [
      [2, 9, 8, 7],
      [9, 1, 3, 3],
    ],
    { padding: 1, groups: 9, activation: 'silu' },
    ['f32', 'f16'],
  ),
  convolved(
    'conv3d',
    [
      [2, 2, 4, 5, 6],
      [9, 2, 2, 3, 2],
    ],
    { stride: [1, 2, 3], padding: [1, 0, 1], bias: true },
  ),
  convolved(
    'convTranspose1d',
    [
      [2, 3, 7],
      [3, 5, 4],
    ],
    { stride: 2, padding: 1, outputPadding: 1 },
  ),
  convolved(
    'convTranspose2d',
    [
      [1, 4, 5, 3],
      [4, 9, 3, 3],
    ],
    { stride: [2, 3], padding: 1, groups: 2, bias: true },
  ),
  convolved(
    'convTranspose3d',
    [
      [1, 2, 3, 2, 2],
      [2, 8, 2, 1, 3],
    ],
    { dilation: [2, 1, 1], activation: 'relu' },
  ),
  ...[1, 2, 3, 8, 31].flatMap((length) => transformed([2, 3, length])),
  ...transformed([5, 64], 'f16'),
  ...transformed([2, 1000]),
  ...transformed([2048]),
  framed([2, 3, 100], 32, 10),
  framed([200], 30, 7),
  framed([2, 2500], 2048, 100),
  long(2 ** 16),
  long(2 ** 17),
  long(2 ** 20),
  multiplied('conv2d', [2, 64, 5, 7], [9, 64, 1, 1], { bias: true, activation: 'relu' }),
  multiplied('conv2d', [1, 32, 9, 8], [70, 32, 3, 2], { stride: [2, 3], padding: [1, 2], dilation: [1, 2] }, 'f16'),
  multiplied('conv1d', [3, 32, 31], [5, 32, 3], { stride: [2], activation: 'silu' }),
  multiplied('conv3d', [1, 16, 3, 4, 5], [3, 16, 2, 1, 2], { padding: [1, 0, 0], stride: [1, 1, 2] }),
  ...SCIPY.welch.map(welched),
  fused([FULL, [[5, 1]]], FULL[0], everything, { limit: 1e-6 }),
  fused(MIXED, FULL[0], chained),
  fused([...MIXED, ...MIXED], FULL[0], chained),
  fused([...MIXED, ...MIXED], FULL[0], chained, { slots: 7 }),
  fused(Array(16).fill(FULL), FULL[0], SUM, { slots: 7 }),
  fused(Array(16).fill([[3, 5, 7], 'bf16']), FULL[0], SUM, { slots: 7, limit: 1e-2 }),
  fused(Array(7).fill([[2, 1, 3, 1, 2], 'f16']), [2, 1, 3, 1, 2], chained, { dtype: 'f32' }),
  fused([...Array(4).fill([[129], 'i32']), ...Array(4).fill([[129], 'f16'])], [129], SUM),
  fused([[[4, 1]], [[1, 3]], [[1]], [[1, 1]], [[]], [[3]], [[4, 3]]], [4, 3], (a, b, c) => a.mul(b).sub(c)),
  ...SCIPY.peaks.map(peaked),
  TONES,
  neighbours(numbers([203, 37]), { k: 15 }),
  neighbours(numbers([203, 37]), { k: 15, metric: 'cosine' }),
  neighbours(grainy([131, 5]), { k: 9 }, true),
  neighbours(grainy([131, 3]), { k: 130, metric: 'cosine' }),
  neighbours(offCentre([77, 20]), { k: 7 }),
  neighbours(numbers([2, 1]), { k: 1 }, true),
];

/** Runs a case; what is wrong with it. */
export async function failure(gpu, [method, call]) {
  const pairs = await call(gpu);
  for (const [found, { shape, values, limit = 1e-5 }] of pairs) {
    if (`${found.shape}` !== `${shape}`) return `${method}: the shape is [${found.shape}], expected [${shape}]`;
    const data = await found.data();
    const scale = values.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
    const odd = values.findIndex((value, i) => !(Math.abs(data[i] - value) <= limit * scale));
    if (odd >= 0) return `${method} of ${found}: element ${odd} is ${data[odd]}, expected ${values[odd]}`;
  }
  return undefined;
}
