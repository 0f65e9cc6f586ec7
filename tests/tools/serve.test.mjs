// The server under the pages: types, ranges, and nothing outside its folders.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { addressesOf, parseRange, serve } from '../../tools/serve.mjs';

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
