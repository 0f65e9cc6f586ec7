// Models within a budget: those that were used longest ago make room, and none that is in use.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, dist, withCode } from './api.mjs';

const { WasmModel } = api;
const { models } = await import(`${dist}models/index.js`);

const SIZES = { a: 40, b: 50, c: 30, huge: 200 };
const PLACES = Object.fromEntries(Object.keys(SIZES).map((name) => [name, { source: name, contextLength: 512 }]));
const log = [];

/** Loads that say so in `log`, of models with the sizes above. */
WasmModel.inspect = async (source, options) => {
  log.push(`inspect ${source} ${options.contextLength}`);
  return { fileBytes: 1, gpu: { weightBytes: SIZES[source] - 10, sessionBytes: 10 } };
};
WasmModel.load = async (source) => {
  if (source === 'c' && fails.shift()) throw new Error('no network');
  log.push(`load ${source}`);
  const free = async () => void log.push(`free ${source}`);
  return { source, info: { gpuBytes: SIZES[source] }, applyChatTemplate() {}, generate() {}, free };
};
const fails = [];

const open = (budget = 100) => {
  log.length = 0;
  return models({ budget, models: PLACES });
};
const named = (model) => model.source;
const states = (app) => app.list().map(({ name, state, bytes, users }) => [name, state, bytes, users].join(' '));

test('a model is loaded once, and the one that was used longest ago makes room', async () => {
  const app = open();
  assert.equal(await app.use('a', named), 'a');
  assert.equal(await app.use('b', named), 'b');
  assert.equal(await app.use('a', named), 'a');
  assert.deepEqual(log.splice(0), ['inspect a 512', 'load a', 'inspect b 512', 'load b']);
  await app.use('c', named);
  assert.deepEqual(log.splice(0), ['inspect c 512', 'free b', 'load c']);
  assert.deepEqual(states(app), ['a loaded 40 0', 'b idle 0 0', 'c loaded 30 0', 'huge idle 0 0']);
  // What it takes is known from the load before.
  await app.use('b', named);
  assert.deepEqual(log.splice(0), ['free a', 'load b']);
  assert.equal(await app.unload('b'), true);
  assert.equal(await app.unload('b'), false);
  await app.free();
  assert.deepEqual(log.splice(0), ['free b', 'free c']);
  await assert.rejects(app.use('a', named), withCode('invalid_argument', /were freed/));
});

test('a model in use stays, and who needs its room waits', async () => {
  const app = open();
  let end;
  const long = app.use('a', async (model) => {
    await new Promise((resolve) => (end = resolve));
    return model.source;
  });
  await app.use('b', named);
  // c needs more than b leaves: b goes, a stays.
  assert.equal(await app.use('c', named), 'c');
  assert.deepEqual(log.splice(0).slice(-3), ['inspect c 512', 'free b', 'load c']);
  const held = [];
  const second = app.use('c', () => new Promise((resolve) => held.push(resolve)));
  while (held.length === 0) await new Promise(setImmediate);
  const stop = new AbortController();
  const stopped = app.use('b', named, { signal: stop.signal });
  const waits = app.use('b', named);
  await new Promise(setImmediate);
  assert.deepEqual(log.splice(0), []);
  stop.abort(new Error('enough'));
  await assert.rejects(stopped, /enough/);
  end();
  assert.equal(await long, 'a');
  assert.equal(await waits, 'b');
  assert.deepEqual(log.splice(0), ['free a', 'load b']);
  held[0]();
  await second;
  await app.free();
});

test('what cannot be is refused, and leaves room as before', async () => {
  const app = open();
  await assert.rejects(app.use('huge', named), withCode('limit_exceeded', /'huge' takes 200 bytes, .* is 100/));
  await assert.rejects(app.use('none', named), withCode('invalid_argument', /there are a, b, c, huge/));
  fails.push(true);
  await assert.rejects(app.use('c', named), /no network/);
  assert.deepEqual(states(app)[2], 'c idle 0 0');
  await app.use('a', named);
  await app.use('b', named);
  assert.ok(!log.some((line) => line.startsWith('free')), String(log));
  await assert.rejects(
    app.use('a', () => {
      throw new Error('of the page');
    }),
    /of the page/,
  );
  assert.deepEqual(states(app)[0], 'a loaded 40 0');
  const buffer = models({ budget: 9, models: { x: { source: new ArrayBuffer(8) } } });
  await assert.rejects(buffer.use('x', named), withCode('invalid_argument', /'x' cannot be unloaded .* buffer/));
  assert.throws(() => models({ budget: 0, models: {} }), withCode('invalid_argument', /'budget'/));
  assert.throws(() => models({ budget: 1, models: { a: 'a' } }), withCode('invalid_argument', /'a' needs a source/));
});
