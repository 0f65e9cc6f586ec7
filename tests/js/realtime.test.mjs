// OpenAI's realtime events over models of the page: turns, answers, interruptions, calls, and what is refused.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { WasmModel, WebggufError } from '../../dist/index.js';
import { resampled } from '../../dist/voice/resample.js';
import { InputSound } from '../../dist/voice/realtime/input.js';
import { createRealtime, realtimeSocket } from '../../dist/voice/index.js';
import { blob, ENCODERS } from './encoders.mjs';
import { base64, begin, message, RATE, secondsOf } from './realtime.mjs';
import { spoken } from './voice.mjs';

const STORYTELLER = new URL('../../www/models/storyteller.gguf', import.meta.url);

/** Answers with each of `writes` in turn: pieces of text, or chunks; `asked` has the requests. */
function chatModel(...writes) {
  const asked = [];
  const create = async (request, { signal } = {}) => {
    asked.push(request);
    const pieces = writes[asked.length - 1] ?? [];
    const chunk = (delta, more) => ({ choices: [{ index: 0, delta, finish_reason: null, ...more }] });
    return (async function* () {
      for (const piece of pieces) {
        signal?.throwIfAborted();
        if (piece instanceof Error) throw piece;
        yield typeof piece === 'string' ? chunk({ content: piece }) : chunk(piece.delta ?? {}, piece);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
      yield { choices: [], usage };
    })();
  };
  return { asked, chat: { completions: { create } }, info: { name: 'fake' } };
}

/** Speaks 100 milliseconds for each word. */
function speaker() {
  const asked = [];
  const speak = async function* (text, options) {
    options.signal?.throwIfAborted();
    asked.push({ text, speed: options.speed });
    yield { samples: new Float32Array(text.split(' ').length * 3200).fill(0.25), sampleRate: 32_000 };
  };
  return { asked, speak };
}

test('text: all events of a response, in order', async () => {
  const model = chatModel(['Hello', ' there.']);
  const { realtime, events, until, types } = begin({ model, session: { instructions: 'Be brief.' } });
  const { session } = await until('session.created');
  assert.deepEqual(
    [session.model, session.output_modalities, session.audio.input.format.rate],
    ['fake', ['text'], RATE],
  );
  realtime.send({ type: 'conversation.item.create', item: message('Hi.') });
  realtime.send({ type: 'response.create', response: { metadata: { a: 'b' } } });
  const { response } = await until('response.done');
  assert.deepEqual(types(), [
    'session.created',
    'conversation.item.added',
    'conversation.item.created',
    'conversation.item.done',
    'response.created',
    'response.output_item.added',
    'conversation.item.added',
    'conversation.item.created',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'conversation.item.done',
    'response.done',
  ]);
  assert.equal(new Set(events.map(({ event_id }) => event_id)).size, events.length);
  assert.deepEqual([response.status, response.metadata, response.usage.total_tokens], ['completed', { a: 'b' }, 13]);
  assert.deepEqual(response.output[0].content, [{ type: 'output_text', text: 'Hello there.' }]);
  assert.deepEqual(model.asked[0].messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi.' },
  ]);
  // The item was empty when it was added, and the answer is read with the next request.
  assert.deepEqual(events.find(({ type }) => type === 'response.output_item.added').item.content, []);
  realtime.send({ type: 'response.create' });
  await until('response.done');
  assert.deepEqual(model.asked[1].messages.at(-1), { role: 'assistant', content: 'Hello there.' });
});

