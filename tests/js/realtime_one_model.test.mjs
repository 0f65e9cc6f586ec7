// OpenAI's realtime events over one model that hears, writes and speaks: a scripted one, and a random LFM3-Audio on the
// CPU path.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebggufError } from '../../dist/index.js';
import { createRealtime } from '../../dist/voice/index.js';
import { resampled } from '../../dist/voice/resample.js';
import { blob } from './encoders.mjs';
import { GENERATOR, open } from './lfm3_speech.mjs';
import { base64, begin, message, RATE, secondsOf } from './realtime.mjs';
import { scriptedModel, sound, text } from './talking.mjs';
import { spoken } from './voice.mjs';

/** The first sentence of the spoken sound and the pause behind it, as an event. */
function sentence() {
  const { samples, sampleRate } = spoken();
  const audio = base64(resampled(samples.subarray(0, 4.2 * sampleRate), sampleRate, RATE));
  return { type: 'input_audio_buffer.append', audio };
}

test('a turn is heard by the model itself, and its own sound is the answer', async () => {
  const model = scriptedModel(
    [text('Five '), text('kilometers.'), sound(RATE), text(' And you?'), sound(RATE)],
    [text('Good.'), sound(RATE / 2)],
  );
  const { realtime, events, until, types } = begin({ model, session: { instructions: 'Be short.' } });
  realtime.send(sentence());
  const { response } = await until('response.done');
  assert.deepEqual(response.output_modalities, ['audio']);
  const [[system, user]] = model.asked;
  assert.deepEqual(system, { role: 'system', content: 'Be short.' });
  const [{ type, audio }, ...more] = user.content;
  assert.deepEqual([user.role, type, audio.sampleRate, more.length], ['user', 'audio', 16_000, 0]);
  const seconds = audio.samples.length / audio.sampleRate;
  assert.ok(Math.abs(seconds - 3.1) < 0.8, `${seconds} seconds`);
  assert.deepEqual(model.told[0], { output: 'mixed' });
  const made = types().filter((name) => /delta|transcription|completed/.test(name));
  const [words, sounds] = ['response.output_audio_transcript.delta', 'response.output_audio.delta'];
  assert.deepEqual(made, [words, words, sounds, words, sounds], 'nobody writes the turn down');
  assert.ok(Math.abs(secondsOf(events) - 2) < 0.001, `${secondsOf(events)} seconds`);
  const transcript = 'Five kilometers. And you?';
  assert.deepEqual(response.output[0].content, [{ type: 'output_audio', transcript }]);
  // The text is spread over the sound: of half of it the words of half of the text.
  const { id } = response.output[0];
  realtime.send({ type: 'conversation.item.truncate', item_id: id, content_index: 0, audio_end_ms: 1000 });
  realtime.send({ type: 'conversation.item.create', item: message('Go on.') });
  realtime.send({ type: 'response.create', response: { max_output_tokens: 9 } });
  await until('response.done');
  const isSame = model.asked[1][1].content[0].audio.samples === audio.samples;
  assert.ok(isSame, 'the sound of the first turn is read again');
  assert.deepEqual(model.asked[1].slice(2), [
    { role: 'assistant', content: 'Five' },
    { role: 'user', content: 'Go on.' },
  ]);
  assert.deepEqual(model.told[1], { output: 'mixed', maxTokens: 9 });
});

test('with ears the words are told, and what has none is not answered', async () => {
  const model = scriptedModel([sound(10), text('Good.')]);
  const words = ['How far?', ''];
  const { realtime, events, until } = begin({ model, ears: async () => words.shift() });
  realtime.send(sentence());
  await until('response.done');
  assert.equal(model.asked[0][0].content[0].type, 'audio');
  assert.equal(realtime.items[0].content[0].transcript, 'How far?');
  realtime.send(sentence());
  await until('conversation.item.input_audio_transcription.completed');
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(model.asked.length, 1);
  assert.ok(!events.some(({ type }) => type === 'error'));
});

