// A file over several connections: the bytes are the same, what is asked for and what waits is counted, and whatever
// fails ends as it does over one. No server here is slow: a clock that tests set says how fast it was.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { api, dist, isAbort, openSources, readAll, testBytes, withCode } from './api.mjs';
import { serveForTests, until } from './ranged_server.mjs';

const { fetchRange } = await import(`${dist}load/responses.js`);
const PART = 8 << 20;
const BYTES = testBytes((44 << 20) + 13);
const never = new AbortController().signal;

const server = await serveForTests(BYTES);
/** What the server does and was asked, see `rangedServer`. */
let plan;

const clock = performance.now;

beforeEach(() => {
  ({ plan } = server);
});

afterEach(() => {
  performance.now = clock;
});

const open = async (options, signal = never) =>
  (await openSources(server.url, signal, { cache: false, ...options }))[0];
const read = async (options, signal) => readAll(await open(options, signal));
const partsAsked = () => plan.asked.filter(({ isPart }) => isPart).map(({ from, until }) => [from, until]);
const same = (found) => assert.ok(found.equals(BYTES), `${found.length} bytes of ${BYTES.length}`);

/** The parts of the file from `start` on, each asked for once. */
function partsFrom(start) {
  const starts = Array.from({ length: Math.ceil((BYTES.length - start) / PART) }, (_, index) => start + index * PART);
  return starts.map((at) => [at, Math.min(at + PART, BYTES.length)]);
}

test('parts cover the file once, in order, of one version', async () => {
  const source = await open({ connections: 4 });
  same(await readAll(source));
  assert.equal(source.position, BYTES.length);
  const [first, ...rest] = plan.asked;
  assert.equal(first.request.headers.range, 'bytes=0-');
  const start = Math.min(...rest.map(({ from }) => from));
  assert.ok(start > PART && start < 2 * PART, `the parts begin at ${start}`);
  assert.deepEqual(partsAsked(), partsFrom(start));
  for (const { request } of rest) assert.equal(request.headers['if-range'], '"one"');
  await until('the first connection ends', () => server.unfinished.size === 0);
});

test('no more parts than connections are fetched or wait, whatever the reader does', async () => {
  for (const connections of [2, 4]) {
    plan.asked = [];
    const source = await open({ connections });
    let position = 0;
    for (let piece = await source.next(); piece; piece = await source.next()) {
      position += piece.length;
      // A reader that waits: what may be asked for meanwhile, is.
      if (plan.asked.length > 1) await new Promise((resolve) => setTimeout(resolve, 1));
      const ahead = Math.max(...plan.asked.slice(1).map(({ until }) => until)) - position;
      assert.ok(ahead <= connections * PART, `${ahead} bytes ahead over ${connections} connections`);
    }
    assert.equal(position, BYTES.length);
  }
});

test('parts are copied into memory that is used again, whatever the length of the file', async () => {
  const memories = new Set();
  const source = await open({ connections: 4 });
  for (let piece = await source.next(); piece; piece = await source.next()) {
    if (piece.buffer.byteLength === PART) memories.add(piece.buffer);
  }
  assert.ok(memories.size >= 3 && memories.size <= 4, `${memories.size} buffers`);
});

test('files of a split model whose header alone is read have one connection each', async () => {
  const url = server.url.replace('model', 'model-00001-of-00002');
  const files = await openSources(url, never, { cache: false, connections: 4 });
  const headers = [];
  for (const file of files) headers.push(Buffer.from(await file.next()));
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(partsAsked(), []);
  for (const [index, file] of files.entries()) {
    plan.asked = [];
    same(Buffer.concat([headers[index], await readAll(file)]));
    const parts = partsAsked().sort(([a], [b]) => a - b);
    assert.deepEqual(parts, partsFrom(parts[0][0]));
  }
});

test('parts come at the same time, and a part that is late holds up none but the reader', async () => {
  const held = [];
  plan.answer = ({ isPart }, response) => {
    if (!isPart || plan.released) return false;
    held.push(response);
    return true;
  };
  const source = await open({ connections: 4 });
  const reading = readAll(source);
  await until('three parts are asked for beside the first connection', () => held.length === 3);
  plan.released = true;
  for (const response of held) response.destroy(); // each is asked for again
  same(await reading);
});