test('sound: a turn is found, written down and answered by a voice', async () => {
  const voice = speaker();
  const heard = [];
  const ears = async ({ samples, sampleRate }, { language }) => {
    heard.push([samples.length / sampleRate, language]);
    return `turn ${heard.length}`;
  };
  const model = chatModel(['One. Two', ' three.'], ['Four.']);
  const { realtime, events, until, types } = begin({ ears, model, voice });
  realtime.send({ type: 'session.update', session: { type: 'realtime', audio: { output: { speed: 1.5 } } } });
  const { samples, sampleRate } = spoken();
  const sound = resampled(samples, sampleRate, RATE);
  const first = sound.subarray(0, 4.2 * RATE);
  for (let at = 0; at < first.length; at += 2400) {
    realtime.send({ type: 'input_audio_buffer.append', audio: base64(first.subarray(at, at + 2400)) });
  }
  const { response } = await until('response.done');
  const started = events.find(({ type }) => type === 'input_audio_buffer.speech_started');
  const stopped = events.find(({ type }) => type === 'input_audio_buffer.speech_stopped');
  assert.ok(Math.abs(started.audio_start_ms - 500) < 400, `${started.audio_start_ms}`);
  assert.ok(Math.abs(stopped.audio_end_ms - 3600) < 500, `${stopped.audio_end_ms}`);
  assert.deepEqual(heard[0], [(stopped.audio_end_ms - started.audio_start_ms) / 1000, 'en']);
  const completed = events.find(({ type }) => type.endsWith('input_audio_transcription.completed'));
  assert.deepEqual([completed.transcript, completed.item_id], ['turn 1', started.item_id]);
  assert.deepEqual(model.asked[0].messages, [{ role: 'user', content: 'turn 1' }]);
  assert.deepEqual(voice.asked, [
    { text: 'One.', speed: 1.5 },
    { text: 'Two three.', speed: 1.5 },
  ]);
  assert.ok(Math.abs(secondsOf(events) - 0.3) < 0.001, `${secondsOf(events)} seconds`);
  const transcripts = events.filter(({ type }) => type === 'response.output_audio_transcript.delta');
  assert.equal(transcripts.map(({ delta }) => delta).join(''), 'One. Two three.');
  assert.deepEqual(response.output[0].content, [{ type: 'output_audio', transcript: 'One. Two three.' }]);
  const last = ['response.output_audio.done', 'response.output_audio_transcript.done', 'response.content_part.done'];
  assert.deepEqual(types().slice(-6), [
    ...last,
    'response.output_item.done',
    'conversation.item.done',
    'response.done',
  ]);
  // What was heard of it: the first sentence, and one of two words of the second.
  const { id } = response.output[0];
  realtime.send({ type: 'conversation.item.truncate', item_id: id, content_index: 0, audio_end_ms: 200 });
  assert.equal(types().at(-1), 'conversation.item.truncated');
  realtime.send({ type: 'conversation.item.retrieve', item_id: id });
  assert.deepEqual(events.at(-1).item.content, [{ type: 'output_audio', transcript: 'One. Two' }]);
  realtime.send({ type: 'conversation.item.truncate', item_id: id, content_index: 0, audio_end_ms: 999 });
  assert.match(events.at(-1).error.message, /'audio_end_ms' must be from 0 to 300/);
});

test('who speaks interrupts the answer, and response.cancel does', async () => {
  const long = Array.from({ length: 400 }, (_, at) => `word${at} `);
  const ears = async () => 'stop';
  const { realtime, events, until, types } = begin({ ears, model: chatModel(long, ['Yes.'], long), voice: speaker() });
  realtime.send({ type: 'conversation.item.create', item: message('Tell me.') });
  realtime.send({ type: 'response.create' });
  await until('response.output_audio_transcript.delta');
  const { samples, sampleRate } = spoken();
  const sound = resampled(samples.subarray(0, 4.2 * sampleRate), sampleRate, RATE);
  realtime.send({ type: 'input_audio_buffer.append', audio: base64(sound) });
  const { response } = await until('response.done');
  assert.deepEqual(response.status_details, { type: 'cancelled', reason: 'turn_detected' });
  assert.equal(response.output[0].status, 'incomplete');
  assert.equal((await until('response.done')).response.status, 'completed', 'the turn is answered');
  realtime.send({ type: 'response.create' });
  realtime.send({ type: 'response.create', event_id: 'mine' });
  assert.deepEqual(
    [events.at(-1).error.code, events.at(-1).error.event_id],
    ['conversation_already_has_active_response', 'mine'],
  );
  await until('response.output_audio_transcript.delta');
  realtime.send({ type: 'response.cancel' });
  const cancelled = await until('response.done');
  assert.equal(cancelled.response.status_details.reason, 'client_cancelled');
  realtime.send({ type: 'response.cancel' });
  assert.equal(events.at(-1).error.code, 'response_cancel_not_active');
  const count = types().length;
  realtime.close();
  assert.throws(() => realtime.send({ type: 'response.create' }), { code: 'invalid_argument' });
  assert.equal(types().length, count);
});

test('calls of tools go out, and their results come in', async () => {
  const call = (fields) => ({ delta: { tool_calls: [{ index: 0, ...fields }] } });
  const writes = [
    'Let me look.',
    call({ id: 'call_1', function: { name: 'weather', arguments: '{"city"' } }),
    call({ function: { arguments: ':"Bern"}' } }),
    { finish_reason: 'tool_calls' },
  ];
  const model = chatModel(writes, ['Rain.']);
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }];
  const { realtime, events, until } = begin({ model, session: { tools, tool_choice: 'required' } });
  realtime.send({ type: 'conversation.item.create', item: message('Weather?') });
  realtime.send({ type: 'response.create' });
  const { response } = await until('response.done');
  const { tools: told, tool_choice: choice } = model.asked[0];
  assert.deepEqual([told[0].function.name, choice], ['weather', 'required']);
  const [text, made] = response.output;
  assert.deepEqual([text.content[0].text, text.status], ['Let me look.', 'completed']);
  assert.deepEqual([made.name, made.call_id, made.arguments], ['weather', 'call_1', '{"city":"Bern"}']);
  const done = events.find(({ type }) => type === 'response.function_call_arguments.done');
  assert.deepEqual([done.name, done.arguments, done.output_index], ['weather', '{"city":"Bern"}', 1]);
  const output = { type: 'function_call_output', call_id: 'call_1', output: '{"sky":"rain"}' };
  realtime.send({ type: 'conversation.item.create', item: output });
  realtime.send({ type: 'response.create', response: { tool_choice: 'none' } });
  await until('response.done');
  assert.deepEqual(model.asked[1].messages.slice(1), [
    {
      role: 'assistant',
      content: 'Let me look.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '{"sky":"rain"}' },
  ]);
  assert.equal(model.asked[1].tool_choice, 'none');
});

