// The demo on a phone: a page that was put away writes no more until it is back, and a metered connection is told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDemo, openPage, send, waitForState } from '../../tools/demo.mjs';
import { openSite } from './site.mjs';

const site = await openSite();
const PHONE = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 }, serviceWorkers: 'block' };
const DESK = { serviceWorkers: 'block' };

/** In a page: puts it away, or back in sight. */
function hide(hidden) {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event('visibilitychange'));
}

const written = (page) => page.evaluate(() => document.querySelector('.message.assistant').textContent);

/** Hides a page while it writes; ends when it has written nothing for a while, or its answer is through. */
async function whileHidden(options) {
  const context = await site.browser.newContext(options);
  const page = await openDemo(context, `${site.url}/?backend=cpu`);
  await send(page, 'Tell me a very long story about a fox and a lantern.');
  await page.waitForFunction(() => document.querySelector('.message.assistant').textContent.length > 20);
  await page.evaluate(hide, true);
  await page.waitForFunction(() => {
    const { length } = document.querySelector('.message.assistant').textContent;
    const { state } = document.documentElement.dataset;
    globalThis.calm = length === globalThis.before ? (globalThis.calm ?? 0) + 1 : 0;
    globalThis.before = length;
    return state === 'ready' || globalThis.calm > 40;
  });
  const state = await page.evaluate(() => document.documentElement.dataset.state);
  return { context, page, state };
}

test('a phone that puts the page away pauses the answer, and goes on with it', async () => {
  const { context, page, state } = await whileHidden(PHONE);
  assert.equal(state, 'generating');
  const before = await written(page);
  assert.ok(before.length > 20);
  // What there is was stored: the browser may end the page now.
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }));
  assert.ok(stored.includes(before.trim().slice(0, 20)), stored.slice(0, 200));
  await page.evaluate(hide, false);
  await waitForState(page, ['ready']);
  assert.ok((await written(page)).length > before.length);
  assert.deepEqual(page.crashes, []);
  await context.close();
});

test('on a desk the answer is written to its end unseen', async () => {
  const { context, state } = await whileHidden(DESK);
  assert.equal(state, 'ready');
  await context.close();
});

test('before a download a metered connection is told', async () => {
  const told = { cellular: /on a mobile network/, saving: /set to save data/, free: /^(?!.*(network|data))/s };
  for (const [kind, words] of Object.entries(told)) {
    const context = await site.browser.newContext(PHONE);
    await context.addInitScript((name) => {
      const connection = { type: name === 'cellular' ? name : 'wifi', saveData: name === 'saving' };
      Object.defineProperty(navigator, 'connection', { get: () => connection });
    }, kind);
    const link = await openPage(context, `${site.url}/?model=hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf`);
    await waitForState(link, ['empty']);
    assert.match(await link.innerText('#error-advice'), words);
    // The dialog of models needs no model to be there.
    await link.evaluate(() => document.getElementById('open-models').click());
    assert.match(await link.textContent('#metered'), words);
    await context.close();
  }
});
