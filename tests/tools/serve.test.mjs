// The server under the pages: types, ranges, and nothing outside its folders.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { addressesOf, HARNESS_COMMAND, parseRange, serve } from '../../tools/serve.mjs';
import { lazyHarness } from '../../tools/start.mjs';

const NAME = 'shaders/tensor';
const FILE = fs.readdirSync(path.join(ROOT, NAME)).find((name) => name.endsWith('.wgsl'));
const BYTES = fs.readFileSync(path.join(ROOT, NAME, FILE));
const reports = [];
let site;

before(async () => {
  site = await serve({ onReport: (value) => reports.push(value) });
});
after(() => site.close());

const get = (pathname, options) => fetch(site.url + pathname, options);

test('a file comes whole, with its type, and is never cached', async () => {
  const response = await get(`/${NAME}/${FILE}`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), BYTES);
});

test('a range comes as asked', async () => {
  const response = await get(`/${NAME}/${FILE}`, { headers: { Range: 'bytes=3-9' } });
  assert.equal(response.status, 206);
  assert.equal(response.headers.get('content-range'), `bytes 3-9/${BYTES.length}`);
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), BYTES.subarray(3, 10));
});

test('a range past the end is refused', async () => {
  const response = await get(`/${NAME}/${FILE}`, { headers: { Range: `bytes=${BYTES.length}-` } });
  assert.equal(response.status, 416);
  assert.equal(response.headers.get('content-range'), `bytes */${BYTES.length}`);
});

test('every form of range is understood', () => {
  assert.deepEqual(parseRange('bytes=0-0', 10), { start: 0, end: 0 });
  assert.deepEqual(parseRange('bytes=4-', 10), { start: 4, end: 9 });
  assert.deepEqual(parseRange('bytes=-3', 10), { start: 7, end: 9 });
  assert.deepEqual(parseRange('bytes=-30', 10), { start: 0, end: 9 });
  assert.deepEqual(parseRange('bytes=8-30', 10), { start: 8, end: 9 });
  assert.equal(parseRange('bytes=5-4', 10), 'unsatisfiable');
  assert.equal(parseRange('bytes=-0', 10), 'unsatisfiable');
  assert.equal(parseRange('lines=1-2', 10), null);
  assert.equal(parseRange(undefined, 10), null);
});

/** The status of a path sent as it is: fetch would tidy up the dots. */
function rawStatus(pathname) {
  const { port } = new URL(site.url);
  return new Promise((resolve, reject) => {
    http
      .get({ port, host: '127.0.0.1', path: pathname }, (response) => resolve(response.resume().statusCode))
      .on('error', reject);
  });
}

test('nothing outside the folders is reachable', async () => {
  for (const pathname of ['/../Cargo.toml', '/%2e%2e/Cargo.toml', '/dist/..%2f..%2fCargo.toml', '/%zz', '/dist/']) {
    assert.equal(await rawStatus(pathname), 404, pathname);
  }
  assert.equal((await get('/', { method: 'DELETE' })).status, 405);
});

test('reports arrive as values, and broken ones are refused', async () => {
  assert.equal((await get('/result', { method: 'POST', body: '{"text":"ä"}' })).status, 204);
  assert.deepEqual(reports, [{ text: 'ä' }]);
  assert.equal((await get('/result', { method: 'POST', body: '{' })).status, 400);
});

test('a server for all of the network names addresses that work', () => {
  const interfaces = {
    lo: [{ family: 'IPv4', internal: true, address: '127.0.0.1' }],
    eth0: [
      { family: 'IPv6', internal: false, address: 'fe80::1' },
      { family: 'IPv4', internal: false, address: '192.168.1.7' },
    ],
  };
  assert.deepEqual(addressesOf('http://localhost:8080', '0.0.0.0', interfaces), [
    'http://localhost:8080',
    'http://192.168.1.7:8080',
  ]);
  assert.deepEqual(addressesOf('http://127.0.0.1:8080', '127.0.0.1', interfaces), ['http://127.0.0.1:8080']);
});

// ---- what kernels.html runs -----------------------------------------------------------------------------------------

const asPage = { headers: { 'Sec-Fetch-Site': 'same-origin' } };

test('while the module of kernels.html is not built, its status says what to do', async () => {
  const harness = { isBuilt: () => false, isBuilding: () => false };
  const { url, close } = await serve({ harness });
  try {
    const module = await fetch(`${url}/harness/webgguf.js`, asPage);
    assert.equal(module.status, 503);
    const status = await (await fetch(`${url}/harness/status.json`)).json();
    assert.deepEqual(status, { built: false, building: false, command: HARNESS_COMMAND });
  } finally {
    await close();
  }
});

test('a page of the server begins the build, once; another site, or asking for its status, does not', async () => {
  const lines = [];
  let works = 0;
  let end;
  const work = () => {
    works += 1;
    return new Promise((resolve, reject) => {
      end = { resolve, reject };
    });
  };
  const harness = await lazyHarness({ isBuilt: async () => false, work, log: (line) => lines.push(line) });
  const { url, close } = await serve({ harness });
  const status = async () => (await fetch(`${url}/harness/status.json`, asPage)).json();
  const ask = (site) => fetch(`${url}/harness/webgguf.js`, { headers: { 'Sec-Fetch-Site': site } });
  try {
    for (const site of ['cross-site', 'same-site', 'none']) assert.equal((await ask(site)).status, 503);
    assert.deepEqual([(await status()).building, works], [false, 0]);
    await ask('same-origin');
    await ask('same-origin');
    assert.deepEqual([(await status()).building, works], [true, 1]);
    end.reject(new Error('no space left'));
    while ((await status()).building);
    assert.equal((await status()).error, 'no space left');
    await ask('same-origin');
    end.resolve();
    while ((await status()).building);
    const last = await status();
    assert.deepEqual([last.built, last.error, works], [true, undefined, 2]);
    assert.match(lines[0], /takes 5 minutes/);
  } finally {
    await close();
  }
});
