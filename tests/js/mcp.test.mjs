// Tools of MCP servers, over clients and a `document.modelContext` that stand for real ones, which tests/package has.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, seen, withCode } from './api.mjs';

const { callTools, chatTools, mcpPrompts, mcpTools, offerTools, webMcpTools } = await import(`${dist}mcp/index.js`);
await api.init({ wasm: new Uint8Array(8) });

const text = (said) => ({ content: [{ type: 'text', text: said }] });
const SCHEMA = { type: 'object', properties: { a: { type: 'number' } } };
const READS = { annotations: { readOnlyHint: true } };

/** A client with these tools, `name: [facts, answer]`, and the calls that it was given. */
function client(tools, more = {}) {
  const calls = [];
  return {
    calls,
    listTools: async () => ({
      tools: Object.entries(tools).map(([name, [facts]]) => ({ name, inputSchema: SCHEMA, ...facts })),
    }),
    callTool: async ({ name, arguments: input }, schema, options) => {
      calls.push({ name, input, schema, options });
      const [, answer] = tools[name];
      return typeof answer === 'function' ? answer(input) : answer;
    },
    ...more,
  };
}

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, template: '{{ tools }} <tool_call> tool_calls' });
});
afterEach(() => delete globalThis.document);

test('tools run in runTools and chat completions, with consent before each call', async () => {
  const server = client({ add: [{ title: 'Add' }, ({ a }) => text(String(a + 1))] });
  const asked = [];
  const tools = await mcpTools(server, { onToolCall: (call) => asked.push(call) > 0 });
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
  const get = () => (seen.started.length % 2 === 1 ? CALL : 'It is 2.');
  Object.defineProperty(plan, 'writes', { get, configurable: true });
  const messages = [{ role: 'user', content: 'Hi' }];
  const run = await model.runTools(messages, { tools });
  assert.deepEqual([run.text, run.messages[1].content], ['It is 2.', '2']);
  const { choices } = await model.chat.completions.create({ messages, tools: chatTools(tools) });
  const [result] = await callTools(choices[0].message.tool_calls, tools);
  assert.deepEqual([result.role, result.name, result.content], ['tool', 'add', '2']);
  assert.deepEqual(
    server.calls.map(({ input }) => input),
    [{ a: 1 }, { a: 1 }],
  );
  const call = { name: 'add', title: 'Add', server: 'server', readOnly: false, input: { a: 1 } };
  assert.deepEqual(asked, [call, call]);
  assert.deepEqual(seen.templates[0].tools[0].function, { name: 'add', description: '', parameters: SCHEMA });
});

test('a call that is refused is not made, and the model is told why', async () => {
  const server = client({ drop: [{}, text('dropped')] });
  const calls = [{ id: '1', type: 'function', function: { name: 'drop', arguments: '{}' } }];
  for (const [answer, said] of [
    [false, "error: the user refused the call of 'drop'"],
    ['not on Sundays', 'error: not on Sundays'],
    [undefined, "error: the user refused the call of 'drop'"],
    [Promise.reject(new Error('closed')), 'error: closed'],
  ]) {
    const tools = await mcpTools(server, { onToolCall: () => answer });
    assert.equal((await callTools(calls, tools))[0].content, said);
  }
  assert.equal(server.calls.length, 0);
});

test('without a hook there are only tools that say that they change nothing', async () => {
  const both = client({ look: [READS, text('seen')], drop: [{}, text('')] });
  await assert.rejects(mcpTools(both), withCode('invalid_argument', /'onToolCall' is missing, and 'drop' may change/));
  const [look] = await mcpTools(client({ look: [READS, text('seen')] }));
  assert.deepEqual([look.readOnly, await look.execute({})], [true, 'seen']);
  await assert.rejects(mcpTools(both, { onToolCall: 'yes' }), withCode('invalid_argument', /must be a function/));
  await assert.rejects(mcpTools({}), withCode('invalid_argument', /expected a client with listTools and callTool/));
});

test('results of all kinds are text, and failures are errors', async () => {
  const answers = {
    two: {
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', mimeType: 'image/png', data: '' },
      ],
    },
    resource: { content: [{ type: 'resource', resource: { uri: 'u', text: 'inside' } }] },
    link: { content: [{ type: 'resource_link', name: 'n', uri: 'file:///n' }] },
    bytes: { content: [{ type: 'resource', resource: { uri: 'u', blob: 'AA' } }] },
    structured: { content: [], structuredContent: { x: 1 } },
    old: { toolResult: 7 },
    hostile: { content: [null, 5, { type: {}, text: [] }, { type: 'text', text: 9 }] },
    failed: { isError: true, content: [{ type: 'text', text: 'no such place' }] },
  };
  const server = client(Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, [READS, answer]])));
  const said = {};
  for (const tool of await mcpTools(server)) said[tool.name] = await tool.execute({}).catch((error) => error.message);
  assert.deepEqual(said, {
    two: 'a\n[image image/png]',
    resource: 'inside',
    link: '[n: file:///n]',
    bytes: '[bytes of u]',
    structured: '{"x":1}',
    old: '7',
    hostile: '[unknown]\n[unknown]\n[unknown]\n',
    failed: 'no such place',
  });
});

