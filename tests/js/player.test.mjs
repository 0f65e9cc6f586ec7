// The player without a browser: its processor is driven block by block, as the thread for sound does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wav } from '../../dist/voice/index.js';
import { PlayerQueue, playerProcessor } from '../../dist/voice/player-worklet.js';
import { Player } from '../../dist/voice/player.js';

const RATE = 48_000;
let Processor;
globalThis.AudioWorkletProcessor = class {
  port = { postMessage: () => {} };
};
globalThis.registerProcessor = (name, kind) => {
  assert.equal(name, 'webgguf-player');
  Processor = kind;
};
// As the blob has it: what the text of the class names must be in the class.
playerProcessor((0, eval)(`(${PlayerQueue})`));
delete globalThis.registerProcessor;

/** A player and a device that plays when it is told to; `heard` are all samples. */
function device(options) {
  const processor = new Processor();
  const heard = [];
  const state = { isRunning: true, closed: 0 };
  const player = new Player(
    {
      sampleRate: RATE,
      isRunning: () => state.isRunning,
      send: (data) => processor.port.onmessage({ data }),
      listen: (report) => (processor.port.postMessage = report),
      close: async () => (state.closed += 1),
    },
    options,
  );
  const play = (blocks) => {
    for (let block = 0; block < blocks; block += 1) {
      const channels = [new Float32Array(128), new Float32Array(128)];
      processor.process([], [channels]);
      assert.deepEqual(channels[0], channels[1]);
      heard.push(...channels[0]);
    }
  };
  return { player, play, heard, state };
}

const ramp = (count, from = 0) => Float32Array.from({ length: count }, (_, at) => (from + at) / 1e5);

test('pieces follow each other without a gap, whatever their size', async () => {
  const { player, play, heard } = device();
  for (const [from, count] of [
    [0, 1],
    [1, 300],
    [301, 0],
    [301, 127],
    [428, 572],
  ])
    player.push(ramp(count, from), RATE);
  let isOver = false;
  const ended = player.ended.then(() => (isOver = true));
  assert.ok(Math.abs(player.waiting - 1000 / RATE) < 1e-9);
  play(4);
  await Promise.resolve();
  assert.equal(isOver, false);
  play(6);
  await ended;
  assert.deepEqual(heard.slice(0, 1000), [...ramp(1000)]);
  assert.ok(heard.slice(1000).every((value) => value === 0));
  assert.equal(player.waiting, 0);
});

test('other rates are resampled across pieces', async () => {
  const { player, play, heard } = device();
  const sine = Float32Array.from({ length: 24_000 }, (_, at) => Math.sin((2 * Math.PI * 500 * at) / 24_000));
  for (let at = 0; at < sine.length; at += 777) player.push(sine.slice(at, at + 777), 24_000);
  const { ended } = player;
  play(400);
  await ended;
  const wanted = heard.slice(0, RATE).map((_, at) => Math.sin((2 * Math.PI * 500 * at) / RATE));
  const apart = wanted
    .slice(100, -100)
    .reduce((most, value, at) => Math.max(most, Math.abs(value - heard[at + 100])), 0);
  assert.ok(apart < 0.01, `${apart}`);
  assert.ok(
    heard.slice(RATE + 1).every((value) => value === 0),
    'as long as the sound',
  );
});

