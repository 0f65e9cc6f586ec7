// The tensor API as a page uses it, on a real device: every method with every option, chains, lifetimes, wrong use.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { blocksOf } from '../js/blocks.mjs';
import { openSite } from './site.mjs';

const BLANK = '<!doctype html><title>tensors</title>';
const site = await openSite({
  mounts: { '/js-tests/': path.join(ROOT, 'tests', 'js') },
  routes: { '/blank.html': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(BLANK) },
});
const page = await site.open('/blank.html');

/** Runs `work` in the page with the package and an open `Gpu`. */
async function onGpu(work) {
  const run = `(async () => {
    const webgguf = await import('/dist/index.js');
    globalThis.gpu ??= await webgguf.Gpu.create();
    return (${work})(globalThis.gpu, webgguf);
  })()`;
  const result = await page.evaluate(run);
  assert.deepEqual(page.crashes, []);
  return result;
}

const near = (found, expected, limit = 1e-5) => {
  assert.equal(found.length, expected.length);
  found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= limit, `${found} is not ${expected}`));
};

test('the example of the guide', async () => {
  const [shape, values, sums] = await onGpu(async (gpu) => {
    const x = gpu.tensor([1, 2, 3, 4, 5, 6], [2, 3]);
    const w = gpu.tensor(
      new Float32Array(12).map((_, i) => i % 4),
      [3, 4],
    );
    const y = gpu.scope(() => gpu.softmax(gpu.matmul(x, w)));
    const z = gpu.fuse([y], (p) => p.mul(2).add(1));
    return [y.shape, [...(await y.data())], [...(await z.data())]];
  });
  assert.deepEqual(shape, [2, 4]);
  const row = (sum) => {
    const powers = [0, 1, 2, 3].map((n) => Math.exp(n * sum));
    return powers.map((power) => power / powers.reduce((a, b) => a + b));
  };
  const expected = [...row(6), ...row(15)];
  near(values, expected);
  near(
    sums,
    expected.map((p) => 2 * p + 1),
  );
});

test('a product with a matrix in blocks, as it is and transposed', async () => {
  const cases = [
    ['q4_0', [35, 96], 9],
    ['q6_k', [19, 256], 3],
    ['iq4_nl', [33, 32], 70],
  ].map(([type, shape, rows]) => {
    const w = blocksOf(type, shape, rows);
    return { ...w, bytes: [...w.bytes], rows };
  });
  const made = ([rows, width]) => Array.from({ length: rows * width }, (_, i) => Math.sin(i * i + 1));
  const call = `async (gpu) => {
    const made = ${made};
    const times = async (w, width, transposeB) => {
      const y = gpu.matmul(gpu.tensor(made(width), width), w, { transposeB });
      return { shape: y.shape, values: [...(await y.data())] };
    };
    return Promise.all(${JSON.stringify(cases)}.map(async ({ type, shape, bytes, rows }) => {
      const w = gpu.tensor(Uint8Array.from(bytes), shape, type);
      return [await times(w, [rows, shape[0]], false), await times(w, [rows, shape[1]], true)];
    }));
  }`;
  const found = await onGpu(call);
  cases.forEach(({ type, shape: [k, n], values, rows }, i) => {
    const [plain, turned] = found[i];
    const at = [(c, j) => values[c * n + j], (c, j) => values[j * n + c]];
    for (const [of, { shape, values: y }, [steps, columns]] of [
      [at[0], plain, [k, n]],
      [at[1], turned, [n, k]],
    ]) {
      assert.deepEqual(shape, [rows, columns], type);
      const x = made([rows, steps]).map(Math.fround);
      y.forEach((value, at) => {
        const [row, column] = [Math.floor(at / columns), at % columns];
        let sum = 0;
        for (let c = 0; c < steps; c += 1) sum += x[row * steps + c] * of(c, column);
        assert.ok(
          Math.abs(value - sum) <= 2e-5 * (1 + Math.abs(sum)),
          `${type}, ${shape}: [${at}] ${value}, not ${sum}`,
        );
      });
    }
  });
});

