// Models in a worker, over a mock of the WebAssembly and workers of this thread: what crosses, in which order, and what
// happens when one side goes away.

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { after, beforeEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { api, isAbort, plan, resetMock, seen, testBytes, withCode } from './api.mjs';
import { MockWorker, workers } from './mock_worker.mjs';
import { rangedServer, until } from './ranged_server.mjs';

const { WasmModel, WebggufError, init } = api;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

globalThis.Worker = MockWorker;
await init({ wasm: new Uint8Array(8) });

const unhandled = [];
process.on('unhandledRejection', (error) => unhandled.push(error));

/** Models that a test leaves behind would keep the process alive. */
const endWorkers = () => workers.splice(0).forEach((worker) => worker.terminate());

beforeEach(() => {
  resetMock();
  endWorkers();
});
after(endWorkers);

const load = (source = Uint8Array.of(1, 2, 3), options = {}) => WasmModel.load(source, { worker: true, ...options });

async function textOf(generation) {
  let text = '';
  for await (const piece of generation) text += piece.text;
  return text;
}

test('the same class does the same there', async () => {
  const reports = [];
  const model = await load(undefined, { contextLength: 32, backend: 'cpu', onProgress: (p) => reports.push(p) });
  assert.ok(model instanceof WasmModel);
  assert.deepEqual([workers.length, workers[0].options], [1, { type: 'module' }]);
  assert.deepEqual(seen.loads[0].options, { backend: 'cpu', contextLength: 32, prefixBytes: 2 ** 27 });
  assert.deepEqual(reports[0], { stage: 'download', loaded: 3, total: 3, fraction: 1 });
  assert.deepEqual(reports.at(-1), { stage: 'ready', loaded: 1, total: 1, fraction: 1 });
  assert.deepEqual([model.hasGpu(), model.info.vocabularySize], [false, 128]);
  assert.equal(await textOf(model.generate('AB', { stop: 'x', seed: 7 })), 'abcde');
  assert.equal((await model.generate([{ role: 'user', content: 'H' }], { maxTokens: 2 })).text, 'ab');
  assert.deepEqual(seen.started[0], { ids: [1, 65, 66], options: { stop: ['x'], seed: 7 } });
  assert.deepEqual([...(await model.tokenize('A', { addSpecial: true }))], [1, 65]);
  assert.equal(await model.detokenize([65]), 'A');
  assert.equal(await model.applyChatTemplate([{ role: 'user', content: 'x' }]), '<user>x');
  assert.equal((await model.evaluate([1, 2, 3], { logits: true })).logits.length, 3 * 128);
  assert.deepEqual([...(await model.embed('ab'))], [3, 196]);
  assert.deepEqual(await model.rank('q', ['ab', [9, 9, 9]]), [5, 3]);
  assert.equal(await model.wasmMemoryBytes(), 65536);
  plan.prefixes = [2, 300, 1, 5, 3];
  assert.deepEqual(await model.prefixCache(), { blocks: 2, tokens: 300, hits: 1, bytes: 3 * 2 ** 32 + 5 });
  await model.reset();
  await model.free();
  assert.deepEqual([seen.freed, workers[0].dead], [1, true]);
  assert.deepEqual(unhandled, []);
});

const BYTES = testBytes((9 << 20) + 5);
const stream = (chunk) =>
  new ReadableStream({
    start(controller) {
      for (let at = 0; at < BYTES.length; at += chunk) controller.enqueue(BYTES.subarray(at, at + chunk));
      controller.close();
    },
  });
const wide = new Uint8Array(BYTES.length + 20);
wide.set(BYTES, 7);

const SOURCES = {
  'an address': () => URL.createObjectURL(new Blob([BYTES])),
  'a request': () => new Request(URL.createObjectURL(new Blob([BYTES]))),
  'a blob': () => new Blob([BYTES]),
  'a response': () => new Response(stream(1 << 20)),
  'a response of the network': () => fetch(URL.createObjectURL(new Blob([BYTES]))),
  'a stream': () => stream(700_001),
  'a buffer': () => BYTES.slice().buffer,
  'a part of a buffer': () => wide.subarray(7, 7 + BYTES.length),
  'size and read': () => ({ size: BYTES.length, read: (at, length) => BYTES.subarray(at, at + length) }),
  'a promise': () => Promise.resolve(new Blob([BYTES])),
};

for (const [name, make] of Object.entries(SOURCES)) {
  test(`source: ${name} arrives whole and in order`, async () => {
    const model = await load(make());
    assert.ok(seen.loads[0].parts[0].equals(BYTES));
    assert.equal(workers[0].copied.in, 8, 'no bytes but those of the mock of the WebAssembly were copied');
    await model.free();
  });
}

test('templates in a worker are told of the kinds of images and sounds', async () => {
  const model = await load();
  const content = [
    { type: 'image', image: new Uint8Array(4) },
    { type: 'audio', audio: 'x.wav' },
  ];
  assert.equal(await model.textWithMarks([{ role: 'user', content }], {}), '<user>\ufdd2\ufdd2');
  assert.deepEqual(seen.templates.at(-1).media, [{ image: null }, { audio: null }]);
  await model.free();
});

test('a request that is ended while the page downloads its image ends at once', async () => {
  const model = await load();
  const { fetch } = globalThis;
  const ended = new Error('enough');
  for (const how of ['signal', 'stop']) {
    const controller = new AbortController();
    const begun = new Promise((resolve) => {
      globalThis.fetch = (_url, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          resolve(signal);
        });
    });
    try {
      const messages = [{ role: 'user', content: [{ type: 'image', image: 'https://example.com/slow' }] }];
      const running = model.generate(messages, { signal: controller.signal });
      const signal = await begun;
      if (how === 'signal') controller.abort(ended);
      else await running.stop();
      if (how === 'signal') await assert.rejects(running.result, ended);
      else assert.equal((await running.result).finishReason, 'abort');
      assert.ok(signal.aborted);
    } finally {
      globalThis.fetch = fetch;
    }
  }
  assert.equal((await model.generate('AB', { stop: 'x', seed: 7 })).text, 'abcde', 'the next one has its turn');
  await model.free();
});

