// Requests with images beside what else requests have: schemas, tools, progress, and no room for their rows.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createWebgguf } from '../../dist/ai-sdk/index.js';
import { openai } from '../../dist/openai/index.js';
import { ChatStore } from '../../dist/ui/chat.js';
import { ENCODERS, expectationsOf, open } from './encoders.mjs';

/** Colours by place, so that no two of these are the same. */
function drawn(width, height, seed) {
  const data = new Uint8Array(width * height * 4).map((_, at) => (at * seed + (at >> 9)) % 251);
  return { width, height, data };
}

const asking = (...images) => [
  { role: 'user', content: [...images.map((image) => ({ type: 'image', image })), { type: 'text', text: 'What?' }] },
];

const schema = {
  type: 'object',
  properties: { it: { enum: ['cat', 'dog'] } },
  required: ['it'],
  additionalProperties: false,
};

test('response_format and tools hold for a request with an image', async () => {
  // Few tokens are left beside a description of tools.
  const model = await open(expectationsOf('glm4v'));
  const ai = openai({ model });
  const common = { messages: asking(drawn(20, 22, 7)), max_tokens: 40, temperature: 0 };
  const rows = ({ usage }) => usage.prompt_tokens_details.image_tokens;
  const response_format = { type: 'json_schema', json_schema: { name: 'sight', schema } };
  const answer = await ai.chat.completions.create({ ...common, response_format });
  assert.equal(answer.choices[0].finish_reason, 'stop', JSON.stringify(answer));
  assert.match(JSON.parse(answer.choices[0].message.content).it, /^(cat|dog)$/);
  assert.ok(rows(answer) > 0);

  const nothing = { type: 'object', additionalProperties: false };
  const tools = [{ type: 'function', function: { name: 'see', parameters: nothing } }];
  const tool_choice = { type: 'function', function: { name: 'see' } };
  const called = await ai.chat.completions.create({ ...common, tools, tool_choice });
  assert.equal(called.choices[0].finish_reason, 'tool_calls', JSON.stringify(called));
  const [call] = called.choices[0].message.tool_calls;
  assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ['see', {}]);
  assert.equal(rows(called), rows(answer));

  const result = { role: 'tool', tool_call_id: call.id, content: 'ok' };
  const messages = [...common.messages, called.choices[0].message, result];
  const last = await ai.chat.completions.create({ ...common, messages, max_tokens: 3 });
  assert.equal(rows(last), rows(answer), 'the image stays part of the conversation');
  await model.free();
});

test('an image that the context has no room for is refused before it is encoded, with both numbers', async () => {
  const model = await open(expectationsOf('lfm2'), { contextLength: 160 });
  const reports = [];
  const ask = (...images) =>
    model.generate(asking(...images), { maxTokens: 2, ignoreEos: true, onProgress: (it) => reports.push(it) }).result;
  const full = (message) => ({ code: 'context_full', message });
  await assert.rejects(
    ask(drawn(200, 121, 7)),
    full(/^image: 200 × 121 pixels take \d+ tokens, the context has room for \d+$/),
  );
  assert.equal(reports.length, 0, 'nothing was encoded');
  const [, needed, room] = /take (\d+) .* room for (\d+)/.exec(
    await ask(drawn(200, 121, 7)).catch(({ message }) => message),
  );
  assert.ok(Number(needed) > Number(room) && Number(room) < 160, `${needed} tokens, ${room} beside the text`);
  assert.equal((await ask(drawn(60, 40, 7))).ids.length, 2, 'another image has room');
  reports.length = 0;
  await assert.rejects(
    ask(drawn(60, 40, 7), drawn(60, 40, 11)),
    full(/60 × 40 pixels take \d+ tokens, .* room for \d\d$/),
  );
  assert.equal(reports.length, 0, 'the first is known, the second has no room beside it');
  const session = model.session();
  await assert.rejects(session.send(asking(drawn(200, 121, 7))).result, full(/200 × 121/));
  assert.deepEqual(session.messages, []);
  assert.equal((await session.send('ab', { maxTokens: 2, ignoreEos: true }).result).ids.length, 2);
  await model.free();
});

test('how far images are encoded is told by OpenAI’s face, the AI SDK’s and useChat', async () => {
  const model = await open(expectationsOf('idefics3'));
  const shares = [0, 0.2, 0.4, 0.6, 0.8, 1];
  const reports = [];
  // Reading follows: see prompt_progress.test.mjs.
  const onProgress = ({ stage, fraction }) => stage === 'encode' && reports.push([stage, fraction]);
  const told = () => {
    assert.deepEqual(
      reports.splice(0),
      shares.map((share) => ['encode', share]),
    );
  };
  await openai({ model }).chat.completions.create(
    { messages: asking(drawn(150, 90, 3)), max_tokens: 1 },
    { onProgress },
  );
  told();
  await assert.rejects(
    openai({ model }).chat.completions.create({ messages: asking(drawn(8, 8, 3)), max_tokens: 1 }, { onProgress: 7 }),
    { code: 'invalid_argument', message: /onProgress/ },
  );

  const store = new ChatStore();
  store.configure(model, { max_completion_tokens: 2, temperature: 0 });
  const seen = [];
  store.subscribe(() => {
    const { progress, status } = store.state();
    if (progress?.stage === 'encode') seen.push([status, progress.fraction]);
  });
  await store.send('What?', { images: [drawn(150, 90, 5)] });
  assert.deepEqual([...new Set(seen.map(([, fraction]) => fraction))], shares.slice(0, -1));
  assert.ok(seen.every(([status]) => status === 'writing'));
  assert.equal(store.state().progress, undefined, 'there is text');
  await model.free();

  // In Node.js files of sounds are decoded, those of images are not.
  const listener = await open(expectationsOf('qwen3a'));
  const provider = createWebgguf({ onPromptProgress: onProgress });
  const file = { type: 'file', mediaType: 'audio/wav', data: fs.readFileSync(path.join(ENCODERS, 'sound-8219.wav')) };
  await provider(listener).doGenerate({ prompt: [{ role: 'user', content: [file] }], maxOutputTokens: 1 });
  assert.deepEqual(
    [reports[0], reports.at(-1)],
    [
      ['encode', 0],
      ['encode', 1],
    ],
  );
  await listener.free();
});
