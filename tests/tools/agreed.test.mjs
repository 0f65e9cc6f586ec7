// npm run models: which digests are kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merged } from '../../tools/models.mjs';

const [OLD, NEW] = ['0123456789abcdef', 'fedcba9876543210'];

test('a model that agreed has its new digest, one that did not run its old one, one that is gone none', () => {
  const before = `a-f16 ${OLD}\nb-q4_0 ${OLD}\ngone-f32 ${OLD}\n`;
  const output = `a: relative error of logits at most 1e-6\nagreed: a-f16 ${NEW}\n  agreed: c-f32 ${NEW}\n`;
  const names = ['a-f16', 'b-q4_0', 'c-f32', 'never-ran'];
  assert.deepEqual(merged(before, output, names), [`a-f16 ${NEW}\n`, `b-q4_0 ${OLD}\n`, `c-f32 ${NEW}\n`]);
});

test('without digests all that agreed are kept', () => {
  assert.deepEqual(merged('', `agreed: a-f16 ${NEW}`, ['a-f16']), [`a-f16 ${NEW}\n`]);
});
