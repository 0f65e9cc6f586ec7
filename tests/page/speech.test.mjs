// Speech in a page, on the GPU and on the CPU path, and from a worker: samples are what llama.cpp has.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readJson } from '../../tools/common.mjs';
import { ENCODERS } from '../js/encoders.mjs';
import { SAMPLES, sampledApart } from '../js/speech.mjs';
import { openEvaluation } from './site.mjs';

const { site } = await openEvaluation();
const expected = readJson(path.join(ENCODERS, 'soprano.json'));

for (const [backend, worker] of [
  ['webgpu', false],
  ['webgpu', true],
  ['cpu', true],
]) {
  test(`on ${backend}${worker ? ', in a worker' : ''}: samples are what llama.cpp has`, async () => {
    const page = await site.open('/blank');
    const { vocoder, found } = await page.evaluate(
      async ({ backend, worker, texts }) => {
        const { WasmModel } = await import('/dist/index.js');
        const files = '/fixtures/encoders';
        const options = { backend, worker, vocoder: `${files}/soprano.gguf` };
        const model = await WasmModel.load(`${files}/soprano-text.gguf`, options);
        const found = [];
        for (const text of texts) {
          found.push([]);
          for await (const { samples } of model.speak(text, { temperature: 0, repetitionPenalty: 1 })) {
            found.at(-1).push(...samples);
          }
        }
        const { vocoder } = model.info;
        await model.free();
        return { vocoder, found };
      },
      { backend, worker, texts: expected.cases.map(({ text }) => text) },
    );
    await page.close();
    assert.equal(vocoder.sampleRate, expected.rate);
    expected.cases.forEach((some, at) => {
      const apart = sampledApart(found[at], some, expected.every);
      assert.ok(apart < SAMPLES, `${some.text}: samples differ by ${apart}`);
    });
  });
}
