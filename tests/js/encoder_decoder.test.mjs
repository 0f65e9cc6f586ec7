// Models whose encoder reads a source, through the package in Node.js; tests/sources_cpu.rs compares logits.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { ROOT } from '../../tools/common.mjs';
import path from 'node:path';

const FIXTURES = path.join(ROOT, 'tests', 'fixtures');
const read = (name) => new Uint8Array(fs.readFileSync(path.join(FIXTURES, name)));
const EXPECTED = JSON.parse(new TextDecoder().decode(read('sources/t5-f16.json')));
/** As in the expectations, no token ends the text. */
const OPTIONS = { temperature: 0, maxTokens: 40, logitBias: { 1: -100 } };

let model;
before(async () => {
  model = await WasmModel.load(read('sources/t5-f16.gguf'));
});
after(() => model.free());

const isInvalid = (pattern) => (error) => error.code === 'invalid_argument' && pattern.test(error.message);

test('sources are answered as by llama.cpp, one after the other', async () => {
  assert.equal(model.info.backend, 'cpu');
  assert.equal(model.info.decoderStartToken, 0);
  for (const { source, greedy } of [2, 1, 1, 3].map((at) => EXPECTED.sources[at])) {
    const { ids, usage, finishReason } = await model.generate({ source }, OPTIONS);
    assert.deepEqual([...ids], greedy.slice(0, 40));
    assert.deepEqual([usage.promptTokens, finishReason], [source.length + 1, 'length']);
  }
});

test('a text is the source by itself, and is streamed', async () => {
  const [text, ids] = EXPECTED.texts[0];
  const { text: expected } = await model.generate({ source: ids }, OPTIONS);
  let written = '';
  for await (const piece of model.generate(text, OPTIONS)) written += piece.text;
  assert.equal(written, expected);
  assert.equal((await model.generate({ source: text }, OPTIONS)).text, expected);
  const stop = expected.slice(5, 8);
  const stopped = await model.generate({ source: text }, { ...OPTIONS, stop });
  assert.equal(stopped.text, expected.slice(0, expected.indexOf(stop)));
  const drawn = () => model.generate({ source: text }, { ...OPTIONS, temperature: 1, seed: 7 });
  assert.equal((await drawn()).text, (await drawn()).text);
});

test('what such a model cannot do is refused by name', async () => {
  assert.throws(() => model.generate([{ role: 'user', content: 'Hi' }]), isInvalid(/messages/));
  assert.throws(() => model.session(), isInvalid(/session/));
  await assert.rejects(async () => model.evaluate([5, 6]), isInvalid(/evaluate/));
  await assert.rejects(async () => model.addAdapter(new Uint8Array(8)), isInvalid(/addAdapter/));
  await assert.rejects(async () => model.generate({ source: [] }), isInvalid(/generate/));
  await assert.rejects(async () => model.generate({ source: new Uint32Array(600).fill(5) }), { code: 'context_full' });
  const other = await WasmModel.load(read('models/llama-bf16.gguf'), { backend: 'cpu' });
  assert.throws(() => other.generate({ source: 'bread' }), isInvalid(/encoder/));
  await other.free();
});
