// Calls of the WebAssembly that overlap: the second one is refused, the first one goes on, and the model is usable
// after its end. The package queues its calls, so here they are made past it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import * as wasm from '../../dist/wasm/webgguf.js';

const STORYTELLER = new URL('../../www/models/storyteller.gguf', import.meta.url);
const BUSY = /busy with another call/;

/** The object of WebAssembly behind a model. */
async function handleOf(model) {
  const { prototype } = wasm.WasmModel;
  const { next } = prototype;
  let handle;
  prototype.next = function () {
    handle = this;
    return next.call(this);
  };
  await model.generate('A', { maxTokens: 1 });
  prototype.next = next;
  return handle;
}

const turn = () => new Promise((resolve) => void setImmediate(resolve));

test('while a call waits, others are refused, and when it has failed they are taken', async () => {
  const model = await WasmModel.load(new Blob([fs.readFileSync(STORYTELLER)]), { backend: 'cpu', contextLength: 128 });
  const write = async () => (await model.generate('Once upon a time', { temperature: 0, maxTokens: 8 })).text;
  const expected = await write();
  const handle = await handleOf(model);
  handle.start(Uint32Array.of(5, 6), { maxTokens: 4 }, undefined);
  let refuse;
  // The first token waits for its grammar.
  const grammar = new Promise((_, reject) => {
    refuse = reject;
  });
  grammar.catch(() => {});
  handle.constrain(grammar);
  const first = handle.next();
  await turn();
  for (const name of ['info', 'reset', 'device', 'missingRows']) assert.throws(() => handle[name](), BUSY, name);
  assert.equal(handle.prefixes(), undefined);
  assert.equal(handle.commonPrefix(Uint32Array.of(5, 6), undefined), 0);
  const calls = [
    handle.next(),
    handle.another(false, 16),
    handle.evaluate(Uint32Array.of(1, 2), undefined, []),
    handle.saveHead('', undefined),
    handle.adopt(Uint32Array.of(5, 6), [], true),
  ];
  for (const call of calls) await assert.rejects(call, BUSY);
  refuse(new Error('no grammar'));
  await assert.rejects(first, /no grammar/);
  assert.equal(handle.info().backend, 'cpu');
  await model.reset();
  assert.equal(await write(), expected);
  await model.free();
});
