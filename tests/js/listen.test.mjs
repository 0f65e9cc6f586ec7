// Listening without a browser: events, words that become stable, aborting at any point, microphones that are not there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Listening, listen } from '../../dist/voice/index.js';
import { quietest } from '../../dist/voice/cut.js';
import { LiveWords } from '../../dist/voice/live.js';
import { Ring } from '../../dist/voice/ring.js';
import { agreed, appended, textOf, wordsOf } from '../../dist/voice/words.js';
import { noise, pieces, RATE, SECOND, SENTENCES, spoken } from './voice.mjs';

const speech = spoken();

/** Writes as many words as it gets half seconds of sound, and keeps what it was given. */
function counting() {
  const calls = [];
  const ears = async ({ samples, sampleRate }, options) => {
    calls.push({ seconds: samples.length / sampleRate, ...options });
    const count = Math.round((2 * samples.length) / sampleRate);
    return Array.from({ length: count }, (_, at) => `word${at}`).join(' ');
  };
  return { calls, ears };
}

test('a speech begins, has words that become stable, ends, and is written down', async () => {
  const { calls, ears } = counting();
  const levels = [];
  const seen = [];
  const listening = await listen(pieces(speech, 400), {
    ...{ model: ears, language: 'en', every: 0.5, onLevel: (level) => levels.push(level) },
    ...{ onSpeech: () => seen.push('speech'), onFinal: ({ text }) => seen.push(text) },
  });
  const events = [];
  for await (const event of listening) events.push(event);
  await listening.done;
  const kinds = events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
  assert.deepEqual(
    kinds.filter((type) => type !== 'partial'),
    ['speech', 'silence', 'final', 'speech', 'silence', 'final'],
  );
  const finals = events.filter(({ type }) => type === 'final');
  finals.forEach(({ start, end, text }, number) => {
    const [from, to] = SENTENCES[number];
    assert.ok(Math.abs(start - from) < 0.35 && Math.abs(end - to) < 0.35, `${start} to ${end}`);
    assert.equal(text.split(' ').length, Math.round(2 * (end - start)));
  });
  const sounds = events.filter(({ type }) => type === 'silence').map(({ sound }) => sound);
  assert.ok(sounds.every(({ samples, sampleRate }) => sampleRate === RATE && samples.length > 1.5 * RATE));
  assert.ok(calls.every(({ language, signal }) => language === 'en' && signal instanceof AbortSignal));
  assert.deepEqual(seen, ['speech', finals[0].text, 'speech', finals[1].text]);
  assert.ok(levels.length > 100 && Math.max(...levels) > 0.05 && Math.min(...levels) === 0);
});

test('two voices: what they say at the same time is one speech, whoever is louder', async () => {
  const { samples: other, sampleRate } = spoken(SECOND);
  const length = other.length / sampleRate;
  for (const gain of [0.3, 1, 2]) {
    for (const at of [0.2, 1, 2, 3.4, 5, 6.9]) {
      const mixed = new Float32Array(Math.max(speech.samples.length, (at + length + 1) * sampleRate));
      mixed.set(speech.samples);
      other.forEach((value, number) => (mixed[Math.round(at * sampleRate) + number] += gain * value));
      const { calls, ears } = counting();
      const finals = [];
      const onFinal = ({ start, end }) => finals.push([start, end]);
      await (await listen(pieces({ samples: mixed, sampleRate }, 400), { model: ears, onFinal })).done;
      // Speeches that are less than half a second apart are one.
      const wanted = [];
      for (const [from, to] of [...SENTENCES, [at, at + length]].sort(([a], [b]) => a - b)) {
        const last = wanted.at(-1);
        if (last && from - last[1] < 0.5) last[1] = Math.max(last[1], to);
        else wanted.push([from, to]);
      }
      const name = `gain ${gain} at ${at}: ${JSON.stringify(finals)}, expected ${JSON.stringify(wanted)}`;
      assert.equal(finals.length, wanted.length, name);
      const apart = finals.flatMap(([from, to], number) => [from - wanted[number][0], to - wanted[number][1]]);
      assert.ok(
        apart.every((seconds) => Math.abs(seconds) < 0.4),
        name,
      );
      assert.ok(calls.length >= finals.length);
    }
  }
});

