// Cases of gradients of what `webgguf/compute` adds; see gradient_cases.mjs.

import * as reference from '../page/compute_reference.mjs';

const plainOf = ({ values, shape }) => ({ values: Array.from(values), shape });
const one = (name, shape, ...range) => ({ name, inputs: [[shape, ...range]] });

/** Shapes of x, w and, if there is one, the bias. */
const convolution = (method, [ofX, ofW, bias], options = {}) => ({
  name: `${method} [${ofX}] with [${ofW}] ${JSON.stringify(options)}`,
  inputs: [[ofX], [ofW], ...(bias ? [[[bias]]] : [])],
  gpu: (gpu, x, w, bias) => gpu[method](x, w, { ...options, bias }),
  plain: (_, x, w, bias) => {
    const compute = method.startsWith('convT') ? reference.convTranspose : reference.conv;
    return compute(plainOf(x), plainOf(w), { ...options, bias: bias && Array.from(bias.values) }).values;
  },
});

/** More tensors and operations than one dispatch of `fuse` of the core takes. */
const REGION = {
  name: 'a formula of 23 steps over eight tensors',
  fixed: 6,
  inputs: [[[2, 3]], [[3]], [[2, 1]], [[2, 3]], [[1]], [[3]], [[2, 3]], [[2, 1]]],
  gpu: (gpu, ...x) => gpu.fuse(x, (...x) => x.map((v, i) => v.mul(x[(i + 3) % 8]).sin()).reduce((a, b) => a.add(b))),
  plain: ({ map }, ...x) => map((...x) => x.reduce((sum, v, i) => sum + Math.sin(v * x[(i + 3) % 8]), 0), [2, 3], ...x),
};

const CONVOLUTIONS = [
  convolution('conv1d', [[2, 3, 9], [4, 3, 3], 4], { stride: 2, padding: 1, activation: 'relu' }),
  convolution('conv2d', [[2, 2, 5, 4], [9, 2, 3, 2], 9], { padding: [1, 0] }),
  convolution(
    'conv2d',
    [
      [1, 4, 7, 6],
      [6, 2, 2, 3],
    ],
    { stride: [3, 2], padding: [0, 2], dilation: [2, 1], groups: 2 },
  ),
  convolution('conv2d', [[2, 3, 4, 4], [3, 1, 3, 3], 3], { padding: 1, groups: 3, activation: 'silu' }),
  convolution(
    'conv3d',
    [
      [1, 2, 3, 4, 3],
      [2, 2, 2, 2, 1],
    ],
    { stride: [1, 2, 2], padding: [1, 0, 0] },
  ),
  convolution('convTranspose1d', [[2, 3, 4], [3, 2, 3], 2], { stride: 2, padding: 1, outputPadding: 1 }),
  convolution(
    'convTranspose2d',
    [
      [1, 4, 3, 2],
      [4, 2, 2, 3],
    ],
    { stride: [1, 2], dilation: [3, 1], groups: 2, outputPadding: [2, 0] },
  ),
  convolution(
    'convTranspose3d',
    [
      [1, 1, 2, 2, 2],
      [1, 2, 2, 1, 2],
    ],
    { padding: [1, 0, 0] },
  ),
];

const pooling = (method, shape, options) => ({
  ...one(`${method} ${JSON.stringify(options)}`, shape),
  gpu: (gpu, x) => gpu[method](x, options),
  plain: (_, x) => reference.pool(method.slice(0, 3), plainOf(x), options).values,
});

const padding = (pairs, options) => ({
  ...one(`pad ${JSON.stringify(options)}`, [2, 4, 3]),
  gpu: (gpu, x) => gpu.pad(x, pairs, options),
  plain: (_, x) => reference.pad(plainOf(x), [[0, 0], ...pairs], options).values,
});

const PAIRS = [
  [2, 1],
  [0, 2],
];

const resizing = (shape, size, options) => ({
  ...one(`upsample to [${size}] ${JSON.stringify(options)}`, shape),
  gpu: (gpu, x) => gpu.upsample(x, { size, ...options }),
  plain: (_, x) => reference.upsample(plainOf(x), size, options).values,
});

const norm = (name, gpu, plain) => ({ name, inputs: [[[2, 4, 3]], [[4], 0.5, 1.5], [[4]]], gpu, plain });

