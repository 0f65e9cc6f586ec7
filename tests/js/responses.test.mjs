// OpenAI's Responses API over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, isAbort, plan, resetMock, seen, withCode } from './api.mjs';

const { openai, webggufFetch } = await import(`${dist}openai/index.js`);
const { ModelResponses } = await import(`${dist}openai/responses/responses.js`);
const { LocalCompletions } = await import(`${dist}openai/completions.js`);
await api.init({ wasm: new Uint8Array(8) });

const THINKING = '{{ tools }} <tool_call> tool_calls <think>';
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const ADD = { type: 'function', name: 'add', description: 'Adds', parameters: { type: 'object' }, strict: true };
const user = (content) => ({ role: 'user', content });

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, window: 10000, tokenMs: 0, template: THINKING, writes: 'Hello!' });
});

const load = () => api.WasmModel.load(Uint8Array.of(1));
const client = async () => openai({ model: await load() }).responses;

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** What the template was given last: role and content, and what else there is. */
const lastMessages = () => JSON.parse(JSON.stringify(seen.templates.at(-1).messages));

test('an answer has the shape of a response', async () => {
  const responses = await client();
  const { id, created_at, completed_at, output, ...response } = await responses.create({
    input: 'Hi',
    model: 'mine',
    instructions: 'Be brief.',
    metadata: { a: 'b' },
    user: 'me',
  });
  assert.match(id, /^resp_\w{28}$/);
  assert.ok(Math.abs(created_at - Date.now() / 1e3) < 600 && completed_at >= created_at);
  const [{ id: item, ...message }] = output;
  assert.match(item, /^msg_\w{34}$/);
  assert.deepEqual(message, {
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Hello!', annotations: [], logprobs: [] }],
  });
  assert.deepEqual(response, {
    object: 'response',
    status: 'completed',
    error: null,
    incomplete_details: null,
    output_text: 'Hello!',
    usage: {
      input_tokens: response.usage.input_tokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 6,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: response.usage.input_tokens + 6,
    },
    model: 'mine',
    instructions: 'Be brief.',
    previous_response_id: null,
    metadata: { a: 'b' },
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    max_output_tokens: null,
    top_logprobs: 0,
    reasoning: { effort: null, summary: null },
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    truncation: 'disabled',
    store: true,
    background: false,
    access_programs: null,
    user: 'me',
    webgguf: { backend: 'cpu' },
  });
  assert.ok(response.usage.input_tokens > 10);
  assert.deepEqual(lastMessages(), [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ]);
});

test('the events of thoughts, a text and calls, in their order', async () => {
  plan.writes = `<think>Hm.</think>I add.\n${CALL}\n${CALL}`;
  const responses = await client();
  const events = await all(await responses.create({ input: 'Hi', tools: [ADD], stream: true }));
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  );
  const kinds = events.map(({ type }) => type.replace(/^response\./, ''));
  // Deltas that follow each other count as one.
  const order = kinds.filter((kind, index) => kind !== kinds[index - 1] || !kind.endsWith('delta'));
  const call = [
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
  ];
  assert.deepEqual(order, [
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'reasoning_text.delta',
    'reasoning_text.done',
    'content_part.done',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    ...call,
    ...call,
    'completed',
  ]);
  const last = events.at(-1).response;
  assert.equal(last.output_text, undefined);
  assert.deepEqual(
    last.output.map(({ type, status }) => [type, status]),
    [
      ['reasoning', 'completed'],
      ['message', 'completed'],
      ['function_call', 'completed'],
      ['function_call', 'completed'],
    ],
  );
  assert.deepEqual(last.output[0].content, [{ type: 'reasoning_text', text: 'Hm.' }]);
  assert.equal(last.output[1].content[0].text, 'I add.');
  assert.deepEqual(JSON.parse(last.output[2].arguments), { a: 1, b: 2 });
  assert.notEqual(last.output[2].call_id, last.output[3].call_id);
  assert.ok(last.usage.output_tokens_details.reasoning_tokens >= 3);
  // Each delta names its item, and the deltas are the text.
  for (const [index, item] of last.output.entries()) {
    const own = events.filter(({ output_index: at }) => at === index);
    assert.ok(own.every(({ item_id: id, item: whole }) => (id ?? whole.id) === item.id));
    const text = own.flatMap(({ type, delta }) => (type.endsWith('.delta') ? [delta] : [])).join('');
    assert.equal(text, item.arguments ?? item.content[0].text);
    assert.deepEqual(own.at(-1).item, item);
    assert.equal(own[0].item.status, 'in_progress');
  }
});