test('stopping fades within 5 ms, and says what was said', async () => {
  const shown = [];
  const { player, play, heard } = device({ onText: (text) => shown.push(text) });
  player.push(new Float32Array(1280).fill(0.5), RATE, 'one');
  player.push(new Float32Array(1280).fill(0.5), RATE, 'two');
  player.push(new Float32Array(1280).fill(0.5), RATE, 'three');
  play(15);
  const stopping = player.stop();
  player.push(new Float32Array(128).fill(0.25), RATE, 'four');
  play(4);
  const { played, texts } = await stopping;
  assert.equal(Math.round(played * RATE), 15 * 128 + 240);
  assert.deepEqual(texts, [
    { text: 'one', share: 1 },
    { text: 'two', share: (15 * 128 + 240 - 1280) / 1280 },
  ]);
  const fading = heard.slice(15 * 128, 15 * 128 + 240);
  assert.ok(fading.every((value, at) => at === 0 || value < fading[at - 1]) && fading.at(-1) < 0.01);
  assert.deepEqual(heard.slice(15 * 128 + 240, 15 * 128 + 368), Array(128).fill(0.25), 'what came later is played');
  await player.ended;
  assert.deepEqual(shown, ['one', 'four'], 'of what the device has reported');
});

test('stopping twice, while nothing plays, and where the device sleeps', async () => {
  const { player, play, state } = device();
  assert.deepEqual(await player.stop(), { played: 0, texts: [] });
  player.push(new Float32Array(1000).fill(0.5), RATE, 'one');
  play(2);
  const [first, second] = [player.stop(), player.stop()];
  play(2);
  assert.ok((await first).played > 0);
  assert.deepEqual(await second, { played: 0, texts: [] });
  state.isRunning = false;
  player.push(new Float32Array(1000), RATE, 'two');
  assert.deepEqual(await player.stop(), { played: 0, texts: [] });
});

test('what waits is bounded, and room says when to go on', async () => {
  const { player, play } = device();
  for (let second = 0; second < 600; second += 1) player.push(new Float32Array(RATE), RATE);
  assert.throws(() => player.push(new Float32Array(RATE), RATE), {
    code: 'limit_exceeded',
    message: /600 seconds wait, at most 600/,
  });
  let hasRoom = false;
  const room = player.room(599).then(() => (hasRoom = true));
  play(370);
  await Promise.resolve();
  assert.equal(hasRoom, false);
  play(10);
  await room;
});

test('closing ends all waits; a closed player takes nothing', async () => {
  const { player, state } = device();
  player.push(new Float32Array(RATE), RATE);
  const { ended } = player;
  const stopping = player.stop();
  await player.close();
  await player.close();
  await ended;
  assert.equal((await stopping).played, 0);
  assert.equal(state.closed, 1);
  assert.throws(() => player.push(new Float32Array(1), RATE), { code: 'invalid_argument', message: /closed/ });
  assert.deepEqual(await player.stop(), { played: 0, texts: [] });
});

test('wav: 16 bits and floats', async () => {
  const samples = Float32Array.of(0, 1, -1, 2, -2, 0.5, NaN);
  const view = new DataView(
    await wav([
      { samples: samples.slice(0, 3), sampleRate: 24_000 },
      { samples: samples.slice(3), sampleRate: 24_000 },
    ]).arrayBuffer(),
  );
  assert.equal(view.byteLength, 44 + 14);
  assert.deepEqual(
    [view.getUint32(4, true), view.getUint16(20, true), view.getUint32(24, true), view.getUint32(40, true)],
    [50, 1, 24_000, 14],
  );
  const values = Array.from({ length: 7 }, (_, at) => view.getInt16(44 + 2 * at, true));
  assert.deepEqual(values, [0, 32767, -32768, 32767, -32768, 16384, 0]);
  const floats = await wav({ samples, sampleRate: 8000 }, { format: 'float' }).arrayBuffer();
  assert.deepEqual(new Float32Array(floats.slice(44)), samples);
  const refused = (message) => ({ code: 'invalid_argument', message });
  assert.throws(() => wav([]), refused(/expected \{ samples, sampleRate \}/));
  assert.throws(() => wav({ samples, sampleRate: 8000 }, { format: 'mp3' }), refused(/'pcm16' or 'float'/));
  const two = [8000, 16_000].map((sampleRate) => ({ samples, sampleRate }));
  assert.throws(() => wav(two), refused(/found 8000 and 16000/));
});
