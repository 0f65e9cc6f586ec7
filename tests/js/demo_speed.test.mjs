// The chart of the demo's speed: tokens come in bursts, and no point of it says what nobody measured.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodingWords } from '../../www/demo/words.js';
import { smoothed, topOf } from '../../www/demo/speed.js';

test('bursts are no speed', () => {
  const bursts = Array.from({ length: 60 }, (_, at) => (at % 4 === 0 ? 480 : 115));
  const points = smoothed(bursts);
  const mean = bursts.reduce((sum, value) => sum + value, 0) / bursts.length;
  for (const point of points) assert.ok(Math.abs(point - mean) < 0.35 * mean, `${point} beside ${mean}`);
  assert.ok(topOf(points) < 1.5 * mean, `${topOf(points)}`);
  assert.equal(points.length, bursts.length);
  assert.deepEqual(smoothed([10, 20]).length, 2);
});

test('the top of the chart is round, and not far above', () => {
  for (const most of [0.4, 1, 7.2, 9.9, 37, 206, 999, 12_345]) {
    const top = topOf([most]);
    assert.ok(top >= most && top <= Math.max(1, 1.5 * most), `${top} for ${most}`);
  }
});

test('reading a prompt is said in tokens', () => {
  const progress = { stage: 'prefill', loaded: 1024, total: 4000, fraction: 0.256 };
  assert.equal(encodingWords(progress, []), 'reading 1,024 of 4,000 tokens');
});
