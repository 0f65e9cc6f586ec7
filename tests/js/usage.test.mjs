// What a result says of its prompt, with images and sounds, on the CPU path in Node.js: here, in a session, through a
// worker, and in the words of OpenAI and the AI SDK.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { createWebgguf } from '../../dist/ai-sdk/index.js';
import '../../dist/engine/chat-text.js';
import { WasmModel } from '../../dist/index.js';
import '../../dist/media/encoder.js';
import { ENCODERS, FIXTURES, blob, expectationsOf, open } from './encoders.mjs';
import { joined } from './gguf_join.mjs';
import { readPng } from './images.mjs';
import { soundOf } from './sounds.mjs';

// After the package itself, which is not to run over the mock of its WebAssembly.
const { MockWorker, workers } = await import('./mock_worker.mjs');
globalThis.Worker = MockWorker;
// A test that fails leaves its model behind.
after(() => workers.forEach((worker) => worker.terminate()));

const SOUND = path.join(ENCODERS, 'sound-8219.wav');
/** How long it takes to fetch the sound of {@link slow}, in milliseconds of the clock here. */
const FETCH = 1e6;
const clock = performance.now.bind(performance);
let passed = 0;
performance.now = () => clock() + passed;

/** A sound whose bytes take a while, by that clock. */
function slow() {
  const file = blob(SOUND);
  file.arrayBuffer = async () => {
    await new Promise(setImmediate);
    passed += FETCH;
    return Blob.prototype.arrayBuffer.call(file);
  };
  return file;
}

const ask = (...parts) => [{ role: 'user', content: [...parts, { type: 'text', text: 'ab' }] }];
const SHORT = { maxTokens: 2, temperature: 0, ignoreEos: true };

/** A model that sees and hears. */
function both(options) {
  const [seeing, hearing] = ['qwen2vl', 'qwen2a'].map((name) => fs.readFileSync(path.join(ENCODERS, `${name}.gguf`)));
  const projectors = { 'clip.vision.projector_type': 'qwen2vl_merger', 'clip.audio.projector_type': 'qwen2a' };
  const mmproj = new Blob([joined(seeing, hearing, { ...projectors, 'clip.projector_type': '' })]);
  return open(expectationsOf('qwen2a'), { mmproj, ...options });
}

for (const worker of [false, true]) {
  const at = worker ? 'in a worker' : 'here';

  test(`${at}: rows of images and of sounds are counted apart`, async () => {
    const model = await both({ worker });
    const image = readPng(path.join(ENCODERS, 'picture-60x40.png'));
    const audio = soundOf(8219);
    const { media } = await model.encodeParts([{ image }, { audio }]);
    const [imageTokens, audioTokens] = media.map(({ rows }) => rows);
    assert.ok(imageTokens > 0 && audioTokens > 0 && imageTokens !== audioTokens);
    const parts = [
      { type: 'image', image },
      { type: 'audio', audio },
    ];
    const messages = ask(...parts);
    const { usage } = await model.generate(messages, SHORT);
    assert.deepEqual(usage.promptTokensDetails, { cachedTokens: usage.cachedTokens, imageTokens, audioTokens });
    const { usage: again } = await model.generate(messages, SHORT);
    assert.ok(again.cachedTokens > 0, 'it was read before');
    assert.deepEqual(again.promptTokensDetails, { cachedTokens: again.cachedTokens, imageTokens, audioTokens });
    const session = model.session();
    await session.send(messages[0], SHORT);
    const { usage: later } = await session.send('cd', SHORT);
    assert.ok(later.cachedTokens > imageTokens + audioTokens);
    assert.deepEqual(later.promptTokensDetails, { cachedTokens: later.cachedTokens, imageTokens, audioTokens });
    const heard = await model.generate(ask(parts[1]), SHORT);
    assert.deepEqual([heard.usage.promptTokensDetails.imageTokens, heard.timings.timeToFirstTokenMs > 0], [0, true]);
    const { usage: plain } = await model.generate('ab', SHORT);
    const { imageTokens: images, audioTokens: sounds } = plain.promptTokensDetails;
    assert.deepEqual([images, sounds], [0, 0], 'a text after that');
    const created = await model.chat.completions.create({ messages, max_tokens: 2, n: 2 });
    const { cached_tokens, ...rows } = created.usage.prompt_tokens_details;
    assert.deepEqual(rows, { audio_tokens: audioTokens, image_tokens: imageTokens });
    await model.free();
  });

  for (const overflow of ['error', 'truncate']) {
    test(`${at}: the time to the first token is that of the whole prompt (overflow: ${overflow})`, async () => {
      const model = await open(expectationsOf('ultravox'), { worker });
      const session = model.session({ overflow });
      const start = performance.now();
      const { timings } = await session.send(ask({ type: 'audio', audio: slow() })[0], SHORT);
      const wall = performance.now() - start;
      const { timeToFirstTokenMs: first } = timings;
      assert.ok(first >= FETCH && first <= wall, `${first} ms of ${wall}`);
      await model.free();
    });
  }
}

