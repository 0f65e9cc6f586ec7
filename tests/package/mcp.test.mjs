// `webgguf/mcp` with MCP's own package, client and server, and WebMCP as Chromium has it behind a flag.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { api, dist, plan, seen } from '../js/api.mjs';
import { installClients, mustCompile, tool } from './install.mjs';

await installClients();
const sdk = (file) => import(tool('@modelcontextprotocol/sdk', `dist/esm/${file}.js`));
const { Client } = await sdk('client/index');
const { McpServer, ResourceTemplate } = await sdk('server/mcp');
const { InMemoryTransport } = await sdk('inMemory');
const { z } = await import(tool('zod', 'index.js'));
const { mcpPrompts, mcpTools } = await import(`${dist}mcp/index.js`);
await api.init({ wasm: new Uint8Array(8) });

/** A client of a server with a tool of each kind, a resource and a prompt. */
async function connected() {
  const server = new McpServer({ name: 'weather', version: '1.0.0' });
  const inputSchema = { city: z.string() };
  const say = (text) => ({ content: [{ type: 'text', text }] });
  const reads = { readOnlyHint: true, title: 'Look' };
  server.registerTool('look', { description: 'Looks', inputSchema, annotations: reads }, ({ city }) =>
    say(`sun in ${city}`),
  );
  server.registerTool('move', { description: 'Moves', inputSchema }, () => {
    throw new Error('no legs');
  });
  server.registerResource('map', 'map://rome', { description: 'of Rome' }, ({ href }) => ({
    contents: [{ uri: href, text: 'all roads' }],
  }));
  const template = new ResourceTemplate('map://{city}', { list: undefined });
  server.registerResource('maps', template, {}, ({ href }) => ({ contents: [{ uri: href, text: `map of ${href}` }] }));
  const message = (text) => ({ role: 'user', content: { type: 'text', text } });
  server.registerPrompt('ask', { title: 'Ask', argsSchema: { city: z.string() } }, ({ city }) => ({
    messages: [message(`How is ${city}?`)],
  }));
  const client = new Client({ name: 'page', version: '1.0.0' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([client.connect(here), server.connect(there)]);
  return client;
}

const TYPED = `
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { WasmModel } from 'DIST/index.js';
import { chatTools, mcpPrompts, mcpTools, offerTools, webMcpTools } from 'DIST/mcp/index.js';
import { useChat } from 'DIST/react/index.js';

export async function ask(model: WasmModel, client: Client): Promise<string> {
  const tools = await mcpTools(client, { onToolCall: ({ readOnly }) => readOnly });
  useChat(model, { tools });
  await offerTools([...tools, ...(await webMcpTools())]);
  const [prompt] = await mcpPrompts(client);
  const messages = (await prompt?.messages({ city: 'Rome' })) ?? [];
  await model.chat.completions.create({ messages, tools: chatTools(tools) });
  return (await model.runTools(messages, { tools })).text;
}
`;

test('clients of the package fit the types', () => mustCompile('mcp-types.ts', TYPED));

test('tools, resources and prompts of a server', async () => {
  const client = await connected();
  const asked = [];
  const tools = await mcpTools(client, { onToolCall: ({ name, readOnly }) => asked.push([name, readOnly]) > 0 });
  assert.deepEqual(
    tools.map(({ name, title, server, readOnly }) => [name, title, server, readOnly]),
    [
      ['look', 'Look', 'weather', true],
      ['move', undefined, 'weather', false],
      ['read_resource', undefined, 'weather', true],
    ],
  );
  const [look, move, read] = tools;
  assert.deepEqual(look.inputSchema.required, ['city']);
  assert.equal(await look.execute({ city: 'Rome' }), 'sun in Rome');
  await assert.rejects(move.execute({ city: 'Rome' }), /no legs/);
  assert.match(read.description, /map:\/\/rome: map, of Rome/);
  assert.equal(await read.execute({ uri: 'map://rome' }), 'all roads');
  assert.equal(await read.execute({ uri: 'map://paris' }), 'map of map://paris');
  assert.deepEqual(asked.slice(0, 2), [
    ['look', true],
    ['move', false],
  ]);
  const [prompt] = await mcpPrompts(client);
  const [message] = await prompt.messages({ city: 'Rome' });
  assert.deepEqual(message, { role: 'user', content: [{ type: 'text', text: 'How is Rome?' }] });
  await client.close();
});

test('a model calls a tool of a server and goes on', async () => {
  const client = await connected();
  const CALL = '<tool_call>\n{"name": "look", "arguments": {"city": "Rome"}}\n</tool_call>';
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, template: '{{ tools }} <tool_call> tool_calls' });
  seen.started.length = 0;
  Object.defineProperty(plan, 'writes', {
    get: () => (seen.started.length === 1 ? CALL : 'Sunny.'),
    configurable: true,
  });
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const tools = await mcpTools(client, { onToolCall: ({ readOnly }) => readOnly });
  const { text, messages } = await model.runTools([{ role: 'user', content: 'How is Rome?' }], { tools });
  assert.deepEqual([text, messages[1].content], ['Sunny.', 'sun in Rome']);
  await client.close();
});

