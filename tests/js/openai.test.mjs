// OpenAI's face over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, isAbort, plan, resetMock, seen, withCode } from './api.mjs';

const { openai, webggufFetch } = await import(`${dist}openai/index.js`);
await api.init({ wasm: new Uint8Array(8) });

const HI = [{ role: 'user', content: 'Hi' }];
const WEATHER = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { place: { type: 'string' } } } },
};
const CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"place": "Rome"}}\n</tool_call>';
const HERMES = '{{ tools }} <tool_call> tool_calls <think>';

beforeEach(() => {
  resetMock();
  plan.contextLength = 10000;
  plan.tokenMs = 0;
});

const load = () => api.WasmModel.load(Uint8Array.of(1));

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

test('an answer has the shape of a chat completion', async () => {
  plan.writes = 'Hello!';
  const model = await load();
  const { id, created, ...completion } = await model.chat.completions.create({ messages: HI, model: 'mine' });
  assert.match(id, /^chatcmpl-\w{24}$/);
  assert.ok(Math.abs(created - Date.now() / 1e3) < 600);
  assert.deepEqual(completion, {
    object: 'chat.completion',
    model: 'mine',
    system_fingerprint: 'webgguf-cpu',
    webgguf: { backend: 'cpu' },
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello!', refusal: null },
        finish_reason: 'stop',
        logprobs: null,
      },
    ],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 6,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0, image_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  });
});

