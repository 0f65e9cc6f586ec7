// Pocket TTS on the CPU path in Node.js, against llama.cpp with keys and values of f32, which are f16 here: rows of a
// voice, latents, samples; pieces; voices by name; what is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openai } from '../../dist/openai/index.js';
import { chunksOf } from '../../dist/voice/pocket-text.js';
import { Vocoder } from '../../dist/voice/vocoder.js';
import { joined } from '../../dist/voice/resample.js';
import { blob } from './encoders.mjs';
import { apart, CODEC, expected, open, voice } from './pocket.mjs';
import { refused, SAMPLES, sampledApart } from './speech.mjs';

const SCOPE = { scope: new AbortController().signal, report: () => {}, width: 32 };
const pocket = () => Vocoder.load(blob(CODEC), { backend: 'cpu', precision: 'exact' }, {}, SCOPE);

test('a voice has the rows that llama.cpp has', async () => {
  const codec = await pocket();
  const { rows } = await codec.voiceOf(voice);
  const found = apart(rows, expected.rows);
  assert.ok(found < 1e-4, `rows differ by ${found}`);
  codec.free();
});

test('latents and samples are what llama.cpp has, from the same noise', async () => {
  const codec = await pocket();
  const model = await open();
  assert.equal(model.info.vocoder.sampleRate, expected.rate);
  for (const { text, noise, latents, ends, ...some } of expected.cases) {
    let step = 0;
    const [made, pieces] = [[], []];
    for (const { said: _, ...chunk } of await chunksOf(model, 'speak', text)) {
      const own = noise.slice(step).map((row) => Float32Array.from(row));
      let asked = { ...chunk, voice, noise: own };
      for (let isLast = false; !isLast; asked = undefined) {
        const said = await model.withEngine('speak', (engine) => engine.say(asked));
        made.push(...said.latents.map((latent) => [...latent]));
        step += said.latents.length;
        isLast = said.isLast;
        pieces.push(said.samples);
      }
      made.push(latents[step]);
      step++; // the latent of the last step is left out
    }
    assert.equal(step, latents.length, text);
    const found = [apart(made.flat(), latents), sampledApart(joined(pieces), some, expected.every)];
    assert.ok(Math.max(...found) < SAMPLES, `${text}: latents and samples differ by ${found}`);
    // What the codec makes of the same latents.
    if ((await chunksOf(model, 'speak', text)).length === 1) {
      const sound = codec.sound();
      const own = await sound.push(joined(latents.slice(0, -1).map((row) => Float32Array.from(row))));
      const ofCodec = sampledApart(own, some, expected.every);
      assert.ok(ofCodec < 1e-4, `${text}: samples of the same latents differ by ${ofCodec}`);
    }
  }
  codec.free();
  await model.free();
});

test('pieces are what the whole sound is, wherever they end', async () => {
  const codec = await pocket();
  const latents = expected.cases[3].latents.slice(0, 62).map((row) => Float32Array.from(row));
  const sound = (counts) => {
    const made = codec.sound();
    return counts.reduce(
      async (before, [from, to]) => [...(await before), await made.push(joined(latents.slice(from, to)))],
      Promise.resolve([]),
    );
  };
  const whole = joined(await sound([[0, 62]]));
  assert.equal(whole.length, 62 * 1920);
  const ends = [0, 1, 3, 20, 21, 55, 62];
  const pieces = await sound(ends.slice(1).map((to, at) => [ends[at], to]));
  assert.deepEqual(
    pieces.map(({ length }) => length / 1920),
    [1, 2, 17, 1, 34, 7],
  );
  const parts = joined(pieces);
  const worst = whole.reduce((most, value, at) => Math.max(most, Math.abs(value - parts[at])), 0);
  assert.ok(worst < 1e-5, `samples differ by ${worst}`);
  codec.free();
});