test('with a summary that is asked for, thoughts stand there', async () => {
  plan.writes = '<think>Hm.</think>Yes.';
  const responses = await client();
  const events = await all(await responses.create({ input: 'Hi', reasoning: { summary: 'auto' }, stream: true }));
  const { output } = events.at(-1).response;
  assert.deepEqual(output[0].summary, [{ type: 'summary_text', text: 'Hm.' }]);
  assert.equal('content' in output[0], false);
  const kinds = new Set(events.map(({ type }) => type).filter((type) => type.includes('reasoning')));
  assert.deepEqual(
    [...kinds],
    [
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
    ],
  );
});

test('a conversation goes on from a response, with its thoughts and its calls', async () => {
  plan.writes = `<think>Hm.</think>${CALL}`;
  const responses = await client();
  const first = await responses.create({ input: 'What is 1 + 2?', instructions: 'Old.', tools: [ADD] });
  const [, call] = first.output;
  plan.writes = 'It is 3.';
  const second = await responses.create({
    previous_response_id: first.id,
    instructions: 'New.',
    input: [{ type: 'function_call_output', call_id: call.call_id, output: '3' }],
    tools: [ADD],
  });
  assert.equal(second.output_text, 'It is 3.');
  assert.equal(second.previous_response_id, first.id);
  const said = lastMessages();
  assert.deepEqual(
    said.map(({ role, content }) => [role, content]),
    [
      ['system', 'New.'],
      ['user', 'What is 1 + 2?'],
      ['assistant', ''],
      ['tool', '3'],
    ],
  );
  assert.equal(said[2].reasoning_content, 'Hm.');
  assert.deepEqual(said[2].tool_calls[0].function, { name: 'add', arguments: { a: 1, b: 2 } });
  const third = await responses.create({ previous_response_id: second.id, input: 'Thanks' });
  assert.deepEqual(
    lastMessages().map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant', 'user'],
  );
  const { data, has_more: more } = await responses.inputItems.list(third.id, { order: 'asc' });
  assert.deepEqual(
    data.map(({ type }) => type),
    ['message', 'reasoning', 'function_call', 'function_call_output', 'message', 'message'],
  );
  assert.equal(more, false);
});

test('items of responses are messages of one turn, and references are what they refer to', async () => {
  plan.writes = `<think>Hm.</think>I add.\n${CALL}`;
  const responses = await client();
  const { output } = await responses.create({ input: 'Hi', tools: [ADD] });
  const result = {
    type: 'function_call_output',
    call_id: output[2].call_id,
    output: [{ type: 'input_text', text: '3' }],
  };
  plan.writes = 'Done.';
  for (const items of [output, output.map(({ id }) => ({ type: 'item_reference', id }))]) {
    await responses.create({ input: [user('Hi'), ...items, result] });
    const [, assistant, tool] = lastMessages();
    assert.deepEqual([assistant.reasoning_content, assistant.content], ['Hm.', 'I add.']);
    assert.equal(assistant.tool_calls.length, 1);
    assert.equal(tool.content, '3');
  }
  const unknown = { type: 'item_reference', id: `msg_${'x'.repeat(28)}000000` };
  await assert.rejects(
    responses.create({ input: [unknown] }),
    withCode('invalid_argument', /'input\[0\]': item 'msg_x+000000' is not kept/),
  );
});

