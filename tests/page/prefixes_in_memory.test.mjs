// What a model has read of prompts is kept in memory: conversations in turn on one model do not read theirs again, and
// write what they write without it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testIf } from '../long.mjs';
import { countGpu } from './count_gpu.js';
import { openSite, SMALL } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');
await page.evaluate(countGpu);

const LINES = (about) => Array.from({ length: 14 }, (_, n) => `${n} ${about} went home.`).join(' ');
const [HARES, FOXES, BEARS] = ['hares', 'foxes', 'bears'].map(LINES);

/** Runs in a page: the texts after prompts, one after the other or at once, and the bytes on the GPU after each. */
async function inPage({ url, prompts, load, generate, together, ways, rests }) {
  const { WasmModel } = await import('/dist/index.js');
  const { webggufFetch } = await import('/dist/openai/index.js');
  const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 512, ...load });
  const { prefixCacheBytes } = model.info;
  const options = { temperature: 0, maxTokens: 4, ignoreEos: true, ...generate };
  const sessions = new Map();
  const bytes = [globalThis.live.bytes];
  const found = [];
  const held = [];
  const fetch = webggufFetch({ model });
  const write = {
    generate: (prompt) => model.generate(prompt, options),
    session: async (prompt) => {
      const session = sessions.get(prompt);
      if (session) return session.send('And?', options);
      sessions.set(prompt, model.session());
      return sessions.get(prompt).send(prompt, options);
    },
    openai: async (prompt) => {
      const body = JSON.stringify({
        ...{ model: 'm', messages: [{ role: 'user', content: prompt }], temperature: 0, max_tokens: 4 },
        ...generate,
      });
      const answer = await fetch('http://webgguf/v1/chat/completions', { method: 'POST', body });
      const { choices, usage } = await answer.json();
      const { prompt_tokens: promptTokens, prompt_tokens_details: details } = usage;
      return { text: choices[0].message.content, usage: { promptTokens, cachedTokens: details.cached_tokens } };
    },
  };
  const run = async (prompt, at) => {
    const { text, usage } = await write[ways ?? 'generate'](prompt);
    found[at] = { text, tokens: usage.promptTokens, cached: usage.cachedTokens };
    bytes.push(globalThis.live.bytes);
    held.push(await model.prefixCache());
    while (rests && model.state !== 'idle') await new Promise((done) => setTimeout(done, 20));
  };
  if (together) await Promise.all(prompts.map(run));
  else for (const [at, prompt] of prompts.entries()) await run(prompt, at);
  const last = model.info.gpuBytes;
  await model.free();
  return { found, bytes, held, prefixCacheBytes, last, left: globalThis.live.bytes };
}

const CHAT = '/fixtures/models/llama-q4_0.gguf';
const write = async (prompts, { ways, ...more } = {}) => {
  const url = ways === undefined ? SMALL : CHAT;
  const result = await page.evaluate(inPage, { url, prompts, ways, ...more });
  assert.deepEqual(page.crashes, []);
  assert.equal(result.left, 0, 'nothing is left once the model is freed');
  return result;
};
const texts = ({ found }) => found.map(({ text }) => text);
const isRead = ({ cached, tokens }) => cached < tokens / 2;

for (const [ways, worker] of [
  [undefined, false],
  ['openai', false],
  ['openai', true],
]) {
  testIf(!worker)(`${ways ?? 'generate'}, worker ${worker}: texts in turn are read once`, async () => {
    const prompts = [HARES, FOXES, HARES, FOXES, BEARS, FOXES, HARES];
    const plain = await write(prompts, { ways, load: { prefixCache: false, worker } });
    assert.deepEqual(
      plain.found.map(isRead),
      prompts.map(() => true),
    );
    assert.equal(plain.prefixCacheBytes, 0);
    const kept = await write(prompts, { ways, load: { worker } });
    assert.deepEqual(texts(kept), texts(plain));
    assert.deepEqual(kept.found.map(isRead), [true, true, false, false, true, false, false]);
    for (const { cached, tokens } of kept.found.slice(5)) assert.equal(cached, tokens - 1);
    assert.ok(kept.prefixCacheBytes >= 2 ** 25, `${kept.prefixCacheBytes} bytes by default`);
  });
}

