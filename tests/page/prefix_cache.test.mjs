// `prefixCache`: what a model has read of a prompt is on disk, so that after a reload it is not read again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testIf } from '../long.mjs';
import { openSite, SMALL } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

const LINES = (about) => Array.from({ length: 18 }, (_, n) => `${n} ${about} went home.`).join(' ');
const HARES = LINES('hares');
const FOXES = LINES('foxes');
/** Runs in a page: the texts after prompts, the tokens that were not read again, and what is stored. */
async function inPage({ url, prompts, load, generate, before, together, rests }) {
  const { WasmModel, cache } = await import('/dist/index.js');
  const root = await (await navigator.storage.getDirectory()).getDirectoryHandle('webgguf', { create: true });
  const files = async () => {
    const folder = await root.getDirectoryHandle('prefixes').catch(() => undefined);
    return folder ? Array.fromAsync(folder.entries()) : [];
  };
  if (before === 'clear') await cache.clear();
  if (before === 'cut') {
    for (const [name, handle] of await files()) {
      if (!name.endsWith('.state')) continue;
      const out = await handle.createWritable();
      await out.write('no session');
      await out.close();
    }
  }
  const warnings = [];
  const onWarning = ({ code, message }) => warnings.push(`${code}: ${message}`);
  const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 512, onWarning, ...load });
  const found = [];
  const write = async (prompt) => {
    const run = model.generate(prompt, { temperature: 0, maxTokens: 4, ignoreEos: true, ...generate });
    const { text, usage } = await run;
    found.push({ text, tokens: usage.promptTokens, cached: usage.cachedTokens });
    while (rests && model.state !== 'idle') await new Promise((done) => setTimeout(done, 20));
  };
  if (together) await Promise.all(prompts.map(write));
  else for (const prompt of prompts) await write(prompt);
  const entries = await files();
  const sizes = entries.map(async ([name, file]) => (name === 'index.json' ? 0 : (await file.getFile()).size));
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  const stored = entries.map(([name]) => name.replace(/^[\da-f-]{36}/, 'a')).sort();
  await model.free();
  return { found, stored, bytes, warnings };
}

const STORED = ['a.ids', 'a.state', 'index.json'];

/** Opens the page anew and writes there. */
async function write(prompts, { load = { prefixCache: { diskBytes: 1e8 } }, ...more } = {}) {
  await page.reload();
  const { warnings, ...result } = await page.evaluate(inPage, { url: SMALL, prompts, load, ...more });
  assert.deepEqual(warnings, []);
  assert.deepEqual(page.crashes, []);
  return result;
}

for (const worker of [false, true]) {
  testIf(worker)(`worker ${worker}: after a reload a prompt is not read again, and the text is the same`, async () => {
    const load = { prefixCache: { diskBytes: 1e8 }, worker };
    const longer = `${HARES} And then they`;
    const plain = await write([HARES, longer], { load: {}, before: 'clear' });
    assert.deepEqual(plain.stored, []);
    const first = await write([HARES], { load });
    assert.deepEqual([first.found[0].cached, first.stored], [0, STORED]);
    assert.equal(first.found[0].text, plain.found[0].text);
    const again = await write([HARES], { load });
    assert.equal(again.found[0].text, plain.found[0].text);
    assert.ok(again.found[0].tokens > 256 && again.found[0].cached >= again.found[0].tokens - 1, JSON.stringify(again));
    // A longer one reads what is new, which is too little to be stored.
    const { found, stored } = await write([longer], { load });
    assert.equal(found[0].text, plain.found[1].text);
    assert.ok(found[0].cached >= again.found[0].tokens - 8, JSON.stringify(found));
    assert.deepEqual(stored, STORED);
  });
}

test('what was used longest ago goes, and what is too large is not stored', async () => {
  const { bytes } = await write([HARES], { before: 'clear' });
  // Room for one of two.
  const load = { prefixCache: { diskBytes: Math.round(1.5 * bytes) } };
  assert.deepEqual((await write([FOXES], { load })).stored, STORED);
  const { found } = await write([FOXES, HARES], { load });
  assert.deepEqual([found[0].cached > 256, found[1].cached < 256], [true, true], JSON.stringify(found));
  const few = { prefixCache: { diskBytes: 1000 } };
  assert.equal((await write([HARES], { load: few, before: 'clear' })).bytes, 0);
});

test('nothing is kept of a request that says so, of a short prompt, and of a damaged file', async () => {
  const options = { generate: { prefixCache: false }, before: 'clear' };
  assert.deepEqual((await write([HARES, 'A hare'], options)).stored, []);
  assert.equal((await write(['A hare'])).bytes, 0);
  const { found } = await write([HARES]);
  const cut = await write([HARES], { before: 'cut' });
  assert.deepEqual([cut.found[0].cached, cut.found[0].text, cut.stored], [0, found[0].text, STORED]);
  const whole = await write([HARES]);
  assert.ok(whole.found[0].cached > 256, JSON.stringify(whole));
});

test('a model that gave its memory back takes a prompt from disk', async () => {
  const load = { prefixCache: { diskBytes: 1e8 }, idleTimeout: 100 };
  const { found } = await write([HARES, HARES], { load, before: 'clear', rests: true });
  assert.deepEqual([found[0].cached, found[1].text], [0, found[0].text]);
  assert.ok(found[1].cached > 256, JSON.stringify(found));
});

testIf(false)('requests that run together are as they are without', async () => {
  const prompts = [HARES, FOXES, `${HARES} And`, `${FOXES} And`];
  const plain = await write(prompts, { load: { parallel: 3 }, before: 'clear', together: true });
  const load = { parallel: 3, prefixCache: { diskBytes: 1e8 } };
  await write([HARES], { load });
  const kept = await write(prompts, { load, together: true });
  const texts = ({ found }) => found.map(({ text }) => text).sort();
  assert.deepEqual(texts(kept), texts(plain));
});
