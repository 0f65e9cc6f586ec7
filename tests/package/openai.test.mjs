// The official `openai` package over webgguf's `fetch`: in Node.js over a mock that calls tools, and in a page with a
// real model.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { openPage } from '../../tools/demo.mjs';
import { openBrowser } from '../../tools/browser.mjs';
import { serve } from '../../tools/serve.mjs';
import { api, dist, plan } from '../js/api.mjs';
import { hearingModel, SPEECH } from '../js/voice.mjs';
import { installClients, mustCompile, tool } from './install.mjs';

await installClients();
const { default: OpenAI, BadRequestError } = await import(tool('openai', 'index.mjs'));
const { webggufFetch } = await import(`${dist}openai/index.js`);
await api.init({ wasm: new Uint8Array(8) });

const messages = [{ role: 'user', content: 'Hi' }];
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const ADD = {
  type: 'function',
  function: { name: 'add', description: 'Adds', parameters: { type: 'object' }, parse: JSON.parse },
};

async function client() {
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, template: '{{ tools }} <tool_call> tool_calls <think>' });
  const fetch = webggufFetch({ model: api.WasmModel.load(Uint8Array.of(1)) });
  return new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', fetch });
}

const TYPED = `
import type OpenAI from 'openai';
import { WasmModel } from 'DIST/index.js';
import { openai } from 'DIST/openai/index.js';

export async function ask(
  model: WasmModel,
  messages: OpenAI.ChatCompletionMessageParam[],
  tools: OpenAI.ChatCompletionTool[],
  tool_choice: OpenAI.ChatCompletionToolChoiceOption,
): Promise<OpenAI.CompletionUsage> {
  await model.chat.completions.create({ messages, tools, stream: true });
  // @ts-expect-error: a custom tool cannot be chosen
  await model.chat.completions.create({ messages, tools, tool_choice });
  const { choices, usage } = await openai({ model }).chat.completions.create({ messages, tools });
  messages.push(choices[0]!.message);
  return usage;
}

export async function embed(model: WasmModel, request: OpenAI.EmbeddingCreateParams): Promise<number[]> {
  const found: OpenAI.CreateEmbeddingResponse = await model.embeddings.create({ input: 'x' });
  const text: string = (await model.embeddings.create({ input: 'x', encoding_format: 'base64' })).data[0]!.embedding;
  const either: number[] | string = (await model.embeddings.create(request)).data[0]!.embedding;
  // @ts-expect-error: the format that was asked for is not known here
  const vector: number[] = (await model.embeddings.create(request)).data[0]!.embedding;
  return found.data[0]!.embedding ?? vector ?? [text, either];
}

export async function words(model: WasmModel, file: File): Promise<OpenAI.Audio.TranscriptionVerbose> {
  const events = await model.audio.transcriptions.create({ file, stream: true });
  for await (const event of events) {
    const typed: OpenAI.Audio.TranscriptionStreamEvent = event;
    if (typed.type === 'transcript.text.done') console.log(typed.text);
  }
  const srt: string = await model.audio.transcriptions.create({ file, response_format: 'srt' });
  console.log(srt);
  return model.audio.transcriptions.create({ file, response_format: 'verbose_json' });
}
`;

test('messages, tools and results fit the types of the package', () => mustCompile('openai-types.ts', TYPED));

test('completions, streams and their helpers', async () => {
  const ai = await client();
  plan.writes = '<think>Hm.</think>Hello!';
  const { choices, usage } = await ai.chat.completions.create({ model: 'any', messages });
  assert.equal(choices[0].message.content, 'Hello!');
  assert.equal(choices[0].message.reasoning_content, 'Hm.');
  assert.equal(usage.completion_tokens, plan.writes.length);
  const stream = await ai.chat.completions.create({ model: 'any', messages, stream: true });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0].delta.content ?? '';
  assert.equal(text, 'Hello!');
  const runner = ai.chat.completions.stream({ model: 'any', messages, stream_options: { include_usage: true } });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices[0].message.content, 'Hello!');
  assert.equal(final.usage.completion_tokens, plan.writes.length);
});

test('runTools calls a function and goes on', async () => {
  const ai = await client();
  plan.writes = `Let me add.\n${CALL}`;
  const sums = [];
  const add = ({ a, b }) => {
    sums.push(a + b);
    plan.writes = 'It is 3.';
    return String(a + b);
  };
  for (const stream of [false, true]) {
    plan.writes = `Let me add.\n${CALL}`;
    const tools = [{ ...ADD, function: { ...ADD.function, function: add } }];
    const runner = ai.chat.completions.runTools({ model: 'any', messages, tools, stream });
    assert.equal(await runner.finalContent(), 'It is 3.');
  }
  assert.deepEqual(sums, [3, 3]);
});

