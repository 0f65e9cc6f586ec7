// Sounds that arrive while a model writes what it hears, in Node.js, on the CPU path: whatever the pieces, the words
// are the same as of all of the sound at once, and no row is computed twice.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Encoder } from '../../dist/media/encoder.js';
import { WasmModel as Handle } from '../../dist/wasm/webgguf.js';
import { Ear } from '../../dist/voice/ear.js';
import { quietest } from '../../dist/voice/cut.js';
import { WebggufError } from '../../dist/index.js';
import { openai } from '../../dist/openai/index.js';
import { Resampler } from '../../dist/voice/resample.js';
import { listen } from '../../dist/voice/index.js';
import { expectationsOf, open } from './encoders.mjs';
import { BEFORE, HEARING, heard, watched } from './hearing.mjs';
import { soundOf } from './sounds.mjs';
import { pieces, RATE, spoken } from './voice.mjs';

for (const [name, merge] of Object.entries(HEARING)) {
  test(`${name}: pieces of any size give the tokens of llama.cpp, and every row once`, async () => {
    const expected = expectationsOf(name);
    const model = await open(expected);
    for (const { samples: length, count, ids } of expected.cases) {
      const { samples } = soundOf(length);
      const whole = await watched(() => heard(model, samples, 'whole'));
      for (const size of [641, 320 * merge, 977, 5003]) {
        const counts = [];
        const found = await watched(() => heard(model, samples, `${size}`, size, (tokens) => counts.push(tokens)));
        assert.deepEqual(found.result.ids, ids, `${length} samples in pieces of ${size}`);
        assert.equal(found.result.text, whole.result.text);
        const rows = found.layers.reduce((sum, rows) => sum + rows, 0);
        assert.equal(rows, count * merge, 'no row of the layers is computed twice');
        assert.equal(rows / merge, found.rows.length);
        const apart = found.rows.flatMap((row, at) => row.map((value, i) => Math.abs(value - whole.rows[at][i])));
        assert.ok(Math.max(...apart) === 0, `${length} samples in pieces of ${size}: rows differ`);
        // A token for each row, six of which come before the first one, as soon as its last window is complete.
        const arrived = (piece) => Math.floor(Math.min((piece + 1) * size, length) / (320 * merge));
        counts.slice(0, -1).forEach((tokens, piece) => {
          const most = Math.max(0, arrived(piece) - 6);
          assert.ok(tokens === most || tokens === Math.max(0, most - 1), `${tokens} of ${most} after piece ${piece}`);
        });
      }
    }
    await model.free();
  });
}

/** What an ear hears of samples in pieces. */
async function throughEar(model, samples, size) {
  const ear = new Ear(model, 'test');
  let text = '';
  for (let at = 0; at < samples.length; at += size) {
    const isLast = at + size >= samples.length;
    for await (const said of ear.hear(samples.slice(at, at + size), isLast, new AbortController().signal)) {
      text += said.text ?? '';
    }
  }
  return text;
}

test('a sound that the context has no room for is cut where it is quietest, however it arrives', async () => {
  const contextLength = 300;
  const model = await open(expectationsOf('voxtral_rt'), { contextLength });
  const room = (contextLength - 49) * 1280;
  const samples = soundOf(31 * RATE).samples.map((value, at) => {
    return at > 18.6 * RATE && at < 19.2 * RATE ? value / 1000 : value;
  });
  const start = room - 4 * RATE;
  const cut = start + quietest(samples.slice(start, room));
  assert.ok(cut > 18.6 * RATE && cut < 19.2 * RATE);
  const create = async (samples) =>
    (await model.audio.transcriptions.create({ file: { samples, sampleRate: RATE } })).text;
  const [first, second] = [await create(samples.slice(0, cut)), await create(samples.slice(cut))];
  assert.ok(first !== '' && second !== '');
  const { result: text, layers } = await watched(() => create(samples));
  assert.equal(text, `${first} ${second}`);
  assert.ok(Math.max(...layers) <= 512, 'a pass of the encoder is bounded');
  for (const size of [16_001, 70_003]) assert.equal((await throughEar(model, samples, size)).trim(), text);
  await model.free();
});

/** A speech of two sentences at 16 kHz. */
function speech() {
  const { samples, sampleRate } = spoken();
  const resampler = new Resampler(sampleRate, RATE);
  const parts = [resampler.push(samples), resampler.end()];
  return { samples: Float32Array.from(parts.flatMap((part) => [...part])), sampleRate: RATE };
}

for (const [ears, name] of [
  [(model) => model, 'a model'],
  [(model) => openai({ model }), 'a client of openai'],
]) {
  test(`${name}: listen writes while somebody speaks, and reads no sample twice`, () => writtenWhole(ears));
}