test('a buffer is moved, and what is only a part of one stays', async () => {
  const buffer = BYTES.slice().buffer;
  await (await load(buffer)).free();
  assert.equal(buffer.byteLength, 0);
  await (await load(wide.subarray(7, 107))).free();
  assert.equal(wide.length, BYTES.length + 20);
});

test('parts of a split file are put in order, and sources that are none are refused', async () => {
  const part = (n) => ({ name: `m-0000${n}-of-00002.gguf`, size: 2, read: () => Uint8Array.of(n, n) });
  await load([part(2), part(1)]);
  assert.deepEqual(
    seen.loads[0].parts.map((bytes) => bytes[0]),
    [1, 2],
  );
  await assert.rejects(load(part(1)), withCode('invalid_argument', /is part 1 of 2/));
  await assert.rejects(load(42), withCode('invalid_argument', /unknown kind of source/));
  await assert.rejects(load([]), withCode('invalid_argument', /array of sources is empty/));
  await assert.rejects(load({ size: -1, read: () => {} }), withCode('invalid_argument', /number of bytes, found -1/));
  await assert.rejects(load({ size: 9, read: () => 'x' }), withCode('invalid_argument', /must give an ArrayBuffer/));
  const failing = () => {
    throw new Error('no disk');
  };
  await assert.rejects(load({ size: 9, read: failing }), withCode('download_failed', /0 of 9 failed: Error: no disk/));
  assert.ok(workers.slice(1).every(({ dead }) => dead));
});

