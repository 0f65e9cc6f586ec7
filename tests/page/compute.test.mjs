// `webgguf/compute` as a page uses it, on a real device: every operation against its definition in double precision,
// wrong use, lifetimes, shaders of a page's own.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { openSite } from './site.mjs';

const BLANK = '<!doctype html><title>compute</title>';
const site = await openSite({
  mounts: { '/page-tests/': path.join(ROOT, 'tests', 'page') },
  routes: { '/blank.html': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(BLANK) },
});
const page = await site.open('/blank.html');
after(() => page.close());

/** Runs `work` in the page with an open `Gpu` and the package. */
async function onGpu(work) {
  const run = `(async () => {
    const compute = await import('/dist/compute/index.js');
    globalThis.gpu ??= await compute.Gpu.create();
    return (${work})(globalThis.gpu, { ...(await import('/dist/index.js')), ComputeGpu: compute.Gpu });
  })()`;
  const result = await page.evaluate(run);
  assert.deepEqual(page.crashes, []);
  return result;
}

test('every operation computes what its definition says', async () => {
  const failures = await onGpu(async (gpu) => {
    const { CASES, failure } = await import('/page-tests/compute_cases.mjs');
    const found = [];
    for (const item of CASES) {
      try {
        found.push(await failure(gpu, item));
      } catch (error) {
        found.push(`${item[0]}: ${error.code} ${error.message}`);
      }
    }
    return found.filter(Boolean);
  });
  assert.deepEqual(failures, []);
});

test('every operation has a case', async () => {
  const missing = await onGpu(async (_, { Gpu, ComputeGpu }) => {
    const { CASES } = await import('/page-tests/compute_cases.mjs');
    const called = new Set([
      ...CASES.map(([method]) => method),
      'constructor',
      'dispatch',
      'dispatchAll',
      'shader',
      'transform',
      'region',
      ...['takesTiles', 'inTiles', 'prepared', 'restored'], // parts of attention
    ]);
    const names = [];
    for (let proto = ComputeGpu.prototype; proto !== Gpu.prototype; proto = Object.getPrototypeOf(proto)) {
      names.push(...Object.getOwnPropertyNames(proto));
    }
    return names.filter((name) => !called.has(name));
  });
  assert.deepEqual(missing, []);
});

