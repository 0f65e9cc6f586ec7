// Conversations with one model that hears, writes and speaks: what it reads, what is played, told and kept; a scripted
// model, and a random LFM3-Audio on the CPU path.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebggufError } from '../../dist/index.js';
import { createConversation } from '../../dist/voice/index.js';
import { lastSentence } from '../../dist/voice/said.js';
import { blob } from './encoders.mjs';
import { GENERATOR, open } from './lfm3_speech.mjs';
import { refused } from './speech.mjs';
import { scriptedModel, sound, text } from './talking.mjs';
import { both, pieces, SENTENCES, silence, spoken } from './voice.mjs';

/** A player that plays nothing by itself: `share` of what was pushed was heard. */
function scriptedPlayer() {
  const player = { pushed: [], share: 1, ended: Promise.resolve(), room: async () => {} };
  player.push = (samples, sampleRate, text) => player.pushed.push({ samples, sampleRate, text });
  player.stop = async () => ({ played: 0, texts: player.pushed.length ? [{ text: '', share: player.share }] : [] });
  return player;
}

/** A talk over both sentences, the second one after the first answer. */
async function talkOver({ model, player, ...options }) {
  const events = [];
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  const onEvent = (event) => {
    events.push(event);
    if (event.type === 'assistant') answer();
  };
  const talk = await createConversation({ model, player, source: both(answered), onEvent, ...options });
  await talk.done;
  return { talk, events, of: (type) => events.filter((event) => event.type === type) };
}

test('it hears the sounds of all turns, and reads its own answers', async () => {
  const model = scriptedModel(
    [text('Five '), text('kilometers. '), sound(10), text('And'), sound(20), sound(30), text(' you?')],
    [text('Good.'), sound(5)],
  );
  const player = scriptedPlayer();
  const { talk, of, events } = await talkOver({ model, player, system: 'Be short.' });
  assert.equal(model.asked.length, 2);
  const [first, second] = model.asked;
  assert.deepEqual(first[0], { role: 'system', content: 'Be short.' });
  assert.equal(first.length, 2);
  assert.deepEqual(second[1], first[1], 'the sound of the first turn is read again');
  assert.deepEqual(second[2], { role: 'assistant', content: 'Five kilometers. And you?' });
  for (const [at, { role, content }] of [first[1], second[3]].entries()) {
    assert.equal(role, 'user');
    const [{ type, audio }, ...more] = content;
    assert.deepEqual([type, audio.sampleRate, more.length], ['audio', 16_000, 0]);
    const [from, to] = SENTENCES[at];
    const length = audio.samples.length / audio.sampleRate;
    assert.ok(Math.abs(length - (to - from)) < 0.8, `sentence ${at} has ${length} seconds`);
  }
  assert.deepEqual(
    player.pushed.map(({ samples, sampleRate, text: mark }) => [samples.length, sampleRate, mark]),
    [
      ...[
        [10, 24_000, ''],
        [20, 24_000, undefined],
        [30, 24_000, undefined],
      ],
      [5, 24_000, ''],
    ],
  );
  assert.deepEqual(
    of('saying').map((event) => event.text),
    ['Five kilometers.', 'And', 'Good.'],
  );
  assert.deepEqual(
    of('user').map((event) => event.text),
    ['', ''],
  );
  assert.equal(of('times').length, 2);
  const states = of('state').map(({ state }) => state);
  assert.deepEqual(states.slice(0, 4), ['hearing', 'thinking', 'speaking', 'listening']);
  assert.deepEqual(
    talk.turns.map(({ role, content, sound: heard }) => [role, content, heard !== undefined]),
    [
      ['system', 'Be short.', false],
      ['user', '', true],
      ['assistant', 'Five kilometers. And you?', false],
      ['user', '', true],
      ['assistant', 'Good.', false],
    ],
  );
  assert.ok(events.findIndex(({ type }) => type === 'saying') < events.findIndex(({ type }) => type === 'times'));
});

test('with ears the words are there for captions, and the model hears the sound all the same', async () => {
  const model = scriptedModel([text('Good.'), sound(5)], [text('Fine.'), sound(5)]);
  const words = ['How far?', ''];
  const { talk } = await talkOver({ model, player: scriptedPlayer(), ears: async () => words.shift(), every: 10 });
  assert.equal(model.asked.length, 1, 'what has no words is not answered');
  assert.equal(model.asked[0][0].content[0].type, 'audio');
  assert.deepEqual(
    talk.turns.map(({ content }) => content),
    ['How far?', 'Good.'],
  );
});

