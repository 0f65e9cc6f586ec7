// Requests that run together in a browser: the same texts as one after the other, in a fraction of the passes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../long.mjs';
import { openSite, SMALL, STORYTELLER } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

/** Runs `work(package, argument)` in the page. */
const api = (work, argument) =>
  page.evaluate(
    async ([source, value]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), value),
    [work.toString(), argument],
  );

const IDS = [5, 1, 33, 18].map((length) => Array.from({ length }, (_, i) => (i * 37 + length) % 200));
const MANY = 24;

/** Tokens of requests with options of their own, all at once or one after the other, and in how many passes. */
const WRITE = async ({ WasmModel }, { url, prompts, parallel, maxTokens, worker = false }) => {
  // A pass that chooses tokens ends with a copy of them; how many submits a prompt takes depends on the pace.
  let passes = 0;
  const { copyBufferToBuffer } = GPUCommandEncoder.prototype;
  GPUCommandEncoder.prototype.copyBufferToBuffer = function (...args) {
    passes += 1;
    return copyBufferToBuffer.apply(this, args);
  };
  try {
    const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256, parallel, worker });
    const options = (i) => ({ maxTokens, ignoreEos: true, ...(i % 2 && { temperature: 0.8, topK: 40, seed: i }) });
    const run = () => Promise.all(prompts.map((prompt, i) => model.generate(prompt, options(i))));
    await run(); // pipelines are compiled
    await model.reset();
    const [before, since] = [passes, performance.now()];
    const texts = (await run()).map(({ ids }) => [...ids]);
    const ms = performance.now() - since;
    const found = { texts, passes: passes - before, ms, parallel: model.info.parallel, bytes: model.info.gpuBytes };
    await model.free();
    return found;
  } finally {
    GPUCommandEncoder.prototype.copyBufferToBuffer = copyBufferToBuffer;
  }
};

test('four requests at once write what each writes alone, with the passes of one', async (t) => {
  const argument = { url: SMALL, prompts: IDS, maxTokens: MANY };
  const alone = await api(WRITE, { ...argument, parallel: 1 });
  const together = await api(WRITE, { ...argument, parallel: 4 });
  assert.deepEqual(together.texts, alone.texts);
  assert.deepEqual([alone.parallel, together.parallel], [1, 4]);
  const ms = [alone, together].map((found) => Math.round(found.ms));
  t.diagnostic(`${alone.passes} passes and ${ms[0]} ms one after the other, ${together.passes} and ${ms[1]} at once`);
  // A few passes are of those alone whose prompts were read first, or of texts that are over.
  assert.ok(alone.passes >= 4 * MANY, `${alone.passes} passes for ${4 * MANY} tokens`);
  assert.ok(together.passes <= 2 * MANY, `${together.passes} passes for ${MANY} tokens of four texts`);
  assert.ok(together.bytes > alone.bytes);
  const inWorker = await api(WRITE, { ...argument, parallel: 4, worker: true });
  assert.deepEqual(inWorker.texts, alone.texts);
});

longTest('inspect counts the caches of all requests', async () => {
  const found = await api(async ({ WasmModel }, url) => {
    const sizes = [];
    for (const parallel of [1, 4]) {
      const { gpu } = await WasmModel.inspect(url, { backend: 'webgpu', contextLength: 256, parallel });
      const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256, parallel });
      sizes.push([gpu.sessionBytes + gpu.weightBytes, model.info.gpuBytes]);
      await model.free();
    }
    return sizes;
  }, STORYTELLER);
  // 4 layers of 3 heads of 64 values in f16, keys and values, of 256 positions.
  const cache = 2 * 4 * 3 * 64 * 2 * 256;
  const [one, four] = found;
  assert.ok(four[0] - one[0] >= 3 * cache, `${four[0] - one[0]} bytes for three caches of ${cache}`);
  for (const [planned, held] of found) assert.ok(held >= planned && held < 1.1 * planned, `${planned}, ${held}`);
});

longTest('one of four is stopped, another begins, and sessions go on where they were', async () => {
  const found = await api(
    async ({ WasmModel }, { url, prompts }) => {
      const options = { maxTokens: 10, ignoreEos: true };
      const one = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256 });
      const alone = [];
      for (const prompt of prompts) alone.push((await one.generate(prompt, options)).text);
      const session = one.session({ system: 'Stories.' });
      const said = [await session.send('A hare.', options), await session.send('More.', options)];
      await one.free();

      const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256, parallel: 2 });
      const long = { ...options, maxTokens: 200 };
      const [a, b, c] = prompts.map((prompt, i) => model.generate(prompt, i === 1 ? long : options));
      await Promise.all([a.next(), b.next()]);
      const waiting = c.result;
      await b.stop();
      const stopped = await b;
      const [first, third] = await Promise.all([a, waiting]);
      const chat = model.session({ system: 'Stories.' });
      const other = model.session({ system: 'Other stories.' });
      const [turn] = await Promise.all([chat.send('A hare.', options), other.send('A fox.', options)]);
      const [next] = await Promise.all([chat.send('More.', options), other.send('More.', options)]);
      await model.free();
      return {
        alone,
        found: [first.text, stopped.text, third.text],
        reason: stopped.finishReason,
        said: said.map(({ text }) => text),
        heard: [turn.text, next.text],
        cached: [said[1].usage.cachedTokens, next.usage.cachedTokens],
      };
    },
    { url: STORYTELLER, prompts: ['A fox', 'Once upon a time there was a very small hare', 'The'] },
  );
  assert.equal(found.reason, 'abort');
  assert.equal(found.found[0], found.alone[0]);
  const until = Math.min(found.alone[1].length, found.found[1].length);
  assert.ok(until > 0);
  assert.equal(found.found[1].slice(0, until), found.alone[1].slice(0, until));
  assert.equal(found.found[2], found.alone[2]);
  assert.deepEqual(found.heard, found.said);
  const [alone, together] = found.cached;
  assert.ok(together >= alone - 1, `${together} tokens were cached, ${alone} of a session with its own cache`);
});

longTest('requests to models with recurrent states run at the same time', async () => {
  const url = '/fixtures/models/qwen35-f32.gguf';
  const argument = { url, prompts: IDS.map((ids) => ids.map((id) => id % 90)), maxTokens: 8 };
  const alone = await api(WRITE, { ...argument, parallel: 1 });
  const together = await api(WRITE, { ...argument, parallel: 4 });
  assert.deepEqual([together.texts, together.parallel], [alone.texts, 4]);
});

longTest('sessions that share passes are saved with what was read of them', async () => {
  const found = await api(async ({ WasmModel }, url) => {
    const options = { maxTokens: 8, ignoreEos: true };
    const load = () => WasmModel.load(url, { backend: 'webgpu', contextLength: 256, parallel: 2 });
    const model = await load();
    const session = model.session({ system: 'Stories.' });
    await session.send('A hare.', options);
    await model.generate('Something else', options);
    const saved = await session.save();
    const expected = await session.send('More.', options);
    await model.free();
    const again = await load();
    const restored = await again.restoreSession(saved);
    const went = await restored.send('More.', options);
    await again.free();
    return {
      size: saved.size,
      texts: [went.text, expected.text],
      cached: [went, expected].map((of) => of.usage.cachedTokens),
    };
  }, STORYTELLER);
  assert.equal(found.texts[0], found.texts[1]);
  assert.ok(found.size > 50_000, `${found.size} bytes`);
  assert.ok(found.cached[0] > 0 && found.cached[0] === found.cached[1], `${found.cached} tokens were cached`);
});