test('what is kept is found, listed in pages, and deleted', async () => {
  const responses = await client();
  const input = Array.from({ length: 5 }, (_, at) => user(`m${at}`));
  const { id } = await responses.create({ input });
  assert.equal((await responses.retrieve(id)).output_text, 'Hello!');
  const names = [];
  for (let after; ; after = names.at(-1)) {
    const page = await responses.inputItems.list(id, { limit: 2, after });
    assert.equal(page.first_id, page.data[0].id);
    names.push(...page.data.map((item) => item.id));
    if (!page.has_more) break;
  }
  assert.equal(new Set(names).size, 5);
  const { data } = await responses.inputItems.list(id);
  assert.deepEqual(
    data.map(({ content }) => content),
    ['m4', 'm3', 'm2', 'm1', 'm0'],
  );
  const wrong = withCode('invalid_argument', /'limit' must be an integer from 1 to 100, found 0/);
  await assert.rejects(responses.inputItems.list(id, { limit: 0 }), wrong);
  await assert.rejects(
    responses.inputItems.list(id, { after: 'x' }),
    withCode('invalid_argument', /'after' names 'x'/),
  );
  assert.deepEqual(await responses.delete(id), { id, object: 'response', deleted: true });
  for (const call of [responses.retrieve, responses.delete, responses.cancel, responses.inputItems.list]) {
    await assert.rejects(call(id), withCode('invalid_argument', /response 'resp_.*' is not kept/));
  }
});

test('nothing is kept of a request that says so, and nothing that was changed from outside', async () => {
  const responses = await client();
  const hidden = await responses.create({ input: 'Hi', store: false });
  assert.equal(hidden.store, false);
  await assert.rejects(responses.retrieve(hidden.id), withCode('invalid_argument', /is not kept/));
  await assert.rejects(
    responses.create({ input: 'And?', previous_response_id: hidden.id }),
    withCode('invalid_argument', /field 'previous_response_id': 'resp_.*' is not kept/),
  );
  const input = [user('Hi')];
  const response = await responses.create({ input, store: null });
  input[0].content = 'changed';
  response.output[0].content[0].text = 'changed';
  const again = await responses.retrieve(response.id);
  assert.equal(again.output_text, 'Hello!');
  assert.equal((await responses.inputItems.list(response.id)).data[0].content, 'Hi');
});

test('the oldest responses make room, and a conversation that began in one says so', async () => {
  const model = await load();
  const answering = { completions: new LocalCompletions(model), name: 'x', origin: { backend: 'cpu' }, model };
  const responses = new ModelResponses(async () => answering, 6000);
  const first = await responses.create({ input: 'Hi' });
  let last = first;
  const isThere = ({ id }) => responses.retrieve(id).then(Boolean, () => false);
  let count = 1;
  for (; count < 20 && (await isThere(first)); count += 1) {
    last = await responses.create({ input: 'Hi', previous_response_id: last.id });
  }
  assert.ok(count > 2 && count < 8, `${count} responses`);
  assert.equal((await responses.retrieve(last.id)).id, last.id);
  await assert.rejects(
    responses.create({ input: 'Hi', previous_response_id: last.id }),
    withCode('invalid_argument', /is not kept, which the conversation of 'resp_.*' goes on from/),
  );
});

test('an answer that is cut is incomplete, and its call is not gone on from', async () => {
  const responses = await client();
  plan.writes = 'Hello!';
  const short = await responses.create({ input: 'Hi', max_output_tokens: 3 });
  assert.equal(short.status, 'incomplete');
  assert.deepEqual(short.incomplete_details, { reason: 'max_output_tokens' });
  assert.equal(short.output[0].status, 'incomplete');
  plan.writes = CALL;
  const request = { input: 'Hi', tools: [ADD], max_output_tokens: CALL.length - 20, stream: true };
  const events = await all(await responses.create(request));
  const { type, response } = events.at(-1);
  assert.equal(type, 'response.incomplete');
  assert.deepEqual(
    response.output.map((item) => [item.type, item.status]),
    [['function_call', 'incomplete']],
  );
  plan.writes = 'Yes.';
  await responses.create({ input: 'And?', previous_response_id: response.id });
  assert.deepEqual(
    lastMessages().map(({ role }) => role),
    ['user', 'user'],
  );
});