test('a conversation alone takes no more memory, and a budget is kept', async () => {
  const turns = [HARES, `${HARES} And`, `${HARES} And then they came`, `${HARES} And then`];
  const alone = await write(turns);
  const plain = await write(turns, { load: { prefixCache: false } });
  assert.deepEqual([alone.bytes, texts(alone)], [plain.bytes, texts(plain)]);
  const all = await write([HARES, FOXES, BEARS, HARES]);
  const [first, second, third] = [1, 2, 3].map((at) => all.bytes[at + 1] - all.bytes[at]);
  assert.ok(first > 0 && second > 0 && third > 0, `${all.bytes}`);
  // Room for one text, and not for two.
  const memoryBytes = Math.round(1.5 * first);
  const grown = all.bytes.slice(1).map((bytes) => bytes - all.bytes[1]);
  assert.deepEqual(
    all.held.map((held) => held.bytes),
    grown,
  );
  assert.deepEqual(
    all.held.map(({ hits }) => hits),
    [0, 0, 0, 1],
  );
  const tokens = all.found.map((text) => text.tokens);
  for (const [at, { blocks, tokens: kept }] of all.held.slice(0, 3).entries()) {
    const texts = tokens.slice(0, at);
    const most = texts.reduce((sum, count) => sum + count + 4, 0);
    assert.ok(kept <= most && kept >= most - 5 * at, `${kept} tokens after ${at + 1} texts of ${tokens}`);
    assert.equal(
      blocks,
      texts.reduce((sum, count) => sum + Math.ceil((count + 3) / 256), 0),
    );
  }
  assert.deepEqual(alone.held.at(-1), { blocks: 0, tokens: 0, bytes: 0, hits: 0 });
  const few = await write([HARES, FOXES, BEARS, FOXES], { load: { prefixCache: { memoryBytes } } });
  assert.ok(Math.max(...few.bytes) - few.bytes[1] <= memoryBytes, `${few.bytes} with ${memoryBytes}`);
  assert.deepEqual(few.found.map(isRead), [true, true, true, false]);
  assert.equal(few.prefixCacheBytes, memoryBytes);
});

test('nothing is kept of a request that says so', async () => {
  for (const [ways, generate] of [
    [undefined, { prefixCache: false }],
    ['openai', { store: false }],
  ]) {
    const { found, bytes } = await write([HARES, FOXES, HARES], { ways, generate });
    assert.deepEqual(found.map(isRead), [true, true, true], ways);
    assert.equal(bytes.at(-1), bytes[1], ways);
  }
});

test('requests that run together find what others have left', async () => {
  const prompts = [HARES, FOXES, BEARS, `${HARES} And`, `${FOXES} And`, `${BEARS} And`];
  const plain = await write(prompts, { load: { parallel: 2, prefixCache: false }, together: true });
  const kept = await write(prompts, { load: { parallel: 2 }, together: true });
  assert.deepEqual(texts(kept), texts(plain));
  assert.deepEqual(kept.found.slice(3).map(isRead), [false, false, false], JSON.stringify(kept.found));
});

test('sessions that share lanes find theirs again', async () => {
  const prompts = [HARES, FOXES, BEARS, HARES, FOXES];
  const plain = await write(prompts, { ways: 'session', load: { parallel: 2, prefixCache: false } });
  const kept = await write(prompts, { ways: 'session', load: { parallel: 2 } });
  assert.deepEqual(texts(kept), texts(plain));
  assert.deepEqual(plain.found.slice(3).map(isRead), [true, true]);
  assert.deepEqual(kept.found.map(isRead), [true, true, true, false, false]);
});

testIf(false)('a model that gives its memory back keeps nothing, and goes on', async () => {
  const load = { idleTimeout: 100 };
  const { found } = await write([HARES, FOXES, HARES], { load, rests: true });
  assert.deepEqual(found.map(isRead), [true, true, true]);
  assert.equal(found[2].text, found[0].text);
});