test('a prediction reaches the engine, and its tokens are counted', async () => {
  plan.writes = 'abc';
  [plan.accepted, plan.rejected] = [2, 5];
  const model = await load();
  const parts = [
    { type: 'text', text: 'as it ' },
    { type: 'text', text: 'was' },
  ];
  const prediction = { type: 'content', content: parts };
  const { usage } = await model.chat.completions.create({ messages: HI, prediction, n: 2 });
  const { accepted_prediction_tokens: accepted, rejected_prediction_tokens: rejected } =
    usage.completion_tokens_details;
  assert.deepEqual([accepted, rejected, usage.completion_tokens], [4, 10, 6]);
  await model.chat.completions.create({ messages: HI, prediction: { type: 'content', content: 'so' } });
  assert.deepEqual(
    seen.started.map(({ options }) => options.prediction),
    ['as it was', 'as it was', 'so'],
  );
  const wrong = model.chat.completions.create({ messages: HI, prediction: { type: 'content', content: [1] } });
  await assert.rejects(wrong, { code: 'invalid_argument', message: /'prediction' must be { type: 'content'/ });
});

test('a streamed answer has a role, texts, a reason, and the counts where they are asked for', async () => {
  plan.writes = 'abc';
  const model = await load();
  const stream = await model.chat.completions.create({
    messages: HI,
    stream: true,
    stream_options: { include_usage: true },
    timings: true,
  });
  const chunks = await all(stream);
  assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
  assert.ok(chunks.every(({ object }) => object === 'chat.completion.chunk'));
  assert.deepEqual(
    chunks.map(({ choices: [choice] }) => choice && [choice.delta, choice.finish_reason]),
    [
      [{ role: 'assistant', content: '' }, null],
      [{ content: 'a' }, null],
      [{ content: 'b' }, null],
      [{ content: 'c' }, null],
      [{}, 'stop'],
      undefined,
    ],
  );
  assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
  assert.equal(chunks.at(-1).usage.completion_tokens, 3);
  assert.equal(chunks.at(-1).timings.predicted_n, 3);
  assert.throws(() => stream[Symbol.asyncIterator](), withCode('invalid_argument', /tee/));
  const plain = await all(await model.chat.completions.create({ messages: HI, stream: true }));
  assert.ok(plain.every((chunk) => !('usage' in chunk) && chunk.choices.length === 1));
});

test('nothing is kept on disk of a request that is not to be stored', async () => {
  const model = await load();
  const { generate } = model;
  const kept = [];
  model.generate = (prompt, options) => {
    kept.push(options.prefixCache);
    return generate.call(model, prompt, options);
  };
  for (const store of [undefined, true, false]) {
    await model.chat.completions.create({ messages: HI, max_tokens: 2, ...(store !== undefined && { store }) });
  }
  assert.deepEqual(kept, [undefined, undefined, false]);
});

test('sampling options are those of generate, with the documented defaults', async () => {
  const model = await load();
  await model.chat.completions.create({ messages: HI, max_tokens: 2 });
  const { seed: _, ...defaults } = seen.started[0].options;
  assert.deepEqual(JSON.parse(JSON.stringify(defaults)), {
    maxTokens: 2,
    temperature: 1,
    minP: 0.05,
    showSpecial: [],
    stop: [],
  });
  const { choices } = await model.chat.completions.create({
    messages: HI,
    max_completion_tokens: 3,
    max_tokens: 9,
    temperature: 0,
    top_p: 0.5,
    top_k: 40,
    min_p: 0.1,
    repetition_penalty: 1.1,
    frequency_penalty: 0.2,
    presence_penalty: 0.3,
    seed: 7,
    n: 2,
    stop: ['x'],
    user: 'me',
  });
  assert.deepEqual(
    seen.started.slice(1).map(({ options }) => options.seed),
    [7, 8],
  );
  assert.deepEqual(
    choices.map(({ index, finish_reason: reason }) => [index, reason]),
    [
      [0, 'length'],
      [1, 'length'],
    ],
  );
  const { topP, topK, minP, repetitionPenalty, frequencyPenalty, presencePenalty, maxTokens } = seen.started[1].options;
  assert.deepEqual(
    { topP, topK, minP, repetitionPenalty, frequencyPenalty, presencePenalty, maxTokens },
    {
      topP: 0.5,
      topK: 40,
      minP: 0.1,
      repetitionPenalty: 1.1,
      frequencyPenalty: 0.2,
      presencePenalty: 0.3,
      maxTokens: 3,
    },
  );
});

test('tools are called: a name first, then the arguments in pieces', async () => {
  plan.template = HERMES;
  plan.writes = `Let me see.\n${CALL}\n${CALL}`;
  const model = await load();
  const request = { messages: HI, tools: [WEATHER] };
  const { choices } = await model.chat.completions.create(request);
  const [{ message, finish_reason: reason }] = choices;
  assert.equal(reason, 'tool_calls');
  assert.equal(message.content, 'Let me see.');
  const called = { name: 'get_weather', arguments: '{"place": "Rome"}' };
  assert.deepEqual(
    message.tool_calls.map(({ type, function: each }) => [type, each]),
    [
      ['function', called],
      ['function', called],
    ],
  );
  assert.equal(new Set(message.tool_calls.map(({ id }) => id)).size, 2);
  assert.deepEqual(seen.templates[0].tools, [WEATHER]);
  assert.deepEqual(seen.started[0].options.showSpecial, ['<think>', '</think>', '<tool_call>', '</tool_call>']);

  const chunks = await all(await model.chat.completions.create({ ...request, stream: true }));
  const parts = chunks.flatMap(({ choices: [{ delta }] }) => delta.tool_calls ?? []);
  assert.deepEqual(Object.keys(parts[0]), ['index', 'id', 'type', 'function']);
  assert.deepEqual(parts[0].function, { name: 'get_weather', arguments: '' });
  assert.ok(parts.length > 10);
  const text = (index) => parts.map((part) => (part.index === index ? part.function.arguments : '')).join('');
  assert.deepEqual([text(0), text(1)], [called.arguments, called.arguments]);

  const one = await model.chat.completions.create({ ...request, parallel_tool_calls: false });
  assert.equal(one.choices[0].message.tool_calls.length, 1);
  assert.equal(one.choices[0].finish_reason, 'tool_calls');
  assert.ok(one.usage.completion_tokens < plan.writes.length - 20, 'the second call is not written');

  const none = await model.chat.completions.create({ ...request, tool_choice: 'none' });
  assert.equal(none.choices[0].message.content, plan.writes);
  assert.equal(seen.templates.at(-1).tools, undefined);
});

/** A model whose grammars are noted rather than followed: the mock has none. */
async function loadNoting() {
  const model = await load();
  const { generate } = model;
  const grammars = [];
  model.generate = (prompt, { grammar, ...options }) => {
    grammars.push(grammar);
    return generate.call(model, prompt, options);
  };
  return { model, grammars };
}

test('a call that is required is begun for the model, and its arguments follow the schema', async () => {
  plan.template = HERMES;
  plan.writes = '{"place": "Rome"}}\n</tool_call>';
  const { model, grammars } = await loadNoting();
  const request = { messages: HI, tools: [WEATHER] };
  for (const choice of ['required', { type: 'function', function: { name: 'get_weather' } }]) {
    const { choices } = await model.chat.completions.create({ ...request, tool_choice: choice });
    assert.equal(choices[0].finish_reason, 'tool_calls');
    assert.equal(choices[0].message.content, null);
    assert.equal(choices[0].message.tool_calls[0].function.arguments, '{"place": "Rome"}');
    const prompt = String.fromCharCode(...seen.started.at(-1).ids);
    assert.ok(prompt.endsWith('<user>Hi<tool_call>\n{"name": "get_weather", "arguments": '), prompt);
    assert.deepEqual(grammars.at(-1), { jsonSchema: WEATHER.function.parameters });
  }
  // With several tools, the name is part of what is written.
  plan.writes = '{"name": "ping", "arguments": {}}';
  const ping = { type: 'function', function: { name: 'ping' } };
  const { choices } = await model.chat.completions.create({
    messages: HI,
    tools: [WEATHER, ping],
    tool_choice: 'required',
  });
  assert.deepEqual(choices[0].message.tool_calls[0].function, { name: 'ping', arguments: '{}' });
  const { anyOf } = grammars.at(-1).jsonSchema;
  assert.deepEqual(
    anyOf.map(({ properties }) => properties.name.const),
    ['get_weather', 'ping'],
  );
});

test('allowed_tools: calls are kept to some tools, and the prompt has all', async () => {
  plan.template = HERMES;
  const tools = ['get_weather', 'ping', 'wipe'].map((name) => ({ type: 'function', function: { name } }));
  const allowing = (mode, ...names) => ({
    type: 'allowed_tools',
    allowed_tools: { mode, tools: names.map((name) => ({ type: 'function', function: { name } })) },
  });
  const { model, grammars } = await loadNoting();
  const ask = (tool_choice) => model.chat.completions.create({ messages: HI, tools, tool_choice });

  plan.writes = 'Hello!';
  assert.equal((await ask(allowing('auto', 'ping', 'get_weather'))).choices[0].message.content, 'Hello!');
  assert.match(grammars.at(-1).lark, /get_weather(?=.*ping)/s);
  assert.doesNotMatch(grammars.at(-1).lark, /wipe/);
  assert.deepEqual(seen.templates.at(-1).tools, tools);

  plan.writes = '{"name": "ping", "arguments": {}}';
  const { choices } = await ask(allowing('required', 'ping', 'get_weather'));
  assert.equal(choices[0].message.tool_calls[0].function.name, 'ping');
  const { anyOf } = grammars.at(-1).jsonSchema;
  assert.deepEqual(
    anyOf.map(({ properties }) => properties.name.const),
    ['get_weather', 'ping'],
  );
  assert.deepEqual(seen.templates.at(-1).tools, tools);

  plan.writes = '}';
  await ask(allowing('required', 'wipe'));
  assert.ok(String.fromCharCode(...seen.started.at(-1).ids).endsWith('{"name": "wipe", "arguments": '));

  // No grammar follows these calls: the model is told of what it may call alone.
  plan.template = '{{ tools }} <|tool_call> tool_calls';
  const gemma = await loadNoting();
  await gemma.model.chat.completions.create({ messages: HI, tools, tool_choice: allowing('auto', 'ping') });
  assert.deepEqual(
    seen.templates.at(-1).tools.map(({ function: { name } }) => name),
    ['ping'],
  );
});

test('after a call that was forced, allowed_tools still holds', async () => {
  const { afterCall } = await import(`${dist}openai/tool-choice.js`);
  const ping = { type: 'function', function: { name: 'ping' } };
  const allowed = (mode) => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [ping] } });
  assert.deepEqual(afterCall(allowed('required')), allowed('auto'));
  assert.deepEqual([afterCall(ping), afterCall('required'), afterCall('none')], ['auto', 'auto', 'none']);
  assert.deepEqual([afterCall('auto'), afterCall(undefined)], ['auto', undefined]);
});