test('partial words: stable where two transcriptions agree', async () => {
  const ring = new Ring(30 * RATE);
  const events = [];
  const says = ['The quick', 'the quick brawn', 'The quick brown fox', 'The quick brown fox jumps.'];
  const { signal } = new AbortController();
  const ears = async () => says.shift();
  const fail = (error) => assert.fail(error);
  const words = new LiveWords(ring, { ears, every: 1, asked: {}, signal, fail, emit: (event) => events.push(event) });
  words.begin(0);
  for (let second = 0; second < 3; second += 1) {
    ring.push(noise(1, 0.1));
    words.grow();
    await words.settled();
  }
  words.over(ring.end);
  await words.settled();
  assert.deepEqual(events, [
    { type: 'partial', text: 'The quick', stable: '', start: 0 },
    { type: 'partial', text: 'the quick brawn', stable: 'the quick', start: 0 },
    { type: 'partial', text: 'The quick brown fox', stable: 'The quick', start: 0 },
    { type: 'final', text: 'The quick brown fox jumps.', start: 0, end: 3 },
  ]);
});

test('a long speech is cut where it is quiet, and words that two windows share are there once', async () => {
  const ring = new Ring(30 * RATE);
  const finals = [];
  const lengths = [];
  const says = ['one two three four', 'Three, four five'];
  const ears = async ({ samples }) => {
    lengths.push(samples.length / RATE);
    return says.shift();
  };
  const fail = (error) => assert.fail(error);
  const emit = (event) => event.type === 'final' && finals.push(event);
  const words = new LiveWords(ring, { ears, every: 99, asked: {}, signal: AbortSignal.any([]), fail, emit });
  words.begin(0);
  for (let second = 0; second < 30; second += 1) {
    ring.push(noise(1, second === 18 ? 0.001 : 0.1));
    words.grow();
  }
  words.over(ring.end);
  await words.settled();
  assert.deepEqual(
    finals.map(({ text, start, end }) => [text, start, end]),
    [['one two three four five', 0, 30]],
  );
  assert.ok(lengths[0] > 18 && lengths[0] < 20, `cut at ${lengths[0]}`);
  assert.ok(lengths[1] > 10 && lengths[1] < 12.5, `then ${lengths[1]}`);
  assert.equal(lengths.length, 2);
  const gap = Float32Array.from(noise(2, 0.1), (value, at) => (at > 1.5 * RATE && at < 1.7 * RATE ? 0 : value));
  assert.ok(Math.abs(quietest(gap) / RATE - 1.6) < 0.06);
});

test('of a model that never answers two minutes of speech wait, and no more', async () => {
  const ring = new Ring(30 * RATE);
  const control = new AbortController();
  const finals = [];
  const ears = (_, { signal }) => new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)));
  const { signal } = control;
  const emit = (event) => finals.push(event);
  const words = new LiveWords(ring, { ears, every: 1, asked: {}, signal, fail: () => {}, emit });
  for (let minute = 0; minute < 30; minute += 1) {
    for (let part = 0; part < 6; part += 1) {
      words.begin(ring.end);
      ring.push(new Float32Array(10 * RATE));
      words.over(ring.end);
      assert.ok(words.waiting <= 120 * RATE, `${words.waiting} samples wait`);
    }
  }
  assert.equal(finals.length, 180 - 12, 'speeches that nobody wrote down are told');
  assert.ok(finals.every(({ text }) => text === ''));
  control.abort();
  await words.settled();
});

test('words: of languages with and without spaces', () => {
  assert.deepEqual(wordsOf(' “Hello, world!” It’s 5.'), ['“Hello, ', 'world!” ', 'It’s ', '5.']);
  assert.equal(textOf(wordsOf('你好，世界。')), '你好，世界。');
  assert.ok(wordsOf('你好，世界。').length > 1);
  assert.deepEqual(wordsOf(''), []);
  assert.equal(agreed(wordsOf('Hello world'), wordsOf('hello, World again')), 2);
  assert.equal(agreed(wordsOf('Hello'), wordsOf('Help')), 0);
  const put = (one, other) => textOf(appended(wordsOf(one), wordsOf(other)));
  assert.equal(put('One two.', 'Three'), 'One two. Three');
  assert.equal(put('One two three', 'two three four'), 'One two three four');
  assert.equal(put('你好', '世界'), '你好世界');
  assert.equal(put('', 'One'), 'One');
});

test('stopping writes down what is under way', async () => {
  const { ears } = counting();
  let begun;
  const speaking = new Promise((resolve) => (begun = resolve));
  async function* endless() {
    yield* pieces(speech);
    await new Promise(() => {});
  }
  const finals = [];
  const listening = await listen(endless(), {
    model: ears,
    silence: 5,
    onSpeech: begun,
    onFinal: (event) => finals.push(event),
  });
  await speaking;
  await listening.stop();
  assert.equal(finals.length, 1);
  assert.equal(listening.isSpeech, false);
});

