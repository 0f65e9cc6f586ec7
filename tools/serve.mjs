// A small static server for the demo, the tests and measurements: `npm run serve -- [--port N] [--host ADDRESS]`.
//
// Pages come from www/, the package from dist/. Nothing is cached, byte ranges work, and nothing outside the mounted
// folders is reachable.

import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { isMain, ROOT, runMain } from './common.mjs';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.wgsl': 'text/plain; charset=utf-8',
  '.ts': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
};

/** What makes pages, and workers, cross-origin isolated: they may share memory then. */
const ISOLATED = Object.entries({
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
});

/** URL prefixes and the folders behind them; the longest prefix that fits is used. */
export const MOUNTS = {
  '/': path.join(ROOT, 'www'),
  '/dist/': path.join(ROOT, 'dist'),
  '/pkg/': path.join(ROOT, 'pkg'),
  '/shaders/': path.join(ROOT, 'shaders'),
  '/fixtures/': path.join(ROOT, 'tests', 'fixtures'),
};

/**
 * Starts a server on a free port of this machine.
 * @param {{port?: number, host?: string, mounts?: Record<string, string>, onReport?: (value: unknown) => void,
 *   routes?: Record<string, (request, response) => void>, cacheControl?: string,
 *   isIsolated?: boolean, harness?: Harness}} [options] `port` 0 picks one;
 *   `mounts` are added to `MOUNTS`; `onReport` gets the JSON of each `POST /result`; `routes` answer exact paths before
 *   any file does; `cacheControl` is `no-store` unless given; with `isIsolated` pages are cross-origin isolated;
 *   `harness` says whether `www/harness/` is built, and builds it
 * @returns {Promise<{url: string, server: http.Server, close: () => Promise<void>}>} `url` without a slash at its end
 */