test('response_format beside tools: the answer follows it, or calls follow the tools', async () => {
  plan.template = HERMES;
  const { model, grammars } = await loadNoting();
  const schema = { type: 'object', properties: { a: { type: 'number' } } };
  const json = { type: 'json_schema', json_schema: { name: 'x', schema } };
  const ask = (more) =>
    model.chat.completions.create({ messages: HI, tools: [WEATHER], response_format: json, ...more });

  plan.writes = '{"a": 1}';
  const { message } = (await ask()).choices[0];
  assert.deepEqual([message.content, message.tool_calls], ['{"a": 1}', undefined]);
  assert.match(grammars.at(-1).lark, /answer: %json .*"a":{"type":"number"}(?=.*get_weather)/s);
  assert.deepEqual(seen.templates.at(-1).tools, [WEATHER]);
  assert.deepEqual(seen.templates.at(-1).variables, { enable_thinking: false }, 'no thoughts before JSON');

  plan.writes = CALL;
  const called = (await ask({ response_format: { type: 'json_object' } })).choices[0];
  assert.deepEqual([called.finish_reason, called.message.content], ['tool_calls', null]);
  assert.match(grammars.at(-1).lark, /answer: %json .*"type":"object"/);

  // A call that is required has no answer beside it.
  plan.writes = '{"place": "Rome"}}';
  const forced = (await ask({ tool_choice: 'required' })).choices[0];
  assert.equal(forced.message.tool_calls[0].function.arguments, '{"place": "Rome"}');
  assert.deepEqual(grammars.at(-1), { jsonSchema: WEATHER.function.parameters });

  // No grammar follows the calls of Gemma 4; those of Llama 3 begin as an answer in JSON does.
  for (const template of ['{{ tools }} <|tool_call>', '{{ tools }} ipython']) {
    plan.template = template;
    const other = await load();
    const both = { messages: HI, tools: [WEATHER], response_format: json };
    const refused = withCode(
      'invalid_argument',
      /'response_format' and 'tools' at once are not supported by this model/,
    );
    await assert.rejects(other.chat.completions.create(both), refused);
  }
  await assert.rejects(
    model.chat.completions.create({ messages: HI, tools: [WEATHER], grammar: 'root ::= "a"' }),
    withCode('invalid_argument', /'grammar' and 'tools' at once are not supported; set/),
  );
});