test('turns that the page ends, items that it orders, and answers beside the conversation', async () => {
  let heard = 0;
  const ears = async ({ samples }) => {
    heard = samples.length;
    if (heard === 0.5 * 16_000) throw new WebggufError('device_lost', 'gone');
    return 'heard';
  };
  const model = chatModel(['A.'], ['B.']);
  const { realtime, events, until, types } = begin({ ears, model });
  realtime.send({ type: 'session.update', session: { audio: { input: { turn_detection: null } } } });
  const second = base64(new Float32Array(RATE).fill(0.1));
  realtime.send({ type: 'input_audio_buffer.append', audio: second });
  realtime.send({ type: 'input_audio_buffer.clear' });
  realtime.send({ type: 'input_audio_buffer.commit' });
  assert.equal(events.at(-1).error.code, 'input_audio_buffer_commit_empty');
  realtime.send({ type: 'input_audio_buffer.append', audio: second });
  realtime.send({ type: 'input_audio_buffer.append', audio: second });
  realtime.send({ type: 'input_audio_buffer.commit' });
  assert.ok(!types().includes('input_audio_buffer.speech_started'));
  // The response waits for the words.
  realtime.send({ type: 'response.create' });
  await until('response.done');
  assert.ok(Math.abs(heard - 32_000) < 30, `${heard} samples`);
  assert.deepEqual(model.asked[0].messages, [{ role: 'user', content: 'heard' }]);
  const item = { id: 'first', type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Rhyme.' }] };
  realtime.send({ type: 'conversation.item.create', previous_item_id: 'root', item });
  assert.deepEqual([realtime.items[0].id, realtime.items.length], ['first', 3]);
  const input = [{ type: 'item_reference', id: 'first' }, message('Alone.')];
  realtime.send({ type: 'response.create', response: { conversation: 'none', input, instructions: 'Well.' } });
  await until('response.done');
  assert.deepEqual(model.asked[1].messages, [
    { role: 'system', content: 'Well.\n\nRhyme.' },
    { role: 'user', content: 'Alone.' },
  ]);
  assert.equal(realtime.items.length, 3);
  realtime.send({ type: 'conversation.item.delete', item_id: 'first' });
  assert.equal(realtime.items.length, 2);
  const half = { type: 'input_audio', audio: base64(new Float32Array(RATE / 2)) };
  realtime.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [half] } });
  const failed = await until('conversation.item.input_audio_transcription.failed');
  assert.deepEqual(failed.error, { type: 'server_error', code: 'device_lost', message: 'gone' });
});