test('cancel ends an answer, which is kept; leaving and aborting keep nothing', async () => {
  const responses = await client();
  plan.writes = 'x'.repeat(1000);
  const events = [];
  const ended = [];
  for await (const event of await responses.create({ input: 'Hi', stream: true })) {
    events.push(event);
    if (event.type !== 'response.output_text.delta' || events.length > 9) continue;
    const { id } = events[0].response;
    assert.equal((await responses.retrieve(id)).status, 'in_progress');
    if (events.length === 9) ended.push(await responses.cancel(id));
  }
  const { type, response } = events.at(-1);
  assert.deepEqual([type, response.status, ended[0].status], ['response.incomplete', 'cancelled', 'cancelled']);
  assert.ok(response.output[0].content[0].text.length < 50);
  assert.equal((await responses.retrieve(response.id)).status, 'cancelled');
  await assert.rejects(responses.cancel(response.id), withCode('invalid_argument', /its status is 'cancelled'/));

  for (const end of ['break', 'abort', 'signal']) {
    const controller = new AbortController();
    const stream = await responses.create({ input: 'Hi', stream: true }, { signal: controller.signal });
    let id;
    const read = async () => {
      for await (const { type: kind, response: begun } of stream) {
        id ??= begun?.id;
        if (kind !== 'response.output_text.delta') continue;
        if (end === 'break') break;
        if (end === 'abort') stream.controller.abort();
        else controller.abort();
      }
    };
    if (end === 'signal') await assert.rejects(read(), isAbort);
    else await read();
    await assert.rejects(responses.retrieve(id), withCode('invalid_argument', /is not kept/));
  }
  assert.equal(seen.running, 0);
});

const numbers = (events) => events.map((event) => event.sequence_number);

/** What came of a response that is written in the background. */
const over = async (responses, id) => (await all(await responses.retrieve(id, { stream: true }))).at(-1).response;

