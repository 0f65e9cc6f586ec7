// Conversations by voice with scripted ears, model and voice: turns, captions, interruptions, errors, aborting.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import v8 from 'node:v8';
import vm from 'node:vm';
import { createConversation } from '../../dist/voice/index.js';
import { complete, spokenPart } from '../../dist/voice/said.js';
import { both, pieces, silence, spoken } from './voice.mjs';

/** A player that plays nothing by itself: `heard` says how far each text was. */
function scriptedPlayer() {
  const player = { pushed: [], heard: [], stops: 0, room: async () => {} };
  let over;
  player.ended = Promise.resolve();
  player.hold = () => (player.ended = new Promise((resolve) => (over = resolve)));
  player.go = () => over();
  player.push = (samples, sampleRate, text) => player.pushed.push({ samples, sampleRate, text });
  player.stop = async () => {
    player.stops += 1;
    return { played: 0, texts: player.heard };
  };
  return player;
}
const speaker = (said = []) => ({
  said,
  async *speak(text, { signal }) {
    signal?.throwIfAborted();
    said.push(text);
    yield { samples: new Float32Array(text.length), sampleRate: 24_000 };
  },
});

test('what is heard is answered, and said sentence by sentence while it is written', async () => {
  const asked = [];
  const said = [];
  async function* model(turns) {
    asked.push(turns.map(({ role, content }) => `${role}: ${content}`));
    yield '**It** is 5';
    yield ' km. And';
    assert.deepEqual(said.slice(-1), [`It is five kilometers.`], 'said before the next is written');
    yield ' then?';
  }
  const words = ['How far?', 'Good.'];
  const events = [];
  const player = scriptedPlayer();
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  const onEvent = (event) => {
    events.push(event);
    if (event.type === 'assistant') answer();
  };
  const talk = await createConversation({
    ...{ ears: async () => words.shift(), model, voice: { model: speaker(said), player }, every: 10 },
    ...{ source: both(answered), language: 'en', system: 'Be short.', onEvent },
  });
  await talk.done;
  const written = '**It** is 5 km. And then?';
  assert.deepEqual(asked, [
    ['system: Be short.', 'user: How far?'],
    ['system: Be short.', 'user: How far?', `assistant: ${written}`, 'user: Good.'],
  ]);
  assert.deepEqual(said, ['It is five kilometers.', 'And then?', 'It is five kilometers.', 'And then?']);
  const of = (type) => events.filter((event) => event.type === type);
  assert.deepEqual(
    of('saying').map(({ text }) => text),
    ['**It** is 5 km.', 'And then?', '**It** is 5 km.', 'And then?'],
  );
  assert.deepEqual(
    of('user').map(({ text }) => text),
    ['How far?', 'Good.'],
  );
  assert.deepEqual(
    talk.turns.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user', 'assistant'],
  );
  assert.equal(talk.state, 'over');
  const states = of('state').map(({ state }) => state);
  assert.deepEqual(states.slice(0, 4), ['hearing', 'thinking', 'speaking', 'listening']);
});

test('whoever speaks interrupts: the sound stops, and the history keeps what was heard', async () => {
  const player = scriptedPlayer();
  let speak;
  const mayGoOn = new Promise((resolve) => (speak = resolve));
  async function* source() {
    await mayGoOn;
    yield* both(new Promise(() => {}));
  }
  const events = [];
  let interrupted;
  const wasInterrupted = new Promise((resolve) => (interrupted = resolve));
  const model = async function* (turns) {
    yield turns.length === 1 ? 'One two three four. Five six seven eight.' : 'Fine.';
  };
  const talk = await createConversation({
    ...{ ears: async () => 'Stop.', model, voice: { model: speaker(), player }, source: source(), every: 10 },
    onEvent: (event) => {
      events.push(event);
      if (event.type === 'assistant' && event.interrupted) interrupted();
    },
  });
  player.hold();
  const saying = talk.say('Count.');
  while (!player.pushed.some(({ text }) => text === '1')) await new Promise((resolve) => setImmediate(resolve));
  player.heard = [
    { text: '0', share: 1 },
    { text: '1', share: 0.5 },
  ];
  speak();
  await wasInterrupted;
  await saying;
  assert.equal(talk.turns[1].content, 'One two three four. Five six');
  assert.ok(player.stops >= 1);
  player.ended = Promise.resolve();
  while (talk.turns.length < 4) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(talk.turns.slice(2), [
    { role: 'user', content: 'Stop.' },
    { role: 'assistant', content: 'Fine.' },
  ]);
  await talk.stop();
  assert.equal(talk.state, 'over');
});

test('interrupting before a word was said leaves no answer', async () => {
  const model = async function* (_, { signal }) {
    yield 'Hm';
    await new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)));
  };
  const voice = { model: speaker(), player: scriptedPlayer() };
  const talk = await createConversation({ ears: async () => '', model, voice, source: silence() });
  const saying = talk.say('Hello.');
  while (talk.state !== 'thinking') await new Promise((resolve) => setImmediate(resolve));
  await talk.interrupt();
  await saying;
  assert.deepEqual(talk.turns, [{ role: 'user', content: 'Hello.' }]);
  await talk.say('  ');
  assert.equal(talk.turns.length, 1, 'nothing is no turn');
  await talk.stop();
});

