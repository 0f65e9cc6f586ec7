// Embeddings per layer that are not on the GPU: rows are read from the source when a token needs them, or kept in the
// page's memory, and the text is that of a model whose table is on the GPU.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../long.mjs';
import { openSite } from './site.mjs';

/** A table of 335 rows, of which the tests keep few on the GPU. */
const MODEL = '/fixtures/models/gemma4-e-q8_0.gguf';
const ROWS = 20;

const site = await openSite();
const page = await site.open('/evaluate.html');

/** What `work` returns in the page, given the package, the file's bytes and helpers. */
const inPage = (work) =>
  page.evaluate(
    async ([source, url, rows]) => {
      const api = await import('/dist/index.js');
      const bytes = await (await fetch(url)).arrayBuffer();
      const prompt = Array.from({ length: 40 }, (_, i) => 5 + ((i * 37) % 320));
      // All on one device: what equal kernels need is compiled once.
      globalThis.gpu ??= await api.Gpu.create();
      const load = (from, where = rows) =>
        api.WasmModel.load(from, { backend: 'webgpu', gpu, contextLength: 256, perLayerEmbeddings: where });
      const write = async (model, ids = prompt) => {
        const { ids: found } = await model.generate(ids, { maxTokens: 20, ignoreEos: true, temperature: 1.2, seed: 4 });
        return [...found];
      };
      return (0, eval)(`(${source})`)({ api, bytes, url, prompt, load, write });
    },
    [work.toString(), MODEL, ROWS],
  );

longTest('every kind of source gives the text of a table on the GPU', async () => {
  const found = await inPage(async ({ bytes, url, load, write }) => {
    const sources = {
      Blob: () => new Blob([bytes]),
      buffer: () => bytes,
      URL: () => url,
      Response: () => fetch(url),
      stream: async () => (await fetch(url)).body,
      ranged: () => ({ size: bytes.byteLength, read: (at, length) => bytes.slice(at, at + Math.min(length, 150)) }),
    };
    const whole = await load(bytes, 'gpu');
    const [wanted, gpuBytes] = [await write(whole), whole.info.gpuBytes];
    await whole.free();
    const texts = {};
    for (const [name, make] of Object.entries(sources)) {
      const model = await load(await make());
      texts[name] = [await write(model), model.info.gpuBytes < gpuBytes];
      await model.free();
    }
    return { wanted, texts };
  });
  assert.equal(found.wanted.length, 20);
  for (const [name, [ids, isSmaller]] of Object.entries(found.texts)) {
    assert.deepEqual(ids, found.wanted, name);
    assert.ok(isSmaller, `${name} takes less memory on the GPU`);
  }
});

test('what is on the GPU is not read again, and evaluation reads what it needs', async () => {
  const found = await inPage(async ({ bytes, prompt, load, write }) => {
    const ranges = [];
    const read = (at, length) => {
      ranges.push([at, length]);
      return bytes.slice(at, at + length);
    };
    const reads = async (model, work) => {
      ranges.length = 0;
      const result = await work(model);
      return { result, count: ranges.length, longest: Math.max(0, ...ranges.map(([, length]) => length)) };
    };
    const model = await load({ size: bytes.byteLength, read }, 300);
    const first = await reads(model, write);
    await model.reset();
    const second = await reads(model, write);
    await model.free();
    const few = await load({ size: bytes.byteLength, read });
    const evaluated = await reads(few, async () => [...(await few.evaluate(prompt)).top1]);
    await few.free();
    const whole = await load(bytes, 'gpu');
    const top1 = [...(await whole.evaluate(prompt)).top1];
    await whole.free();
    return { first, second, evaluated, top1 };
  });
  assert.deepEqual(found.second.result, found.first.result);
  assert.ok(found.first.count > 0, 'some rows are not among the first 300');
  assert.equal(found.second.count, 0);
  assert.deepEqual(found.evaluated.result, found.top1);
  // Three passes of up to 16 tokens; of a table as small as this one, neighbours are read together.
  assert.ok(found.evaluated.count >= 3, `${found.evaluated.count} reads`);
  assert.ok(found.evaluated.longest < 204 * 335, `${found.evaluated.longest} bytes at once`);
});

test('a source that fails while a text is written says so; the model writes it once it is back', async () => {
  const found = await inPage(async ({ api, bytes, prompt, load, write }) => {
    let broken = false;
    const read = async (at, length) => {
      if (broken) throw new Error('the disk was pulled out');
      return bytes.slice(at, at + length);
    };
    const model = await load({ size: bytes.byteLength, name: 'tiny.gguf', read });
    const wanted = await write(model);
    await model.reset();
    const seen = [];
    let error;
    try {
      const options = { maxTokens: 20, ignoreEos: true, temperature: 1.2, seed: 4 };
      for await (const { ids } of model.generate(prompt, options)) {
        seen.push(...ids);
        broken = true;
      }
    } catch (thrown) {
      error = { known: thrown instanceof api.WebggufError, code: thrown.code, message: thrown.message };
    }
    broken = false;
    const again = await write(model);
    await model.free();
    return { wanted, seen, error, again };
  });
  assert.deepEqual({ ...found.error, message: '' }, { known: true, code: 'download_failed', message: '' });
  assert.match(
    found.error.message,
    /^tiny\.gguf: reading \d+ bytes at \d+ of \d+ failed: Error: the disk was pulled out/,
  );
  assert.deepEqual(found.seen, found.wanted.slice(0, found.seen.length));
  assert.ok(found.seen.length > 0 && found.seen.length < 20);
  assert.deepEqual(found.again, found.wanted);
});

test('inspect plans for the same', async () => {
  const found = await inPage(async ({ api, bytes }) => {
    const planned = async (perLayerEmbeddings) =>
      (await api.WasmModel.inspect(bytes, { backend: 'webgpu', contextLength: 256, perLayerEmbeddings })).gpu
        .weightBytes;
    return { auto: await planned('auto'), gpu: await planned('gpu'), few: await planned(20) };
  });
  assert.equal(found.auto, found.gpu, 'a small table lies on the GPU');
  assert.ok(found.few < found.gpu, `${found.few} of ${found.gpu}`);
});