test('the wait for another request is no part of the time to the first token', async () => {
  const model = await open(expectationsOf('ultravox'));
  const before = model.generate(ask({ type: 'audio', audio: slow() }), SHORT);
  const start = performance.now();
  const { timings } = await model.generate('ab', SHORT);
  const wall = performance.now() - start;
  assert.ok((await before).timings.timeToFirstTokenMs >= FETCH);
  assert.ok(timings.timeToFirstTokenMs > 0 && timings.timeToFirstTokenMs < wall - FETCH);
  await model.free();
});

test('the request that waits for a lane counts what its own prompt takes', async () => {
  const { text } = expectationsOf('ultravox');
  const model = await open({ text, encoder: 'ultravox.gguf' }, { parallel: 2 });
  const { usage, timings } = await model.generate(ask({ type: 'audio', audio: slow() }), SHORT);
  assert.ok(timings.timeToFirstTokenMs >= FETCH);
  assert.ok(usage.promptTokensDetails.audioTokens > 0);
  await model.free();
});

test('timings and usage of other faces', async () => {
  const model = await open(expectationsOf('ultravox'));
  const messages = ask({ type: 'audio', audio: slow() });
  const { usage, timings } = await model.chat.completions.create({ messages, max_tokens: 2, timings: true });
  assert.ok(timings.prompt_ms > 0);
  assert.ok(Math.abs(timings.prompt_n - (timings.prompt_ms * timings.prompt_per_second) / 1e3) < 1e-6);
  assert.equal(usage.prompt_tokens_details.image_tokens, 0);
  const provider = createWebgguf({ models: { any: model } });
  const data = new Uint8Array(fs.readFileSync(SOUND));
  const content = [
    { type: 'file', mediaType: 'audio/wav', data },
    { type: 'text', text: 'ab' },
  ];
  const call = { prompt: [{ role: 'user', content }], maxOutputTokens: 2 };
  const given = await provider.languageModel('any').doGenerate(call);
  assert.equal(given.usage.raw.prompt_tokens_details.audio_tokens, usage.prompt_tokens_details.audio_tokens);
  assert.equal(given.usage.raw.prompt_tokens, given.usage.inputTokens.total);
  await model.free();
});

test('the result of a request that never had a turn counts nothing', async () => {
  const model = await WasmModel.load(blob(path.join(FIXTURES, 'models', expectationsOf('ultravox').text)), {
    backend: 'cpu',
  });
  const first = model.generate('ab', SHORT);
  const second = model.generate('ab', SHORT);
  await second.stop();
  const { usage, timings } = await second;
  assert.deepEqual(usage.promptTokensDetails, { cachedTokens: 0, imageTokens: 0, audioTokens: 0 });
  assert.equal(timings.timeToFirstTokenMs, 0);
  await first;
  await model.free();
});
