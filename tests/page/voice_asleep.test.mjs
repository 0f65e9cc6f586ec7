// A tab that sleeps while it speaks: its thread does nothing, and the sound goes on.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const { url, close } = await serve({ routes: { '/blank': blank } });
const browser = await openBrowser({ args: ['--autoplay-policy=no-user-gesture-required'] });
after(async () => {
  await browser.close();
  await close();
});

/** Runs in the page: what was played of two texts while its thread was busy, and the texts that were told of later. */
async function sleep() {
  const { createPlayer } = await import('/dist/voice/index.js');
  const texts = [];
  const player = await createPlayer({ speakers: false, onText: (text) => texts.push(text) });
  player.push(new Float32Array(12_000).fill(0.1), 24_000, 'one');
  player.push(new Float32Array(24_000 * 20).fill(0.1), 24_000, 'two');
  while (texts.length < 1) await new Promise((resolve) => setTimeout(resolve, 10));
  const until = performance.now() + 3000;
  while (performance.now() < until); // nothing else runs here
  const before = [...texts];
  while (texts.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  const { played } = await player.stop();
  await player.close();
  return { before, texts, played };
}

test('the sound goes on, and is told of once the tab wakes up', async () => {
  const page = await openPage(browser, `${url}/blank`);
  const { before, texts, played } = await page.evaluate(sleep);
  assert.deepEqual([before, texts], [['one'], ['one', 'two']]);
  // Three seconds passed; a machine that is busy plays less of them.
  assert.ok(played > 0.7, `${played} seconds were played`);
  assert.deepEqual(page.crashes, []);
  await page.close();
});
