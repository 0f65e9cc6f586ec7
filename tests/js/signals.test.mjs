// A page's signal may live as long as the page, and be given to every call: no call leaves a listener on it.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock } from './api.mjs';
import { rangedServer } from './ranged_server.mjs';
import { MockWorker } from './mock_worker.mjs';

const { WasmModel, Tokenizer } = api;
globalThis.Worker = MockWorker;
await api.init({ wasm: new Uint8Array(8) });
const { languageModel } = await import(`${dist}prompt-api/index.js`);
const { createWebgguf } = await import(`${dist}ai-sdk/index.js`);

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, writes: 'Hello', template: 'x' });
});

/** A signal, and how many listeners it has. */
function counted() {
  const { signal } = new AbortController();
  const listeners = new Set();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (type, listener, options) => {
    listeners.add(listener);
    options?.signal?.addEventListener('abort', () => listeners.delete(listener));
    addEventListener.call(signal, type, listener, options);
  };
  signal.removeEventListener = (type, listener, options) => {
    listeners.delete(listener);
    removeEventListener.call(signal, type, listener, options);
  };
  return { signal, listeners };
}

const BYTES = new Uint8Array(100_000);
const messages = [{ role: 'user', content: 'x' }];

for (const worker of [false, true]) {
  test(`no call of a model leaves a listener${worker ? ', nor in a worker' : ''}`, async () => {
    const { signal, listeners } = counted();
    const server = await rangedServer(BYTES);
    server.reset();
    const checks = {
      load: async () => (await WasmModel.load(server.url, { signal, worker, cache: false })).free(),
      'load that fails': () => WasmModel.load('http://127.0.0.1:1/x', { signal, worker, cache: false, retries: 0 }),
      inspect: () => WasmModel.inspect(new Blob([BYTES]), { signal }),
      Tokenizer: async () => (await Tokenizer.load(new Blob([BYTES]), { signal })).free(),
    };
    const model = await WasmModel.load(new Blob([BYTES]), { worker });
    const session = model.session();
    Object.assign(checks, {
      generate: () => model.generate('x', { signal }),
      'a generation that is left': async () => {
        for await (const _ of model.generate('x', { signal })) break;
      },
      'a generation that is stopped': () => model.generate('x', { signal }).stop(),
      send: () => session.send('x', { signal }),
      evaluate: () => model.evaluate([1, 2], { signal }),
      embed: () => model.embed('x', { signal }),
      rank: () => model.rank('x', ['y'], { signal }),
      addAdapter: () => model.addAdapter(new Blob([BYTES]), { signal }),
      chat: () => model.chat.completions.create({ messages }, { signal }),
      'chat, streamed': async () => {
        for await (const _ of await model.chat.completions.create({ messages, stream: true }, { signal }));
      },
      'chat, left': async () => {
        for await (const _ of await model.chat.completions.create({ messages, stream: true }, { signal })) break;
      },
      'a session of the Prompt API': async () => {
        const made = await languageModel({ model }).create({ signal });
        await made.prompt('x', { signal });
        for await (const _ of made.promptStreaming('x', { signal }));
        made.destroy();
      },
      'the AI SDK': () =>
        createWebgguf()
          .languageModel(model)
          .doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], abortSignal: signal }),
    });
    for (const [call, work] of Object.entries(checks)) {
      await work().then(
        () => {},
        () => {},
      );
      assert.equal(listeners.size, 0, call);
    }
    await model.free();
    server.close();
  });
}
