// The W3C's Prompt API over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, seen } from './api.mjs';

const { languageModel } = await import(`${dist}prompt-api/index.js`);
const { DownloadReporter } = await import(`${dist}prompt-api/monitor.js`);
const { regexText } = await import(`${dist}prompt-api/regex.js`);
await api.init({ wasm: new Uint8Array(8) });

const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a place',
  inputSchema: { type: 'object', properties: { place: { type: 'string' } } },
};
const CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"place": "Rome"}}\n</tool_call>';

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, window: 10000, tokenMs: 0, writes: 'Hello!' });
});

/** A class over a model, and what it was told. */
async function classOf(options = {}) {
  const model = await api.WasmModel.load(Uint8Array.of(1));
  return { model, LanguageModel: languageModel({ model, ...options }) };
}

const create = async (options) => (await classOf()).LanguageModel.create(options);

/** A model whose grammars are noted rather than followed: the mock has none. */
async function classNoting() {
  const { model, LanguageModel } = await classOf();
  const grammars = [];
  const { session } = model;
  model.session = (...args) => {
    const made = session.apply(model, args);
    const { complete } = made;
    made.complete = (prompt, { grammar, ...rest }, prefix) => {
      grammars.push({ grammar, prefix, prompt });
      return complete.call(made, prompt, rest);
    };
    return made;
  };
  return { grammars, LanguageModel };
}

const rejectsWith = (promise, name, pattern = /./) =>
  assert.rejects(promise, (error) => {
    assert.equal(error?.name, name, String(error?.stack ?? error));
    assert.match(error.message, pattern);
    return true;
  });

const isDom = (name, pattern) => (promise) => rejectsWith(promise, name, pattern);

async function textOf(stream) {
  let text = '';
  for await (const piece of stream) text += piece;
  return text;
}

/** The last conversation that a template was given. */
const lastMessages = () => seen.templates.at(-1).messages.map(({ role, content }) => [role, content]);

test('a prompt is answered, whole or as a stream of new text', async () => {
  const session = await create();
  assert.equal(await session.prompt('Hi'), 'Hello!');
  const stream = session.promptStreaming('More');
  assert.ok(stream instanceof ReadableStream);
  const reader = stream.getReader();
  assert.deepEqual(await reader.read(), { done: false, value: 'H' });
  reader.releaseLock();
  assert.equal(await textOf(stream), 'ello!');
  assert.equal(
    await session.prompt([
      {
        role: 'user',
        content: [
          { type: 'text', value: 'a' },
          { type: 'text', value: 'b' },
        ],
      },
    ]),
    'Hello!',
  );
  assert.deepEqual(lastMessages(), [
    ['user', 'Hi'],
    ['assistant', 'Hello!'],
    ['user', 'More'],
    ['assistant', 'Hello!'],
    ['user', 'ab'],
    ['assistant', 'Hello!'],
  ]);
});

test('the class: instances, parameters, and no constructor for pages', async () => {
  const { LanguageModel } = await classOf();
  const session = await LanguageModel.create();
  assert.ok(session instanceof LanguageModel && session instanceof EventTarget);
  assert.throws(() => new LanguageModel(), TypeError);
  assert.deepEqual(await LanguageModel.params(), {
    defaultTopK: 40,
    maxTopK: 128,
    defaultTemperature: 0.8,
    maxTemperature: 2,
  });
  assert.equal(session.contextWindow, 10000);
  assert.equal(session.contextUsage, 0);
  assert.equal(session.oncontextoverflow, null);
  assert.equal((await languageModel({ model: Promise.reject(new Error('x')) }).params()).maxTopK, 128);
});