test('wrong shapes, types and options name the operation and both numbers', async () => {
  const messages = await onGpu(async (gpu, { WebggufError }) => {
    const [image, line] = [gpu.zeros([1, 3, 5, 5]), gpu.zeros([2, 3, 7])];
    const [kernel, words] = [gpu.zeros([4, 2, 3, 3]), gpu.zeros([1, 3, 5, 5], 'u32')];
    const quantised = gpu.tensor(new Uint8Array(4 * 34), [2, 64], 'q8_0');
    const calls = {
      channels: () => gpu.conv2d(image, kernel),
      groups: () => gpu.conv2d(gpu.zeros([1, 6, 5, 5]), kernel, { groups: 3 }),
      rank: () => gpu.conv2d(line, kernel),
      kernel: () => gpu.conv2d(image, gpu.zeros([4, 3, 7, 1]), { padding: 0 }),
      bias: () => gpu.conv1d(line, gpu.zeros([4, 3, 1]), { bias: gpu.zeros([3]) }),
      option: () => gpu.conv1d(line, gpu.zeros([4, 3, 1]), { strides: 2 }),
      stride: () => gpu.conv1d(line, gpu.zeros([4, 3, 1]), { stride: 0 }),
      axes: () => gpu.conv1d(line, gpu.zeros([4, 3, 1]), { stride: [1, 1] }),
      activation: () => gpu.conv1d(line, gpu.zeros([4, 3, 1]), { activation: 'tanh' }),
      type: () => gpu.maxPool2d(words, { kernel: 2 }),
      window: () => gpu.maxPool1d(line, { kernel: 8 }),
      padding: () => gpu.avgPool1d(line, { kernel: 3, padding: 2 }),
      reflect: () => gpu.pad(line, [[7, 0]], { mode: 'reflect' }),
      size: () => gpu.upsample(line, {}),
      bilinear: () => gpu.upsample(line, { scale: 2, mode: 'bilinear' }),
      divide: () => gpu.groupNorm(line, { groups: 2 }),
      tensor: () => gpu.hardSwish([1, 2]),
      pairs: () => gpu.fft(line),
      short: () => gpu.stft(line, { window: gpu.zeros([8]), hop: 2 }),
      bins: () => gpu.irfft(gpu.zeros([5, 2]), { length: 7 }),
      long: () => gpu.rfft(gpu.zeros([2 ** 21])),
      segment: () => gpu.welch(line, { segmentLength: 8 }),
      overlap: () => gpu.welch(line, { segmentLength: 4, overlap: 4 }),
      factors: () => gpu.welch(line, { segmentLength: 4, window: [1, 2, 1] }),
      neighbours: () => gpu.knn(gpu.zeros([5, 2]), { k: 5 }),
      metric: () => gpu.knn(gpu.zeros([5, 2]), { k: 2, metric: 'manhattan' }),
      points: () => gpu.knn(line, { k: 2 }),
      matrix: () => gpu.conv2d(gpu.zeros([1, 32, 5, 5]), quantised, { kernel: 3 }),
      grouped: () => gpu.conv2d(gpu.zeros([1, 64, 5, 5]), quantised, { groups: 2 }),
      lengths: () => gpu.conv2d(image, kernel, { kernel: 3 }),
      formula: () => gpu.fuse(Array(17).fill(line), (x) => x),
      steps: () =>
        gpu.fuse([line], (x) =>
          Array(257)
            .fill(x)
            .reduce((sum, value) => sum.add(value).neg()),
        ),
      broadcast: () => gpu.fuse([...Array(6).fill(line), gpu.zeros([4, 7])], (x) => x),
      inPlace: () => gpu.fuse(Array(7).fill(line), (x) => x, { inPlace: true }),
      detrend: () => gpu.welch(line, { detrend: 'mean' }),
      huge: () => gpu.upsample(line, { scale: 100_000_000 }),
    };
    const outcome = (call) => {
      try {
        return `gave ${call()}`;
      } catch (error) {
        return error instanceof WebggufError ? `${error.code}: ${error.message}` : `not ours: ${error.stack}`;
      }
    };
    return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, outcome(call)]));
  });
  const expected = {
    channels: /conv2d: x is \[1, 3, 5, 5\] f32 and w \[4, 2, 3, 3\] f32; x has 3 channels, w takes 2/,
    groups: /conv2d: .* 3 groups do not divide 4 channels/,
    rank: /conv2d: x is \[2, 3, 7\] f32, 3 axes; \[N, C, H, W\] has 4/,
    kernel: /conv2d: .* 5 elements with padding 0 are fewer than the 7 of the kernel/,
    bias: /conv1d: bias is \[3\] f32; \[4\] f32 is needed/,
    option: /conv1d: there is no option 'strides'; there are bias, stride, padding/,
    stride: /conv1d: stride must be an integer of at least 1, found 0/,
    axes: /conv1d: stride has 2 numbers for 1 spatial axes/,
    activation: /conv1d: activation must be one of none, relu, silu, gelu, found 'tanh'/,
    type: /maxPool2d: x is \[1, 3, 5, 5\] u32; f32, f16 or bf16 is needed/,
    window: /maxPool1d: x is \[2, 3, 7\] f32; 7 elements with padding 0 are fewer than kernel 8/,
    padding: /avgPool1d: padding 2 is more than half of kernel 3/,
    reflect: /pad: x is \[2, 3, 7\] f32; along its axis 2 a padding of 7 reflects at most 6/,
    bilinear: /upsample: x is \[2, 3, 7\] f32, of one spatial axis; bilinear needs two/,
    size: /upsample: one of the options size and scale is needed/,
    divide: /groupNorm: x is \[2, 3, 7\] f32; 2 groups do not divide 3 channels/,
    short: /stft: x is \[2, 3, 7\] f32, 7 elements; the window has 8/,
    pairs: /fft: x is \[2, 3, 7\] f32; the last axis of \[\.\., N, 2\] has a real and an imaginary part/,
    bins: /irfft: x is \[5, 2\] f32, of 5 bins; a length of 7 has 4/,
    long: /rfft: x is \[2097152\] f32; 2097152 elements are too many, powers of two go up to 1048576/,
    segment: /welch: x is \[2, 3, 7\] f32, 7 elements; a segment has 8/,
    overlap: /welch: overlap must be an integer from 0 to 3, found 4/,
    factors: /welch: the window has 3 numbers, a segment 4 elements/,
    detrend: /welch: detrend must be one of none, constant, linear, found 'mean'/,
    neighbours: /knn: k must be an integer from 1 to 4, found 5/,
    metric: /knn: metric must be one of euclidean, cosine, found 'manhattan'/,
    points: /knn: points is \[2, 3, 7\] f32, 3 axes; \[N, D\] has 2/,
    matrix: /conv2d: x is \[1, 32, 5, 5\] f32 and w \[2, 64\] q8_0; w must be \[O, 288\]/,
    grouped: /conv2d: w is \[2, 64\] q8_0; 2 groups need a w that is not quantised/,
    lengths: /conv2d: there is no option 'kernel'; there are bias/,
    formula: /fuse: 17 tensors are given, at most 16 are possible/,
    steps: /fuse: the expression has 512 steps, at most 256 are possible/,
    broadcast: /fuse: .*\[4, 7\] f32 do not broadcast: along an axis, 3 and 4/,
    inPlace: /fuse: inPlace takes up to 6 tensors and 16 steps, found more/,
    huge: /upsample: a tensor of shape \[2, 3, 700000000\] f32: /,
    tensor: /hardSwish: x must be a tensor, found an array of 2/,
  };
  for (const [name, pattern] of Object.entries(expected)) {
    assert.match(messages[name], /^invalid_argument: /, name);
    assert.match(messages[name], pattern, name);
  }
});

