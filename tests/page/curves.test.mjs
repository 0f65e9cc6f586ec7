// How models learn beside PyTorch and PEFT, which tools/oracle/make_curves.py lets train the same: the loss of each
// step, and the matrices and moments after the last one; of texts, and of pairs of which one is preferred.
//
// WEBGGUF_TRAINABLE=all compares all models of the fixture, which takes a device in software a minute and a half more.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { ALL, longTest } from '../long.mjs';
import { openSite } from './site.mjs';

const BLANK = '<!doctype html><title>curves</title>';
const site = await openSite({
  routes: { '/blank.html': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(BLANK) },
});
const page = await site.open('/blank.html');
const FIXTURE = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests', 'fixtures', 'curves.json'), 'utf8'));

/** How far a loss may be from that of PyTorch at the same step, relative to it; norms and matrices, too. */
const SHARE = 0.005;
const HERE = 'llama-f32';
const isAsked = process.env.WEBGGUF_TRAINABLE === 'all';

/** Trains a fixture on examples whose words are numbers of tokens; gives its steps and what is kept of it. */
async function trained({ name, texts, recipe, run }) {
  const { WasmModel } = await import('/dist/index.js');
  const { LocalHost } = await import('/dist/training/language/local-host.js');
  const { openTrainable } = await import('/dist/training/language/open.js');
  const { TrainingStore } = await import('/dist/training/language/saved.js');
  const { Trainer } = await import('/dist/training/language/trainer.js');
  const model = await WasmModel.load(`/fixtures/models/${name}.gguf`, { backend: 'webgpu', selfCheck: false });
  const base = { ...model.info, digest: '' };
  const host = await model.withEngine('train', (engine) =>
    LocalHost.open({ base, options: { ...recipe, name: 'curve' }, openModel: () => openTrainable(engine) }),
  );
  const tokenize = async (text) => Uint32Array.from(text.match(/\d+/g) ?? [0], Number);
  const t = new Trainer({ info: { contextLength: model.info.contextLength }, tokenize }, host);
  const steps = [];
  const began = performance.now();
  for await (const { loss, gradientNorm, accuracy } of t.run(texts, { ...run, saveEvery: 1e6 })) {
    steps.push({ loss, norm: gradientNorm, accuracy });
  }
  const seconds = (performance.now() - began) / 1000;
  await t.free();
  await model.free();
  const store = await TrainingStore.open('curve');
  const { kept, copy } = await store.read();
  store.release();
  const { targets } = kept;
  const plain = (list) => list.map((values) => [...values]);
  return { steps, seconds, targets, matrices: plain(copy.matrices), moments: plain(copy.moments) };
}

const normOf = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

/** How far numbers are from those expected, relative to these, at most; fails where that is too far. */
function compared(what, pairs) {
  const worst = pairs.reduce((most, [own, expected]) => Math.max(most, Math.abs(own / expected - 1)), 0);
  const at = pairs.findIndex(([own, expected]) => !(Math.abs(own / expected - 1) <= SHARE));
  assert.equal(at, -1, `${what} ${at + 1}: ${pairs[at]}`);
  return worst;
}

/** The same for matrices: their norms, and some values relative to the mean of the matrix. */
function comparedMatrices(what, targets, matrices, expected) {
  const named = targets.flatMap(({ name }) => [
    [`${name} a`, expected[name].a],
    [`${name} b`, expected[name].b],
  ]);
  const each = named.map(([name, { norm, values }], at) => {
    const own = matrices[at];
    const step = Math.max(Math.floor(own.length / FIXTURE.samples), 1);
    const found = own.filter((_, i) => i % step === 0);
    assert.equal(found.length, values.length, name);
    const mean = norm / Math.sqrt(own.length);
    const shifted = found.map((value, i) => [1 + (value - values[i]) / mean, 1]);
    return compared(`${what} of ${name}: values`, [[normOf(own), norm], ...shifted]);
  });
  return Math.max(...each);
}

const after = (ids) => ` ${ids.join(' ')}`;
const ofSteps = (steps, key, list) => steps.map((step, at) => [step[key], list[at]]);

for (const [name, { learningRate, examples, ...expected }] of Object.entries(FIXTURE.models)) {
  const skip = !isAsked && !(ALL && name === HERE);
  test(`${name}: 100 steps are those of PyTorch and PEFT`, { skip }, async (context) => {
    const { recipe, run } = FIXTURE;
    const texts = examples.map(({ ids, prompt }) => ({
      prompt: ids.slice(0, prompt).join(' '),
      completion: after(ids.slice(prompt)),
    }));
    const argument = { name, texts, recipe: { ...recipe, learningRate }, run };
    const { steps, seconds, targets, matrices, moments } = await page.evaluate(trained, argument);
    assert.deepEqual(page.crashes, []);
    assert.deepEqual([steps.length, expected.losses.length], [100, 100]);
    const off = {
      losses: compared('the loss of step', ofSteps(steps, 'loss', expected.losses)),
      norms: compared('the norm of the gradients of step', ofSteps(steps, 'norm', expected.norms)),
      matrices: comparedMatrices('matrices', targets, matrices, expected.matrices),
    };
    for (const [at, what] of ['means', 'squares'].entries()) {
      const own = moments.filter((_, i) => i % 2 === at);
      off[what] = comparedMatrices(what, targets, own, expected[what]);
    }
    const shown = Object.entries(off).map(([what, share]) => `${what} ${(100 * share).toFixed(4)} %`);
    context.diagnostic(`${seconds.toFixed(1)} s; off by at most: ${shown.join(', ')}`);
  });
}

longTest('preferences are learned as the formula says with PyTorch', async (context) => {
  const { model, beta, learningRate, steps: count, pairs, ...expected } = FIXTURE.preferences;
  const texts = pairs.map(({ prompt, chosen, rejected }) => ({
    prompt: prompt.join(' '),
    chosen: after(chosen),
    rejected: after(rejected),
  }));
  const run = { loss: 'dpo', beta, batch: 1, accumulate: 2, epochs: (2 * count) / pairs.length, length: 32 };
  const argument = { name: model, texts, recipe: { ...FIXTURE.recipe, learningRate }, run };
  const { steps, seconds, targets, matrices } = await page.evaluate(trained, argument);
  assert.deepEqual(page.crashes, []);
  assert.deepEqual([steps.length, expected.losses.length], [count, count]);
  const off = {
    losses: compared('the loss of step', ofSteps(steps, 'loss', expected.losses)),
    norms: compared('the norm of the gradients of step', ofSteps(steps, 'norm', expected.norms)),
    matrices: comparedMatrices('matrices', targets, matrices, expected.matrices),
  };
  assert.deepEqual(
    steps.slice(1).map(({ accuracy }) => accuracy),
    expected.accuracies.slice(1),
  );
  const shown = Object.entries(off).map(([what, share]) => `${what} ${(100 * share).toFixed(4)} %`);
  context.diagnostic(`${seconds.toFixed(1)} s; off by at most: ${shown.join(', ')}`);
});
