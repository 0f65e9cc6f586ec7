// Vercel's `ai` package over webgguf's provider: in Node.js over a mock that calls tools, and in a page with a real
// model.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { api, dist, plan, seen } from '../js/api.mjs';
import { installClients, tool } from './install.mjs';

await installClients();
const ai = await import(tool('ai', 'dist/index.js'));
const { createWebgguf } = await import(`${dist}ai-sdk/index.js`);
await api.init({ wasm: new Uint8Array(8) });

const prompt = 'Hi';
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const schema = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
  additionalProperties: false,
};
const inputSchema = ai.jsonSchema(schema);

/** A provider with a model over the mock, which writes `writes`. */
function provider(writes) {
  Object.assign(plan, {
    contextLength: 10000,
    tokenMs: 0,
    writes,
    template: '{{ tools }} <tool_call> tool_calls <think>',
  });
  return createWebgguf({ models: { mine: api.WasmModel.load(Uint8Array.of(1)) } });
}

/** The mock has no grammars: they are noted rather than followed. */
async function noting(writes) {
  provider(writes);
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const { generate } = model;
  const grammars = [];
  model.generate = (text, { grammar, ...options }) => {
    grammars.push(grammar);
    return generate.call(model, text, options);
  };
  return { model: createWebgguf()(model), grammars };
}

test('generateText: text, thoughts, counts, settings and warnings', async () => {
  const webgguf = provider('<think>Hm.</think>Hello!');
  const settings = {
    temperature: 7,
    topK: 5,
    seed: 3,
    stopSequences: ['x'],
    presencePenalty: 0.5,
    maxOutputTokens: 90,
  };
  const providerOptions = { webgguf: { min_p: 0.2 } };
  const system = 'Be brief.';
  const result = await ai.generateText({ model: webgguf('mine'), system, prompt, ...settings, providerOptions });
  assert.equal(result.text, 'Hello!');
  assert.equal(result.reasoningText, 'Hm.');
  assert.equal(result.finishReason, 'stop');
  assert.equal(result.usage.outputTokens, plan.writes.length);
  assert.ok(result.usage.inputTokens > 0);
  assert.equal(result.usage.totalTokens, result.usage.inputTokens + plan.writes.length);
  assert.equal(result.response.modelId, 'mine');
  const { temperature, topK, seed, stop, presencePenalty, minP, maxTokens } = seen.started.at(-1).options;
  assert.deepEqual(
    { temperature, topK, seed, stop, presencePenalty, minP, maxTokens },
    { temperature: 2, topK: 5, seed: 3, stop: ['x'], presencePenalty: 0.5, minP: 0.2, maxTokens: 90 },
  );
  assert.deepEqual(
    result.warnings.map(({ type, feature }) => [type, feature]),
    [['compatibility', 'temperature']],
  );
  assert.deepEqual(
    seen.templates.at(-1).messages.map(({ role, content }) => [role, content]),
    [
      ['system', 'Be brief.'],
      ['user', 'Hi'],
    ],
  );
});

test('streamText: parts in order, as they are written', async () => {
  const webgguf = provider('<think>Hm.</think>Hello!');
  const { fullStream, textStream, usage } = ai.streamText({ model: webgguf('mine'), prompt });
  const types = [];
  for await (const { type } of fullStream) if (types.at(-1) !== type) types.push(type);
  assert.deepEqual(
    types.filter((type) => /text|reasoning|finish/.test(type)),
    [
      'reasoning-start',
      'reasoning-delta',
      'reasoning-end',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'finish',
    ],
  );
  let text = '';
  for await (const piece of textStream) text += piece;
  assert.equal(text, 'Hello!');
  assert.equal((await usage).outputTokens, plan.writes.length);
});

test('tool loops, streamed and not', async () => {
  for (const call of [ai.generateText, ai.streamText]) {
    const webgguf = provider(`<think>Add.</think>Let me add.\n${CALL}`);
    const sums = [];
    const execute = async ({ a, b }) => {
      sums.push(a + b);
      plan.writes = 'It is 3.';
      return { sum: a + b };
    };
    const tools = { add: ai.tool({ description: 'Adds', inputSchema, execute }) };
    const result = await call({
      model: webgguf('mine'),
      prompt,
      tools,
      stopWhen: ai.isStepCount?.(5) ?? ai.stepCountIs(5),
    });
    assert.equal(await result.text, 'It is 3.');
    assert.equal((await result.steps).length, 2);
    assert.deepEqual(sums, [3]);
    const { messages, tools: told } = seen.templates.at(-1);
    assert.deepEqual(
      messages.map(({ role }) => role),
      ['user', 'assistant', 'tool'],
    );
    assert.deepEqual(messages[1].tool_calls[0].function, { name: 'add', arguments: { a: 1, b: 2 } });
    assert.deepEqual([messages[2].content, messages[2].name], ['{"sum":3}', 'add']);
    assert.deepEqual(told[0].function.parameters.required, ['a', 'b']);
  }
});

