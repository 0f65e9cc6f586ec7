// Loaded models as functions that can be differentiated: their loss against what `evaluate` gives, gradients against
// PyTorch, segments against sequences by themselves, and memory.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { expectations, openSite } from './site.mjs';

const BLANK = '<!doctype html><title>trainable</title>';
const site = await openSite({
  mounts: { '/tests/': path.join(ROOT, 'tests') },
  routes: { '/blank.html': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(BLANK) },
});
const page = await site.open('/blank.html');

/** Runs `work` of `tests/js/trainable.mjs` in the page. */
async function inPage(work, argument) {
  const run = `(async () => (await import('/tests/js/trainable.mjs')).${work}(${JSON.stringify(argument)}))()`;
  const result = await page.evaluate(run);
  assert.deepEqual(page.crashes, []);
  return result;
}

test('the loss is that of evaluate', async () => {
  const only = process.env.MODELS?.split(',');
  const all = expectations().filter(({ name }) => !only || only.includes(name));
  const wrong = [];
  for (const { name, url, files } of all) {
    const start = performance.now();
    const found = await inPage('lossAndEvaluation', { urls: files.map((file) => `/fixtures/models/${file}`) });
    console.log(name, JSON.stringify(found), Math.round(performance.now() - start));
  }
  assert.deepEqual(wrong, []);
});
