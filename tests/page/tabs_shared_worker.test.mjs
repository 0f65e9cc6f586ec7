// One model for all tabs in a SharedWorker with WebGPU: no tab's closing moves it, the last one frees it, and a tab
// with code of another release does not talk to it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { rawPages } from './raw_pages.mjs';
import { MODELS, openSite, SMALL, until } from './site.mjs';

const DIST = path.join(ROOT, 'dist');
const type = (type, text) => (_, response) => response.writeHead(200, { 'Content-Type': type }).end(text);
const script = (file, change) => type('text/javascript', change(fs.readFileSync(path.join(DIST, file), 'utf8')));
/** The package's next release. */
const NEXT = '9.9.9 next';
const ofNext = (text) => {
  const changed = text.replace(/0\.1\.0 [0-9a-f]{8}/, NEXT);
  assert.notEqual(changed, text, 'the script names its release');
  return changed;
};
/** The worker, which does what it hears, and counts what it puts on the GPU. */
const watched = (text) => `const devices = [];
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (...given) {
    devices.push(await requestDevice.apply(this, given));
    return devices.at(-1);
  };
  const { createBuffer } = GPUDevice.prototype;
  let bytes = 0;
  GPUDevice.prototype.createBuffer = function (wanted) {
    bytes += wanted.size;
    return createBuffer.call(this, wanted);
  };
  const block = (ms) => {
    for (const end = performance.now() + ms; performance.now() < end; );
  };
  const { encodeInto } = TextEncoder.prototype;
  TextEncoder.prototype.encodeInto = function (text, into) {
    if (text.startsWith('ä takes ')) block(Number(/[0-9]+/.exec(text)));
    return encodeInto.call(this, text, into);
  };
  const orders = new BroadcastChannel('orders');
  orders.onmessage = ({ data: { order, ms } }) => {
    if (order === 'lose') devices.at(-1).destroy();
    if (order === 'close') close();
    if (order === 'count') orders.postMessage({ devices: devices.length, bytes });
    if (order === 'block') block(ms);
  };
  ${text}`;
const model = fs.readFileSync(path.join(MODELS, path.basename(SMALL)));
let downloads = 0;
const counted = (_, response) => {
  downloads += 1;
  response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': model.length }).end(model);
};
/** Gives the beginning of the file, and nothing more. */
const stalled = (_, response) => {
  response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': model.length });
  response.write(model.subarray(0, 1000));
};
const site = await openSite({
  routes: {
    '/blank': type('text/html', '<!doctype html>'),
    '/counted.gguf': counted,
    '/stalled.gguf': stalled,
    '/next/release.js': script('release.js', ofNext),
    '/dist/watched-worker.js': script('webgguf-worker.min.js', watched),
    '/dist/next-worker.js': script('webgguf-worker.min.js', ofNext),
  },
  mounts: { '/next/': DIST },
});

/** In a page: loads the model. */
async function load({ url, options = {}, from = '/dist/', worker }) {
  globalThis.api = await import(`${from}index.js`);
  if (worker) await globalThis.api.init({ worker });
  globalThis.stages = [];
  const onProgress = ({ stage }) => globalThis.stages.push(stage);
  const given = { backend: 'webgpu', contextLength: 256, selfCheck: false, tune: false, shared: true, onProgress };
  globalThis.model = await globalThis.api.WasmModel.load(url, { ...given, ...options });
}

const WATCHED = { worker: '/dist/watched-worker.js' };
/** In a page: tells the watched worker what to do. */
const order = (given) => new BroadcastChannel('orders').postMessage(given);
/** In a page: what that worker has put on the GPU. */
const count = () => {
  const orders = new BroadcastChannel('orders');
  const counted = new Promise((resolve) => {
    orders.onmessage = ({ data }) => 'bytes' in data && resolve(data);
  });
  orders.postMessage({ order: 'count' });
  return counted;
};

/** In a page: how loading fails. */
const failed = async ([source, wanted]) =>
  (0, eval)(`(${source})`)(wanted).then(
    () => 'loaded',
    ({ code, message, name }) => `${code ?? name}: ${message}`,
  );
const failure = (tab, wanted) => tab.evaluate(failed, [load.toString(), wanted]);

async function openTabs(t, count, wanted = {}) {
  const pages = await rawPages(site.browser);
  t.after(pages.close);
  const blank = () => pages.open(`${site.url}/blank`);
  const open = async (others = {}) => {
    const tab = await blank();
    await tab.evaluate(load, { url: SMALL, ...wanted, ...others });
    return tab;
  };
  const tabs = [];
  for (let index = 0; index < count; index += 1) tabs.push(await open());
  return { tabs, pages, open, blank };
}