test('response_format is a grammar, and keeps the model from thinking', async () => {
  plan.template = HERMES;
  plan.writes = '{"a": 1}';
  const { model, grammars } = await loadNoting();
  const schema = { type: 'object', properties: { a: { type: 'number' } } };
  for (const [format, grammar] of [
    [{ type: 'text' }, undefined],
    [{ type: 'json_object' }, { json: true }],
    [{ type: 'json_schema', json_schema: { name: 'x', schema } }, { jsonSchema: schema }],
  ]) {
    const { choices } = await model.chat.completions.create({ messages: HI, response_format: format });
    assert.equal(choices[0].message.content, plan.writes);
    assert.deepEqual(grammars.at(-1), grammar);
    assert.deepEqual(seen.templates.at(-1).variables, grammar ? { enable_thinking: false } : {});
  }
  await model.chat.completions.create({ messages: HI, grammar: 'root ::= "a"' });
  assert.deepEqual(grammars.at(-1), { gbnf: 'root ::= "a"' });
});

test('a template without tools is told about them, and calls and results become text', async () => {
  plan.template = 'no such thing';
  plan.writes = CALL;
  const model = await load();
  const called = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"place": "Rome"}' } };
  const messages = [
    { role: 'developer', content: 'Be kind.' },
    ...HI,
    { role: 'assistant', content: null, tool_calls: [called, called] },
    { role: 'tool', tool_call_id: 'call_1', content: 'sun' },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'rain' }] },
  ];
  const { choices } = await model.chat.completions.create({ messages, tools: [WEATHER] });
  assert.equal(choices[0].message.tool_calls.length, 1);
  const [system, , assistant, result, ...more] = seen.templates[0].messages;
  assert.equal(more.length, 0);
  assert.match(system.content, /^Be kind\.\n\n# Tools\n.*"name":"get_weather".*<tool_call>/s);
  assert.deepEqual(assistant, { role: 'assistant', content: `${CALL}\n${CALL}` });
  assert.deepEqual(result, {
    role: 'user',
    content: '<tool_response>\nsun\n</tool_response>\n<tool_response>\nrain\n</tool_response>',
  });
});

test('a refusal among the parts of an answer is text', async () => {
  for (const template of [HERMES, 'no such thing']) {
    plan.template = template;
    const model = await load();
    seen.templates.length = 0;
    const content = [
      { type: 'text', text: 'No.' },
      { type: 'refusal', refusal: 'I will not.' },
    ];
    await model.chat.completions.create({ messages: [...HI, { role: 'assistant', content }, ...HI] });
    assert.equal(seen.templates[0].messages[1].content, 'No.\nI will not.');
    const called = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } };
    const messages = [...HI, { role: 'assistant', content, tool_calls: [called] }];
    await model.chat.completions.create({ messages: [...messages, { role: 'tool', tool_call_id: 'call_1', content }] });
    const [, answer, result] = seen.templates.at(-1).messages;
    assert.match(answer.content, /^No\.\nI will not\./);
    assert.match(result.content, /No\.\nI will not\./);
    await assert.rejects(
      model.chat.completions.create({ messages: [{ role: 'assistant', content: [{ type: 'refusal' }] }] }),
      withCode('invalid_argument', /content\[0\] must be .* found type 'refusal'/),
    );
  }
});

test('thoughts are reasoning_content, and counted', async () => {
  plan.template = HERMES;
  plan.writes = '<think>\nHm.\n</think>\n\nYes.';
  const model = await load();
  const { choices, usage } = await model.chat.completions.create({ messages: HI, reasoning_effort: 'high' });
  assert.deepEqual(choices[0].message, {
    role: 'assistant',
    content: 'Yes.',
    refusal: null,
    reasoning_content: 'Hm.',
  });
  assert.deepEqual(seen.templates[0].variables, { enable_thinking: true, thinking: true, reasoning_effort: 'high' });
  const { reasoning_tokens: thought } = usage.completion_tokens_details;
  assert.ok(thought >= 12 && thought <= 20, `${thought}`);
  await model.chat.completions.create({
    messages: HI,
    reasoning_effort: 'none',
    chat_template_kwargs: { enable_thinking: true, x: 1 },
  });
  assert.deepEqual(seen.templates[1].variables, {
    enable_thinking: true,
    thinking: false,
    reasoning_effort: 'low',
    x: 1,
  });
});

