// `idleTimeout`: a model that nobody asks gives its device away, and the next request loads it again as if nothing was.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SMALL, STORYTELLER, openSite } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });

/** Runs in a page: texts before and after the model was idle, as often as there are `lines`, and the same without. */
async function inPage({ url, worker, lines }) {
  const devices = [];
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await requestDevice.apply(this, args);
    devices.push(device);
    return device;
  };
  const { WasmModel } = await import('/dist/index.js');
  const warnings = [];
  const options = { backend: 'webgpu', contextLength: 256, worker, onWarning: ({ code }) => warnings.push(code) };
  const greedy = { temperature: 0, maxTokens: 8, ignoreEos: true };
  const talk = async (model, between) => {
    const session = worker ? model.session() : undefined;
    const texts = [];
    for (const line of lines) {
      const run = session ? session.send(line, greedy) : model.generate(texts.join('') + line, greedy);
      texts.push((await run).text, model.state);
      await between();
    }
    return texts;
  };
  const awake = await WasmModel.load(url, options);
  const expected = await talk(awake, async () => {});
  await awake.free();
  const model = await WasmModel.load(url, { ...options, idleTimeout: 200 });
  const states = [];
  const isIdle = async () => {
    while (model.state !== 'idle') await new Promise((done) => setTimeout(done, 20));
    states.push(await model.tokenize('a').then((ids) => ids.length > 0));
  };
  const found = await talk(model, isIdle);
  const lost = await Promise.all(devices.map((device) => device.lost.then(({ reason }) => reason)));
  // A text that nobody reads on with is still a request.
  const run = model.generate('Once', { ...greedy, maxTokens: 40 });
  await run.next();
  await new Promise((done) => setTimeout(done, 600));
  const during = model.state;
  await run.stop();
  await isIdle();
  await model.free();
  return { expected, found, states, lost, during, warnings };
}

for (const [where, url, lines] of [
  ['in the page', SMALL, ['Once', 'Then', 'Later']],
  ['in a worker, with its session,', STORYTELLER, ['Hello', 'And then?']],
]) {
  test(`an idle model ${where} comes back`, async () => {
    const page = await site.open('/blank');
    try {
      const worker = url === STORYTELLER;
      const { expected, found, states, lost, during, warnings } = await page.evaluate(inPage, { url, worker, lines });
      assert.deepEqual(found, expected);
      assert.ok(found.every((text, at) => (at % 2 === 1 ? text === 'ready' : text.length > 0)));
      assert.deepEqual(states, Array(lines.length + 1).fill(true), 'what needs no GPU works meanwhile');
      assert.equal(during, 'ready');
      assert.deepEqual(warnings, []);
      // One without the option, and one for each of three answers.
      if (!worker) assert.deepEqual(lost, Array(4).fill('destroyed'));
      assert.deepEqual(page.crashes, []);
    } finally {
      await page.close();
    }
  });
}

test('what cannot be loaded again is refused', async () => {
  const page = await site.open('/blank');
  try {
    const messages = await page.evaluate(async (url) => {
      const { Gpu, WasmModel } = await import('/dist/index.js');
      const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
      const gpu = await Gpu.create();
      const failure = (...args) => WasmModel.load(...args).catch(({ code, message }) => `${code} ${message}`);
      return [
        await failure(bytes, { idleTimeout: 1 }),
        await failure(url, { idleTimeout: 1, gpu }),
        await failure(url, { idleTimeout: 0 }),
      ];
    }, SMALL);
    assert.match(messages[0], /^invalid_argument .*'idleTimeout'.*came from a buffer/);
    assert.match(messages[1], /^invalid_argument .*'idleTimeout'.*the page opened the device/);
    assert.match(messages[2], /^invalid_argument .*'idleTimeout' must be a number of milliseconds from 1/);
  } finally {
    await page.close();
  }
});

test('models within a budget make room for each other, and write what they write alone', async () => {
  const page = await site.open('/blank');
  const other = SMALL.replace('llama-bf16', 'qwen3-q4_0');
  const { texts, states, devices } = await page.evaluate(
    async ([first, second]) => {
      const devices = [];
      const { requestDevice } = GPUAdapter.prototype;
      GPUAdapter.prototype.requestDevice = async function (...args) {
        const device = await requestDevice.apply(this, args);
        devices.push(device.lost.then(({ reason }) => reason));
        return device;
      };
      const { models } = await import('/dist/models/index.js');
      const { WasmModel } = await import('/dist/index.js');
      const options = { backend: 'webgpu', contextLength: 128 };
      const bytesOf = async (source) => {
        const { gpu } = await WasmModel.inspect(source, options);
        return gpu.weightBytes + gpu.sessionBytes;
      };
      const app = models({
        budget: Math.max(await bytesOf(first), await bytesOf(second)),
        models: { first: { source: first, ...options }, second: { source: second, ...options } },
      });
      const write = (model) => model.generate('Once', { temperature: 0, maxTokens: 6, ignoreEos: true });
      const texts = [];
      const states = [];
      for (const name of ['first', 'second', 'first']) {
        texts.push((await app.use(name, write)).text);
        states.push(app.list().map(({ state }) => state));
      }
      await app.free();
      return { texts, states, devices: await Promise.all(devices) };
    },
    [SMALL, other],
  );
  assert.equal(texts[0], texts[2]);
  assert.ok(texts[1].length > 0);
  assert.deepEqual(states, [
    ['loaded', 'idle'],
    ['idle', 'loaded'],
    ['loaded', 'idle'],
  ]);
  assert.ok(devices.length >= 3 && devices.every((reason) => reason === 'destroyed'), String(devices));
  assert.deepEqual(page.crashes, []);
});
