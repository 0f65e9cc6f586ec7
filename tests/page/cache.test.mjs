// The cache in a real browser: what is stored, what is asked for, and what becomes of files that are broken, changed,
// evicted or deleted while they are used. The server counts requests and bytes.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { parseRange, serve } from '../../tools/serve.mjs';
import { longTest } from '../long.mjs';
import { largeModel, WIDE } from './large_model.mjs';
import { MODELS, openSite } from './site.mjs';

const MB = 1 << 20;
const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const sha256Of = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * A file on a server that behaves as `behaviour` says, which tests change: `etag`; `stopAt`, a byte after which nothing
 * more comes; `status`. `requests` has what was asked, `sent` the bytes that went out.
 */
function served(bytes) {
  const file = { bytes, requests: [], sent: 0, behaviour: {} };
  file.route = (request, response) => {
    const { etag = '"one"', stopAt = Infinity, status, silent } = file.behaviour;
    const { method, headers } = request;
    const isSame = !headers['if-range'] || headers['if-range'] === etag;
    const given = headers.range && isSame && !silent ? headers.range : undefined;
    const range = parseRange(given, file.bytes.length);
    file.requests.push(method === 'HEAD' ? 'HEAD' : range?.start ? `from ${range.start}` : 'all');
    if (status) return response.writeHead(status).end();
    const { start, end } = range ?? { start: 0, end: file.bytes.length - 1 };
    const length = silent ? {} : { 'Content-Length': end - start + 1 };
    const about = { ...length, ETag: etag, 'Accept-Ranges': 'bytes' };
    if (range) about['Content-Range'] = `bytes ${start}-${end}/${file.bytes.length}`;
    response.writeHead(range ? 206 : 200, about);
    if (method === 'HEAD') return response.end();
    const body = file.bytes.subarray(start, Math.min(end + 1, stopAt));
    file.sent += body.length;
    if (end + 1 <= stopAt) return response.end(body);
    return response.write(body);
  };
  file.reset = () => Object.assign(file, { requests: [], sent: 0, behaviour: {}, bytes });
  return file;
}

const small = served(fs.readFileSync(path.join(MODELS, 'llama-q8_0.gguf')));
const splits = [1, 2].map((n) => served(fs.readFileSync(path.join(MODELS, `llama-q4_1-split-0000${n}-of-00002.gguf`))));
/** A model of the size of Llama 3.2 1B in 4 bits. */
const large = largeModel({ ...WIDE, layers: 17 });
const largeServed = { requests: [], stopAt: Infinity };

/** The large model; after `stopAt` bytes of an answer nothing more comes. */
function serveLarge(request, response) {
  largeServed.requests.push((request.headers.range ?? 'bytes=0-').replace(/^bytes=0-$/, 'all'));
  const write = response.write.bind(response);
  let sent = 0;
  response.write = (bytes) => {
    if (sent >= largeServed.stopAt) return false; // and never `drain`
    sent += bytes.length;
    return write(bytes);
  };
  return large.route(request, response);
}

const site = await openSite({
  routes: {
    '/blank': blank,
    '/small.gguf': small.route,
    '/split-00001-of-00002.gguf': splits[0].route,
    '/split-00002-of-00002.gguf': splits[1].route,
    '/large.gguf': serveLarge,
  },
});

/** Opens a blank page with storage of its own, or in the context of another page. */
async function open(context) {
  const page = await (context ?? (await site.browser.newContext())).newPage();
  page.warnings = [];
  page.on('console', (message) => message.type() === 'warning' && page.warnings.push(message.text()));
  await page.goto(`${site.url}/blank`);
  return page;
}

/** Runs `work(package, argument)` in `page`. */
const run = (page, work, argument) =>
  page.evaluate(
    async ([source, value]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), value),
    [work.toString(), argument],
  );

/**
 * Loads on the CPU, over one connection, and writes some tokens: `{ ids }`, or the error as `{ name, code, message }`.
 */
const load = (page, url, options = {}) =>
  run(
    page,
    async ({ WasmModel }, [from, given]) => {
      try {
        const model = await WasmModel.load(from, { backend: 'cpu', connections: 1, ...given });
        const { ids } = await model.generate([5, 6, 7, 8], { maxTokens: 6, ignoreEos: true, temperature: 0 });
        await model.free();
        return { ids: [...ids] };
      } catch ({ name, code, message }) {
        return { name, code, message };
      }
    },
    [url, options],
  );

const list = (page) => run(page, ({ cache }) => cache.list());
const has = (page, url, options) => run(page, ({ cache }, args) => cache.has(...args), [url, options]);

