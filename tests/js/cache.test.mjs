// The cache over a file system in memory: what a crash at any moment leaves, what is resumed, and what is refused.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import {
  api,
  folderOf,
  isAbort,
  keyOfUrl,
  openSources as openAny,
  parseState,
  readAll,
  Sha256,
  testBytes,
  withCode,
} from './api.mjs';
import { installStorage } from './fake_opfs.mjs';

const { cache } = api;
/** Over one connection, also on a machine that has no time: requests are counted here. */
const openSources = (source, signal, options) => openAny(source, signal, { connections: 1, ...options });
const BYTES = testBytes((36 << 20) + 13);
const OTHER = BYTES.map((byte) => byte ^ 1);
const sha256Of = (bytes) => createHash('sha256').update(bytes).digest('hex');

let server;
let url;
let disk;
/** What the server does, and what it was asked. */
let plan;

before(async () => {
  server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    const bytes = plan.bytes ?? BYTES;
    const etag = plan.etag ?? '"one"';
    const { range, 'if-range': condition } = request.headers;
    const takes = range && !plan.noRanges && (!condition || condition === etag || plan.ignoresCondition);
    const [, from = 0, to = bytes.length - 1] = takes
      ? /bytes=(\d+)-(\d+)?/.exec(range).map((found) => found && Number(found))
      : [];
    plan.asked.push(request.method === 'HEAD' ? 'HEAD' : from || 'all');
    if (plan.status || pathname.includes('missing')) return response.writeHead(plan.status ?? 404).end();
    const headers = { etag, ...(!plan.silent && { 'content-length': to + 1 - from }) };
    if (takes && !plan.hidesRange) headers['content-range'] = `bytes ${from}-${to}/${bytes.length}`;
    response.writeHead(takes ? 206 : 200, headers);
    if (request.method === 'HEAD') return response.end();
    if (plan.stopAt === undefined || plan.stopAt >= bytes.length) return response.end(bytes.subarray(from, to + 1));
    return response.write(bytes.subarray(from, plan.stopAt));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${server.address().port}/model.gguf`;
});

after(() => {
  server.close();
  server.closeAllConnections();
});

beforeEach(() => {
  plan = { asked: [] };
  disk = installStorage();
});

/** Opens, reads `bytes` of it or all, and finishes as a load does. */
async function load(options = {}, source = url) {
  const controller = new AbortController();
  const warnings = [];
  const given = { cache: true, onWarning: (warning) => warnings.push(warning), ...options };
  const [part] = await openSources(source, controller.signal, given);
  const read = await readAll(part);
  await part.finish?.();
  return { part, read, warnings };
}

/** Reads until `bytes` came, then cancels; waits until that is through. */
async function breakAt(bytes, options = {}) {
  const controller = new AbortController();
  const [part] = await openSources(url, controller.signal, { cache: true, ...options });
  for (let read = 0; read < bytes; ) read += (await part.next()).length;
  controller.abort();
  await assert.rejects(part.next(), isAbort);
  const isHeld = async () => (await navigator.locks.query()).held.length > 0;
  while (await isHeld()) await new Promise((resolve) => setTimeout(resolve, 1));
}

const stored = async () => (await cache.list())[0]?.bytes ?? 0;

test('what was stored is read without a request, and the bytes are the same', async () => {
  const first = await load();
  assert.ok(first.read.equals(BYTES));
  const second = await load();
  assert.ok(second.read.equals(BYTES));
  assert.deepEqual(plan.asked, ['all']);
  assert.equal(second.part.size, BYTES.length);
  assert.deepEqual([...first.warnings, ...second.warnings], []);
  assert.ok([...disk.only().keys()].length >= 3, 'a large file is stored in segments');
});

test('bytes that wait for a slow disk are not written over', async () => {
  disk.before = (operation) => operation === 'write' && new Promise((resolve) => setTimeout(resolve, 2));
  await load();
  disk.before = async () => {};
  assert.ok((await load()).read.equals(BYTES));
  assert.deepEqual(plan.asked, ['all']);
});

test('with cache: false nothing is stored', async () => {
  await load({ cache: false });
  assert.equal(disk.root.children.size, 0);
  await load({ cache: false });
  assert.deepEqual(plan.asked, ['all', 'all']);
});

test('an aborted download goes on where it stopped', async () => {
  plan.stopAt = 20 << 20;
  await breakAt(19 << 20);
  const kept = await stored();
  assert.ok(kept >= 19 << 20, `${kept} bytes are stored`);
  plan.stopAt = undefined;
  // What a crash of the browser leaves in Chromium, and a segment that no state lists.
  for (const stray of ['00000.bin.crswap', '00007.bin']) disk.only().set(stray, disk.only().get('00000.bin'));
  const { read } = await load();
  assert.ok(read.equals(BYTES));
  assert.deepEqual(plan.asked, ['all', kept]);
  assert.deepEqual([...disk.only().keys()].sort(), ['00000.bin', '00001.bin', 'state.json']);
});

test('a load that begins while a cancelled one still commits its bytes goes on with them', async () => {
  plan.stopAt = 20 << 20;
  const controller = new AbortController();
  const [part] = await openSources(url, controller.signal, { cache: true });
  for (let read = 0; read < plan.stopAt; ) read += (await part.next()).length;
  let commit;
  const mayCommit = new Promise((resolve) => (commit = resolve));
  disk.before = (operation) => operation === 'close' && mayCommit;
  const ended = assert.rejects(part.next(), isAbort);
  controller.abort();
  plan.stopAt = undefined;
  const following = load();
  const isWaiting = async () => (await navigator.locks.query()).pending.length > 0;
  while (plan.asked.length < 2 && !(await isWaiting())) await new Promise((resolve) => setTimeout(resolve, 1));
  commit();
  await ended;
  const { read, warnings } = await following;
  assert.ok(read.equals(BYTES));
  assert.deepEqual(warnings, []);
  assert.equal(plan.asked.length, 2);
  assert.ok(plan.asked[1] >= 19 << 20, `${plan.asked}`);
});

test('a file that changed before the rest came is fetched anew', async () => {
  plan.stopAt = 10 << 20;
  await breakAt(9 << 20);
  Object.assign(plan, { stopAt: undefined, etag: '"two"', bytes: OTHER, asked: [] });
  const { read } = await load();
  assert.ok(read.equals(Buffer.from(OTHER)));
  assert.deepEqual(plan.asked, ['all']);
});

test('a server that ignores If-Range is found out by the ETag and by the length', async () => {
  const changes = {
    'the ETag': { etag: '"two"', bytes: OTHER },
    'the length': { bytes: OTHER.subarray(0, 30 << 20), hidesRange: true },
  };
  for (const [name, change] of Object.entries(changes)) {
    disk = installStorage();
    plan = { asked: [], stopAt: 10 << 20 };
    await breakAt(9 << 20);
    plan = { asked: [], ignoresCondition: true, ...change };
    const { read } = await load();
    assert.ok(read.equals(Buffer.from(change.bytes)), name);
    assert.equal(plan.asked.at(-1), 'all', name);
  }
});

test('a server without ranges sends all again', async () => {
  plan.stopAt = 10 << 20;
  await breakAt(9 << 20);
  Object.assign(plan, { stopAt: undefined, noRanges: true });
  assert.ok((await load()).read.equals(BYTES));
  assert.equal((await cache.list())[0].complete, true);
});

const turns = async (count) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
};

test('a crash at any operation leaves what is resumed or discarded, never what is wrong', async () => {
  for (let crash = 1; crash < 46; crash += 4) {
    disk = installStorage();
    let operations = 0;
    let crashed;
    const isGone = new Promise((resolve) => {
      crashed = () => void turns(1000).then(resolve);
    });
    // From some operation on nothing reaches the disk any more, as when the process is gone.
    disk.before = () => {
      if (++operations < crash) return undefined;
      crashed();
      return new Promise(() => {});
    };
    const controller = new AbortController();
    plan.stopAt = 34 << 20;
    const opening = openSources(url, controller.signal, { cache: true });
    const [part] = await Promise.race([opening, isGone.then(() => [])]);
    for (let read = 0; part && read < plan.stopAt; ) {
      const piece = await Promise.race([part.next(), isGone]);
      if (!piece) break;
      read += piece.length;
    }
    // This disk is memory: what was taken gets there by turns of this thread alone.
    await turns(1000);
    disk.before = async () => {};
    navigator.locks = new navigator.locks.constructor();
    plan.stopAt = undefined;
    assert.ok((await load()).read.equals(BYTES), `after a crash at operation ${crash}`);
    controller.abort();
  }
});

test('a truncated, a lost and a foreign segment end what is stored', async () => {
  const broken = {
    truncated: (files) => (files.get('00001.bin').bytes = files.get('00001.bin').bytes.slice(0, -5)),
    longer: (files) => (files.get('00001.bin').bytes = new Uint8Array(20 << 20)),
    lost: (files) => files.delete('00000.bin'),
    'no state': (files) => files.delete('state.json'),
    'half a state': (files) => (files.get('state.json').bytes = files.get('state.json').bytes.slice(0, -20)),
    'a state of a longer file': (files) => {
      const state = JSON.parse(Buffer.from(files.get('state.json').bytes));
      files.get('state.json').bytes = Buffer.from(JSON.stringify({ ...state, size: state.size - 1 }));
    },
  };
  for (const [name, damage] of Object.entries(broken)) {
    disk = installStorage();
    await load();
    damage(disk.only());
    assert.equal(await cache.has(url), name === 'truncated' || name === 'longer' || name === 'lost', name);
    plan.asked = [];
    assert.ok((await load()).read.equals(BYTES), name);
    assert.equal(plan.asked.length, 1, name);
    plan.asked = [];
    await load();
    assert.deepEqual(plan.asked, [], name);
  }
});

test('a digest decides: of a fresh file, of a stored one, and of one that was checked before', async () => {
  const right = sha256Of(BYTES);
  const wrong = 'ab'.repeat(32);
  await assert.rejects(load({ sha256: wrong }), withCode('integrity_failed', /SHA-256 is .*, expected abab/));
  assert.equal(await stored(), 0, 'a wrong file is kept');
  await load();
  plan.asked = [];
  await assert.rejects(load({ sha256: wrong }), withCode('integrity_failed'));
  assert.equal(await stored(), 0, 'a wrong file is kept');
  await load({ sha256: right.toUpperCase() });
  plan.asked = [];
  await load({ sha256: right });
  assert.deepEqual(plan.asked, []);
  await assert.rejects(load({ sha256: wrong }), withCode('integrity_failed'));
  assert.deepEqual(plan.asked, ['all'], 'a file that was checked against another digest is fetched anew');
  await assert.rejects(load({ sha256: [right, right] }), withCode('invalid_argument', /2 digests for 1 file/));
});

test('a digest is checked without the cache, too, and of other sources', async () => {
  const bad = { sha256: 'cd'.repeat(32) };
  await assert.rejects(load({ cache: false, ...bad }), withCode('integrity_failed'));
  await assert.rejects(load(bad, BYTES.subarray(0, 1000)), withCode('integrity_failed'));
  assert.equal((await load({ sha256: sha256Of('abc') }, new TextEncoder().encode('abc'))).read.toString(), 'abc');
});

test('revalidate asks the server, and takes what is stored where nobody answers', async () => {
  await load();
  plan.asked = [];
  await load({ cache: 'revalidate' });
  assert.deepEqual(plan.asked, ['HEAD']);
  Object.assign(plan, { etag: '"two"', bytes: OTHER, asked: [] });
  assert.ok((await load()).read.equals(BYTES), 'without asking, it is the stored one');
  assert.ok((await load({ cache: 'revalidate' })).read.equals(Buffer.from(OTHER)));
  plan.status = 503;
  assert.ok((await load({ cache: 'revalidate' })).read.equals(Buffer.from(OTHER)));
});

test('a full disk: the model loads, nothing is left, and the page hears it', async () => {
  disk.quota = 15 << 20;
  const known = await load();
  assert.ok(known.read.equals(BYTES));
  assert.deepEqual(
    known.warnings.map(({ code }) => code),
    ['cache_full'],
  );
  assert.match(known.warnings[0].message, /model\.gguf is not kept: 37748749 bytes, and about \d+ are free/);
  disk.announced = Infinity; // the browser does not know it before it writes
  const found = await load();
  assert.ok(found.read.equals(BYTES));
  assert.deepEqual(
    found.warnings.map(({ code }) => code),
    ['cache_full'],
  );
  assert.equal(await stored(), 0);
});

test('a limit: the model that was loaded longest ago goes first, and one too large deletes nothing', async () => {
  const size = 1 << 20;
  plan.bytes = BYTES.subarray(0, size);
  const loadAs = async (name, cacheLimit) => {
    const { read, warnings } = await load({ cacheLimit }, url.replace('model', name));
    assert.ok(read.equals(plan.bytes));
    await new Promise((resolve) => setTimeout(resolve, 2)); // so that no two are of one millisecond
    return warnings.map(({ code, message }) => `${code}: ${message}`);
  };
  const names = async () => (await cache.list()).map(({ key }) => /(\w+)\.gguf/.exec(key)[1]).sort();
  for (const name of ['one', 'two', 'three', 'one', 'four']) assert.deepEqual(await loadAs(name, 3 * size), []);
  assert.deepEqual(await names(), ['four', 'one', 'three'], 'two was loaded longest ago');
  const [warning] = await loadAs('five', size - 1);
  assert.match(warning, new RegExp(`^cache_full: .*five.gguf is not kept: ${size} bytes, 'cacheLimit' is ${size - 1}`));
  assert.deepEqual(await names(), ['four', 'one', 'three']);
  plan.silent = true; // the length is not known before the end
  assert.deepEqual(await loadAs('six', 2 * size), []);
  assert.deepEqual(await names(), ['four', 'six']);
});

test('a limit deletes no model that is being downloaded', async () => {
  plan.stopAt = 34 << 20;
  const slow = new AbortController();
  const [part] = await openSources(url, slow.signal, { cache: true });
  for (let read = 0; read < 33 << 20; ) read += (await part.next()).length;
  while ((await stored()) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  plan = { asked: [], bytes: BYTES.subarray(0, 1 << 20) };
  const other = await load({ cacheLimit: 32 << 20 }, url.replace('model', 'other'));
  assert.match(other.warnings[0].message, /1048576 bytes, and others write 33554432; 'cacheLimit' is 33554432/);
  assert.equal(await stored(), 32 << 20);
  slow.abort();
});

test('no storage, a forbidden one, and one that cannot be written', async () => {
  const kinds = {
    none: () => delete navigator.storage.getDirectory,
    forbidden: () => (navigator.storage.getDirectory = () => Promise.reject(new DOMException('no', 'SecurityError'))),
    'read only': () => (disk.before = () => Promise.reject(new DOMException('no', 'InvalidStateError'))),
  };
  for (const [name, make] of Object.entries(kinds)) {
    disk = installStorage();
    make();
    const { read, warnings } = await load();
    assert.ok(read.equals(BYTES), name);
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ['cache_unavailable'],
      name,
    );
    assert.deepEqual(await cache.list().catch(() => 'failed'), [], name);
  }
});

test('a file of unknown length is stored once its end has come, for other loads, too', async () => {
  Object.assign(plan, { silent: true, noRanges: true });
  const both = await Promise.all([load(), load()]);
  for (const { read, warnings } of both) {
    assert.ok(read.equals(BYTES));
    assert.deepEqual(warnings, []);
  }
  assert.ok((await load()).read.equals(BYTES));
  assert.deepEqual(plan.asked, ['all']);
  const [{ size, complete }] = await cache.list();
  assert.deepEqual({ size, complete }, { size: BYTES.length, complete: true });
});

test('a file of unknown length that was cut starts anew', async () => {
  Object.assign(plan, { silent: true, noRanges: true, stopAt: 20 << 20 });
  await breakAt(19 << 20);
  assert.equal((await cache.list())[0].complete, false);
  assert.equal(await cache.has(url), false);
  plan.stopAt = undefined;
  assert.ok((await load()).read.equals(BYTES));
  assert.deepEqual(plan.asked, ['all', 'all']);
});

test('the bytes of a file that is begun anew count as free', async () => {
  plan.stopAt = 20 << 20;
  await breakAt(19 << 20);
  disk.used = await stored();
  disk.announced = BYTES.length + (10 << 20);
  Object.assign(plan, { stopAt: undefined, etag: '"two"', bytes: OTHER });
  const { read, warnings } = await load();
  assert.ok(read.equals(Buffer.from(OTHER)));
  assert.deepEqual(warnings, []);
});

test('two loads at once share one download, also where the first is cancelled', async () => {
  const [a, b] = await Promise.all([load(), load()]);
  assert.ok(a.read.equals(BYTES) && b.read.equals(BYTES));
  assert.deepEqual(plan.asked, ['all']);
  await cache.delete(url);
  Object.assign(plan, { asked: [], stopAt: 20 << 20 });
  const breaking = breakAt(19 << 20);
  // Who asks the server has the lock. The next request is answered whole.
  while (plan.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  plan.stopAt = undefined;
  const following = load();
  await breaking;
  assert.ok((await following).read.equals(BYTES));
  assert.equal(plan.asked.length, 2);
  assert.ok(plan.asked[1] >= 19 << 20, `${plan.asked}`);
});

test('who takes over from a cancelled load, on a server without ranges, hands no byte out twice', async () => {
  plan.stopAt = 20 << 20;
  await breakAt(19 << 20);
  const lock = await new Promise((resolve) => {
    const name = `webgguf:${folderOf(url)}/00001`;
    void navigator.locks.request(name, {}, () => new Promise((release) => resolve(release)));
  });
  Object.assign(plan, { stopAt: undefined, noRanges: true });
  const following = load();
  const waits = async () => (await navigator.locks.query()).pending.length > 0;
  for (let look = 0; look < 1000 && !(await waits()); look += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  lock();
  assert.ok((await following).read.equals(BYTES));
});

test('what is deleted while a resumed load still reads it comes from the server', async () => {
  plan.stopAt = 20 << 20;
  await breakAt(19 << 20);
  plan.stopAt = undefined;
  const given = { cache: true, onWarning: () => {} };
  const [part] = await openSources(url, new AbortController().signal, given);
  const pieces = [Buffer.from(await part.next())];
  await cache.delete(url);
  pieces.push(await readAll(part));
  assert.ok(Buffer.concat(pieces).equals(BYTES));
});

test('deleting: while it is downloaded, while it is read, and after', async () => {
  plan.stopAt = 20 << 20;
  const controller = new AbortController();
  const warnings = [];
  const given = { cache: true, onWarning: ({ code }) => warnings.push(code) };
  const [part] = await openSources(url, controller.signal, given);
  for (let read = 0; read < 19 << 20; ) read += (await part.next()).length;
  assert.equal(await cache.delete(url), true);
  assert.equal(await cache.delete(url), false);
  controller.abort();
  plan.stopAt = undefined;
  await load();
  plan.asked = [];
  const [reading] = await openSources(url, new AbortController().signal, given);
  const pieces = [];
  for (let i = 0; i < 10; i += 1) pieces.push(Buffer.from(await reading.next()));
  await cache.delete(url);
  for (const file of disk.root.children.get('webgguf').children.values()) file.children.clear();
  pieces.push(await readAll(reading));
  assert.ok(Buffer.concat(pieces).equals(BYTES));
  assert.equal(await stored(), 0);
});

test('any part can be read, from the cache and from the server', async () => {
  const { part } = await load();
  const at = (32 << 20) - 7; // across the border of two segments
  assert.deepEqual(await part.read(at, 20), BYTES.slice(at, at + 20));
  assert.deepEqual(plan.asked, ['all']);
  const blob = (await openSources(new Blob([BYTES]), new AbortController().signal))[0];
  assert.deepEqual(await blob.read(at, 20), BYTES.slice(at, at + 20));
});

test('what is behind a login is stored only where the page says so', async () => {
  const request = () => new Request(url, { headers: { authorization: 'Bearer x' } });
  await load({ cache: undefined }, request());
  await load({ cache: undefined }, new Request(url, { method: 'POST' }));
  assert.equal(await stored(), 0);
  await load({ cache: true }, request());
  assert.equal(await stored(), BYTES.length);
});

test('keys: no fragment and no signature, or what the page wants', async () => {
  const signed = 'https://x.test/a.gguf?v=1&X-Amz-Signature=2&x-goog-date=3#c';
  assert.equal(keyOfUrl(signed), 'https://x.test/a.gguf?v=1');
  const azure = 'https://x.test/a.gguf?sv=2&sp=r&se=3&sig=4';
  const cloudFront = 'https://x.test/a.gguf?Expires=1&Policy=2&Signature=3&Key-Pair-Id=4';
  for (const url of [azure, cloudFront, 'https://x.test/a.gguf?token=1&access_token=2']) {
    assert.equal(keyOfUrl(url), 'https://x.test/a.gguf', url);
  }
  assert.equal(keyOfUrl('https://x.test/a.gguf?sv=2&policy=1'), 'https://x.test/a.gguf?sv=2&policy=1');
  await load({ cacheKey: 'my model' });
  assert.deepEqual(
    (await cache.list()).map(({ key }) => key),
    ['my model'],
  );
  assert.equal(await cache.has('my model').catch(() => 'failed'), true);
  assert.equal(await cache.has(url), false);
  assert.equal(await cache.has('no such model'), false);
  assert.deepEqual(await cache.estimate().then(({ models }) => models), BYTES.length);
  assert.equal(await cache.persist(), true);
});

test('a cacheKey names the model, whatever its URL is', async () => {
  const named = { cacheKey: 'assistant-v3' };
  await load(named, `${url}?ticket=1`);
  plan.asked = [];
  plan.status = 403;
  assert.ok((await load(named, `${url}?ticket=2`)).read.equals(BYTES));
  assert.ok((await load(named, url.replace('model', 'other'))).read.equals(BYTES));
  const [part] = await openSources(`${url}?ticket=3`, new AbortController().signal, { ...named, cache: 'read' });
  assert.ok((await readAll(part)).equals(BYTES));
  assert.deepEqual(plan.asked, []);
  const [{ key, urls, complete }, ...others] = await cache.list();
  assert.deepEqual({ key, urls, complete, others }, { key: 'assistant-v3', urls: [url], complete: true, others: [] });
});

test('the rest of a named model comes by another query, and not from another file', async () => {
  const named = { cacheKey: 'assistant-v3' };
  plan.stopAt = 20 << 20;
  await breakAt(19 << 20, named);
  Object.assign(plan, { stopAt: undefined, asked: [] });
  assert.ok((await load(named, `${url}?ticket=2`)).read.equals(BYTES));
  assert.ok(plan.asked[0] >= 19 << 20, `${plan.asked}`);
  await cache.delete('assistant-v3');
  plan.stopAt = 20 << 20;
  await breakAt(19 << 20, named);
  Object.assign(plan, { stopAt: undefined, asked: [] });
  assert.ok((await load(named, url.replace('model', 'other'))).read.equals(BYTES));
  assert.deepEqual(plan.asked, ['all']);
});

test('a stored file stays until the server gives the one that takes its place', async () => {
  const sha256 = sha256Of(BYTES);
  await load({ sha256 });
  const replacing = { sha256: sha256Of(OTHER) };
  plan.status = 403;
  await assert.rejects(load(replacing), withCode('download_failed', /403/));
  assert.equal(await stored(), BYTES.length);
  Object.assign(plan, { status: undefined, etag: '"two"', bytes: OTHER });
  assert.ok((await load(replacing)).read.equals(Buffer.from(OTHER)));
  Object.assign(plan, { asked: [], status: 404 });
  assert.ok((await load({ cache: 'revalidate' })).read.equals(Buffer.from(OTHER)), 'a server without HEAD');
});

test('what may have changed is not read again where a digest was promised', async () => {
  const signal = new AbortController().signal;
  const sha256 = sha256Of(BYTES);
  const ranged = { size: BYTES.length, read: (at, length) => BYTES.slice(at, at + length) };
  assert.equal((await openSources(ranged, signal, { sha256 }))[0].read, undefined);
  assert.equal(typeof (await openSources(new Blob([BYTES]), signal, { sha256 }))[0].read, 'function');
});

test('a promised file whose stored bytes are gone is not read from the server in parts', async () => {
  const sha256 = sha256Of(BYTES);
  for (const options of [{}, { sha256 }]) {
    await load(options);
    const { part } = await load(options);
    assert.equal(typeof part.read, 'function');
    disk.lost = true;
    plan.asked = [];
    const reading = part.read(5, 7);
    if (options.sha256) await assert.rejects(reading, withCode('integrity_failed', /deleted from the cache/));
    else assert.deepEqual(await reading, BYTES.slice(5, 12));
    assert.deepEqual(plan.asked, options.sha256 ? [] : [5]);
    disk.lost = false;
    await cache.delete(url);
  }
});

test('a stream whose digest was promised is cancelled with its load', async () => {
  let cancelled = 0;
  const stream = () =>
    new ReadableStream({ pull: (c) => c.enqueue(BYTES.slice(0, 1000)), cancel: () => (cancelled += 1) });
  const controller = new AbortController();
  for (const source of [stream(), new Response(stream())]) {
    const [part] = await openSources(source, controller.signal, { sha256: sha256Of(BYTES) });
    await part.next();
  }
  controller.abort();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(cancelled, 2);
});

test('clear deletes all of the folder, and what is broken is listed and deleted', async () => {
  await load();
  const root = disk.root.children.get('webgguf');
  await root.getFileHandle('verdicts.json', { create: true });
  await (await root.getDirectoryHandle('ab', { create: true })).getDirectoryHandle('00001', { create: true });
  assert.deepEqual(
    (await cache.list()).map(({ key, complete }) => [key, complete]),
    [
      [url, true],
      ['ab', false],
    ],
  );
  assert.equal(await cache.has('ab'), false);
  assert.equal(await cache.delete('ab'), true);
  assert.deepEqual([...root.children.keys()], [folderOf(url), 'verdicts.json']);
  await cache.clear();
  assert.deepEqual([...root.children.keys()], []);
});

test('SHA-256 in pieces of any size', () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_001]) {
    const bytes = BYTES.subarray(0, length);
    for (const step of [1000, 64, 37]) {
      const hash = new Sha256();
      for (let at = 0; at < length; at += step) hash.update(bytes.subarray(at, at + step));
      assert.equal(hash.hex(), sha256Of(bytes), `${length} bytes by ${step}`);
    }
  }
});

test('a state is checked before it is believed', async () => {
  await load();
  const text = Buffer.from(disk.only().get('state.json').bytes).toString();
  const state = JSON.parse(text);
  assert.deepEqual(parseState(text), state);
  const wrong = { version: 2, segments: [-1], size: '1', complete: 1, aliases: 'x', etag: 3, used: NaN, part: 0.5 };
  for (const [name, value] of Object.entries(wrong)) {
    assert.equal(parseState(JSON.stringify({ ...state, [name]: value })), undefined, name);
  }
  for (const other of ['', 'null', '[]', '7', '{"version":1}']) assert.equal(parseState(other), undefined, other);
});
