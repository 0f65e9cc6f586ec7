// Servers and service workers that do less than they might: refuse ranges or HEAD, answer anew, forbid reading; and
// tabs that stand still or were closed at the last moment.

import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { api, openSources, readAll, testBytes, withCode } from './api.mjs';
import { serveForTests } from './ranged_server.mjs';

const BYTES = testBytes((3 << 20) + 7);
const server = await serveForTests(BYTES);
const never = new AbortController().signal;

const open = (options, source = server.url, signal = never) =>
  openSources(source, signal, { cache: false, connections: 1, retries: 1, ...options });
async function read(options, source) {
  const [part] = await open(options, source);
  const bytes = await readAll(part);
  await part.finish?.();
  return bytes;
}
const ranges = () => server.plan.asked.map(({ request }) => request.headers.range);

for (const status of [400, 401, 403, 404, 405, 406, 412, 416, 500, 501, 502, 503]) {
  test(`a server that answers ${status} to a range is asked without one`, async () => {
    server.plan.noRanges = true;
    server.plan.answer = ({ request }, response) => request.headers.range && response.writeHead(status).end();
    for (const cache of [false, true]) assert.ok((await read({ cache })).equals(BYTES));
    assert.equal(ranges().at(-1), undefined);
  });
}

test('a status that is no refusal of ranges is reported, after one more request', async () => {
  server.plan.answer = (_, response) => response.writeHead(404).end();
  await assert.rejects(read(), withCode('download_failed', /HTTP status 404/));
  assert.deepEqual(ranges(), ['bytes=0-', undefined]);
});

