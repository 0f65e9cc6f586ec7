// The prefix cache of a model on the CPU, in Node.js: what was read of a prompt is not read again when another one came
// between, and texts are those without it. Tokens that are read are counted, not timed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { installStorage } from './fake_opfs.mjs';

const file = (path) => new Uint8Array(fs.readFileSync(new URL(`../../${path}`, import.meta.url)));
const STORYTELLER = file('www/models/storyteller.gguf');
const CHAT = file('tests/fixtures/models/llama-q4_0.gguf');
const lines = (about) => Array.from({ length: 24 }, (_, n) => `${n} ${about} went home.`).join(' ');
const [HARES, FOXES, BEARS] = ['hares', 'foxes', 'bears'].map(lines);

async function load(options, bytes = STORYTELLER) {
  return WasmModel.load(new Blob([bytes]), { backend: 'cpu', contextLength: 640, ...options });
}

/** The texts after prompts, the tokens that were read of each, and what is kept after each. */
async function writeIn(model, prompts, options) {
  const found = { texts: [], read: [], held: [] };
  for (const prompt of prompts) {
    const seen = [];
    const onProgress = ({ stage, loaded }) => stage === 'prefill' && seen.push(loaded);
    const run = model.generate(prompt, { temperature: 0, maxTokens: 4, ignoreEos: true, onProgress, ...options });
    const { text, usage } = await run;
    found.texts.push(text);
    found.read.push(usage.promptTokens - usage.cachedTokens);
    found.held.push(await model.prefixCache());
    assert.equal(seen[0], usage.cachedTokens, 'reading begins behind what was cached');
  }
  return found;
}

const isWhole = (tokens) => tokens > 100;

test('conversations in turn are read once, within a budget, and say what they say without the cache', async () => {
  const prompts = [HARES, FOXES, HARES, FOXES, BEARS, FOXES, HARES];
  const plain = await load({ prefixCache: false });
  const expected = await writeIn(plain, prompts);
  assert.equal(plain.info.prefixCacheBytes, 0);
  assert.deepEqual(expected.read.map(isWhole), Array(7).fill(true));
  assert.deepEqual(expected.held.at(-1), { blocks: 0, tokens: 0, bytes: 0, hits: 0 });
  await plain.free();

  const model = await load();
  assert.ok(model.info.prefixCacheBytes >= 2 ** 25, `${model.info.prefixCacheBytes} bytes by default`);
  const kept = await writeIn(model, prompts);
  assert.deepEqual(kept.texts, expected.texts);
  assert.deepEqual(kept.read.slice(2), [1, 1, kept.read[4], 1, 1]);
  assert.deepEqual(
    kept.held.map(({ hits }) => hits),
    [0, 0, 1, 2, 2, 3, 4],
  );
  const [, { bytes, tokens, blocks }] = kept.held;
  assert.ok(tokens > 100 && bytes % tokens === 0 && blocks >= 1, JSON.stringify(kept.held));
  await model.reset();
  assert.deepEqual((await writeIn(model, [HARES])).read, [kept.read[0]]);
  await model.free();

  // Room for one text and not for two.
  const few = await load({ prefixCache: { memoryBytes: Math.round(1.5 * bytes) } });
  const found = await writeIn(few, [HARES, FOXES, BEARS, FOXES]);
  assert.deepEqual(found.read.map(isWhole), [true, true, true, false]);
  for (const { bytes: held } of found.held) assert.ok(held <= few.info.prefixCacheBytes, `${held} bytes`);
  await few.free();
});

test('nothing is kept of a request that says so', async () => {
  const model = await load();
  const { read, held } = await writeIn(model, [HARES, FOXES, HARES], { prefixCache: false });
  assert.deepEqual([read.map(isWhole), held.at(-1).bytes], [[true, true, true], 0]);
  await model.free();
});

test('a session that was saved goes on in a model that is loaded anew', async () => {
  const options = { temperature: 0, maxTokens: 8, ignoreEos: true };
  const first = await load({ contextLength: 512 }, CHAT);
  const session = first.session();
  const { usage } = await session.send(lines('hares').slice(0, 300), options);
  const saved = await session.save();
  const expected = await session.send('And?', options);
  await first.free();
  const second = await load({ contextLength: 512 }, CHAT);
  const again = await (await second.restoreSession(saved)).send('And?', options);
  assert.equal(again.text, expected.text);
  assert.deepEqual(again.usage, expected.usage);
  assert.ok(again.usage.cachedTokens >= usage.promptTokens, JSON.stringify(again.usage));
  await second.free();
});

test('on disk a prompt outlives the model', async () => {
  const disk = installStorage();
  const warnings = [];
  const onWarning = ({ code, message }) => warnings.push(`${code}: ${message}`);
  const prompt = `${HARES} ${FOXES}`;
  const write = async (prompts, more) => {
    const model = await load({ onWarning, prefixCache: { diskBytes: 1e8 }, ...more });
    const found = await writeIn(model, prompts);
    await model.free();
    return found;
  };
  const first = await write([prompt]);
  assert.ok(first.read[0] > 256, `${first.read} tokens`);
  const again = await write([prompt, `${prompt} And`]);
  assert.deepEqual([again.texts[0], again.read[0]], [first.texts[0], 1]);
  assert.ok(again.read[1] < 8, `${again.read} tokens`);
  const folder = await (await disk.root.getDirectoryHandle('webgguf')).getDirectoryHandle('prefixes');
  assert.equal(folder.children.size, 3, 'ids, state and index');
  // Another context or cache type is another model.
  const [full] = first.read;
  assert.deepEqual((await write([prompt], { contextLength: 700 })).read, [full]);
  assert.deepEqual((await write([prompt], { kvType: 'q8_0' })).read, [full]);
  assert.deepEqual(warnings, []);
});
