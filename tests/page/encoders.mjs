// Prompts with images and sounds, for tests in pages: on the GPU a model and its encoder are loaded once for all of
// them. Where all models of a file are on the device of one `Gpu`, what equal kernels need is compiled once.

import assert from 'node:assert/strict';
import { allRows } from '../js/images.mjs';
import { differenceOfSome } from '../js/sounds.mjs';
import { jsonUrl } from './site.mjs';

/**
 * Runs in the page: what becomes of each prompt, as www/answers/evaluate.js says it, and of 8 tokens after it where
 * `predicts` says so.
 */
export async function answersInPage([url, mmproj, prompts]) {
  const { Gpu, WasmModel } = await import('/dist/index.js');
  globalThis.gpu ??= await Gpu.create();
  const { gpu } = globalThis;
  const model = await WasmModel.load(new URL(url, location.href).href, {
    backend: 'webgpu',
    gpu,
    mmproj,
    cache: false,
  });
  const answers = [];
  for (const { parts, predicts } of prompts) {
    const { ids, media, positions } = await model.encodeParts(parts);
    const answer = {
      media: media.map(({ rows, embeddings }) => ({ rows, embeddings: embeddings.map((row) => [...row]) })),
    };
    answers.push(Object.assign(answer, { promptPositions: positions, info: model.info }));
    if (!predicts) continue;
    const options = { maxTokens: 8, temperature: 0, ignoreEos: true, logprobs: 0 };
    const run = model.generate(ids, options);
    answer.generatedLogprobs = [];
    for await (const { tokens = [] } of run) answer.generatedLogprobs.push(...tokens.map(({ logprob }) => logprob));
    answer.generated = [...(await run.result).ids];
  }
  await model.free();
  return answers;
}

const urlOf = (name) => `/fixtures/encoders/${name}`;

/** The fixture without the sounds that are too long for a file. */
export function withFiles(fixture, most = 100_000) {
  return { ...fixture, cases: fixture.cases.filter(({ samples = 0 }) => samples <= most) };
}

/** What {@link answersInPage} takes of an encoder's fixture: the model, the encoder, and a prompt for each case. */
export function questionsOf({ text, encoder, cases }) {
  const prompts = cases.map(({ image, samples, generated }) => {
    const medium = image ? { image: urlOf(image) } : { audio: urlOf(`sound-${samples}.wav`) };
    return { parts: [{ text: 'ab ' }, medium, { text: ' cd' }], predicts: generated !== undefined };
  });
  return [new URL(`/fixtures/models/${text}`, 'http://page').pathname, urlOf(encoder), prompts];
}

/** What becomes of the prompts of a fixture on the GPU, in a page that stays for the next fixture. */
export const askEncoders = (page, fixture) => page.evaluate(answersInPage, questionsOf(fixture));

/** The same on the CPU, by www/evaluate.html. */
export async function evaluateEncoder(evaluate, fixture) {
  const [model, mmproj, prompts] = questionsOf(fixture);
  const answers = [];
  for (const { parts, predicts } of prompts) {
    const asked = { model, mmproj, parts: `@${jsonUrl(parts)}`, media: 1, backend: 'cpu' };
    answers.push(await evaluate({ ...asked, ...(predicts && { predict: 8 }) }));
  }
  return answers;
}

/** Differences of rows, of the largest value, and of log-probabilities. */
const ROWS = { webgpu: 2e-3, cpu: 1e-4 };
const LOGPROBS = { webgpu: 2e-2, cpu: 5e-3 };

/** Checks an answer against the case of a fixture. */
export function assertAnswer(found, { image, samples, positions, generated, logprobs, ...some }, backend) {
  const name = image ?? `${samples} samples`;
  assert.equal(found.error, undefined, JSON.stringify(found.error));
  assert.equal(found.info.backend, backend);
  const { count, at, rows } = allRows(some);
  assert.equal(found.media[0].rows, count);
  const apart = differenceOfSome(found.media[0].embeddings, { at, rows });
  assert.ok(apart < ROWS[backend], `${name}: rows differ by ${apart}`);
  if (!generated) return;
  assert.equal(found.promptPositions, positions);
  assert.deepEqual(found.generated, generated, name);
  for (const [i, logprob] of found.generatedLogprobs.entries()) {
    assert.ok(Math.abs(logprob - logprobs[i]) < LOGPROBS[backend], `${name}: ${logprob}, expected ${logprobs[i]}`);
  }
}
