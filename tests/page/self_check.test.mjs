// Kernels that compute wrong values on a device: a load notices them, runs plainer variants in their place and says so.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readJson } from '../../tools/common.mjs';
import { ENCODERS } from '../js/encoders.mjs';
import { NAMES } from '../js/images.mjs';
import { LISTENERS } from '../js/sounds.mjs';
import { longTest, testIf } from '../long.mjs';
import { openSite, STORYTELLER } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });

/**
 * Loads a model where the shaders in whose text `planted.where` stands have `planted.to` for `planted.from`, as if the
 * driver compiled them wrong; writes a text. All loads with the same shaders are on one device, so that each of these
 * is compiled once. Between two readings of the clock `milliseconds` pass.
 */
const LOAD = async ({ url, planted, milliseconds = 0.01, options = {} }) => {
  globalThis.original ??= GPUDevice.prototype.createShaderModule;
  const { original } = globalThis;
  globalThis.planted ??= new Set();
  GPUDevice.prototype.createShaderModule = function (descriptor) {
    const { code } = descriptor;
    if (!planted || !code.includes(planted.where)) return original.call(this, descriptor);
    const wrong = code.replace(planted.from, planted.to);
    if (wrong === code) throw new Error(`nothing planted in ${descriptor.label}`);
    globalThis.planted.add(planted.where);
    return original.call(this, { ...descriptor, code: wrong });
  };
  // The check has a time limit: a clock that counts its readings is as fast everywhere.
  let now = 0;
  performance.now = () => (now += milliseconds);
  const { Gpu, WasmModel } = await import('/dist/index.js');
  globalThis.gpus ??= {};
  globalThis.gpus[planted?.where] ??= await Gpu.create();
  const gpu = globalThis.gpus[planted?.where];
  const warnings = [];
  const onWarning = ({ code, message }) => warnings.push({ code, message });
  const model = await WasmModel.load(url, { gpu, contextLength: 128, onWarning, ...options });
  const { selfCheck, variants, encoders } = model.info;
  const ids = [];
  for await (const piece of model.generate('Once upon a time', { maxTokens: 4, temperature: 0 }))
    ids.push(...piece.ids);
  await model.free();
  if (planted && !globalThis.planted.has(planted.where)) throw new Error(`no shader has: ${planted.where}`);
  return { selfCheck, variants, encoders, ids, warnings };
};

async function load(page, options) {
  const result = await page.evaluate(LOAD, { url: STORYTELLER, ...options });
  assert.deepEqual(page.crashes, []);
  return result;
}

/** Only in variants with subgroups: each lane keeps its own sum. */
const SUM = '(*sums)[i]=subgroupAdd((*sums)[i]);';
const SUBGROUPS = { where: SUM, from: SUM, to: '(*sums)[i]=(*sums)[i];' };

const forget = async () => (await navigator.storage.getDirectory()).removeEntry('webgguf', { recursive: true });

test('what is right passes, a wrong variant is replaced by the plain one, and both are remembered', async (t) => {
  const page = await site.open('/blank');
  const first = await load(page);
  const { milliseconds, checked, ...verdict } = first.selfCheck;
  t.diagnostic(`${checked} variants in ${milliseconds} ms`);
  assert.deepEqual(verdict, { verdict: 'passed', replaced: [], wrong: [] });
  assert.ok(checked > 5 && milliseconds > 0);
  assert.deepEqual(first.warnings, []);
  const second = await load(page);
  assert.equal(second.selfCheck.verdict, 'remembered');
  await page.evaluate(forget);
  const hurried = await load(page, { milliseconds: 500 });
  assert.equal(hurried.selfCheck.verdict, 'partial', 'time was up');
  assert.ok(hurried.selfCheck.checked < checked, `${hurried.selfCheck.checked} of ${checked} variants`);
  const whole = await load(page);
  assert.equal(whole.selfCheck.verdict, 'passed', 'what was not finished is not kept');
  assert.deepEqual(second.ids, first.ids);

  const garbage = await load(page, { planted: SUBGROUPS, options: { selfCheck: false } });
  assert.equal(garbage.selfCheck.verdict, 'skipped');
  assert.notDeepEqual(garbage.ids, first.ids, 'without the check the text is wrong');
  await page.evaluate(forget);
  const mended = await load(page, { planted: SUBGROUPS });
  assert.equal(mended.selfCheck.verdict, 'replaced', JSON.stringify(mended.selfCheck));
  assert.match(mended.selfCheck.replaced.join(), /mat_vec\w*\.\w+\.subgroup/);
  assert.deepEqual(mended.ids, first.ids);
  assert.ok(!mended.variants.some((id) => id.includes('.subgroup')), mended.variants.join());
  assert.equal(mended.warnings[0]?.code, 'self_check');
  const again = await load(page, { planted: SUBGROUPS });
  assert.equal(again.selfCheck.verdict, 'remembered');
  assert.deepEqual(again.selfCheck.replaced, mended.selfCheck.replaced);
  assert.deepEqual(again.ids, first.ids);
  await page.close();
});

