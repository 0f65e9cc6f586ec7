// Requests that run together in a browser: the same texts as one after the other, in a third of the passes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSite, STORYTELLER } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

/** Runs `work(package, argument)` in the page. */
const api = (work, argument) =>
  page.evaluate(
    async ([source, value]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), value),
    [work.toString(), argument],
  );

const PROMPTS = ['Tell me a story about a hedgehog', 'A fox', 'Once upon a time there was a very small hare', 'The'];
const MANY = 24;

/** Texts of requests with options of their own, all at once or one after the other, and what the GPU was asked to do. */
const WRITE = async ({ WasmModel }, { url, prompts, parallel, maxTokens, worker = false }) => {
  let submits = 0;
  const { submit } = GPUQueue.prototype;
  GPUQueue.prototype.submit = function (...args) {
    submits += 1;
    return submit.apply(this, args);
  };
  try {
    const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256, parallel, worker });
    const options = (i) => ({ maxTokens, ignoreEos: true, ...(i % 2 && { temperature: 0.8, topK: 40, seed: i }) });
    const run = () => Promise.all(prompts.map((prompt, i) => model.generate(prompt, options(i))));
    await run(); // pipelines are compiled
    await model.reset();
    const [before, since] = [submits, performance.now()];
    const texts = (await run()).map(({ text }) => text);
    const ms = performance.now() - since;
    const found = { texts, submits: submits - before, ms, parallel: model.info.parallel, bytes: model.info.gpuBytes };
    await model.free();
    return found;
  } finally {
    GPUQueue.prototype.submit = submit;
  }
};

test('four requests at once write what each writes alone, with the passes of one', async (t) => {
  const argument = { url: STORYTELLER, prompts: PROMPTS, maxTokens: MANY };
  const alone = await api(WRITE, { ...argument, parallel: 1 });
  const together = await api(WRITE, { ...argument, parallel: 4 });
  assert.deepEqual(together.texts, alone.texts);
  assert.deepEqual([alone.parallel, together.parallel], [1, 4]);
  const ms = [alone, together].map((found) => Math.round(found.ms));
  t.diagnostic(
    `${alone.submits} submits and ${ms[0]} ms one after the other, ${together.submits} and ${ms[1]} at once`,
  );
  // A pass is a submit, a prompt one or two more; a few passes are of some rows alone, or of texts that are over.
  assert.ok(alone.submits >= 4 * MANY, `${alone.submits} submits for ${4 * MANY} tokens`);
  assert.ok(together.submits <= 2 * MANY, `${together.submits} submits for ${MANY} tokens of four texts`);
  assert.ok(together.bytes > alone.bytes);
  const inWorker = await api(WRITE, { ...argument, parallel: 4, worker: true });
  assert.deepEqual(inWorker.texts, alone.texts);
});

test('inspect counts the caches of all requests', async () => {
  const found = await api(async ({ WasmModel }, url) => {
    const sizes = [];
    for (const parallel of [1, 4]) {
      const { gpu } = await WasmModel.inspect(url, { contextLength: 256, parallel });
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

test('one of four is stopped, another begins, and sessions go on where they were', async () => {
  const found = await api(
    async ({ WasmModel }, { url, prompts }) => {
      const options = { maxTokens: 30, ignoreEos: true };
      const one = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256 });
      const alone = [];
      for (const prompt of prompts) alone.push((await one.generate(prompt, options)).text);
      const session = one.session({ system: 'Stories.' });
      const said = [(await session.send('A hare.', options)).text, (await session.send('More.', options)).text];
      await one.free();

      const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256, parallel: 2 });
      const [a, b, c] = prompts.map((prompt) => model.generate(prompt, options));
      const waiting = c.result;
      await Promise.all([a.next(), b.next()]);
      await b.next();
      await b.stop();
      const stopped = await b;
      const [first, third] = await Promise.all([a, waiting]);
      const chat = model.session({ system: 'Stories.' });
      const other = model.session({ system: 'Other stories.' });
      const [turn] = await Promise.all([chat.send('A hare.', options), other.send('A fox.', options)]);
      const [next] = await Promise.all([chat.send('More.', options), other.send('More.', options)]);
      await model.free();
      const cached = next.usage.cachedTokens >= turn.usage.totalTokens - 1;
      return {
        alone,
        found: [first.text, stopped.text, third.text],
        reason: stopped.finishReason,
        said,
        heard: [turn.text, next.text],
        cached,
      };
    },
    { url: STORYTELLER, prompts: PROMPTS.slice(0, 3) },
  );
  assert.equal(found.reason, 'abort');
  assert.equal(found.found[0], found.alone[0]);
  assert.ok(found.found[1].length > 0 && found.alone[1].startsWith(found.found[1]), found.found[1]);
  assert.equal(found.found[2], found.alone[2]);
  assert.deepEqual(found.heard, found.said);
  assert.ok(found.cached, 'what the session said before is not read again');
});

test('requests to a model with recurrent states wait for each other', async () => {
  const url = '/fixtures/models/qwen35-f32.gguf';
  const argument = { url, prompts: ['a b c', 'd e'], maxTokens: 4 };
  const alone = await api(WRITE, { ...argument, parallel: 1 });
  const together = await api(WRITE, { ...argument, parallel: 4 });
  assert.deepEqual([together.texts, together.parallel], [alone.texts, 1]);
});