test('a large formula is one dispatch, or as few as the buffers of the device allow', async () => {
  const counts = await onGpu(async (gpu) => {
    const { info, dispatch } = gpu;
    const count = (slots, shapes) => {
      const made = [];
      gpu.info = { ...info, limits: { ...info.limits, maxStorageBuffersPerShaderStage: slots + 1 } };
      gpu.dispatch = (call, shader, work) => {
        made.push(Object.keys(work.inputs).length);
        return dispatch.call(gpu, call, shader, work);
      };
      const tensors = shapes.map((shape) => gpu.zeros(shape));
      gpu.fuse(tensors, (...x) => x.reduce((sum, value) => sum.add(value)));
      delete gpu.dispatch;
      gpu.info = info;
      return made;
    };
    const [large, small] = [Array(16).fill([70, 50]), [[70, 50], ...Array(15).fill([50])]];
    return { enough: count(9, large.slice(7)), large: count(7, large), small: count(7, small) };
  });
  // Seven tensors, then their sum and six more, then that and the last three; or six and all others in one buffer.
  assert.deepEqual(counts, { enough: [9], large: [7, 7, 4], small: [7] });
});

test('peaks with wrong options are refused by the promise', async () => {
  const messages = await onGpu(async (gpu) => {
    const x = gpu.zeros([2, 300]);
    const calls = [{ distance: 0 }, { height: 'high' }, { threshold: 1 }].map((options) => gpu.findPeaks(x, options));
    calls.push(gpu.welchPeaks(x, { width: 3 }), gpu.welchPeaks(x, { segmentLength: 301 }));
    return (await Promise.allSettled(calls)).map(({ reason }) => `${reason?.code}: ${reason?.message}`);
  });
  const expected = [
    /^invalid_argument: findPeaks: distance must be at least 1, found 0/,
    /^invalid_argument: findPeaks: height must be a finite number, found 'high'/,
    /^invalid_argument: findPeaks: there is no option 'threshold'; there are height, distance, prominence/,
    /^invalid_argument: welchPeaks: there is no option 'width'/,
    /^invalid_argument: welch: x is \[2, 300\] f32, 300 elements; a segment has 301/,
  ];
  assert.equal(messages.length, expected.length);
  for (const [i, pattern] of expected.entries()) assert.match(messages[i], pattern);
});

test('what an operation makes on its way is freed', async () => {
  const kept = await onGpu(async (gpu) => {
    const x = gpu.zeros([1, 8, 5, 5]);
    const w = gpu.zeros([8, 8, 3, 3]);
    const made = [];
    const keep = gpu.keep;
    gpu.keep = (tensor) => {
      made.push(tensor);
      return keep.call(gpu, tensor);
    };
    const results = [gpu.conv2d(x, w), gpu.globalAvgPool(x), gpu.batchNorm(x, gpu.zeros([8]), gpu.zeros([8]))];
    results.push(gpu.welch(x, { segmentLength: 5 }).power);
    results.push(...Object.values(gpu.knn(gpu.zeros([70, 3]), { k: 2, metric: 'cosine' })));
    await gpu.welchPeaks(gpu.reshape(x, [-1]));
    delete gpu.keep;
    const zeros = 4; // and the reshaped x
    return made.filter((tensor) => !tensor.freed).length - results.length - zeros;
  });
  assert.equal(kept, 0);
});

test("a page's own shader runs, and one that does not compile is the page's mistake", async () => {
  const [values, wrong, after, same] = await onGpu(async (_, { ComputeGpu }) => {
    const gpu = await ComputeGpu.create();
    const code = (formula) => `@group(0) @binding(0) var<uniform> params: vec4<u32>;
      @group(0) @binding(1) var<storage, read> x: array<f32>;
      @group(0) @binding(2) var<storage, read_write> y: array<f32>;
      override OFFSET: f32;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < params.x { y[id.x] = ${formula}; }
      }`;
    const x = gpu.tensor([1, 2, 3]);
    const run = (formula) =>
      gpu.shader({
        label: 'mine',
        code: code(formula),
        inputs: [x],
        outputs: [{ shape: [3] }],
        params: Uint32Array.of(3, 0, 0, 0),
        constants: { OFFSET: 0.5 },
        workgroups: [1],
      })[0];
    const values = [...(await run('x[id.x] * x[id.x] + OFFSET').data())];
    const wrong = await run('nothing[id.x]')
      .data()
      .then(String, (error) => `${error.code}: ${error.message}`);
    const after = [...(await run('x[id.x] - OFFSET').data())];
    const again = await run('nothing[id.x]')
      .data()
      .then(String, (error) => error.message);
    gpu.destroy();
    return [values, wrong, after, again === wrong.replace('invalid_argument: ', '')];
  });
  assert.deepEqual(values, [1.5, 4.5, 9.5]);
  assert.match(wrong, /^invalid_argument: shader 'mine': .*nothing/s);
  assert.deepEqual(after, [0.5, 1.5, 2.5]);
  assert.ok(same, 'the second time says it, too');
});