/** Runs in the page. */
async function offered() {
  const { offerTools, webMcpTools } = await import('/dist/mcp/index.js');
  const controller = new AbortController();
  const heard = [];
  const add = {
    name: 'add',
    description: 'Adds',
    parameters: { type: 'object', properties: { a: { type: 'number' } } },
    readOnly: true,
    execute: ({ a }, { signal }) => ({ sum: a + 1, signal: signal instanceof AbortSignal }),
  };
  const bad = {
    name: 'bad',
    execute() {
      throw new Error('no luck');
    },
  };
  await offerTools([add, bad], { signal: controller.signal });
  const missing = await webMcpTools().catch(({ code, message }) => [code, message]);
  const tools = await webMcpTools({ onToolCall: (call) => heard.push(call) > 0 });
  const facts = tools.map(({ execute, ...tool }) => tool);
  const by = (name) => tools.find((tool) => tool.name === name);
  const sum = await by('add').execute({ a: 1 });
  const failed = await by('bad')
    .execute({})
    .catch(({ name }) => name);
  const taken = await offerTools([{ name: 'new', execute() {} }, bad]).catch(({ name }) => name);
  const names = async () => (await document.modelContext.getTools()).map(({ name }) => name).sort();
  const during = await names();
  controller.abort();
  return { missing, facts, sum, failed, taken, during, after: await names(), heard };
}

test('a page offers tools to agents, and its model calls those that are offered', async (t) => {
  const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
  const { url, close } = await serve({ routes: { '/blank': blank } });
  const browser = await openBrowser({ args: ['--enable-features=WebMCP,WebMCPTesting'] });
  try {
    const page = await openPage(browser, `${url}/blank`);
    const isThere = await page.evaluate(() => typeof document.modelContext?.getTools === 'function');
    if (!isThere) return t.skip('this browser has no WebMCP');
    const { missing, facts, sum, failed, taken, during, after, heard } = await page.evaluate(offered);
    assert.equal(missing[0], 'invalid_argument');
    assert.match(missing[1], /'bad' may change something/);
    const [add] = facts;
    assert.deepEqual(
      [add.name, add.readOnly, add.server, add.inputSchema.properties.a.type],
      ['add', true, 'page', 'number'],
    );
    assert.deepEqual(JSON.parse(sum), { sum: 2, signal: true });
    assert.equal(failed, 'UnknownError');
    assert.equal(taken, 'InvalidStateError');
    assert.deepEqual([during, after], [['add', 'bad'], []]);
    assert.deepEqual(heard[0], { name: 'add', title: undefined, server: 'page', readOnly: true, input: { a: 1 } });
  } finally {
    await browser.close();
    await close();
  }
});
