// Loaded models as functions that can be differentiated: their loss against what `evaluate` gives, gradients against
// PyTorch, segments against sequences by themselves, and memory.
//
// WEBGGUF_TRAINABLE=all compares the losses of all fixtures, which takes minutes: a device in software compiles
// pipelines for a few seconds for each.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { longTest, testIf } from '../long.mjs';
import { expectations, openSite } from './site.mjs';

const BLANK = '<!doctype html><title>trainable</title>';
const site = await openSite({
  mounts: { '/tests/': path.join(ROOT, 'tests') },
  routes: { '/blank.html': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(BLANK) },
});
const page = await site.open('/blank.html');
const all = expectations();

/** What a function of `tests/js/trainable.mjs` gives in the page, of a model. */
async function inPage(work, name, more = {}) {
  const { files } = all.find((entry) => entry.name === name);
  const argument = { urls: files.map((file) => `/fixtures/models/${file}`), ...more };
  const run = `(async () => (await import('/tests/js/trainable.mjs')).${work}(${JSON.stringify(argument)}))()`;
  const result = await page.evaluate(run);
  assert.deepEqual(page.crashes, []);
  return result;
}

/** One model per kind of operation: fused and stacked weights, positions, caps, windows, activations, temperatures. */
const HERE = ['gemma2-q4_0', 'phi3-f16', 'gptneox-f16', 'mistral3-q8_0', 'apertus-f16'];

/** What has no gradients, each with a model that has it. */
const REFUSED = {
  experts: 'mixtral-f32',
  'recurrent layers': 'lfm2-bf16',
  'heads of more than 256 values': 'gemma4-q8_0',
};

const asked = process.env.WEBGGUF_TRAINABLE;
const chosen = asked === 'all' ? all.map(({ name }) => name) : (asked?.split(',') ?? HERE);

testIf(asked !== undefined)('the loss is the mean of what evaluate gives', async () => {
  const wrong = [];
  for (const name of chosen) {
    const { error, loss, expected } = await inPage('lossAndEvaluation', name);
    if (error?.startsWith('unsupported_architecture') && !HERE.includes(name)) console.log(`${name}: ${error}`);
    // Keys and values of `evaluate` are f16.
    else if (!(Math.abs(loss - expected) < 1e-3)) wrong.push(`${name}: ${error ?? `${loss}, not ${expected}`}`);
  }
  assert.deepEqual(wrong, []);
});

longTest('models with other operations are refused, with the name of what has no gradient', async () => {
  for (const [what, name] of Object.entries(REFUSED)) {
    const { error } = await inPage('lossAndEvaluation', name);
    assert.equal(error, `unsupported_architecture: training: there are no gradients for ${what}`, name);
  }
});

const FIXTURE = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests', 'fixtures', 'trainable.json'), 'utf8'));

for (const [name, { ids, targets, ...expected }] of Object.entries(FIXTURE.models)) {
  testIf(name.startsWith('llama'))(`${name}: gradients of adapters on all products are PyTorch's`, async () => {
    const { rank, scale, samples } = FIXTURE;
    const found = await inPage('gradients', name, { rank, scale, ids, targets, samples });
    assert.equal(found.error, undefined);
    assert.ok(Math.abs(found.loss - expected.loss) < 1e-4 * expected.loss, `${found.loss}, not ${expected.loss}`);
    assert.deepEqual(Object.keys(found.gradients).sort(), Object.keys(expected.gradients).sort());
    for (const [weight, pair] of Object.entries(expected.gradients)) {
      for (const [matrix, { norm, values }] of Object.entries(pair)) {
        const own = found.gradients[weight][matrix];
        assert.ok(Math.abs(own.norm / norm - 1) < 1e-3, `${weight} ${matrix}: norm ${own.norm}, not ${norm}`);
        const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
        const at = values.findIndex((value, i) => !(Math.abs(own.values[i] - value) <= 1e-3 * most));
        assert.equal(at, -1, `${weight} ${matrix}: value ${at} is ${own.values[at]}, not ${values[at]}`);
        assert.equal(own.values.length, values.length);
      }
    }
    assert.ok(found.isSame, 'the model itself has changed');
  });
}

longTest('examples side by side are what they are by themselves', async () => {
  const { error, one, apart, mixed } = await inPage('segments', 'olmo3-q4_0');
  assert.equal(error, undefined);
  const most = apart.slice(1).reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  assert.ok(Math.abs(one[0] - apart[0]) < 1e-4, `the loss is ${one[0]}, not ${apart[0]}`);
  assert.ok(Math.abs(mixed[0] - apart[0]) > 1e-3, 'without segments examples see each other');
  const at = apart.findIndex((value, i) => i > 0 && !(Math.abs(one[i] - value) <= 1e-3 * most));
  assert.equal(at, -1, `gradient ${at} is ${one[at]}, not ${apart[at]}`);
});

test('wrong batches and adapters are refused', async () => {
  const found = await inPage('refusals', 'gpt2-q8_0');
  assert.match(
    found.rows,
    /^invalid_argument: loss: targets is \[1, 2\] i32, expected \[batch, length\] i32; ids is \[1, 3\]/,
  );
  assert.match(found.type, /^invalid_argument: loss: ids is \[1, 3\] i32, expected \[batch, length\] u32/);
  assert.match(found.name, /^invalid_argument: loss: adapters: the model has no weight 'blk.9.attn_q.weight'/);
  assert.match(found.shape, /^invalid_argument: loss: adapters: a and b of blk.0.attn_qkv.weight are \[2, 5\] f32/);
  assert.match(found.scale, /^invalid_argument: loss: scale must be a number, found NaN/);
  assert.match(found.segments, /^invalid_argument: loss: the model counts positions from the start of a row/);
});

test('nothing is left of ten losses and gradients', async () => {
  const { error, before, left } = await inPage('tensorsLeft', 'gemma2-bf16');
  assert.equal(error, undefined);
  assert.ok(before > 0);
  assert.equal(left, 0);
});
