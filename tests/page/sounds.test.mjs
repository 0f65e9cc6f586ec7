// Encoders of sounds in a page: they say what llama.cpp says, on the CPU in www/evaluate.html, on the GPU in one page
// for all; files, buffers and samples are the same sound, also from a worker.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readJson } from '../../tools/common.mjs';
import { ENCODERS } from '../js/encoders.mjs';
import { LISTENERS } from '../js/sounds.mjs';
import { testIf } from '../long.mjs';
import { askEncoders, assertAnswer, evaluateEncoder, withFiles } from './encoders.mjs';
import { openEvaluation } from './site.mjs';

/** Encoders that run on the CPU in a page: Node.js has run all of them there. */
const ON_CPU = ['ultravox', 'qwen3a', 'gemma4a'];

/** The encoder that `npm test` runs on the GPU. */
const QUICK = 'qwen3a';

const { site, evaluate } = await openEvaluation();

const page = await site.open('/blank');

for (const backend of ['webgpu', 'cpu']) {
  for (const name of backend === 'cpu' ? ON_CPU : LISTENERS) {
    const declare = testIf(backend === 'cpu' || name === QUICK);
    declare(`${name} on ${backend}: rows and text are those of llama.cpp`, async () => {
      // Voxtral's layers are Ultravox's: one sound is enough. The longest sound of some encoders is in no file.
      const most = { voxtral: 10_000, lfm2a: 50_000, lfm3a: 50_000, granite: 50_000, parakeet: 50_000 }[
        name.split(/[_-]/)[0]
      ];
      const fixture = withFiles(readJson(path.join(ENCODERS, `${name}.json`)), most);
      const answers = await (backend === 'cpu' ? evaluateEncoder(evaluate, fixture) : askEncoders(page, fixture));
      assert.ok(answers.length > 0 && answers.length === fixture.cases.length);
      for (const [at, expected] of fixture.cases.entries()) {
        assert.deepEqual(answers[at].info.media, { image: false, audio: true });
        assertAnswer(answers[at], expected, backend);
      }
    });
  }
}

test('a file, a buffer and samples are the same sound, in the page and in a worker', async () => {
  const page = await site.open('/blank');
  const found = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const answers = [];
    for (const worker of [false, true]) {
      const options = { backend: 'cpu', worker, mmproj: '/fixtures/encoders/ultravox.gguf' };
      const model = await WasmModel.load('/fixtures/models/llama-f32.gguf', options);
      const url = '/fixtures/encoders/sound-8219.wav';
      const file = await (await fetch(url)).blob();
      const bytes = await file.arrayBuffer();
      const buffer = await new OfflineAudioContext(1, 1, 16000).decodeAudioData(bytes.slice(0));
      const samples = { samples: buffer.getChannelData(0), sampleRate: buffer.sampleRate };
      for (const audio of [file, new Uint8Array(bytes), url, buffer, samples]) {
        const content = [{ type: 'audio', audio }];
        const { ids, usage } = await model.generate([{ role: 'user', content }], { maxTokens: 4, ignoreEos: true })
          .result;
        answers.push({ ids: [...ids], cached: usage.cachedTokens });
      }
      await model.free();
    }
    return answers;
  });
  await page.close();
  for (const [at, { ids, cached }] of found.entries()) {
    assert.deepEqual(ids.length, 4);
    // Chromium's own decoder divides by another number: a buffer is another sound, and its samples are the same.
    const isNew = [0, 3].includes(at % 5);
    assert.equal(cached > 375, !isNew, `sound ${at}: ${cached} tokens were read before`);
  }
});

test('what is no sound is refused', async () => {
  const page = await site.open('/blank');
  const messages = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const model = await WasmModel.load('/fixtures/models/llama-f32.gguf', {
      backend: 'cpu',
      mmproj: '/fixtures/encoders/ultravox.gguf',
    });
    const found = [];
    for (const audio of [new Blob(['no sound']), new Blob([]), '/nothing-here.wav']) {
      const asked = model.generate([{ role: 'user', content: [{ type: 'audio', audio }] }]).result;
      found.push(await asked.then(String, (error) => `${error.code}: ${error.message}`));
    }
    await model.free();
    return found;
  });
  await page.close();
  const expected = [
    /invalid_argument.*8 bytes is no sound/,
    /invalid_argument.*0 bytes is no sound/,
    /download_failed/,
  ];
  messages.forEach((message, at) => assert.match(message, expected[at]));
});