/**
 * Loads from a server that stops in the middle, and cancels. The first report above 0 comes once the header was read,
 * so bytes were taken for storing by then; they are stored once the lock of the file is free.
 */
const breakOff = (page) =>
  run(page, async ({ WasmModel }) => {
    const controller = new AbortController();
    const onProgress = ({ loaded }) => loaded > 0 && controller.abort();
    const loading = WasmModel.load('/small.gguf', { backend: 'cpu', signal: controller.signal, onProgress });
    const { name } = await loading.then(
      () => ({}),
      (error) => error,
    );
    const isWriting = async () => (await navigator.locks.query()).held.some((lock) => lock.name.startsWith('webgguf:'));
    while (await isWriting()) await new Promise((resolve) => setTimeout(resolve, 10));
    return name;
  });

/** Runs `work(folder)` with the folder of the only stored file. */
const inFolder = (page, work) =>
  page.evaluate(async (source) => {
    const root = await (await navigator.storage.getDirectory()).getDirectoryHandle('webgguf');
    for await (const model of root.values()) return (0, eval)(`(${source})`)(await model.getDirectoryHandle('00001'));
  }, work.toString());

/** What the small model writes, without a cache. */
const expected = await (async () => {
  const page = await open();
  const { ids } = await load(page, '/small.gguf', { cache: false });
  assert.deepEqual(await list(page), []);
  await page.context().close();
  return ids;
})();

// ---- storing --------------------------------------------------------------------------------------------------------

test('a model is stored while it loads, and the next load makes no request', async () => {
  small.reset();
  const page = await open();
  const first = await load(page, '/small.gguf');
  assert.deepEqual(small.requests, ['all']);
  await page.reload();
  const second = await load(page, '/small.gguf#fragment');
  assert.deepEqual(small.requests, ['all'], 'a request was made');
  assert.equal(second.ids.length, 6);
  assert.deepEqual(second, first);
  const [model, ...others] = await list(page);
  assert.deepEqual(others, []);
  assert.equal(model.key, `${site.url}/small.gguf`);
  assert.equal(model.bytes, small.bytes.length);
  assert.equal(model.complete, true);
  assert.deepEqual(page.warnings, []);
  await page.context().close();
});

test('an aborted load goes on where it stopped, and asks for the rest alone', async () => {
  small.reset();
  const page = await open();
  const half = small.bytes.length >> 1;
  small.behaviour.stopAt = half;
  assert.equal(await breakOff(page), 'AbortError');
  const [{ bytes, complete }] = await list(page);
  assert.equal(complete, false);
  assert.ok(bytes > 0 && bytes <= half, `${bytes} bytes are stored of ${half}`);
  small.behaviour = {};
  small.sent = 0;
  assert.deepEqual(await load(page, '/small.gguf'), { ids: expected });
  assert.deepEqual(small.requests, ['all', `from ${bytes}`]);
  assert.equal(small.sent, small.bytes.length - bytes);
  await page.context().close();
});

test('a file that changed before its rest came is fetched anew', async () => {
  small.reset();
  const page = await open();
  small.behaviour.stopAt = small.bytes.length >> 1;
  await breakOff(page);
  assert.ok((await list(page))[0].bytes > 0);
  small.behaviour = { etag: '"two"' };
  assert.deepEqual(await load(page, '/small.gguf', { sha256: sha256Of(small.bytes) }), { ids: expected });
  assert.deepEqual(small.requests, ['all', 'all']);
  await page.context().close();
});

test('a stored file that is truncated, changed in size or deleted is completed or fetched anew', async () => {
  const damages = {
    truncated: async (folder) => {
      const file = await folder.getFileHandle('00000.bin');
      const writable = await file.createWritable({ keepExistingData: true });
      await writable.truncate(1000);
      await writable.close();
    },
    'without its bytes': (folder) => folder.removeEntry('00000.bin'),
    'without its state': (folder) => folder.removeEntry('state.json'),
    evicted: async () => (await navigator.storage.getDirectory()).removeEntry('webgguf', { recursive: true }),
  };
  for (const [name, damage] of Object.entries(damages)) {
    small.reset();
    const page = await open();
    await load(page, '/small.gguf');
    await inFolder(page, damage);
    assert.deepEqual(await load(page, '/small.gguf'), { ids: expected }, name);
    assert.deepEqual(small.requests, ['all', 'all'], name);
    await load(page, '/small.gguf');
    assert.equal(small.requests.length, 2, name);
    await page.context().close();
  }
});

