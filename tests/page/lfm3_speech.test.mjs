// The speech of an LFM3 in a page, on the GPU and on the CPU path, and from a worker: samples are what llama.cpp has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf, expected } from '../js/lfm3_speech.mjs';
import { SAMPLES, sampledApart } from '../js/speech.mjs';
import { openEvaluation } from './site.mjs';

const { site } = await openEvaluation();

for (const [backend, worker] of [
  ['webgpu', false],
  ['webgpu', true],
  ['cpu', true],
]) {
  // A GPU in software takes long.
  const cases = backend === 'webgpu' && worker ? expected.cases.slice(0, 1) : expected.cases.slice(0, 2);
  test(`on ${backend}${worker ? ', in a worker' : ''}: samples are what llama.cpp has`, async () => {
    const page = await site.open('/blank');
    const { info, found } = await page.evaluate(
      async ({ backend, worker, asked }) => {
        const { WasmModel } = await import('/dist/index.js');
        const file = '/fixtures/encoders/lfm3a-gen.gguf';
        const options = { backend, worker, vocoder: file, mmproj: file };
        const model = await WasmModel.load('/fixtures/encoders/lfm3a-gen-text.gguf', options);
        const found = [];
        for (const { prompt, ...others } of asked) {
          found.push([]);
          let next = { ...others, prompt: Uint32Array.from(prompt) };
          for (let isLast = false; !isLast; next = undefined) {
            const piece = await model.withEngine('speak', (engine) => engine.say(next));
            isLast = piece.isLast;
            found.at(-1).push(...piece.samples);
          }
        }
        const { vocoder, media } = model.info;
        await model.free();
        return { info: { ...vocoder, ...media }, found };
      },
      { backend, worker, asked: cases.map((some) => ({ ...askedOf(some), prompt: some.ids })) },
    );
    await page.close();
    assert.deepEqual([info.sampleRate, info.projector, info.audio], [expected.rate, 'lfm3a_gen', true]);
    cases.forEach((some, at) => {
      const apart = sampledApart(found[at], some, expected.every);
      assert.ok(apart < SAMPLES, `${some.text}: samples differ by ${apart}`);
    });
  });
}
