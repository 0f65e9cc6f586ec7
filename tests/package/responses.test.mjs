// OpenAI's Responses API and what is written over it, the `openai` package and `@openai/agents`: in Node.js over a mock
// that calls tools, and in a page with a real model.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { api, dist, plan, resetMock, seen } from '../js/api.mjs';
import { installClients, mustCompile, tool } from './install.mjs';

await installClients();
const { default: OpenAI, BadRequestError, NotFoundError } = await import(tool('openai', 'index.mjs'));
const { zodResponsesFunction, zodTextFormat } = await import(tool('openai', 'helpers/zod.mjs'));
const { z } = await import(tool('zod', 'index.js'));
const agents = await import(tool('@openai/agents', 'dist/index.mjs'));
const { webggufFetch } = await import(`${dist}openai/index.js`);
await api.init({ wasm: new Uint8Array(8) });
agents.setTracingDisabled(true);

const callOf = (name, args) => `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

/** A client whose model writes these, one after the other. */
async function client(writes) {
  resetMock();
  const template = '{{ tools }} <tool_call> tool_calls <think>';
  Object.assign(plan, { contextLength: 100_000, window: 100_000, tokenMs: 0, template });
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const { generate } = model;
  model.generate = (prompt, options) => {
    assert.ok(writes.length > 0, 'the model is asked once more');
    plan.writes = writes.shift();
    return generate.call(model, prompt, options);
  };
  return new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', fetch: webggufFetch({ model }), maxRetries: 0 });
}

const TYPED = `
import type OpenAI from 'openai';
import { WasmModel } from 'DIST/index.js';
import { openai } from 'DIST/openai/index.js';

type Responses = typeof OpenAI.prototype.responses;

export async function ask(
  model: WasmModel,
  request: OpenAI.Responses.ResponseCreateParamsNonStreaming,
  input: OpenAI.Responses.ResponseInput,
  tools: OpenAI.Responses.Tool[],
): Promise<OpenAI.Responses.Response> {
  const { responses } = openai({ model });
  const { text, reasoning } = request;
  for await (const event of await responses.create({ input, tools, text, reasoning, stream: true })) {
    const same: OpenAI.Responses.ResponseStreamEvent['type'] = event.type;
    if (event.type === 'response.output_text.delta') console.log(event.delta, same);
    // @ts-expect-error: an event that is not here
    if (event.type === 'response.output_texts.delta') console.log(same);
  }
  const response = await responses.create({ input, tools });
  const output: OpenAI.Responses.ResponseOutputItem[] = response.output;
  input.push(...response.output);
  const usage: OpenAI.Responses.ResponseUsage | undefined = response.usage;
  console.log(output, usage);
  return response;
}

type Text = OpenAI.Completion['choices'][0]['text'];