test('an item with sound, images and text; answers as text', async () => {
  const model = scriptedModel([text('A tone.')]);
  const { realtime, until } = begin({ model, session: { output_modalities: ['text'] } });
  const image = 'data:image/png;base64,AAAA';
  const content = [
    { type: 'input_text', text: 'What is it?' },
    { type: 'input_audio', transcript: 'Listen.' },
    { type: 'input_audio', audio: base64(new Float32Array(RATE).fill(0.1)) },
    { type: 'input_image', image_url: image },
  ];
  realtime.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
  realtime.send({ type: 'response.create' });
  const { response } = await until('response.done');
  assert.deepEqual(response.output[0].content, [{ type: 'output_text', text: 'A tone.' }]);
  assert.deepEqual(model.told[0], { output: 'text' });
  const [asked, transcript, heard, seen] = model.asked[0][0].content;
  assert.deepEqual([asked.text, transcript.text, seen], ['What is it?', 'Listen.', { type: 'image', image }]);
  assert.ok(Math.abs(heard.audio.samples.length - 16_000) < 30);
});

test('a full context loses the oldest turns, and their sounds, unless the session keeps all', async () => {
  const full = () => {
    throw new WebggufError('context_full', 'full');
  };
  const model = scriptedModel([text('One.')], [full], [text('Two.')], [full]);
  const { realtime, until } = begin({ model, session: { instructions: 'Be short.' } });
  realtime.send(sentence());
  await until('response.done');
  realtime.send(sentence());
  assert.equal((await until('response.done')).response.status, 'completed');
  const rolesOf = (messages) => messages.map(({ role }) => role).join();
  assert.deepEqual(model.asked.map(rolesOf), ['system,user', 'system,user,assistant,user', 'system,user']);
  assert.equal(realtime.items.length, 4, 'the items are still there');
  realtime.send({ type: 'session.update', session: { truncation: 'disabled' } });
  realtime.send(sentence());
  const { response } = await until('response.done');
  assert.equal(response.status_details.error.code, 'context_length_exceeded');
  assert.equal(model.asked.length, 4);
});

test('tools, and what is no model, are refused', async () => {
  const { realtime, until } = begin({ model: scriptedModel([]) });
  realtime.send({ type: 'session.update', session: { tools: [{ type: 'function', name: 'look' }] } });
  realtime.send({ type: 'response.create' });
  const { response } = await until('response.done');
  assert.match(response.status_details.error.message, /a model that speaks itself calls none/);
  assert.throws(() => createRealtime({ model: {} }), { message: /a model with chat.completions/ });
});

test('a random LFM3-Audio hears, writes and speaks, and faster if asked to', async () => {
  const lfm3 = await open({ mmproj: blob(GENERATOR) });
  const asked = [];
  const converse = (messages, options) => {
    asked.push(messages);
    return lfm3.converse(messages, { ...options, seed: 5 });
  };
  const { info, chat } = lfm3;
  const { realtime, events, until } = begin({ model: { converse, info, chat }, session: { max_output_tokens: 24 } });
  realtime.send(sentence());
  await until('response.done');
  let [written, seconds] = ['', 0];
  for await (const piece of lfm3.converse(asked[0], { seed: 5, maxTokens: 24 })) {
    if (piece.type === 'text') written += piece.text;
    else seconds += piece.samples.length / piece.sampleRate;
  }
  assert.ok(seconds > 0.1, `${seconds} seconds`);
  assert.ok(Math.abs(secondsOf(events) - seconds) < 0.001, `${secondsOf(events)} of ${seconds} seconds`);
  assert.equal(realtime.items.at(-1).content[0].transcript, written);
  events.length = 0;
  realtime.send({ type: 'session.update', session: { audio: { output: { speed: 2 } } } });
  realtime.send({ type: 'conversation.item.delete', item_id: realtime.items[1].id });
  realtime.send({ type: 'response.create' });
  await until('response.done');
  assert.ok(Math.abs(secondsOf(events) - seconds / 2) < 0.05, `${secondsOf(events)} of ${seconds} seconds`);
});