test('in the background an answer is written after the call, and read while it grows and later', async () => {
  const responses = await client();
  plan.writes = 'x'.repeat(200);
  const controller = new AbortController();
  const request = { input: 'Hi', background: true };
  const response = await responses.create(request, { signal: controller.signal });
  assert.deepEqual([response.status, response.output, response.background], ['queued', [], true]);
  controller.abort();
  const { id } = response;
  const events = [];
  for await (const event of await responses.retrieve(id, { stream: true })) {
    if (events.push(event) !== 50) continue;
    const { status, output_text: text } = await responses.retrieve(id);
    assert.equal(status, 'in_progress');
    assert.ok(text.length > 9 && text.length < plan.writes.length, text);
  }
  assert.deepEqual(numbers(events), [...events.keys()]);
  assert.deepEqual(
    events.slice(0, 3).map(({ type, response }) => `${type}: ${response.status}`),
    ['response.created: queued', 'response.queued: queued', 'response.in_progress: in_progress'],
  );
  assert.equal(events.at(-1).type, 'response.completed');
  const done = await responses.retrieve(id);
  assert.deepEqual([done.status, done.output_text, done.background], ['completed', plan.writes, true]);
  const late = await all(await responses.retrieve(id, { stream: true, starting_after: 3 }));
  assert.deepEqual(numbers(late), numbers(events).slice(4));
  assert.deepEqual(await all(await responses.retrieve(id, { stream: true, starting_after: 1e6 })), []);
  const next = await responses.create({ previous_response_id: id, input: 'And?', background: true });
  assert.equal((await over(responses, next.id)).status, 'completed');
  assert.equal((await responses.inputItems.list(next.id)).data.length, 3);
  const some = { stream: true, starting_after: 'x' };
  await assert.rejects(
    responses.retrieve(id, some),
    withCode('invalid_argument', /'starting_after' must be an integer/),
  );
  await responses.delete(id);
  const gone = withCode('invalid_argument', /'s events are not kept/);
  await assert.rejects(responses.retrieve(id, { stream: true }), gone);
});

test('whoever leaves the stream of an answer in the background does not end it; cancel does, and twice', async () => {
  const responses = await client();
  plan.writes = 'x'.repeat(500);
  const controller = new AbortController();
  const request = { input: 'Hi', background: true, stream: true };
  const stream = await responses.create(request, { signal: controller.signal });
  const first = await stream[Symbol.asyncIterator]().next();
  const { id } = first.value.response;
  stream.controller.abort();
  assert.equal((await over(responses, id)).output[0].content[0].text, plan.writes);

  const other = await responses.create(request, { signal: controller.signal });
  const read = assert.rejects(all(other), isAbort);
  controller.abort();
  await read;
  const { id: last } = await responses.create({ input: 'Hi', background: true });
  const watched = await responses.retrieve(last, { stream: true });
  let count = 0;
  for await (const _ of watched) if (++count === 9) assert.equal((await responses.cancel(last)).status, 'cancelled');
  const { status, output_text: text } = await responses.cancel(last);
  assert.ok(status === 'cancelled' && text.length < 500, text);
});

test('an answer in the background that fails says so to whoever retrieves it', async () => {
  const responses = await client();
  plan.nextFails = Object.assign(new Error('no more'), { code: 'internal' });
  const { id } = await responses.create({ input: 'Hi', background: true });
  assert.equal((await over(responses, id)).status, 'failed');
  const { status, error } = await responses.retrieve(id);
  assert.equal(status, 'failed');
  assert.match(error.message, /no more/);
  plan.nextFails = undefined;
  const ids = [];
  for (let i = 0; i < 17; i++) {
    const response = await responses.create({ input: 'Hi', background: true });
    assert.equal((await over(responses, response.id)).status, 'completed');
    ids.push(response.id);
  }
  await assert.rejects(responses.retrieve(ids[0], { stream: true }), withCode('invalid_argument', /events/));
  assert.equal((await responses.retrieve(ids[0])).status, 'completed');
});

test('an answer that fails says so in an event, and the loop throws', async () => {
  const responses = await client();
  plan.writes = 'Hello!';
  const stream = await responses.create({ input: 'Hi', stream: true });
  const events = [];
  const read = async () => {
    for await (const event of stream) {
      events.push(event);
      if (event.type === 'response.output_text.delta')
        plan.nextFails = Object.assign(new Error('gone'), { code: 'internal' });
    }
  };
  await assert.rejects(read(), withCode('internal', /gone/));
  const { type, response } = events.at(-1);
  assert.deepEqual(
    [type, response.status, response.error],
    ['response.failed', 'failed', { code: 'server_error', message: 'gone' }],
  );
  await assert.rejects(responses.retrieve(response.id), withCode('invalid_argument', /is not kept/));
});

test('tools, their choice and the format reach the chat', async () => {
  const responses = await client();
  plan.writes = '{"a": 1}';
  const schema = { type: 'object', properties: { a: { type: 'integer' } } };
  const { text } = await responses.create({
    input: 'Hi',
    text: { format: { type: 'json_schema', name: 'form', schema, strict: true }, verbosity: 'low' },
  });
  assert.deepEqual(text, { format: { type: 'json_schema', name: 'form', strict: true, schema }, verbosity: 'low' });
  assert.ok(seen.constrained, 'a grammar');
  const json = await responses.create({ input: 'Hi', text: { format: { type: 'json_object' } } });
  assert.deepEqual(json.text, { format: { type: 'json_object' } });
  plan.writes = CALL.replaceAll(/<\/?tool_call>\n?/g, '').replace('{"name": "add", "arguments": ', '');
  for (const choice of [
    'required',
    { type: 'function', name: 'add' },
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'add' }] },
  ]) {
    const response = await responses.create({ input: 'Hi', tools: [ADD], tool_choice: choice });
    assert.deepEqual(response.tool_choice, choice);
    assert.equal(response.output[0]?.type, 'function_call', JSON.stringify(response.output));
  }
  plan.writes = `${CALL}\n${CALL}`;
  const single = await responses.create({ input: 'Hi', tools: [ADD], parallel_tool_calls: false });
  assert.equal(single.output.length, 1);
  assert.deepEqual(single.tools, [ADD]);
});

test('images, sounds and other parts reach the chat', async () => {
  const asked = [];
  const model = await load();
  const completions = {
    create: async ({ messages }) => {
      asked.push(messages);
      return new LocalCompletions(model).create({ messages: [user('Hi')], stream: true });
    },
  };
  const responses = new ModelResponses(async () => ({ completions, name: 'x', origin: { backend: 'cpu' } }));
  const url = 'data:image/png;base64,AAAA';
  const sound = { data: 'AAAA', format: 'wav' };
  const content = [
    { type: 'input_text', text: 'Look' },
    { type: 'input_image', image_url: url, detail: 'original' },
    { type: 'input_image', image_url: url, detail: 'auto' },
    { type: 'input_audio', input_audio: sound },
  ];
  const refusal = { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] };
  const developer = { role: 'developer', content: 'Rules.' };
  await responses.create({ input: [developer, user(content), refusal, user('And now?')] });
  assert.deepEqual(asked[0], [
    developer,
    user([
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url, detail: 'high' } },
      { type: 'image_url', image_url: { url, detail: 'auto' } },
      { type: 'input_audio', input_audio: sound },
    ]),
    refusal,
    user('And now?'),
  ]);
});

