// Models that the Prompt API and the AI SDK provider load themselves, over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, seen } from './api.mjs';
import { MockWorker, workers } from './mock_worker.mjs';

const { languageModel } = await import(`${dist}prompt-api/index.js`);
const { createWebgguf } = await import(`${dist}ai-sdk/index.js`);
globalThis.Worker = MockWorker;
await api.init({ wasm: new Uint8Array(8) });

beforeEach(() => {
  resetMock();
  workers.length = 0;
  Object.assign(plan, { contextLength: 10000, window: 10000, tokenMs: 0, writes: 'Hello!' });
});

const source = () => new Blob([new Uint8Array(9)]);
const loseWorker = () => workers.at(-1).dispatchEvent(Object.assign(new Event('error'), { message: 'no memory' }));

test('the Prompt API loads a model again whose worker was lost', async () => {
  const LanguageModel = languageModel({ model: source(), worker: true });
  const session = await LanguageModel.create();
  assert.equal(await session.prompt('Hi'), 'Hello!');
  loseWorker();
  await assert.rejects(session.prompt('Hi'), { name: 'OperationError' });
  const next = await LanguageModel.create();
  assert.equal(await next.prompt('Hi'), 'Hello!');
  assert.deepEqual([workers.length, seen.loads.length], [2, 2]);
  await LanguageModel.free();
});

test('the AI SDK provider loads a model again whose worker was lost', async () => {
  const file = source();
  const webgguf = createWebgguf({ models: { mine: file }, worker: true });
  const model = webgguf('mine');
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];
  const textOf = async () => (await model.doGenerate({ prompt })).content.find(({ type }) => type === 'text').text;
  assert.equal(await textOf(), 'Hello!');
  loseWorker();
  assert.equal(await textOf(), 'Hello!');
  assert.deepEqual([workers.length, seen.loads.length], [2, 2]);
  await webgguf.free();
});
