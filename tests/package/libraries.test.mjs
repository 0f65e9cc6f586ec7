// The code of docs/guides/other-libraries.md, run in Node.js as it stands: the libraries come from npm, the model is
// a mock. libraries_page.test.mjs has the sections that want a page.

import assert from 'node:assert/strict';
import path from 'node:path';
import { beforeEach, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readJson, ROOT } from '../../tools/common.mjs';
import { api, plan, resetMock, seen } from '../js/api.mjs';
import { SECTIONS, writeSection } from './guide.mjs';
import { installLibraries, LIBRARIES, tool } from './install.mjs';
import { library, weatherServer } from './weather-server.mjs';

const skip = await installLibraries();
await api.init({ wasm: new Uint8Array(8) });

const HERE = path.join(ROOT, 'tests', 'package');
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
let model;
let runs = 0;

/** The model writes these, one after the other. */
function willWrite(...writes) {
  const { generate } = api.WasmModel.prototype;
  model.generate = (prompt, options) => {
    assert.ok(writes.length > 0, 'the model is asked once more');
    plan.writes = writes.shift();
    return generate.call(model, prompt, options);
  };
}

beforeEach(async () => {
  resetMock();
  Object.assign(plan, { contextLength: 10_000, window: 10_000, tokenMs: 0 });
  plan.template = '{{ tools }} <tool_call> tool_calls <think>';
  model = await api.WasmModel.load(Uint8Array.of(1));
  const messages = [{ role: 'user', content: 'Jason is 25 years old.' }];
  const out = { textContent: '' };
  Object.assign(globalThis, { model, messages, out, url: new Blob([Uint8Array.of(1)]), confirm: () => true });
});

/** Runs the code of a section; gives what it exports and what it says. */
async function run(title, options) {
  const file = writeSection(path.join(LIBRARIES, 'run'), title, { ...options, name: `${(runs += 1)}.mjs` });
  const exported = await import(pathToFileURL(file).href);
  return { ...exported, said: globalThis.out.textContent };
}

for (const title of [
  'openai',
  'LangChain',
  'OpenAI Agents',
  "Anthropic's SDK",
  'LlamaIndex',
  "Vercel's AI SDK",
  'Mastra',
]) {
  test(title, { skip }, async () => {
    willWrite('Hello!');
    assert.equal((await run(title)).said, 'Hello!');
    assert.match(JSON.stringify(seen.templates.at(-1).messages), /hedgehog|Jason/);
  });
}

test('AI SDK 6', { skip }, async () => {
  willWrite('Hello!');
  const change = (code) =>
    code.replace("'ai'", "'ai6'").replace('createWebgguf()', "createWebgguf({ specificationVersion: 'v3' })");
  assert.equal((await run("Vercel's AI SDK", { change })).said, 'Hello!');
});

test('Instructor: in every mode', { skip }, async () => {
  const person = '{"name": "Jason", "age": 25}';
  // The call of a tool that has to come begins in the prompt.
  const modes = { JSON_SCHEMA: person, JSON: person, MD_JSON: person, TOOLS: `${person}}\n</tool_call>` };
  for (const [mode, writes] of Object.entries(modes)) {
    willWrite(writes);
    const change = (code) => code.replace('JSON_SCHEMA', mode);
    assert.equal((await run('Instructor', { change })).said, 'Jason is 25', mode);
  }
});

test('Agents of LangChain: tools, a stream and objects', { skip }, async () => {
  willWrite('Hello!', CALL, 'It is 3.', CALL, 'It is 3.', '{"sum": 3}');
  const more = "export { llm }; export * from 'langchain';";
  const { createAgent, llm, providerStrategy, said, tool: functionTool } = await run('Agents of LangChain', { more });
  assert.equal(said, 'Hello!');
  const { z } = await library('zod');
  const schema = z.object({ a: z.number(), b: z.number() });
  const add = functionTool(({ a, b }) => String(a + b), { name: 'add', description: 'Adds', schema });
  const agent = createAgent({ model: llm, tools: [add] });
  const { messages } = globalThis;
  assert.equal((await agent.invoke({ messages })).messages.at(-1).text, 'It is 3.');
  let text = '';
  for await (const [chunk] of await agent.stream({ messages }, { streamMode: 'messages' })) text += chunk.text;
  assert.equal(text, '3It is 3.', 'the result of the tool and the answer');
  const responseFormat = providerStrategy(z.object({ sum: z.number() }));
  const typed = await createAgent({ model: llm, tools: [], responseFormat }).invoke({ messages });
  assert.deepEqual(typed.structuredResponse, { sum: 3 });
});