test('bytes that are not the promised ones are integrity_failed, and not kept', async () => {
  small.reset();
  const page = await open();
  const wrong = await load(page, '/small.gguf', { sha256: 'ab'.repeat(32) });
  assert.equal(wrong.code, 'integrity_failed', wrong.message);
  assert.match(wrong.message, /small\.gguf: the SHA-256 is [0-9a-f]{64}, expected abab/);
  assert.equal(small.requests.length, 1, 'what came from the server is not asked for again');
  assert.deepEqual(await list(page), []);
  assert.deepEqual(await load(page, '/small.gguf', { sha256: sha256Of(small.bytes) }), { ids: expected });
  await page.context().close();
});

test('stored bytes that are wrong are fetched anew', async () => {
  small.reset();
  const page = await open();
  const sha256 = sha256Of(small.bytes);
  await load(page, '/small.gguf');
  await inFolder(page, async (folder) => {
    const writable = await (await folder.getFileHandle('00000.bin')).createWritable({ keepExistingData: true });
    await writable.write({ type: 'write', position: 100_000, data: new Uint8Array(8) });
    await writable.close();
  });
  assert.deepEqual(await load(page, '/small.gguf', { sha256 }), { ids: expected });
  assert.deepEqual(small.requests, ['all', 'all']);
  await load(page, '/small.gguf', { sha256 });
  assert.equal(small.requests.length, 2);
  await page.context().close();
});

test('an error page with status 200 is not kept: when the server has the model, it loads', async () => {
  small.reset();
  const { bytes } = small;
  const page = await open();
  small.bytes = Buffer.from('<!doctype html>'.repeat(1000));
  assert.equal((await load(page, '/small.gguf')).code, 'bad_file');
  small.bytes = bytes;
  assert.deepEqual(await load(page, '/small.gguf'), { ids: expected });
  // The same where it was kept by a load that stopped before it was looked at.
  await inFolder(page, async (folder) => {
    const file = await folder.getFileHandle('00000.bin');
    const { size } = await file.getFile();
    const writable = await file.createWritable();
    await writable.write(new Uint8Array(size));
    await writable.close();
  });
  assert.deepEqual(await load(page, '/small.gguf'), { ids: expected });
  await page.context().close();
});

test('a file whose length the server does not say is kept', async () => {
  small.reset();
  const page = await open();
  small.behaviour.silent = true;
  assert.deepEqual(await load(page, '/small.gguf'), { ids: expected });
  assert.deepEqual(await load(page, '/small.gguf'), { ids: expected });
  assert.deepEqual(small.requests, ['all']);
  assert.equal((await list(page))[0].size, small.bytes.length);
  assert.deepEqual(page.warnings, []);
  await page.context().close();
});

test('a server of another origin that compresses: where it may, and against the request', async () => {
  const zipped = zlib.gzipSync(small.bytes);
  const asked = [];
  const compressing = (always) => (request, response) => {
    asked.push(request.headers.range);
    const isPlain = !always && request.headers['accept-encoding'] === 'identity';
    const encoding = isPlain ? {} : { 'Content-Encoding': 'gzip' };
    const body = isPlain ? small.bytes : zipped;
    const headers = { 'Access-Control-Allow-Origin': '*', 'Content-Length': body.length, ...encoding };
    response.writeHead(200, headers).end(body);
  };
  const routes = { '/may.gguf': compressing(false), '/always.gguf': compressing(true) };
  const other = await serve({ routes });
  const page = await open();
  for (const name of Object.keys(routes)) {
    const url = `${other.url}${name}`;
    assert.deepEqual(await load(page, url), { ids: expected }, name);
    assert.deepEqual(await load(page, url), { ids: expected }, name);
    assert.equal(await has(page, url), true, name);
  }
  // Chromium refuses what is compressed against the request, so that is asked for without a range.
  assert.deepEqual(asked, ['bytes=0-', 'bytes=0-', undefined]);
  await page.context().close();
  await other.close();
});

test('a full disk: the model loads and nothing is left, known beforehand or not', async () => {
  const page = await open();
  const session = await page.context().newCDPSession(page);
  const quota = (quotaSize) => session.send('Storage.overrideQuotaForOrigin', { origin: site.url, quotaSize });
  for (const knows of [true, false]) {
    small.reset();
    await page.reload();
    await quota(200_000);
    if (!knows) {
      await page.evaluate(() => {
        navigator.storage.estimate = async () => ({ quota: 1e12, usage: 0 });
      });
    }
    page.warnings.length = 0;
    assert.deepEqual(await load(page, '/small.gguf'), { ids: expected });
    assert.deepEqual(await load(page, '/small.gguf'), { ids: expected });
    assert.equal(page.warnings.length, 1, 'it is said once');
    assert.match(page.warnings[0], /small\.gguf is not kept/);
    assert.deepEqual(await list(page), []);
  }
  await quota(undefined);
  await page.reload();
  await load(page, '/small.gguf');
  assert.equal(await has(page, '/small.gguf'), true);
  await page.context().close();
});

