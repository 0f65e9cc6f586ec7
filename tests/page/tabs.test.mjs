// One model for all tabs: pages of one browser use one engine, in whichever tab it is, and go on when that tab is
// closed, crashes, is frozen or stands still.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawPages } from './raw_pages.mjs';
import { openSite, STORYTELLER, until } from './site.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
/** A service worker that writes when it is asked to. */
const SERVICE = `import { WasmModel } from '/dist/index.js';
  import '/dist/preload.js';
  const given = { backend: 'cpu', contextLength: 512, shared: true };
  let model;
  addEventListener('message', (event) => {
    const answer = async () => {
      model ??= WasmModel.load('${STORYTELLER}', given);
      const options = { maxTokens: 12, temperature: 0, ignoreEos: true };
      event.source.postMessage((await (await model).generate('Once upon a time', options)).text);
    };
    event.waitUntil(answer().catch((error) => event.source.postMessage(String(error))));
  });`;
const service = (_, response) => response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(SERVICE);
const site = await openSite({ routes: { '/blank': blank, '/service.js': service } });

/** What opens tabs of one browser that share a model. */
async function opener(t) {
  const pages = await rawPages(site.browser);
  t.after(pages.close);
  return async () => {
    const tab = await pages.open(`${site.url}/blank`);
    await tab.evaluate(load, { url: STORYTELLER, options: {} });
    return tab;
  };
}

/** Such tabs in the order in which they loaded it: the first one has the engine. */
async function openTabs(t, count) {
  const open = await opener(t);
  const tabs = [];
  for (let index = 0; index < count; index += 1) tabs.push(await open());
  return tabs;
}

async function load({ url, options }) {
  globalThis.api = await import('/dist/index.js');
  globalThis.stages = [];
  const onProgress = ({ stage }) => globalThis.stages.push(stage);
  const given = { backend: 'cpu', contextLength: 512, shared: true, onProgress, ...options };
  globalThis.model = await globalThis.api.WasmModel.load(url, given);
}

/** How many engines there are in all tabs together, and whether one is in this tab. */
const engines = async () => {
  const { held } = await navigator.locks.query();
  return held.filter(({ name }) => name.startsWith('webgguf worker')).length;
};

const write = async (maxTokens = 12) =>
  (await globalThis.model.generate('Once upon a time', { maxTokens, temperature: 0, ignoreEos: true })).text;

/** Begins a text of which more is written only once it is asked for. */
const begin = async () => {
  globalThis.text = globalThis.model.generate('Once upon a time', { maxTokens: 480, ignoreEos: true });
  await globalThis.text.next();
};
/** How that text ends. */
const ended = () =>
  globalThis.text.result.then(
    ({ finishReason }) => finishReason,
    ({ code }) => code,
  );

test('tabs have one engine, which writes for all of them', async (t) => {
  const tabs = await openTabs(t, 3);
  const texts = await Promise.all(tabs.map((tab) => tab.evaluate(write)));
  assert.equal(await tabs[0].evaluate(engines), 1);
  const alone = await tabs[0].evaluate(async (url) => {
    const model = await globalThis.api.WasmModel.load(url, { backend: 'cpu', contextLength: 512 });
    const { text } = await model.generate('Once upon a time', { maxTokens: 12, temperature: 0, ignoreEos: true });
    return text;
  }, STORYTELLER);
  assert.deepEqual(texts, [alone, alone, alone]);
  assert.deepEqual(await tabs[2].evaluate(() => globalThis.stages), ['ready']);
  const kept = await tabs[2].evaluate(() => globalThis.model.prefixCache());
  assert.deepEqual(kept, { blocks: 0, tokens: 0, bytes: 0, hits: 0 }, 'nothing on the CPU');
});

test('a text that its tab does not read holds up nobody, and is there later', async (t) => {
  const tabs = await openTabs(t, 2);
  await tabs[0].evaluate(async () => {
    globalThis.text = globalThis.model.generate('Once upon a time', { maxTokens: 60, ignoreEos: true });
    await globalThis.text.next();
  });
  assert.ok(await tabs[1].evaluate(write));
  const { ids, finishReason } = await tabs[0].evaluate(() => globalThis.text.result);
  assert.deepEqual([Object.keys(ids).length, finishReason], [60, 'length']);
});

test('its tab is closed: an answer ends, a session goes on', async (t) => {
  const tabs = await openTabs(t, 3);
  const ask = async (question) => {
    globalThis.session ??= globalThis.model.session();
    const { text } = await globalThis.session.send(question, { maxTokens: 8, temperature: 0 });
    return [text !== '', globalThis.session.messages.length];
  };
  assert.deepEqual(await tabs[1].evaluate(ask, 'Tell me of a hare.'), [true, 2]);
  await tabs[2].evaluate(begin);
  await tabs[0].close();
  assert.deepEqual(await tabs[1].evaluate(ask, 'And then?'), [true, 4]);
  assert.equal(await tabs[2].evaluate(ended), 'engine_moved');
  assert.ok(await tabs[2].evaluate(write));
  assert.equal(await tabs[1].evaluate(engines), 1);
});

