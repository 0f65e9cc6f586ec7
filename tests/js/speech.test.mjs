// Speech on the CPU path in Node.js, against llama.cpp: ids and samples of Soprano; files, and what is refused.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { InverseStft } from '../../dist/voice/inverse-stft.js';
import { Vocoder } from '../../dist/voice/vocoder.js';
import { joined } from '../../dist/voice/resample.js';
import { blob, ENCODERS, expectationsOf, FIXTURES } from './encoders.mjs';
import { refused, sampledApart, SAMPLES } from './speech.mjs';

const TEXT = path.join(ENCODERS, 'soprano-text.gguf');
const VOCODER = path.join(ENCODERS, 'soprano.gguf');
const expected = expectationsOf('soprano');

const open = () => WasmModel.load(blob(TEXT), { backend: 'cpu', vocoder: blob(VOCODER) });

const GREEDY = { temperature: 0, repetitionPenalty: 1 };

test('ids and samples are what llama.cpp has', async () => {
  const model = await open();
  assert.deepEqual(model.info.vocoder.sampleRate, expected.rate);
  for (const { text, ids, ...some } of expected.cases) {
    const prompt = await model.tokenize(`[STOP][TEXT]${text}[START]`, { parseSpecial: true });
    const found = await model.generate(prompt, { ...GREEDY, maxTokens: 64 - prompt.length });
    assert.deepEqual([...found.ids], ids, text);
    const pieces = [];
    for await (const piece of model.speak(text, GREEDY)) pieces.push(piece);
    assert.deepEqual([pieces[0].text, pieces[0].sampleRate], [text, expected.rate]);
    // The first piece comes after 24 tokens.
    assert.equal(pieces.length, ids.length > 24 ? 2 : 1);
    assert.ok(pieces.slice(1).every((piece) => piece.text === undefined && piece.samples.length > 0));
    const apart = sampledApart(joined(pieces.map(({ samples }) => samples)), some, expected.every);
    assert.ok(apart < SAMPLES, `${text}: samples differ by ${apart}`);
  }
  await model.free();
});

test('sentences are spoken one after the other, and a file has them all', async () => {
  const model = await open();
  const options = { seed: 3, temperature: 1 };
  const pieces = [];
  for await (const piece of model.speak('Is it two? 🙂! Words, ab!', options)) pieces.push(piece);
  assert.deepEqual(
    pieces.flatMap(({ text = [] }) => text),
    ['Is it two?', 'Words, ab!'],
  );
  const count = pieces.reduce((sum, { samples }) => sum + samples.length, 0);
  assert.ok(count > 2 * 2048, `${count} samples`);
  const again = await model.speech('Is it two? 🙂! Words, ab!', { ...options, format: 'pcm' });
  const pcm = new Int16Array(await again.arrayBuffer());
  assert.equal(pcm.length, count);
  const all = pieces.flatMap(({ samples }) => [...samples]);
  const cut = (sample) => Math.round(32767 * Math.max(-1, Math.min(1, sample)));
  assert.ok(all.every((sample, at) => Math.abs(cut(sample) - pcm[at]) <= 1));
  for (const speed of [0.5, 2]) {
    const found = await model.speech('Is it two? 🙂! Words, ab!', { ...options, speed, format: 'pcm' });
    assert.ok(Math.abs((found.size * speed) / again.size - 1) < 0.02, `speed ${speed}: ${found.size} of ${again.size}`);
  }
  const other = await model.speech('Is it two?', { seed: 4, temperature: 1, format: 'pcm' });
  assert.notDeepEqual(new Int16Array(await other.arrayBuffer()), pcm.slice(0, other.size / 2));
  const wav = await model.speech('Is it two?', options);
  const head = new DataView(await wav.arrayBuffer());
  const letters = new TextDecoder().decode(new Uint8Array(head.buffer, 0, 16));
  assert.deepEqual([letters.slice(0, 4), letters.slice(8)], ['RIFF', 'WAVEfmt ']);
  assert.equal(head.getUint32(24, true), 32000);
  assert.equal(head.getUint32(40, true), wav.size - 44);
  await model.free();
});