test('every method takes its options, and gives numbers', async () => {
  const wrong = await onGpu(async (gpu) => {
    const { SAMPLES } = await import('/js-tests/samples.mjs');
    const failures = [];
    for (const [method, call] of SAMPLES) {
      try {
        const made = [call(gpu)].flat();
        for (const tensor of made.filter(({ dtype }) => /^([fiu]32|b?f16)$/.test(dtype))) {
          const values = await tensor.data();
          if (values.length !== tensor.size) failures.push(`${method}: ${values.length} values of ${tensor}`);
          const odd = values.find((value) => Number.isNaN(value));
          if (odd !== undefined) failures.push(`${method}: ${tensor} has NaN`);
        }
        gpu.free(made);
      } catch (error) {
        failures.push(`${method}: ${error.code} ${error.message}`);
      }
    }
    return failures;
  });
  assert.deepEqual(wrong, []);
});

test('types survive the way to the GPU and back', async () => {
  const [half, brain, words, cast, kind] = await onGpu(async (gpu) => {
    const odd = gpu.tensor([1, -2.5, 65504], [3], 'f16');
    const words = gpu.tensor(Uint32Array.of(1, 2 ** 32 - 1));
    const results = [odd, gpu.tensor([1, -2.5, 3], [3], 'bf16'), words, gpu.cast(odd, 'i32')];
    for (const dtype of ['f16', 'bf16', 'u32', 'i32']) {
      const values = await gpu.zeros([3, 5], dtype).data();
      if (values.length !== 15 || values.some((value) => value !== 0)) throw new Error(`${values} are no 15 zeros`);
    }
    const values = await Promise.all(results.map((tensor) => tensor.data()));
    return [...values.map((list) => [...list]), values[3].constructor.name];
  });
  assert.deepEqual(
    [half, brain, words],
    [
      [1, -2.5, 65504],
      [1, -2.5, 3],
      [1, 2 ** 32 - 1],
    ],
  );
  assert.deepEqual([cast, kind], [[1, -2, 65504], 'Int32Array']);
});

test('a long chain of operations is queued without waiting', async () => {
  const value = await onGpu(async (gpu) => {
    const one = gpu.tensor([1]);
    let sum = gpu.zeros([1]);
    for (let i = 0; i < 600; i += 1) {
      const next = gpu.add(sum, one);
      sum.free();
      sum = next;
    }
    return sum.item();
  });
  assert.equal(value, 600);
});

