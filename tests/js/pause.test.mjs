// A download that is paused: nothing is read and no connection is left, what came is kept, and it goes on where it was.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, isAbort, openSources, readAll, testBytes, withCode } from './api.mjs';
import { installStorage } from './fake_opfs.mjs';
import { serveForTests, until } from './ranged_server.mjs';

const { cache, DownloadControl } = api;
const PART = 8 << 20;
const BYTES = testBytes((36 << 20) + 13);
const never = new AbortController().signal;

const server = await serveForTests(BYTES);
/** What the server does and was asked, see `rangedServer`. */
let plan;

beforeEach(() => {
  ({ plan } = server);
});

const open = async (options, signal = never) => (await openSources(server.url, signal, options))[0];
const same = (found) => assert.ok(found.equals(BYTES), `${found.length} bytes of ${BYTES.length}`);
const noneIsOpen = () => until('no connection is left', () => server.unfinished.size === 0);

/** Reads from `source` until `bytes` have come. */
async function readUntil(source, bytes) {
  const pieces = [];
  for (let read = 0; read < bytes; read += pieces.at(-1).length) pieces.push(Buffer.from(await source.next()));
  return Buffer.concat(pieces);
}

/** Whether a promise is settled. */
function watch(promise) {
  const seen = { settled: false };
  promise.then(
    () => (seen.settled = true),
    () => (seen.settled = true),
  );
  return seen;
}

const turns = async (count) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
};

test('a control says that it changed, and nothing where it did not', () => {
  const control = new DownloadControl();
  const heard = [];
  control.addEventListener('change', () => heard.push(control.paused));
  for (const method of ['pause', 'pause', 'resume', 'resume', 'pause']) control[method]();
  assert.deepEqual(heard, [true, false, true]);
});

for (const options of [
  { cache: false },
  { cache: true },
  { cache: false, connections: 3 },
  { cache: true, connections: 3 },
]) {
  const { connections = 1 } = options;
  const how = `${options.cache ? 'with' : 'without'} the cache, over ${connections}`;

  test(`${how}: no connection is left, and the rest is asked for once`, async () => {
    const download = new DownloadControl();
    const source = await open({ connections: 1, ...options, download });
    const first = await readUntil(source, connections === 1 ? PART : 2.5 * PART);
    download.pause();
    const waiting = readAll(source);
    const seen = watch(waiting);
    await turns(20); // what was asked for before is on its way
    await noneIsOpen();
    const { length } = plan.asked;
    await turns(50);
    assert.equal(plan.asked.length, length, 'nothing is asked for');
    assert.ok(!seen.settled);
    download.resume();
    same(Buffer.concat([first, await waiting]));
    if (connections === 1) assert.equal(plan.asked.length, 2);
    for (const { from, request } of plan.asked.slice(length)) {
      assert.ok(from >= first.length, `${from} after ${first.length} bytes`);
      assert.equal(request.headers['if-range'], '"one"');
    }
  });

  test(`${how}: a read that waits for a byte is interrupted, and a signal ends a pause`, async () => {
    const download = new DownloadControl();
    const controller = new AbortController();
    plan.stopAt = PART;
    const source = await open({ connections: 1, ...options, download }, controller.signal);
    const reading = readAll(source);
    const isOpen = () => plan.asked.length === connections && server.unfinished.size === connections;
    await until('the server has stopped', isOpen);
    download.pause();
    await noneIsOpen();
    const seen = watch(reading);
    plan.stopAt = undefined;
    await turns(20);
    assert.ok(!seen.settled);
    controller.abort();
    await assert.rejects(reading, isAbort);
    assert.equal(plan.asked.length, connections, 'nothing more is asked for');
  });
}

