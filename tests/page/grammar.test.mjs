// Structured output in a browser: on the GPU and on the CPU the same text comes of a grammar, with and without tokens
// drawn ahead, and with filters, penalties and biases beside it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSite, STORYTELLER } from './site.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

/** The results of requests to a model, in order; errors as `{ code, message }`. */
const results = (backend, requests) =>
  page.evaluate(
    async ([url, where, list]) => {
      const { WasmModel } = await import('/dist/index.js');
      const models = (globalThis.models ??= {});
      const model = (models[where] ??= await WasmModel.load(url, { backend: where }));
      const found = [];
      for (const options of list) {
        await model.reset();
        try {
          const { text, finishReason, tokens, ids } = await model.generate('Once upon a time', options);
          const logprobs = tokens?.map(({ id, logprob, top }) => ({ id, logprob, top: top.map((each) => each.id) }));
          found.push({ text, finishReason, ids: [...ids], logprobs });
        } catch ({ code, message }) {
          found.push({ code, message });
        }
      }
      return found;
    },
    [STORYTELLER, backend, requests],
  );

const SCHEMA = {
  type: 'object',
  properties: {
    animal: { enum: ['hare', 'bear'] },
    story: { type: 'string', minLength: 10, maxLength: 24 },
    age: { type: 'integer', minimum: 0, maximum: 99 },
  },
  required: ['animal', 'story', 'age'],
  additionalProperties: false,
};
const REQUESTS = [
  { grammar: { jsonSchema: SCHEMA }, maxTokens: 80 },
  { grammar: { jsonSchema: SCHEMA }, maxTokens: 80, repetitionPenalty: 1.3, frequencyPenalty: 0.2 },
  { grammar: { regex: '( [a-z]{1,9}){3}\\.' }, temperature: 0.9, topP: 0.9, topK: 40, minP: 0.01, seed: 5 },
  { grammar: { regex: '( [a-z]{1,9}){3}\\.' }, temperature: 0.9, seed: 6, repetitionPenalty: 1.2, logprobs: 2 },
  { grammar: { choice: [' there was a hare', ' lived a bear'] } },
  { maxTokens: 12, ignoreEos: true, logitBias: { 300: 4, 301: 4, 20: -100 }, logprobs: 3 },
];

test('on the GPU the texts are those of the CPU', async () => {
  const [gpu, cpu] = [await results('webgpu', REQUESTS), await results('cpu', REQUESTS)];
  for (const [index, found] of gpu.entries()) {
    const expected = cpu[index];
    assert.equal(found.text, expected.text, JSON.stringify(REQUESTS[index]));
    assert.deepEqual(found.ids, expected.ids);
    assert.equal(found.finishReason, index === 5 ? 'length' : 'stop');
    for (const [at, token] of (found.logprobs ?? []).entries()) {
      assert.equal(token.id, found.ids[at]);
      assert.deepEqual(token.top, expected.logprobs[at].top);
      assert.ok(Math.abs(token.logprob - expected.logprobs[at].logprob) < 2e-2, JSON.stringify(token));
    }
    assert.equal(found.logprobs?.length, REQUESTS[index].logprobs === undefined ? undefined : found.ids.length);
  }
  const object = JSON.parse(gpu[0].text);
  assert.deepEqual(Object.keys(object), ['animal', 'story', 'age']);
  assert.match(gpu[2].text, /^( [a-z]{1,9}){3}\.$/);
});

test('the module is fetched once, when it is first needed, and a wrong grammar leaves the model usable', async () => {
  const fetched = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
  assert.equal(fetched.filter((name) => name.endsWith('webgguf_grammar_bg.wasm')).length, 1);
  const [wrong, right] = await results('webgpu', [
    { grammar: { jsonSchema: { type: 'thing' } }, maxTokens: 5 },
    { grammar: { choice: ['yes'] } },
  ]);
  assert.equal(wrong.code, 'invalid_argument');
  assert.match(wrong.message, /the json schema cannot be followed: .*thing/s);
  assert.equal(right.text, 'yes');
});

test('a text that is stopped in the middle leaves the model as it was', async () => {
  const [stopped, after] = await page.evaluate(async (schema) => {
    const model = globalThis.models.webgpu;
    const grammar = { jsonSchema: schema };
    const generation = model.generate('Once upon a time', { grammar });
    let pieces = 0;
    for await (const _ of generation) if (++pieces === 3) break;
    const { finishReason } = await generation.result;
    return [finishReason, (await model.generate('Once upon a time', { grammar, maxTokens: 80 })).text];
  }, SCHEMA);
  assert.equal(stopped, 'abort');
  const [alone] = await results('webgpu', [REQUESTS[0]]);
  assert.equal(after, alone.text);
});

test('wrong options are refused by name', async () => {
  const said = await page.evaluate(async () => {
    const model = globalThis.models.cpu;
    const message = (options) => {
      try {
        model.generate('a', options);
        return 'nothing';
      } catch (error) {
        return `${error.code}: ${error.message}`;
      }
    };
    const cyclic = {};
    cyclic.self = cyclic;
    return [
      { grammar: {} },
      { grammar: { regex: 'a', choice: ['b'] } },
      { grammar: { choice: [] } },
      { grammar: { jsonSchema: cyclic } },
      { grammar: { json: true }, ignoreEos: true },
      { logitBias: { a: 1 } },
      { logitBias: { 1: 101 } },
      { logprobs: 21 },
    ].map(message);
  });
  const expected = [
    /'grammar' must be an object with one of jsonSchema, json, regex, choice, lark, gbnf/,
    /'grammar' must be an object with one of/,
    /'grammar' must be \{ choice \} with an array of at least one string/,
    /'grammar' must be \{ jsonSchema \} with JSON: /,
    /'ignoreEos' does not go with 'grammar'/,
    /'logitBias' must be an object of at most 1024 token ids/,
    /'logitBias' must be/,
    /'logprobs' must be an integer from 0 to 20/,
  ];
  for (const [index, words] of expected.entries()) {
    assert.match(said[index], /^invalid_argument: /);
    assert.match(said[index], words);
  }
});

const HOST = [
  { dryMultiplier: 5, dryAllowedLength: 0, maxTokens: 40, ignoreEos: true },
  { dryMultiplier: 1, xtcProbability: 0.6, temperature: 0.9, minP: 0.02, seed: 4, maxTokens: 30, logprobs: 1 },
  { xtcProbability: 1, xtcThreshold: 0.05, temperature: 0.9, seed: 4, maxTokens: 20, repetitionPenalty: 1.2 },
  { temperature: 0.9, seed: 4, maxTokens: 20, repetitionPenalty: 1.2 },
];

test('with DRY and XTC the GPU writes what the CPU writes, and a grammar beside them is refused', async () => {
  const plain = { maxTokens: 40, ignoreEos: true };
  const [gpu, cpu] = [await results('webgpu', [...HOST, plain]), await results('cpu', HOST)];
  assert.deepEqual(
    gpu.slice(0, 4).map(({ ids }) => ids),
    cpu.map(({ ids }) => ids),
  );
  assert.notEqual(gpu[0].text, gpu[4].text);
  assert.notEqual(gpu[2].text, gpu[3].text);
  assert.deepEqual(
    gpu[1].logprobs.map(({ id }) => id),
    gpu[1].ids,
  );
  const [refused, again] = await results('webgpu', [{ dryMultiplier: 1, grammar: { choice: ['yes'] } }, HOST[0]]);
  assert.match(`${refused.code}: ${refused.message}`, /^invalid_argument: dryMultiplier and xtcProbability do not go/);
  assert.deepEqual(again.ids, gpu[0].ids);
});