test('errors keep class, code and message', async () => {
  plan.loadFails = Object.assign(new Error('tensor x: expected 3, found 4'), { code: 'bad_file' });
  await assert.rejects(
    load(),
    (error) => error instanceof WebggufError && withCode('bad_file', /expected 3, found 4/)(error),
  );
  assert.ok(workers[0].dead);
  plan.loadFails = undefined;
  const model = await load();
  await assert.rejects(model.generate('x'.repeat(100)).result, withCode('context_full', /101 tokens/));
  plan.nextFails = Object.assign(new Error('gone'), { code: 'device_lost' });
  await assert.rejects(textOf(model.generate('a')), withCode('device_lost', /^gone; the model is not loaded again/));
  plan.nextFails = undefined;
  assert.equal(await textOf(model.generate('a')), 'abcde');
  plan.templateFails = true;
  await assert.rejects(
    model.applyChatTemplate([{ role: 'a', content: 'b' }]),
    withCode('invalid_argument', /template/),
  );
  assert.deepEqual(unhandled, []);
});

test('what goes with one thread only is refused', async () => {
  const gpu = await api.Gpu.create();
  await assert.rejects(load(undefined, { gpu }), withCode('invalid_argument', /'gpu' does not go with 'worker'/));
  const model = await load();
  await assert.rejects(model.hiddenStates([1], gpu), withCode('invalid_argument', /hiddenStates: .* worker/));
  await assert.rejects(load(undefined, { worker: 1 }), withCode('invalid_argument', /'worker' must be true or false/));
});

test('an abort while loading ends the worker at once, and so does a callback that throws', async () => {
  plan.compileMs = 1000;
  const controller = new AbortController();
  const loading = assert.rejects(load(undefined, { signal: controller.signal }), isAbort);
  while (workers.length === 0) await setImmediate();
  controller.abort();
  await loading;
  assert.ok(workers[0].dead);
  await assert.rejects(load(undefined, { signal: AbortSignal.abort() }), isAbort);
  plan.compileMs = 0;
  const mine = new Error('mine');
  const throwing = () => {
    throw mine;
  };
  await assert.rejects(load(undefined, { onProgress: throwing }), (error) => error === mine);
  assert.ok(workers.every(({ dead }) => dead));
});

test('a download is paused and resumed there, from its start or on the way', async () => {
  const bytes = testBytes(1 << 20);
  const server = await rangedServer(bytes);
  for (const pausedFirst of [true, false]) {
    const served = server.reset();
    served.stopAt = 1000;
    const download = new api.DownloadControl();
    if (pausedFirst) download.pause();
    const loading = load(server.url, { download, cache: false });
    if (pausedFirst) {
      await until('the worker has begun', () => workers.length > 0);
      await sleep(50);
      assert.equal(served.asked.length, 0);
      download.resume();
    }
    await until('the server has stopped', () => served.asked.length === 1 && server.unfinished.size === 1);
    download.pause();
    await until('the connection ends', () => server.unfinished.size === 0);
    served.stopAt = undefined;
    await sleep(50);
    assert.equal(served.asked.length, 1);
    download.resume();
    await loading;
    assert.ok(Buffer.from(seen.loads.at(-1).parts[0]).equals(Buffer.from(bytes)));
    endWorkers();
  }
  server.close();
});

test('a load leaves nothing on the control of its download once its worker is gone', async () => {
  const download = new api.DownloadControl();
  const listeners = () => getEventListeners(download, 'change').length;
  const model = await load(undefined, { download });
  assert.equal(listeners(), 1);
  await model.free();
  assert.equal(listeners(), 0);
  plan.compileMs = 1000;
  const controller = new AbortController();
  const loading = assert.rejects(load(undefined, { download, signal: controller.signal }), isAbort);
  await until('it loads', () => listeners() === 1);
  controller.abort();
  await loading;
  assert.equal(listeners(), 0);
  plan.loadFails = Object.assign(new Error('no model'), { code: 'bad_file' });
  await assert.rejects(load(undefined, { download }), withCode('bad_file'));
  assert.equal(listeners(), 0);
});