export async function fill(model: WasmModel, prompt: string, suffix: string): Promise<Text> {
  const { choices } = await openai({ model }).completions.create({ prompt, suffix });
  return choices[0]!.text;
}
`;

test('requests, responses and events fit the types of the package', () => mustCompile('responses-types.ts', TYPED));

test('responses, streams and their helpers', async () => {
  const ai = await client([...Array(3).fill('<think>Hm.</think>Hello!'), 'Bye.']);
  const request = { model: 'any', input: 'Hi' };
  const response = await ai.responses.create(request);
  assert.equal(response.output_text, 'Hello!');
  assert.equal(response.output[0].content[0].text, 'Hm.');
  let text = '';
  for await (const event of await ai.responses.create({ ...request, stream: true })) {
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  assert.equal(text, 'Hello!');
  const runner = ai.responses.stream(request);
  const deltas = [];
  runner.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
  const final = await runner.finalResponse();
  assert.equal(final.output_text, 'Hello!');
  assert.equal(deltas.join(''), 'Hello!');
  const next = await ai.responses.create({ ...request, previous_response_id: final.id });
  assert.equal(next.output_text, 'Bye.');
  assert.equal((await ai.responses.inputTokens.count(request)).input_tokens, response.usage.input_tokens);
  const roles = [];
  for await (const { role, type } of ai.responses.inputItems.list(next.id, { order: 'asc', limit: 2 })) {
    roles.push(role ?? type);
  }
  assert.deepEqual(roles, ['user', 'reasoning', 'assistant', 'user']);
  assert.equal((await ai.responses.retrieve(next.id)).output_text, 'Bye.');
  await ai.responses.delete(next.id);
  await assert.rejects(ai.responses.retrieve(next.id), NotFoundError);
  await assert.rejects(ai.responses.create({ ...request, tools: [{ type: 'web_search' }] }), (error) => {
    assert.ok(error instanceof BadRequestError);
    assert.equal(error.code, 'invalid_argument');
    assert.match(error.message, /'web_search', which is not supported/);
    return true;
  });
});

test('parse gives what a schema and a function of zod say', async () => {
  const ai = await client(['{"city": "Rome"}', '{"city": "Rome"}', callOf('add', { a: 1, b: 2 })]);
  const text = { format: zodTextFormat(z.object({ city: z.string() }), 'place') };
  const { output_parsed: parsed } = await ai.responses.parse({ model: 'any', input: 'Hi', text });
  assert.deepEqual(parsed, { city: 'Rome' });
  const final = await ai.responses.stream({ model: 'any', input: 'Hi', text }).finalResponse();
  assert.deepEqual(final.output_parsed, { city: 'Rome' });
  const add = zodResponsesFunction({ name: 'add', parameters: z.object({ a: z.number(), b: z.number() }) });
  const { output } = await ai.responses.parse({ model: 'any', input: 'Hi', tools: [add] });
  assert.deepEqual(output[0].parsed_arguments, { a: 1, b: 2 });
});

test('in the background through the package: retrieve, its stream from an event on, cancel', async () => {
  const ai = await client(['Hello!', 'x'.repeat(1000)]);
  const request = { model: 'any', input: 'Hi', background: true };
  const { id, status } = await ai.responses.create(request);
  assert.equal(status, 'queued');
  const types = [];
  const from = { stream: true, starting_after: 2 };
  for await (const { type } of await ai.responses.retrieve(id, from)) types.push(type);
  assert.deepEqual([types[0], types.at(-1)], ['response.output_item.added', 'response.completed']);
  assert.equal((await ai.responses.retrieve(id)).output_text, 'Hello!');
  let last;
  for await (const event of await ai.responses.create({ ...request, stream: true })) {
    last = event;
    if (event.sequence_number === 20) assert.equal((await ai.responses.cancel(responseOf(event))).status, 'cancelled');
  }
  assert.equal(last.response.status, 'cancelled');
  assert.equal((await ai.responses.cancel(last.response.id)).status, 'cancelled');
});

test('cancel and abort through the package', async () => {
  const ai = await client(['x'.repeat(1000), 'x'.repeat(1000)]);
  const stream = await ai.responses.create({ model: 'any', input: 'Hi', stream: true });
  let last;
  let isCancelled = false;
  for await (const event of stream) {
    last = event;
    if (event.type !== 'response.output_text.delta' || isCancelled) continue;
    isCancelled = true;
    assert.equal((await ai.responses.cancel(responseOf(event))).status, 'cancelled');
  }
  assert.equal(last.response.status, 'cancelled');
  const other = await ai.responses.create({ model: 'any', input: 'Hi', stream: true });
  let count = 0;
  for await (const _ of other) if (++count === 9) other.controller.abort();
  assert.equal(count, 9);
});

/** The name of the response of an event, from the name of the item. */
const responseOf = ({ item_id: id }) => `resp_${id.slice(4, -6)}`;

test('agents call tools, hand over, stream, and give what a schema says', async () => {
  const { Agent, run, tool: functionTool } = agents;
  const sums = [];
  const add = functionTool({
    name: 'add',
    description: 'Adds',
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => {
      sums.push(a + b);
      return String(a + b);
    },
  });
  const script = [];
  agents.setDefaultOpenAIClient(await client(script));
  const ask = (writes, agent, options) => {
    script.splice(0, script.length, ...writes);
    return run(agent, 'What is 1 + 2?', options);
  };
  const call = callOf('add', { a: 1, b: 2 });
  const calculator = new Agent({ name: 'calculator', instructions: 'Add.', tools: [add], model: 'any' });
  const plain = await ask([`<think>Hm.</think>${call}`, 'It is 3.'], calculator);
  assert.equal(plain.finalOutput, 'It is 3.');
  assert.deepEqual(sums, [3]);
  const tools = seen.templates.at(-1).messages.filter(({ role }) => role === 'tool');
  assert.equal(tools.length, 1);

  const front = new Agent({ name: 'front', instructions: 'Hand over.', handoffs: [calculator], model: 'any' });
  const handed = await ask([callOf('transfer_to_calculator', {}), call, 'It is 3.'], front);
  assert.deepEqual([handed.finalOutput, handed.lastAgent.name], ['It is 3.', 'calculator']);

  const streamed = await ask([call, 'It is 3.'], calculator, { stream: true });
  let text = '';
  for await (const chunk of streamed.toTextStream()) text += chunk;
  await streamed.completed;
  assert.equal(text, 'It is 3.');
  assert.equal(streamed.finalOutput, 'It is 3.');

  const typed = new Agent({ name: 'typed', outputType: z.object({ sum: z.number() }), model: 'any' });
  const found = await ask(['{"sum": 3}'], typed);
  assert.deepEqual(found.finalOutput, { sum: 3 });
  assert.equal(sums.length, 3);

  // A conversation that goes on from what is kept.
  const first = await ask(['One.', 'Two.'], calculator);
  const second = await run(calculator, 'And?', { previousResponseId: first.lastResponseId });
  assert.equal(second.finalOutput, 'Two.');
  assert.deepEqual(
    seen.templates.at(-1).messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  );
});

/** Runs in the page. */
async function respond() {
  const { default: OpenAI } = await import('/openai/index.mjs');
  const { WasmModel } = await import('/dist/index.js');
  const { webggufFetch } = await import('/dist/openai/index.js');
  const model = await WasmModel.load('/models/storyteller.gguf', { backend: 'webgpu' });
  const fetch = webggufFetch({ model });
  const ai = new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', fetch, dangerouslyAllowBrowser: true });
  const input = 'Tell me about a hare.';
  const request = { model: 'storyteller', input, temperature: 0, max_output_tokens: 24, store: true };
  const whole = await ai.responses.create(request);
  const streamed = await ai.responses.stream({ ...request, store: false }).finalResponse();
  const plain = await model.generate([{ role: 'user', content: input }], { maxTokens: 24 });
  await model.free();
  return { whole, streamed: streamed.output_text, plain: plain.text, hidden: streamed.id };
}

/** Runs in the page after a reload. */
async function goOn([kept, hidden]) {
  const { WasmModel } = await import('/dist/index.js');
  const { openai } = await import('/dist/openai/index.js');
  const model = await WasmModel.load('/models/storyteller.gguf', { backend: 'webgpu' });
  const { responses } = openai({ model });
  const again = await responses.retrieve(kept);
  const request = { input: 'And a fox?', temperature: 0, max_output_tokens: 8 };
  const next = await responses.create({ ...request, previous_response_id: kept });
  const items = await responses.inputItems.list(next.id, { order: 'asc' });
  const failure = await responses.retrieve(hidden).catch(({ code, message }) => `${code}: ${message}`);
  await responses.delete(kept);
  const deleted = await responses.retrieve(kept).catch(({ code }) => code);
  await model.free();
  return { again: again.output_text, next, items: items.data.map(({ role }) => role), failure, deleted };
}

test('a page talks to a model, and goes on after a reload from what was stored', async () => {
  const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
  const { url, close } = await serve({ routes: { '/blank': blank }, mounts: { '/openai/': tool('openai', '') } });
  const browser = await openBrowser();
  try {
    const page = await openPage(browser, `${url}/blank`);
    const { whole, streamed, plain, hidden } = await page.evaluate(respond);
    assert.ok(plain.length > 30, plain);
    assert.equal(whole.output_text, plain);
    assert.equal(streamed, plain);
    assert.deepEqual([whole.status, whole.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
    assert.equal(whole.webgguf.backend, 'webgpu');
    assert.equal(whole.usage.output_tokens, 24);
    await page.reload();
    const { again, next, items, failure, deleted } = await page.evaluate(goOn, [whole.id, hidden]);
    assert.equal(again, plain);
    assert.deepEqual(items, ['user', 'assistant', 'user']);
    assert.ok(next.usage.input_tokens > whole.usage.input_tokens);
    assert.match(failure, /^invalid_argument: responses.retrieve: response 'resp_\w+' is not kept/);
    assert.equal(deleted, 'invalid_argument');
    assert.deepEqual(page.crashes, []);
  } finally {
    await browser.close();
    await close();
  }
});
