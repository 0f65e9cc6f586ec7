// When a tab takes the engine of all tabs from a thread that stands still: by beats that are counted, not by a clock.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';
import { installStorage } from './fake_opfs.mjs';

installStorage(); // with locks
const { Watch } = await import(`${dist}shared/watch.js`);
const { seatNow } = await import(`${dist}shared/busy.js`);
const { hostModel } = await import(`${dist}shared/host.js`);
const { Seat } = await import(`${dist}shared/seat.js`);
const { Everyone, held, names, portOf } = await import(`${dist}shared/messages.js`);
const { Channel } = await import(`${dist}engine/channel.js`);
const { BEAT_MS } = await import(`${dist}shared/limits.js`);

const HELD = { isHeld: true, isBusy: false };
const BUSY = { isHeld: true, isBusy: true };

/** Milliseconds of beats until the seat is taken; `answer` comes after each. */
function untilTaken(seat, { isOneThread = false, answer = () => {}, every = BEAT_MS, most = 100 } = {}) {
  const watch = new Watch(0);
  for (let beat = 1; beat <= most; beat += 1) {
    watch.beat(beat * every);
    if (watch.isSilent && watch.isOver(seat, isOneThread)) return beat * every;
    answer(watch);
  }
  return undefined;
}

test('a silent thread is noticed within three seconds, a busy one after ten', () => {
  const tab = (watch) => watch.heardTab();
  assert.equal(untilTaken(HELD), 2400, 'a tab and its worker');
  assert.equal(untilTaken(BUSY), 2400, 'a frozen tab, whatever its worker was doing');
  assert.equal(untilTaken(HELD, { isOneThread: true }), 2400, 'a SharedWorker');
  assert.equal(untilTaken(BUSY, { isOneThread: true }), 10_400, 'a SharedWorker that loads');
  assert.equal(untilTaken(HELD, { answer: tab }), 2400, 'a worker, whose tab answers');
  assert.equal(untilTaken(BUSY, { answer: tab }), 10_400, 'a worker that computes, whose tab answers');
  assert.equal(untilTaken(HELD, { every: 1000 }), 3000, 'from a tab in the background');
});

test('who answers, is not there, or is watched by a tab that stands still, is let alone', () => {
  assert.equal(untilTaken(HELD, { answer: (watch) => watch.heardEngine() }), undefined);
  assert.equal(untilTaken({ isHeld: false, isBusy: false }, { isOneThread: true }), undefined);
  assert.equal(untilTaken(HELD, { every: 2000 }), undefined);
  const watch = new Watch(0);
  for (let beat = 1; beat < 8; beat += 1) watch.beat(beat * BEAT_MS);
  assert.equal(watch.isOver({ isHeld: false, isBusy: false }, true), false);
  assert.equal(watch.isOver(HELD, true), false, 'a thread that has just got the seat is not late');
});

const isBusy = async (name) => (await seatNow(name)).isBusy;
const turn = () => new Promise((resolve) => setTimeout(resolve));

/** A model for tabs and a connection to it; each call of its engine waits until it is answered. */
async function hosted(t, name, info = {}) {
  const waiting = new Map();
  const made = (method) => () => new Promise((resolve) => waiting.set(method, resolve));
  const get = (_, key) => (key === 'info' ? { backend: 'webgpu', ...info } : made(key));
  const [host, client] = ['host', 'client'];
  const stop = await hostModel(new Proxy({}, { get }), { name, host, place: { engineIn: 'sharedWorker' } });
  const release = await held(names.client(name, client));
  const port = new BroadcastChannel(names.connection(name, host, client));
  const channel = new Channel(portOf(port), {});
  let everyone;
  const connected = new Promise((resolve) => {
    everyone = new Everyone(name, ({ kind }) => kind === 'answer' && resolve());
  });
  everyone.say({ kind: 'ask', client });
  t.after(() => (stop(), release(), port.close(), everyone.close()));
  await connected;
  /** Whether the thread has announced work: while a call runs, and after it. */
  return async (method, value, ...args) => {
    const called = channel.call(method, [1, ...args]);
    while (!waiting.has(method)) await turn();
    const during = await isBusy(name);
    waiting.get(method)(value);
    waiting.delete(method);
    await called;
    await turn();
    return [during, await isBusy(name)];
  };
}

test('a thread announces what may hold it, and nothing else', async (t) => {
  const busy = await hosted(t, 'announcing');
  assert.deepEqual(await busy('tokenize', new Uint32Array(), 'a long text'), [true, false]);
  assert.deepEqual(await busy('evaluate', {}, [1, 2], {}), [false, false]);
  assert.deepEqual(await busy('start', undefined, 'a long text', {}), [true, false]);
  assert.deepEqual(await busy('next', { text: 'a' }), [false, false]);
  assert.deepEqual(await busy('finish', {}), [false, false]);
  // A grammar is compiled before the first piece.
  assert.deepEqual(await busy('start', undefined, 'a text', { grammar: { kind: 'json_schema' } }), [true, true]);
  assert.deepEqual(await busy('next', { text: '{' }), [true, false]);
  assert.deepEqual(await busy('next', { text: '}' }), [false, false]);
});

test('a model on the CPU always may hold its thread', async (t) => {
  await hosted(t, 'computing', { backend: 'cpu' });
  assert.equal(await isBusy('computing'), true);
});

test('a thread that loads says so', async () => {
  let open;
  const seat = new Seat(() => new Promise((resolve) => (open = resolve)));
  const ending = new AbortController();
  const over = seat.run({ source: '', options: {}, name: 'loading' }, { engineIn: 'tab' });
  assert.equal(await isBusy('loading'), true);
  open({ ended: ending.signal, end: () => ending.abort() });
  await turn();
  assert.deepEqual([seat.isServing, await isBusy('loading')], [true, false]);
  seat.end();
  await over;
});