test('an abort while generating, and leaving the loop, end the text; the model goes on', async () => {
  const model = await load();
  const controller = new AbortController();
  const generation = model.generate('a', { maxTokens: 1000, signal: controller.signal });
  const loop = async () => {
    for await (const piece of generation) if (piece.text === 'c') controller.abort();
  };
  await assert.rejects(loop(), { name: 'AbortError' });
  await assert.rejects(generation.result, { name: 'AbortError' });
  assert.match(generation.partial, /^abc/);
  assert.ok(generation.partial.length < 100, `${generation.partial.length} tokens were written`);
  for await (const piece of model.generate('a', { maxTokens: 1000 })) if (piece.text === 'c') break;
  assert.equal(await textOf(model.generate('a')), 'abcde');
  plan.embedMs = 100;
  await assert.rejects(model.embed(['a'], { signal: AbortSignal.timeout(10) }), { name: 'TimeoutError' });
});

test('the worker writes a little ahead of a page that does not read, and no more', async () => {
  const model = await load();
  const generation = model.generate('a', { maxTokens: 1000 });
  await generation.next();
  while (seen.nexts < 20) await sleep(10);
  await sleep(150);
  const { ids } = await (await generation.return(), generation.result);
  assert.ok(ids.length > 10 && ids.length <= 40, `${ids.length} tokens`);
});

test('requests queue, and free ends them all', async () => {
  const model = await load();
  const [first, second] = await Promise.all([model.generate('a', { maxTokens: 3 }), model.evaluate([1, 2])]);
  assert.deepEqual([first.text, second.top1.length], ['abc', 2]);
  plan.tokenMs = 5;
  const running = model.generate('a', { maxTokens: 1000 }).result;
  const refused = assert.rejects(model.generate('b').result, withCode('invalid_argument', /freed/));
  const before = seen.nexts;
  while (seen.nexts === before) await sleep(1);
  await model.free();
  await refused;
  assert.equal((await running).finishReason, 'abort');
  await assert.rejects(model.tokenize('a'), withCode('invalid_argument', /the model was freed/));
  assert.deepEqual([seen.freed, workers[0].dead], [1, true]);
});

test('a worker that fails rejects all that waits, with a code', async () => {
  const model = await load();
  plan.tokenMs = 20;
  const reading = textOf(model.generate('a', { maxTokens: 1000 }));
  const waiting = model.generate('b').result;
  const embedding = model.embed('c');
  while (seen.nexts === 0) await sleep(1);
  workers[0].dispatchEvent(Object.assign(new Event('error'), { message: 'out of memory' }));
  const lost = withCode('worker_lost', /the worker with the model failed: out of memory; load the model again/);
  for (const call of [reading, waiting, embedding, model.tokenize('a')]) await assert.rejects(call, lost);
  await model.free();
  assert.equal(await textOf((await load()).generate('a', { maxTokens: 2 })), 'ab');
  assert.deepEqual(unhandled, []);
});

/** The bytes of the file for grammars in a message to a worker. */
function grammarBytesIn(value) {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined;
  if (value.grammarWasm) return [...new Uint8Array(value.grammarWasm)];
  return Object.values(value).map(grammarBytesIn).find(Boolean);
}

test('each worker gets the file for grammars that the page names, also after WebAssembly has started', async () => {
  const found = [];
  globalThis.Worker = class extends MockWorker {
    postMessage(message, transfer) {
      const bytes = grammarBytesIn(message);
      if (bytes) found.push(bytes);
      super.postMessage(message, transfer);
    }
  };
  await init({ grammarWasm: new Response(Uint8Array.of(7, 8, 9)) });
  for (const model of [await load(), await load()]) await model.free();
  globalThis.Worker = MockWorker;
  assert.deepEqual(found, [
    [7, 8, 9],
    [7, 8, 9],
  ]);
});

test('where there are no workers, or the script does not run, load says so', async () => {
  globalThis.Worker = undefined;
  await assert.rejects(load(), withCode('feature_missing', /no workers here/));
  globalThis.Worker = class extends EventTarget {
    constructor() {
      super();
      setTimeout(() => this.dispatchEvent(new Event('error')), 1);
    }
    terminate() {}
  };
  await assert.rejects(
    load(),
    withCode('download_failed', /worker.js: the worker did not start.*init\(\{ worker: url/),
  );
  globalThis.Worker = MockWorker;
});
