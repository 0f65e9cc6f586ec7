// LangChain's classes for OpenAI over webgguf's `fetch`, over a mock that calls tools.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, dist, plan, seen } from '../js/api.mjs';
import { installClients, tool } from './install.mjs';

await installClients();
const { ChatOpenAI, OpenAIEmbeddings } = await import(tool('@langchain/openai', 'dist/index.js'));
const { tool: functionTool } = await import(tool('@langchain/core', 'dist/tools/index.js'));
const { z } = await import(tool('zod', 'index.js'));
const { webggufFetch } = await import(`${dist}openai/index.js`);
await api.init({ wasm: new Uint8Array(8) });

const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const add = functionTool(({ a, b }) => String(a + b), {
  name: 'add',
  description: 'Adds',
  schema: z.object({ a: z.number(), b: z.number() }),
});

async function configured() {
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, template: '{{ tools }} <tool_call> tool_calls <think>' });
  const fetch = webggufFetch({ model: api.WasmModel.load(Uint8Array.of(1)) });
  return { model: 'any', apiKey: '-', configuration: { baseURL: 'http://webgguf', fetch } };
}

for (const useResponsesApi of [false, true]) {
  const over = useResponsesApi ? 'responses' : 'chat completions';
  test(`${over}: invoke, stream, tools and schemas`, async () => {
    const llm = new ChatOpenAI({ ...(await configured()), useResponsesApi, maxTokens: 200 });
    plan.writes = 'Hello!';
    assert.equal((await llm.invoke('Hi')).text, 'Hello!');
    let text = '';
    for await (const chunk of await llm.stream('Hi')) text += chunk.text;
    assert.equal(text, 'Hello!');

    plan.writes = CALL;
    const called = await llm.bindTools([add]).invoke('What is 1 + 2?');
    assert.deepEqual(called.tool_calls[0].args, { a: 1, b: 2 });
    plan.writes = 'It is 3.';
    const result = await add.invoke(called.tool_calls[0]);
    const answer = await llm.bindTools([add]).invoke([['user', 'What is 1 + 2?'], called, result]);
    assert.equal(answer.text, 'It is 3.');
    assert.deepEqual(
      seen.templates.at(-1).messages.map(({ role }) => role),
      ['user', 'assistant', 'tool'],
    );

    plan.writes = '{"sum": 3}';
    const typed = llm.withStructuredOutput(z.object({ sum: z.number() }), { method: 'jsonSchema' });
    assert.deepEqual(await typed.invoke('What is 1 + 2?'), { sum: 3 });
  });
}

test('embeddings', async () => {
  const embeddings = new OpenAIEmbeddings(await configured());
  assert.deepEqual(await embeddings.embedQuery('ab'), [3, 196]);
});
