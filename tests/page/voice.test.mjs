// webgguf/voice in Chromium, whose microphone plays a spoken file.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { sendFile, serve } from '../../tools/serve.mjs';
import { SPEECH, spoken } from '../js/voice.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const worklet = (name) => `/dist/voice/${name}-worklet.js`;
/** What asked for the worklet's file; the script that listens imports it, too. */
const asked = [];
let isGone = false;
function sendWorklet(request, response) {
  const { 'sec-fetch-dest': kind } = request.headers;
  asked.push(kind);
  if (isGone && kind === 'audioworklet') return response.writeHead(404).end();
  const file = path.join(ROOT, new URL(request.url, 'http://a').pathname);
  return sendFile(request, response, file, fs.statSync(file).size);
}

const { url, close } = await serve({
  routes: {
    '/blank': blank,
    [worklet('capture')]: sendWorklet,
    [worklet('player')]: sendWorklet,
  },
});
const args = [
  '--use-fake-device-for-media-stream',
  '--use-fake-ui-for-media-stream',
  `--use-file-for-fake-audio-capture=${SPEECH}`,
  '--autoplay-policy=no-user-gesture-required',
];
const browser = await openBrowser({ args });
after(async () => {
  await browser.close();
  await close();
});

/** Runs in the page: hears two speeches. */
async function hear() {
  const { listen } = await import('/dist/voice/index.js');
  const model = async ({ samples, sampleRate }) => `${(samples.length / sampleRate).toFixed(1)} seconds`;
  const listening = await listen({ microphone: { echoCancellation: false, noiseSuppression: false } }, { model });
  const events = [];
  for await (const { sound, ...event } of listening) {
    events.push({ ...event, length: sound && sound.samples.length / sound.sampleRate });
    if (events.filter(({ type }) => type === 'final').length === 2) break;
  }
  await listening.stop();
  return { events, states: listening.stream.getTracks().map(({ readyState }) => readyState) };
}

for (const place of ['its file', 'a blob']) {
  test(`a microphone is heard, with the worklet from ${place}`, async () => {
    isGone = place === 'a blob';
    asked.length = 0;
    const page = await openPage(browser, `${url}/blank`);
    const { events, states } = await page.evaluate(hear);
    // The player's file is a part of the entry.
    assert.deepEqual(asked.sort(), ['audioworklet', 'script', 'script']);
    // The file is played over and over, from any place.
    const lengths = events.filter(({ type }) => type === 'silence').map(({ length }) => length);
    assert.ok(lengths.length >= 2 && lengths.every((seconds) => seconds > 0.5 && seconds < 4), `${lengths}`);
    const finals = events.filter(({ type }) => type === 'final').map(({ text }) => text);
    assert.ok(finals.length === 2 && finals.every((text) => /^\d\.\d seconds$/.test(text)), `${finals}`);
    assert.deepEqual(states, ['ended'], 'the microphone is given back');
    assert.deepEqual(page.crashes, []);
    await page.close();
  });
}

/** Runs in the page: plays a spoken sound into its own stream, which is listened to; and is interrupted. */
async function play({ samples, sampleRate }) {
  const { createPlayer, listen } = await import('/dist/voice/index.js');
  const texts = [];
  const player = await createPlayer({ speakers: false, onText: (text) => texts.push(text) });
  let loudest = 0;
  const speeches = [];
  const listening = await listen(player.stream, {
    onLevel: (level) => (loudest = Math.max(loudest, level)),
    onSilence: ({ start, end }) => speeches.push(end - start),
  });
  const sound = Float32Array.from(samples);
  for (let at = 0; at < sound.length; at += 3000) {
    player.push(sound.slice(at, at + 3000), sampleRate, at === 0 ? 'The quick brown fox' : undefined);
  }
  await player.ended;
  player.push(new Float32Array(sampleRate).fill(0.1), sampleRate, 'and more');
  await player.room(0.8);
  const stopped = await player.stop();
  await listening.stop();
  await player.close();
  return { loudest, speeches, texts, stopped };
}

/** Runs in the page: the seconds that wait at the end. */
async function playFromBlob() {
  const { createPlayer } = await import('/dist/voice/index.js');
  const player = await createPlayer({ speakers: false });
  player.push(new Float32Array(2000), 24_000);
  await player.ended;
  return player.waiting;
}

test('a player plays into a stream, in which the speech is heard, and stops in a word', async () => {
  isGone = false;
  const page = await openPage(browser, `${url}/blank`);
  const { samples, sampleRate } = spoken();
  const { loudest, speeches, texts, stopped } = await page.evaluate(play, { samples: [...samples], sampleRate });
  assert.ok(loudest > 0.05, `${loudest}`);
  assert.ok(speeches.length >= 2 && speeches[0] > 2 && speeches[0] < 4, `${speeches}`);
  assert.deepEqual(texts, ['The quick brown fox', 'and more']);
  const [first, second] = stopped.texts;
  assert.deepEqual(first, { text: 'The quick brown fox', share: 1 });
  assert.ok(second.share > 0.1 && second.share < 1, `${second.share}`);
  isGone = true;
  assert.equal(await page.evaluate(playFromBlob), 0);
  assert.deepEqual(page.crashes, []);
  await page.close();
});
