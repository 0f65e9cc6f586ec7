// The pages in Firefox, whose WGSL compiler (naga) and WebGPU (wgpu) are others than Chromium's, on Mesa's lavapipe:
// a kernel case or two of every variant, whole models against llama.cpp, two that speak, tabs that share one, a
// training, and the demo as a person uses it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from '../../tools/browser.mjs';
import { CACHE, ROOT, readJson } from '../../tools/common.mjs';
import { openFirefox } from '../../tools/firefox.mjs';
import { serve } from '../../tools/serve.mjs';
import { ENCODERS } from '../js/encoders.mjs';
import { answersInPage, assertAnswer, questionsOf, withFiles } from '../page/encoders.mjs';
import { assertLfm3, assertPocket, assertSoprano } from '../page/speaking.mjs';
import { trainInParts } from '../page/train_in_parts.mjs';

/** Cases of every variant of a kernel. */
const EACH = 2;
/** Digests of kernels whose cases were right in Firefox: see tests/common/agreed.rs. */
const AGREED = path.join(ROOT, 'tests', 'fixtures', 'agreed', 'firefox.txt');
/** `all` or `changed`: which kernels run, and that those which are right are kept. */
const RECORD = process.env.WEBGGUF_AGREED;
/** Kernels that run each time. */
const ALWAYS = ['attention', 'norm', 'rope_kv', 'sample'];
/** Encoders of images, one of them with rows for deeper layers, and of sounds. */
const ENCODERS_TRIED = ['gemma3', 'qwen3vl-deep', 'qwen3a'];
/** Models of every family, and of weights that are packed in different ways. */
const MODELS = ['llama-q4_0', 'llama-q4_k_m', 'qwen2-q8_0', 'qwen3-q4_0'];

let deliver = () => {};
const { url, close } = await serve({ onReport: (value) => deliver(value) });
const firefox = await openFirefox();
after(async () => {
  await firefox.close();
  await close();
});

/** What the page posts; fails with what it shows when it posts nothing in time. */
async function reported(pathname, parameters, timeoutMs) {
  const arrived = new Promise((resolve) => {
    deliver = resolve;
  });
  await firefox.open(`${url}/${pathname}?${new URLSearchParams({ ...parameters, report: '/result' })}`);
  const late = sleep(timeoutMs, null, { ref: false }).then(async () => {
    const shown = await firefox.evaluate(() => document.querySelector('#step').textContent);
    throw new Error(`${pathname} reported nothing in ${timeoutMs / 1000} s; it says: ${shown}`);
  });
  const result = await Promise.race([arrived, late]);
  assert.equal(result.error, undefined);
  return result;
}

/** Digests of the cases of each kernel in this browser, by its name. */
async function digestsOfKernels() {
  await firefox.open(`${url}/fixtures/models/models.txt`);
  const list = await firefox.evaluate(async () => {
    const { default: init, Harness } = await import('/harness/webgguf.js');
    await init();
    return (await Harness.open()).digests();
  });
  return new Map(list.map(({ kernel, digest }) => [kernel, digest]));
}

