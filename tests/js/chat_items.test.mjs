// Conversations of hooks as items of the Responses API, and back.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, withCode } from './api.mjs';

const { chatMessages, openai, responseItems } = await import(`${dist}openai/index.js`);
const { ChatStore } = await import(`${dist}ui/chat.js`);
await api.init({ wasm: new Uint8Array(8) });

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, template: '{{ tools }} <tool_call> tool_calls <think>' });
});

/** The messages without what belongs to the page alone. */
const without = (messages) => messages.map(({ id, timings, finish_reason: reason, ...message }) => message);

test('a conversation with thoughts, calls and their results survives the way there and back', async () => {
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const call =
    '<think>\nI add.\n</think>\n\nOne moment.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
  plan.writes = call;
  const store = new ChatStore();
  const execute = ({ a }) => {
    plan.writes = 'It is 3.';
    return { sum: a + 2 };
  };
  const tools = [{ name: 'add', execute }];
  store.configure(model, { tools });
  await store.send('1 + 2?');
  const { messages } = store.state();
  assert.equal(messages.length, 4, JSON.stringify(store.state()));
  const items = await responseItems(messages);
  assert.deepEqual(
    items.map(({ type }) => type),
    ['message', 'reasoning', 'message', 'function_call', 'function_call_output', 'message'],
  );
  const { tool_calls: calls } = messages[1];
  assert.deepEqual(items[3], { type: 'function_call', call_id: calls[0].id, name: 'add', arguments: '{"a": 1}' });
  assert.deepEqual([items[4].call_id, items[4].output], [calls[0].id, '{"sum":3}']);
  const back = await chatMessages(items);
  assert.deepEqual(without(back), without(messages));
  // They are a conversation that goes on: in another chat, and in the Responses API.
  const other = new ChatStore(back);
  plan.writes = 'Three.';
  other.configure(model, { tools });
  await other.send('In words?');
  assert.equal(other.state().messages.at(-1).content, 'Three.');
  plan.writes = '3.';
  const input = [...items, { role: 'user', content: 'In digits?' }];
  const { output } = await openai({ model }).responses.create({ input });
  assert.deepEqual((await chatMessages([...input, ...output])).at(-1).content, '3.');
  await model.free();
});

test('images and sounds go with the items: addresses of images as they are, all else as bytes', async () => {
  const png = new Blob([Uint8Array.of(1, 2, 3)], { type: 'image/png' });
  const sound = { samples: new Float32Array(160).fill(0.5), sampleRate: 16_000 };
  const mp3 = new Blob([Uint8Array.of(4)], { type: 'audio/mpeg' });
  const images = [png, 'https://example.com/a.png'];
  const message = { role: 'user', content: 'What?', images, sounds: [sound, mp3] };
  const [{ content }] = await responseItems([message]);
  const [first, second, wave, third, text] = content;
  assert.deepEqual(first, { type: 'input_image', image_url: 'data:image/png;base64,AQID' });
  assert.equal(second.image_url, 'https://example.com/a.png');
  assert.equal(wave.input_audio.format, 'wav');
  assert.equal(Buffer.from(wave.input_audio.data, 'base64').toString('latin1', 0, 4), 'RIFF');
  assert.deepEqual(third, { type: 'input_audio', input_audio: { data: 'BA==', format: 'mp3' } });
  assert.deepEqual(text, { type: 'input_text', text: 'What?' });
  const [back] = await chatMessages([{ role: 'user', content }]);
  assert.deepEqual([back.content, back.images.length, back.sounds.length], ['What?', 2, 2]);
  assert.equal(back.sounds[1], 'data:audio/mp3;base64,BA==');
  const again = await responseItems([back]);
  assert.deepEqual(again[0].content, content);
});

test('what cannot be a message of a chat is refused by name', async () => {
  const refused = (items, message) => assert.rejects(chatMessages(items), withCode('invalid_argument', message));
  await refused([{ role: 'developer', content: 'Be kind.' }], /'input\[0\]'.role is 'developer'/);
  await refused([{ type: 'item_reference', id: 'x' }], /is a reference/);
  await refused([{ type: 'function_call_output', call_id: 'c', output: '1' }], /no call 'c' comes before/);
  await refused([{ role: 'user', content: [{ type: 'input_file' }] }], /'input_file', which is not supported/);
  await refused([{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }], /a sound must have data/);
  const sounds = [new Blob([Uint8Array.of(1)])];
  const told = responseItems([{ role: 'user', content: '', sounds }]);
  await assert.rejects(told, withCode('invalid_argument', /a sound must be a file whose type begins with 'audio\/'/));
});
