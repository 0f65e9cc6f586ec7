// Recovery from a lost device over a mock of the WebAssembly, in the page and in a worker: what is loaded again and
// when, and what is an error.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { api, isAbort, plan, resetMock, seen, withCode } from './api.mjs';
import { MockWorker, workers } from './mock_worker.mjs';

const { Gpu, WasmModel, init } = api;

globalThis.Worker = MockWorker;
await init({ wasm: new Uint8Array(8) });

const unhandled = [];
process.on('unhandledRejection', (error) => unhandled.push(error));
const now = performance.now;

beforeEach(() => {
  resetMock();
  workers.length = 0;
});

afterEach(() => {
  performance.now = now;
  assert.deepEqual(unhandled, []);
});

const later = (ms) => {
  performance.now = () => now.call(performance) + ms;
};

const BLOB = new Blob([Uint8Array.of(1, 2, 3)]);
const ranged = () => ({ size: 3, read: (offset, length) => Uint8Array.of(1, 2, 3).slice(offset, offset + length) });
const stream = () => new Blob([Uint8Array.of(1, 2, 3)]).stream();

async function textOf(generation) {
  let text = '';
  for await (const piece of generation) text += piece.text;
  return text;
}

for (const worker of [false, true]) {
  const at = worker ? 'in a worker' : 'in the page';
  const load = (source = BLOB, options = {}) => WasmModel.load(source, { worker, ...options });

  test(`${at}: a lost device is replaced, whatever was being done`, async () => {
    const warnings = [];
    const model = await load(BLOB, {
      contextLength: 32,
      selfCheck: false,
      tune: false,
      onWarning: (warning) => warnings.push(warning),
    });
    const session = model.session();
    plan.loseAt = 2;
    assert.equal(await textOf(model.generate('a')), 'abcde');
    assert.deepEqual(warnings, [{ code: 'device_lost', message: 'gone; the model is loaded again' }]);
    assert.deepEqual(seen.loads[1], {
      ...seen.loads[0],
      options: { backend: 'webgpu', contextLength: 32, prefixBytes: 2 ** 27 },
    });
    let saved;
    const works = [
      async () => assert.equal((await model.evaluate([1, 2, 3])).top1.length, 3),
      async () => assert.deepEqual([...(await model.embed('ab'))], [3, 196]),
      async () => assert.equal((await session.send('hi')).text, 'abcde'),
      async () => assert.equal((await (await session.fork()).send('hi')).text, 'abcde'),
      async () => assert.match(await (saved = await session.save()).text(), /^M2.*"content":"hi"/),
      async () => assert.equal((await (await model.restoreSession(saved)).send('hi')).text, 'abcde'),
    ];
    for (const [index, work] of works.entries()) {
      later(61_000 * (index + 1));
      plan.lost = true;
      await work();
    }
    assert.deepEqual([seen.recovered, seen.loads.length, warnings.length], [7, 8, 7]);
    await model.free();
    assert.equal(seen.freed, 4, 'the model and three sessions: what recovered them was used up');
  });

  test(`${at}: a second loss within a minute is an error, one after it is not`, async () => {
    const model = await load();
    plan.lost = true;
    assert.equal(await textOf(model.generate('a')), 'abcde');
    plan.loseAt = 3;
    const generation = model.generate('a');
    await assert.rejects(
      textOf(generation),
      withCode('device_lost', /^gone; it was lost before, less than a minute ago$/),
    );
    await assert.rejects(generation.result, withCode('device_lost'));
    await assert.rejects(model.evaluate([1]), withCode('device_lost', /less than a minute ago/));
    assert.equal(seen.loads.length, 2);
    later(61_000);
    assert.equal(await textOf(model.generate('a')), 'abcde');
    assert.equal(seen.loads.length, 3);
    await model.free();
    assert.equal(seen.freed, 1);
  });

  test(`${at}: sources that can be read once say so`, async () => {
    for (const [source, why] of [
      [Uint8Array.of(1, 2, 3), /^gone; the model is not loaded again, since it came from a buffer, which is not kept$/],
      [stream(), /since it came from a stream, which can be read once$/],
      [new Response(stream()), /since it came from a stream, which can be read once$/],
      [[BLOB, stream()], /since it came from a stream, which can be read once$/],
    ]) {
      const model = await load(source);
      plan.lost = true;
      await assert.rejects(textOf(model.generate('a')), withCode('device_lost', why));
      plan.lost = false;
      assert.equal(await textOf(model.generate('a')), 'abcde', 'the model is free again');
      await model.free();
    }
    assert.equal(seen.recovered, 0);
    const model = await load(Promise.resolve(ranged()));
    plan.lost = true;
    assert.equal(await textOf(model.generate('a')), 'abcde');
    await model.free();
  });

  test(`${at}: a load starts again, once`, async () => {
    plan.lost = 'loading';
    const model = await load();
    assert.equal(await textOf(model.generate('a')), 'abcde');
    assert.equal(seen.loads.length, 1);
    await model.free();
    plan.loadFails = Object.assign(new Error('gone'), { code: 'device_lost' });
    await assert.rejects(load(), withCode('device_lost', /^gone$/));
    await assert.rejects(load(Uint8Array.of(1)), withCode('device_lost', /^gone; the model is not loaded again/));
  });

  test(`${at}: where loading again fails, the error says why, and the next call tries once more`, async () => {
    const model = await load();
    plan.lost = true;
    plan.loadFails = Object.assign(new Error('no network'), { code: 'download_failed' });
    const why = /^gone; the model could not be loaded again: no network$/;
    await assert.rejects(textOf(model.generate('a')), withCode('device_lost', why));
    plan.loadFails = undefined;
    assert.equal(await textOf(model.generate('a')), 'abcde');
    await model.free();
  });

  test(`${at}: who leaves meanwhile does not wait for the load`, async () => {
    const model = await load();
    plan.lost = true;
    plan.compileMs = 300;
    const { reads } = seen;
    const generation = model.generate('a');
    const first = generation.next();
    while (seen.reads === reads) await new Promise((resolve) => setTimeout(resolve, 1));
    const { length } = seen.loads;
    await generation.stop();
    assert.equal(seen.loads.length, length, 'the load ends at its next report');
    assert.equal((await first).done, true);
    assert.equal((await generation).finishReason, 'abort');
    const embedding = model.embed('ab', { signal: AbortSignal.timeout(50) });
    await assert.rejects(embedding, (error) => isAbort(error) || error.name === 'TimeoutError');
    plan.compileMs = 0;
    assert.equal(await textOf(model.generate('a')), 'abcde', 'the next request brings the model back');
    await model.free();
  });
}

