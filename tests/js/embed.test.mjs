// WasmModel.embed and WasmModel.rank over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, isAbort, plan, resetMock, seen, withCode } from './api.mjs';

const { WasmModel, init } = api;
await init({ wasm: new Uint8Array(8) });

beforeEach(resetMock);

const load = (options) => WasmModel.load(Uint8Array.of(1), options);
const rows = (vectors) => vectors.map((vector) => [...vector]);

test('a text gives a vector, an array one for each', async () => {
  const model = await load();
  // The mock puts 1 in front, and gives the number of ids and their sum.
  assert.deepEqual([...(await model.embed('ab'))], [3, 196]);
  assert.deepEqual(rows(await model.embed(['a', [5, 6], Uint32Array.of(7)])), [
    [2, 98],
    [2, 11],
    [1, 7],
  ]);
  assert.deepEqual(seen.embeds[1].lengths, [2, 2, 1]);
  assert.deepEqual(await model.embed([]), []);
});

test('options go along', async () => {
  const model = await load({ pooling: 'last' });
  assert.equal(seen.loads[0].options.pooling, 'last');
  assert.deepEqual(rows(await model.embed(['a'], { normalize: false, dimensions: 1 })), [[2]]);
  await model.embed(['a'.repeat(100)], { truncate: true });
  const [first, second] = seen.embeds;
  assert.deepEqual([first.normalize, first.dimensions], [false, 1]);
  assert.deepEqual([second.normalize, second.lengths], [true, [64]]);
  await assert.rejects(model.embed('a'.repeat(100)), withCode('context_full'));
});

test('many texts go in groups', async () => {
  const model = await load();
  const texts = Array.from({ length: 2500 }, (_, i) => 'x'.repeat(1 + (i % 7)));
  const vectors = await model.embed(texts);
  assert.deepEqual(
    vectors.map(([length]) => length - 1),
    texts.map(({ length }) => length),
  );
  assert.deepEqual(
    seen.embeds.map(({ lengths }) => lengths.length),
    [1024, 1024, 452],
  );
});

test('onProgress hears how many texts are done, and what it throws ends the call', async () => {
  const model = await load();
  const texts = Array.from({ length: 1000 }, (_, at) => 'x'.repeat(at % 60));
  const alone = await model.embed(texts);
  const reports = [];
  const found = await model.embed(texts, { onProgress: (progress) => reports.push(progress) });
  assert.deepEqual(rows(found), rows(alone));
  assert.deepEqual(reports[0], { stage: 'prefill', loaded: 0, total: 1000, fraction: 0 });
  assert.deepEqual(reports.at(-1), { stage: 'prefill', loaded: 1000, total: 1000, fraction: 1 });
  assert.ok(reports.length > 2 && reports.every(({ loaded }, at) => at === 0 || loaded > reports[at - 1].loaded));
  const told = [];
  const scores = await model.rank('q', ['ab', [9, 9, 9]], { onProgress: ({ loaded }) => told.push(loaded) });
  assert.deepEqual(
    [scores, told],
    [
      [5, 3],
      [0, 2],
    ],
  );
  const count = seen.embeds.length;
  const failing = model.embed(texts, {
    onProgress: ({ loaded }) => {
      if (loaded > 0) throw new Error('enough');
    },
  });
  await assert.rejects(failing, /enough/);
  assert.equal(seen.embeds.length, count + 1);
  const empty = [...texts.slice(1), Uint32Array.of()];
  await assert.rejects(model.embed(empty, { onProgress: () => {} }), withCode('invalid_argument', /input 999 has/));
  await assert.rejects(model.embed(texts, { onProgress: 1 }), withCode('invalid_argument', /'onProgress'/));
  const heard = [];
  await model.embeddings.create({ input: ['a', 'b'] }, { onProgress: ({ loaded }) => heard.push(loaded) });
  assert.deepEqual(heard, [0, 2]);
});

test('documents are scored for a query, or as ids of both', async () => {
  const model = await load();
  const scores = await model.rank('q', ['ab', [9, 9, 9]]);
  assert.deepEqual(scores, [5, 3]);
  assert.deepEqual(seen.embeds[0].ids, [1, 113, 0, 97, 98, 9, 9, 9]);
});

test('a signal ends the call', async () => {
  const model = await load();
  plan.embedMs = 20;
  const controller = new AbortController();
  const embedding = model.embed(['a'], { signal: controller.signal });
  const ended = assert.rejects(embedding, isAbort);
  while (seen.embeds.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  controller.abort();
  await ended;
  await assert.rejects(model.embed(['a'], { signal: AbortSignal.abort() }), isAbort);
  assert.equal((await model.embed(['a'])).length, 1, 'the model is free again');
});

const REFUSED = [
  ['embed', [[1, 2]], /text 0 must be a string or token ids, found 1/],
  ['embed', [{}], /expected an array of texts, found an object/],
  ['embed', [['a', [500]]], /text 1: ids\[0\] must be an integer from 0 to 127/],
  ['embed', ['a', { dimension: 3 }], /unknown option 'dimension'/],
  ['embed', ['a', { dimensions: 0 }], /'dimensions' must be an integer of at least 1/],
  ['embed', [['a', []]], /input 1 has no tokens/],
  ['rank', [5, ['a']], /expected a string, found 5/],
  ['rank', ['a', 'b'], /expected an array of documents, found 'b'/],
  ['rank', ['a', ['b'], { normalize: true }], /unknown option 'normalize'/],
];

for (const [call, given, pattern] of REFUSED) {
  test(`${call}(${JSON.stringify(given)}) is refused`, async () => {
    const model = await load();
    await assert.rejects(model[call](...given), withCode('invalid_argument', pattern));
  });
}

test('calls at once are done in order, and a freed model does none', async () => {
  const model = await load();
  plan.embedMs = 5;
  const vectors = await Promise.all(['a', 'bc', 'def'].map((text) => model.embed(text)));
  assert.deepEqual(
    vectors.map(([length]) => length),
    [2, 3, 4],
  );
  await model.free();
  await assert.rejects(model.embed('a'), withCode('invalid_argument', /freed/));
});
