// The speech of an LFM3 on the CPU path in Node.js, against llama.cpp: codes and samples; pieces; what is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { joined } from '../../dist/voice/resample.js';
import { Vocoder } from '../../dist/voice/vocoder.js';
import { blob, ENCODERS } from './encoders.mjs';
import { askedOf, expected, GENERATOR, open } from './lfm3_speech.mjs';
import { refused, SAMPLES, sampledApart } from './speech.mjs';

const SCOPE = { scope: new AbortController().signal, report: () => {}, width: 52 };
const generator = () => Vocoder.load(blob(GENERATOR), { backend: 'cpu', precision: 'exact' }, {}, SCOPE);

/** All pieces of what is asked. */
async function said(model, asked) {
  const [frames, pieces] = [[], []];
  for (let [isLast, next] = [false, asked]; !isLast; next = undefined) {
    const piece = await model.withEngine('speak', (engine) => engine.say(next));
    isLast = piece.isLast;
    frames.push(...piece.latents.map((codes) => [...codes]));
    pieces.push(piece.samples);
  }
  return { frames, samples: joined(pieces) };
}

test('codes and samples are what llama.cpp has', async () => {
  const model = await open();
  assert.equal(model.info.vocoder.sampleRate, expected.rate);
  for (const some of expected.cases) {
    const { frames, samples } = await said(model, askedOf(some));
    assert.deepEqual(frames, some.codes, some.text);
    const apart = sampledApart(samples, some, expected.every);
    assert.ok(apart < SAMPLES, `${some.text}: samples differ by ${apart}`);
  }
  await model.free();
});

test('the samples of a long sound are what llama.cpp has, wherever its pieces end', async () => {
  const speaker = await generator();
  const { codes, ...some } = expected.long;
  const peak = Math.max(...some.samples.map(Math.abs));
  for (const ends of [[90], [1, 3, 20, 21, 60, 90]]) {
    const sound = speaker.sound();
    const pieces = [];
    for (const [at, to] of ends.entries()) {
      const part = codes.slice(ends[at - 1] ?? 0, to).flat();
      pieces.push(await sound.push(part, to === 90));
    }
    const apart = sampledApart(joined(pieces), { ...some, peak }, expected.every);
    assert.ok(apart < 1e-4, `${ends}: samples differ by ${apart}`);
  }
  assert.equal((await speaker.sound().push([], true)).length, 0);
  speaker.free();
});

test('a text is spoken, the same with the same seed', async () => {
  const model = await open();
  const spoken = async (options) => {
    const pieces = [];
    for await (const piece of model.speak('is it two?', options)) pieces.push(piece);
    assert.ok(pieces.every(({ sampleRate }) => sampleRate === 24_000));
    assert.equal(pieces[0]?.text, 'is it two?');
    return joined(pieces.map(({ samples }) => samples));
  };
  const seed = (await seedOf(model, 'is it two?')) ?? assert.fail('no seed speaks');
  const sound = await spoken({ seed });
  assert.equal(sound.length % 1920, 0);
  assert.deepEqual(await spoken({ seed }), sound);
  const hot = await spoken({ seed, temperature: 3, topK: 5, repetitionPenalty: 1 }).catch(() => new Float32Array());
  assert.notDeepEqual(hot, sound);
  const wav = await model.speech('is it two?', { seed });
  assert.equal(wav.size, 44 + 2 * sound.length);
  await model.free();
});

/** A seed with which the text is not over at once. */
async function seedOf(model, text) {
  for (let seed = 1; seed < 20; seed++) {
    if ((await model.speech(text, { seed })).size > 44) return seed;
  }
  return undefined;
}

test('one file listens and speaks', async () => {
  const model = await open({ mmproj: blob(GENERATOR) });
  assert.deepEqual(model.info.media, { image: false, audio: true });
  assert.equal(model.info.encoders[0].projector, 'lfm3a');
  assert.equal(model.info.vocoder.projector, 'lfm3a_gen');
  const [, { ids, orders, codes }] = expected.cases;
  const { frames } = await said(model, askedOf({ ids, orders }));
  assert.deepEqual(frames, codes);
  await model.free();
});

test('what cannot be spoken is refused', async () => {
  const model = await open();
  await refused(model.speech('ab', { voice: 'nora' }), 'invalid_argument', "'voice'");
  await refused(model.speech('?!'), 'invalid_argument', 'no letter');
  const abort = new AbortController();
  abort.abort(new Error('enough'));
  await assert.rejects(model.speech('ab', { signal: abort.signal }), /enough/);
  await model.free();
  const short = await open({ contextLength: 16 });
  await refused(short.speech('ab and more words'), 'context_full', 'the context holds 16');
  await short.free();
  const other = blob(`${ENCODERS}/soprano-text.gguf`);
  const mixed = WasmModel.load(other, { backend: 'cpu', vocoder: blob(GENERATOR) });
  await refused(mixed, 'invalid_argument', 'it reads states of 52 values, the model has 32');
});
