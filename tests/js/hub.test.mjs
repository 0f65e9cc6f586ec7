// Names on Hugging Face's hub, against a server that answers as the hub does: listings in pages, redirects to another
// host for files, and its errors with their headers.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { api, openSources, parseHubName, readAll, withCode } from './api.mjs';
import { installStorage } from './fake_opfs.mjs';

const { cache } = api;
const TREE = {
  'tiny/llama-GGUF': [
    'README.md',
    'mmproj-Q4_K_M.gguf',
    'llama-IQ4_K_M.gguf',
    'llama-UD-Q4_K_M.gguf',
    'llama-Q4_K_M.gguf',
    'llama-Q8_0.gguf',
    'big/llama-BF16-00001-of-00002.gguf',
    'big/llama-BF16-00002-of-00002.gguf',
  ],
  'tiny/one': ['model.Q5_K_S.gguf'],
  'tiny/none': ['model.safetensors'],
  'tiny/gated': ['g-Q4_K_M.gguf'],
};

let hub;
let storage;
let asked;
let disk;

/** A listing as the hub has it, two files to a page. */
function listing(request, response, repo) {
  const { searchParams } = new URL(request.url, 'http://x');
  const at = Number(searchParams.get('cursor') ?? 0);
  const files = TREE[repo];
  const entries = files.slice(at, at + 2).map((path) => ({ type: 'file', oid: 'x', size: path.length, path }));
  entries.push({ type: 'directory', oid: 'y', size: 0, path: 'big' });
  const next = `${hub.url}/api/models/${repo}/tree/main?recursive=true&cursor=${at + 2}`;
  const headers = {
    'content-type': 'application/json',
    ...(at + 2 < files.length && { link: `<${next}>; rel="next"` }),
  };
  response.writeHead(200, headers).end(JSON.stringify(entries));
}

const refuse = (response, status, code, message) =>
  response.writeHead(status, { 'x-error-code': code, 'x-error-message': message }).end(message);

