// Anthropic's Messages over a mock of the WebAssembly: without Anthropic's package, which tests/package has.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, isAbort, plan, resetMock, seen, withCode } from './api.mjs';

const { anthropic, webggufFetch } = await import(`${dist}anthropic/index.js`);
await api.init({ wasm: new Uint8Array(8) });

const HI = [{ role: 'user', content: 'Hi' }];
const ADD = {
  name: 'add',
  description: 'Adds',
  input_schema: { type: 'object', properties: { a: { type: 'number' } } },
};
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
const TEMPLATE = '{{ tools }} <tool_call> tool_calls <think> enable_thinking reasoning_content';

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, window: 10000, tokenMs: 0, template: TEMPLATE, writes: 'Hello!' });
});

const client = () => anthropic({ model: api.WasmModel.load(Uint8Array.of(1)) });
const create = (request) => client().messages.create({ max_tokens: 1000, messages: HI, ...request });
const promptOf = ({ ids }) => String.fromCharCode(...ids);

async function events(request) {
  const all = [];
  for await (const event of await create({ ...request, stream: true })) all.push(event);
  return all;
}

test('an answer has the shape of a message', async () => {
  const { id, ...message } = await create({ model: 'mine' });
  assert.match(id, /^msg_\w{24}$/);
  assert.deepEqual(message, {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Hello!', citations: null }],
    model: 'mine',
    stop_reason: 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: 9,
      output_tokens: 6,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      output_tokens_details: { thinking_tokens: 0 },
      cache_creation: null,
      inference_geo: null,
      server_tool_use: null,
      service_tier: null,
      speed: null,
    },
    webgguf: { backend: 'cpu' },
  });
});

test('events come in order, each block after the other', async () => {
  plan.writes = `<think>Hm.</think>I add.\n${CALL}\n${CALL}`;
  const all = await events({ tools: [ADD], thinking: { type: 'adaptive' } });
  const short = all.map(({ type, index, delta, content_block: block }) =>
    [type, index, block?.type ?? delta?.type].filter((part) => part !== undefined).join(' '),
  );
  assert.deepEqual(
    short.filter((line, i) => line !== short[i - 1]),
    [
      'message_start',
      'content_block_start 0 thinking',
      'content_block_delta 0 thinking_delta',
      'content_block_delta 0 signature_delta',
      'content_block_stop 0',
      'content_block_start 1 text',
      'content_block_delta 1 text_delta',
      'content_block_stop 1',
      'content_block_start 2 tool_use',
      'content_block_delta 2 input_json_delta',
      'content_block_stop 2',
      'content_block_start 3 tool_use',
      'content_block_delta 3 input_json_delta',
      'content_block_stop 3',
      'message_delta',
      'message_stop',
    ],
  );
  const [start] = all;
  assert.deepEqual([start.message.usage.input_tokens, start.message.content, start.message.stop_reason], [9, [], null]);
  const last = all.at(-2);
  assert.equal(last.delta.stop_reason, 'tool_use');
  assert.equal(last.usage.output_tokens, plan.writes.length);
  assert.ok(last.usage.output_tokens_details.thinking_tokens > 0);
});

test('thoughts are blocks where they are asked for, and else left out', async () => {
  plan.writes = '<think>Hm.</think>Yes.';
  const kinds = async (thinking, config) => {
    const { content } = await create({ thinking, output_config: config });
    return content.map(({ type, text, thinking: thought }) => [type, text ?? thought]);
  };
  assert.deepEqual(await kinds({ type: 'enabled', budget_tokens: 50 }), [
    ['thinking', 'Hm.'],
    ['text', 'Yes.'],
  ]);
  assert.equal(seen.templates.at(-1).variables.enable_thinking, true);
  assert.deepEqual(await kinds({ type: 'adaptive', display: 'omitted' }, { effort: 'max' }), [
    ['thinking', ''],
    ['text', 'Yes.'],
  ]);
  assert.equal(seen.templates.at(-1).variables.reasoning_effort, 'high');
  for (const thinking of [undefined, { type: 'disabled' }]) {
    assert.deepEqual(await kinds(thinking, { effort: 'low' }), [['text', 'Yes.']]);
    assert.deepEqual(seen.templates.at(-1).variables, { enable_thinking: false });
  }
});