test('wrong requests are refused, with the field and what is right', async () => {
  const model = await load();
  const refused = (change, pattern) =>
    assert.rejects(
      model.chat.completions.create({ messages: HI, ...change }),
      withCode('invalid_argument', pattern),
      `${pattern}`,
    );
  await refused({ temprature: 1 }, /unknown field 'temprature', did you mean 'temperature'/);
  await refused({ maxTokens: 1 }, /unknown field 'maxTokens', did you mean 'max_tokens'/);
  await refused({ zzz: 1 }, /unknown field 'zzz'$/);
  await refused({ temperature: 3 }, /field 'temperature' must be a number from 0 to 2, found 3/);
  await refused({ temperature: '1' }, /found '1'/);
  await refused({ n: 0 }, /field 'n' must be an integer from 1 to 128, found 0/);
  await refused({ stop: [''] }, /field 'stop'/);
  await refused({ messages: undefined }, /field 'messages' is missing/);
  await refused({ messages: [] }, /at least one message/);
  await refused({ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, /found type 'image_url'/);
  for (const detail of ['huge', 1]) {
    const image = { type: 'image_url', image_url: { url: 'data:,', detail } };
    await refused(
      { messages: [{ role: 'user', content: [image] }] },
      /content\[0\]\.image_url\.detail must be 'auto', 'low' or 'high', found/,
    );
  }
  await refused({ messages: [null] }, /message 0 must be/);
  await refused({ tools: [{ type: 'function' }] }, /tools\[0\]/);
  await refused({ tool_choice: 'required' }, /'tools' is empty/);
  await refused({ tool_choice: 'always' }, /'tool_choice' must be 'none'/);
  await refused(
    { tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'x' } } },
    /names 'x'.*get_weather/,
  );
  const allowing = (mode, ...names) => ({
    type: 'allowed_tools',
    allowed_tools: { mode, tools: names.map((name) => ({ type: 'function', function: { name } })) },
  });
  await refused({ tools: [WEATHER], tool_choice: allowing('auto') }, /'tool_choice' must be { type: 'allowed_tools'/);
  await refused({ tools: [WEATHER], tool_choice: allowing('none', 'get_weather') }, /mode: 'auto' or 'required'/);
  await refused({ tools: [WEATHER], tool_choice: { type: 'allowed_tools' } }, /mode: 'auto' or 'required'/);
  await refused({ tools: [WEATHER], tool_choice: allowing('auto', 'get_weather', 'x') }, /names 'x'.*get_weather/);
  await refused({ response_format: { type: 'json' } }, /response_format' must be/);
  await refused({ top_logprobs: 3 }, /needs 'logprobs: true'/);
  await refused({ audio: {} }, /field 'audio' is not supported/);
  await assert.rejects(model.chat.completions.create(), withCode('invalid_argument', /expected an object/));
  await assert.rejects(
    model.chat.completions.create({ messages: HI }, { signal: 5 }),
    withCode('invalid_argument', /AbortSignal/),
  );
  assert.equal(seen.started.length, 0);
});

test('runTools calls functions of the page until the model answers', async () => {
  plan.template = HERMES;
  const model = await load();
  const seenInputs = [];
  const weather = {
    name: WEATHER.function.name,
    parameters: WEATHER.function.parameters,
    execute: (input) => {
      seenInputs.push(input);
      plan.writes = 'It is sunny.';
      return { sky: 'clear' };
    },
  };
  plan.writes = CALL;
  const conversation = [...HI];
  const { text, finishReason, messages } = await model.runTools(conversation, {
    tools: [weather],
    tool_choice: 'auto',
  });
  assert.deepEqual([text, finishReason, seenInputs.length], ['It is sunny.', 'stop', 1]);
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['assistant', 'tool', 'assistant'],
  );
  assert.equal(messages[1].content, '{"sky":"clear"}');
  assert.deepEqual(conversation, HI, 'the page keeps its own list');

  plan.writes = CALL;
  const tools = [{ ...weather, execute: () => Promise.reject(new Error('no network')) }];
  const limit = withCode('limit_exceeded', /wrote 3 times/);
  const before = seen.started.length;
  await assert.rejects(model.runTools(HI, { tools, maxRounds: 3 }), limit);
  assert.equal(seen.started.length - before, 3);
  assert.match(String.fromCharCode(...seen.started.at(-1).ids), /error: no network/);

  const controller = new AbortController();
  const stuck = { ...weather, execute: () => (controller.abort(), new Promise(() => {})) };
  await assert.rejects(model.runTools(HI, { tools: [stuck], signal: controller.signal }), isAbort);

  plan.writes = CALL;
  const cut = await model.runTools(HI, { tools: [stuck], max_completion_tokens: CALL.length - 3 });
  assert.equal(cut.finishReason, 'length', 'a call that is not whole is not made');

  plan.writes = CALL;
  const short = { messages: HI, tools: [WEATHER], max_completion_tokens: CALL.indexOf('weather') };
  const [{ message, finish_reason: reason }] = (await model.chat.completions.create(short)).choices;
  assert.deepEqual([reason, message.content, message.tool_calls], ['length', '', undefined], 'its sign is no text');

  const refused = (options, pattern) =>
    assert.rejects(model.runTools(HI, options), withCode('invalid_argument', pattern));
  await refused({ tools: [weather, weather] }, /'get_weather' is there twice/);
  await refused({ tools: [{ name: 'x' }] }, /'tools\[0\]' must be/);
  await refused({ tools: [weather], maxRounds: 0 }, /'maxRounds' must be an integer from 1 to 1000, found 0/);
  await refused({ tools: [weather], max_rounds: 2 }, /unknown field 'max_rounds'/);
});