test('one connection: where one is wanted, the file is small, or has no ranges, length or version', async () => {
  const alone = async (options = { connections: 4 }) => {
    same(await read(options));
    assert.equal(plan.asked.length, 1);
    plan = server.reset();
  };
  await alone({ connections: 1 });
  plan.noRanges = true;
  await alone();
  plan.nameless = true;
  await alone();
  plan.answer = ({ headers }, response) => {
    const { 'content-length': _, ...rest } = headers;
    response.writeHead(206, rest).end(BYTES);
    return true;
  };
  await alone();
  plan.answer = (_, response) =>
    response.writeHead(206, { 'content-length': PART, etag: '"one"' }).end(BYTES.subarray(0, PART));
  assert.equal((await read({ connections: 4 })).length, PART);
  assert.equal(plan.asked.length, 1);
});

test('connections that are none are refused', async () => {
  for (const connections of [0, 9, 1.5, NaN, 'all', '4', null]) {
    const expected = /option 'connections' must be an integer from 1 to 8, or 'auto', found /;
    await assert.rejects(api.WasmModel.load(server.url, { connections }), withCode('invalid_argument', expected));
  }
  assert.equal(plan.asked.length, 0);
});

test('auto: a second connection comes where the first is slow, and only there', async () => {
  performance.now = () => 0;
  same(await read({}));
  assert.equal(plan.asked.length, 1, 'all came in no time');
  plan.asked = [];
  let now = 0;
  performance.now = () => (now += 1000);
  same(await read({}));
  const [[start]] = partsAsked();
  assert.ok(start >= 2 * PART && start < 3 * PART, `8 MiB say how fast it is, the next part is its own: ${start}`);
  assert.deepEqual(partsAsked(), partsFrom(start));
});

test('a metered connection stays one', async () => {
  for (const connection of [{ type: 'cellular' }, { saveData: true }]) {
    plan.asked = [];
    Object.defineProperty(navigator, 'connection', { value: connection, configurable: true });
    same(await read({ connections: 4 }));
    assert.equal(plan.asked.length, 1, JSON.stringify(connection));
  }
});

test('a part whose connection breaks, stalls or meets a busy server goes on where it broke', async () => {
  const faults = {
    cut: ({ from, headers }, response) => {
      response.writeHead(206, headers);
      response.write(BYTES.subarray(from, from + 1000), () => setTimeout(() => response.destroy(), 20));
    },
    busy: (_, response) => response.writeHead(503, { 'retry-after': '0' }).end(),
    stalls: ({ from, headers }, response) => response.writeHead(206, headers).write(BYTES.subarray(from, from + 1000)),
  };
  for (const [name, fault] of Object.entries(faults)) {
    plan = server.reset();
    const met = new Set();
    plan.answer = (about, response) => {
      if (!about.isPart || met.has(about.until)) return false;
      met.add(about.until);
      fault(about, response);
      return true;
    };
    same(await read({ connections: 3, stallTimeout: 1000 }));
    assert.ok(met.size >= 4, name);
    for (const until of met) {
      const [first, second] = plan.asked.filter((about) => about.isPart && about.until === until);
      assert.equal(second.from - first.from, name === 'busy' ? 0 : 1000, `${name}: the rest of a part`);
    }
  }
});

test('a server that refuses more connections gives the rest over the first', async () => {
  plan.answer = ({ isPart }, response) => isPart && response.writeHead(403).end();
  same(await read({ connections: 4 }));
  assert.equal(plan.asked.filter(({ isPart }) => !isPart).length, 1, 'the first goes on');
  assert.equal(partsAsked().length, 3, 'and nothing else is tried');
});

test('a part that fails later leaves the rest to one connection, which says what is wrong', async () => {
  const fails = (fault) => {
    plan = server.reset();
    plan.answer = (about, response) => about.from > 3 * PART && fault(about, response);
  };
  fails(({ isPart }, response) => isPart && response.writeHead(403).end());
  same(await read({ connections: 2 }));
  fails((_, response) => response.writeHead(403).end());
  await assert.rejects(
    read({ connections: 2 }),
    withCode('download_failed', /after \d+ of 46137357 bytes.*HTTP status 403/),
  );
  fails(({ headers }, response) => response.writeHead(206, { ...headers, etag: '"two"' }).end(Buffer.alloc(9)));
  await assert.rejects(read({ connections: 2 }), withCode('download_failed', /the file changed meanwhile/));
  fails(({ from, headers }, response) => {
    const { 'content-length': _, ...rest } = headers;
    return response.writeHead(206, rest).end(BYTES.subarray(from, from + PART + 9));
  });
  await assert.rejects(read({ connections: 2, retries: 0 }), withCode('download_failed', /\d+ of 46137357 bytes/));
});

