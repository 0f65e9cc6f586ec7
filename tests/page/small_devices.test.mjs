// Models on a device that has what WebGPU promises everywhere and no more: small bindings, eight storage buffers,
// 16 KiB of workgroup memory, 256 threads, neither f16 nor subgroups. That is simulated: the adapter shows no more and
// makes no device that has more.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectations, openSite, reportOf } from './site.mjs';
import { cutDown } from './small_device.js';

/**
 * Of each kind of layer and of weights one: blocks of 4 bits, grids, f16, experts, windows, recurrent scans and
 * convolutions. With the argument `all` every fixture.
 */
const SOME = ['llama-q4_k_m', 'llama-iq3_s', 'gemma3-f16', 'qwen3moe-q8_0', 'qwen35-q8_0', 'lfm2-q8_0', 'mamba2-q8_0'];
const names = process.argv.includes('all') ? expectations().map(({ name }) => name) : SOME;

let deliver = () => {};
const site = await openSite({ onReport: (value) => deliver(value) });

for (const name of names)
  test(`${name} answers like llama.cpp on a device with the default limits and no optional feature`, async () => {
    const arrived = new Promise((resolve) => {
      deliver = resolve;
    });
    const page = await site.browser.newPage();
    Object.assign(page, { log: [], crashes: [] });
    await page.addInitScript(cutDown);
    const query = new URLSearchParams({ only: name, precision: 'exact', report: '/result' });
    await page.goto(`${site.url}/answers.html?${query}`);
    const { models } = await reportOf(page, arrived);
    assert.deepEqual(
      models.map((model) => [model.name, model.status, model.reason]),
      [[name, 'passed', undefined]],
    );
    assert.ok((await page.evaluate(() => globalThis.smallDevices)) > 0, 'it ran on another device');
    await page.close();
  });