test('no private file system: the model loads, and the page hears it', async () => {
  small.reset();
  const page = await open();
  const heard = await run(page, async ({ WasmModel, cache }) => {
    delete StorageManager.prototype.getDirectory;
    const warnings = [];
    const onWarning = (warning) => warnings.push(warning);
    (await WasmModel.load('/small.gguf', { backend: 'cpu', onWarning })).free();
    return { warnings, list: await cache.list(), has: await cache.has('/small.gguf') };
  });
  assert.equal(heard.warnings.length, 1);
  assert.equal(heard.warnings[0].code, 'cache_unavailable');
  assert.deepEqual([heard.list, heard.has], [[], false]);
  await page.context().close();
});

test('list, has, delete and estimate, with a split model', async () => {
  for (const file of [small, ...splits]) file.reset();
  const page = await open();
  await load(page, '/small.gguf');
  const first = await load(page, '/split-00001-of-00002.gguf');
  assert.equal(first.ids.length, 6);
  for (const file of splits) file.requests = [];
  assert.deepEqual(await load(page, '/split-00001-of-00002.gguf'), first);
  assert.deepEqual(
    splits.flatMap(({ requests }) => requests),
    [],
  );
  const bytes = splits.reduce((sum, file) => sum + file.bytes.length, 0);
  const found = await run(page, async ({ cache }) => {
    const { models, usage, quota } = await cache.estimate();
    const names = (await cache.list()).map(({ key, size, urls }) => [key.replace(/.*\//, ''), size, urls.length]);
    const before = [await cache.has('/split-00001-of-00002.gguf'), await cache.has('/split-00002-of-00002.gguf')];
    const deleted = [await cache.delete('/split-00001-of-00002.gguf'), await cache.delete('/nothing.gguf')];
    const rest = await cache.list();
    return { models, usage, quota, names, before, deleted, rest: rest.length, persisted: await cache.persist() };
  });
  assert.deepEqual(found.names, [
    ['split-00001-of-00002.gguf', bytes, 2],
    ['small.gguf', small.bytes.length, 1],
  ]);
  assert.equal(found.models, bytes + small.bytes.length);
  assert.ok(found.usage >= found.models && found.quota > found.usage, JSON.stringify(found));
  assert.deepEqual([found.before, found.deleted, found.rest], [[true, false], [true, false], 1]);
  assert.equal(typeof found.persisted, 'boolean');
  await page.context().close();
});

test('inspect and Tokenizer read a stored model, and store nothing themselves', async () => {
  small.reset();
  const page = await open();
  const look = () =>
    run(page, async ({ WasmModel, Tokenizer }) => {
      const { supported } = await WasmModel.inspect('/small.gguf');
      const tokenizer = await Tokenizer.load('/small.gguf');
      return [supported, tokenizer.tokenize('a').length > 0];
    });
  assert.deepEqual(await look(), [true, true]);
  assert.deepEqual([small.requests.length, await list(page)], [2, []]);
  await load(page, '/small.gguf');
  assert.deepEqual(await look(), [true, true]);
  assert.equal(small.requests.length, 3);
  await page.context().close();
});

test("Hugging Face's hub, across origins: listing, redirect, the cache, and a gated repository", async () => {
  small.reset();
  const asked = [];
  const cors = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Headers': 'authorization',
    'Access-Control-Expose-Headers': 'X-Error-Code,X-Error-Message,ETag,Content-Range,Link',
  };
  const answer = (status, headers, body) => (request, response) => {
    for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') return response.writeHead(204).end();
    asked.push(request.url);
    if (typeof body === 'function') return body(request, response);
    return response.writeHead(status, headers).end(body);
  };
  const tree = JSON.stringify([{ type: 'file', path: 'llama-Q8_0.gguf', size: small.bytes.length }]);
  const gated = { 'X-Error-Code': 'GatedRepo', 'X-Error-Message': 'Access to model tiny/gated is restricted' };
  const hub = await serve({
    routes: {
      '/api/models/tiny/llama/tree/main': answer(200, { 'Content-Type': 'application/json' }, tree),
      '/tiny/llama/resolve/main/llama-Q8_0.gguf': answer(302, { Location: '/storage?X-Amz-Signature=1' }, ''),
      '/storage': answer(200, {}, small.route),
      '/tiny/gated/resolve/main/a.gguf': answer(401, gated, ''),
    },
  });
  const page = await open();
  const options = { hub: hub.url };
  assert.deepEqual(await load(page, 'tiny/llama:Q8_0', options), { ids: expected });
  assert.equal(asked.length, 3);
  assert.deepEqual(await load(page, 'tiny/llama:Q8_0', options), { ids: expected });
  assert.equal(asked.length, 3, 'a stored model asks nobody');
  assert.equal(await has(page, 'tiny/llama:Q8_0', options), true);
  const { code, message } = await load(page, 'hf:tiny/gated/a.gguf', { ...options, token: 'x' });
  assert.equal(code, 'download_failed');
  assert.match(message, /401.*tiny\/gated is restricted; accept the terms/);
  await page.context().close();
  await hub.close();
});

// ---- large files ----------------------------------------------------------------------------------------------------

longTest('a reload in the middle, then a second tab whose first is closed: each byte is asked for once', async (t) => {
  // More than a segment of 32 MB beyond what is waited for: how segments are cut depends on how fast bytes come.
  Object.assign(largeServed, { requests: [], stopAt: 144 * MB });
  const page = await open();
  void load(page, '/large.gguf').catch(() => {});
  const storedBytes = async (from) => (await list(from))[0]?.bytes ?? 0;
  const until = async (from, bytes) => {
    while ((await storedBytes(from)) < bytes) await new Promise((resolve) => setTimeout(resolve, 200));
    return storedBytes(from);
  };
  const watcher = await open(page.context());
  await until(watcher, 96 * MB);
  await page.reload();
  const kept = await storedBytes(watcher);
  t.diagnostic(`${kept} of ${large.bytes} bytes were stored before the reload`);
  assert.ok(kept >= 96 * MB);
  void load(page, '/large.gguf').catch(() => {});
  await until(watcher, kept + 64 * MB);
  const [, from] = /^bytes=(\d+)-$/.exec(largeServed.requests[1]) ?? [];
  // What the first page wrote last may have been listed after it was gone.
  assert.ok(Number(from) >= kept, `${largeServed.requests} after ${kept} stored bytes`);
  const second = load(watcher, '/large.gguf');
  largeServed.stopAt = Infinity;
  await page.close();
  const { ids } = await second;
  assert.equal(ids?.length, 6);
  assert.equal(largeServed.requests.length, 3, largeServed.requests.join());
  assert.equal(await has(watcher, '/large.gguf'), true);
  await watcher.context().close();
});

test('a model of 700 MB: the second load makes no request, and reads each byte once, many at a time', async (t) => {
  Object.assign(largeServed, { requests: [], stopAt: Infinity });
  assert.ok(large.bytes > 700e6, `${large.bytes}`);
  const page = await open();
  await page.evaluate(() => {
    window.reads = { count: 0, bytes: 0 };
    const { slice } = Blob.prototype;
    Blob.prototype.slice = function (start, end, ...rest) {
      window.reads.count += 1;
      window.reads.bytes += end - start;
      return slice.call(this, start, end, ...rest);
    };
  });
  const timed = async (options) => {
    const begun = performance.now();
    const { ids, ...error } = await load(page, '/large.gguf', options);
    assert.equal(ids?.length, 6, JSON.stringify(error));
    return { seconds: (performance.now() - begun) / 1000, ids };
  };
  const plain = await timed({ cache: false });
  const storing = await timed({});
  assert.equal(largeServed.requests.length, 2);
  assert.deepEqual(await page.evaluate(() => window.reads), { count: 0, bytes: 0 }, 'what came is not read again');
  const stored = await timed({});
  assert.equal(largeServed.requests.length, 2, 'a request was made');
  assert.deepEqual([storing.ids, stored.ids], [plain.ids, plain.ids]);
  const show = ({ seconds }) => `${seconds.toFixed(1)} s`;
  const { count, bytes } = await page.evaluate(() => window.reads);
  t.diagnostic(`without cache ${show(plain)}, while it is stored ${show(storing)}, stored ${show(stored)}`);
  t.diagnostic(`${count} reads of ${bytes} bytes`);
  // Other programs take their share of the machine, so the times above prove nothing; these numbers stay the same.
  assert.ok(bytes >= large.bytes && bytes < 1.01 * large.bytes, `${bytes} bytes are read of ${large.bytes}`);
  assert.ok(count < large.bytes / (2 * MB), `${count} reads`);
  await page.context().close();
});