/** In a page: the names of the engines of all tabs. */
const engines = async () => {
  const { held } = await navigator.locks.query();
  return held.map(({ name }) => / host ([\w-]+)$/.exec(name)?.[1]).filter((host) => host);
};
/** In a page: whether any thread has the engine, or is to load it. */
const hasSeat = async () => (await navigator.locks.query()).held.some(({ name }) => name.endsWith(' seat'));
/** In a page: how many SharedWorkers of the package there are. */
const workers = async () => {
  const { held } = await navigator.locks.query();
  return held.filter(({ name }) => name.startsWith('webgguf shared worker ')).length;
};
/** In a page: counts the questions whether the engine is there, and notes how many there were when it was taken. */
const countBeats = () => {
  globalThis.beats = 0;
  const { postMessage } = BroadcastChannel.prototype;
  BroadcastChannel.prototype.postMessage = function (message) {
    if (message.kind === 'beat') globalThis.beats += 1;
    if (message.kind === 'loading') globalThis.beatsBefore = globalThis.beats;
    return postMessage.call(this, message);
  };
};
const place = () => JSON.parse(JSON.stringify(globalThis.model.info.shared));
const write = async () => {
  const { ids } = await globalThis.model.generate([5, 6, 7, 8], { maxTokens: 8, temperature: 0, ignoreEos: true });
  return [...ids].join();
};
/** Begins a text of which more is written only once it is asked for. */
const begin = async () => {
  globalThis.text = globalThis.model.generate([5, 6], { maxTokens: 200, ignoreEos: true });
  await globalThis.text.next();
};
/** How that text ends. */
const ended = () =>
  globalThis.text.result.then(
    ({ finishReason }) => finishReason,
    ({ code }) => code,
  );

test('the engine is in a SharedWorker, and no closing tab moves it', async (t) => {
  const { tabs } = await openTabs(t, 3);
  const texts = await Promise.all(tabs.map((tab) => tab.evaluate(write)));
  assert.deepEqual(await tabs[0].evaluate(place), { engineIn: 'sharedWorker' });
  const [engine, ...others] = await tabs[0].evaluate(engines);
  assert.deepEqual(others, []);
  assert.equal(await tabs[0].evaluate(workers), 1);
  await tabs[2].evaluate(begin);
  await tabs[0].close();
  assert.equal(await tabs[2].evaluate(ended), 'length');
  assert.deepEqual(await tabs[1].evaluate(engines), [engine]);
  assert.equal(await tabs[1].evaluate(write), texts[0]);
  await tabs[1].close();
  assert.equal(await tabs[2].evaluate(write), texts[0]);
  assert.deepEqual(await tabs[2].evaluate(engines), [engine]);
});

/** In a page: writes until another tab is done; how many pieces came while that tab wrote. */
const writeBeside = async () => {
  const others = new BroadcastChannel('texts');
  let [pieces, from, beside] = [0, 0, undefined];
  others.onmessage = ({ data }) => {
    if (data === 'first') from = pieces;
    if (data === 'last') beside = pieces - from;
  };
  while (beside === undefined) {
    for await (const _ of globalThis.model.generate([5, 6], { maxTokens: 200, ignoreEos: true })) {
      pieces += 1;
      if (pieces === 1) others.postMessage('begun');
      if (beside !== undefined) return beside;
    }
  }
  return beside;
};
/** In a page: writes once another tab has begun. */
const writeThen = async () => {
  const others = new BroadcastChannel('texts');
  await new Promise((resolve) => (others.onmessage = resolve));
  let count = 0;
  for await (const _ of globalThis.model.generate([7, 8], { maxTokens: 32, ignoreEos: true })) {
    count += 1;
    if (count === 1) others.postMessage('first');
  }
  others.postMessage('last');
};

test('texts of two tabs are written at the same time', async (t) => {
  const { tabs } = await openTabs(t, 2, { options: { parallel: 2 } });
  const then = tabs[1].evaluate(writeThen);
  const beside = await tabs[0].evaluate(writeBeside);
  await then;
  // One after the other there would be none.
  assert.ok(beside >= 8, `${beside} pieces while the other tab wrote 32`);
});

