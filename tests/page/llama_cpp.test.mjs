// The package against llama.cpp: on the CPU every committed model, on the GPU a few.
//
// tests/forward.rs compares all logits of every model on the same GPU with those of the CPU, in the same Rust. What is
// new here, a release build, the way through fetch and JavaScript, llama.cpp's word for it, does not depend on types
// and families.
//
// The expectations are llama.cpp's (tests/fixtures/models/README.md). `exact` is what it says with weights in f32, so
// that its own 8-bit activations stay out of the comparison.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareForced } from '../../www/answers/compare.js';
import { testIf } from '../long.mjs';
import { agree, expectations, openSite, PREDICT, sameGreedy } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

/** Loads a model once and lets it write, weigh and tokenize. Runs in the page. */
async function ask({ url, backend, prompt, forced, text, maxTokens }) {
  const { WasmModel } = await import('/dist/index.js');
  const model = await WasmModel.load(url, { backend });
  try {
    const greedy = await model.generate(prompt, { temperature: 0, ignoreEos: true, maxTokens }).result;
    const { top1, logprobs } = await model.evaluate(forced);
    return {
      ran: model.info.backend,
      generated: [...greedy.ids],
      top1: [...top1],
      logprobs: [...logprobs],
      textIds: [...(await model.tokenize(text, { addSpecial: true }))],
    };
  } finally {
    await model.free();
  }
}

const models = expectations();

/** Models that are loaded in different ways; small_devices.test.mjs has seven more. */
const ON_GPU = [
  'llama-q4_1-split',
  'gemma4-e-q8_0',
  'gpt-oss-mxfp4',
  'qwen3next-q8_0',
  'falcon-h1-q8_0',
  'qwen2vl-f16',
];
/**
 * A model whose choice of experts is a near tie that a cache in f16 decides otherwise, in llama.cpp as here.
 * tests/golden_cpu.rs compares all that it says, with a cache in f32.
 */
const NEAR_TIE = 'mellum-f16';
/** The models that `npm test` tries. */
const QUICK = ['llama-q4_1-split', 'gpt-oss-mxfp4'];
const onGpu = models.filter(({ name }) => ON_GPU.includes(name));
assert.equal(onGpu.length, ON_GPU.length);

for (const [backend, chosen] of Object.entries({ webgpu: onGpu, cpu: models })) {
  for (const { name, url, prompt, forced, text, text_ids: textIds, exact } of chosen) {
    const declare = testIf(backend === 'cpu' || QUICK.includes(name));
    declare(`${name} on ${backend} writes and weighs like llama.cpp`, async () => {
      const answer = await page.evaluate(ask, { url, backend, prompt, forced, text, maxTokens: PREDICT });
      assert.equal(answer.ran, backend);
      assert.deepEqual(answer.textIds, textIds);
      sameGreedy(answer.generated, exact);
      if (name === NEAR_TIE) assert.ok(compareForced(answer, exact).off < 0.005);
      else agree(answer, exact);
    });
  }
}

test('no error went uncaught meanwhile', () => assert.deepEqual(page.crashes, []));