test('sampling: modes, numbers, and what is wrong with them', async () => {
  const { LanguageModel } = await classOf();
  const sampled = async (options) => {
    const session = await LanguageModel.create(options);
    await session.prompt('Hi');
    const { temperature, topK, minP } = seen.started.at(-1).options;
    return [session.samplingMode, temperature, topK, minP];
  };
  assert.deepEqual(await sampled(), ['balanced', 0.8, 40, 0.05]);
  assert.deepEqual(await sampled({ samplingMode: 'most-predictable' }), ['most-predictable', 0, 1, 0.05]);
  assert.deepEqual(await sampled({ samplingMode: 'most-creative' }), ['most-creative', 1.3, 128, 0.05]);
  assert.deepEqual(await sampled({ topK: 3.7, temperature: 0.5 }), [null, 0.5, 3, 0.05]);
  assert.deepEqual(await sampled({ topK: Infinity, temperature: 9 }), [null, 2, 128, 0.05]);
  await rejectsWith(LanguageModel.create({ samplingMode: 'wild' }), 'TypeError', /'most-creative', found 'wild'/);
  await rejectsWith(LanguageModel.create({ samplingMode: 'balanced', topK: 3 }), 'TypeError');
  await rejectsWith(LanguageModel.create({ topK: 0 }), 'RangeError');
  await rejectsWith(LanguageModel.create({ temperature: -1 }), 'RangeError');
});

test('initial prompts are read at once and count; a system prompt comes first or not at all', async () => {
  const initialPrompts = [{ role: 'system', content: 'Be brief.' }];
  const session = await create({ initialPrompts });
  assert.equal(seen.started.length, 1, 'read ahead');
  assert.equal(seen.started[0].options.maxTokens, 1);
  assert.ok(session.contextUsage > 0);
  assert.equal(await session.measureContextUsage(initialPrompts), session.contextUsage);
  await session.prompt('Hi');
  assert.deepEqual(lastMessages().slice(0, 2), [
    ['system', 'Be brief.'],
    ['user', 'Hi'],
  ]);
  await rejectsWith(session.prompt(initialPrompts), 'TypeError', /first/);
  await rejectsWith(session.append(initialPrompts), 'TypeError', /first/);
  await rejectsWith(session.prompt([{ role: 'user', content: 'a' }, ...initialPrompts]), 'TypeError');
  await rejectsWith(create({ initialPrompts: [...initialPrompts, ...initialPrompts] }), 'TypeError');
  plan.window = 10;
  await assert.rejects(create({ initialPrompts }), (error) => {
    assert.deepEqual([error.name, error.requested, error.quota], ['QuotaExceededError', 18, 10]);
    return error instanceof DOMException;
  });
});

test('append reads ahead and adds; usage is what was measured', async () => {
  const session = await create();
  const usage = await session.measureContextUsage('A document.');
  assert.equal(session.contextUsage, 0);
  assert.equal(await session.append('A document.'), undefined);
  assert.equal(session.contextUsage, usage);
  assert.equal(seen.started.length, 1);
  await session.append([]);
  assert.equal(session.contextUsage, usage);
  await session.append({});
  const { contextUsage } = session;
  assert.ok(contextUsage > usage);
  assert.deepEqual(lastMessages().at(-1), ['user', '[object Object]']);
  const more = await session.measureContextUsage('Sum it up.');
  await session.prompt('Sum it up.');
  assert.equal(session.contextUsage, contextUsage + more + '<assistant>Hello!'.length);
});

test('messages that a template refuses are put in another form', async () => {
  const { model, LanguageModel } = await classOf();
  const session = await LanguageModel.create({ initialPrompts: [{ role: 'system', content: 'S' }] });
  const { textWithMarks } = model;
  model.textWithMarks = async (messages, options) => {
    const roles = messages.map(({ role }) => role).join(' ');
    if (/system|user user/.test(roles)) throw new api.WebggufError('invalid_argument', roles);
    return textWithMarks.call(model, messages, options);
  };
  await session.append('one');
  await session.prompt('two');
  assert.deepEqual(lastMessages()[0], ['user', 'S\n\none\n\ntwo']);
});