test('fields that change nothing here are taken, and so are the ends of ranges', async () => {
  const model = await load();
  await model.chat.completions.create({
    messages: HI,
    max_tokens: 2,
    prompt_cache_key: 'k',
    prompt_cache_retention: '24h',
    safety_identifier: 'me',
    verbosity: 'low',
    modalities: ['text'],
    seed: -1,
    top_p: 0,
  });
  const { topP, seed } = seen.started[0].options;
  assert.ok(topP > 0 && topP < 1e-30, `top-p ${topP}`);
  assert.ok(Number.isInteger(seed) && seed >= 0, `seed ${seed}`);
  const sound = { messages: HI, modalities: ['text', 'audio'] };
  await assert.rejects(
    model.chat.completions.create(sound),
    withCode('invalid_argument', /'modalities' must be \['text'\]/),
  );
});

test('a stream that nobody reads leaves nothing at the signal', async () => {
  const model = await load();
  const { signal } = new AbortController();
  const counts = { addEventListener: 0, removeEventListener: 0 };
  for (const name of Object.keys(counts)) {
    const original = signal[name];
    signal[name] = function (...args) {
      counts[name] += 1;
      return original.apply(this, args);
    };
  }
  await model.chat.completions.create({ messages: HI, stream: true }, { signal });
  assert.equal(counts.addEventListener, counts.removeEventListener);
  await all(await model.chat.completions.create({ messages: HI, stream: true, max_tokens: 2 }, { signal }));
  assert.equal(counts.addEventListener, counts.removeEventListener);
  assert.ok(counts.addEventListener > 0);
});

test('a signal rejects an answer and a stream, which its controller ends quietly, and the model goes on', async () => {
  plan.writes = 'x'.repeat(1000);
  plan.tokenMs = 1;
  const model = await load();
  const early = AbortSignal.abort(new Error('mine'));
  await assert.rejects(model.chat.completions.create({ messages: HI }, { signal: early }), /mine/);
  const later = new AbortController();
  const answer = model.chat.completions.create({ messages: HI }, { signal: later.signal });
  setTimeout(() => later.abort(), 30);
  await assert.rejects(answer, { name: 'AbortError' });

  const stream = await model.chat.completions.create({ messages: HI, stream: true });
  let count = 0;
  for await (const _ of stream) if (++count === 5) stream.controller.abort();
  assert.equal(count, 5);
  const mine = new AbortController();
  const loop = async () => {
    for await (const _ of await model.chat.completions.create({ messages: HI, stream: true }, mine)) {
      if (++count === 9) mine.abort(new Error('enough'));
    }
  };
  await assert.rejects(loop(), /enough/);
  assert.equal(count, 9, 'no chunk came after the signal');
  for await (const _ of await model.chat.completions.create({ messages: HI, stream: true })) break;

  plan.writes = 'ok';
  const { choices } = await model.chat.completions.create({ messages: HI });
  assert.equal(choices[0].message.content, 'ok');
});

test('a stream is bytes, and two streams', async () => {
  plan.writes = 'ab';
  const model = await load();
  const create = () => model.chat.completions.create({ messages: HI, stream: true });
  const text = await new Response((await create()).toReadableStream()).text();
  const lines = text.trim().split('\n').map(JSON.parse);
  assert.equal(lines.map(({ choices: [{ delta }] }) => delta.content ?? '').join(''), 'ab');
  const [left, right] = (await create()).tee();
  const [a, b] = [await all(left), await all(right)];
  assert.deepEqual(a, b);
  assert.equal(a.length, 4);
});

test('embeddings are floats or base64', async () => {
  const model = await load();
  const { data, usage } = await model.embeddings.create({ input: ['ab', 'c'] });
  assert.deepEqual(data, [
    { object: 'embedding', index: 0, embedding: [3, 196] },
    { object: 'embedding', index: 1, embedding: [2, 100] },
  ]);
  assert.deepEqual(usage, { prompt_tokens: 5, total_tokens: 5 });
  const one = await model.embeddings.create({ input: [7, 8], encoding_format: 'base64', dimensions: 1 });
  assert.equal(one.data.length, 1);
  const bytes = Buffer.from(one.data[0].embedding, 'base64');
  assert.deepEqual([bytes.length, bytes.readFloatLE(0)], [4, 2]);
  await assert.rejects(model.embeddings.create({ inputs: 'a' }), withCode('invalid_argument', /did you mean 'input'/));
});

