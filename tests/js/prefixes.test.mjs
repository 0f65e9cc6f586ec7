// What was read of prompts is kept on disk only where the disk is faster; `tests/page/prefix_cache.test.mjs` has more.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';

const { Speeds } = await import(`${dist}engine/prefixes.js`);
const BYTES = 4000 * 32_768;

test('a prompt is kept where the model reads it more slowly than the disk', () => {
  const pays = (perSecond, tokens = 4000) => {
    const speeds = new Speeds();
    speeds.sawModel(tokens, perSecond);
    return speeds.pays(BYTES, 4000);
  };
  assert.equal(pays(500), true);
  assert.equal(pays(20_000), false);
  assert.equal(pays(20_000, 10), true, 'of few tokens the speed is not known');
  assert.equal(new Speeds().pays(BYTES, 4000), true, 'nothing is known');
});

test('the speed of the disk is what was seen of it in this page', () => {
  const speeds = new Speeds();
  speeds.sawModel(4000, 1000);
  assert.equal(speeds.pays(BYTES, 4000), true);
  speeds.sawDisk(BYTES, 8000); // 16 MB a second
  assert.equal(speeds.pays(BYTES, 4000), false, 'twice as long as the model');
  speeds.sawModel(300, 200);
  assert.equal(speeds.pays(BYTES, 4000), false, 'the fastest prompt counts');
  speeds.sawDisk(BYTES, 2000);
  assert.equal(speeds.pays(BYTES, 4000), true);
  assert.equal(speeds.pays(BYTES, 1000), false, 'for a quarter of it, where memory has the others');
});

test('what does not pay is not read back from the GPU first', () => {
  const speeds = new Speeds();
  assert.equal(speeds.bytesOf(4000), 0);
  speeds.sawSize(BYTES, 4000);
  assert.equal(speeds.bytesOf(1000), BYTES / 4);
});