test('its tab crashes', async (t) => {
  const tabs = await openTabs(t, 2);
  await tabs[1].evaluate(begin);
  tabs[0].send('Page.crash').catch(() => {});
  assert.equal(await tabs[1].evaluate(ended), 'engine_moved');
  assert.ok(await tabs[1].evaluate(write));
  assert.equal(await tabs[1].evaluate(engines), 1);
});

/** Keeps the thread of a page busy. */
const block = (ms) => {
  globalThis.isBlocked = true;
  for (const end = performance.now() + ms; performance.now() < end; );
};

/** Counts the questions whether the engine is there. */
const countBeats = () => {
  globalThis.beats = 0;
  const { postMessage } = BroadcastChannel.prototype;
  BroadcastChannel.prototype.postMessage = function (message) {
    if (message.kind === 'beat') globalThis.beats += 1;
    return postMessage.call(this, message);
  };
};

for (const isTold of [true, false]) {
  test(`its tab is frozen${isTold ? '' : ' without a word, and stands still'}`, async (t) => {
    const tabs = await openTabs(t, 2);
    const silence = () => globalThis.addEventListener('freeze', (event) => event.stopImmediatePropagation(), true);
    if (!isTold) await tabs[0].evaluate(silence);
    await tabs[1].evaluate(countBeats);
    await tabs[1].evaluate(begin);
    await tabs[0].send('Page.setWebLifecycleState', { state: 'frozen' });
    const blocked = isTold || tabs[0].evaluate(block, 4000);
    assert.equal(await tabs[1].evaluate(ended), 'engine_moved');
    const beats = await tabs[1].evaluate(() => globalThis.beats);
    // Without an answer of page and engine it takes 6 beats, without one of the engine alone 26.
    assert.ok(isTold ? beats < 20 : beats > 5, `${beats} beats`);
    const text = await tabs[1].evaluate(write);
    await blocked;
    await tabs[0].send('Page.setWebLifecycleState', { state: 'active' });
    await until(async () => (await tabs[1].evaluate(engines)) === 1, 'one engine is left');
    assert.equal(await tabs[0].evaluate(write), text);
    assert.equal(await tabs[1].evaluate(engines), 1);
  });
}

test('tabs are closed and frozen at random: the others write what they wrote, and one engine is left', async (t) => {
  const open = await opener(t);
  const tabs = [await open(), await open(), await open()];
  const text = await tabs[0].evaluate(write);
  const pick = (among) => among[Math.floor(Math.random() * among.length)];
  const freeze = (tab, state) => tab.send('Page.setWebLifecycleState', { state });
  const happened = [];
  for (let turn = 0; turn < 8; turn += 1) {
    const tab = pick(tabs);
    const others = tabs.filter((other) => other !== tab);
    const isClosed = Math.random() < 0.5;
    if (Math.random() < 0.5) await tab.evaluate(begin);
    happened.push(`${isClosed ? 'closes' : 'freezes'} ${tabs.indexOf(tab)}`);
    await (isClosed ? tab.close() : freeze(tab, 'frozen'));
    assert.equal(await pick(others).evaluate(write), text, happened.join());
    if (!isClosed) await freeze(tab, 'active');
    else tabs.splice(tabs.indexOf(tab), 1, await open());
    assert.equal(await pick(tabs).evaluate(write), text, happened.join());
  }
  t.diagnostic(happened.join(', '));
  await until(async () => (await tabs[0].evaluate(engines)) === 1, 'one engine is left');
});

test('its page is busy: others go on', async (t) => {
  const tabs = await openTabs(t, 2);
  const blocked = tabs[0].evaluate(block, 3000);
  assert.ok(await tabs[1].evaluate(write));
  assert.equal(await tabs[1].evaluate(engines), 1);
  await blocked;
  assert.equal(await tabs[0].evaluate(write), await tabs[1].evaluate(write));
});

test('its tab frees the model: the engine stays for others, and ends with the last', async (t) => {
  const tabs = await openTabs(t, 2);
  await tabs[1].evaluate(begin);
  const free = () => globalThis.model.free();
  await tabs[0].evaluate(free);
  assert.equal(await tabs[1].evaluate(ended), 'length');
  await tabs[1].evaluate(free);
  await until(async () => (await tabs[0].evaluate(engines)) === 0, 'no engine is left');
});

test('a service worker has the engine, and a page takes over when the browser ends it', async (t) => {
  const pages = await rawPages(site.browser);
  t.after(pages.close);
  const page = await pages.open(`${site.url}/blank`);
  const asked = await page.evaluate(async () => {
    await navigator.serviceWorker.register('/service.js', { type: 'module' });
    const { active } = await navigator.serviceWorker.ready;
    const answer = new Promise((resolve) => navigator.serviceWorker.addEventListener('message', resolve));
    navigator.serviceWorker.startMessages();
    active.postMessage('write');
    return (await answer).data;
  });
  await page.evaluate(load, { url: STORYTELLER, options: {} });
  assert.equal(await page.evaluate(write), asked);
  assert.equal(await page.evaluate(engines), 0, 'no page has a worker');
  await page.evaluate(begin);
  await pages.endServiceWorkers();
  assert.equal(await page.evaluate(ended), 'engine_moved');
  assert.equal(await page.evaluate(write), asked);
  assert.equal(await page.evaluate(engines), 1);
});
