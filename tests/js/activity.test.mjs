// Where somebody speaks: made sounds without speech, and a spoken one beside noise, quiet, loud and by telephone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VoiceActivity } from '../../dist/voice/activity.js';
import { speechIn } from '../../dist/voice/index.js';
import { joined, Resampler, resampled } from '../../dist/voice/resample.js';
import { Ring } from '../../dist/voice/ring.js';
import { hum, keys, level, mixed, music, noise, RATE, random, SENTENCES, spoken, tone } from './voice.mjs';

const telephone = spoken();
const speech = resampled(telephone.samples, telephone.sampleRate, RATE);

/** Both sentences are found, to a third of a second. */
function bothSentences(spans, what) {
  assert.equal(spans.length, 2, `${what}: ${JSON.stringify(spans)}`);
  spans.forEach(({ start, end, speech: share }, number) => {
    const [from, to] = SENTENCES[number];
    assert.ok(Math.abs(start - from) < 0.35, `${what}: begins at ${start}, expected ${from}`);
    assert.ok(Math.abs(end - to) < 0.35, `${what}: ends at ${end}, expected ${to}`);
    assert.ok(share > 0.2 && share <= 1, `${what}: ${share}`);
  });
}

for (const [name, samples] of Object.entries({
  nothing: new Float32Array(0),
  'less than a frame': new Float32Array(200).fill(0.5),
  silence: new Float32Array(5 * RATE),
  'a tone': tone(5),
  'a tone that begins and ends': tone(5, [1.03, 3.01]),
  'white noise': noise(5, 0.2),
  'white noise that begins': joined([noise(2, 0.001), noise(2, 0.2), noise(2, 0.001)]),
  'white noise that grows': noise(8, 0.3).map((value, at) => (value * at) / (8 * RATE)),
  'a hum': hum(5),
  'keys of a telephone': keys(5),
  'an organ': music(8, 0),
  'a piano': music(8, 3),
  clicks: noise(5, 0.8).map((value, at) => (at % 4000 < 20 ? value : 0)),
  'what is no number': new Float32Array(2 * RATE).fill(NaN),
})) {
  test(`${name} is no speech`, () => assert.deepEqual(speechIn(samples, RATE), []));
}

test('sentences are found, whatever the rate and however loud', () => {
  bothSentences(speechIn(telephone.samples, telephone.sampleRate), '8 kHz');
  bothSentences(speechIn(speech, RATE), '16 kHz');
  bothSentences(speechIn(resampled(speech, RATE, 44100), 44100), '44.1 kHz');
  for (const gain of [0.02, 5])
    bothSentences(
      speechIn(
        speech.map((value) => gain * value),
        RATE,
      ),
      `times ${gain}`,
    );
});

test('sentences are found in noise and above a hum', () => {
  for (const decibels of [20, 10]) {
    const hiss = noise(8, 1);
    const gain = level(speech) / level(hiss) / 10 ** (decibels / 20);
    bothSentences(
      speechIn(
        mixed(
          speech,
          hiss.map((value) => gain * value),
        ),
        RATE,
      ),
      `${decibels} dB`,
    );
  }
  bothSentences(
    speechIn(
      mixed(
        speech,
        hum(8).map((value) => 0.05 * value),
      ),
      RATE,
    ),
    'hum',
  );
});

test('a longer silence makes one speech of both, and padding moves its ends', () => {
  const [whole, ...others] = speechIn(speech, RATE, { silence: 1.2 });
  assert.equal(others.length, 0);
  const [bare] = speechIn(speech, RATE, { silence: 1.2, padding: 0 });
  assert.ok(Math.abs(bare.start - whole.start - 0.2) < 0.01 && Math.abs(whole.end - bare.end - 0.2) < 0.01);
  assert.throws(() => speechIn(speech, RATE, { silence: 9 }), {
    code: 'invalid_argument',
    message: /silence.*0\.1 to 5.*9/,
  });
  assert.throws(() => speechIn(speech, 10), { code: 'invalid_argument', message: /1000 to 768000, found 10/ });
});

test('pieces of any size give the same changes', () => {
  const inPieces = (size) => {
    const activity = new VoiceActivity();
    const changes = [];
    for (let at = 0; at < speech.length; at += size) changes.push(...activity.push(speech.subarray(at, at + size)));
    return [...changes, ...activity.end()];
  };
  assert.deepEqual(inPieces(1000), inPieces(speech.length));
  assert.deepEqual(inPieces(77), inPieces(speech.length));
  assert.equal(inPieces(128).length, 4);
});

test('resampling keeps tones below the new limit and takes away those above it', () => {
  const sine = (hertz, rate) =>
    Float32Array.from({ length: rate }, (_, at) => Math.sin((2 * Math.PI * hertz * at) / rate));
  for (const [from, to] of [
    [48000, 16000],
    [44100, 16000],
    [8000, 16000],
    [24000, 44100],
  ]) {
    const found = resampled(sine(1000, from), from, to);
    assert.equal(found.length, to, `${from} to ${to}`);
    const wanted = sine(1000, to);
    const worst = found
      .slice(200, -200)
      .reduce((most, value, at) => Math.max(most, Math.abs(value - wanted[at + 200])), 0);
    assert.ok(worst < 0.01, `${from} to ${to}: apart by ${worst}`);
  }
  assert.ok(level(resampled(sine(11000, 48000), 48000, 16000).slice(100, -100)) < 0.01);
});

test('resampling does not depend on the pieces', () => {
  const next = random(3);
  const sound = Float32Array.from({ length: 9001 }, next);
  const whole = resampled(sound, 44100, 16000);
  const resampler = new Resampler(44100, 16000);
  const parts = [];
  for (let at = 0; at < sound.length; at += 97) parts.push(resampler.push(sound.subarray(at, at + 97)));
  parts.push(resampler.end());
  const found = joined(parts);
  assert.equal(found.length, whole.length);
  assert.ok(found.every((value, at) => Math.abs(value - whole[at]) < 1e-6));
});

test('a ring keeps the last samples, and no more', () => {
  const ring = new Ring(10);
  for (let at = 0; at < 100; at += 7) ring.push(Float32Array.from({ length: 7 }, (_, number) => at + number));
  assert.deepEqual([ring.capacity, ring.first, ring.end], [10, 95, 105]);
  assert.deepEqual([...ring.slice(95, 105)], [95, 96, 97, 98, 99, 100, 101, 102, 103, 104]);
  assert.deepEqual([...ring.slice(0, 97)], [95, 96]);
  ring.push(Float32Array.from({ length: 23 }, (_, number) => 105 + number));
  assert.deepEqual([...ring.slice(118, 121)], [118, 119, 120]);
  assert.throws(() => ring.slice(120, 129), { code: 'invalid_argument' });
});
