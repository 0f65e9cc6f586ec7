// How chat completions begin and end: a prefix of the answer, strings that end it, over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, plan, resetMock, seen, withCode } from './api.mjs';

await api.init({ wasm: new Uint8Array(8) });

const HI = { role: 'user', content: 'Hi' };
const THINKING = '{{ tools }} <tool_call> tool_calls <think>';

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0 });
});

async function ask(request) {
  const model = await api.WasmModel.load(Uint8Array.of(1));
  return model.chat.completions.create(request);
}

const promptOf = ({ ids }) => String.fromCharCode(...ids);

test('an answer says which string ended it, with and without a stream', async () => {
  for (const template of [undefined, THINKING]) {
    Object.assign(plan, { template, writes: 'one, two, three' });
    const request = { messages: [HI], stop: ['three', ', t'] };
    const { choices } = await ask(request);
    const [{ message, finish_reason: reason, stop_reason: found }] = choices;
    assert.deepEqual([message.content, reason, found], ['one', 'stop', ', t']);
    const parts = [];
    for await (const chunk of await ask({ ...request, stream: true })) parts.push(...chunk.choices);
    assert.equal(parts.at(-1).stop_reason, ', t');
    assert.ok(parts.slice(0, -1).every((part) => !('stop_reason' in part)));
    assert.ok(!('stop_reason' in (await ask({ messages: [HI], stop: ['four'] })).choices[0]));
  }
});

test('strings that end an answer mean nothing in its thoughts', async () => {
  Object.assign(plan, { template: THINKING, writes: '<think>END it?</think>Yes. END No.' });
  const { choices } = await ask({ messages: [HI], stop: 'END' });
  const [{ message, stop_reason: found }] = choices;
  assert.deepEqual([message.reasoning_content, message.content, found], ['END it?', 'Yes. ', 'END']);
});

test('an answer goes on behind a prefix, which it does not repeat', async () => {
  const prefix = { role: 'assistant', content: 'Once upon ', prefix: true };
  for (const template of [undefined, THINKING]) {
    Object.assign(plan, { template, writes: 'a time. Once upon' });
    const { choices } = await ask({ messages: [HI, prefix], stop: 'upon' });
    assert.deepEqual([choices[0].message.content, choices[0].stop_reason], ['a time. Once ', 'upon']);
    assert.ok(promptOf(seen.started.at(-1)).endsWith('<user>HiOnce upon '));
  }
});

test('a prefix is the last message, of the assistant, and not the only one', async () => {
  const wrong = [
    [{ ...HI, prefix: true }],
    [{ role: 'assistant', content: 'x', prefix: true }],
    [{ role: 'assistant', content: 'x', prefix: true }, HI],
    [HI, { ...HI, prefix: true }],
  ];
  for (const messages of wrong) {
    await assert.rejects(ask({ messages }), withCode('invalid_argument', /'messages\[\d\]': 'prefix' is for the last/));
  }
});
