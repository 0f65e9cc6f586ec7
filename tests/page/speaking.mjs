// Speech for tests in pages: models speak the texts of fixtures with llama.cpp's choices, and samples are compared.

import assert from 'node:assert/strict';
import path from 'node:path';
import { readJson } from '../../tools/common.mjs';
import { ENCODERS } from '../js/encoders.mjs';
import { askedOf, expected as lfm3 } from '../js/lfm3_speech.mjs';
import { expected as pocket } from '../js/pocket.mjs';
import { SAMPLES, sampledApart } from '../js/speech.mjs';

const soprano = readJson(path.join(ENCODERS, 'soprano.json'));

/** Runs in the page: Soprano speaks texts; samples of each. */
async function speakSoprano({ backend, worker, texts }) {
  const { WasmModel } = await import('/dist/index.js');
  const files = '/fixtures/encoders';
  const options = { backend, worker, vocoder: `${files}/soprano.gguf` };
  const model = await WasmModel.load(new URL(`${files}/soprano-text.gguf`, location.href).href, options);
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
}

/** Runs in the page: Pocket TTS speaks texts, each of one chunk, with given noise and a voice of `count` samples. */
async function speakPocket({ backend, worker, cases, count }) {
  const { WasmModel } = await import('/dist/index.js');
  const { chunksOf } = await import('/dist/voice/pocket-text.js');
  const files = '/fixtures/encoders';
  const options = { backend, worker, vocoder: `${files}/pocket.gguf` };
  const model = await WasmModel.load(new URL(`${files}/pocket-text.gguf`, location.href).href, options);
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
}

/** Runs in the page: an LFM3 speaks behind prompts of ids. */
async function speakLfm3({ backend, worker, asked }) {
  const { WasmModel } = await import('/dist/index.js');
  const files = '/fixtures/encoders';
  const options = { backend, worker, vocoder: `${files}/lfm3a-gen.gguf`, mmproj: `${files}/lfm3a-gen.gguf` };
  const model = await WasmModel.load(new URL(`${files}/lfm3a-gen-text.gguf`, location.href).href, options);
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
}

function assertSamples(found, cases, every) {
  cases.forEach((some, at) => {
    const apart = sampledApart(found[at], some, every);
    assert.ok(apart < SAMPLES, `${some.text}: samples differ by ${apart}`);
  });
}

/** Soprano says what llama.cpp says in a page, which is given by its `evaluate`; `some` chooses among the texts. */
export async function assertSoprano(evaluate, { some = (cases) => cases, ...options }) {
  const cases = some(soprano.cases);
  const { vocoder, found } = await evaluate(speakSoprano, { ...options, texts: cases.map(({ text }) => text) });
  assert.equal(vocoder.sampleRate, soprano.rate);
  assertSamples(found, cases, soprano.every);
}

/** Pocket TTS likewise: each text is one chunk, so that its noise belongs to one utterance; the last is shortest. */
export async function assertPocket(evaluate, { some = (cases) => cases, ...options }) {
  const cases = some(pocket.cases.slice(1, 3));
  const { vocoder, found } = await evaluate(speakPocket, { ...options, cases, count: pocket.voice });
  assert.deepEqual([vocoder.sampleRate, vocoder.variant], [pocket.rate, 'tiny']);
  assertSamples(found, cases, pocket.every);
}

/** An LFM3, which hears, too, likewise. */
export async function assertLfm3(evaluate, { some = (cases) => cases, ...options }) {
  const cases = some(lfm3.cases.slice(0, 2));
  const asked = cases.map((each) => ({ ...askedOf(each), prompt: each.ids }));
  const { info, found } = await evaluate(speakLfm3, { ...options, asked });
  assert.deepEqual([info.sampleRate, info.projector, info.audio], [lfm3.rate, 'lfm3a_gen', true]);
  assertSamples(found, cases, lfm3.every);
}
