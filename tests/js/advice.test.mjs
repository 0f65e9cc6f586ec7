// `inspect` with a budget: which context, cache and quantisation it advises, over an engine that counts bytes as the
// real one does. What the real one says is in tests/page/api.test.mjs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, dist, seen } from './api.mjs';

const { WasmModel } = api;
const { advise } = await import(`${dist}load/advice.js`);
const BITS = { f16: 16, q8_0: 8.5, q4_0: 4.5 };
const [GIGA, REST, FIXED] = [1e9, 100e6, 20e6];

/** A model of 1.2 G weights in 0.8 GB, 32,768 bytes of cache for a token in f16, on a GPU with so much memory. */
function model({ memory = Infinity, trained = 131_072, gpu = true } = {}) {
  const asked = [];
  const inspect = async (sources, { contextLength = Math.min(4096, trained), kvType = 'f16', ...rest }) => {
    const read = [];
    for (const source of sources) {
      read.push(await source.next());
      source.cancel();
    }
    asked.push({ contextLength, kvType, rest, read: read.map((piece) => piece.length) });
    const sessionBytes = FIXED + (contextLength * 32_768 * BITS[kvType]) / 16;
    const fits = 0.8 * GIGA + sessionBytes <= memory;
    const found = { supported: true, fileBytes: 0.8 * GIGA, tensors: [], parameters: 1.2e9 };
    const planned = { contextLength, kvType, weightBytes: 0.8 * GIGA, sessionBytes, fits };
    return { ...found, trainedContextLength: trained, ...(gpu && { gpu: planned }) };
  };
  return { inspect, asked };
}

/** What is advised for a budget. */
async function advised(memoryBytes, { options = {}, ...more } = {}) {
  const { inspect, asked } = model(more);
  seen.inspect = inspect;
  try {
    const found = await WasmModel.inspect(new Uint8Array(64), { memoryBytes, ...options });
    return { found, advice: found.advice, asked };
  } finally {
    seen.inspect = undefined;
  }
}

const cacheOf = (tokens, kvType) => (tokens * 32_768 * BITS[kvType]) / 16;

test('the best cache that holds 4,096 tokens, and then as many as fit', async () => {
  const cases = [
    // bytes of budget, cache and tokens: longer ones count one and a half times, since they grow
    [8 * GIGA, 'f16', 131_072],
    [REST + FIXED + 0.8 * GIGA + cacheOf(8192, 'f16') * 1.5, 'f16', 8192],
    [REST + FIXED + 0.8 * GIGA + cacheOf(8192, 'f16') * 1.5 - 1, 'f16', 7936],
    [REST + FIXED + 0.8 * GIGA + cacheOf(4096, 'f16'), 'f16', 4096],
    [REST + FIXED + 0.8 * GIGA + cacheOf(4096, 'f16') - 1, 'q8_0', 5120],
    [REST + FIXED + 0.8 * GIGA + cacheOf(4096, 'q8_0') - 1, 'q4_0', 5120],
    [REST + FIXED + 0.8 * GIGA + cacheOf(4096, 'q4_0') - 1, 'q4_0', 3840],
    [REST + FIXED + 0.8 * GIGA + cacheOf(512, 'q4_0'), 'q4_0', 512],
  ];
  for (const [budget, kvType, contextLength] of cases) {
    const { advice, found } = await advised(budget);
    assert.deepEqual([advice.fits, advice.kvType, advice.contextLength], [true, kvType, contextLength], `${budget}`);
    assert.ok(advice.bytes <= budget, `${advice.bytes} of ${budget}`);
    // What is said of the GPU is said of this choice.
    assert.deepEqual([found.gpu.kvType, found.gpu.contextLength], [kvType, contextLength]);
  }
});

test('what the page has chosen stays: a context, a type of the cache', async () => {
  const { advice } = await advised(8 * GIGA, { options: { contextLength: 2048, kvType: 'q8_0' } });
  assert.deepEqual([advice.fits, advice.kvType, advice.contextLength], [true, 'q8_0', 2048]);
  const budget = REST + FIXED + 0.8 * GIGA + cacheOf(1024, 'q8_0');
  const less = await advised(budget, { options: { contextLength: 2048, kvType: 'q8_0' } });
  assert.deepEqual([less.advice.fits, less.advice.kvType, less.advice.contextLength], [true, 'q8_0', 1024]);
  const short = await advised(8 * GIGA, { trained: 1000 });
  assert.equal(short.advice.contextLength, 1000);
});

test('a file that is too large is told another quantisation, or none', async () => {
  const { advice } = await advised(0.9 * GIGA);
  assert.deepEqual([advice.fits, advice.kvType, advice.contextLength], [false, 'q8_0', 4096]);
  assert.equal(advice.quantization, 'Q3_K_M'); // 1.2e9 · 4.5 / 8 = 675 MB, of 709 MB that are left
  assert.equal(advice.bytes, Math.ceil(REST + FIXED + 0.8 * GIGA + cacheOf(4096, 'q8_0')));
  assert.equal((await advised(0.5 * GIGA)).advice.quantization, undefined);
  assert.equal(
    (await advised(2 * GIGA)).advice.quantization,
    'Q4_K_M',
    'room for the context that was found comes first',
  );
  const short = { options: { contextLength: 4096 } };
  assert.equal((await advised(2 * GIGA, short)).advice.quantization, 'Q8_0');
});

test('where the device gives less than the budget, the context is halved until it fits', async () => {
  const { advice, asked } = await advised(8 * GIGA, { memory: 0.8 * GIGA + FIXED + cacheOf(10_000, 'f16') });
  assert.deepEqual([advice.fits, advice.contextLength], [true, 8192]);
  assert.ok(asked.length < 10);
  const none = await advised(8 * GIGA, { memory: 0.5 * GIGA });
  assert.equal(none.advice.fits, false);
});

test('what is kept of a header is a copy, since sources use their memory again', async () => {
  const memory = new Uint8Array(1);
  let given = 0;
  const next = async () => (given < 3 ? memory.fill((given += 1)) : undefined);
  const read = [];
  const { inspect } = model();
  const inspectAll = async ([source], options) => {
    const bytes = [];
    for (let piece = await source.next(); piece; piece = await source.next()) bytes.push(piece[0]);
    read.push(bytes);
    return inspect([], options);
  };
  await advise([{ name: 'm', next, cancel() {} }], {}, { memoryBytes: 2 * GIGA, taken: 0 }, inspectAll);
  assert.ok(read.length >= 3);
  for (const bytes of read) assert.deepEqual(bytes, [1, 2, 3]);
});

test('a header is read once for all questions, and nothing is advised without a GPU', async () => {
  const { asked } = await advised(2 * GIGA, { options: { parallel: 2 } });
  assert.ok(asked.length >= 3);
  for (const { rest, read } of asked) assert.deepEqual([rest, read], [{ parallel: 2 }, [64]]);
  const { found } = await advised(2 * GIGA, { gpu: false });
  assert.equal(found.advice, undefined);
  for (const memoryBytes of [0, -1, Number.NaN, '1e9']) {
    await assert.rejects(WasmModel.inspect(new Uint8Array(8), { memoryBytes }), {
      code: 'invalid_argument',
      message: /memoryBytes.*positive number of bytes/,
    });
  }
});
