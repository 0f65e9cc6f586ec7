// `reasoning_budget`: once the tokens for thoughts are spent, the thought is closed. Over a mock of the WebAssembly, in
// this thread and through a worker.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, seen, withCode } from './api.mjs';
import { MockWorker } from './mock_worker.mjs';

const { anthropic } = await import(`${dist}anthropic/index.js`);
const { steers } = await import(`${dist}model/generation.js`);
const { insert } = await import(`${dist}engine/insert.js`);
const { budgetOf, steerOf } = await import(`${dist}openai/budget.js`);
globalThis.Worker = MockWorker;
await api.init({ wasm: new Uint8Array(8) });

const HI = [{ role: 'user', content: 'Hi' }];
const CLOSING = '\n</think>\n\n';
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
const ADD = { type: 'function', function: { name: 'add', parameters: { type: 'object' } } };
const THOUGHT = '<think>Well, let me see.</think>No.';

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, window: 10000, tokenMs: 0, template: '{{ tools }} <tool_call> <think>' });
});

/** What the engine writes at each start, one after the other; the last again and again. */
function writes(...texts) {
  const get = () => texts[Math.min(seen.started.length, texts.length) - 1] ?? texts[0];
  Object.defineProperty(plan, 'writes', { get, configurable: true });
}

const textOf = ({ ids }) => String.fromCharCode(...ids.slice(1));

for (const worker of [false, true]) {
  const at = worker ? 'in a worker' : 'here';
  const load = (options) => api.WasmModel.load(new Blob([Uint8Array.of(1)]), { worker, ...options });

  async function ask(request) {
    const model = await load();
    const { choices, usage } = await model.chat.completions.create({ messages: HI, max_tokens: 200, ...request });
    const [{ message, finish_reason: reason }] = choices;
    await model.free();
    return { ...message, reason, usage };
  }

  test(`${at}: a thought is closed when its budget is spent, and the answer follows`, async () => {
    writes(THOUGHT, 'Yes.');
    const { content, reasoning_content: thought, reason, usage } = await ask({ reasoning_budget: 6 });
    assert.deepEqual([thought, content, reason], ['Well,', 'Yes.', 'stop']);
    const [first, second] = seen.started;
    assert.equal(seen.started.length, 2);
    assert.equal(textOf(second), `${textOf(first)}<think>Well,${CLOSING}`);
    assert.deepEqual([first.options.maxTokens, second.options.maxTokens], [200, 200 - 12 - CLOSING.length]);
    const written = 12 + CLOSING.length + 4;
    assert.deepEqual(
      [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens],
      [first.ids.length, written, first.ids.length + written],
    );
  });

  test(`${at}: a thought within its budget is left alone`, async () => {
    writes(THOUGHT, 'wrong');
    const { content, reasoning_content: thought } = await ask({ reasoning_budget: 32 });
    assert.deepEqual([thought, content, seen.started.length], ['Well, let me see.', 'No.', 1]);
  });

  test(`${at}: each further thought is closed at once`, async () => {
    writes(THOUGHT, 'Yes.<think>But', '', 'Done.');
    const { content } = await ask({ reasoning_budget: 6 });
    assert.equal(content, 'Yes.<think>But', 'a thought behind the answer is text');
    resetMock();
    Object.assign(plan, { contextLength: 10000, window: 10000, tokenMs: 0, template: '<think>' });
    writes(THOUGHT, '<think>But wait', 'Done.');
    const again = await ask({ reasoning_budget: 6 });
    assert.equal(again.content, 'Done.');
    assert.match(textOf(seen.started.at(-1)), /Well,\n<\/think>\n\n<think>.?\n<\/think>\n\n$/);
  });

  test(`${at}: calls are read behind a thought that was closed`, async () => {
    writes(THOUGHT, CALL);
    const { tool_calls: calls, reason } = await ask({ reasoning_budget: 6, tools: [ADD] });
    assert.deepEqual([reason, calls[0].function], ['tool_calls', { name: 'add', arguments: '{"a": 1}' }]);
  });

  test(`${at}: where no room is left behind it, the thought goes on until the end`, async () => {
    writes('<think>Well, let me see and see and see.');
    const { reasoning_content: thought, reason } = await ask({ reasoning_budget: 6, max_tokens: 20 });
    assert.deepEqual([thought, reason, seen.started.length], ['Well, let me ', 'length', 1]);
    plan.window = seen.started[0].ids.length + 20;
    assert.equal((await ask({ reasoning_budget: 6 })).reason, 'stop');
    assert.equal(seen.started.length, 2);
  });

  test(`${at}: the budget holds while others wait, and for each of several answers`, async () => {
    const model = await load();
    const get = () => (textOf(seen.started.at(-1)).endsWith(CLOSING) ? 'Yes.' : THOUGHT);
    Object.defineProperty(plan, 'writes', { get, configurable: true });
    const request = { messages: HI, max_tokens: 100, reasoning_budget: 6, n: 2 };
    const both = await Promise.all([0, 1].map(() => model.chat.completions.create(request)));
    for (const { message } of both.flatMap(({ choices }) => choices)) {
      assert.deepEqual([message.reasoning_content, message.content], ['Well,', 'Yes.']);
    }
    assert.equal(seen.started.length, 8);
    await model.free();
  });

  test(`${at}: a stream that is left while a thought is closed ends`, async () => {
    writes(THOUGHT, 'Yes.'.repeat(50));
    const model = await load();
    const request = { messages: HI, stream: true, reasoning_budget: 6 };
    for await (const { choices } of await model.chat.completions.create(request)) {
      if (choices[0].delta.content) break;
    }
    assert.equal(seen.running, 0);
    for await (const { choices } of await model.chat.completions.create(request)) {
      if (choices[0].delta.reasoning_content) break;
    }
    assert.equal(seen.running, 0);
    await model.free();
  });
}