test('a prefix begins the answer, and only what follows is the result', async () => {
  const { grammars, LanguageModel } = await classNoting();
  const session = await LanguageModel.create();
  const prefix = (content) => [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content, prefix: true },
  ];
  plan.writes = ' and so on';
  assert.equal(await session.prompt(prefix('First. ')), ' and so on');
  assert.ok(grammars[0].prompt.endsWith('First. '), grammars[0].prompt);
  assert.deepEqual(lastMessages().at(-1), ['assistant', 'First.  and so on']);
  plan.template = '<think>';
  assert.equal(await textOf(session.promptStreaming(prefix('  \n{'))), ' and so on');
  plan.writes = '4}';
  const schema = { type: 'object' };
  assert.equal(await session.prompt(prefix('{"a": '), { responseConstraint: schema }), '4}');
  assert.deepEqual([grammars.at(-1).prefix, grammars.at(-1).grammar], ['{"a": ', { jsonSchema: '{"type":"object"}' }]);
  const wrong = isDom('SyntaxError', /prefix/);
  await wrong(session.prompt([{ role: 'user', content: 'a', prefix: true }]));
  await wrong(session.prompt([...prefix('x'), { role: 'user', content: 'b' }]));
});

test('constraints: JSON Schemas and regular expressions, of which the model is told', async () => {
  const { grammars, LanguageModel } = await classNoting();
  const session = await LanguageModel.create();
  const responseConstraint = { type: 'boolean' };
  await session.prompt('Is it?', { responseConstraint });
  assert.deepEqual(grammars[0].grammar, { jsonSchema: '{"type":"boolean"}' });
  assert.match(lastMessages()[0][1], /^Is it\?\n\n.*\{"type":"boolean"\}$/);
  const options = { responseConstraint: /^\d+$/, omitResponseConstraintInput: true };
  await session.prompt('How many?', options);
  assert.deepEqual(grammars[1].grammar, { regex: '[0-9]+' });
  assert.deepEqual(lastMessages().at(-2), ['user', 'How many?']);
  const told = await session.measureContextUsage('How many?', { responseConstraint: /^\d+$/ });
  assert.ok(told > (await session.measureContextUsage('How many?', options)));
  const round = {};
  round.self = round;
  await rejectsWith(session.prompt('x', { responseConstraint: round }), 'NotSupportedError');
  await rejectsWith(session.prompt('x', { responseConstraint: 'x' }), 'TypeError');
  await rejectsWith(session.prompt('x', { omitResponseConstraintInput: true }), 'TypeError');
  await rejectsWith(session.measureContextUsage('x', { omitResponseConstraintInput: true }), 'TypeError');
});