async function start(handler) {
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    handler(request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

before(async () => {
  storage = await start((request, response) => {
    const body = `bytes of ${request.url}`;
    response.writeHead(200, { 'content-length': body.length, etag: '"s"' }).end(request.method === 'HEAD' ? '' : body);
  });
  hub = await start((request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    const [, repo] = /^\/(?:api\/models\/)?([^/]+\/[^/]+)\/(?:tree|resolve)\//.exec(pathname) ?? [];
    if (!TREE[repo]) return refuse(response, 401, 'RepoNotFound', 'Repository not found');
    if (pathname.startsWith('/api/')) return listing(request, response, repo);
    if (repo === 'tiny/gated' && request.headers.authorization !== 'Bearer good') {
      const isKnown = request.headers.authorization !== undefined;
      return refuse(response, isKnown ? 403 : 401, 'GatedRepo', `Access to model ${repo} is restricted`);
    }
    const file = decodeURIComponent(pathname.split('/resolve/main/')[1] ?? '');
    if (!TREE[repo].includes(file)) return refuse(response, 404, 'EntryNotFound', 'Entry not found');
    return response.writeHead(302, { location: `${storage.url}/${file}?X-Amz-Signature=${Date.now()}` }).end();
  });
});

after(() => {
  for (const { server } of [hub, storage]) {
    server.close();
    server.closeAllConnections();
  }
});

beforeEach(() => {
  asked = [];
  disk = installStorage();
});

async function load(source, options = {}) {
  const signal = new AbortController().signal;
  const parts = await openSources(source, signal, { hub: hub.url, ...options });
  const texts = [];
  for (const part of parts) {
    texts.push(String(await readAll(part)).replace(/\?.*/, ''));
    await part.finish?.();
  }
  return texts.join();
}

test('which strings are names on the hub', () => {
  const name = (repo, more) => ({ repo, revision: 'main', file: undefined, quantization: undefined, ...more });
  const names = {
    'hf:a/b/c.gguf': name('a/b', { file: 'c.gguf' }),
    'hf:a/b/d/c.gguf': name('a/b', { file: 'd/c.gguf' }),
    'hf:a/b@v1.0/c.gguf': name('a/b', { file: 'c.gguf', revision: 'v1.0' }),
    'hf:a/b:Q4_K_M': name('a/b', { quantization: 'Q4_K_M' }),
    'hf:a/b': name('a/b'),
    'hf://a/b': name('a/b'),
    'a/b.c-d:Q8_0': name('a/b.c-d', { quantization: 'Q8_0' }),
    'a/b@dev:q8_0': name('a/b', { quantization: 'q8_0', revision: 'dev' }),
  };
  for (const [text, wanted] of Object.entries(names)) assert.deepEqual({ ...parseHubName(text) }, wanted, text);
  const urls = ['https://x.test/a:b', '/a/b:c', 'a/b.gguf', 'model.gguf', './a/b:Q4', '../a:b', 'a/b/c:d', 'hf:a', ''];
  for (const text of urls) assert.equal(parseHubName(text), undefined, text);
});

test('a file by its path, and the parts of a split one', async () => {
  assert.equal(await load('hf:tiny/llama-GGUF/llama-Q8_0.gguf'), 'bytes of /llama-Q8_0.gguf');
  assert.deepEqual(
    asked.map((line) => line.replace(/=\d+/, '=…')),
    ['GET /tiny/llama-GGUF/resolve/main/llama-Q8_0.gguf', 'GET /llama-Q8_0.gguf?X-Amz-Signature=…'],
  );
  const parts = await load('hf:tiny/llama-GGUF/big/llama-BF16-00001-of-00002.gguf');
  assert.equal(parts, [1, 2].map((n) => `bytes of /big/llama-BF16-0000${n}-of-00002.gguf`).join());
});

test('a quantisation: the file whose name has it, in any case, on any page', async () => {
  const choose = async (name) => (await load(name, { cache: false })).replaceAll('bytes of /', '');
  assert.equal(await choose('tiny/llama-GGUF:Q4_K_M'), 'llama-Q4_K_M.gguf');
  assert.equal(await choose('tiny/llama-GGUF:q4_k_m'), 'llama-Q4_K_M.gguf');
  assert.equal(await choose('tiny/llama-GGUF:IQ4_K_M'), 'llama-IQ4_K_M.gguf');
  assert.equal(await choose('tiny/llama-GGUF:UD-Q4_K_M'), 'llama-UD-Q4_K_M.gguf');
  assert.match(await choose('tiny/llama-GGUF:BF16'), /00001-of-00002\.gguf,.*00002-of-00002\.gguf/);
  assert.equal(await choose('hf:tiny/llama-GGUF'), 'llama-Q4_K_M.gguf');
  assert.equal(await choose('hf:tiny/one'), 'model.Q5_K_S.gguf');
});

test('a model that is stored needs neither the hub nor its storage', async () => {
  const text = await load('tiny/llama-GGUF:Q8_0');
  asked = [];
  assert.equal(await load('hf:tiny/llama-GGUF:q8_0'), text);
  assert.equal(await load('hf:tiny/llama-GGUF/llama-Q8_0.gguf'), text);
  assert.deepEqual(asked, []);
  const [{ key }] = await cache.list();
  assert.equal(key, `${hub.url}/tiny/llama-GGUF/resolve/main/llama-Q8_0.gguf`);
  assert.equal(await cache.has('tiny/llama-GGUF:Q8_0'), true);
  assert.equal(await cache.delete('tiny/llama-GGUF:Q8_0'), true);
  assert.equal(disk.root.children.get('webgguf').children.size, 0);
});

test('what is not there or may not be read is said', async () => {
  const refused = (source, says, options) => assert.rejects(load(source, options), withCode('download_failed', says));
  await refused(
    'tiny/llama-GGUF:Q2_K',
    /tiny\/llama-GGUF: no GGUF file with Q2_K; there are BF16, IQ4_K_M, Q4_K_M, Q8_0/,
  );
  await refused('hf:tiny/none', /no GGUF file$/);
  await refused('tiny/nowhere:Q8_0', /HTTP status 401: Repository not found: no such repository, or it is private/);
  await refused('hf:tiny/llama-GGUF/x.gguf', /404.*Entry not found/);
  await refused('tiny/gated:Q4_K_M', /401.*tiny\/gated is restricted; accept the terms.*option 'token'/);
  await refused('tiny/gated:Q4_K_M', /403.*restricted/, { token: 'bad' });
  await refused('tiny/one:Q5_K_S', /the hub at http:\/\/127\.0\.0\.1:9 could not be reached/, {
    hub: 'http://127.0.0.1:9',
  });
});

test('a token opens a gated repository; the model is kept, the token is not', async () => {
  assert.equal(await load('tiny/gated:Q4_K_M', { token: 'good' }), 'bytes of /g-Q4_K_M.gguf');
  assert.equal(await cache.has('tiny/gated:Q4_K_M'), true);
  const [model] = disk.root.children.get('webgguf').children.values();
  const { bytes } = model.children.get('00001').children.get('state.json');
  assert.doesNotMatch(Buffer.from(bytes).toString(), /good|Bearer|Signature/);
});