test('what is wrong is an event of OpenAI’s shape, and the session goes on', async () => {
  const { realtime, events, until } = begin({ model: chatModel([new WebggufError('context_full', 'full')]) });
  const wrong = (event, code, message) => {
    realtime.send({ event_id: 'e1', ...event });
    const { type, error } = events.at(-1);
    assert.deepEqual([type, error.type, error.code, error.event_id], ['error', 'invalid_request_error', code, 'e1']);
    assert.match(error.message, message);
  };
  const update = (session) => ({ type: 'session.update', session });
  wrong({ type: 'nonsense' }, 'invalid_value', /no event of the type 'nonsense'/);
  wrong({ type: '__proto__' }, 'invalid_value', /no event/);
  wrong(update(7), 'invalid_value', /'session' must be an object, found 7/);
  wrong(update({ colour: 1 }), 'unknown_parameter', /'session.colour'/);
  wrong(update({ type: 'transcription' }), 'invalid_value', /'session.type'/);
  const include = ['item.input_audio_transcription.logprobs'];
  wrong(update({ include }), 'invalid_value', /'session.include' must be empty: words come without log-probabilities/);
  wrong(update({ output_modalities: ['audio'] }), 'invalid_value', /no voice/);
  wrong(update({ audio: { output: { speed: 9 } } }), 'invalid_value', /'session.audio.output.speed'.*0.25 to 4/);
  wrong(update({ audio: { input: { format: { type: 'audio/pcmu' } } } }), 'invalid_value', /format.type/);
  wrong(update({ audio: { input: { turn_detection: { type: 'server_vad', threshold: 2 } } } }), 'invalid_value', /2/);
  wrong(update({ tools: [{ type: 'mcp' }] }), 'invalid_value', /tools\[0\].type/);
  wrong({ type: 'input_audio_buffer.append', audio: 'AAAA' }, 'invalid_value', /no 'ears'/);
  wrong(
    { type: 'conversation.item.create', item: { type: 'message', role: 'x', content: [] } },
    'invalid_value',
    /role/,
  );
  wrong({ type: 'conversation.item.delete', item_id: 'none' }, 'item_not_found', /no item 'none'/);
  wrong({ type: 'response.create', response: { input: 3 } }, 'invalid_value', /response.input/);
  assert.deepEqual(realtime.session.instructions, '', 'a refused update changes nothing');
  const hearing = begin({ model: chatModel(), ears: async () => '' });
  hearing.realtime.send({ type: 'input_audio_buffer.append', audio: 'A' });
  assert.match(hearing.events.at(-1).error.message, /base64/);
  hearing.realtime.send({ type: 'input_audio_buffer.append', audio: 'AAAA' });
  assert.match(hearing.events.at(-1).error.message, /found 3 bytes/);
  realtime.send({ type: 'response.create' });
  const { response } = await until('response.done');
  assert.deepEqual(response.status_details, {
    type: 'failed',
    error: { type: 'server_error', code: 'context_length_exceeded', message: 'full' },
  });
  assert.throws(() => createRealtime({}), { code: 'invalid_argument', message: /'model' is missing/ });
  assert.throws(() => createRealtime({ model: {} }), { code: 'invalid_argument', message: /chat.completions/ });
  const session = { tools: 1 };
  assert.throws(() => createRealtime({ model: chatModel(), session }), { message: /createRealtime: .*session.tools/ });
});

test('what waits does not grow while nobody speaks', async () => {
  const heard = [];
  const { realtime, types } = begin({
    model: chatModel(),
    ears: async ({ samples }) => void heard.push(samples.length) ?? 'x',
  });
  const silence = base64(new Float32Array(RATE));
  for (let second = 0; second < 60; second += 1) {
    realtime.send({ type: 'input_audio_buffer.append', audio: silence });
  }
  realtime.send({ type: 'input_audio_buffer.commit' });
  assert.ok(heard[0] <= 2 * 16_000, `${heard[0]} samples`);
  assert.ok(!types().includes('error'));
  // Without turns the page commits: there is a most.
  const input = new InputSound(3 * 16_000);
  input.listen(null);
  for (let second = 0; second < 3; second += 1) input.append(silence);
  assert.throws(() => input.append(silence), { code: 'input_audio_buffer_full', message: /holds 3 seconds/ });
  assert.ok(Math.abs(input.take().length - 48_000) < 30);
  input.append(silence);
});

test('a socket: events as JSON, once it is open', async () => {
  const Socket = realtimeSocket({ model: chatModel(['Hi.']) });
  const socket = new Socket('wss://example.com/v1/realtime?model=x', ['realtime']);
  assert.equal(socket.readyState, 0);
  assert.throws(() => socket.send('{}'), { name: 'InvalidStateError' });
  const seen = [];
  socket.onmessage = ({ data }) => seen.push(JSON.parse(data));
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([seen[0].type, socket.readyState], ['session.created', Socket.OPEN]);
  socket.send('no JSON');
  assert.equal(seen.length, 1, 'nothing is heard within the call');
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(seen.at(-1).type, 'error');
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  socket.close();
  assert.equal((await closed).code, 1000);
});

test('models of this repository: a turn of text is answered with sound', async () => {
  const model = await WasmModel.load(blob(STORYTELLER.pathname), { backend: 'cpu' });
  const file = (name) => blob(path.join(ENCODERS, name));
  const voice = await WasmModel.load(file('soprano-text.gguf'), { backend: 'cpu', vocoder: file('soprano.gguf') });
  const { realtime, events, until } = begin({ model, voice });
  realtime.send({ type: 'conversation.item.create', item: message('Tell me about a hare.') });
  realtime.send({ type: 'response.create', response: { max_output_tokens: 6 } });
  const { response } = await until('response.done');
  assert.deepEqual(
    response.status_details,
    { type: 'incomplete', reason: 'max_output_tokens' },
    JSON.stringify(response),
  );
  assert.equal(response.usage.output_tokens, 6);
  assert.ok(response.output[0].content[0].transcript.length > 5);
  assert.ok(secondsOf(events) > 0.03, `${secondsOf(events)} seconds`);
  await Promise.all([model.free(), voice.free()]);
});