test('regular expressions of JavaScript become those of the grammar', () => {
  const cases = [
    [/hello/, 'hello'],
    [/^a|b$/i, '(?i)a|b'],
    [/^(?:^x$)\$\^$/, '(?:^x$)\\$\\^'],
    [/[\d\-.]\w\D[\W][^]/s, '(?s)[0-9\\-.][0-9A-Za-z_][^0-9][[^0-9A-Za-z_]](?s:.)'],
    [/a\/b[[&]/, 'a/b[\\[\\&]'],
    [/[\w-.][.-\d]/, '[0-9A-Za-z_\\-.][.\\-0-9]'],
    // An anchor behind a sign that only looks like the border of an alternative stays: nothing matches it.
    [/a\|^b/, 'a\\|^b'],
    [/a\\|^b/, 'a\\\\|b'],
    [/[|]^b|^c/, '[|]^b|c'],
    [/a$\|b/, 'a$\\|b'],
    [/\u00e9\u{1F600}/u, '\\u00e9\\u{1F600}'],
  ];
  for (const [regex, text] of cases) assert.equal(regexText(regex), text, String(regex));
  for (const regex of [/(?=a)/, /(?<!a)b/, /(a)\1/, /(?<n>a)\k<n>/, /[a--b]/v]) {
    assert.throws(() => regexText(regex), { name: 'NotSupportedError' }, String(regex));
  }
  assert.equal(regexText(/\(?=a/), '\\(?=a');
});

test('tools are called, all of a turn at once, until the model answers', async () => {
  plan.template = '{{ tools }} <tool_call> tool_calls <think>';
  plan.writes = `<think>Hm.</think>Let me see.\n${CALL}\n${CALL}`;
  const places = [];
  let open = 0;
  const execute = async ({ place }) => {
    places.push([place, (open += 1)]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    plan.writes = 'Sunny.';
    return 'sun';
  };
  const session = await create({ tools: [{ ...WEATHER, execute }], expectedOutputs: [{ type: 'tool-call' }] });
  assert.equal(await session.prompt('Weather?'), 'Let me see.Sunny.');
  assert.deepEqual(places, [
    ['Rome', 1],
    ['Rome', 2],
  ]);
  const { messages, tools } = seen.templates.at(-1);
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'tool', 'assistant'],
  );
  assert.deepEqual([messages[2].content, messages[2].name], ['sun', 'get_weather']);
  assert.equal(tools[0].function.name, 'get_weather');
});

test('a tool that throws, or that is not there, is told to the model; an endless loop ends', async () => {
  plan.template = '{{ tools }} <tool_call> tool_calls';
  plan.writes = `${CALL}\n${CALL.replace('get_weather', 'get_time')}`;
  const execute = () => {
    plan.writes = 'Sorry.';
    throw new Error('no network');
  };
  const session = await create({ tools: [{ ...WEATHER, execute }] });
  assert.equal(await session.prompt('Weather?'), 'Sorry.');
  const results = seen.templates.at(-1).messages.filter(({ role }) => role === 'tool');
  assert.deepEqual(
    results.map(({ content }) => content),
    ['error: no network', "error: there is no tool 'get_time', only get_weather"],
  );
  plan.writes = CALL;
  const endless = await create({ tools: [{ ...WEATHER, execute: () => 'again' }] });
  await rejectsWith(endless.prompt('Weather?'), 'OperationError', /32 times/);
  assert.equal(endless.contextUsage, 0, 'the conversation is as it was');
});

test('an abort does not wait for a tool', async () => {
  plan.template = '{{ tools }} <tool_call> tool_calls';
  plan.writes = CALL;
  const controller = new AbortController();
  const execute = () => {
    setTimeout(() => controller.abort());
    return new Promise(() => {});
  };
  const session = await create({ tools: [{ ...WEATHER, execute }] });
  await rejectsWith(session.prompt('Weather?', { signal: controller.signal }), 'AbortError');
  plan.writes = 'Hello!';
  assert.equal(await session.prompt('Hi'), 'Hello!');
});

test('a load goes on as long as someone waits for it', async () => {
  plan.compileMs = 40;
  const LanguageModel = languageModel({ model: new Blob([new Uint8Array(9)]) });
  const [one, two] = [new AbortController(), new AbortController()];
  const creating = [one, two].map(({ signal }) => LanguageModel.create({ signal }));
  while (seen.reads === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  one.abort();
  await rejectsWith(creating[0], 'AbortError');
  assert.equal(await LanguageModel.availability(), 'downloading');
  two.abort();
  await rejectsWith(creating[1], 'AbortError');
  assert.equal(await LanguageModel.availability(), 'available', 'nothing is loading: a file');
  const [third, fourth] = [new AbortController(), LanguageModel.create()];
  const left = LanguageModel.create({ signal: third.signal });
  third.abort();
  await rejectsWith(left, 'AbortError');
  assert.equal(await (await fourth).prompt('Hi'), 'Hello!');
  assert.equal(seen.loads.length, 1, 'the first load was ended');
});

test('tools and a constraint: first the tools, then the constraint', async () => {
  const { grammars, LanguageModel } = await classNoting();
  plan.template = '{{ tools }} <tool_call> tool_calls';
  plan.writes = CALL;
  const execute = () => {
    plan.writes = 'true';
    return 'sun';
  };
  const session = await LanguageModel.create({ tools: [{ ...WEATHER, execute }] });
  assert.equal(await session.prompt('Sun?', { responseConstraint: { type: 'boolean' } }), 'true');
  assert.deepEqual(
    grammars.map(({ grammar }) => (grammar.lark ? 'calls or text' : grammar)),
    ['calls or text', 'calls or text', { jsonSchema: '{"type":"boolean"}' }],
  );
});

test('wrong tools are refused', async () => {
  const execute = () => '';
  const good = { ...WEATHER, execute };
  const round = { type: 'object' };
  round.self = round;
  const wrong = [
    [good, good],
    [{ ...good, name: '' }],
    [{ ...good, description: '' }],
    [{ ...good, execute: undefined }],
    [{ ...good, inputSchema: null }],
    [{ ...good, inputSchema: {} }],
    [{ ...good, inputSchema: { type: 'object', properties: 'x' } }],
    [{ ...good, inputSchema: { type: 'object', required: 'x' } }],
    [{ ...good, inputSchema: round }],
  ];
  for (const tools of wrong) await rejectsWith(create({ tools }), 'TypeError');
});

test('a full context: the oldest turns go, initial prompts stay, and an event says so', async () => {
  plan.window = 120;
  plan.writes = 'x'.repeat(20);
  const session = await create({ initialPrompts: [{ role: 'system', content: 'S' }] });
  const events = [];
  session.oncontextoverflow = ({ type }) => events.push(type);
  session.addEventListener('contextoverflow', () => events.push('listener'));
  await session.prompt('first');
  assert.deepEqual(events, []);
  await session.prompt('second'); // 9 + 11 + 31 + 12, and 30 of room
  await session.prompt('third');
  assert.deepEqual(events, ['contextoverflow', 'listener']);
  assert.deepEqual(
    lastMessages().map(([, content]) => content),
    ['S', 'second', plan.writes, 'third', plan.writes],
  );
  const long = 'y'.repeat(200);
  const { contextUsage } = session;
  const requested = 9 + (await session.measureContextUsage(long)) + 0;
  await assert.rejects(session.prompt(long), (error) => {
    assert.ok(error instanceof DOMException);
    assert.deepEqual([error.name, error.quota], ['QuotaExceededError', 120]);
    assert.ok(Math.abs(error.requested - requested) <= 1, `${error.requested}`);
    return true;
  });
  assert.equal(session.contextUsage, contextUsage, 'nothing was removed');
  assert.equal(events.length, 2);
  session.oncontextoverflow = 'nothing';
  assert.equal(session.oncontextoverflow, null);
});

test('a prompt that ends early, or fails, drops nothing of a full conversation', async () => {
  plan.window = 120;
  plan.writes = 'x'.repeat(20);
  const session = await create();
  const events = [];
  session.oncontextoverflow = ({ type }) => events.push(type);
  await session.prompt('first');
  await session.prompt('second');
  const told = async () => (await session.measureContextUsage('x')) + session.contextUsage;
  const before = [session.contextUsage, await told()];
  plan.tokenMs = 2;
  for (const end of ['abort', 'cancel', 'fail']) {
    const controller = new AbortController();
    if (end === 'abort') {
      const promise = session.prompt('a third one', { signal: controller.signal });
      setTimeout(() => controller.abort(), 10);
      await rejectsWith(promise, 'AbortError');
    } else if (end === 'cancel') {
      const reader = session.promptStreaming('a third one').getReader();
      await reader.read();
      await reader.cancel();
    } else {
      plan.nextFails = { code: 'out_of_memory', message: 'gone' };
      await assert.rejects(session.prompt('a third one'));
      delete plan.nextFails;
    }
    assert.deepEqual([session.contextUsage, await told()], before, end);
    assert.deepEqual(events, [], end);
  }
  plan.tokenMs = 0;
  await session.prompt('a third one');
  assert.deepEqual(events, ['contextoverflow'], 'once there is an answer');
  assert.ok(session.contextUsage <= session.contextWindow);
});

test('contextUsage is never more than contextWindow, and the last turn stays', async () => {
  plan.window = 60;
  for (const length of [20, 30, 45, 80]) {
    plan.writes = 'x'.repeat(length);
    const session = await create({ initialPrompts: [{ role: 'system', content: 'S' }] });
    for (const text of ['one', 'two', 'three']) {
      const answer = await session.prompt(text);
      assert.ok(session.contextUsage <= session.contextWindow, `${length}: ${session.contextUsage}`);
      await session.prompt('?');
      assert.ok(lastMessages().some(([role, content]) => role === 'assistant' && content === answer));
    }
    await session.append('y'.repeat(10));
    assert.ok(session.contextUsage <= session.contextWindow);
  }
});

test('abort: the reason comes, the conversation stays, and the session goes on', async () => {
  const session = await create();
  plan.tokenMs = 2;
  plan.writes = 'x'.repeat(500);
  const controller = new AbortController();
  const promise = session.prompt('Hi', { signal: controller.signal });
  const queued = session.prompt('Hi', { signal: controller.signal });
  setTimeout(() => controller.abort(), 10);
  await rejectsWith(promise, 'AbortError');
  await rejectsWith(queued, 'AbortError');
  await rejectsWith(session.prompt('Hi', { signal: controller.signal }), 'AbortError');
  await rejectsWith(session.measureContextUsage('Hi', { signal: controller.signal }), 'AbortError');
  assert.throws(() => session.promptStreaming('Hi', { signal: controller.signal }), { name: 'AbortError' });
  assert.equal(session.contextUsage, 0);
  const reason = new Error('mine');
  const other = new AbortController();
  const stream = session.promptStreaming('Hi', { signal: other.signal });
  other.abort(reason);
  await assert.rejects(textOf(stream), (error) => error === reason);
  const left = session.promptStreaming('Hi').getReader();
  await left.read();
  await left.cancel();
  plan.writes = 'Hello!';
  plan.tokenMs = 0;
  assert.equal(await session.prompt('Hi'), 'Hello!');
  assert.deepEqual(lastMessages(), [
    ['user', 'Hi'],
    ['assistant', 'Hello!'],
  ]);
});

test('destroy ends what runs and what comes, and frees the cache', async () => {
  const session = await create();
  await session.prompt('Hi');
  plan.tokenMs = 2;
  plan.writes = 'x'.repeat(500);
  const running = [session.prompt('a'), session.append('b'), session.clone(), textOf(session.promptStreaming('c'))];
  session.destroy();
  session.destroy();
  for (const promise of running) await rejectsWith(promise, 'AbortError', /destroyed/);
  await rejectsWith(session.prompt('Hi'), 'AbortError');
  await rejectsWith(session.clone(), 'AbortError');
  assert.throws(() => session.promptStreaming('Hi'), { name: 'AbortError' });
  assert.ok(session.contextUsage > 0);
  while (seen.freed === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(seen.freed, 1);
});

test('a clone goes on by itself, with the cache', async () => {
  const session = await create({ samplingMode: 'creative' });
  await session.prompt('Hi');
  const clone = await session.clone();
  assert.deepEqual([clone.contextUsage, clone.samplingMode], [session.contextUsage, 'creative']);
  assert.equal(clone.constructor, session.constructor);
  assert.deepEqual(seen.others, [false, true]);
  await clone.prompt('More');
  assert.ok(clone.contextUsage > session.contextUsage);
  const aborted = AbortSignal.abort();
  await rejectsWith(session.clone({ signal: aborted }), 'AbortError');
});

test('what a model cannot do is unavailable; what is no such option is refused', async () => {
  const { LanguageModel } = await classOf();
  const text = { type: 'text', languages: ['EN', 'pt-BR'] };
  assert.equal(await LanguageModel.availability(), 'available');
  const fine = { expectedInputs: [text, { type: 'tool-response' }], expectedOutputs: [text], tools: [] };
  assert.equal(await LanguageModel.availability(fine), 'available');
  for (const options of [
    { expectedInputs: [{ type: 'image' }] },
    { expectedInputs: [{ type: 'audio' }] },
    { expectedOutputs: [{ type: 'audio' }] },
    { expectedInputs: [{ type: 'text', languages: ['unk'] }] },
  ]) {
    assert.equal(await LanguageModel.availability(options), 'unavailable');
    await rejectsWith(LanguageModel.create(options), 'NotSupportedError');
  }
  await rejectsWith(LanguageModel.availability({ expectedInputs: [{ type: 'soup' }] }), 'TypeError');
  const invalid = { expectedInputs: [{ type: 'text', languages: ['en-abc-invalid'] }] };
  await rejectsWith(LanguageModel.create(invalid), 'RangeError');
  const session = await LanguageModel.create();
  const image = [{ role: 'user', content: [{ type: 'image', value: new Uint8Array(1) }] }];
  await rejectsWith(session.prompt(image), 'NotSupportedError', /image/);
  const sound = [{ role: 'user', content: [{ type: 'audio', value: new Uint8Array(1) }] }];
  await rejectsWith(session.prompt(sound), 'NotSupportedError', /expectedInputs: \[\{ type: 'audio' \}\]/);
  await rejectsWith(session.prompt([{ role: 'user', content: [{ type: 'text', value: 5 }] }]), 'TypeError');
  await rejectsWith(session.prompt([{ role: 'robot', content: 'x' }]), 'TypeError');
  await rejectsWith(textOf(session.promptStreaming([{ role: 'robot', content: 'x' }])), 'TypeError');
});

test('one load for all sessions; progress from 0 to 1; a load that nobody waits for ends', async () => {
  plan.compileMs = 50;
  const LanguageModel = languageModel({ model: [new Blob([new Uint8Array(3 << 20)])] });
  const events = [];
  const monitor = (target) => {
    target.ondownloadprogress = ({ loaded, total }) => events.push([loaded, total]);
  };
  const creating = LanguageModel.create({ monitor });
  assert.equal(await LanguageModel.availability(), 'available', 'a file');
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(await LanguageModel.availability(), 'downloading');
  const [one, two] = await Promise.all([creating, LanguageModel.create()]);
  assert.equal(seen.loads.length, 1);
  assert.notEqual(one, two);
  const loaded = events.map(([each]) => each);
  assert.deepEqual([loaded[0], loaded.at(-1)], [0, 1]);
  assert.ok(loaded.length > 2, loaded.join());
  assert.ok(
    loaded.every((each, i) => (each * 65536) % 1 === 0 && (i === 0 || each > loaded[i - 1])),
    loaded.join(),
  );
  await LanguageModel.free();
  await rejectsWith(one.prompt('Hi'), 'NotSupportedError', /freed/);
  const mine = new Error('mine');
  for (const at of [0, 1]) {
    const controller = new AbortController();
    const stops = (target) =>
      target.addEventListener('downloadprogress', (event) => event.loaded === at && controller.abort(mine));
    const creating = LanguageModel.create({ monitor: stops, signal: controller.signal });
    await assert.rejects(creating, (error) => error === mine);
  }
  const thrown = new Error('thrown');
  const throws = () => {
    throw thrown;
  };
  await assert.rejects(LanguageModel.create({ monitor: throws }), (error) => error === thrown);
  assert.ok(await LanguageModel.create(), 'a load that ended is begun again');
});

test('downloadprogress: each value once, for each listener once, and none after the end', async () => {
  const heard = { attribute: [], listener: [] };
  const reporter = new DownloadReporter((monitor) => {
    monitor.ondownloadprogress = () => assert.fail('it was replaced');
    monitor.ondownloadprogress = ({ loaded }) => heard.attribute.push(loaded);
    monitor.addEventListener('downloadprogress', ({ loaded }) => heard.listener.push(loaded));
  });
  const download = (fraction) => reporter.onProgress({ stage: 'download', loaded: 0, fraction });
  reporter.report(0);
  for (const fraction of [0, 0.5, 0.5, 0.5 + 1e-6, 0.25, 1, 1]) download(fraction);
  reporter.onProgress({ stage: 'ready', loaded: 0, fraction: 1 });
  reporter.report(1);
  reporter.report(1);
  assert.deepEqual(heard.attribute, [0, 0.5, 65535 / 65536, 1]);
  assert.deepEqual(heard.listener, heard.attribute);
  const aborted = new DownloadReporter((monitor) => {
    monitor.ondownloadprogress = () => assert.fail('it is closed');
  });
  aborted.close();
  aborted.report(0.5);
});

test('failures of webgguf have names of the DOM; the signal of create destroys the session', async () => {
  plan.loadFails = Object.assign(new Error('no room'), { code: 'out_of_memory' });
  const LanguageModel = languageModel({ model: new Blob([new Uint8Array(9)]) });
  await assert.rejects(LanguageModel.create(), (error) => {
    assert.deepEqual([error.name, error.cause.code], ['OperationError', 'out_of_memory']);
    return error instanceof DOMException;
  });
  delete plan.loadFails;
  const controller = new AbortController();
  const session = await LanguageModel.create({ signal: controller.signal });
  const reason = new Error('mine');
  const running = session.prompt('Hi');
  controller.abort(reason);
  await assert.rejects(running, (error) => error === reason);
  await assert.rejects(session.prompt('Hi'), (error) => error === reason);
});