test('log-probabilities stand beside the text', async () => {
  const responses = await client();
  const include = ['message.output_text.logprobs'];
  const events = await all(await responses.create({ input: 'Hi', include, top_logprobs: 1, stream: true }));
  const [{ content }] = events.at(-1).response.output;
  assert.equal(content[0].logprobs.map(({ token }) => token).join(''), 'Hello!');
  assert.equal(content[0].logprobs[0].top_logprobs.length, 1);
  const streamed = events.flatMap(({ type, logprobs }) => (type === 'response.output_text.delta' ? logprobs : []));
  assert.deepEqual(streamed, content[0].logprobs);
});

test('with truncation the oldest turns are left out, and the system prompt stays', async () => {
  const responses = await client();
  Object.assign(plan, { window: 400, contextLength: 400, writes: 'Hi' });
  const small = openai({ model: await load() }).responses;
  const input = Array.from({ length: 40 }, (_, at) => [
    user(`question ${at}`),
    { role: 'assistant', content: 'yes' },
  ]).flat();
  const request = { instructions: 'System.', input: [...input, user('last')], max_output_tokens: 20 };
  await assert.rejects(small.create(request), withCode('context_full'));
  const response = await small.create({ ...request, truncation: 'auto' });
  assert.equal(response.status, 'completed');
  const said = lastMessages();
  assert.deepEqual(said[0], { role: 'system', content: 'System.' });
  assert.equal(said[1].role, 'user');
  assert.equal(said.at(-1).content, 'last');
  assert.ok(said.length > 5 && said.length < 30, String(said.length));
  assert.ok(response.usage.input_tokens + 20 <= 400);
  // The last turn has to fit.
  const long = { input: 'x'.repeat(500), truncation: 'auto' };
  await assert.rejects(small.create(long), withCode('context_full'));
  assert.ok(responses);
});

test('the tokens of a prompt are counted as the model reads them', async () => {
  const model = await load();
  const { responses } = openai({ model });
  const first = await responses.create({ input: 'Hi' });
  for (const further of [{}, { previous_response_id: first.id, instructions: 'Be brief.', tools: [ADD] }]) {
    const request = { input: 'And what now?', ...further };
    const counted = await responses.inputTokens.count(request);
    const { usage } = await responses.create(request);
    assert.deepEqual(counted, { object: 'response.input_tokens', input_tokens: usage.input_tokens });
  }
  const wrong = responses.inputTokens.count({
    input: 'Hi',
    tools: [ADD],
    tool_choice: { type: 'function', name: 'x' },
  });
  await assert.rejects(wrong, withCode('invalid_argument', /^responses.create: 'tool_choice' names 'x'/));
  const fetch = webggufFetch({ model });
  const asked = { method: 'POST', body: JSON.stringify({ input: 'Hi' }) };
  const answer = await fetch('http://webgguf/v1/responses/input_tokens', asked);
  assert.equal((await answer.json()).input_tokens, first.usage.input_tokens);
});

test('a prompt that is longer than it was counted loses one turn more', async () => {
  const model = await load();
  const asked = [];
  const completions = {
    create: async (request) => {
      asked.push(request.messages.length);
      if (asked.length < 3) throw Object.assign(new api.WebggufError('context_full', 'too long'));
      return new LocalCompletions(model).create(request);
    },
  };
  const answering = { completions, name: 'x', origin: { backend: 'cpu' } };
  const late = {
    create: async (request) => {
      async function* chunks() {
        const stream = await completions.create(request);
        yield* stream;
      }
      return Object.assign(chunks(), { controller: new AbortController() });
    },
  };
  const responses = new ModelResponses(async () => ({ ...answering, completions: late }));
  const input = [
    user('a'),
    { role: 'assistant', content: 'b' },
    user('c'),
    { role: 'assistant', content: 'd' },
    user('e'),
  ];
  const response = await responses.create({ input, truncation: 'auto' });
  assert.equal(response.output_text, 'Hello!');
  assert.deepEqual(asked, [5, 3, 1]);
});