async function writtenWhole(ears) {
  const model = await open(expectationsOf('voxtral_rt'), { contextLength: 512 });
  const sound = speech();
  const [events, heardOf] = [[], new Map()];
  const { result: listening, layers } = await watched(async () => {
    const say = model.withEngine.bind(model);
    model.withEngine = (call, work) =>
      say(call, (engine) => {
        const noted = (asked, signal) => {
          if (asked.heard) heardOf.set(asked.name, [...(heardOf.get(asked.name) ?? []), ...asked.heard]);
          return engine.say(asked, signal);
        };
        return work({ say: noted });
      });
    const onPartial = (event) => events.push(event);
    const listening = await listen(pieces(sound, 800), { model: ears(model), logprobs: 1, onPartial });
    const finals = [];
    for await (const event of listening) if (event.type !== 'partial') finals.push(event);
    model.withEngine = say;
    return finals;
  });
  const kinds = listening.map(({ type }) => type).sort();
  assert.deepEqual(kinds, ['final', 'final', 'silence', 'silence', 'speech', 'speech']);
  const finals = listening.filter(({ type }) => type === 'final');
  const sounds = [...heardOf.values()].map((samples) => Float32Array.from(samples));
  assert.equal(sounds.length, finals.length);
  for (const [number, { text, tokens, start }] of finals.entries()) {
    const own = events.filter((event) => event.start === start);
    assert.ok(own.length > 3 && own.every(({ text: part, stable }) => text.startsWith(part) && stable === part));
    assert.equal(own.at(-1).text, text);
    const samples = sounds[number];
    const first = Math.round(start * RATE);
    assert.deepEqual(samples, sound.samples.slice(first, first + samples.length), 'every sample, and once');
    const file = { samples, sampleRate: RATE };
    const whole = await model.audio.transcriptions.create({ file, include: ['logprobs'] });
    assert.equal(text, whole.text, 'the words of all that was heard, at once');
    assert.deepEqual(
      tokens.map(({ text: token, logprob }) => [token, logprob]),
      whole.logprobs.map(({ token, logprob }) => [token, logprob]),
    );
    assert.ok(tokens.length > 3 && tokens.every(({ id, top }) => top.length === 1 && top[0].id === id));
  }
  const rows = layers.reduce((sum, count) => sum + count, 0) / 4;
  const own = sounds.reduce((sum, { length }) => sum + Math.ceil(length / 1280), 0);
  assert.equal(rows, finals.length * (BEFORE + 6 + 11) + own);
  await model.free();
}

test('while the model of a client is loaded, speeches wait; those after that are written as they arrive', async () => {
  const model = await open(expectationsOf('voxtral_rt'), { contextLength: 512 });
  let load;
  const client = openai({ model: new Promise((resolve) => (load = resolve)) });
  const { create } = client.audio.transcriptions;
  let requests = 0;
  client.audio.transcriptions.create = (...asked) => {
    requests += 1;
    return create(...asked);
  };
  const finals = [];
  let heard;
  const first = new Promise((resolve) => (heard = resolve));
  async function* sound() {
    for await (const piece of pieces(speech(), 800)) {
      yield piece;
      if (isSilent && finals.length === 0) await first;
    }
  }
  let isSilent = false;
  const partials = [];
  const listening = await listen(sound(), {
    model: client,
    every: 10,
    onSilence: () => {
      isSilent = true;
      load(model);
    },
    onPartial: (event) => partials.push([finals.length, event]),
    onFinal: (event) => {
      finals.push(event);
      heard();
    },
  });
  await listening.done;
  assert.deepEqual([finals.length, requests], [2, 1], 'the first by a request');
  assert.ok(finals.every(({ text }) => text !== ''));
  assert.ok(partials.length > 3 && partials.every(([before]) => before === 1), 'the second token by token');
  await model.free();
});

test('log-probabilities of a model that hears windows are refused by name', async () => {
  const refused = { code: 'invalid_argument', message: /^listen: option 'logprobs' takes a model that writes while/ };
  const model = await open(expectationsOf('ultravox'), { contextLength: 430 });
  const error = new WebggufError('webgpu_unavailable', 'no');
  const server = openai({ model: Promise.reject(error), fallback: { baseURL: 'https://example.com', model: 'a' } });
  for (const ears of [async () => '', model, openai({ model }), server]) {
    await assert.rejects(listen(pieces(speech()), { model: ears, logprobs: 0 }), refused);
  }
  await assert.rejects(listen(pieces(speech()), { logprobs: 0 }), refused);
  await assert.rejects(listen(pieces(speech()), { logprobs: 21 }), { message: /'logprobs'.*an integer from 0 to 20/ });
  await model.free();
});

/** What `work` gives, and how many rows the text model has read meanwhile. */
async function counted(work) {
  const { hear } = Handle.prototype;
  let count = 0;
  Handle.prototype.hear = function (...asked) {
    count += asked[1].length;
    return hear.apply(this, asked);
  };
  try {
    return [await work(), count];
  } finally {
    Handle.prototype.hear = hear;
  }
}