test('a signal ends all connections, with its reason', async () => {
  for (const [reason, retries] of [
    [undefined, 5],
    [new Error('mine'), 5],
    [undefined, 0],
  ]) {
    plan = server.reset();
    plan.answer = ({ isPart, from, headers }, response) =>
      isPart && response.writeHead(206, headers).write(BYTES.subarray(from, from + 1000));
    const controller = new AbortController();
    const reading = read({ connections: 4, retries }, controller.signal);
    await until('all are open', () => partsAsked().length >= 4);
    controller.abort(reason);
    await assert.rejects(reading, reason ? (error) => error === reason : isAbort);
    await until('none is left', () => server.unfinished.size === 0);
  }
});

test('what ends a download as its parts begin leaves none', async () => {
  for (const way of ['abort', 'cancel']) {
    plan = server.reset();
    const controller = new AbortController();
    const source = await open({ connections: 4 }, controller.signal);
    const end = () => (way === 'abort' ? controller.abort() : source.cancel());
    // How long a piece took is asked just before the parts, whose code comes a little later.
    performance.now = () => {
      if (source.position < 1 << 20) return 0;
      performance.now = clock;
      queueMicrotask(end);
      return 0;
    };
    while (source.position < 1 << 20) await source.next();
    if (way === 'abort') await assert.rejects(source.next(), isAbort);
    await until('none is left', () => server.unfinished.size === 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual(partsAsked(), [], way);
  }
});

test('cancel ends all connections', async () => {
  const source = await open({ connections: 4 });
  for (let bytes = 0; bytes < 2.3 * PART; ) bytes += (await source.next()).length;
  source.cancel();
  await until('none is left', () => server.unfinished.size === 0);
  assert.ok(partsAsked().length <= 6, 'no more parts than the reader had, and four');
});

test('the cache keeps what came over several connections, and a broken load goes on with them', async () => {
  const { cache } = api;
  const sha256 = createHash('sha256').update(BYTES).digest('hex');
  const controller = new AbortController();
  const source = await open({ cache: true, connections: 4 }, controller.signal);
  for (let bytes = 0; bytes < 3 * PART; ) bytes += (await source.next()).length;
  controller.abort();
  await assert.rejects(source.next(), isAbort);
  while ((await navigator.locks.query()).held.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const [{ bytes }] = await cache.list();
  assert.ok(bytes >= 3 * PART && bytes < 4 * PART, `${bytes}`);
  plan.asked = [];
  const again = await open({ cache: true, connections: 2, sha256 });
  same(await readAll(again));
  await again.finish();
  assert.equal(plan.asked.find(({ isPart }) => !isPart).from, bytes);
  assert.ok(partsAsked().length > 0);
  plan.asked = [];
  same(await read({ cache: true, sha256 }));
  assert.equal(plan.asked.length, 0);
  const wrong = await open({ connections: 2, sha256: '0'.repeat(64) });
  await assert.rejects(wrong.finish(), withCode('integrity_failed', /SHA-256 is/));
});

test('of the answers to one range only that with its bytes is taken', async () => {
  const facts = { size: BYTES.length, etag: '"one"', crossOrigin: false };
  const how = { signal: never, patience: { retries: 0, stallTimeout: 1000 } };
  const ask = (offset) => fetchRange(new Request(server.url), { offset, length: 7 }, facts, how);
  assert.deepEqual(Buffer.from(await ask(5)), Buffer.from(BYTES.subarray(5, 12)));
  assert.deepEqual(
    plan.asked.map(({ request: { headers } }) => [headers.range, headers['if-range']]),
    [['bytes=5-11', '"one"']],
  );
  const refused = (offset, pattern) => assert.rejects(ask(offset), withCode('download_failed', pattern));
  plan.answer = ({ from, headers }, response) => {
    response.writeHead(206, { ...headers, 'content-range': `bytes ${from + 1}-${from + 7}/${BYTES.length}` });
    return response.end(BYTES.subarray(from + 1, from + 8));
  };
  await refused(5, /asked for bytes=5-11: the server resumed at byte 6/);
  plan.answer = ({ headers }, response) => response.writeHead(206, { ...headers, etag: '"two"' }).end('1234567');
  await refused(5, /the file changed meanwhile/);
  plan = server.reset();
  plan.noRanges = true;
  for (const offset of [0, 5]) await refused(offset, /the server takes no range requests/);
});
