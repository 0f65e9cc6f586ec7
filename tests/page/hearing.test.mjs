// A model that writes while it hears, in a page: it hears what llama.cpp hears, on the GPU, and in a worker.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectationsOf } from '../js/encoders.mjs';
import { soundOf } from '../js/sounds.mjs';
import { openEvaluation } from './site.mjs';

const { site } = await openEvaluation();

for (const options of [{ backend: 'webgpu' }, { backend: 'cpu', worker: true }]) {
  test(`words of a sound with ${JSON.stringify(options)}`, async () => {
    const page = await site.open('/blank');
    const expected = expectationsOf('voxtral_rt-odd');
    const cases = expected.cases.map(({ samples, ids }) => ({ samples: [...soundOf(samples).samples], ids }));
    const found = await page.evaluate(
      async ({ options, cases, text, encoder }) => {
        const { WasmModel } = await import('/dist/index.js');
        const mmproj = `/fixtures/encoders/${encoder}`;
        const model = await WasmModel.load(`/fixtures/models/${text}`, { ...options, mmproj });
        const answers = [];
        for (const { samples, ids } of cases) {
          const file = { samples: Float32Array.from(samples), sampleRate: 16000 };
          const { text: words } = await model.audio.transcriptions.create({ file });
          answers.push([words, (await model.detokenize(ids)).trim()]);
        }
        const { backend } = model.info;
        await model.free();
        return { answers, backend };
      },
      { ...expected, options, cases },
    );
    await page.close();
    assert.equal(found.backend, options.backend);
    for (const [words, heard] of found.answers) assert.equal(words, heard);
    assert.ok(found.answers.every(([words]) => words !== ''));
  });
}
