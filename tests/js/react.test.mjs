// Conversations of `webgguf/react` over a mock of the WebAssembly; the hooks themselves: tests/package/react.test.mjs.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, seen, withCode } from './api.mjs';

const { ChatStore } = await import(`${dist}ui/chat.js`);
await api.init({ wasm: new Uint8Array(8) });

const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const HERMES = '{{ tools }} <tool_call> tool_calls <think>';

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, template: HERMES });
});

async function chat(options = {}) {
  const store = new ChatStore(options.messages);
  store.configure(await api.WasmModel.load(Uint8Array.of(1)), options);
  return store;
}

/** The messages without ids and times. */
const said = (store) => store.state().messages.map(({ role, content }) => `${role}: ${content}`);

test('an answer grows while it is written, and the model gets the system prompt and what was said before', async () => {
  plan.writes = 'Hello there!';
  plan.tokenMs = 10;
  const store = await chat({ system: 'Be kind.', max_completion_tokens: 50 });
  const texts = new Set();
  store.subscribe(() => texts.add(store.state().messages.at(-1)?.content));
  assert.equal(store.state().status, 'idle');
  const sent = store.send('Hi');
  await Promise.resolve();
  await sent;
  assert.ok(texts.size > 3, [...texts].join('|'));
  assert.deepEqual(said(store), ['user: Hi', 'assistant: Hello there!']);
  const [, { finish_reason: reason, timings }] = store.state().messages;
  assert.equal(reason, 'stop');
  assert.ok(timings.predicted_n > 0);
  await store.send('And?');
  const { messages } = seen.templates.at(-1);
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ['system', 'Be kind.'],
      ['user', 'Hi'],
      ['assistant', 'Hello there!'],
      ['user', 'And?'],
    ],
  );
  assert.ok(messages.every((message) => !('id' in message) && !('timings' in message)));
  assert.equal(new Set(store.state().messages.map(({ id }) => id)).size, 4);
});

const adder = (execute) => ({ name: 'add', description: 'Adds', inputSchema: { type: 'object' }, execute });

test('a tool is called, its result is read, and the model goes on', async () => {
  plan.writes = `I add.\n${CALL}`;
  const execute = ({ a, b }) => {
    plan.writes = 'It is 3.';
    return { sum: a + b };
  };
  const store = await chat({ tools: [adder(execute)] });
  await store.send('1 + 2?');
  assert.deepEqual(said(store), ['user: 1 + 2?', 'assistant: I add.', 'tool: {"sum":3}', 'assistant: It is 3.']);
  const [, called, result] = store.state().messages;
  assert.equal(called.tool_calls[0].function.name, 'add');
  assert.deepEqual(JSON.parse(called.tool_calls[0].function.arguments), { a: 1, b: 2 });
  assert.equal(result.tool_call_id, called.tool_calls[0].id);
  assert.equal(seen.templates.at(-1).tools[0].function.name, 'add');
});

test('a tool that throws, and one that is not there, are results; steps are bounded', async () => {
  plan.writes = CALL;
  const fails = () => {
    throw new Error('no network');
  };
  const store = await chat({ tools: [adder(fails)], maxSteps: 2 });
  await store.send('?');
  assert.deepEqual(said(store), [
    'user: ?',
    'assistant: ',
    'tool: error: no network',
    'assistant: ',
    'tool: error: no network',
  ]);
  const other = await chat({ tools: [{ ...adder(fails), name: 'subtract' }], maxSteps: 1 });
  await other.send('?');
  assert.match(said(other).at(-1), /^tool: error: there is no tool 'add', only subtract$/);
});

test('stop keeps what was written; another message ends the answer before it', async () => {
  plan.writes = 'x'.repeat(1000);
  plan.tokenMs = 1;
  const store = await chat();
  const sent = store.send('Hi');
  const isWriting = () => store.state().status === 'writing' && store.state().messages.at(-1).content !== '';
  while (!isWriting()) await new Promise((resolve) => setTimeout(resolve, 5));
  await store.stop();
  await sent;
  assert.equal(store.state().status, 'idle');
  const { length } = store.state().messages[1].content;
  assert.ok(length > 0 && length < 1000, `${length} letters`);
  const first = store.send('One');
  while (!isWriting()) await new Promise((resolve) => setTimeout(resolve, 5));
  plan.writes = 'done';
  await Promise.all([store.send('Two'), first]);
  assert.deepEqual(said(store).slice(-2), ['user: Two', 'assistant: done']);
});

test('a tool that hangs does not keep stop waiting', async () => {
  plan.writes = CALL;
  let signal;
  const hangs = (_, options) => {
    signal = options.signal;
    return new Promise(() => {});
  };
  const store = await chat({ tools: [adder(hangs)] });
  const sent = store.send('?');
  while (!signal) await new Promise((resolve) => setTimeout(resolve, 5));
  await store.stop();
  await sent;
  assert.ok(signal.aborted);
  assert.match(said(store).at(-1), /^tool: error: /);
  assert.equal(store.state().status, 'idle');
});

test('an error is shown, the question stays, and can be answered anew', async () => {
  plan.writes = 'Yes.';
  const store = await chat();
  await store.send('Hi', { temperature: 7 });
  assert.equal(store.state().status, 'error');
  assert.ok(withCode('invalid_argument', /temperature/)(store.state().error));
  assert.deepEqual(said(store), ['user: Hi']);
  await store.regenerate();
  assert.deepEqual([store.state().status, store.state().error], ['idle', undefined]);
  assert.deepEqual(said(store), ['user: Hi', 'assistant: Yes.']);
  await store.clear();
  assert.deepEqual(said(store), []);
  await store.regenerate();
  assert.deepEqual(said(store), [], 'no question, no answer');
});

test('without a model, sending says so', async () => {
  const store = new ChatStore();
  await store.send('Hi');
  assert.ok(withCode('invalid_argument', /no model/)(store.state().error));
});

test('a full context is an error, or the oldest turns are left out', async () => {
  plan.writes = 'ok';
  const long = 'a'.repeat(60);
  const messages = [1, 2].flatMap(() => [
    { role: 'user', content: long },
    { role: 'assistant', content: 'ok' },
  ]);
  Object.assign(plan, { contextLength: 150, window: 150 });
  const strict = await chat({ messages });
  await strict.send('Hi');
  assert.ok(withCode('context_full')(strict.state().error));
  const store = await chat({ messages, overflow: 'truncate', system: 'S' });
  await store.send('Hi');
  assert.equal(store.state().error, undefined);
  assert.deepEqual(
    seen.templates.at(-1).messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  );
  assert.equal(said(store).length, 6, 'all are still shown');
  await store.send('b'.repeat(400));
  assert.ok(withCode('context_full')(store.state().error), 'nothing is left to drop');
});

test('truncation leaves room for the answer that was asked for', async () => {
  plan.writes = 'x'.repeat(44);
  Object.assign(plan, { contextLength: 160, window: 160 });
  const store = await chat({ overflow: 'truncate', system: 'S', max_completion_tokens: 44 });
  for (const text of ['one', 'two', 'three', 'four']) await store.send(text);
  assert.ok(seen.started.every(({ ids }) => ids.length + 44 <= 160));
  assert.deepEqual(
    seen.started.map(({ ids }) => String.fromCharCode(...ids).match(/<user>/g).length),
    [1, 2, 2, 2],
  );
  assert.equal(said(store).length, 8, 'all are still shown');
});