test('a pause while the first connection waits for the parts ends all, and they go on', async () => {
  const download = new DownloadControl();
  plan.answer = ({ isPart, headers }, response) => {
    if (isPart) response.writeHead(206, headers).flushHeaders();
    return isPart;
  };
  const source = await open({ cache: false, connections: 3, download, stallTimeout: 300_000 });
  const reading = readAll(source);
  await until('the parts are asked for', () => plan.asked.length === 3);
  const start = Math.min(...plan.asked.slice(1).map(({ from }) => from));
  await until('the first connection is where they begin', () => source.position >= start);
  download.pause();
  await noneIsOpen();
  plan.answer = undefined;
  download.resume();
  same(await reading);
  assert.equal(plan.asked.filter(({ isPart }) => !isPart).length, 1);
});

test('parts go on after a pause in which nobody read', async () => {
  const download = new DownloadControl();
  plan.answer = ({ isPart, from, headers }, response) =>
    isPart && response.writeHead(206, headers).write(BYTES.subarray(from, from + 1000));
  const source = await open({ cache: false, connections: 3, download });
  const first = await readUntil(source, 2 << 20);
  await until('the parts are open', () => plan.asked.length === 3 && server.unfinished.size === 3);
  await turns(20);
  download.pause();
  await noneIsOpen();
  plan.answer = undefined;
  download.resume();
  const second = Buffer.from(await source.next());
  await until('the rest is asked for', () => plan.asked.length === 6);
  same(Buffer.concat([first, second, await readAll(source)]));
  assert.equal(plan.asked.filter(({ isPart }) => !isPart).length, 2);
});

/** In place of `fetch`: answers in pieces of 1 MiB, of which one lies ready. */
const inPieces = (asked) => async (request) => {
  const [, from, to] = /bytes=(\d+)-(\d+)?/.exec(request.headers.get('range'));
  const end = to === undefined ? BYTES.length : Number(to) + 1;
  let at = Number(from);
  asked.push({ from: at, isPart: to !== undefined });
  const headers = { etag: '"one"', 'content-range': `bytes ${at}-${end - 1}/${BYTES.length}` };
  const pull = (controller) => {
    if (at === end) return controller.close();
    const piece = BYTES.slice(at, Math.min(at + (1 << 20), end));
    at += piece.length;
    return controller.enqueue(piece);
  };
  return new Response(new ReadableStream({ pull }), { status: 206, headers });
};

test('a pause in the piece with which the parts take over opens no other connection', async (t) => {
  const asked = [];
  t.mock.method(globalThis, 'fetch', inPieces(asked));
  const download = new DownloadControl();
  const source = await open({ cache: false, connections: 3, download });
  const pieces = [];
  const isNext = () => asked.length > 1 && source.position + (1 << 20) >= asked[1].from;
  while (!isNext()) pieces.push(Buffer.from(await source.next()));
  await turns(20);
  const reading = source.next();
  download.pause();
  pieces.push(Buffer.from(await reading));
  assert.equal(source.position, asked[1].from, 'the parts have taken over');
  download.resume();
  same(Buffer.concat([...pieces, await readAll(source)]));
  assert.equal(asked.filter(({ isPart }) => !isPart).length, 1);
});

test('pauses in any number, at any moment, change no byte', async () => {
  for (const options of [
    { cache: false, connections: 3 },
    { cache: true, connections: 1 },
    { cache: true, connections: 3 },
  ]) {
    installStorage();
    const download = new DownloadControl();
    const source = await open({ ...options, download });
    const pieces = [];
    for (let piece = await source.next(), count = 0; piece; piece = await source.next(), count += 1) {
      pieces.push(Buffer.from(piece));
      if (count % 40 === 7) download.pause();
      if (count % 40 === 7 && count % 80 === 7) setTimeout(() => download.resume(), 5);
      else download.resume();
    }
    same(Buffer.concat(pieces));
    await source.finish?.();
    if (options.cache) assert.equal((await cache.list())[0].complete, true);
  }
});

