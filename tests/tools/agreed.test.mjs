// npm run agreed: which digests are kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merged } from '../../tools/agreed.mjs';

const [OLD, NEW] = ['0123456789abcdef', 'fedcba9876543210'];

test('what agreed has its new digest, what was known its old one; what is gone has none after a whole run', () => {
  const before = `a-f16 ${OLD}\nb-q4_0 ${OLD}\ngone-f32 ${OLD}\n`;
  const output =
    `a-f16: relative error of logits at most 1e-6\nagreed: a-f16 ${NEW}\n  agreed: c-f32 ${NEW}\n` +
    `b-q4_0: as it was when it agreed\n`;
  const kept = [`a-f16 ${NEW}\n`, `b-q4_0 ${OLD}\n`, `c-f32 ${NEW}\n`];
  assert.deepEqual(merged(before, output, true), kept);
  assert.deepEqual(merged(before, output, false), [...kept, `gone-f32 ${OLD}\n`]);
});

test('without digests all that agreed are kept', () => {
  assert.deepEqual(merged('', `agreed: a-f16 ${NEW}`, true), [`a-f16 ${NEW}\n`]);
});
