// Pocket TTS on the CPU path in a page and on the GPU in a worker: samples are what llama.cpp has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expected } from '../js/pocket.mjs';
import { SAMPLES, sampledApart } from '../js/speech.mjs';
import { openEvaluation } from './site.mjs';

const { site } = await openEvaluation();
/** Each is one chunk of text, so that its noise belongs to one utterance; the last one is the shortest. */
const CASES = expected.cases.slice(1, 3);

for (const [backend, worker] of [
  ['webgpu', true],
  ['cpu', false],
]) {
  // A GPU in software takes long.
  const cases = backend === 'webgpu' ? CASES.slice(-1) : CASES;
  test(`on ${backend}${worker ? ', in a worker' : ''}: samples are what llama.cpp has`, async () => {
    const page = await site.open('/blank');
    const { vocoder, found } = await page.evaluate(
      async ({ backend, worker, cases, count }) => {
        const { WasmModel } = await import('/dist/index.js');
        const { chunksOf } = await import('/dist/voice/pocket-text.js');
        const files = '/fixtures/encoders';
        const options = { backend, worker, vocoder: `${files}/pocket.gguf` };
        const model = await WasmModel.load(`${files}/pocket-text.gguf`, options);
        const samples = Float32Array.from({ length: count }, (_, at) => {
          return 0.4 * Math.sin(0.05 * at + 3 * Math.sin(0.0007 * at)) + 0.2 * Math.sin(0.31 * at);
        });
        const found = [];
        for (const { text, noise } of cases) {
          const [{ said: _, ...chunk }] = await chunksOf(model, 'speak', text);
          let asked = { ...chunk, voice: { samples, sampleRate: 24_000 } };
          asked.noise = noise.map((row) => Float32Array.from(row));
          found.push([]);
          for (let isLast = false; !isLast; asked = undefined) {
            const piece = await model.withEngine('speak', (engine) => engine.say(asked));
            isLast = piece.isLast;
            found.at(-1).push(...piece.samples);
          }
        }
        const { vocoder } = model.info;
        await model.free();
        return { vocoder, found };
      },
      { backend, worker, cases, count: expected.voice },
    );
    await page.close();
    assert.deepEqual([vocoder.sampleRate, vocoder.variant], [expected.rate, 'tiny']);
    cases.forEach((some, at) => {
      const apart = sampledApart(found[at], some, expected.every);
      assert.ok(apart < SAMPLES, `${some.text}: samples differ by ${apart}`);
    });
  });
}