test('the input of a tool is streamed; toolChoice begins the call', async () => {
  const { model, grammars } = await noting('1, "b": 2}');
  plan.writes = '{"a": 1, "b": 2}}\n</tool_call>';
  const tools = { add: ai.tool({ description: 'Adds', inputSchema }) };
  const { fullStream } = ai.streamText({ model, prompt, tools, toolChoice: { type: 'tool', toolName: 'add' } });
  let input = '';
  const parts = [];
  for await (const part of fullStream) {
    parts.push(part.type);
    if (part.type === 'tool-input-delta') input += part.delta;
    if (part.type === 'tool-call') assert.deepEqual([part.toolName, part.input], ['add', { a: 1, b: 2 }]);
    if (part.type === 'finish') assert.equal(part.finishReason, 'tool-calls');
  }
  assert.deepEqual(JSON.parse(input), { a: 1, b: 2 });
  assert.ok(parts.indexOf('tool-input-start') < parts.indexOf('tool-input-delta'));
  assert.ok(parts.includes('tool-call'));
  assert.deepEqual(grammars[0].jsonSchema.required, ['a', 'b']);
});

test('objects: the schema is followed, and told', async () => {
  const { model, grammars } = await noting('{"a":1,"b":2}');
  const { object } = await ai.generateObject({ model, prompt, schema: inputSchema });
  assert.deepEqual(object, { a: 1, b: 2 });
  assert.deepEqual(grammars[0].jsonSchema, schema);
  assert.match(seen.templates.at(-1).messages[0].content, /^Answer with JSON .*"additionalProperties":false/);
  const { output } = await ai.generateText({ model, prompt, output: ai.Output.object({ schema: inputSchema }) });
  assert.deepEqual(output, { a: 1, b: 2 });
  assert.deepEqual(grammars[1], grammars[0]);
});

test('embed and embedMany', async () => {
  const model = provider('').embeddingModel('mine');
  const { embedding, usage } = await ai.embed({ model, value: 'ab' });
  assert.deepEqual([...embedding], [3, 196]);
  assert.equal(usage.tokens, 3);
  const values = Array.from({ length: 40 }, (_, index) => 'x'.repeat(index + 1));
  const { embeddings } = await ai.embedMany({ model, values });
  assert.deepEqual(
    embeddings.map(([count]) => count),
    values.map(({ length }) => length + 1),
  );
});

test('abort, failures, and what is no model', async () => {
  const webgguf = provider('x'.repeat(3000));
  const controller = new AbortController();
  const { textStream } = ai.streamText({ model: webgguf('mine'), prompt, abortSignal: controller.signal });
  let length = 0;
  for await (const piece of textStream) if ((length += piece.length) > 20) controller.abort();
  assert.ok(length < 500, `${length}`);
  plan.writes = 'Hello!';
  assert.equal((await ai.generateText({ model: webgguf('mine'), prompt })).text, 'Hello!', 'the model is free again');
  const aborted = ai.generateText({ model: webgguf('mine'), prompt, abortSignal: AbortSignal.abort() });
  await assert.rejects(aborted, { name: 'AbortError' });
  plan.contextLength = 3;
  await assert.rejects(ai.generateText({ model: webgguf('mine'), prompt, maxRetries: 0 }), { code: 'context_full' });
  const errors = [];
  const onError = ({ error }) => errors.push(error.code);
  await ai.streamText({ model: webgguf('mine'), prompt, onError }).consumeStream();
  assert.deepEqual(errors, ['context_full']);
  const picture = { type: 'file', data: Uint8Array.of(137, 80), mediaType: 'image/png' };
  const looks = { model: webgguf('mine'), messages: [{ role: 'user', content: [picture] }], maxRetries: 0 };
  await assert.rejects(ai.generateText(looks), { name: 'AI_UnsupportedFunctionalityError' });
  assert.throws(
    () => webgguf.imageModel('x'),
    (error) => ai.NoSuchModelError.isInstance(error),
  );
  assert.throws(() => webgguf(''), { code: 'invalid_argument' });
});

/** Runs in the page. */
async function talk(url) {
  const { createWebgguf } = await import('/dist/ai-sdk/index.js');
  const webgguf = createWebgguf({ backend: 'cpu' });
  const model = webgguf(url);
  const read = async (stream) => {
    const parts = [];
    for await (const part of stream) parts.push(part);
    return parts;
  };
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Tell me about a hare.' }] }];
  const { stream } = await model.doStream({ prompt, temperature: 0, maxOutputTokens: 30 });
  const parts = await read(stream);
  const whole = await model.doGenerate({ prompt, temperature: 0, maxOutputTokens: 30 });
  const schema = { enum: ['hare', 'bear'] };
  const json = await model.doGenerate({ prompt, temperature: 0, responseFormat: { type: 'json', schema } });
  await webgguf.free();
  return { parts, whole, json };
}

test('a page talks to a model that the provider loads', async () => {
  const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
  const { url, close } = await serve({ routes: { '/blank': blank } });
  const browser = await openBrowser();
  try {
    const page = await openPage(browser, `${url}/blank`);
    const { parts, whole, json } = await page.evaluate(talk, '/models/storyteller.gguf');
    assert.equal(parts[0].type, 'stream-start');
    const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
    assert.ok(text.length > 40, text);
    assert.deepEqual(whole.content, [{ type: 'text', text }]);
    assert.equal(whole.finishReason.unified, 'length');
    assert.equal(whole.usage.outputTokens.total, 30);
    assert.ok(['hare', 'bear'].includes(JSON.parse(json.content[0].text)));
    assert.deepEqual(page.crashes, []);
  } finally {
    await browser.close();
    await close();
  }
});