test('embeddings, models, errors and abort', async () => {
  const ai = await client();
  const { data } = await ai.embeddings.create({ model: 'any', input: 'ab' }); // base64 inside
  assert.deepEqual([...data[0].embedding], [3, 196]);
  const names = [];
  for await (const { id } of ai.models.list()) names.push(id);
  assert.deepEqual(names, ['llama']);
  assert.equal((await ai.models.retrieve('llama')).object, 'model');
  await assert.rejects(ai.chat.completions.create({ model: 'any', messages, top_p: 7 }), (error) => {
    assert.ok(error instanceof BadRequestError);
    assert.deepEqual([error.status, error.param, error.code], [400, 'top_p', 'invalid_argument']);
    return true;
  });
  plan.contextLength = 3;
  await assert.rejects(ai.chat.completions.create({ model: 'any', messages }), { code: 'context_length_exceeded' });
  const streamed = ai.chat.completions.create({ model: 'any', messages, stream: true });
  await assert.rejects(streamed, { status: 400, code: 'context_length_exceeded' });
  plan.contextLength = 10000;
  plan.writes = 'x'.repeat(1000);
  const long = await ai.chat.completions.create({ model: 'any', messages, stream: true });
  let count = 0;
  for await (const _ of long) if (++count === 9) long.controller.abort();
  assert.equal(count, 9);
});

test('transcriptions: with times, as subtitles, and as they are written', async () => {
  const model = hearingModel((seconds) => (seconds ? `${seconds.toFixed(0)} seconds` : 'All of it.'));
  const ai = new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', fetch: webggufFetch({ model }) });
  const create = (request) =>
    ai.audio.transcriptions.create({ file: fs.createReadStream(SPEECH), model: 'any', ...request });
  const timestamp_granularities = ['segment'];
  const { segments, duration } = await create({ response_format: 'verbose_json', timestamp_granularities });
  assert.deepEqual(
    segments.map(({ text }) => text),
    ['3 seconds', '2 seconds'],
  );
  assert.ok(segments[0].end < segments[1].start && segments[1].end < duration);
  assert.match(await create({ response_format: 'srt' }), /^1\n00:00:00,\d+ --> 00:00:03,\d+\n3 seconds\n\n2\n/);
  const parts = [];
  for await (const event of await create({ stream: true })) parts.push(event.delta ?? event.text);
  assert.equal(parts.pop(), 'All of it.');
  assert.equal(parts.join(''), 'All of it.');
  await assert.rejects(create({ response_format: 'verbose_json', timestamp_granularities: ['word'] }), (error) => {
    assert.ok(error instanceof BadRequestError);
    assert.equal(error.param, 'timestamp_granularities');
    return true;
  });
});

test('speech: a file, and events', async () => {
  const speak = async function* () {
    yield { samples: new Float32Array(480), sampleRate: 24_000 };
  };
  const model = { info: { backend: 'cpu', architecture: 'llama' }, speak };
  const ai = new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', fetch: webggufFetch({ model }) });
  const request = { model: 'any', voice: 'alloy', input: 'Hi.', response_format: 'wav' };
  assert.equal((await (await ai.audio.speech.create(request)).arrayBuffer()).byteLength, 44 + 960);
  await assert.rejects(ai.audio.speech.create({ ...request, response_format: 'mp3' }), (error) => {
    assert.ok(error instanceof BadRequestError);
    assert.equal(error.param, 'response_format');
    return true;
  });
});

/** Runs in the page. */
async function chat() {
  const { default: OpenAI } = await import('/openai/index.mjs');
  const { WasmModel } = await import('/dist/index.js');
  const { webggufFetch } = await import('/dist/openai/index.js');
  const model = await WasmModel.load('/models/storyteller.gguf', { backend: 'webgpu' });
  const fetch = webggufFetch({ model });
  const ai = new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', fetch, dangerouslyAllowBrowser: true });
  const messages = [{ role: 'user', content: 'Tell me about a hare.' }];
  const request = { model: 'storyteller', messages, temperature: 0, max_tokens: 40 };
  const whole = await ai.chat.completions.create(request);
  let streamed = '';
  for await (const chunk of await ai.chat.completions.create({ ...request, stream: true })) {
    streamed += chunk.choices[0].delta.content ?? '';
  }
  const plain = await model.generate(messages, { maxTokens: 40 });
  await model.free();
  return { whole, streamed, plain: plain.text };
}

test('a page talks to a model through the package', async () => {
  const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
  const { url, close } = await serve({ routes: { '/blank': blank }, mounts: { '/openai/': tool('openai', '') } });
  const browser = await openBrowser();
  try {
    const page = await openPage(browser, `${url}/blank`);
    const { whole, streamed, plain } = await page.evaluate(chat);
    assert.ok(plain.length > 50, plain);
    assert.equal(whole.choices[0].message.content, plain);
    assert.equal(streamed, plain);
    assert.equal(whole.choices[0].finish_reason, 'length');
    assert.equal(whole.webgguf.backend, 'webgpu');
    assert.equal(whole.usage.completion_tokens, 40);
    assert.deepEqual(page.crashes, []);
  } finally {
    await browser.close();
    await close();
  }
});