test('tabs that open, close and are frozen at random: one load, one engine, one download', async (t) => {
  downloads = 0;
  const { tabs, open } = await openTabs(t, 2, { url: '/counted.gguf' });
  const seen = new Set();
  const text = await tabs[0].evaluate(write);
  let [closed, froze] = [0, 0];
  for (let turn = 0; turn < 12; turn += 1) {
    if (tabs.length < 2 || (tabs.length < 5 && Math.random() < 0.6)) tabs.push(await open());
    else {
      const [gone] = tabs.splice(Math.floor(Math.random() * tabs.length), 1);
      if (Math.random() < 0.5) await gone.evaluate(begin);
      await gone.close();
      closed += 1;
    }
    const frozen = tabs.length > 1 && Math.random() < 0.4 ? tabs[Math.floor(Math.random() * tabs.length)] : undefined;
    await frozen?.send('Page.setWebLifecycleState', { state: 'frozen' });
    const awake = tabs.filter((tab) => tab !== frozen);
    const tab = awake[Math.floor(Math.random() * awake.length)];
    assert.equal(await tab.evaluate(write), text);
    for (const name of await tab.evaluate(engines)) seen.add(name);
    await frozen?.send('Page.setWebLifecycleState', { state: 'active' });
    if (frozen) froze += 1;
  }
  t.diagnostic(`${closed} tabs closed, ${froze} frozen; engines: ${seen.size}; downloads: ${downloads}`);
  assert.deepEqual([seen.size, downloads], [1, 1]);
});

test('the GPU has one model, whatever the number of tabs', async (t) => {
  const { tabs, open } = await openTabs(t, 1, WATCHED);
  await tabs[0].evaluate(write);
  const one = await tabs[0].evaluate(count);
  for (let index = 1; index < 5; index += 1) tabs.push(await open());
  await Promise.all(tabs.map((tab) => tab.evaluate(write)));
  const five = await tabs[4].evaluate(count);
  t.diagnostic(`1 tab: ${JSON.stringify(one)}; 5 tabs: ${JSON.stringify(five)}`);
  assert.deepEqual(five, one);
});

test('free in one tab ends its use alone; the last one frees the engine and ends the worker', async (t) => {
  const { tabs } = await openTabs(t, 2);
  await tabs[1].evaluate(begin);
  const free = () => globalThis.model.free();
  await tabs[0].evaluate(free);
  assert.equal(await tabs[1].evaluate(ended), 'length');
  assert.equal((await tabs[1].evaluate(engines)).length, 1);
  await tabs[1].evaluate(free);
  await until(async () => (await tabs[0].evaluate(engines)).length === 0, 'no engine is left');
  await tabs[0].evaluate(load, { url: SMALL });
  assert.equal((await tabs[1].evaluate(engines)).length, 1, 'loaded again at once');
  await tabs[0].evaluate(free);
  await until(async () => (await tabs[0].evaluate(workers)) === 0, 'no SharedWorker is left');
});

test('the worker ends: an answer ends, and calls go on with another engine', async (t) => {
  const { tabs } = await openTabs(t, 2, WATCHED);
  const before = await tabs[0].evaluate(engines);
  await tabs[1].evaluate(begin);
  await tabs[0].evaluate(order, { order: 'close' });
  assert.equal(await tabs[1].evaluate(ended), 'engine_moved');
  assert.equal(await tabs[0].evaluate(write), await tabs[1].evaluate(write));
  const after = await tabs[0].evaluate(engines);
  assert.equal(after.length, 1);
  assert.notDeepEqual(after, before);
});

test('the worker stands still: a tab takes its place', async (t) => {
  const { tabs } = await openTabs(t, 2, WATCHED);
  const text = await tabs[0].evaluate(write);
  await tabs[1].evaluate(countBeats);
  await tabs[0].evaluate(order, { order: 'block', ms: 8000 });
  assert.equal(await tabs[1].evaluate(write), text);
  const beats = await tabs[1].evaluate(() => globalThis.beatsBefore);
  t.diagnostic(`taken after ${beats} beats`);
  assert.ok(beats >= 5 && beats < 20, `${beats} beats until another engine was loaded`);
  const { engineIn, reason } = await tabs[1].evaluate(place);
  assert.deepEqual([engineIn, reason], ['tab', 'the SharedWorker stood still']);
  await until(async () => (await tabs[1].evaluate(engines)).length === 1, 'one engine is left');
  assert.equal(await tabs[0].evaluate(write), text);
});

test('a tab that comes while the worker stands still does not wait for it', async (t) => {
  const { tabs, open } = await openTabs(t, 1, WATCHED);
  const text = await tabs[0].evaluate(write);
  await tabs[0].evaluate(order, { order: 'block', ms: 8000 });
  const late = await open();
  assert.equal(await late.evaluate(write), text);
  assert.deepEqual(await late.evaluate(place), { engineIn: 'tab', reason: 'the SharedWorker stood still' });
  await until(async () => (await late.evaluate(engines)).length === 1, 'one engine is left');
  assert.equal(await tabs[0].evaluate(write), text);
});

test('a worker that has a long text to read is waited for', async (t) => {
  const { tabs } = await openTabs(t, 2, WATCHED);
  const before = await tabs[0].evaluate(engines);
  await tabs[1].evaluate(countBeats);
  await tabs[1].evaluate(() => globalThis.model.tokenize('ä takes 5000').catch(() => {}));
  assert.ok((await tabs[1].evaluate(() => globalThis.beats)) > 8);
  assert.deepEqual(await tabs[1].evaluate(engines), before);
  assert.deepEqual(await tabs[1].evaluate(place), { engineIn: 'sharedWorker' });
});