test('a WasmModel answers, too; 10,000 characters, emoji and right-to-left text are said', async () => {
  const long = 'This is a sentence. '.repeat(500);
  const answers = { long, arabic: 'مرحبا. كيف حالك؟', emoji: '🦤', empty: '' };
  const model = {
    async *generate(turns, { signal }) {
      assert.ok(signal instanceof AbortSignal);
      yield { text: answers[turns.at(-1).content] };
    },
  };
  const said = [];
  const voice = { model: speaker(said), player: scriptedPlayer() };
  const talk = await createConversation({ ears: async () => '', model, voice, source: silence() });
  for (const name of Object.keys(answers)) await talk.say(name);
  assert.equal(said.length, 502);
  assert.deepEqual(said.slice(-2), ['مرحبا.', 'كيف حالك؟']);
  assert.deepEqual(
    talk.turns.map(({ content }) => content.length),
    [4, long.length - 1, 6, 16, 5, 2, 5],
  );
  await talk.stop();
});

test('errors of model, voice and callbacks end it, and so does its signal', async () => {
  const broken = async function* () {
    yield* [];
    throw new Error('no model');
  };
  const fine = async function* () {
    yield 'Yes.';
  };
  const mute = { speak: () => Promise.reject(new Error('no voice')) };
  mute.speak = async function* () {
    yield* [];
    throw new Error('no voice');
  };
  const player = scriptedPlayer();
  for (const [message, options] of [
    ['no model', { model: broken }],
    ['no voice', { voice: { model: mute, player } }],
    ['deaf', { ears: async () => Promise.reject(new Error('deaf')) }],
  ]) {
    const usual = {
      ears: async () => 'Hi.',
      model: fine,
      voice: { model: speaker(), player },
      source: pieces(spoken()),
    };
    const talk = await createConversation({ ...usual, ...options });
    await assert.rejects(talk.done, { message });
    assert.equal(talk.state, 'over');
  }
  const control = new AbortController();
  const voice = { model: speaker(), player };
  const talk = await createConversation({
    ears: async () => '',
    model: fine,
    voice,
    source: silence(),
    signal: control.signal,
  });
  control.abort();
  await assert.rejects(talk.done, { name: 'AbortError' });
  await assert.rejects(talk.say('Hi.'), { name: 'AbortError' });
  const refused = (message) => ({ code: 'invalid_argument', message });
  await assert.rejects(createConversation({ model: fine }), refused(/'ears' is missing/));
  await assert.rejects(
    createConversation({ ears: async () => '', model: 7 }),
    refused(/'model' must be a model that writes/),
  );
  await assert.rejects(
    createConversation({ ears: async () => '', model: fine, voice: {} }),
    refused(/'voice' must be/),
  );
  const none = createConversation({ ears: async () => '', model: fine, source: silence() });
  await assert.rejects(none, { code: 'feature_missing', message: /speechSynthesis/ });
});

test('whole sentences of a text that grows, and what was heard of them', () => {
  assert.deepEqual(complete('One. Two. Th', 'en'), ['One. ', 'Two. ']);
  assert.deepEqual(complete('One', 'en'), []);
  assert.deepEqual(complete('', 'en'), []);
  assert.deepEqual(complete('你好。', 'zh'), ['你好。']);
  assert.deepEqual(complete('A line\n', 'en'), ['A line\n']);
  const part = (share) =>
    spokenPart([
      { text: 'One. ', share: 1 },
      { text: 'Two three four.', share },
    ]);
  assert.deepEqual(
    [part(0), part(0.3), part(0.7), part(1)],
    ['One.', 'One. Two', 'One. Two three', 'One. Two three four.'],
  );
  assert.equal(spokenPart([]), '');
});

/** Collects garbage, also where Node.js was started without the flag for it. */
function collectGarbage() {
  v8.setFlagsFromString('--expose-gc');
  vm.runInNewContext('gc')();
}
/** How many of the objects are still there. */
async function leftOf(refs) {
  for (let count = 0; count < 3; count += 1) {
    await new Promise((resolve) => setTimeout(resolve));
    collectGarbage();
  }
  return refs.filter((ref) => ref.deref() !== undefined).length;
}

test('a long conversation keeps its turns, and no sounds, pieces or signals', async () => {
  const [heard, spoken, signals] = [[], [], []];
  let pushed;
  async function* microphone() {
    for (let count = 0; count < 600; count += 1) {
      const samples = new Float32Array(1024);
      heard.push(new WeakRef(samples));
      yield { samples, sampleRate: 16_000 };
    }
    pushed();
    await new Promise(() => {});
  }
  const voice = {
    async *speak(text, { signal }) {
      const samples = new Float32Array(2400);
      spoken.push(new WeakRef(samples));
      signals.push(new WeakRef(signal));
      yield { samples, sampleRate: 24_000 };
    },
  };
  const player = { push: () => {}, stop: async () => ({ texts: [] }), room: async () => {}, ended: Promise.resolve() };
  const allPushed = new Promise((resolve) => (pushed = resolve));
  const model = async function* (turns) {
    yield `Answer ${turns.length}. And more.`;
  };
  const conversation = await createConversation({
    ...{ ears: async () => '', model, voice: { model: voice, player }, source: microphone() },
  });
  const unread = conversation[Symbol.asyncIterator]();
  for (let count = 0; count < 150; count += 1) await conversation.say(`Question ${count}`);
  await allPushed;
  assert.equal(conversation.turns.length, 300);
  const left = { heard: await leftOf(heard), spoken: await leftOf(spoken), signals: await leftOf(signals) };
  assert.equal(spoken.length, 300);
  assert.ok(left.heard <= 3 && left.spoken <= 3 && left.signals <= 4, JSON.stringify(left));
  await conversation.stop();
  let waiting = 0;
  while (!(await unread.next()).done) waiting += 1;
  assert.ok(waiting <= 64, `${waiting} events`);
});