test('rows that were read leave the memory of scripts, and are read again behind a text', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  const model = await open(expectationsOf('voxtral_rt'), { contextLength: 512 });
  const { samples } = soundOf(36 * RATE);
  const whole = await heard(model, samples, 'whole');
  assert.ok(whole.ids.length > 440, `${whole.ids.length} tokens`);
  const { arrived } = Encoder.prototype;
  const [buffers, kept] = [[], []];
  let made = 0;
  Encoder.prototype.arrived = async function (...args) {
    const rows = await arrived.apply(this, args);
    buffers.push([new WeakRef(rows.buffer), rows.byteLength]);
    made += rows.byteLength;
    return rows;
  };
  try {
    const [found, read] = await counted(() =>
      heard(model, samples, 'kept', 2 * RATE, async () => {
        await new Promise((wake) => setTimeout(wake));
        gc();
        kept.push(buffers.reduce((sum, [buffer, bytes]) => sum + (buffer.deref() ? bytes : 0), 0));
        // Behind a text all of it is read once more.
        if (kept.length === 10) await model.generate('ab', { maxTokens: 2 }).result;
      }),
    );
    assert.deepEqual(found.ids, whole.ids);
    const rows = whole.ids.length + BEFORE + 6;
    assert.ok(read > 1.3 * rows && read < 1.8 * rows, `${read} of ${rows} rows were read`);
  } finally {
    Encoder.prototype.arrived = arrived;
  }
  const row = made / (whole.ids.length + BEFORE + 6);
  assert.ok(Math.max(...kept) < 150 * row, `${Math.max(...kept) / row} rows are kept`);
  assert.ok(Math.max(...kept) > 60 * row, 'they are counted');
  await model.free();
});

test('two sounds at once are read one after the other, each row once', async () => {
  const expected = expectationsOf('voxtral_rt');
  const model = await open(expected);
  const sounds = expected.cases.map(({ samples }) => soundOf(samples));
  const hear = (file) => model.audio.transcriptions.create({ file });
  const [one, count] = await counted(async () => [await hear(sounds[0]), await hear(sounds[1])]);
  const [both, together] = await counted(() => Promise.all(sounds.map(hear)));
  assert.deepEqual(both, one);
  assert.ok(together <= count + BEFORE + 7, `${together} rows, and one by one ${count}`);
  await model.free();
});

test('a sound waits for another one, which is dropped with its listener', async () => {
  const expected = expectationsOf('voxtral_rt');
  const model = await open(expected);
  const { samples: length, ids } = expected.cases[0];
  const file = soundOf(length);
  const words = (await model.detokenize(ids)).trim();
  const open1 = { name: 'open', heard: file.samples.slice(0, 8000), state: 'open' };
  const said = await model.withEngine('test', (engine) => engine.say(open1));
  assert.equal(said.waits, true);
  let isOver = false;
  const waiting = model.audio.transcriptions.create({ file }).finally(() => {
    isOver = true;
  });
  await new Promise((wake) => setTimeout(wake, 120));
  assert.equal(isOver, false, 'the encoder keeps the state of one sound');
  const rest = { name: 'open', heard: file.samples.slice(8000) };
  const own = [];
  for (let [asked, isLast] = [rest, false]; !isLast; asked = { name: 'open', heard: undefined }) {
    const { id, isLast: over } = await model.withEngine('test', (engine) => engine.say(asked));
    if (id !== undefined) own.push(id);
    isLast = over;
  }
  assert.deepEqual(own, ids);
  assert.equal((await waiting).text, words);
  const controller = new AbortController();
  const forever = async function* () {
    for (const piece of [speech().samples.slice(0, 2 * RATE)]) yield { samples: piece, sampleRate: RATE };
    await new Promise(() => {});
  };
  const listening = await listen(forever(), { model, signal: controller.signal });
  for await (const { type } of listening) {
    if (type === 'partial') controller.abort(new Error('enough'));
    if (type === 'partial') break;
  }
  await assert.rejects(listening.done, /enough/);
  assert.equal((await model.audio.transcriptions.create({ file })).text, words);
  await model.free();
});

test('a sound whose state is lost with the device is begun again by whoever listens', async () => {
  const expected = expectationsOf('voxtral_rt');
  const model = await open(expected);
  const { samples: length, ids } = expected.cases[1];
  const { samples } = soundOf(length);
  const first = { name: 'lost', heard: samples.slice(0, 4000), state: 'open' };
  await model.withEngine('test', (engine) => engine.say(first));
  const arrived = Encoder.prototype.arrived;
  Encoder.prototype.arrived = async () => {
    throw Object.assign(new Error('gone'), { code: 'device_lost' });
  };
  const next = { ...first, heard: samples.slice(4000) };
  await assert.rejects(
    model.withEngine('test', (engine) => engine.say(next)),
    { code: 'device_lost' },
  );
  Encoder.prototype.arrived = arrived;
  assert.deepEqual((await heard(model, samples, 'again')).ids, ids);
  await model.free();
});
