// webgguf/voice in Chromium, whose microphone plays a spoken file.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { sendFile, serve } from '../../tools/serve.mjs';
import { SPEECH } from '../js/voice.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const WORKLET = '/dist/voice/capture-worklet.js';
/** What asked for the worklet's file; the script that listens imports it, too. */
const asked = [];
let isGone = false;
const { url, close } = await serve({
  routes: {
    '/blank': blank,
    [WORKLET]: (request, response) => {
      const { 'sec-fetch-dest': kind } = request.headers;
      asked.push(kind);
      if (isGone && kind === 'audioworklet') return response.writeHead(404).end();
      const file = path.join(ROOT, WORKLET);
      return sendFile(request, response, file, fs.statSync(file).size);
    },
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
    assert.deepEqual(asked, ['script', 'audioworklet']);
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