test('signals and pages of lists reach the server', async () => {
  const pages = {
    undefined: { tools: [{ name: 'one', ...READS }], nextCursor: 'b' },
    b: { tools: [{ name: 'two', ...READS }] },
  };
  const server = client({ one: [{}, text('1')] }, { listTools: async ({ cursor }) => pages[cursor] });
  const [one, two] = await mcpTools(server);
  assert.deepEqual([one.name, two.name, two.inputSchema], ['one', 'two', { type: 'object' }]);
  const { signal } = new AbortController();
  await one.execute({ a: 1 }, { signal });
  assert.equal(server.calls[0].options.signal, signal);
  const endless = client({}, { listTools: async () => ({ tools: [], nextCursor: 'x' }) });
  await assert.rejects(mcpTools(endless), withCode('invalid_argument', /more than 100 pages/));
});

test('tools of several servers keep apart', async () => {
  const named = (name) => client({ look: [READS, text(name)] }, { getServerVersion: () => ({ name }) });
  const tools = await mcpTools([named('a b'), named('c')]);
  assert.deepEqual(await Promise.all(tools.map(async (tool) => [tool.name, tool.server, await tool.execute({})])), [
    ['a_b_look', 'a b', 'a b'],
    ['c_look', 'c', 'c'],
  ]);
  await assert.rejects(
    mcpTools([named('c'), named('c')]),
    withCode('invalid_argument', /two tools of servers named 'c'/),
  );
});

test('resources are read by a tool, and prompts are messages', async () => {
  const server = client(
    {},
    {
      getServerCapabilities: () => ({ resources: {}, prompts: {} }),
      listResources: async () => ({
        resources: [{ uri: 'file:///a', name: 'A', description: 'first' }, { name: 'none' }],
      }),
      readResource: async ({ uri }) => ({ contents: [{ uri, text: `text of ${uri}` }] }),
      listPrompts: async () => ({
        prompts: [{ name: 'p', title: 'P', arguments: [{ name: 'city', required: true }] }],
      }),
      getPrompt: async ({ name, arguments: { city } }) => ({
        messages: [
          { role: 'user', content: { type: 'text', text: `${name} ${city}` } },
          { role: 'user', content: { type: 'image', mimeType: 'image/png', data: 'AA' } },
          { role: 'assistant', content: { type: 'resource', resource: { uri: 'u', text: 'inside' } } },
        ],
      }),
    },
  );
  const [read, more] = await mcpTools(server);
  assert.equal(more, undefined);
  assert.equal(read.description, 'Reads a resource by its uri. Known resources:\nfile:///a: A, first');
  assert.equal(await read.execute({ uri: 'file:///a' }), 'text of file:///a');
  assert.deepEqual(await mcpTools(server, { resources: false }), []);
  const [prompt] = await mcpPrompts(server);
  assert.deepEqual([prompt.title, prompt.arguments], ['P', [{ name: 'city', required: true }]]);
  assert.deepEqual(await prompt.messages({ city: 'Rome' }), [
    { role: 'user', content: [{ type: 'text', text: 'p Rome' }] },
    { role: 'user', content: [{ type: 'image', image: 'data:image/png;base64,AA' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'inside' }] },
  ]);
  assert.deepEqual(await mcpPrompts(client({})), []);
});

test('without WebMCP that is said', async () => {
  await assert.rejects(webMcpTools(), withCode('feature_missing', /no document\.modelContext/));
  await assert.rejects(offerTools([]), withCode('feature_missing', /no document\.modelContext/));
  globalThis.document = { modelContext: { registerTool() {} } };
  await assert.rejects(webMcpTools(), withCode('feature_missing', /does not list the tools/));
});

test('tools that were offered are taken back where one is refused, and by the signal', async () => {
  const there = new Map();
  const registerTool = async (tool, { signal }) => {
    if (there.has(tool.name)) throw new DOMException('taken', 'InvalidStateError');
    there.set(tool.name, tool);
    signal.addEventListener('abort', () => there.delete(tool.name));
  };
  globalThis.document = { modelContext: { registerTool } };
  const tool = (name) => ({ name, execute: ({ a }) => a * 2 });
  await assert.rejects(offerTools([tool('x'), tool('x')]), { name: 'InvalidStateError' });
  assert.equal(there.size, 0);
  const controller = new AbortController();
  const asked = [];
  const onToolCall = ({ name, input }) => asked.push([name, input]) < 2 || 'once is enough';
  await offerTools([tool('x'), tool('y')], { signal: controller.signal, onToolCall });
  assert.deepEqual([...there.keys()], ['x', 'y']);
  assert.equal(await there.get('x').execute({ a: 4 }, {}), 8);
  await assert.rejects(there.get('x').execute({ a: 4 }, {}), /once is enough/);
  controller.abort();
  assert.equal(there.size, 0);
});