test('the fetch answers as an HTTP server does', async () => {
  plan.writes = 'Hello!';
  const model = await load();
  const fetch = webggufFetch({ model });
  const post = (path, body) => fetch(`http://webgguf${path}`, { method: 'POST', body: JSON.stringify(body) });
  const answer = await (await post('/v1/chat/completions', { messages: HI })).json();
  assert.equal(answer.choices[0].message.content, 'Hello!');
  const stream = await post('/chat/completions', { messages: HI, stream: true });
  assert.equal(stream.headers.get('content-type'), 'text/event-stream');
  const events = (await stream.text()).split('\n\n');
  assert.deepEqual(events.slice(-2), ['data: [DONE]', '']);
  assert.equal(JSON.parse(events[1].slice(6)).choices[0].delta.content, 'H');
  const { data } = await (await fetch('http://webgguf/models')).json();
  assert.equal(data[0].id, 'llama');
  assert.equal((await fetch('http://webgguf/models/llama')).status, 200);

  const wrong = await post('/chat/completions', { messages: HI, top_p: 7 });
  assert.equal(wrong.status, 400);
  const { error } = await wrong.json();
  assert.deepEqual([error.type, error.param, error.code], ['invalid_request_error', 'top_p', 'invalid_argument']);
  assert.equal((await fetch('http://webgguf/chat/completions', { method: 'POST', body: '{' })).status, 400);
  assert.equal((await fetch('http://webgguf/chat/completions')).status, 405);
  assert.equal((await post('/files', {})).status, 404);
  plan.contextLength = 3;
  const full = await post('/chat/completions', { messages: HI });
  assert.deepEqual([full.status, (await full.json()).error.code], [400, 'context_length_exceeded']);
  const failed = await post('/chat/completions', { messages: HI, stream: true });
  assert.deepEqual([failed.status, (await failed.json()).error.code], [400, 'context_length_exceeded']);
  plan.contextLength = undefined;
  const short = await post('/chat/completions', { messages: HI, max_tokens: 1, stream: true });
  assert.deepEqual([short.status, (await short.text()).split('\n\n').at(-2)], [200, 'data: [DONE]']);
  await assert.rejects(
    fetch('http://webgguf/models', { signal: AbortSignal.abort() }),
    ({ name }) => name === 'AbortError',
  );
});