longTest('a wrong kernel that has no other variant is told', async () => {
  const page = await site.open('/blank');
  const planted = { where: 'fn advance(', from: 'sum+=weight;', to: 'sum+=3.0 * weight;' };
  const { selfCheck, warnings } = await load(page, { planted });
  assert.equal(selfCheck.verdict, 'failed', JSON.stringify(selfCheck));
  assert.match(selfCheck.wrong.join(), /attention/);
  assert.match(warnings[0]?.message, /attention.*backend: 'cpu'/);
  await page.close();
});

/** The model of an encoder's fixture, with the encoder, as `LOAD` takes them. */
function withEncoder(name) {
  const { text, encoder } = readJson(path.join(ENCODERS, `${name}.json`));
  return { url: new URL(`/fixtures/models/${text}`, 'http://page').pathname, mmproj: `/fixtures/encoders/${encoder}` };
}

async function loadEncoder(page, name, { planted, selfCheck } = {}) {
  const { url, mmproj } = withEncoder(name);
  const result = await page.evaluate(LOAD, { url, planted, options: { mmproj, selfCheck, cache: false } });
  assert.deepEqual(page.crashes, []);
  return result;
}

/** Encoders that have all kernels which the others have, too. */
const QUICK = ['qwen25vl', 'qwen3vl-deep', 'lfm3vl', 'gemma4a', 'lfm2a', 'resampler'];

for (const name of [...NAMES, ...LISTENERS]) {
  const declare = testIf(QUICK.includes(name));
  declare(`the kernels of the encoder ${name} pass`, async (t) => {
    const page = await site.open('/blank');
    const { encoders, warnings } = await loadEncoder(page, name);
    await page.evaluate(forget);
    await page.close();
    const { milliseconds, checked, ...verdict } = encoders[0].selfCheck;
    t.diagnostic(`${checked} variants`);
    assert.deepEqual(verdict, { verdict: 'passed', replaced: [], wrong: [] });
    assert.ok(checked > 1, `${checked} variants`);
    assert.deepEqual(warnings, []);
  });
}

test('a wrong kernel of an encoder is told, and what was found is remembered', async () => {
  const page = await site.open('/blank');
  const first = await loadEncoder(page, 'lfm2');
  assert.equal(first.encoders[0].selfCheck.verdict, 'passed', JSON.stringify(first.encoders));
  const second = await loadEncoder(page, 'lfm2');
  assert.equal(second.encoders[0].selfCheck.verdict, 'remembered');
  await page.evaluate(forget);
  const planted = {
    where: 'let weight = weights[first + t];',
    from: 'sum += weight * x[',
    to: 'sum += 2.0 * weight * x[',
  };
  const left = await loadEncoder(page, 'lfm2', { planted, selfCheck: false });
  assert.equal(left.encoders[0].selfCheck.verdict, 'skipped');
  const { selfCheck, encoders, warnings } = await loadEncoder(page, 'lfm2', { planted });
  await page.close();
  assert.equal(selfCheck.verdict, 'passed', 'the model has no such kernel');
  assert.equal(encoders[0].selfCheck.verdict, 'failed', JSON.stringify(encoders));
  assert.match(encoders[0].selfCheck.wrong.join(), /mix/);
  assert.equal(warnings[0]?.code, 'self_check');
  assert.match(warnings[0]?.message, /mix.*backend: 'cpu'/);
});