test('LlamaIndex: a stream, tools and embeddings', { skip }, async () => {
  willWrite('Hello!', 'Hello!', CALL);
  const { llm, additionalSessionOptions } = await run('LlamaIndex', {
    more: 'export { additionalSessionOptions, llm };',
  });
  const { messages } = globalThis;
  let text = '';
  for await (const { delta } of await llm.chat({ messages, stream: true })) text += delta;
  assert.equal(text, 'Hello!');
  const { tool: functionTool } = await library('@llamaindex/core/tools');
  const { z } = await library('zod');
  const parameters = z.object({ a: z.number(), b: z.number() });
  const add = functionTool({ name: 'add', description: 'Adds', parameters, execute: ({ a, b }) => String(a + b) });
  const { message } = await llm.chat({ messages, tools: [add] });
  assert.deepEqual(JSON.parse(message.options.toolCall[0].input), { a: 1, b: 2 });
  const { OpenAIEmbedding } = await library('@llamaindex/openai');
  const options = { model: 'any', apiKey: '-', baseURL: 'http://webgguf', additionalSessionOptions };
  assert.deepEqual(await new OpenAIEmbedding(options).getTextEmbedding('ab'), [3, 196]);
});

test('Mastra: tools, a stream and objects', { skip }, async () => {
  willWrite('Hello!', CALL, 'It is 3.', CALL, 'It is 3.', '{"city": "Rome"}');
  const { Agent, webgguf } = await run('Mastra', { more: 'export { Agent, webgguf };' });
  const { createTool } = await library('@mastra/core/tools');
  const { z } = await library('zod');
  const sums = [];
  const add = createTool({
    id: 'add',
    description: 'Adds',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => ({ sum: sums.push(a + b) }),
  });
  const described = { id: 'sums', name: 'sums', instructions: 'Add.', model: webgguf(model) };
  const agent = new Agent({ ...described, tools: { add } });
  assert.equal((await agent.generate('What is 1 + 2?')).text, 'It is 3.');
  const { textStream } = await agent.stream('What is 1 + 2?');
  let text = '';
  for await (const piece of textStream) text += piece;
  assert.deepEqual([text, sums], ['It is 3.', [3, 3]]);
  const schema = z.object({ city: z.string() });
  const { object } = await new Agent(described).generate('Where?', { structuredOutput: { schema } });
  assert.deepEqual(object, { city: 'Rome' });
});

test('MCP: a model calls the tool of a server over HTTP', { skip }, async () => {
  const { sessions, url, close } = await weatherServer();
  try {
    willWrite('<tool_call>\n{"name": "look", "arguments": {"city": "Rome"}}\n</tool_call>', 'Sunny.');
    const change = (code) => code.replace('https://example.com/mcp', url);
    const { said, client } = await run('MCP', { change, more: 'export { client };' });
    assert.equal(said, 'Sunny.');
    const result = seen.templates.at(-1).messages.find(({ role }) => role === 'tool');
    assert.equal(result.content, 'sun in Rome');
    assert.deepEqual([...sessions.keys()], ['s0']);
    await client.close();
  } finally {
    close();
  }
});

test('Vue and Svelte: a ref and a store', { skip }, async () => {
  plan.writes = 'Hello!';
  const { answer } = await run('Vue', { more: 'export { answer };' });
  assert.equal(answer.value, 'Hello!');
  const { get } = await import(pathToFileURL(tool('svelte', 'src/store/index-client.js')).href);
  const svelte = await run('Svelte', { more: 'export { answer };' });
  assert.equal(get(svelte.answer), 'Hello!');
});

test('the page names the versions that are installed, and has at most ten lines of code each', () => {
  const lists = ['tools.json', 'libraries/tools.json', 'frameworks/tools.json'];
  const versions = Object.assign({}, ...lists.map((name) => readJson(path.join(HERE, name)).dependencies));
  for (const { title, words, code } of SECTIONS) {
    const named = [...words.matchAll(/`([@\w/-]+)` (\d+\.\d+\.\d+)/g)];
    assert.ok(named.length > 0, title);
    for (const [, name, version] of named) assert.equal(versions[name], version, `${title}: ${name}`);
    const lines = code.split('\n').filter((line) => line.trim());
    assert.ok(lines.length <= 10, `${title} has ${lines.length} lines`);
  }
});