export async function serve(options = {}) {
  const { port = 0, host = '127.0.0.1' } = options;
  const mounts = Object.entries({ ...MOUNTS, ...options.mounts }).sort(([a], [b]) => b.length - a.length);
  const server = http.createServer((request, response) => {
    answer(request, response, mounts, options).catch((error) => fail(response, 500, error.message));
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return {
    url: `http://${['0.0.0.0', '::'].includes(host) ? 'localhost' : host}:${server.address().port}`,
    server,
    close,
  };
}

async function answer(request, response, mounts, options) {
  const { routes = {}, onReport, cacheControl = 'no-store', isIsolated, harness = WRITTEN } = options;
  const { pathname } = new URL(request.url, 'http://localhost');
  response.setHeader('Cache-Control', cacheControl);
  if (isIsolated) ISOLATED.forEach(([name, value]) => response.setHeader(name, value));
  if (Object.hasOwn(routes, pathname)) return routes[pathname](request, response);
  if (request.method === 'POST' && pathname === '/result') return takeReport(request, response, onReport);
  if (request.method !== 'GET' && request.method !== 'HEAD') return fail(response, 405, 'only GET and HEAD');
  if (pathname.startsWith(HARNESS) && answerWithoutHarness(request, response, pathname, harness)) return undefined;
  const file = locate(pathname, mounts);
  const stat = file && fs.statSync(file, { throwIfNoEntry: false });
  if (!stat?.isFile()) return fail(response, 404, `${pathname} is not here`);
  return sendFile(request, response, file, stat.size);
}

/** Where kernels.html finds the module that it runs, and what it is told as long as that is not built. */
const HARNESS = '/harness/';
const STATUS = `${HARNESS}status.json`;
export const HARNESS_COMMAND = 'npm run build -- --harness';

/**
 * @typedef {{isBuilt: () => boolean, isBuilding: () => boolean, begin?: () => void, error?: () => string | undefined}}
 *   Harness whether the module of kernels.html is built, and what builds it
 */

/** For a server that builds nothing: what lies there is taken. */
const WRITTEN = {
  isBuilt: () => fs.existsSync(path.join(MOUNTS['/'], HARNESS, 'webgguf.js')),
  isBuilding: () => false,
};

/**
 * Answers `/harness/status.json`, and with 503 all else there while it is not built. A page of this server that asks
 * for the module begins the build; a page of another site does not.
 * @returns {boolean} whether it was answered
 */
function answerWithoutHarness(request, response, pathname, harness) {
  const isStatus = pathname === STATUS;
  if (!isStatus && harness.isBuilt()) return false;
  const site = request.headers['sec-fetch-site'];
  if (!isStatus && site === 'same-origin') harness.begin?.();
  const status = { built: harness.isBuilt(), building: harness.isBuilding(), command: HARNESS_COMMAND };
  const body = JSON.stringify({ ...status, error: harness.error?.() });
  response.writeHead(isStatus ? 200 : 503, { 'Content-Type': 'application/json' }).end(body);
  return true;
}

/** The file behind a URL path, or null when it would leave its folder. */
function locate(pathname, mounts) {
  let name;
  try {
    name = decodeURIComponent(pathname);
  } catch {
    return null;
  }
  const [prefix, folder] = mounts.find(([start]) => name.startsWith(start));
  const file = path.join(folder, name.slice(prefix.length));
  if (file !== folder && !file.startsWith(folder + path.sep)) return null;
  return name.endsWith('/') ? path.join(file, 'index.html') : file;
}

async function takeReport(request, response, onReport) {
  if (!onReport) return fail(response, 404, 'nobody waits for a report');
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  try {
    onReport(JSON.parse(Buffer.concat(pieces)));
  } catch (error) {
    return fail(response, 400, error.message);
  }
  response.writeHead(204).end();
}

export function sendFile(request, response, file, size) {
  const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
  const headers = { 'Content-Type': type, 'Accept-Ranges': 'bytes' };
  const range = parseRange(request.headers.range, size);
  if (range === 'unsatisfiable') {
    return response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end();
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  headers['Content-Length'] = end - start + 1;
  if (range) headers['Content-Range'] = `bytes ${start}-${end}/${size}`;
  response.writeHead(range ? 206 : 200, headers);
  if (request.method === 'HEAD' || size === 0) return response.end();
  const stream = fs.createReadStream(file, { start, end });
  stream.on('error', () => response.destroy());
  response.on('close', () => stream.destroy());
  return stream.pipe(response);
}

/** One `bytes=a-b`, `a-` or `-n`: first and last byte, null for no (or an unknown) range, or 'unsatisfiable'. */
export function parseRange(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return null;
  const [first, last] = [match[1], match[2]].map((text) => (text === '' ? null : Number(text)));
  const start = first === null ? Math.max(0, size - last) : first;
  const end = first === null || last === null ? size - 1 : Math.min(last, size - 1);
  return start < size && start <= end ? { start, end } : 'unsatisfiable';
}

function fail(response, code, message) {
  if (response.headersSent) return response.destroy();
  return response.writeHead(code, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
}

/**
 * The addresses to print for a server: that of this machine and, where it listens to all, those of its network, which
 * other devices open.
 */
export function addressesOf(url, host, interfaces = os.networkInterfaces()) {
  if (host !== '0.0.0.0' && host !== '::') return [url];
  const { port } = new URL(url);
  const others = Object.values(interfaces)
    .flat()
    .filter(({ family, internal }) => family === 'IPv4' && !internal);
  return [url, ...others.map(({ address }) => `http://${address}:${port}`)];
}

/** Prints where a server is to be opened; without https: other devices get no WebGPU. */
export function printAddresses(url, host) {
  const [here, ...others] = addressesOf(url, host);
  console.log(`${here}/`);
  if (others.length === 0) return;
  console.log('from other devices, without WebGPU, which browsers offer on https: and localhost alone:');
  for (const other of others) console.log(`${other}/`);
}

/** `--name value` from the command line, else `otherwise`. */
export function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1];
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const host = option('host', '127.0.0.1');
    const { url } = await serve({ port: Number(option('port', 8080)), host });
    printAddresses(url, host);
  });
}