test('wrong shapes, types and options name the operation and both shapes', async () => {
  const messages = await onGpu(async (gpu, { WebggufError }) => {
    const [a, b] = [gpu.tensor([1, 2, 3, 4, 5, 6], [2, 3]), gpu.zeros([4, 5])];
    const quantised = gpu.tensor(new Uint8Array(2 * 34), [2, 32], 'q8_0');
    const [heads, keys] = [gpu.zeros([1, 3, 2, 8]), gpu.zeros([1, 2, 2, 8])];
    const calls = {
      matmul: () => gpu.matmul(a, b),
      unequal: () => gpu.matmul(a, quantised),
      turned: () => gpu.matmul(gpu.zeros([2, 3]), quantised, { transposeA: true }),
      add: () => gpu.add(a, b),
      fuse: () => gpu.fuse([a, b], (x, y) => x.add(y)),
      softmax: () => gpu.softmax(a, { mask: b }),
      option: () => gpu.softmax(a, { cap: 3 }),
      rmsNorm: () => gpu.rmsNorm(a, b),
      attention: () => gpu.attention(heads, keys, keys),
      axes: () => gpu.zeros([1, 1, 1, 1, 1, 1]),
      empty: () => gpu.zeros([2, 0]),
      axis: () => gpu.sum(a, { axis: 2 }),
      lower: () => gpu.minimum(a, b),
      indices: () => gpu.gather(a, a),
      blocks: () => gpu.tensor(new Uint8Array(34), [1, 64], 'q8_0'),
      large: () => gpu.zeros([2 ** 16, 2 ** 14]),
      huge: () => gpu.zeros([2 ** 31 - 1]),
      upload: () => {
        const { info } = gpu;
        gpu.info = { ...info, limits: { maxStorageBufferBindingSize: 8 } };
        try {
          return gpu.tensor([1, 2, 3]);
        } finally {
          gpu.info = info;
        }
      },
    };
    const outcome = (call) => {
      try {
        return `gave ${call()}`;
      } catch (error) {
        return error instanceof WebggufError ? `${error.code}: ${error.message}` : `not ours: ${error}`;
      }
    };
    return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, outcome(call)]));
  });
  const both = /^invalid_argument: .*\[2, 3\] f32.*\[4, 5\] f32/;
  for (const name of ['matmul', 'add', 'fuse', 'softmax', 'rmsNorm']) assert.match(messages[name], both, name);
  assert.match(messages.unequal, /^invalid_argument: matmul: a is \[2, 3\] f32 and b \[2, 32\] q8_0; .* 3 .* 2$/);
  assert.match(messages.turned, /^invalid_argument: matmul: .*q8_0; b in blocks .* without transposeA/);
  assert.match(messages.attention, /^invalid_argument: attention: .*\[1, 3, 2, 8\] f32.*\[1, 2, 2, 8\] f32/);
  assert.match(messages.option, /^invalid_argument: softmax: unknown field `cap`.*softCap/);
  assert.match(messages.axis, /^invalid_argument: sum: .*\[2, 3\] f32.*2/);
  assert.match(messages.lower, /^invalid_argument: minimum: .*\[2, 3\] f32 and \[4, 5\] f32/);
  assert.match(messages.indices, /^invalid_argument: gather: .*\[2, 3\] f32; indices must be u32 or i32/);
  assert.match(messages.blocks, /^invalid_argument: tensor: \[1, 64\] q8_0 takes/);
  assert.match(
    messages.large,
    /^limit_exceeded: zeros: \[65536, 16384\] f32 takes 4294967296 bytes, this device binds \d/,
  );
  assert.match(messages.huge, /^limit_exceeded: zeros: \[2147483647\] f32 takes 8589934588 bytes/);
  assert.match(messages.upload, /^limit_exceeded: tensor: \[3\] f32 takes 12 bytes, this device binds 8$/);
  assert.match(messages.axes, /^invalid_argument: .*6 axes/);
  assert.match(messages.empty, /^invalid_argument: .*\[2, 0\] f32.*empty/);
});

test('what was freed is refused; memory is used again; a destroyed Gpu says so', async () => {
  const [freed, reused, destroyed, adapter] = await onGpu(async (gpu, { Gpu }) => {
    const other = await Gpu.create();
    const message = async (call) => {
      try {
        await call();
        return 'nothing was thrown';
      } catch (error) {
        return `${error.code}: ${error.message}`;
      }
    };
    const x = other.tensor([1, 2, 3]);
    const y = other.neg(x);
    x.free();
    const results = [await message(() => other.add(y, x)), [...(await y.data())]];
    for (let i = 0; i < 300; i += 1)
      other.scope(() => {
        other.neg(other.zeros([1 << 18]));
      });
    const { software, limits } = other.info;
    other.destroy();
    return [...results, await message(() => other.neg(y)), { software, limits }];
  });
  assert.match(freed, /^invalid_argument: add: b \(\[3\] f32\) was freed/);
  assert.deepEqual(reused, [-1, -2, -3]);
  assert.match(destroyed, /^invalid_argument: .*destroyed/);
  assert.equal(typeof adapter.software, 'boolean');
  assert.ok(adapter.limits.maxBufferSize >= 2 ** 28, JSON.stringify(adapter));
  await page.close();
});
