// Attention on subgroup matrices, which no browser of these tests has: the kernel with a stand-in for what multiplies,
// in sizes that fill no tile. On a GPU that has them the kernel's cases run (kernels.html).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand } from '../../tools/shaders.mjs';
import { here, pageWith, replaced } from './stand_in.mjs';

const page = await pageWith('attention_matrix.js', 'dispatch.js');

/** A kernel's text with the stand-in, which has to know each thread's number in its subgroup. */
function textOf(kernel, files) {
  const text = expand(kernel, files);
  const start = 'let place = place_of(block, thread);\n';
  const withLane = replaced(text, start, `lane = thread % 32u;\n${start}`);
  const standIn = replaced(withLane, expand('shared/subgroup_matrix_16'), here('attention_matrix_stand_in.wgsl'));
  return `enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n${standIn}`;
}

const ofChunks = textOf('attention_subgroup_matrix', { cache: 'cache_f16', halves: 'halves_kept' });
const ofBatches = textOf('attention_batch_subgroup_matrix', { halves: 'halves_rounded' });

// Weights are rounded to f16, and so are queries, whose scores are of the order of 10.
function check({ worst, stray }) {
  assert.ok(worst < 4e-3, `${worst} of the largest`);
  assert.equal(stray, 0, 'nothing beside the rows is written');
}

const plain = { window: 0, softCap: 0, sinks: false, ring: false, capacity: 256 };

for (const problem of [
  { name: 'two tiles of rows, over keys that end in a step', heads: 2, kvHeads: 1, headDim: 64, rows: 70, before: 60 },
  { name: 'an odd number of matrices, a window', heads: 2, kvHeads: 2, headDim: 80, rows: 66, before: 100, window: 37 },
  {
    name: 'one matrix, capped scores and sinks',
    heads: 4,
    kvHeads: 2,
    headDim: 16,
    rows: 33,
    before: 0,
    softCap: 4,
    sinks: true,
  },
  {
    ...{ name: 'the largest heads, a ring that wraps', heads: 1, kvHeads: 1, headDim: 128, rows: 40, before: 300 },
    ...{ window: 50, ring: true, capacity: 104 },
  },
]) {
  test(problem.name, async () => {
    const given = { ...plain, ...problem, code: ofChunks };
    check(await page.evaluate(async (what) => (await import('/attention_matrix.js')).runChunk(what), given));
  });
}

test('inputs of a batch, whose heads fill no matrix', async () => {
  const given = { lengths: [40, 1, 36], heads: 2, kvHeads: 1, headDim: 72, code: ofBatches };
  check(await page.evaluate(async (what) => (await import('/attention_matrix.js')).runBatch(what), given));
});
