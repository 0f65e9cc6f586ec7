// Faster and slower speech: its length, its pitch, its joints, and what pieces have to do with it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joined } from '../../dist/voice/resample.js';
import { TimeStretch } from '../../dist/voice/stretch.js';
import { level, RATE, spoken } from './voice.mjs';

const SPEEDS = [0.25, 0.5, 0.8, 1.25, 1.5, 2, 3, 4];

/** The sound at another speed, in pieces of these lengths, one after the other. */
function stretched(samples, rate, speed, sizes = [samples.length]) {
  const stretch = new TimeStretch(rate, speed);
  const pieces = [];
  for (let at = 0, number = 0; at < samples.length; number += 1) {
    const size = sizes[number % sizes.length];
    pieces.push(stretch.push(samples.subarray(at, at + size)));
    at += size;
  }
  return joined([...pieces, stretch.end()]);
}

const sine = (hertz, seconds, rate) =>
  Float32Array.from({ length: seconds * rate }, (_, at) => 0.5 * Math.sin((2 * Math.PI * hertz * at) / rate));

/** Hertz, by the upward crossings of zero. */
function pitchOf(samples, rate) {
  const ups = [];
  for (let at = 1; at < samples.length; at += 1) {
    const [before, here] = [samples[at - 1], samples[at]];
    if (before < 0 && here >= 0) ups.push(at - here / (here - before));
  }
  return ((ups.length - 1) / (ups.at(-1) - ups[0])) * rate;
}

/** The largest second difference: a jump of the curve or of its slope is one. */
const roughness = (samples) =>
  samples.reduce((most, sample, at) => {
    const [next, last] = [samples[at + 1] ?? sample, samples[at - 1] ?? sample];
    return at === 0 || at === samples.length - 1 ? most : Math.max(most, Math.abs(next - 2 * sample + last));
  }, 0);

test('a tone keeps its pitch within 1 %, its loudness and its smoothness; the length fits within 2 %', () => {
  for (const rate of [16_000, 32_000]) {
    for (const hertz of [97, 440, 1234]) {
      const tone = sine(hertz, 1, rate);
      for (const speed of SPEEDS) {
        const found = stretched(tone, rate, speed, [777, 12_345]);
        const name = `${hertz} Hz at ${rate}, speed ${speed}`;
        assert.ok(Math.abs((found.length * speed) / tone.length - 1) < 0.02, `${name}: ${found.length} samples`);
        assert.ok(Math.abs(pitchOf(found, rate) / hertz - 1) < 0.01, `${name}: ${pitchOf(found, rate)} Hz`);
        const most = 1.1 * roughness(tone);
        assert.ok(roughness(found) < most, `${name}: ${roughness(found)} of ${most}`);
        // No window of 20 ms is louder or softer than the tone.
        for (let at = 0; at + rate / 50 <= found.length; at += rate / 50) {
          const loud = level(found.subarray(at, at + rate / 50)) / level(tone);
          assert.ok(Math.abs(loud - 1) < 0.15, `${name}: ${loud} of the loudness at ${at}`);
        }
      }
    }
  }
});

test('where pieces end makes no difference, and speed 1 changes nothing', () => {
  const { samples } = spoken();
  for (const speed of [0.6, 1.7]) {
    const whole = stretched(samples, RATE, speed);
    for (const sizes of [[1, 5000], [160], [40_000]]) {
      assert.deepEqual(stretched(samples, RATE, speed, sizes), whole, `speed ${speed}, pieces of ${sizes}`);
    }
    assert.ok(Math.abs((whole.length * speed) / samples.length - 1) < 0.01);
    assert.ok(Math.abs(level(whole) / level(samples) - 1) < 0.1);
    // It begins and ends as the sound does, so that sentences join as they did.
    assert.deepEqual(whole.slice(0, 200), samples.slice(0, 200));
    assert.deepEqual(whole.slice(-200), samples.slice(-200));
  }
  assert.deepEqual(stretched(samples, RATE, 1, [999]), samples);
});

test('what is shorter than a window has its length', () => {
  for (const length of [0, 1, 10, 300, 640, 700, 1500]) {
    for (const speed of SPEEDS) {
      const found = stretched(new Float32Array(length).fill(0.5), RATE, speed);
      assert.ok(Math.abs(found.length - length / speed) <= 1 + 0.02 * (length / speed), `${length}: ${found.length}`);
      assert.ok(found.every((sample) => sample >= 0 && sample <= 0.5 + 1e-6));
    }
  }
});