test('a long sound takes several passes, which overlap by the rows that a row depends on', async () => {
  const scope = { scope: new AbortController().signal, report: () => {}, width: 32 };
  const vocoder = await Vocoder.load(blob(VOCODER), { backend: 'cpu' }, {}, scope);
  const states = Float32Array.from({ length: 200 * 32 }, (_, at) => Math.sin(at * at * 0.37));
  const whole = await vocoder.samples(states);
  assert.equal(whole.length, 4 * 199 * 512);
  // A pass has 512 rows of the 797: the last 437 rows take one pass, and the border lies within them.
  const tail = await vocoder.samples(states.subarray(90 * 32));
  const [from, margin] = [4 * 90 * 512, 6 * 512];
  const apart = tail.map((sample, at) => (at < margin ? 0 : Math.abs(sample - whole[from + at])));
  const most = apart.reduce((worst, value) => (value <= worst ? worst : value), 0);
  assert.ok(most < 1e-4, `samples differ by ${most}`);
  // Piece by piece, each with the states so far.
  const pieces = [];
  for (const count of [1, 3, 9, 60, 199, 200]) {
    const after = joined(pieces).length;
    pieces.push(await vocoder.samples(states.subarray(0, count * 32), { after, isLast: count === 200 }));
  }
  assert.deepEqual(
    pieces.map(({ length }) => length > 0),
    [false, true, true, true, true, true],
  );
  assert.equal(joined(pieces).length, whole.length);
  assert.ok(joined(pieces).every((sample, at) => Math.abs(sample - whole[at]) < 1e-4));
  assert.equal((await vocoder.samples(states.subarray(0, 32))).length, 0);
  const abort = new AbortController();
  const ended = vocoder.samples(states, { after: 0, isLast: true }, abort.signal);
  abort.abort(new Error('enough'));
  await assert.rejects(ended, /enough/);
  assert.equal((await vocoder.samples(states.subarray(0, 64))).length, 4 * 512, 'it goes on');
  vocoder.free();
});

test('what cannot be spoken is refused', async () => {
  const model = await open();
  await refused(model.speech(' ... 🙂'), 'invalid_argument', 'the text of 7 characters has no letter');
  await refused(model.speech(12), 'invalid_argument', 'expected a string');
  await refused(model.speech('ab', { format: 'mp3' }), 'invalid_argument', "found 'mp3'");
  await refused(model.speech('ab', { speed: 0.2 }), 'invalid_argument', "'speed' must be a number from 0.25 to 4");
  await refused(model.speech('ab', { pitch: 2 }), 'invalid_argument', "'pitch'");
  await refused(model.speech('ab', { temperature: -1 }), 'invalid_argument', 'temperature');
  await refused(model.speech('ab '.repeat(40)), 'context_full', 'the context holds 64');
  const abort = new AbortController();
  abort.abort(new Error('enough'));
  await assert.rejects(model.speech('ab', { signal: abort.signal }), /enough/);
  await model.free();
  const silent = await WasmModel.load(blob(TEXT), { backend: 'cpu' });
  await refused(silent.speech('ab'), 'invalid_argument', "'vocoder'");
  await silent.free();
  const llama = blob(path.join(FIXTURES, 'models', 'llama-f32.gguf'));
  const vocoder = blob(VOCODER);
  const load = (source, vocoder) => WasmModel.load(source, { backend: 'cpu', vocoder });
  await refused(load(llama, vocoder), 'invalid_argument', 'states of 32 values, the model has 64');
  const listener = blob(path.join(ENCODERS, 'ultravox.gguf'));
  await refused(
    load(blob(TEXT), listener),
    'invalid_argument',
    'expected a vocoder, found an encoder of kind ultravox',
  );
  await refused(load(blob(TEXT), true), 'invalid_argument', "option 'vocoder': true finds");
});

test('leaving the loop and a signal end the speech', async () => {
  const model = await open();
  for await (const { text } of model.speak('Ab. Ab. Ab.', GREEDY)) {
    assert.equal(text, 'Ab.');
    break;
  }
  const abort = new AbortController();
  const heard = [];
  const run = async () => {
    for await (const { text } of model.speak('Is it two? Ab.', { ...GREEDY, signal: abort.signal })) {
      heard.push(text);
      abort.abort(new Error('enough'));
    }
  };
  await assert.rejects(run(), /enough/);
  assert.equal(heard.length, 1);
  assert.equal((await model.generate('ab', { maxTokens: 2, ignoreEos: true })).ids.length, 2, 'the model is free');
  await model.free();
});

test('the inverse transform gives a sound back', () => {
  // A tone in 16 bins, whose spectra are computed by the definition.
  const [size, hop, frames] = [32, 8, 12];
  const sound = (at) => Math.sin(at * 0.7) + 0.3 * Math.cos(at * 2.1);
  const stft = new InverseStft(size / 2 + 1, hop);
  const found = [];
  for (let frame = 0; frame < frames; frame++) {
    const spectrum = new Float32Array(size + 2);
    for (let bin = 0; bin <= size / 2; bin++) {
      let [re, im] = [0, 0];
      for (let at = 0; at < size; at++) {
        const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / size);
        const value = window * sound(frame * hop + at - size / 2);
        re += value * Math.cos((2 * Math.PI * bin * at) / size);
        im -= value * Math.sin((2 * Math.PI * bin * at) / size);
      }
      spectrum[bin] = Math.log(Math.hypot(re, im));
      spectrum[size / 2 + 1 + bin] = Math.atan2(im, re);
    }
    found.push(...stft.frame(spectrum));
  }
  found.push(...stft.rest(hop * (frames - 1) - found.length));
  assert.equal(found.length, hop * (frames - 1));
  found.forEach((sample, at) => {
    assert.ok(Math.abs(sample - sound(at)) < 1e-5, `sample ${at}: ${sample}, expected ${sound(at)}`);
  });
});
