// Names on Hugging Face's hub, against a server that answers as the hub does: listings in pages, redirects to another
// host for files, and its errors with their headers.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { api, openSources, parseHubName, readAll, withCode } from './api.mjs';
import { installStorage } from './fake_opfs.mjs';

const { cache } = api;
/** Where the hub's mirror is on its server. */
const MIRROR = '/mirror/hf';
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
/** What the hub does; the paths that were asked with a token. */
let plan;
let tokensAt;

/** A listing as the hub has it, two files to a page. */
function listing(request, response, repo) {
  const { searchParams } = new URL(request.url, 'http://x');
  const at = Number(searchParams.get('cursor') ?? 0);
  const files = TREE[repo];
  const entries = files.slice(at, at + 2).map((path) => ({ type: 'file', oid: 'x', size: path.length, path }));
  entries.push({ type: 'directory', oid: 'y', size: 0, path: 'big' });
  const next = `${request.base}/api/models/${repo}/tree/main?recursive=true&cursor=${at + 2}`;
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
    if (plan.down) return response.destroy();
    if (plan.busy-- > 0) return response.writeHead(503, { 'retry-after': '0' }).end();
    if (request.headers.authorization) tokensAt.push(request.url);
    request.base = request.url.startsWith(MIRROR) ? hub.url + MIRROR : hub.url;
    request.url = request.url.replace(MIRROR, '');
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
  plan = {};
  tokensAt = [];
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
    'https://huggingface.co/a/b': name('a/b'),
    'https://huggingface.co/a/b/tree/dev?x=1': name('a/b', { revision: 'dev' }),
    'https://hf.co/a/b/blob/refs%2Fpr%2F1/d/c%20d.gguf?download=true': name('a/b', {
      file: 'd/c d.gguf',
      revision: 'refs/pr/1',
    }),
  };
  for (const [text, wanted] of Object.entries(names)) assert.deepEqual({ ...parseHubName(text) }, wanted, text);
  const urls = ['https://x.test/a:b', '/a/b:c', 'a/b.gguf', 'model.gguf', './a/b:Q4', '../a:b', 'a/b/c:d', 'hf:a', ''];
  urls.push('https://huggingface.co/a/b/resolve/main/c.gguf', 'https://huggingface.co/a/b/blob/%zz/c.gguf');
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
  assert.equal(await cache.has('tiny/llama-GGUF:Q8_0'), false);
  for (const name of ['tiny/llama-GGUF:Q8_0', 'hf:tiny/llama-GGUF/llama-Q8_0.gguf']) {
    assert.equal(await cache.has(name, { hub: hub.url }), true);
    assert.equal(await cache.has(name, { hub: `${hub.url}/other` }), false);
  }
  assert.equal(await cache.delete('hf:tiny/llama-GGUF/llama-Q8_0.gguf', { hub: hub.url }), true);
  assert.equal(disk.root.children.get('webgguf').children.size, 0);
});

test('a busy hub is asked again', async () => {
  plan.busy = 2;
  assert.equal(await load('tiny/llama-GGUF:Q8_0'), 'bytes of /llama-Q8_0.gguf');
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
  await refused('tiny/one:Q5_K_S', /the hub at http:\/\/127\.0\.0\.1:9: could not be reached/, {
    hub: 'http://127.0.0.1:9',
  });
});

test('a token opens a gated repository; the model is kept, the token is not', async () => {
  assert.equal(await load('tiny/gated:Q4_K_M', { token: 'good' }), 'bytes of /g-Q4_K_M.gguf');
  assert.equal(await cache.has('tiny/gated:Q4_K_M', { hub: hub.url }), true);
  const [model] = disk.root.children.get('webgguf').children.values();
  const { bytes } = model.children.get('00001').children.get('state.json');
  assert.doesNotMatch(Buffer.from(bytes).toString(), /good|Bearer|Signature/);
});

test('a mirror whose address has a path lists all pages', async () => {
  const text = await load('tiny/llama-GGUF:Q8_0', { hub: `${hub.url}${MIRROR}/` });
  assert.equal(text, 'bytes of /llama-Q8_0.gguf');
  const listed = asked.filter((line) => line.includes('/api/'));
  assert.deepEqual(new Set(listed.map((line) => line.replace(/\?.*/, ''))).size, 1);
  assert.equal(listed.length, 4);
});

test('what a mirror gave is not taken for the file of another hub, which gets its own token alone', async () => {
  const mirror = { hub: `${hub.url}${MIRROR}` };
  await load('tiny/llama-GGUF:Q8_0', mirror);
  const [{ key }] = await cache.list();
  asked = [];
  await load('tiny/llama-GGUF:Q8_0', { token: 'good' });
  assert.ok(tokensAt.length > 1);
  assert.deepEqual(
    tokensAt.filter((path) => path.startsWith(MIRROR)),
    [],
  );
  assert.equal((await cache.list()).length, 2);
  // A state as older versions wrote it, whose alias does not name the mirror.
  const [folder] = [...disk.root.children.get('webgguf').children.values()].filter(
    (model) => stateOf(model).key === key,
  );
  await cache.delete('tiny/llama-GGUF:Q8_0', { hub: hub.url });
  const plain = { ...stateOf(folder), aliases: [`${hub.url} tiny/llama-GGUF@main:Q8_0`] };
  folder.children.get('00001').children.get('state.json').bytes = Buffer.from(
    JSON.stringify({ ...plain, url: 'https://mirror.test/x.gguf' }),
  );
  asked = [];
  await load('tiny/llama-GGUF:Q8_0', { token: 'good' });
  assert.equal(
    asked.some((line) => line.includes('/api/')),
    true,
  );
});

const stateOf = (model) => JSON.parse(Buffer.from(model.children.get('00001').children.get('state.json').bytes));

test('what is stored under a cacheKey is found by its name on the hub', async () => {
  await load('tiny/llama-GGUF:Q8_0', { cacheKey: 'mine' });
  asked = [];
  await load('tiny/llama-GGUF:Q8_0');
  assert.deepEqual(asked, []);
  assert.deepEqual(
    (await cache.list()).map(({ key }) => key),
    ['mine'],
  );
});

test('revalidate takes what is stored where the hub gives no answer', async () => {
  const text = await load('tiny/llama-GGUF:Q8_0');
  plan.down = true;
  assert.equal(await load('tiny/llama-GGUF:Q8_0', { cache: 'revalidate' }), text);
  await assert.rejects(load('tiny/llama-GGUF:Q4_K_M', { cache: 'revalidate' }), withCode('download_failed'));
});

test('names that leave their repository or may be an address are refused', async () => {
  const refused = (name, says) => assert.rejects(load(name), withCode('invalid_argument', says));
  await refused('hf:tiny/one/../../evil/model/resolve/main/x.gguf', /no '\.' or '\.\.' in its path/);
  await refused('hf:tiny/one@..', /no '\.' or '\.\.'/);
  await refused('https://huggingface.co/tiny/one/blob/main/%2e%2e/x.gguf', /no '\.' or '\.\.'/);
  await refused('tiny/one', /'tiny\/one': write 'hf:tiny\/one' for a repository of the hub, '\.\/tiny\/one' for/);
  assert.deepEqual(asked, []);
});
