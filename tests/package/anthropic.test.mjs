// Anthropic's package over webgguf's `fetch`: in Node.js over a mock that calls tools, and in a page with a real model.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { api, dist, plan } from '../js/api.mjs';
import { installClients, mustCompile, tool } from './install.mjs';

/** The package as one file, since it imports others by their names. */
async function bundled() {
  const { build } = await import('esbuild');
  const entryPoints = [tool(SDK, 'index.mjs')];
  const options = { bundle: true, format: 'esm', platform: 'browser', external: ['node:*'], write: false };
  return (await build({ entryPoints, ...options })).outputFiles[0].contents;
}

await installClients();
const SDK = '@anthropic-ai/sdk';
const { default: Anthropic } = await import(tool(SDK, 'index.mjs'));
const { betaTool } = await import(tool(SDK, 'helpers/beta/json-schema.mjs'));
const { jsonSchemaOutputFormat } = await import(tool(SDK, 'helpers/json-schema.mjs'));
const { webggufFetch } = await import(`${dist}anthropic/index.js`);
await api.init({ wasm: new Uint8Array(8) });

const request = { model: 'any', max_tokens: 500, messages: [{ role: 'user', content: 'Hi' }] };
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const ADD = { name: 'add', description: 'Adds', input_schema: { type: 'object', properties: {} } };

async function client() {
  const template = '{{ tools }} <tool_call> tool_calls <think> enable_thinking';
  Object.assign(plan, { contextLength: 10000, window: 10000, tokenMs: 0, template });
  const fetch = webggufFetch({ model: api.WasmModel.load(Uint8Array.of(1)) });
  return new Anthropic({ baseURL: 'http://webgguf', apiKey: '-', fetch });
}

const TYPED = `
import type Anthropic from '@anthropic-ai/sdk';
import type { WasmModel } from 'DIST/index.js';
import { anthropic, type MessageEvent, type MessageResponse } from 'DIST/anthropic/index.js';

export async function ask(
  model: WasmModel,
  params: Anthropic.MessageCreateParamsNonStreaming,
  count: Anthropic.MessageCountTokensParams,
): Promise<Anthropic.ContentBlock[]> {
  const { messages } = anthropic({ model });
  const { input_tokens } = await messages.countTokens(count);
  const events: AsyncIterable<MessageEvent> = await messages.create({ ...params, stream: true });
  const said: MessageResponse = await messages.create({ ...params, max_tokens: input_tokens });
  for await (const event of events) if (event.type === 'message_start') console.log(event.message.usage.input_tokens);
  return said.content;
}
`;

test('requests and answers fit the types of the package', () => mustCompile('anthropic-types.ts', TYPED));

test('create, stream and its helpers', async () => {
  const { messages } = await client();
  plan.writes = '<think>Hm.</think>Hello!';
  const thinking = { type: 'enabled', budget_tokens: 100 };
  const { content, stop_reason: reason, usage } = await messages.create({ ...request, thinking });
  assert.deepEqual(
    content.map((block) => block.thinking ?? block.text),
    ['Hm.', 'Hello!'],
  );
  assert.deepEqual([reason, usage.output_tokens], ['end_turn', plan.writes.length]);
  let text = '';
  for await (const event of await messages.create({ ...request, stream: true })) {
    if (event.type === 'content_block_delta') text += event.delta.text;
  }
  assert.equal(text, 'Hello!');
  const heard = [];
  const stream = messages.stream({ ...request, thinking });
  for (const name of ['connect', 'thinking', 'signature', 'text', 'contentBlock', 'finalMessage', 'end']) {
    stream.on(name, () => heard.at(-1) !== name && heard.push(name));
  }
  const final = await stream.finalMessage();
  assert.equal(await stream.finalText(), 'Hello!');
  assert.deepEqual(final.content, content);
  assert.deepEqual([final.usage.input_tokens, final.usage.output_tokens], [usage.input_tokens, usage.output_tokens]);
  await stream.done();
  const block = ['thinking', 'signature', 'contentBlock', 'text', 'contentBlock'];
  assert.deepEqual(heard, ['connect', ...block, 'finalMessage', 'end']);
  assert.match((await messages.create(request).withResponse()).request_id, /^req_/);
});

test('a tool is called, gets its input, and its result goes on', async () => {
  const { messages } = await client();
  plan.writes = `I add.\n${CALL}`;
  const inputs = [];
  const stream = messages.stream({ ...request, tools: [ADD] }).on('inputJson', (_, input) => inputs.push(input));
  const { content, stop_reason: reason } = await stream.finalMessage();
  assert.equal(reason, 'tool_use');
  const call = content.at(-1);
  assert.deepEqual([call.name, call.input, inputs.at(-1)], ['add', { a: 1, b: 2 }, { a: 1, b: 2 }]);
  plan.writes = 'It is 3.';
  const result = { type: 'tool_result', tool_use_id: call.id, content: '3' };
  const next = [...request.messages, { role: 'assistant', content }, { role: 'user', content: [result] }];
  assert.equal((await messages.create({ ...request, messages: next, tools: [ADD] })).content[0].text, 'It is 3.');
});