test('why an answer ended', async () => {
  plan.writes = 'one, two';
  const ended = async (request) => {
    const { content, stop_reason: reason, stop_sequence: found } = await create(request);
    return [content[0]?.text, reason, found];
  };
  assert.deepEqual(await ended({ stop_sequences: [', ', 'x'] }), ['one', 'stop_sequence', ', ']);
  assert.deepEqual(await ended({ stop_sequences: ['x'] }), ['one, two', 'end_turn', null]);
  assert.deepEqual(await ended({ max_tokens: 3 }), ['one', 'max_tokens', null]);
  const { finish } = Object.getPrototypeOf(seen.handles[0]);
  try {
    Object.getPrototypeOf(seen.handles[0]).finish = async function full() {
      return { ...(await finish.call(this)), finishReason: 'length' };
    };
    assert.deepEqual(await ended({}), ['one, two', 'model_context_window_exceeded', null]);
  } finally {
    Object.getPrototypeOf(seen.handles[0]).finish = finish;
  }
});

test('messages of all kinds reach the template', async () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'See', cache_control: { type: 'ephemeral' } }, image] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'So.', signature: 'x' },
        { type: 'redacted_thinking', data: '?' },
        { type: 'text', text: 'I add.' },
        { type: 'tool_use', id: 't1', name: 'add', input: { a: 1 } },
        { type: 'tool_use', id: 't2', name: 'add', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: '2' }, image] },
        { type: 'tool_result', tool_use_id: 't2', content: 'too much', is_error: true },
        { type: 'text', text: 'And now?' },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'words' } },
        { type: 'search_result', title: 'S', source: 'a.org', content: [{ type: 'text', text: 'found' }] },
      ],
    },
  ];
  const system = [
    { type: 'text', text: 'Be brief.' },
    { type: 'text', text: 'Be kind.' },
  ];
  // The mock has no encoder: what the template got is all that matters.
  await create({ system, messages, tools: [ADD] }).catch(() => {});
  const [{ messages: got, tools, media }] = seen.templates;
  assert.equal(media.length, 2);
  assert.deepEqual(tools, [
    { type: 'function', function: { name: 'add', description: 'Adds', parameters: ADD.input_schema } },
  ]);
  assert.deepEqual(got, [
    { role: 'system', content: 'Be brief.\nBe kind.' },
    { role: 'user', content: 'See\ufdd2' },
    {
      role: 'assistant',
      content: 'I add.',
      reasoning_content: 'So.',
      tool_calls: [
        { id: 't1', type: 'function', function: { name: 'add', arguments: { a: 1 } } },
        { id: 't2', type: 'function', function: { name: 'add', arguments: {} } },
      ],
    },
    { role: 'tool', tool_call_id: 't1', content: '2' },
    { role: 'tool', tool_call_id: 't2', content: 'error: too much' },
    { role: 'user', content: '\ufdd2And now?' },
    { role: 'user', content: 'T\nwords\nS (a.org)\nfound' },
  ]);
});

test('tools are called as tool_choice says', async () => {
  const request = (choice) => ({ tools: [ADD, { ...ADD, name: 'sub', type: 'custom' }], tool_choice: choice });
  plan.writes = `${CALL}\n${CALL}`;
  const { content, stop_reason: reason } = await create(request({ type: 'auto', disable_parallel_tool_use: true }));
  assert.equal(reason, 'tool_use');
  assert.deepEqual(content, [
    { type: 'tool_use', id: content[0].id, name: 'add', input: { a: 1 }, caller: { type: 'direct' } },
  ]);
  assert.match(content[0].id, /^toolu_\w{24}$/);
  assert.equal((await create(request({ type: 'auto' }))).content.length, 2);
  assert.deepEqual((await create(request({ type: 'none' }))).content, [
    { type: 'text', text: plan.writes, citations: null },
  ]);
  await create(request({ type: 'tool', name: 'sub' })).catch(() => {});
  assert.match(promptOf(seen.started.at(-1)), /"name": "sub"/);
  await create(request({ type: 'any' })).catch(() => {});
  assert.match(promptOf(seen.started.at(-1)), /<tool_call>\s*$/);
});

test('an answer goes on behind what the assistant said last', async () => {
  plan.writes = ' 42.';
  const messages = [...HI, { role: 'assistant', content: [{ type: 'text', text: 'It is' }] }];
  const { content } = await create({ messages });
  assert.deepEqual([content[0].text, promptOf(seen.started.at(-1)).endsWith('<user>HiIt is')], [' 42.', true]);
});