test('what is not supported is refused by name', async () => {
  const responses = await client();
  const refused = [
    [{}, /field 'input' is missing/],
    [{ input: 5 }, /field 'input' must be a string or an array of items, found 5/],
    [{ input: 'Hi', conversation: 'conv_1' }, /field 'conversation' is not supported/],
    [{ input: 'Hi', prompt: { id: 'x' } }, /field 'prompt' is not supported/],
    [{ input: 'Hi', background: 'yes' }, /field 'background' must be true or false, found 'yes'/],
    [
      { input: 'Hi', background: true, store: false },
      /field 'background': nobody could read a response that 'store: f/,
    ],
    [{ input: 'Hi', max_tokens: 5 }, /unknown field 'max_tokens'/],
    [{ input: 'Hi', max_output_tokens: 0 }, /field 'max_output_tokens' must be an integer from 1/],
    [{ input: 'Hi', temperature: 3 }, /field 'temperature' must be a number from 0 to 2, found 3/],
    [{ input: 'Hi', include: ['web_search_call.results'] }, /'include': 'web_search_call.results' is not supported/],
    [{ input: 'Hi', reasoning: { effort: 'huge' } }, /field 'reasoning.effort' must be 'none' or .*, found 'huge'/],
    [{ input: 'Hi', reasoning: { mode: 'pro' } }, /field 'reasoning.mode' must be 'standard', found 'pro'/],
    [{ input: 'Hi', text: { format: { type: 'xml' } } }, /field 'text.format' must be .*, found 'xml'/],
    [{ input: 'Hi', text: { formats: 1 } }, /field 'text' has an unknown 'formats'/],
    [{ input: 'Hi', tools: [{ type: 'web_search' }] }, /'tools\[0\]' is of type 'web_search', which is not supported/],
    [{ input: 'Hi', tools: [{ ...ADD, defer_loading: true }] }, /asks for 'defer_loading', which is not supported/],
    [{ input: 'Hi', tools: [null] }, /'tools\[0\]' is of type undefined/],
    [{ input: 'Hi', tool_choice: 'required' }, /'tool_choice' is 'required' and 'tools' is empty/],
    [{ input: 'Hi', tool_choice: { type: 'mcp' } }, /field 'tool_choice' must be 'none'.*, found 'mcp'/],
    [{ input: 'Hi', tools: [ADD], tool_choice: { type: 'function', name: 'x' } }, /names 'x', 'tools' has add/],
    [{ input: [{ type: 'computer_call' }] }, /'input\[0\]' is of type 'computer_call', which is not supported/],
    [{ input: [null] }, /'input\[0\]' must be an item, found null/],
    [{ input: [{ role: 'robot', content: 'x' }] }, /'input\[0\]'.role must be 'user' or .*, found 'robot'/],
    [{ input: [user([{ type: 'input_file', file_id: 'f' }])] }, /content\[0\] is of type 'input_file'/],
    [{ input: [user([{ type: 'input_image', file_id: 'f' }])] }, /content\[0\].image_url must be a string/],
    [{ input: [user(7)] }, /'input\[0\]'.content must be a string or parts, found 7/],
    [{ input: [{ type: 'function_call', name: 'x' }] }, /'input\[0\]'.call_id must be a string/],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, /no call 'c' comes before its result/],
    [{ input: 'Hi', previous_response_id: 'resp_no' }, /field 'previous_response_id': 'resp_no' is not kept/],
  ];
  for (const [request, message] of refused) {
    await assert.rejects(responses.create(request), withCode('invalid_argument', message), JSON.stringify(request));
  }
  assert.equal(seen.started.length, 0);
});

