// The times of a conversation by stage: which there are, and in which order; no test here waits for a clock.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConversation } from '../../dist/voice/index.js';
import { pieces, spoken } from './voice.mjs';

const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A player that plays nothing. */
const player = () => ({
  ...{ push: () => {}, room: async () => {}, ended: Promise.resolve() },
  stop: async () => ({ played: 0, texts: [] }),
});
const speaker = {
  async *speak(text) {
    await tick();
    yield { samples: new Float32Array(text.length), sampleRate: 24_000 };
  },
};

/** Events of a conversation over `source`, once `use` is done with it. */
async function eventsOf({ source, model, ears = async () => 'How far?' }, use = async () => {}) {
  const events = [];
  const options = { ears, model, source, voice: { model: speaker, player: player() }, every: 10 };
  const talk = await createConversation({ ...options, onEvent: (event) => events.push(event) });
  await use(talk);
  await (source.isEndless ? talk.stop() : talk.done);
  return events;
}

const endless = () => {
  const source = { isEndless: true };
  source[Symbol.asyncIterator] = () => ({ next: () => new Promise(() => {}) });
  return source;
};

test('each answer has its times once, behind its first caption, and each stage includes the one before', async () => {
  const model = async function* () {
    await tick();
    yield '';
    yield 'Five kilometers. ';
    yield 'And then?';
  };
  const { samples, sampleRate } = spoken();
  const events = await eventsOf({ source: pieces({ samples: samples.slice(0, 4.2 * sampleRate), sampleRate }), model });
  const kinds = events
    .map(({ type }) => type)
    .filter((type) => ['user', 'saying', 'times', 'assistant'].includes(type));
  assert.deepEqual(kinds, ['user', 'saying', 'times', 'saying', 'assistant']);
  const { times } = events.find(({ type }) => type === 'times');
  assert.deepEqual(Object.keys(times), ['words', 'token', 'sound']);
  assert.ok(times.words > 0 && times.words < times.token && times.token < times.sound, JSON.stringify(times));
});

test('what is typed has no time of words; what never sounds has no times', async () => {
  const model = async function* (turns) {
    yield turns.at(-1).content === 'Count.' ? 'One two.' : '…';
  };
  const events = await eventsOf({ source: endless(), model }, async (talk) => {
    await talk.say('Count.');
    await talk.say('Smile.');
  });
  const found = events.filter(({ type }) => type === 'times');
  assert.equal(found.length, 1);
  const [{ times }] = found;
  assert.equal(times.words, 0);
  assert.ok(times.token > 0 && times.token <= times.sound, JSON.stringify(times));
  assert.ok(events.indexOf(found[0]) < events.findIndex(({ type }) => type === 'assistant'));
});

test('the time of a token is that of the first piece that is not empty', async (t) => {
  let clock = 100;
  t.mock.method(performance, 'now', () => clock);
  const model = async function* () {
    for (const [at, piece] of [
      [110, ''],
      [120, 'Five '],
      [130, 'kilometers. '],
      [140, 'And then?'],
    ]) {
      clock = at;
      yield piece;
      await tick();
    }
  };
  const events = await eventsOf({ source: endless(), model }, (talk) => talk.say('How far?'));
  const { times } = events.find(({ type }) => type === 'times');
  assert.deepEqual([times.words, times.token], [0, 20]);
  assert.ok(times.sound >= 30, JSON.stringify(times));
});

test('an answer that is interrupted before its first sound has no times, and the next one has its own', async () => {
  let written;
  const isWritten = new Promise((resolve) => (written = resolve));
  const model = async function* (turns, { signal }) {
    if (turns.length === 1) {
      written();
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }
    yield 'Fine.';
  };
  const events = await eventsOf({ source: endless(), model }, async (talk) => {
    const first = talk.say('Count.');
    await isWritten;
    await talk.interrupt();
    await first;
    await talk.say('Well?');
  });
  const kinds = events.map(({ type }) => type).filter((type) => ['times', 'assistant'].includes(type));
  assert.deepEqual(kinds, ['assistant', 'times', 'assistant']);
});
