// Vercel's `ai` package over webgguf's provider: in Node.js over a mock that calls tools, and in a page with a real
// model.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { api, dist, plan, seen } from '../js/api.mjs';
import { installClients, mustCompile, tool } from './install.mjs';

await installClients();
/** By the version of the interface that they take. */
const SDKS = {
  v4: await import(tool('ai', 'dist/index.js')),
  v3: await import(tool('ai6', 'dist/index.mjs')),
  v2: await import(tool('ai5', 'dist/index.mjs')),
};
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

/** A test with each SDK: `work` gets it and the options of a provider for it. */
function withEach(name, work, versions = Object.keys(SDKS)) {
  for (const specificationVersion of versions) {
    test(`${specificationVersion}: ${name}`, () => work(SDKS[specificationVersion], { specificationVersion }));
  }
}

/** A provider with a model over the mock, which writes `writes`. */
function provider(writes, options) {
  Object.assign(plan, {
    contextLength: 10000,
    tokenMs: 0,
    writes,
    template: '{{ tools }} <tool_call> tool_calls <think>',
  });
  return createWebgguf({ ...options, models: { mine: api.WasmModel.load(Uint8Array.of(1)) } });
}

/** The mock has no grammars: they are noted rather than followed. */
async function noting(writes, options) {
  provider(writes);
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const { generate } = model;
  const grammars = [];
  model.generate = (text, { grammar, ...further }) => {
    grammars.push(grammar);
    return generate.call(model, text, further);
  };
  return { model: createWebgguf(options)(model), grammars };
}

withEach('generateText: text, thoughts, counts, settings and warnings', async (ai, version) => {
  const webgguf = provider('<think>Hm.</think>Hello!', version);
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
  // What a model that thinks writes is searched for stop strings once its thoughts are told apart.
  const { temperature, topK, seed, stop, presencePenalty, minP, maxTokens } = seen.started.at(-1).options;
  assert.deepEqual(
    { temperature, topK, seed, stop, presencePenalty, minP, maxTokens },
    { temperature: 2, topK: 5, seed: 3, stop: [], presencePenalty: 0.5, minP: 0.2, maxTokens: 90 },
  );
  assert.equal(result.warnings.length, 1);
  const [{ type, feature, message }] = result.warnings;
  const isOld = version.specificationVersion === 'v2';
  assert.deepEqual([type, feature], isOld ? ['other', undefined] : ['compatibility', 'temperature']);
  if (isOld) assert.equal(message, 'temperature: 7 is not from 0 to 2: 2 taken');
  assert.deepEqual(
    seen.templates.at(-1).messages.map(({ role, content }) => [role, content]),
    [
      ['system', 'Be brief.'],
      ['user', 'Hi'],
    ],
  );
});