test('a load that is paused from its start asks for nothing, and what is stored is read all the same', async () => {
  const download = new DownloadControl();
  download.pause();
  for (const options of [{ cache: false }, { cache: true }]) {
    plan = server.reset();
    const opening = open({ ...options, download });
    const seen = watch(opening);
    await turns(50);
    assert.deepEqual([seen.settled, plan.asked.length], [false, 0]);
    download.resume();
    const source = await opening;
    same(await readAll(source));
    await source.finish?.();
    download.pause();
  }
  plan = server.reset();
  same(await readAll(await open({ cache: true, download })));
  assert.equal(plan.asked.length, 0);
});

test('what came before a pause is stored then, for a page that is closed meanwhile', async () => {
  const download = new DownloadControl();
  const controller = new AbortController();
  const source = await open({ download, connections: 1 }, controller.signal);
  const first = await readUntil(source, PART);
  download.pause();
  const waiting = source.next();
  waiting.catch(() => {});
  await until('it is stored', async () => (await cache.list())[0]?.bytes === first.length);
  assert.equal((await navigator.locks.query()).held.length, 0, 'and other tabs may go on');

  // Another page, while this one is paused; then this one again, from what the other has stored.
  plan = server.reset();
  same(await readAll(await open({ connections: 1 })));
  assert.deepEqual(
    plan.asked.map(({ from }) => from),
    [first.length],
  );
  download.resume();
  const rest = Buffer.concat([Buffer.from(await waiting), await readAll(source)]);
  same(Buffer.concat([first, rest]));
  assert.equal(plan.asked.length, 1);
});

/** A tab that stores a file as far as the server gives it, and one with a control that waits for the first. */
async function writerAndWaiting() {
  const download = new DownloadControl();
  const controller = new AbortController();
  plan.stopAt = PART;
  const writer = await open({ connections: 1 }, controller.signal);
  await readUntil(writer, PART);
  const reading = readAll(await open({ connections: 1, download }));
  return { download, controller, writer, reading };
}

test('a paused tab that waits for another takes no download over', async () => {
  const { download, controller, writer, reading } = await writerAndWaiting();
  download.pause();
  await new Promise((resolve) => setTimeout(resolve, 400)); // it looks every 150 ms
  controller.abort();
  await assert.rejects(writer.next(), isAbort);
  await until('the file is free', async () => (await navigator.locks.query()).held.length === 0);
  await turns(20);
  assert.equal(plan.asked.length, 1);
  plan.stopAt = undefined;
  download.resume();
  same(await reading);
  assert.equal(plan.asked.length, 2);
});

test('a tab that is paused as another leaves the file to it does not keep it', async () => {
  const { download, controller, writer, reading } = await writerAndWaiting();
  await new Promise((resolve) => setTimeout(resolve, 200)); // it looks every 150 ms
  download.pause();
  controller.abort();
  await assert.rejects(writer.next(), isAbort);
  await until('the file is free', async () => (await navigator.locks.query()).held.length === 0);
  await new Promise((resolve) => setTimeout(resolve, 400)); // and stays so
  assert.deepEqual([plan.asked.length, (await navigator.locks.query()).held.length], [1, 0]);
  plan.stopAt = undefined;
  download.resume();
  same(await reading);
});

test('a connection that a pause left open ends where another tab has brought the rest', async () => {
  plan.noRanges = true;
  const download = new DownloadControl();
  const source = await open({ download });
  const first = await readUntil(source, PART);
  download.pause();
  const waiting = readAll(source);
  await until('the file is free', async () => (await navigator.locks.query()).held.length === 0);
  assert.equal(server.unfinished.size, 1);
  same(await readAll(await open({})));
  download.resume();
  same(Buffer.concat([first, await waiting]));
  await noneIsOpen();
  assert.equal(plan.asked.length, 2);
});