test('a text is spoken in a voice, the same with the same seed', async () => {
  const model = await open();
  const said = async (options) => {
    const pieces = [];
    for await (const piece of model.speak('is it two?', { voice, ...options })) pieces.push(piece);
    return pieces;
  };
  const pieces = await said({ seed: 3 });
  assert.equal(pieces[0].text, 'is it two?');
  assert.ok(pieces.every(({ samples, sampleRate }) => samples.length % 1920 === 0 && sampleRate === 24_000));
  assert.ok(pieces[0].samples.length <= 8 * 1920);
  const sound = joined(pieces.map(({ samples }) => samples));
  const sameness = (other) => joined(other.map(({ samples }) => samples)).every((sample, at) => sample === sound[at]);
  assert.ok(sameness(await said({ seed: 3 })));
  assert.ok(!sameness(await said({ seed: 4 })));
  assert.ok(!sameness(await said({ seed: 3, temperature: 0.1 })));
  const other = { samples: voice.samples.map((sample, at) => sample * Math.sin(at * 0.02)), sampleRate: 24_000 };
  assert.ok(!sameness(await said({ seed: 3, voice: other })));
  // Another text in between takes the cache.
  const [first] = await said({ seed: 3 });
  const wav = await model.speech('is it two?', { voice, seed: 3 });
  assert.equal(wav.size, 44 + 2 * sound.length);
  assert.ok(first.samples.every((sample, at) => sample === sound[at]));
  await model.free();
});

test("a voice has a name, by which OpenAI's request asks for it, too", async () => {
  const model = await open();
  const other = { ...voice, samples: voice.samples.map((sample, at) => sample * Math.sin(at * 0.02)) };
  model.voices.set('nora', voice).set('otto', other);
  const bytes = async (options) => Buffer.from(await (await model.speech('ab', { seed: 5, ...options })).arrayBuffer());
  const [nora, otto, first] = [await bytes({ voice: 'nora' }), await bytes({ voice: 'otto' }), await bytes({})];
  assert.ok(nora.equals(await bytes({ voice })));
  assert.ok(nora.equals(first));
  assert.ok(otto.equals(await bytes({ voice: other })));
  assert.ok(!nora.equals(otto));
  await assert.rejects(model.speech('ab', { voice: 'ines' }), {
    code: 'invalid_argument',
    message: /one of nora, otto, found 'ines'/,
  });
  const client = openai({ model });
  const ask = (request) => client.audio.speech.create({ input: 'ab', response_format: 'pcm', ...request });
  for (const asked of ['otto', { id: 'otto' }]) {
    const sound = await (await ask({ voice: asked })).arrayBuffer();
    assert.ok(sound.byteLength > 0 && sound.byteLength % (2 * 1920) === 0, `${sound.byteLength} bytes`);
  }
  await assert.rejects(ask({ voice: 'alloy' }), { code: 'invalid_argument', message: /one of nora, otto/ });
  await assert.rejects(ask({ voice: 3 }), { code: 'invalid_argument', message: /field 'voice'/ });
  await model.free();
});

test('what cannot be spoken is refused', async () => {
  const model = await open();
  await refused(model.speech('ab'), 'invalid_argument', "option 'voice'");
  await refused(model.speech('ab', { voice: new Float32Array(3) }), 'invalid_argument', "option 'voice'");
  const silent = { samples: new Float32Array(), sampleRate: 24_000 };
  await refused(model.speech('ab', { voice: silent }), 'invalid_argument', "option 'voice'");
  await refused(model.speech('ab', { voice: { ...voice, sampleRate: 12 } }), 'invalid_argument', 'sample rate');
  await refused(model.speech('ab', { voice, topK: 3 }), 'invalid_argument', "unknown option 'topK'");
  await refused(model.speech('ab', { voice, temperature: -1 }), 'invalid_argument', "'temperature'");
  await refused(model.speech('?!', { voice }), 'invalid_argument', 'no letter');
  const abort = new AbortController();
  abort.abort(new Error('enough'));
  await assert.rejects(model.speech('ab', { voice, signal: abort.signal }), /enough/);
  await model.free();
  const short = await open({ contextLength: 32 });
  await refused(short.speech('ab', { voice }), 'context_full', 'the context holds 32');
  await short.free();
});