const GRIDS = [
  pooling('maxPool1d', [2, 3, 9], { kernel: 3, padding: 1, stride: 2 }),
  pooling('maxPool2d', [1, 2, 5, 6], { kernel: [2, 3], stride: 1 }),
  pooling('avgPool2d', [1, 2, 5, 4], { kernel: 3, stride: 2, padding: 1, countIncludePad: false }),
  pooling('avgPool3d', [1, 1, 3, 4, 5], { kernel: 2, padding: [1, 0, 1] }),
  padding(PAIRS, { value: 3 }),
  padding(PAIRS, { mode: 'reflect' }),
  padding(PAIRS, { mode: 'edge' }),
  resizing([1, 2, 3], [7], {}),
  resizing([1, 2, 3, 4], [5, 7], { mode: 'bilinear' }),
  resizing([2, 1, 5, 3], [3, 6], { mode: 'linear', alignCorners: true }),
  norm(
    'groupNorm',
    (gpu, x, weight, bias) => gpu.groupNorm(x, { groups: 2, weight, bias, eps: 1e-2 }),
    (_, x, weight, bias) => {
      const given = { groups: 2, weight: weight.values, bias: bias.values, eps: 1e-2 };
      return reference.normalise(plainOf(x), given).values;
    },
  ),
  norm(
    'batchNorm',
    (gpu, x, variance, mean) => gpu.batchNorm(x, mean, variance),
    (_, x, variance, mean) => reference.normalise(plainOf(x), { variance: variance.values, mean: mean.values }).values,
  ),
  {
    ...one('hardSwish, leakyRelu and elu', [3, 5], -4, 4),
    gpu: (gpu, x) => gpu.add(gpu.hardSwish(x), gpu.mul(gpu.leakyRelu(x), gpu.elu(x, { alpha: 0.7 }))),
    plain: (_, x) =>
      x.values.map((v) => {
        const [leaky, elu] = v > 0 ? [v, v] : [0.01 * v, 0.7 * Math.expm1(v)];
        return (v * Math.min(Math.max(v + 3, 0), 6)) / 6 + leaky * elu;
      }),
  },
  {
    ...one('globalMaxPool and globalAvgPool', [2, 2, 3, 2]),
    gpu: (gpu, x) => gpu.mul(gpu.globalMaxPool(x), gpu.globalAvgPool(x)),
    plain: (_, x) => {
      const of = (kind) => reference.pool(kind, plainOf(x), { kernel: [3, 2] }).values;
      const means = of('avg');
      return of('max').map((most, i) => most * means[i]);
    },
  },
];

/** Pairs of real numbers. */
const complex = (values) => [...values].flatMap((value) => [value, 0]);
const firstBins = (pairs, length) => pairs.filter((_, i) => (i >> 1) % length <= length / 2);

/** The inverse of the whole transform that `bins` are half of. */
function inverse(bins, length) {
  const half = Math.floor(length / 2) + 1;
  const whole = Array.from({ length }, (_, bin) => {
    const [at, sign] = bin < half ? [bin, 1] : [length - bin, -1];
    return [bins[2 * at], at === 0 || 2 * at === length ? 0 : sign * bins[2 * at + 1]];
  });
  return reference.dft(whole.flat(), length, true).filter((_, i) => i % 2 === 0);
}

const FOURIER = [
  ...['fft', 'ifft'].map((method) => ({
    ...one(method, [2, 6, 2]),
    gpu: (gpu, x) => gpu[method](x),
    plain: (_, x) => reference.dft(Array.from(x.values), 6, method === 'ifft'),
  })),
  ...[7, 8].flatMap((length) => [
    {
      ...one(`rfft of ${length}`, [2, length]),
      gpu: (gpu, x) => gpu.rfft(x),
      plain: (_, x) => firstBins(reference.dft(complex(x.values), length), length),
    },
    {
      ...one(`irfft of ${length}`, [Math.floor(length / 2) + 1, 2]),
      gpu: (gpu, x) => gpu.irfft(x, { length }),
      plain: (_, x) => inverse(x.values, length),
    },
  ]),
  {
    name: 'stft',
    inputs: [[[2, 11]], [[4], 0.5, 1]],
    gpu: (gpu, x, window) => gpu.stft(x, { window, hop: 3 }),
    plain: (_, x, window) =>
      [0, 11].flatMap((row) =>
        [0, 3, 6].flatMap((start) => {
          const frame = Array.from(window.values, (factor, i) => factor * x.values[row + start + i]);
          return firstBins(reference.dft(complex(frame), 4), 4);
        }),
      ),
  },
];

export const COMPUTE_CASES = [REGION, ...CONVOLUTIONS, ...GRIDS, ...FOURIER];