test('a tab that is paused before another has begun to store leaves the file alone', async () => {
  const controller = new AbortController();
  plan.answer = () => true;
  const first = open({ connections: 1 }, controller.signal);
  await until('the first has asked', () => plan.asked.length === 1);
  const download = new DownloadControl();
  const second = open({ connections: 1, download });
  await new Promise((resolve) => setTimeout(resolve, 200)); // it looks every 150 ms
  download.pause();
  await new Promise((resolve) => setTimeout(resolve, 200));
  controller.abort();
  await assert.rejects(first, isAbort);
  await until('the file is free', async () => (await navigator.locks.query()).held.length === 0);
  await turns(20);
  assert.deepEqual([plan.asked.length, (await navigator.locks.query()).held.length], [1, 0]);
  plan.answer = undefined;
  download.resume();
  same(await readAll(await second));
});

for (const cached of [false, true]) {
  test(`${cached ? 'with' : 'without'} the cache: of a split model, files that nobody reads are paused`, async () => {
    const download = new DownloadControl();
    const url = server.url.replace('model', 'model-00001-of-00002');
    const files = await openSources(url, never, { cache: cached, connections: 1, download });
    const headers = [];
    for (const file of files) headers.push(Buffer.from(await file.next()));
    assert.equal(server.unfinished.size, 2);
    download.pause();
    await noneIsOpen();
    if (cached) await until('both are kept', async () => (await cache.list())[0]?.bytes === 2 * headers[0].length);
    assert.equal((await navigator.locks.query()).held.length, 0, 'and other tabs may go on');
    download.resume();
    for (const [index, file] of files.entries()) same(Buffer.concat([headers[index], await readAll(file)]));
    const begun = plan.asked.filter(({ request }) => request.method === 'GET').map(({ from }) => from);
    assert.deepEqual(begun, [0, 0, ...headers.map(({ length }) => length)]);
  });
}

test('a pause between two tries makes none', async () => {
  const download = new DownloadControl();
  let cuts = 0;
  plan.answer = ({ from, headers }, response) => {
    if (from > 0) return false;
    response.writeHead(206, headers).on('close', () => (cuts += 1));
    response.write(BYTES.subarray(0, 1000), () => setTimeout(() => response.destroy(), 20));
    return true;
  };
  const source = await open({ cache: false, connections: 1, download });
  const reading = readAll(source);
  await until('the connection is cut', () => cuts === 1);
  await turns(20);
  download.pause(); // half a second before the next try
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.equal(plan.asked.length, 1);
  download.resume();
  same(await reading);
});

test('a file that changed during a pause is refused', async () => {
  for (const options of [{ cache: false }, { cache: true }]) {
    plan = server.reset();
    const download = new DownloadControl();
    const source = await open({ ...options, download, connections: 1 });
    await readUntil(source, PART);
    download.pause();
    const waiting = readAll(source);
    waiting.catch(() => {});
    await noneIsOpen();
    plan.etag = '"two"';
    download.resume();
    await assert.rejects(waiting, withCode('download_failed', /the file changed meanwhile/));
  }
});

test('a server without ranges: the connection stays, nothing is read, and it goes on', async () => {
  for (const options of [{ cache: false }, { cache: true }]) {
    plan = server.reset();
    plan.noRanges = true;
    const download = new DownloadControl();
    const source = await open({ ...options, download });
    const first = await readUntil(source, PART);
    download.pause();
    const waiting = readAll(source);
    const seen = watch(waiting);
    await turns(50);
    assert.ok(!seen.settled);
    download.resume();
    same(Buffer.concat([first, await waiting]));
    assert.equal(plan.asked.length, 1);
  }
});

test('a control that is none is refused', async () => {
  for (const [download, found] of [
    [true, 'true'],
    [{ paused: false }, 'an object'],
    [new EventTarget(), 'an object'],
  ]) {
    const expected = new RegExp(`'download' must be a DownloadControl, found ${found}`);
    await assert.rejects(api.WasmModel.load(server.url, { download }), withCode('invalid_argument', expected));
  }
});
