// `audio.speech` over a voice whose sound is known: files, samples, events, errors, and a server as fallback.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebggufError } from '../../dist/index.js';
import { openai, webggufFetch } from '../../dist/openai/index.js';

/** Speaks two sentences of 1000 samples at 32 kHz; `state.left` says that it was left. */
function speaker() {
  const state = { left: false };
  const speak = async function* (text, { signal, speed }) {
    state.speed = speed;
    if (text === '') throw new WebggufError('invalid_argument', 'speak: nothing to speak');
    try {
      for (const value of [0.5, -0.5]) {
        signal?.throwIfAborted();
        yield { samples: new Float32Array(1000).fill(value), sampleRate: 32_000 };
      }
    } finally {
      state.left = true;
    }
  };
  return { state, info: { backend: 'cpu', architecture: 'llama' }, speak };
}
const create = (request, model = speaker()) => openai({ model }).audio.speech.create({ input: 'Hi.', ...request });

test('a file that is written as it is made, and samples at 24 kHz', async () => {
  const file = await create({ voice: 'alloy', model: 'any' });
  assert.equal(file.headers.get('content-type'), 'audio/wav');
  const view = new DataView(await file.arrayBuffer());
  assert.equal(view.byteLength, 44 + 4000);
  assert.deepEqual([view.getUint32(24, true), view.getUint32(40, true)], [32_000, 0xffffffff]);
  assert.deepEqual([view.getInt16(44, true), view.getInt16(44 + 2000, true)], [16384, -16384]);
  const model = speaker();
  const samples = await create({ response_format: 'pcm', speed: 1.5 }, model);
  assert.equal(model.state.speed, 1.5);
  assert.equal(samples.headers.get('content-type'), 'audio/pcm');
  assert.equal((await samples.arrayBuffer()).byteLength, 2 * 2 * 750);
});

test('events, and a body that is left', async () => {
  const text = await (await create({ stream_format: 'sse', response_format: 'pcm' })).text();
  const events = text
    .split('\n\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line.slice(6)));
  assert.deepEqual(
    events.map(({ type }) => type),
    ['speech.audio.delta', 'speech.audio.delta', 'speech.audio.delta', 'speech.audio.done'],
  );
  // The last event has what the resampler held back; where pieces meet, nothing is heard.
  const samples = Buffer.concat(events.slice(0, -1).map(({ audio }) => Buffer.from(audio, 'base64')));
  assert.equal(samples.length, 3000);
  assert.ok(Math.abs(samples.readInt16LE(1400) - 16384) < 800, `${samples.readInt16LE(1400)}`);
  const model = speaker();
  const { body } = await create({}, model);
  await body.cancel();
  assert.equal(model.state.left, true);
});

test('what is wrong is refused by name, in place of a sound', async () => {
  const refused = (request, message) => assert.rejects(create(request), { code: 'invalid_argument', message });
  await refused({ input: '' }, /nothing to speak/);
  await refused({ input: 7 }, /'input' must be a string, found 7/);
  await refused({ response_format: 'mp3' }, /'wav' or 'pcm', found 'mp3'/);
  await refused({ stream_format: 'x' }, /'audio' or 'sse'/);
  await refused({ speed: 5 }, /'speed' must be a number from 0.25 to 4, found 5/);
  await refused({ instructions: 'x' }, /unknown field 'instructions'/);
  const send = webggufFetch({ model: speaker() });
  const ask = (body, init) =>
    send('http://webgguf/v1/audio/speech', { method: 'POST', body: JSON.stringify(body), ...init });
  assert.equal((await ask({ input: '' })).status, 400);
  assert.equal((await (await ask({ input: 'Hi.' })).arrayBuffer()).byteLength, 4044);
  await assert.rejects(ask({ input: 'Hi.' }, { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('a voice goes by its name to a model that has voices, and to no other', async () => {
  const asked = [];
  const model = speaker();
  const { speak } = model;
  model.speak = (text, options) => {
    asked.push(options.voice);
    return speak(text, options);
  };
  await create({ voice: 'alloy' }, model);
  model.voices = new Map([['nora', {}]]);
  await create({ voice: 'nora' }, model);
  await create({ voice: { id: 'nora' } }, model);
  await create({ voice: null }, model);
  assert.deepEqual(asked, [undefined, 'nora', 'nora', undefined]);
  await assert.rejects(create({ voice: 7 }, model), { code: 'invalid_argument', message: /'voice' must be a name/ });
});

test('a server as fallback speaks', async () => {
  const asked = [];
  const fetch = async (url, { body }) => {
    asked.push([url, JSON.parse(body)]);
    return new Response('sound');
  };
  const model = Promise.reject(new WebggufError('webgpu_unavailable', 'no'));
  const client = openai({ model, fallback: { baseURL: 'https://example.com/v1', model: 'voice', fetch } });
  assert.equal(await (await client.audio.speech.create({ input: 'Hi.', response_format: 'wav' })).text(), 'sound');
  assert.deepEqual(asked, [
    ['https://example.com/v1/audio/speech', { input: 'Hi.', response_format: 'wav', model: 'voice' }],
  ]);
});
