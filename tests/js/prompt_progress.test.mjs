// How far a prompt is read is told wherever a prompt is given, and `enableThinking` reaches the template there.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { createWebgguf } from '../../dist/ai-sdk/index.js';
import { chatText } from '../../dist/engine/chat-text.js';
import { WasmModel } from '../../dist/index.js';
import { languageModel } from '../../dist/prompt-api/index.js';
import { ChatStore } from '../../dist/ui/chat.js';
import { blob, expectationsOf, FIXTURES, open } from './encoders.mjs';
import { soundOf } from './sounds.mjs';

const long = Array.from({ length: 40 }, (_, at) => `word ${at}`).join(' ');
const load = (options) =>
  WasmModel.load(blob(path.join(FIXTURES, 'models', 'lfm2-bf16.gguf')), { backend: 'cpu', ...options });

/** What `work` told, and what it gives. */
async function heard(work) {
  const reports = [];
  const result = await work((progress) => reports.push(progress));
  return { reports, result };
}

/** From what was known to all, in steps, and never back. */
function assertRead(reports, total, known = 0) {
  assert.ok(reports.length >= 2, JSON.stringify(reports));
  assert.deepEqual(reports[0], { stage: 'prefill', loaded: known, total, fraction: known / total });
  assert.deepEqual(reports.at(-1), { stage: 'prefill', loaded: total, total, fraction: 1 });
  reports.reduce((before, report) => {
    assert.ok(report.loaded > before && report.total === total, JSON.stringify(reports));
    return report.loaded;
  }, known - 1);
}

test('generate and sessions tell what is read, in order; what was read is not told again', async () => {
  const model = await load();
  const first = await heard(async (onProgress) => {
    const seen = [];
    const run = model.generate(long, {
      maxTokens: 3,
      ignoreEos: true,
      onProgress: (it) => (onProgress(it), seen.push(it.loaded)),
    });
    for await (const { text } of run) seen.push(text);
    return { usage: (await run).usage, seen };
  });
  const { promptTokens } = first.result.usage;
  assertRead(first.reports, promptTokens);
  assert.ok(first.reports.length > 3, `${first.reports.length} reports for ${promptTokens} tokens`);
  const isText = first.result.seen.map((one) => typeof one === 'string');
  assert.deepEqual(isText, isText.toSorted(), 'all of it before the first piece of text');
  const again = await heard((onProgress) => model.generate(long, { maxTokens: 1, onProgress }).result);
  assertRead(again.reports, promptTokens, promptTokens - 1);
  const grammar = { choice: ['a', 'b'] };
  const guided = await heard((onProgress) => model.generate(`${long} now`, { grammar, onProgress }).result);
  assertRead(guided.reports, guided.result.usage.promptTokens, guided.result.usage.cachedTokens);
  const session = model.session();
  for (const text of [long, 'And then?']) {
    const said = await heard((onProgress) => session.send(text, { maxTokens: 2, ignoreEos: true, onProgress }).result);
    assertRead(said.reports, said.result.usage.promptTokens, said.result.usage.cachedTokens);
  }
  await model.free();
});

test('reading is told by chat completions, useChat, the Prompt API and the AI SDK', async () => {
  const model = await load();
  const messages = [{ role: 'user', content: long }];
  const total = async (reports) => assertRead(reports, reports.at(-1).total, reports[0].loaded);
  const direct = await heard((onProgress) =>
    model.chat.completions.create({ messages, max_tokens: 1 }, { onProgress }),
  );
  assertRead(direct.reports, direct.result.usage.prompt_tokens);
  const streamed = await heard(async (onProgress) => {
    const request = { messages: [{ role: 'user', content: `B ${long}` }], max_tokens: 1, stream: true };
    for await (const _ of await model.chat.completions.create(request, { onProgress }));
  });
  await total(streamed.reports);
  const store = new ChatStore();
  store.configure(model, { max_completion_tokens: 1 });
  const shown = new Set();
  store.subscribe(() => shown.add(store.state().progress));
  await store.send(`C ${long}`);
  const stages = [...shown].filter(Boolean);
  assert.ok(stages.length > 2 && stages.every(({ stage }) => stage === 'prefill'));
  assert.equal(store.state().progress, undefined);
  const prompted = await heard(async (onPromptProgress) => {
    const session = await languageModel({ model, onPromptProgress }).create();
    return session.prompt(`D ${long}`, { signal: AbortSignal.timeout(60_000), responseConstraint: /a/ });
  });
  await total(prompted.reports.filter(({ total: all }) => all > 50));
  const sdk = await heard((onPromptProgress) => {
    const language = createWebgguf({ onPromptProgress })(model);
    const prompt = [{ role: 'user', content: [{ type: 'text', text: `E ${long}` }] }];
    return language.doGenerate({ prompt, maxOutputTokens: 1 });
  });
  await total(sdk.reports);
  await model.free();
});