test('kernels compute right values', async (t) => {
  const digests = await digestsOfKernels();
  const known = new Set(fs.readFileSync(AGREED, 'utf8').split('\n'));
  const lineOf = (kernel) => `${kernel} ${digests.get(kernel)}`;
  const changed = [...digests.keys()].filter((kernel) => RECORD === 'all' || !known.has(lineOf(kernel)));
  const only = [...new Set([...ALWAYS, ...changed])];
  // With all kernels, the references of the package's operations run, too.
  const asked = changed.length === digests.size ? {} : { only: only.join() };
  const { cases, passed, skipped } = await reported('kernels.html', { ...asked, each: EACH, seed: 1 }, 4 * PATIENCE_MS);
  t.diagnostic(`${changed.length} of ${digests.size} kernels have changed: ${passed} cases passed, ${skipped} skipped`);
  const wrong = cases.filter(({ status }) => status !== 'passed' && status !== 'skipped');
  if (RECORD) {
    const isWrong = new Set(wrong.map(({ kernel }) => kernel));
    const right = [...digests.keys()].filter((kernel) => !isWrong.has(kernel)).sort();
    fs.writeFileSync(AGREED, right.map((kernel) => `${lineOf(kernel)}\n`).join(''));
  }
  assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} failed`);
  const ran = new Set(cases.filter(({ status }) => status === 'passed').map(({ kernel }) => kernel));
  // Subgroup matrices are an experiment of Chromium, and not every driver has f16.
  const ofMatrices = ['mat_mul_subgroup_matrix', 'attention_subgroup_matrix', 'attention_batch_subgroup_matrix'];
  const optional = [...ofMatrices, 'mat_mul_f16', 'round_f16_blocks'];
  const without = only.filter((kernel) => !ran.has(kernel) && !optional.includes(kernel));
  assert.deepEqual(without, []);
});

test('models answer like llama.cpp', async (t) => {
  const { adapter, passed, models } = await reported('answers.html', { only: MODELS.join() }, 3 * PATIENCE_MS);
  t.diagnostic(`${passed} answers on ${adapter}`);
  const wrong = models.filter(({ status }) => status !== 'passed');
  assert.deepEqual(wrong, []);
  assert.equal(passed, 2 * MODELS.length);
});

for (const name of ENCODERS_TRIED) {
  test(`the encoder ${name} gives the rows of llama.cpp`, async () => {
    const fixture = withFiles(readJson(path.join(ENCODERS, `${name}.json`)));
    await firefox.open(`${url}/fixtures/models/models.txt`);
    const answers = await firefox.evaluate(answersInPage, questionsOf(fixture));
    assert.equal(answers.length, fixture.cases.length);
    for (const [at, expected] of fixture.cases.entries()) assertAnswer(answers[at], expected, 'webgpu');
  });
}

for (const [name, speaks] of [
  ['Soprano', assertSoprano],
  ['Pocket TTS', assertPocket],
  ['LFM3', assertLfm3],
]) {
  test(`${name} speaks as with llama.cpp`, async () => {
    await firefox.open(`${url}/fixtures/models/models.txt`);
    const some = (cases) => cases.slice(-1);
    await speaks((work, argument) => firefox.evaluate(work, argument), { backend: 'webgpu', some });
  });
}

/** In a tab: loads a model for all tabs. */
async function loadShared(options) {
  window.api = await import('/dist/index.js');
  const given = { contextLength: 512, selfCheck: false, tune: false, shared: true, ...options };
  window.model = await window.api.WasmModel.load('/models/storyteller.gguf', given);
}
/** In a tab: a short text, the engines of all tabs, and where the one of this tab is. */
async function writeShared() {
  const options = { maxTokens: 12, temperature: 0, ignoreEos: true };
  const { text } = await window.model.generate('Once upon a time', options);
  const { held } = await navigator.locks.query();
  const engines = held.map(({ name }) => / host ([\w-]+)$/.exec(name)?.[1]).filter((host) => host);
  return { text, engines, place: window.model.info.shared.engineIn };
}
/** In a tab: begins a long text, and how that ends. */
async function beginShared() {
  window.text = window.model.generate('Once upon a time', { maxTokens: 64, ignoreEos: true });
  await window.text.next();
}
const endOfShared = () =>
  window.text.result.then(
    ({ finishReason }) => finishReason,
    ({ code }) => code,
  );

/** Two tabs write with one engine, the first one is closed, and the second one goes on. */
async function checkTabs(options, { during, place, moves }) {
  const first = await firefox.tab();
  const tabs = [await firefox.openTab(), await firefox.openTab()];
  const texts = [];
  for (const tab of tabs) {
    await firefox.switchTo(tab);
    await firefox.open(`${url}/fixtures/models/models.txt`);
    await firefox.evaluate(loadShared, options);
    texts.push(await firefox.evaluate(writeShared));
  }
  assert.ok(texts[0].text.length > 20, texts[0].text);
  assert.deepEqual([texts[0].engines.length, texts[0].place], [1, place]);
  assert.deepEqual(texts[1], texts[0]);
  await firefox.evaluate(beginShared);
  await firefox.switchTo(tabs[0]);
  await firefox.closeTab();
  await firefox.switchTo(tabs[1]);
  assert.equal(await firefox.evaluate(endOfShared), during);
  const after = await firefox.evaluate(writeShared);
  assert.deepEqual([after.text, after.place, after.engines.length], [texts[0].text, place, 1]);
  assert.equal(after.engines[0] !== texts[0].engines[0], moves);
  await firefox.closeTab();
  await firefox.switchTo(first);
}

test('two tabs share an engine in a SharedWorker, which the closing of one does not move', () =>
  checkTabs({ backend: 'webgpu' }, { during: 'length', place: 'sharedWorker', moves: false }));

test('two tabs share an engine on the CPU, which moves when its tab is closed', () =>
  checkTabs({ backend: 'cpu' }, { during: 'engine_moved', place: 'tab', moves: true }));

test('a small model learns, in two parts', async (t) => {
  const open = () => firefox.open(`${url}/train.html`);
  const evaluate = (work, argument) => firefox.evaluate(work, argument ?? null);
  t.diagnostic(await trainInParts({ open, evaluate, patience: PATIENCE_MS / 1000 }));
});

/** Waits until the demo is in the state `wanted`. */
async function waitFor(wanted) {
  const look = () => [document.documentElement.dataset.state, document.querySelector('#error').textContent.trim()];
  for (const start = performance.now(); ; await sleep(200)) {
    const [found, error] = await firefox.evaluate(look);
    if (found === wanted) return;
    if (found === 'error') assert.fail(`the demo shows an error: ${error}`);
    assert.ok(performance.now() - start < PATIENCE_MS, `the demo stays ${found}`);
  }
}

test('the demo tells a story', async () => {
  await firefox.open(`${url}/?backend=webgpu`);
  await waitFor('ready');
  await firefox.evaluate(() => {
    document.querySelector('#max-tokens').value = 60;
    document.querySelector('#seed').value = 1;
    document.querySelector('#prompt').value = 'Tell me a story about a hedgehog who finds a silver key.';
    document.querySelector('#send').click();
  });
  await waitFor('generating');
  await waitFor('ready');
  const file = path.join(CACHE, 'screenshots', 'firefox-demo.png');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, await firefox.screenshot());
  const text = (selector) => firefox.evaluate((given) => document.querySelector(given).innerText, selector);
  assert.match(await text('.message.assistant'), /hedgehog/i);
  assert.match(await text('#backend'), /gpu/i);
});