withEach('streamText: parts in order, as they are written', async (ai, version) => {
  const webgguf = provider('<think>Hm.</think>Hello!', version);
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

withEach('tool loops, streamed and not', async (ai, version) => {
  for (const call of [ai.generateText, ai.streamText]) {
    const webgguf = provider(`<think>Add.</think>Let me add.\n${CALL}`, version);
    const sums = [];
    const execute = async ({ a, b }) => {
      sums.push(a + b);
      plan.writes = 'It is 3.';
      return { sum: a + b };
    };
    const tools = { add: ai.tool({ description: 'Adds', inputSchema: ai.jsonSchema(schema), execute }) };
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

withEach('the input of a tool is streamed; toolChoice begins the call', async (ai, version) => {
  const { model, grammars } = await noting('1, "b": 2}', version);
  plan.writes = '{"a": 1, "b": 2}}\n</tool_call>';
  const tools = { add: ai.tool({ description: 'Adds', inputSchema: ai.jsonSchema(schema) }) };
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

withEach('objects: the schema is followed, and told', async (ai, version) => {
  const { model, grammars } = await noting('{"a":1,"b":2}', version);
  const wanted = ai.jsonSchema(schema);
  const { object } = await ai.generateObject({ model, prompt, schema: wanted });
  assert.deepEqual(object, { a: 1, b: 2 });
  assert.deepEqual(grammars[0].jsonSchema, schema);
  assert.match(seen.templates.at(-1).messages[0].content, /^Answer with JSON .*"additionalProperties":false/);
  const output = ai.Output.object({ schema: wanted });
  const answer = await ai.generateText({ model, prompt, output, experimental_output: output });
  assert.deepEqual(answer.output ?? answer.experimental_output, { a: 1, b: 2 });
  assert.deepEqual(grammars[1], grammars[0]);
});

withEach('an object beside tools follows its schema where the model can be kept to it', async (ai, version) => {
  const { model, grammars } = await noting('{"a":1,"b":2}', version);
  const execute = () => assert.fail('not called');
  const tools = { add: ai.tool({ description: 'Adds', inputSchema: ai.jsonSchema(schema), execute }) };
  const output = ai.Output.object({ schema: ai.jsonSchema(schema) });
  const request = { prompt, tools, output, experimental_output: output };
  const answer = await ai.generateText({ ...request, model });
  assert.deepEqual(answer.output ?? answer.experimental_output, { a: 1, b: 2 });
  assert.deepEqual(answer.warnings, []);
  assert.match(grammars.at(-1).lark, /answer: %json .*"required":\["a","b"\]/);
  plan.template = '{{ tools }} <|tool_call> tool_calls';
  const other = createWebgguf(version)(await api.WasmModel.load(Uint8Array.of(1)));
  const told = await ai.generateText({ ...request, model: other });
  assert.deepEqual(told.output ?? told.experimental_output, { a: 1, b: 2 });
  assert.match(told.warnings[0].details ?? told.warnings[0].message, /this model is asked for JSON/);
});

withEach('embed and embedMany', async (ai, version) => {
  const model = provider('', version).embeddingModel('mine');
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

withEach('texts as files, in the shapes of each version', async (ai, version) => {
  const webgguf = provider('Read.', version);
  const bytes = new TextEncoder().encode('A note: ä.');
  for (const data of [bytes, Buffer.from(bytes).toString('base64')]) {
    const content = [
      { type: 'text', text: 'Read this:' },
      { type: 'file', data, mediaType: 'text/plain' },
    ];
    await ai.generateText({ model: webgguf('mine'), messages: [{ role: 'user', content }] });
    assert.equal(seen.templates.at(-1).messages[0].content, 'Read this:\nA note: ä.');
  }
});

const reranks = async (ai, version) => {
  const webgguf = provider('', version);
  const documents = ['ab', 'abcdef', 'abcd'];
  // The mock's score of a text is the count of its tokens.
  const { ranking, rerankedDocuments } = await ai.rerank({
    model: webgguf.rerankingModel('mine'),
    documents,
    query: 'q',
    topN: 2,
  });
  assert.deepEqual(
    ranking.map(({ originalIndex, score }) => [originalIndex, score]),
    [
      [1, 9],
      [2, 7],
    ],
  );
  assert.deepEqual(rerankedDocuments, ['abcdef', 'abcd']);
  const objects = [{ text: 'a' }, { text: 'a longer one' }];
  const best = await ai.rerank({ model: webgguf.rerankingModel('mine'), documents: objects, query: 'q' });
  assert.deepEqual(best.rerankedDocuments, objects.toReversed());
  const aborted = { documents, query: 'q', abortSignal: AbortSignal.abort() };
  await assert.rejects(ai.rerank({ model: webgguf.rerankingModel('mine'), ...aborted }), { name: 'AbortError' });
};
withEach('rerank', reranks, ['v4', 'v3']);

/** A provider with a voice that speaks 1000 samples at 32 kHz for each text; `asked` has what it was asked. */
async function speaker(version) {
  provider('', version);
  const model = await api.WasmModel.load(Uint8Array.of(1));
  const asked = [];
  model.speak = async function* (text, options) {
    options.signal?.throwIfAborted();
    asked.push({ text, ...options });
    yield { samples: new Float32Array(1000).fill(0.5), sampleRate: 32_000, text };
  };
  model.speech = async (text, options) => {
    asked.push({ text, ...options });
    return new Blob(['RIFF....WAVEfmt ']);
  };
  return { model: createWebgguf(version).speechModel(model), asked };
}

withEach('generateSpeech: files, samples, speed, and warnings for what there is not', async (ai, version) => {
  const generateSpeech = ai.generateSpeech ?? ai.experimental_generateSpeech;
  const { model, asked } = await speaker(version);
  const { audio, warnings, responses } = await generateSpeech({
    model,
    text: 'Hello.',
    speed: 1.5,
    providerOptions: { webgguf: { seed: 3 } },
  });
  assert.deepEqual([audio.mediaType, warnings, responses[0].modelId], ['audio/wav', [], model.modelId]);
  const { signal: _, ...first } = asked[0];
  assert.deepEqual(first, { text: 'Hello.', seed: 3, speed: 1.5 });
  const told = { voice: 'alloy', instructions: 'Slowly.', language: 'de', speed: 9, outputFormat: 'mp3' };
  const second = await generateSpeech({ model, text: 'Hello.', ...told });
  const isOld = version.specificationVersion === 'v2';
  assert.deepEqual(
    second.warnings.map(({ feature, message }) => feature ?? message.split(':')[0]),
    ['voice', 'instructions', 'language', 'speed', 'outputFormat'],
  );
  assert.equal(second.warnings[0].type, isOld ? 'other' : 'unsupported');
  assert.equal(asked[1].speed, 4);
  const pcm = await generateSpeech({ model, text: 'Hello.', outputFormat: 'pcm', language: 'en-GB' });
  assert.deepEqual(pcm.warnings, []);
  assert.equal(pcm.audio.uint8Array.length, 2 * 750);
  assert.equal(new DataView(pcm.audio.uint8Array.slice().buffer).getInt16(750, true), 16384);
  const aborted = generateSpeech({ model, text: 'x', outputFormat: 'pcm', abortSignal: AbortSignal.abort() });
  await assert.rejects(aborted, { name: 'AbortError' });
});

test('v4: streamSpeech speaks sentences while they are written', async () => {
  const { model, asked } = await speaker({});
  const ai = SDKS.v4;
  const text = ['Is it ', 'two? I th', 'ink so.'];
  const { fullStream, usage } = ai.experimental_streamSpeech({
    model,
    text,
    outputFormat: { type: 'audio/pcm', rate: 16_000 },
  });
  const parts = [];
  for await (const part of fullStream) parts.push(part);
  assert.deepEqual(
    asked.map((call) => call.text),
    ['Is it two? ', 'I think so.'],
  );
  const sounds = parts.filter(({ type }) => type === 'audio');
  assert.equal(
    sounds.reduce((sum, { audio }) => sum + audio.length, 0),
    2 * 2 * 500,
  );
  assert.deepEqual(sounds[0].audioFormat, { type: 'audio/pcm', rate: 16_000 });
  assert.equal((await usage).inputCharacters, text.join('').length);
  // The SDK says of a stream that ends with an error and has no sound that nothing was spoken.
  const broken = (await speaker({})).model;
  const outputFormat = { type: 'audio/pcm', rate: 1 };
  const failing = ai.experimental_streamSpeech({ model: broken, text: 'Hi.', outputFormat, onError: () => {} });
  const read = async () => {
    for await (const part of failing.fullStream) assert.equal(part.type, 'error');
  };
  await assert.rejects(read, ({ cause }) => cause.code === 'invalid_argument');
});

test('v4: generateSpeech with a model that speaks', async () => {
  // Not over the mock, which replaces modules of this process.
  const script = `
    import { generateSpeech } from ${JSON.stringify(tool('ai', 'dist/index.js'))};
    import { createWebgguf } from '${dist}ai-sdk/index.js';
    import { blob, ENCODERS } from '${new URL('../js/encoders.mjs', import.meta.url)}';
    const file = (name) => blob(ENCODERS + '/' + name);
    const models = { voice: file('soprano-text.gguf') };
    const webgguf = createWebgguf({ backend: 'cpu', vocoder: file('soprano.gguf'), models });
    const call = { model: webgguf.speech('voice'), text: 'Is it two?', providerOptions: { webgguf: { seed: 1 } } };
    const [whole, fast] = [await generateSpeech(call), await generateSpeech({ ...call, speed: 2 })];
    const bytes = [whole, fast].map(({ audio }) => audio.uint8Array.length);
    const head = new DataView(whole.audio.uint8Array.slice().buffer);
    const [rate, size] = [head.getUint32(24, true), head.getUint32(40, true)];
    console.log(JSON.stringify({ bytes, type: whole.audio.mediaType, rate, size }));
    await webgguf.free();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  const { bytes, type, rate, size } = JSON.parse(stdout);
  assert.deepEqual([type, rate, size], ['audio/wav', 32_000, bytes[0] - 44]);
  assert.ok(bytes[0] > 44 + 2048, `${bytes[0]} bytes`);
  assert.ok(Math.abs((2 * (bytes[1] - 44)) / (bytes[0] - 44) - 1) < 0.02, `${bytes}`);
});

test('v4: generateSpeech in a voice by its name', async () => {
  const script = `
    import { generateSpeech } from ${JSON.stringify(tool('ai', 'dist/index.js'))};
    import { createWebgguf } from '${dist}ai-sdk/index.js';
    import { open, voice } from '${new URL('../js/pocket.mjs', import.meta.url)}';
    const speaker = await open();
    speaker.voices.set('nora', voice);
    const model = createWebgguf().speechModel(speaker);
    const call = { model, text: 'ab', providerOptions: { webgguf: { seed: 1 } } };
    const own = await generateSpeech({ ...call, voice: 'nora' });
    const other = await generateSpeech({ ...call, voice: 'alloy' }).catch((error) => String(error.message));
    const told = own.warnings.map(({ feature }) => feature);
    console.log(JSON.stringify({ bytes: own.audio.uint8Array.length, told, other }));
    await speaker.free();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  const { bytes, told, other } = JSON.parse(stdout);
  assert.deepEqual(told, []);
  assert.ok(bytes > 44 && (bytes - 44) % (2 * 1920) === 0, `${bytes} bytes`);
  assert.match(other, /one of nora, found 'alloy'/);
});

test('an unknown version is refused; registries find models of each', async () => {
  assert.throws(() => createWebgguf({ specificationVersion: 'v1' }), { code: 'invalid_argument' });
  for (const [specificationVersion, ai] of Object.entries(SDKS)) {
    const registry = ai.createProviderRegistry({ local: provider('Hello!', { specificationVersion }) });
    assert.equal((await ai.generateText({ model: registry.languageModel('local:mine'), prompt })).text, 'Hello!');
    const model = registry.embeddingModel?.('local:mine') ?? registry.textEmbeddingModel('local:mine');
    assert.deepEqual([...(await ai.embed({ model, value: 'ab' })).embedding], [3, 196]);
  }
});

withEach('abort, failures, and what is no model', async (ai, version) => {
  const webgguf = provider('x'.repeat(3000), version);
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
  const sound = { type: 'file', data: Uint8Array.of(82, 73), mediaType: 'audio/wav' };
  const listens = { model: webgguf('mine'), messages: [{ role: 'user', content: [sound] }], maxRetries: 0 };
  await assert.rejects(ai.generateText(listens), { code: 'invalid_argument' }, 'the model has no encoder of sounds');
  const film = { ...sound, mediaType: 'video/mp4' };
  const watches = { ...listens, messages: [{ role: 'user', content: [film] }] };
  await assert.rejects(ai.generateText(watches), { code: 'invalid_argument' }, 'the model has no encoder of images');
  const reads = { ...listens, messages: [{ role: 'user', content: [{ ...sound, mediaType: 'application/pdf' }] }] };
  await assert.rejects(ai.generateText(reads), { name: 'AI_UnsupportedFunctionalityError' });
  assert.throws(
    () => webgguf.imageModel('x'),
    (error) => ai.NoSuchModelError.isInstance(error),
  );
  assert.throws(() => webgguf(''), { code: 'invalid_argument' });
});

const TYPED = `
import * as v4 from 'ai';
import * as v3 from 'ai6';
import * as v2 from 'ai5';
import { createWebgguf } from 'DIST/ai-sdk/index.js';
const value = 'x';
const seven = createWebgguf({ worker: true });
export const texts = [
  v4.generateText({ model: seven('a.gguf'), prompt: value }),
  v3.generateText({ model: createWebgguf({ specificationVersion: 'v3' })('a.gguf'), prompt: value }),
  v2.generateText({ model: createWebgguf({ specificationVersion: 'v2' })('a.gguf'), prompt: value }),
];
export const vectors = [
  v4.embed({ model: seven.embeddingModel('a.gguf'), value }),
  v3.embed({ model: createWebgguf({ specificationVersion: 'v3' }).embeddingModel('a.gguf'), value }),
  v2.embed({ model: createWebgguf({ specificationVersion: 'v2' }).embeddingModel('a.gguf'), value }),
];
export const ranked = [
  v4.rerank({ model: seven.rerankingModel('a.gguf'), query: value, documents: [value] }),
  v3.rerank({
    model: createWebgguf({ specificationVersion: 'v3' }).rerankingModel('a.gguf'), query: value, documents: [value],
  }),
];
export const spoken = [
  v4.generateSpeech({ model: seven.speechModel('a.gguf'), text: value }),
  v4.experimental_streamSpeech({ model: seven.speech('a.gguf'), text: value }),
  v3.experimental_generateSpeech({
    model: createWebgguf({ specificationVersion: 'v3' }).speechModel('a.gguf'), text: value,
  }),
  v2.experimental_generateSpeech({
    model: createWebgguf({ specificationVersion: 'v2' }).speechModel('a.gguf'), text: value,
  }),
];
v4.createProviderRegistry({ seven });
v3.createProviderRegistry({ six: createWebgguf({ specificationVersion: 'v3' }) });
v2.createProviderRegistry({ five: createWebgguf({ specificationVersion: 'v2' }) });
// @ts-expect-error: a model for ai 7 is none for ai 5
v2.embed({ model: seven.embeddingModel('a.gguf'), value });
`;

test('the types fit ai 5, 6 and 7', () => mustCompile('ai-sdk-types.ts', TYPED));

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