test('the runner of tools and parsed answers', async () => {
  const ai = await client();
  const sums = [];
  const run = ({ a, b }) => {
    sums.push(a + b);
    plan.writes = 'It is 3.';
    return String(a + b);
  };
  const tools = [betaTool({ name: 'add', description: 'Adds', inputSchema: ADD.input_schema, run })];
  for (const stream of [false, true]) {
    plan.writes = `I add.\n${CALL}`;
    const { content } = await ai.beta.messages.toolRunner({ ...request, tools, stream });
    assert.equal(content[0].text, 'It is 3.');
  }
  assert.deepEqual(sums, [3, 3]);
  // The mock has no grammars: what it writes is what was asked for.
  plan.writes = '{"a": 1}';
  const schema = {
    type: 'object',
    properties: { a: { type: 'number' } },
    required: ['a'],
    additionalProperties: false,
  };
  const asked = { ...request, output_config: { format: jsonSchemaOutputFormat(schema) } };
  assert.deepEqual((await ai.messages.parse(asked)).parsed_output, { a: 1 });
});

test('counts, models, errors and abort', async () => {
  const ai = await client();
  plan.writes = 'x'.repeat(400);
  const { max_tokens: _, ...counted } = request;
  const { usage } = await ai.messages.create(request);
  assert.deepEqual(await ai.messages.countTokens(counted), { input_tokens: usage.input_tokens });
  const names = [];
  for await (const { id } of ai.models.list()) names.push(id);
  assert.deepEqual(names, ['llama']);
  assert.equal((await ai.models.retrieve('llama')).type, 'model');
  await assert.rejects(ai.models.retrieve('other'), Anthropic.NotFoundError);
  await assert.rejects(ai.messages.create({ ...request, top_p: 7 }), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.deepEqual([error.type, error.errorCode], ['invalid_request_error', 'invalid_argument']);
    assert.match(error.requestID, /^req_/);
    return true;
  });
  plan.contextLength = 3;
  await assert.rejects(ai.messages.create(request), { status: 400, errorCode: 'context_full' });
  await assert.rejects(ai.messages.stream(request).finalMessage(), { status: 400, errorCode: 'context_full' });
  plan.contextLength = 10000;
  const stream = ai.messages.stream(request);
  let texts = 0;
  stream.on('text', () => ++texts === 9 && stream.abort());
  await assert.rejects(stream.done(), Anthropic.APIUserAbortError);
  assert.equal(texts, 9);
});

/** Runs in the page. */
async function chat() {
  const { default: Anthropic } = await import('/anthropic.js');
  const { WasmModel } = await import('/dist/index.js');
  const { webggufFetch } = await import('/dist/anthropic/index.js');
  const model = await WasmModel.load('/models/storyteller.gguf', { backend: 'webgpu' });
  const fetch = webggufFetch({ model });
  const ai = new Anthropic({ baseURL: 'http://webgguf', apiKey: '-', fetch, dangerouslyAllowBrowser: true });
  const messages = [{ role: 'user', content: 'Tell me about a hare.' }];
  const request = { model: 'storyteller', messages, temperature: 0, max_tokens: 40 };
  const whole = await ai.messages.create(request);
  const streamed = await ai.messages.stream(request).finalText();
  const stopped = await ai.messages.create({ ...request, stop_sequences: [' the'] });
  const counted = await ai.messages.countTokens({ model: 'storyteller', messages });
  const [{ text }] = whole.content;
  const begun = text.slice(0, text.indexOf(' ', 40));
  const continued = await ai.messages.create({
    ...request,
    messages: [...messages, { role: 'assistant', content: begun }],
  });
  const plain = await model.generate(messages, { maxTokens: 40 });
  await model.free();
  return { whole, streamed, stopped, counted, begun, continued, plain: plain.text };
}

test('a page talks to a model through the package', async () => {
  const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
  const file = await bundled();
  const sdk = (_, response) => response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(file);
  const { url, close } = await serve({ routes: { '/blank': blank, '/anthropic.js': sdk } });
  const browser = await openBrowser();
  try {
    const page = await openPage(browser, `${url}/blank`);
    const { whole, streamed, stopped, counted, begun, continued, plain } = await page.evaluate(chat);
    assert.ok(plain.length > 50, plain);
    assert.equal(whole.content[0].text, plain);
    assert.equal(streamed, plain);
    assert.deepEqual([whole.stop_reason, whole.webgguf.backend], ['max_tokens', 'webgpu']);
    assert.equal(whole.usage.output_tokens, 40);
    assert.equal(counted.input_tokens, whole.usage.input_tokens + whole.usage.cache_read_input_tokens);
    assert.equal(stopped.stop_sequence, ' the');
    assert.equal(stopped.content[0].text, plain.slice(0, plain.indexOf(' the')));
    assert.ok((begun + continued.content[0].text).startsWith(plain), begun + continued.content[0].text);
    assert.deepEqual(page.crashes, []);
  } finally {
    await browser.close();
    await close();
  }
});
