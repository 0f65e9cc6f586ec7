// Products on subgroup matrices, which no browser of these tests has: the kernel with a stand-in for what multiplies,
// in sizes that fill no tile. On a GPU that has them the kernel's cases run (kernels.html).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand } from '../../tools/shaders.mjs';
import { here, pageWith, replaced } from './stand_in.mjs';

const STAND_IN = here('subgroup_matrix_stand_in.wgsl');

const page = await pageWith('subgroup_matrix.js', 'dispatch.js');

/** The kernel's text. */
function textOf({ type, packed, shape, tiling }) {
  const files = { weights: `weights_${type}`, packed: `packed_${packed}`, shape: `shape_${shape}` };
  const text = expand('mat_mul_subgroup_matrix', { ...files, tiling: `tiling_${tiling}` });
  const start = 'var sums: Sums;\n';
  const withLane = replaced(text, start, `lane = thread % 32u;\n${start}`);
  return replaced(withLane, expand('shared/subgroup_matrix'), STAND_IN);
}

/** Rows of W, and tokens, of a workgroup: the constants of a tiling by the sides of a matrix. */
function tileOf({ tiling, shape }) {
  const text = expand(`shared/tiling_${tiling}`);
  const constant = (name) => Number(new RegExp(`const ${name} = (\\d+)u;`).exec(text)[1]);
  const [m, n] = shape.split('x').map(Number);
  return {
    rows: constant('GROUPS_ACROSS') * constant('ACROSS') * n,
    tokens: constant('GROUPS_DOWN') * constant('DOWN') * m,
  };
}

for (const product of [
  { type: 'q4_0', packed: 'nibbles', tiling: 'large', shape: '8x8x8', rows: 70, cols: 96, tokens: 67, added: true },
  { type: 'q8_0', packed: 'words', tiling: 'eight', shape: '8x16x16', rows: 133, cols: 224, tokens: 66, added: false },
  { type: 'f16', packed: 'halves', tiling: 'narrow', shape: '8x8x8', rows: 37, cols: 160, tokens: 70, added: true },
  { type: 'q4_0', packed: 'words', tiling: 'small', shape: '16x16x16', rows: 65, cols: 32, tokens: 3, added: true },
]) {
  const { type, packed, tiling, shape, rows, cols, tokens } = product;
  test(`${rows} × ${cols} in ${type} for ${tokens} tokens: ${packed}, ${tiling}, ${shape}`, async () => {
    const given = { ...product, code: textOf(product), tile: tileOf(product) };
    const { worst, stray } = await page.evaluate(
      async (what) => (await import('/subgroup_matrix.js')).run(what),
      given,
    );
    assert.ok(worst < 2e-6, `${worst} of the largest`);
    assert.equal(stray, 0, 'nothing beside the product is written');
  });
}
