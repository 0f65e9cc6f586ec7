// When the page of answers says that a model agrees with llama.cpp.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareForced, compareGreedy, nearTieWhereRounded } from '../../www/answers/compare.js';

const wanted = { greedy: [1, 2, 3, 4], greedy_margin: [0.5, 0.06, 0.004, 0.5] };

test('greedy ids may differ where the lead is small, and in their number never', () => {
  assert.deepEqual(compareGreedy([1, 2, 3, 4], wanted), { equal: 4, of: 4, agrees: true });
  assert.deepEqual(compareGreedy([1, 2, 9, 9], wanted), { equal: 2, of: 4, agrees: true });
  assert.deepEqual(compareGreedy([1, 9, 9, 9], wanted), { equal: 1, of: 4, agrees: false });
  assert.deepEqual(compareGreedy([1, 2, 3], wanted), { equal: 3, of: 4, agrees: false });
  assert.deepEqual(compareGreedy([1, 2], wanted, { count: 2 }), { equal: 2, of: 2, agrees: true });
});

test('with rounded activations a lead is small where llama.cpp’s own rounding may turn it', () => {
  const nearTie = nearTieWhereRounded({ rounding: { native: { mean_abs_logprob: 0.04 } } });
  assert.equal(nearTie, 0.08);
  assert.ok(compareGreedy([1, 9, 9, 9], wanted, { nearTie }).agrees);
  assert.ok(!compareGreedy([9, 2, 3, 4], wanted, { nearTie }).agrees);
  for (const entry of [{}, { rounding: { native: { mean_abs_logprob: 0.001 } } }]) {
    assert.equal(nearTieWhereRounded(entry), 0.005);
  }
});

test('log-probabilities must be near, and NaN is near to nothing', () => {
  const given = { top1: [1, 2], logprobs: [-1, -2], margin: [0.5, 0.5] };
  assert.ok(compareForced({ top1: [1, 2], logprobs: [-1.001, -2] }, given).agrees);
  assert.ok(!compareForced({ top1: [1, 2], logprobs: [-1.1, -2] }, given).agrees);
  assert.ok(!compareForced({ top1: [1, 2], logprobs: [Number.NaN, -2] }, given).agrees);
  assert.ok(!compareForced({ top1: [1, 3], logprobs: [-1, -2] }, given).agrees);
});