test('of a sound the encoding is told first, then the reading', async () => {
  const model = await open(expectationsOf('ultravox'));
  const content = [{ type: 'audio', audio: soundOf(8219) }];
  const { reports } = await heard(
    (onProgress) => model.generate([{ role: 'user', content }], { maxTokens: 1, onProgress }).result,
  );
  const stages = reports.map(({ stage }) => stage);
  assert.deepEqual([...new Set(stages)], ['encode', 'prefill']);
  assert.deepEqual(stages, stages.toSorted());
  await model.free();
});

test('what onProgress throws ends the request, and the model stays usable', async () => {
  const model = await load();
  const mine = new Error('mine');
  for (const at of [1, 2, 3]) {
    let calls = 0;
    const onProgress = () => {
      if ((calls += 1) === at) throw mine;
    };
    const run = model.generate(`${at} ${long}`, { maxTokens: 3, ignoreEos: true, onProgress });
    await assert.rejects(run.result, (error) => error === mine);
    assert.equal(calls, at, 'and it is not called again');
  }
  assert.equal((await model.generate('ab', { maxTokens: 2, ignoreEos: true })).ids.length, 2);
  await model.free();
});

/** What a template that shows its variable writes of a conversation. */
function written(source, variables) {
  const template = { source: `${source}[{{ messages[0].content }}]` };
  const vocabulary = { chatTemplate: () => template, protect: (text) => text };
  return chatText(vocabulary, { messages: [{ role: 'user', content: 'x' }], variables })
    .replace('[x]', '')
    .toLowerCase();
}

test('enableThinking is said by the name that a template has for it', () => {
  const shows = (name) => `{{ ${name} is defined }} {{ ${name} }}`;
  for (const name of ['enable_thinking', 'thinking', 'reasoning']) {
    assert.equal(written(shows(name), { enable_thinking: false }), 'true false', name);
    assert.equal(written(shows(name), { enable_thinking: true }), 'true true', name);
    assert.match(written(shows(name), {}), /^false/, name);
  }
  assert.equal(written(shows('thinking_budget'), { enable_thinking: false }), 'true 0');
  assert.match(written(shows('thinking_budget'), { enable_thinking: true }), /^false/, 'as much as it likes');
  assert.equal(written(shows('thinking'), { enable_thinking: false, thinking: 'mine' }), 'true mine');
  const both = '{{ enable_thinking }}{% set thinking = 5 %}{{ thinking }}';
  assert.equal(written(both, { enable_thinking: false }), 'false5');
  assert.equal(
    written("{{ messages[0].thinking is defined }} {{ 'thinking' }}", { enable_thinking: true }),
    'false thinking',
  );
});

test('generate, sessions, chat completions and useChat take enableThinking', async () => {
  const model = await load();
  const seen = [];
  const { textWithMarks } = model;
  model.textWithMarks = function (messages, options) {
    seen.push(options.chatTemplateKwargs?.enable_thinking);
    return textWithMarks.call(this, messages, options);
  };
  const messages = [{ role: 'user', content: 'Hi' }];
  for (const enableThinking of [true, false]) {
    assert.equal((await model.generate(messages, { maxTokens: 1, ignoreEos: true, enableThinking })).ids.length, 1);
    await model.session({ enableThinking: !enableThinking }).send('Hi', { maxTokens: 1, enableThinking });
    await model.chat.completions.create({ messages, max_tokens: 1, enable_thinking: enableThinking });
    const store = new ChatStore();
    store.configure(model, { max_completion_tokens: 1, enableThinking });
    await store.send('Hi');
    assert.equal(store.state().error, undefined);
    assert.deepEqual(seen.splice(0), [enableThinking, enableThinking]);
  }
  for (const prompt of ['a text', [1, 2], Uint32Array.of(1, 2)]) {
    assert.throws(() => model.generate(prompt, { enableThinking: false }), {
      code: 'invalid_argument',
      message: /'enableThinking' with a prompt that is read as it is; .*give messages/,
    });
  }
  assert.throws(() => model.generate(messages, { enableThinking: 'no' }), { code: 'invalid_argument' });
  await model.free();
});