test('of an answer that is interrupted it keeps the share that was played', async () => {
  let isSaying;
  const saying = new Promise((resolve) => (isSaying = resolve));
  const waits = (signal) => {
    isSaying();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const model = scriptedModel([text('One two three four.'), sound(5), waits], [text('Fine.'), sound(1)]);
  const player = scriptedPlayer();
  const talk = await createConversation({ model, player, source: silence() });
  const said = talk.say('Count.');
  await saying;
  player.share = 0.5;
  await talk.interrupt();
  await said;
  assert.deepEqual(model.asked[0], [{ role: 'user', content: 'Count.' }], 'what is typed is read');
  assert.equal(talk.turns[1].content, 'One two');
  player.share = 1;
  await talk.say('Go on.');
  assert.deepEqual(model.asked[1].at(-2), { role: 'assistant', content: 'One two' });
  await talk.say('   ');
  assert.equal(model.asked.length, 2, 'nothing was typed');
  await talk.stop();
});

test('a full context loses the oldest turns, and their sounds', async () => {
  const full = () => {
    throw new WebggufError('context_full', 'the context holds 16');
  };
  const model = scriptedModel([text('One.'), sound(1)], [full], [text('Two.'), sound(1)]);
  const { talk } = await talkOver({ model, player: scriptedPlayer(), system: 'Be short.' });
  const rolesOf = (messages) => messages.map(({ role }) => role).join();
  assert.deepEqual(model.asked.map(rolesOf), ['system,user', 'system,user,assistant,user', 'system,user']);
  assert.equal(model.asked[2][1].content[0].type, 'audio');
  assert.deepEqual(
    talk.turns.map(({ content, sound: heard }) => [content, heard !== undefined]),
    [
      ['Be short.', false],
      ['', false],
      ['One.', false],
      ['', true],
      ['Two.', false],
    ],
  );
  const small = scriptedModel([full]);
  const long = await createConversation({ model: small, player: scriptedPlayer(), source: silence() });
  await assert.rejects(long.say('Too long.'), { code: 'context_full' });
  assert.equal(small.asked.length, 1);
});

test('what ends the model ends the conversation', async () => {
  const model = scriptedModel([
    text('Hm'),
    () => {
      throw new Error('the device is lost');
    },
  ]);
  const talk = await createConversation({ model, player: scriptedPlayer(), source: silence() });
  await assert.rejects(talk.say('Hello.'), /the device is lost/);
  await assert.rejects(talk.done, /the device is lost/);
  assert.equal(talk.state, 'over');
});

test('what does not go together is refused', async () => {
  const model = scriptedModel([]);
  const player = scriptedPlayer();
  const source = silence();
  const writer = { generate: async function* () {} };
  const voice = { model: { speak: async function* () {} }, player };
  await refused(createConversation({ model: writer, player, source }), 'invalid_argument', 'hears and speaks itself');
  await refused(createConversation({ model, player, voice, source }), 'invalid_argument', 'exclude each other');
  await refused(createConversation({ model, source }), 'invalid_argument', "option 'ears' is missing");
  await refused(createConversation({ player, source }), 'invalid_argument', "option 'model' is missing");
  await refused(createConversation({ model, player: {}, source }), 'invalid_argument', 'a player');
  const ears = async () => '';
  const speaks = createConversation({ model, ears, voice, source });
  await refused(speaks, 'invalid_argument', 'without a player it cannot');
});

test('the sentence that a text ends with', () => {
  assert.equal(lastSentence('', 'en'), '');
  assert.equal(lastSentence('One. Two is ', 'en'), 'Two is');
  assert.equal(lastSentence('One. Two. ', 'en'), 'Two.');
  assert.equal(lastSentence('你好。再见', 'zh'), '再见');
});

test('a random LFM3-Audio hears, writes and speaks', async () => {
  const lfm3 = await open({ mmproj: blob(GENERATOR) });
  const asked = [];
  const model = {
    converse: (messages, { signal }) => {
      asked.push(messages);
      return lfm3.converse(messages, { signal, seed: 5, maxTokens: 24 });
    },
  };
  const player = scriptedPlayer();
  const { samples, sampleRate } = spoken();
  const source = pieces({ samples: samples.slice(0, 4.2 * sampleRate), sampleRate });
  const talk = await createConversation({ model, player, source });
  await talk.done;
  let written = '';
  const sounds = [];
  for await (const piece of lfm3.converse(asked[0], { seed: 5, maxTokens: 24 })) {
    if (piece.type === 'text') written += piece.text;
    else sounds.push(piece.samples);
  }
  assert.ok(sounds.length > 0);
  assert.deepEqual(
    player.pushed.map((piece) => piece.samples),
    sounds,
  );
  assert.equal(talk.turns[1].content, written.trim());
  await lfm3.free();
});
