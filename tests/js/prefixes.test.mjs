// What was read of prompts is kept on disk only where the disk is faster; `tests/page/prefix_cache.test.mjs` has more.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';

const { pays } = await import(`${dist}engine/prefixes.js`);

test('a prompt is kept where the GPU reads it more slowly than the disk', () => {
  const bytes = 4000 * 32_768;
  assert.equal(pays(bytes, 4000, 500), true);
  assert.equal(pays(bytes, 4000, 20_000), false);
  // Nothing is known of the speed where all was in the KV cache.
  assert.equal(pays(bytes, 4000, 0), true);
});