test('a server answers where the model cannot, and the result says so', async () => {
  const requests = [];
  const chunk = (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\r\n\r\n`;
  const server = async (url, { body, headers, signal }) => {
    const request = JSON.parse(body);
    requests.push({ url, request, headers });
    signal?.throwIfAborted();
    if (request.user === 'wrong') return Response.json({ error: { message: 'no such user' } }, { status: 400 });
    if (request.user === 'down') throw new TypeError('failed');
    if (!request.stream) return Response.json({ id: 'x', choices: [{ message: { content: 'far' } }] });
    const bytes = new TextEncoder().encode(`: hi\n\n${chunk('f')}${chunk('ä')}data: [DONE]\n\n`);
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    return new Response(ReadableStream.from(pieces));
  };
  const error = new api.WebggufError('out_of_memory', 'too large');
  const fallback = { baseURL: 'https://example.com/v1/', model: 'theirs', apiKey: 'key', fetch: server };
  const ai = openai({ model: Promise.reject(error), fallback });
  const answer = await ai.chat.completions.create({ messages: HI, model: 'mine', top_k: 3 });
  assert.equal(answer.choices[0].message.content, 'far');
  assert.deepEqual(answer.webgguf, { backend: 'server', reason: { code: 'out_of_memory', message: 'too large' } });
  assert.deepEqual(requests[0].request, { messages: HI, model: 'theirs', top_k: 3 });
  assert.equal(requests[0].url, 'https://example.com/v1/chat/completions');
  assert.equal(requests[0].headers.authorization, 'Bearer key');
  await ai.chat.completions.create({ messages: HI, repetition_penalty: 1 });
  assert.equal(requests[1].request.repeat_penalty, 1);
  const chunks = await all(await ai.chat.completions.create({ messages: HI, stream: true }));
  assert.equal(chunks.map(({ choices: [{ delta }] }) => delta.content).join(''), 'fä');
  assert.ok(chunks.every(({ webgguf }) => webgguf.backend === 'server'));
  const create = (user) => ai.chat.completions.create({ messages: HI, user });
  await assert.rejects(create('wrong'), withCode('invalid_argument', /HTTP 400, no such user/));
  await assert.rejects(create('down'), withCode('download_failed', /example.com.*failed/));
  await assert.rejects(ai.chat.completions.create({ mesages: HI }), withCode('invalid_argument', /'messages'/));
  assert.equal((await (await ai.fetch('http://webgguf/models')).json()).data[0].id, 'theirs');

  const without = openai({ model: Promise.reject(error) });
  await assert.rejects(without.chat.completions.create({ messages: HI }), withCode('out_of_memory', /too large/));
  const broken = openai({ model: Promise.reject(new api.WebggufError('bad_file', 'broken')), fallback });
  await assert.rejects(broken.chat.completions.create({ messages: HI }), withCode('bad_file', /broken/));
  assert.throws(() => openai({ model: 'x' }), withCode('invalid_argument', /promise/));
});

test('an answer that was cut says so, and a cut call is none to make', async () => {
  plan.template = HERMES;
  plan.writes = `${CALL}\n${CALL}`;
  plan.tokenMs = 1;
  const model = await load();
  const stream = await model.chat.completions.create({ messages: HI, tools: [WEATHER], stream: true });
  const chunks = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
    if (chunk.choices[0]?.delta.tool_calls?.[0]?.function.arguments === '{') model.stop();
  }
  assert.equal(chunks.at(-1).choices[0].finish_reason, 'abort');
  plan.writes = 'x'.repeat(500);
  const before = seen.nexts;
  const answer = model.chat.completions.create({ messages: HI });
  while (seen.nexts < before + 40) await new Promise((resolve) => setTimeout(resolve, 1));
  model.stop();
  assert.equal((await answer).choices[0].finish_reason, 'abort');
});

test('an answer that was cut in its thoughts can be sent back', async () => {
  plan.template = HERMES;
  plan.writes = '<think>Well, then';
  const model = await load();
  const { choices } = await model.chat.completions.create({ messages: HI, max_tokens: 12 });
  const [{ message }] = choices;
  assert.equal(message.content, null);
  assert.equal(message.reasoning_content, 'Well,');
  await model.chat.completions.create({ messages: [...HI, message, ...HI] });
  await assert.rejects(
    model.chat.completions.create({ messages: [{ role: 'user', content: null }] }),
    withCode('invalid_argument'),
  );
});

test('references of a tool that is required begin at its own schema', async () => {
  plan.template = HERMES;
  plan.writes = '}';
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
  const parameters = { type: 'object', properties: { first: { $ref: '#/$defs/node' } }, $defs: { node } };
  const tree = { type: 'function', function: { name: 'tree', parameters } };
  const model = await load();
  const { generate } = model;
  let schema;
  model.generate = (prompt, { grammar, ...options }) => {
    schema = grammar.jsonSchema;
    return generate.call(model, prompt, options);
  };
  await model.chat.completions.create({ messages: HI, tools: [WEATHER, tree], tool_choice: 'required' });
  const at = (reference) =>
    reference
      .slice(2)
      .split('/')
      .reduce((value, name) => value[name], schema);
  const [, called] = (schema.items ?? schema).anyOf;
  const moved = at(called.properties.arguments.$ref);
  assert.deepEqual(Object.keys(moved.properties), ['first']);
  assert.deepEqual(Object.keys(at(moved.properties.first.$ref).properties), ['next']);
  assert.equal(at(moved.properties.first.$ref).properties.next.$ref, moved.properties.first.$ref);
});

test('a family is found in a long template in one look', async () => {
  const { familyOf } = await import(`${dist}openai/families.js`);
  // A search that began again at each sign would take 10^11 steps.
  const { format } = familyOf('[TOOL_CALLS]'.repeat(400_000));
  assert.equal(format, familyOf('[TOOL_CALLS]').format);
  assert.notEqual(familyOf('[TOOL_CALLS][ARGS]').format, format);
  assert.equal(familyOf('[ARGS][TOOL_CALLS]').format, format);
});

test('what a server does wrong is an error with a code, and nothing leaves for elsewhere', async () => {
  const sent = [];
  const answers = { body: '', url: 'https://me:secret@example.com/v1?key=secret' };
  const ask = (request, { baseURL = answers.url, apiKey, code = 'out_of_memory' } = {}) => {
    const send = async (_, init) => {
      sent.push(init);
      return new Response(answers.body);
    };
    const model = Promise.reject(new api.WebggufError(code, 'no'));
    const fallback = { baseURL, model: 'theirs', apiKey, fetch: answers.fetch ?? send };
    return openai({ model, fallback }).chat.completions.create({ messages: HI, ...request });
  };
  answers.body = '<!doctype html>';
  await assert.rejects(ask({}), withCode('download_failed', /no JSON/));
  const event = (reason) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })}\n\n`;
  for (const [body, pattern] of [
    ['<!doctype html>', /ended before/],
    [event(null), /ended before/],
    ['data: {"choices\n\n', /no JSON/],
    ['data: {"error":{"message":"busy"}}\n\n', /busy/],
  ]) {
    answers.body = body;
    await assert.rejects(ask({ stream: true }).then(all), withCode('download_failed', pattern));
  }
  answers.body = event('stop');
  assert.equal((await all(await ask({ stream: true }))).length, 1);
  assert.ok(sent.every(({ redirect }) => redirect === 'error'));
  answers.fetch = async () => {
    throw new TypeError('failed');
  };
  const isQuiet = (error) => error.code === 'download_failed' && !error.message.includes('secret');
  await assert.rejects(ask({}), isQuiet);
  const count = sent.length;
  await assert.rejects(ask({}, { apiKey: 'sk-\nSECRET' }), (error) => {
    return error.code === 'invalid_argument' && !error.message.includes('SECRET');
  });
  await assert.rejects(ask({}, { code: 'unsupported_quant' }), withCode('unsupported_quant'));
  assert.equal(sent.length, count);
});