test('what is put in is part of the text, and what was asked for ahead is not', async () => {
  writes('abcdef', 'xyz');
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const steer = ({ text }) => (text === 'c' ? { text: '-' } : undefined);
  const options = {};
  steers.set(options, steer);
  const { text, ids, usage } = await model.generate('A', options);
  assert.deepEqual([text, String.fromCharCode(...ids), usage.completionTokens], ['abc-xyz', 'abc-xyz', 7]);

  const calls = [];
  const usageOf = { promptTokens: 2, cachedTokens: 0, acceptedDraftTokens: 1, rejectedDraftTokens: 0 };
  const handle = {
    tokenize: () => Uint32Array.of(9),
    cancel: () => calls.push('cancel'),
    finish: async () => (calls.push('finish'), { ids: Uint32Array.of(3, 4, 5), usage: usageOf, timings: {} }),
    start: (start, options) => calls.push([...start, options.maxTokens]),
  };
  const asked = { ids: Uint32Array.of(1, 2), options: { maxTokens: 10 } };
  const place = { kept: 2, contextLength: 99, settled: async () => calls.push('settled') };
  const { asked: next } = await insert(handle, asked, { text: '-' }, place);
  assert.deepEqual(calls, ['cancel', 'settled', 'finish', [1, 2, 3, 4, 9, 7]]);
  assert.deepEqual([...next.before.ids], [3, 4, 9]);
  assert.equal(await insert(handle, asked, { text: '-' }, { ...place, contextLength: 5 }), undefined);
  assert.equal(calls.length, 4);
});

test('in texts without control tokens these are known by their ids', async () => {
  const signs = ['[THINK]', '[/THINK]'];
  const engine = {
    info: { chatTemplate: signs.join() },
    tokenize: async (said) => Uint32Array.from(signs.includes(said) ? [signs.indexOf(said)] : [9, 1, 9]),
    detokenize: async (ids) => [...ids].map((id) => (id < 2 ? '' : '-')).join(''),
    applyChatTemplate: async () => 'Hi',
  };
  const steer = await steerOf(engine, { messages: HI }, 3);
  const piece = (id, said) => steer({ ids: Uint32Array.of(id), text: said });
  assert.deepEqual([piece(0, ''), piece(5, 'a'), piece(6, '')], [undefined, undefined, undefined]);
  assert.deepEqual(piece(7, 'b'), { text: '\n[/THINK]\n\n', shown: '--' });
  assert.equal(piece(8, 'answer'), undefined);
  const closed = await steerOf(engine, { messages: HI }, 3);
  const again = (id, said) => closed({ ids: Uint32Array.of(id), text: said });
  assert.deepEqual([again(0, ''), again(5, 'a'), again(1, ''), again(5, 'b'), again(5, 'c')], Array(5).fill(undefined));
  assert.equal(await steerOf({ info: { chatTemplate: 'plain' } }, { messages: HI }, 3), undefined);
});

test('effort is a budget where the template does not know it', async () => {
  const of = (effort, template) => budgetOf({ reasoning_effort: effort }, template);
  assert.deepEqual(
    ['minimal', 'low', 'medium', 'high', 'none'].map((effort) => of(effort)),
    [...[128, 512, 2048], ...[undefined, undefined]],
  );
  assert.equal(of('low', '{{ reasoning_effort }}'), undefined);
  assert.equal(budgetOf({ reasoning_effort: 'low', reasoning_budget: 7 }, '{{ reasoning_effort }}'), 7);
  const model = await api.WasmModel.load(Uint8Array.of(1));
  writes(`<think>${'x'.repeat(200)}</think>No.`, 'Yes.');
  const { choices } = await model.chat.completions.create({ messages: HI, reasoning_effort: 'minimal' });
  // The last token of the sign is one of the thought.
  assert.equal(choices[0].message.reasoning_content.length, 127);
});

test("budget_tokens of Anthropic's API is the budget", async () => {
  writes(THOUGHT, 'Yes.');
  const { messages } = anthropic({ model: api.WasmModel.load(Uint8Array.of(1)) });
  const thinking = { type: 'enabled', budget_tokens: 6 };
  const { content } = await messages.create({ max_tokens: 100, messages: HI, thinking });
  assert.deepEqual(
    content.map((block) => block.thinking ?? block.text),
    ['Well,', 'Yes.'],
  );
});

test('a wrong budget is refused', async () => {
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const wrong = model.chat.completions.create({ messages: HI, reasoning_budget: -1 });
  await assert.rejects(wrong, withCode('invalid_argument', /'reasoning_budget' must be an integer from 0/));
});