test('aborting ends it wherever it is', async () => {
  await assert.rejects(listen(pieces(speech), { signal: AbortSignal.abort() }), { name: 'AbortError' });
  for (const kind of ['onLevel', 'onSpeech', 'onSilence', 'onPartial', 'onFinal']) {
    const control = new AbortController();
    let left = false;
    async function* sound() {
      try {
        yield* pieces(speech, 400);
        await new Promise(() => {});
      } finally {
        left = true;
      }
    }
    const options = { model: counting().ears, every: 0.3, [kind]: () => control.abort(), signal: control.signal };
    const listening = await listen(sound(), options);
    const events = [];
    const read = (async () => {
      for await (const event of listening) events.push(event);
    })();
    await assert.rejects(listening.done, { name: 'AbortError' }, kind);
    await assert.rejects(read, { name: 'AbortError' }, kind);
    // At `onFinal` the sound is at its end, where nothing can be given back.
    if (kind === 'onLevel') assert.equal(left, true);
  }
});

test('what the model or a callback throws ends it', async () => {
  const broken = await listen(pieces(speech), { model: async () => Promise.reject(new Error('deaf')) });
  await assert.rejects(broken.done, { message: 'deaf' });
  const thrown = await listen(pieces(speech), {
    onSpeech: () => {
      throw new Error('mine');
    },
  });
  await assert.rejects(thrown.done, { message: 'mine' });
  const wrong = await listen(
    (async function* () {
      yield { samples: [1, 2] };
    })(),
  );
  await assert.rejects(wrong.done, { code: 'invalid_argument', message: /expected pieces/ });
});

test('half an hour of quiet goes through', async () => {
  let count = 0;
  const second = noise(1, 0.01);
  async function* long() {
    for (; count < 1800; count += 1) yield { samples: second, sampleRate: RATE };
  }
  const listening = await listen(long());
  await listening.done;
  assert.equal(count, 1800);
  assert.ok(listening instanceof Listening);
});

/** Runs `work` with a microphone that does what `getUserMedia` says. */
async function withMicrophone(mediaDevices, work) {
  const there = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  Object.defineProperty(globalThis, 'navigator', { value: { mediaDevices }, configurable: true });
  try {
    await work();
  } finally {
    if (there) Object.defineProperty(globalThis, 'navigator', there);
    else delete globalThis.navigator;
  }
}

test('a microphone that is refused, missing or taken is an error with its own code', async () => {
  for (const [name, message] of Object.entries({
    NotAllowedError: /was refused \(NotAllowedError\)/,
    NotFoundError: /is not there/,
    NotReadableError: /another program/,
    StrangeError: /cannot be used: why/,
  })) {
    const getUserMedia = async () => Promise.reject(new DOMException('why', name));
    await withMicrophone({ getUserMedia }, () =>
      assert.rejects(listen({ microphone: true }), { code: 'microphone_unavailable', message }),
    );
  }
  await withMicrophone(undefined, () =>
    assert.rejects(listen({ microphone: true }), { code: 'microphone_unavailable', message: /https/ }),
  );
  const silent = { getAudioTracks: () => [], getTracks: () => [] };
  const listening = await listen(silent);
  await assert.rejects(listening.done, { code: 'microphone_unavailable', message: /0 tracks/ });
});

test('an abort while the microphone is asked for gives it back', async () => {
  const control = new AbortController();
  let stopped = 0;
  const stream = { getAudioTracks: () => [], getTracks: () => [{ stop: () => (stopped += 1) }] };
  const getUserMedia = async (wanted) => {
    assert.deepEqual(wanted, { audio: { echoCancellation: false, noiseSuppression: true, autoGainControl: true } });
    control.abort();
    return stream;
  };
  await withMicrophone({ getUserMedia }, async () => {
    const microphone = { echoCancellation: false };
    await assert.rejects(listen({ microphone }, { signal: control.signal }), { name: 'AbortError' });
  });
  assert.equal(stopped, 1);
});

test('wrong arguments are named', async () => {
  const refused = (message) => ({ code: 'invalid_argument', message });
  await assert.rejects(listen(undefined), refused(/expected a MediaStream.*undefined/));
  await assert.rejects(listen({}), refused(/expected a MediaStream/));
  await assert.rejects(listen(pieces(speech), { model: {} }), refused(/'model' must be a model with audio/));
  await assert.rejects(listen(pieces(speech), { every: 0 }), refused(/'every' must be a number of seconds/));
  await assert.rejects(listen(pieces(speech), { onWord() {} }), refused(/unknown option 'onWord'/));
});