test('its device is lost: the text goes on', async (t) => {
  const { tabs } = await openTabs(t, 2, WATCHED);
  const text = await tabs[0].evaluate(write);
  const before = await tabs[0].evaluate(engines);
  await tabs[0].evaluate(order, { order: 'lose' });
  assert.equal(await tabs[1].evaluate(write), text);
  assert.deepEqual(await tabs[1].evaluate(engines), before);
  assert.equal((await tabs[1].evaluate(count)).devices, 2);
});

test('a frozen tab: its answer goes on; when all are frozen, the engine is freed', async (t) => {
  const { tabs } = await openTabs(t, 2);
  const freeze = (tab, state) => tab.send('Page.setWebLifecycleState', { state });
  await tabs[0].evaluate(begin);
  const [engine] = await tabs[1].evaluate(engines);
  await freeze(tabs[0], 'frozen');
  assert.ok(await tabs[1].evaluate(write));
  await freeze(tabs[0], 'active');
  assert.equal(await tabs[0].evaluate(ended), 'length');
  assert.deepEqual(await tabs[0].evaluate(engines), [engine]);
  await tabs[1].evaluate(() => globalThis.model.free());
  await tabs[0].evaluate(begin);
  await freeze(tabs[0], 'frozen');
  await until(async () => !(await tabs[1].evaluate(hasSeat)), 'it is freed');
  await freeze(tabs[0], 'active');
  assert.equal(await tabs[0].evaluate(ended), 'engine_moved');
  assert.ok(await tabs[0].evaluate(write));
});

test('tabs with code of two releases have a worker each', async (t) => {
  const { tabs, open } = await openTabs(t, 1);
  const next = await open({ from: '/next/' });
  assert.equal(await next.evaluate(write), await tabs[0].evaluate(write));
  assert.equal(await next.evaluate(workers), 2);
  assert.equal((await next.evaluate(engines)).length, 2);
});

test('a script of another release than the page is refused, and the message says what to do', async (t) => {
  const { blank } = await openTabs(t, 0);
  const said = await failure(await blank(), { url: SMALL, worker: '/dist/next-worker.js' });
  assert.match(said, /^download_failed: .*next-worker\.js is of another release of webgguf \(9\.9\.9 next\).*reload/);
});

test('a model that does not load is an error in every tab that waits, and does not stay', async (t) => {
  const { tabs, blank } = await openTabs(t, 0);
  for (let index = 0; index < 2; index += 1) tabs.push(await blank());
  const said = await Promise.all(tabs.map((tab) => failure(tab, { url: '/nowhere.gguf' })));
  for (const each of said) assert.match(each, /^download_failed: .*404/);
  assert.deepEqual(await tabs[0].evaluate(engines), []);
  assert.match(await failure(tabs[0], { url: '/nowhere.gguf' }), /^download_failed: .*404/, 'and again');
});

test('a load that all tabs give up ends', async (t) => {
  const { tabs, blank } = await openTabs(t, 0);
  for (let index = 0; index < 2; index += 1) tabs.push(await blank());
  const giveUp = async ([source, ms]) => {
    const signal = AbortSignal.timeout(ms);
    const failed = (0, eval)(`(${source})`)({ url: '/stalled.gguf', options: { signal, cache: false } });
    return failed.catch(({ name }) => name);
  };
  const said = await Promise.all([1500, 3000].map((ms, at) => tabs[at].evaluate(giveUp, [load.toString(), ms])));
  assert.deepEqual(said, ['TimeoutError', 'TimeoutError']);
  await until(async () => (await tabs[0].evaluate(workers)) === 0, 'no SharedWorker is left');
});

test('where no SharedWorker can have it, a tab has the engine, and info says why', async (t) => {
  const cpu = 'the model runs on the CPU, where threads of a tab share its work';
  const software = `the only GPU adapter is a software one, so ${cpu}`;
  for (const [backend, reason] of Object.entries({ cpu, auto: software })) {
    const { tabs } = await openTabs(t, 1, { options: { backend } });
    assert.deepEqual(await tabs[0].evaluate(place), { engineIn: 'tab', reason });
  }
  const without = async ([source, url]) => {
    delete globalThis.SharedWorker;
    await (0, eval)(`(${source})`)({ url });
    return JSON.parse(JSON.stringify(globalThis.model.info.shared));
  };
  const { blank } = await openTabs(t, 0);
  const reason = 'there are no SharedWorkers here';
  const found = await (await blank()).evaluate(without, [load.toString(), SMALL]);
  assert.deepEqual(found, { engineIn: 'tab', reason });
});