test('a fresh model whose adapter fails is freed, and so are all lanes where one cannot be made', async () => {
  const model = await WasmModel.load(BLOB);
  await model.addAdapter(Uint8Array.of(71, 71, 85, 70));
  plan.lost = true;
  plan.adapterFails = Object.assign(new Error('no memory'), { code: 'out_of_memory' });
  await assert.rejects(textOf(model.generate('a')), withCode('device_lost', /could not be loaded again: no memory/));
  assert.equal(seen.freed, 1, 'the fresh one');
  plan.adapterFails = undefined;
  assert.equal(await textOf(model.generate('a')), 'abcde');
  await model.free();

  resetMock();
  plan.parallel = 3;
  plan.failsAt = 1;
  await assert.rejects(WasmModel.load(BLOB, { parallel: 3 }), withCode('out_of_memory'));
  assert.equal(seen.freed, 2, 'the model and the lane that was made');
});

test('a model on a device of the page is not loaded again', async () => {
  const gpu = await Gpu.create();
  const model = await WasmModel.load(BLOB, { gpu });
  plan.lost = true;
  const why = /^gone; the model is not loaded again, since the page opened the device$/;
  await assert.rejects(textOf(model.generate('a')), withCode('device_lost', why));
  await model.free();
  gpu.destroy();
});
