// Answers of text and sound by an LFM3 in a page, on the GPU and on the CPU path, and from a worker: tokens and samples
// are what llama.cpp has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, askedForAnswer } from '../js/lfm3_speech.mjs';
import { SAMPLES, sampledApart } from '../js/speech.mjs';
import { openEvaluation } from './site.mjs';

const { site } = await openEvaluation();

/** Runs in the page: what is said and written. */
async function answer({ backend, worker, asked }) {
  const { WasmModel } = await import('/dist/index.js');
  const file = '/fixtures/encoders/lfm3a-gen.gguf';
  const options = { backend, worker, vocoder: file, mmproj: file };
  const model = await WasmModel.load('/fixtures/encoders/lfm3a-gen-text.gguf', options);
  const found = [];
  for (const { prompt, behind, ...others } of asked) {
    const [ids, samples] = [[], []];
    let next = { ...others, prompt: Uint32Array.from(prompt), behind: Uint32Array.from(behind) };
    for (let isLast = false; !isLast; next = undefined) {
      const said = await model.withEngine('converse', (engine) => engine.say(next));
      isLast = said.isLast;
      if (said.id !== undefined) ids.push(said.id);
      samples.push(...said.samples);
    }
    found.push({ ids, samples });
  }
  const audio = { samples: new Float32Array(8000).map((_, at) => Math.sin(at / 7)), sampleRate: 16_000 };
  const kinds = [];
  const heard = [{ role: 'user', content: [{ type: 'audio', audio }] }];
  for await (const { type } of model.converse(heard, { maxTokens: 8, seed: 1 })) kinds.push(type);
  await model.free();
  return { found, kinds };
}

for (const [backend, worker] of [
  ['webgpu', false],
  ['webgpu', true],
  ['cpu', true],
]) {
  // A GPU in software takes long.
  const cases = answers.cases.slice(1, backend === 'webgpu' && worker ? 2 : 5);
  test(`on ${backend}${worker ? ', in a worker' : ''}: tokens and samples are what llama.cpp has`, async () => {
    const page = await site.open('/blank');
    const asked = cases.map((some) => {
      const { prompt, behind, ...others } = askedForAnswer(some);
      return { ...others, prompt: [...prompt], behind: [...behind] };
    });
    const { found, kinds } = await page.evaluate(answer, { backend, worker, asked });
    await page.close();
    cases.forEach((some, at) => {
      const tokens = some.slots.filter((id, slot) => id >= 0 && slot < Math.min(some.slots.length, some.most) - 1);
      assert.deepEqual(found[at].ids.slice(0, tokens.length), tokens, some.text);
      const apart = sampledApart(found[at].samples, some, answers.every);
      assert.ok(apart < SAMPLES, `${some.text}: samples differ by ${apart}`);
    });
    assert.equal(kinds[0], 'text');
  });
}
