// Models on a device that has what WebGPU promises everywhere and no more: small bindings, eight storage buffers,
// 16 KiB of workgroup memory, 256 threads, neither f16 nor subgroups. That is simulated: the adapter shows no more and
// makes no device that has more.
//
// And models on a device that has OpenGL ES alone, which browsers offer in WebGPU's compatibility mode: Chromium on its
// own software renderer for OpenGL ES.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testIf } from '../long.mjs';
import { expectations, openSite, reportOf, SMALL } from './site.mjs';
import { cutDown } from './small_device.js';

/**
 * One model for each kind of layer and of weights: blocks of 4 bits, grids, f16, experts, windows, recurrent scans and
 * convolutions. With the argument `all` every fixture.
 */
const SOME = ['llama-q4_k_m', 'llama-iq3_s', 'gemma3-f16', 'qwen3moe-q8_0', 'qwen35-q8_0', 'lfm2-q8_0', 'mamba2-q8_0'];
/** The models that `npm test` tries; with `--all` the others, too. */
const QUICK = ['llama-iq3_s', 'qwen35-q8_0'];
const isAsked = process.argv.includes('all');
const names = isAsked ? expectations().map(({ name }) => name) : SOME;

/** Models that are tried in compatibility mode, too. */
const COMPATIBLE = ['llama-f32', 'qwen35-q8_0'];
const compatible = isAsked ? names : COMPATIBLE;

let deliver = () => {};
const site = await openSite({ onReport: (value) => deliver(value) });

const gles = await openSite({
  args: ['--use-webgpu-adapter=opengles'],
  onReport: (value) => deliver(value),
  routes: {
    '/blank': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>'),
  },
});

/** In a page: a browser whose only adapter is one in compatibility mode, with these limits of it cut down. */
function onlyCompatible(cut = {}) {
  const { requestAdapter } = GPU.prototype;
  GPU.prototype.requestAdapter = async function (options = {}) {
    if (options.featureLevel !== 'compatibility') return null;
    const adapter = await requestAdapter.call(this, options);
    globalThis.isCore = adapter.features.has('core-features-and-limits');
    for (const [name, value] of Object.entries(cut))
      Object.defineProperty(GPUSupportedLimits.prototype, name, { get: () => value });
    return adapter;
  };
}

/** A page of a site's browser after these changes of its WebGPU. */
async function changedPage({ browser }, ...change) {
  const page = await browser.newPage();
  Object.assign(page, { log: [], crashes: [] });
  await page.addInitScript(...change);
  return page;
}

/** Asserts that a model answers there like llama.cpp. */
async function answers(name, { url }, page) {
  const arrived = new Promise((resolve) => {
    deliver = resolve;
  });
  const query = new URLSearchParams({ only: name, precision: 'exact', report: '/result' });
  await page.goto(`${url}/answers.html?${query}`);
  const { backend, models } = await reportOf(page, arrived);
  assert.equal(backend, 'webgpu');
  assert.deepEqual(
    models.map((model) => [model.name, model.status, model.reason]),
    [[name, 'passed', undefined]],
  );
}

for (const name of names) {
  const declare = testIf(isAsked || QUICK.includes(name));
  declare(`${name} answers like llama.cpp on a device with the default limits and no optional feature`, async () => {
    const page = await changedPage(site, cutDown);
    await answers(name, site, page);
    assert.ok((await page.evaluate(() => globalThis.smallDevices)) > 0, 'it ran on another device');
    await page.close();
  });
}

for (const name of compatible) {
  const declare = testIf(isAsked || QUICK.includes(name));
  declare(`${name} answers like llama.cpp on OpenGL ES, in compatibility mode`, async () => {
    const page = await changedPage(gles, onlyCompatible);
    await answers(name, gles, page);
    assert.equal(await page.evaluate(() => globalThis.isCore), false, 'it ran on an adapter that has no more');
    await page.close();
  });
}

test('an adapter with too little for the kernels is refused by name', async () => {
  const page = await changedPage(gles, onlyCompatible, { maxStorageBuffersPerShaderStage: 4 });
  await page.goto(`${gles.url}/blank`);
  const { code, message } = await page.evaluate(async (url) => {
    const { WasmModel } = await import('/dist/index.js');
    return WasmModel.load(url, { backend: 'webgpu' }).catch(({ code, message }) => ({ code, message }));
  }, SMALL);
  assert.equal(code, 'webgpu_unavailable', message);
  assert.match(message, /the GPU adapter offers 4 storage buffers in a shader, the kernels need 8/);
  await page.close();
});
