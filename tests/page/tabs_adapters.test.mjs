// Adapters with a model that tabs share: the engine has each file once, requests use only what their own tab added, and
// after a move they are there again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawPages } from './raw_pages.mjs';
import { openSite } from './site.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const MODEL = '/fixtures/models/llama-f32.gguf';
const adapter = (kind) => `/fixtures/adapters/llama-f32.${kind}.gguf`;
const ALL = { source: adapter('all'), scale: 0.5 };
const SOME = { source: adapter('some') };

/** In a page: loads the model. */
async function load({ url, options }) {
  const { WasmModel } = await import('/dist/index.js');
  globalThis.model = await WasmModel.load(url, { backend: 'cpu', contextLength: 256, ...options });
}

/** In a page: the ids of a text and logits of a token, or the error. */
async function write(options) {
  const ask = { maxTokens: 8, temperature: 0, ignoreEos: true, ...options };
  try {
    const { ids } = await globalThis.model.generate(Uint32Array.of(161, 232, 149, 178, 284), ask);
    const { adapters } = options ?? {};
    const { logits } = await globalThis.model.evaluate([161, 232, 149], { logits: true, adapters });
    return { ids: [...ids], logits: [...logits.slice(-8)] };
  } catch ({ code, message }) {
    return { code, message };
  }
}

/** Texts are the same, and logits but for the order of sums on a GPU. */
function same(found, wanted) {
  const parts = [found, wanted].map((it) => [it].flat());
  assert.deepEqual(...parts.map((texts) => texts.map(({ ids, message }) => ids ?? message)));
  const logits = parts.map((texts) => texts.flatMap((text) => text.logits));
  for (const [at, value] of logits[0].entries()) assert.ok(Math.abs(value - logits[1][at]) < 1e-3, `${value} at ${at}`);
}

async function openTabs(t, ...each) {
  const pages = await rawPages(site.browser);
  t.after(pages.close);
  const tabs = [];
  for (const options of each) {
    const tab = await pages.open(`${site.url}/blank`);
    await tab.evaluate(load, { url: MODEL, options: { shared: true, ...options } });
    tabs.push(tab);
  }
  return tabs;
}

/** What a model of this tab alone writes with these adapters. */
async function alone(t, adapters) {
  const [tab] = await openTabs(t, { shared: false, adapters });
  return tab.evaluate(write);
}

for (const options of [
  { backend: 'cpu', parallel: 1 },
  { backend: 'webgpu', parallel: 2 },
]) {
  test(`each tab has its own adapters, and writes as a model alone; ${options.backend}`, async (t) => {
    const wanted = [];
    for (const adapters of [[ALL], [ALL, SOME], []]) wanted.push(await alone(t, adapters));
    const [all, both, plain] = wanted;
    assert.equal(new Set(wanted.map(({ ids }) => `${ids}`)).size, 3);
    const tabs = await openTabs(
      t,
      ...[{ adapters: [ALL] }, { adapters: [ALL, SOME] }, {}].map((it) => ({ ...it, ...options })),
    );
    const texts = await Promise.all(tabs.map((tab) => tab.evaluate(write)));
    same(texts, [all, both, plain]);
    same(await tabs[0].evaluate(write, { adapters: [] }), plain);
    same(await tabs[1].evaluate(write, { adapters: [{ id: 1, scale: 0.5 }] }), all);
    const unknown = (id) => ({ code: 'invalid_argument', message: `adapters: the model has no adapter ${id}` });
    assert.deepEqual(await tabs[0].evaluate(write, { adapters: [{ id: 2 }] }), unknown(2));
    assert.deepEqual(await tabs[2].evaluate(write, { adapters: [{ id: 1 }] }), unknown(1));
    const twice = await tabs[1].evaluate(write, { adapters: [{ id: 2 }, { id: 2 }] });
    assert.deepEqual(twice, { code: 'invalid_argument', message: 'adapters: adapter 2 occurs twice' });
    await tabs[0].close();
    const after = [1, 2, 1].map((at) => tabs[at].evaluate(write));
    same(await Promise.all(after), [both, plain, both]);
  });
}

test('a tab adds and removes one, and no other tab notices', async (t) => {
  const tabs = await openTabs(t, { adapters: [ALL] }, { adapters: [ALL] });
  const all = await tabs[1].evaluate(write);
  const change = async (source) => {
    const id = await globalThis.model.addAdapter(source);
    await globalThis.model.removeAdapter(1);
    return id;
  };
  assert.equal(await tabs[0].evaluate(change, SOME.source), 2);
  assert.deepEqual(await tabs[1].evaluate(write), all);
  assert.deepEqual(await tabs[0].evaluate(write), await alone(t, []));
  assert.deepEqual(await tabs[0].evaluate(write, { adapters: [{ id: 2 }] }), await alone(t, [SOME]));
  const again = await tabs[0].evaluate(() => globalThis.model.removeAdapter(1).catch(({ code }) => code));
  assert.equal(again, 'invalid_argument');
});

test('an adapter of another model is refused in its tab alone', async (t) => {
  const tabs = await openTabs(t, {});
  const plain = await tabs[0].evaluate(write);
  const refused = async ({ url, options }) => {
    const { WasmModel } = await import('/dist/index.js');
    return WasmModel.load(url, { backend: 'cpu', contextLength: 256, ...options }).catch(({ code }) => code);
  };
  const adapters = [SOME, { source: '/fixtures/adapters/phi3-q8_0.all.gguf' }];
  assert.equal(await tabs[0].evaluate(refused, { url: MODEL, options: { shared: true, adapters } }), 'bad_file');
  assert.deepEqual(await tabs[0].evaluate(write), plain);
});