test('tokens are counted as the prompt has them', async () => {
  const { messages } = client();
  const { input_tokens: count } = await messages.countTokens({ messages: HI, system: 'Be brief.' });
  const { usage } = await create({ system: 'Be brief.' });
  assert.equal(count, usage.input_tokens);
  assert.ok(count > (await messages.countTokens({ messages: HI })).input_tokens);
});

test('a wrong request is named', async () => {
  const refused = async (request, pattern) =>
    assert.rejects(create(request), withCode('invalid_argument', pattern), JSON.stringify(request));
  await refused({ max_tokens: undefined }, /field 'max_tokens' is missing/);
  await refused({ messages: undefined }, /field 'messages' is missing/);
  await refused({ temperature: 1.5 }, /field 'temperature' must be a number from 0 to 1, found 1.5/);
  await refused({ max_token: 5 }, /unknown field 'max_token', did you mean 'max_tokens'/);
  await refused({ mcp_servers: [] }, /field 'mcp_servers' is not supported/);
  await refused({ container: 'c1' }, /field 'container' must be null/);
  await refused({ thinking: { type: 'enabled' } }, /field 'thinking' must be/);
  await refused({ thinking: { type: 'enabled', budget_tokens: 1000 } }, /less than 'max_tokens', found 1000 and 1000/);
  await refused({ tool_choice: { type: 'tool' } }, /field 'tool_choice' must be/);
  await refused({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, /run at Anthropic, not here/);
  await refused({ output_config: { effort: 'huge' } }, /field 'output_config' must be/);
  const says = (content, pattern) => refused({ messages: [{ role: 'user', content }] }, pattern);
  await says([{ type: 'container_upload', file_id: 'f' }], /'messages\[0\]\.content\[0\]': blocks of type/);
  await says([{ type: 'document', source: { type: 'base64', data: '' } }], /documents must be text/);
  await says([{ type: 'image', source: { type: 'file', file_id: 'f' } }], /must be of type 'base64' or 'url'/);
  await says(7, /'content' must be a string or an array of blocks/);
  await refused({ messages: [{ role: 'tool', content: 'x' }] }, /'role' must be/);
  const calls = [{ type: 'tool_use', id: 't', name: 'add', input: {} }];
  await refused({ messages: [...HI, { role: 'assistant', content: calls }] }, /whose result must follow/);
});

test('over HTTP errors have shapes, types and codes of their own', async () => {
  const fetch = webggufFetch({ model: api.WasmModel.load(Uint8Array.of(1)) });
  const ask = async (path, init) => {
    const response = await fetch(`http://webgguf${path}`, init);
    assert.match(response.headers.get('request-id'), /^req_\w{24}$/);
    return [response.status, (await response.json()).error];
  };
  const post = (path, body) =>
    ask(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });
  const valid = { max_tokens: 5, messages: HI };
  for (const body of ['{', { ...valid, top_p: 3 }, { ...valid, stream: true, top_p: 3 }]) {
    const [status, { type, message }] = await post('/v1/messages', body);
    assert.deepEqual([status, type], [400, 'invalid_request_error'], message);
  }
  assert.deepEqual((await post('/v1/complete', valid))[1].type, 'not_found_error');
  assert.equal((await ask('/v1/messages'))[0], 405);
  plan.contextLength = 3;
  for (const stream of [false, true]) {
    const [status, { type, details }] = await post('/v1/messages', { ...valid, stream });
    assert.deepEqual([status, type, details.error_code], [400, 'invalid_request_error', 'context_full']);
  }
  plan.contextLength = 10000;
  plan.nextFails = Object.assign(new Error('gone'), { code: 'device_lost' });
  assert.deepEqual((await post('/v1/messages', valid))[1].type, 'api_error');
  const [, { message }] = await post('/v1/messages', { ...valid, tool_choice: { type: 'any' } });
  assert.match(message, /^messages\.create: 'tool_choice' is 'required'/);
});

test('a signal ends an answer, and so does leaving the loop', async () => {
  plan.writes = 'x'.repeat(1000);
  const controller = new AbortController();
  const { messages } = client();
  const stream = await messages.create({ max_tokens: 1000, messages: HI, stream: true }, { signal: controller.signal });
  let count = 0;
  const read = async () => {
    for await (const _ of stream) if (++count === 5) controller.abort();
  };
  await assert.rejects(read(), isAbort);
  for await (const _ of await messages.create({ max_tokens: 1000, messages: HI, stream: true })) break;
  assert.equal(seen.running, 0);
});