test('hostile input: circles, depth, other types, ids of anything', async () => {
  const responses = await client();
  const circle = user([]);
  circle.content.push(circle);
  await assert.rejects(
    responses.create({ input: [circle] }),
    withCode('invalid_argument', /cannot be written as JSON/),
  );
  let deep = 'x';
  for (let at = 0; at < 1e5; at += 1) deep = [deep];
  await assert.rejects(responses.create({ input: [{ ...user('x'), extra: deep }] }), withCode('invalid_argument'));
  await assert.rejects(
    responses.create({ input: new Array(2 ** 20 + 1) }),
    withCode('invalid_argument', /may have 1048576/),
  );
  const parameters = { type: 'object' };
  parameters.properties = { self: parameters };
  const loop = { input: 'Hi', tools: [{ ...ADD, parameters }] };
  await assert.rejects(responses.create(loop), withCode('invalid_argument', /field 'tools' cannot be written as JSON/));
  for (const id of ['', '__proto__', 'resp_', '../x', undefined, null, {}, 5]) {
    await assert.rejects(responses.retrieve(id), withCode('invalid_argument', /is not kept/));
    await assert.rejects(responses.delete(id), withCode('invalid_argument', /is not kept/));
  }
});

test('over fetch: routes, statuses, and streams', async () => {
  const fetch = webggufFetch({ model: await load() });
  const post = (path, body) => fetch(`http://webgguf/v1${path}`, { method: 'POST', body: JSON.stringify(body) });
  const response = await (await post('/responses', { input: 'Hi' })).json();
  assert.equal(response.status, 'completed');
  assert.equal('output_text' in response, false);
  const at = `http://webgguf/v1/responses/${response.id}`;
  assert.equal((await (await fetch(at)).json()).id, response.id);
  const items = await (await fetch(`${at}/input_items?limit=1&order=asc`)).json();
  assert.equal(items.data[0].content, 'Hi');
  assert.equal((await post(`/responses/${response.id}/cancel`)).status, 400);
  assert.equal((await (await fetch(at, { method: 'DELETE' })).json()).deleted, true);
  const gone = await fetch(at);
  assert.equal(gone.status, 404);
  assert.match((await gone.json()).error.message, /is not kept/);
  assert.equal((await fetch('http://webgguf/v1/responses/%ff')).status, 404);
  assert.equal((await fetch('http://webgguf/v1/responses')).status, 405);
  const nowhere = await post('/conversations', {});
  assert.equal(nowhere.status, 404);
  assert.match((await nowhere.json()).error.message, /there are POST \/chat\/completions.*GET \/responses\/\{id\}/);
  const wrong = await post('/responses', { input: 'Hi', text: { format: { type: 'xml' } } });
  assert.equal(wrong.status, 400);
  const { error } = await wrong.json();
  assert.deepEqual([error.param, error.code], ['text.format', 'invalid_argument']);
  plan.contextLength = 3;
  const full = await post('/responses', { input: 'Hi', stream: true });
  assert.deepEqual([full.status, (await full.json()).error.code], [400, 'context_length_exceeded']);
  plan.contextLength = 10000;
  const streamed = await (await post('/responses', { input: 'Hi', stream: true })).text();
  const lines = streamed.trimEnd().split('\n\n');
  assert.match(lines[0], /^event: response\.created\ndata: \{/);
  assert.match(lines.at(-1), /^event: response\.completed\ndata: \{/);
});

test('a server that answers chats answers responses, too', async () => {
  const bodies = [];
  const fetch = async (url, { body }) => {
    bodies.push([String(url), JSON.parse(body)]);
    const chunks = [
      { choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
      { choices: [{ index: 0, delta: { content: 'From far.' }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ];
    const lines = chunks.map((chunk) => `data: ${JSON.stringify({ id: 'x', model: 'm', ...chunk })}\n\n`);
    return new Response(`${lines.join('')}data: [DONE]\n\n`);
  };
  const model = Promise.reject(new api.WebggufError('limit_exceeded', 'too large'));
  const { responses } = openai({ model, fallback: { baseURL: 'https://example.com/v1', model: 'm', fetch } });
  const response = await responses.create({ input: 'Hi', instructions: 'Be brief.' });
  assert.equal(response.output_text, 'From far.');
  assert.equal(response.webgguf.backend, 'server');
  await assert.rejects(responses.inputTokens.count({ input: 'Hi' }), withCode('invalid_argument', /does not count/));
  assert.equal('usage' in response, false);
  assert.equal(bodies[0][0], 'https://example.com/v1/chat/completions');
  assert.deepEqual(bodies[0][1].messages[0], { role: 'system', content: 'Be brief.' });
});