test('what was stored is not in the way where the server refuses the rest', async () => {
  for (const refuse of [
    (response) => response.writeHead(403).end(),
    (response) => response.writeHead(503).end(),
    (response) => response.destroy(),
  ]) {
    server.reset();
    server.plan.stopAt = 2 << 20;
    const controller = new AbortController();
    const [part] = await open({ cache: true, cacheKey: String(refuse) }, server.url, controller.signal);
    for (let count = 0; count < 1 << 20; ) count += (await part.next()).length;
    controller.abort();
    while ((await navigator.locks.query()).held.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    server.plan.stopAt = undefined;
    server.plan.noRanges = true;
    server.plan.answer = ({ request }, response) => request.headers.range && (refuse(response), true);
    assert.ok((await read({ cache: true, cacheKey: String(refuse) })).equals(BYTES));
  }
});

for (const status of [403, 404, 405, 410, 500, 501]) {
  test(`parts of a split file are found where HEAD gives ${status}`, async () => {
    const heads = [];
    const split = http.createServer((request, response) => {
      if (request.method === 'HEAD') heads.push(request.url);
      if (request.method === 'HEAD') return response.writeHead(status).end();
      response.writeHead(200, { 'content-length': 9 }).end('123456789');
    });
    await new Promise((resolve) => split.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${split.address().port}/m-00001-of-00002.gguf`;
      const parts = await open({}, url);
      assert.deepEqual([heads.length > 0, parts.length], [true, 2]);
      for (const part of parts) assert.equal((await readAll(part)).length, 9);
    } finally {
      split.closeAllConnections();
      split.close();
    }
  });
}

/** A `fetch` as a page has it behind a service worker that makes each answer anew, as those for COOP and COEP do. */
async function behindServiceWorker(work, change = {}) {
  const { fetch: real } = globalThis;
  globalThis.fetch = async (...args) => {
    const request = new Request(...args);
    // Another origin: the header would need a preflight, which the server refuses.
    if (request.headers.has('if-range')) throw new TypeError('Failed to fetch');
    const answer = await real(request);
    const { status, headers } = answer;
    const made = new Response(answer.body, { status: change.status ?? status, headers });
    Object.defineProperty(made, 'url', { value: change.url ?? request.url });
    return made;
  };
  try {
    return await work();
  } finally {
    globalThis.fetch = real;
  }
}

for (const [how, change] of [
  ['as it was', {}],
  ['with another status', { status: 200 }],
  ['without an address', { url: '' }],
]) {
  test(`a download goes on behind a service worker that answers anew, ${how}`, async () => {
    await behindServiceWorker(async () => {
      server.plan.answer = ({ from }, response) => from === 0 && setTimeout(() => response.destroy(), 50) && false;
      server.plan.stopAt = 1 << 20;
      const [part] = await open({ cache: true });
      const first = await part.next();
      server.plan.answer = undefined;
      server.plan.stopAt = undefined;
      const rest = await readAll(part);
      assert.ok(Buffer.concat([BYTES.subarray(0, first.length), rest]).equals(BYTES));
      await part.finish?.();
    }, change);
  });

  test(`what was stored behind such a service worker is resumed, ${how}`, async () => {
    await behindServiceWorker(async () => {
      server.plan.stopAt = 2 << 20;
      const controller = new AbortController();
      const [part] = await open({ cache: true }, server.url, controller.signal);
      for (let count = 0; count < 1 << 20; ) count += (await part.next()).length;
      controller.abort();
      while ((await navigator.locks.query()).held.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      server.reset();
      assert.ok((await read({ cache: true })).equals(BYTES));
      const from = server.plan.asked.map((asked) => asked.from);
      assert.ok(from.length > 0 && !from.includes(0), `asked from ${from}`);
    }, change);
  });
}

test('answers that no page may read say what to change', async () => {
  const { fetch: real } = globalThis;
  try {
    for (const [type, says] of [
      ['opaque', /no-cors.*CORS/],
      ['opaqueredirect', /redirect/],
    ]) {
      globalThis.fetch = async () => Object.defineProperty(Response.error(), 'type', { value: type });
      await assert.rejects(read(), withCode('download_failed', says));
      const given = Object.defineProperty(Response.error(), 'type', { value: type });
      await assert.rejects(read({}, given), withCode('download_failed', says));
    }
  } finally {
    globalThis.fetch = real;
  }
});

/** As a tab leaves a file that was closed before it could say that all bytes are there. */
async function forgetTheEnd() {
  const root = await (await navigator.storage.getDirectory()).getDirectoryHandle('webgguf');
  for await (const [, model] of root.entries()) {
    for await (const [, part] of model.entries()) {
      const handle = await part.getFileHandle('state.json');
      const state = JSON.parse(await (await handle.getFile()).text());
      const writable = await handle.createWritable();
      await writable.write(JSON.stringify({ ...state, complete: false }));
      await writable.close();
    }
  }
}

test('a file whose bytes are all stored is not fetched again, though nobody noted its end', async () => {
  await read({ cache: true });
  for (const options of [{}, { retries: 0 }]) {
    await forgetTheEnd();
    server.reset();
    server.plan.answer = (_, response) => response.writeHead(416, { 'content-range': `bytes */${BYTES.length}` }).end();
    assert.ok((await read({ cache: true, ...options })).equals(BYTES));
    assert.deepEqual(server.plan.asked, []);
    assert.equal((await api.cache.list())[0].complete, true);
  }
});

test('a tab that holds the lock and stands still does not keep others waiting', async () => {
  const warnings = [];
  const [part] = await open({ cache: true });
  await part.next();
  const [{ name }] = (await navigator.locks.query()).held;
  await part.finish?.();
  await readAll(part);
  await api.cache.clear();
  // It has the lock and answers nobody.
  void navigator.locks.request(name, {}, () => new Promise(() => {}));
  const options = { cache: true, stallTimeout: 400, onWarning: ({ code, message }) => warnings.push([code, message]) };
  assert.ok((await read(options)).equals(BYTES));
  assert.equal(warnings.length, 1);
  assert.equal(warnings[0][0], 'cache_unavailable');
  assert.match(warnings[0][1], /stands still/);
});

test('a tab that stores slowly but answers is waited for', async () => {
  server.plan.stopAt = 1 << 20;
  const [first] = await open({ cache: true });
  await first.next();
  const warnings = [];
  const second = read({ cache: true, stallTimeout: 400, onWarning: (warning) => warnings.push(warning) });
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.equal(server.plan.asked.length, 1, 'nobody else has asked');
  for (const response of server.unfinished) response.end(BYTES.subarray(1 << 20));
  const rest = await readAll(first);
  await first.finish?.();
  assert.ok(rest.length > 0);
  assert.ok((await second).equals(BYTES));
  assert.deepEqual(warnings, []);
});
