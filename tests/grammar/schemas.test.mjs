// JSON that a small model writes under every schema of JSON Schema's own test suite: what is accepted is followed.
// WEBGGUF_GENERATIONS=1000 writes 1,000 texts; the usual number keeps `npm test` short.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { CACHE, readJson, ROOT } from '../../tools/common.mjs';
import { installTools } from '../../tools/install-tools.mjs';

const HERE = path.join(ROOT, 'tests', 'grammar');
const TOOLS = path.join(CACHE, 'grammar');
const GENERATIONS = Number(process.env.WEBGGUF_GENERATIONS ?? 120);
const MAX_TOKENS = 100;

await installTools(HERE, TOOLS);
const require = createRequire(path.join(TOOLS, 'package.json'));
const { default: Ajv } = require('ajv/dist/2020.js');
const { default: addFormats } = require('ajv-formats');

const { schemas } = readJson(path.join(HERE, 'json-schema', 'draft2020-12.json'));
const model = await WasmModel.load(fs.readFileSync(path.join(ROOT, 'www', 'models', 'storyteller.gguf')), {
  backend: 'cpu',
  contextLength: 256,
});
after(() => model.free());

/** Ends of strings, arrays and objects come sooner, so that texts come to an end. */
const logitBias = {};
for (let id = 0; id < model.info.vocabularySize; id++) {
  if (/^["\]}]+$/.test(await model.detokenize([id]))) logitBias[id] = 5;
}

/** Formats that js/model/schema.ts passes on; JSON Schema has all others as annotations, which say nothing here. */
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'uri'];

/** Ajv's own check of a schema, or undefined where it cannot compile it (references to other documents). */
function validator(schema) {
  const ajv = addFormats(new Ajv({ strict: false, allErrors: true, logger: false }), FORMATS);
  try {
    return ajv.compile(schema);
  } catch {
    return undefined;
  }
}

/** Writes a text under a schema: `accepted`, `refused` with the reason, or `unfinished`. */
async function write(schema, seed) {
  const options = { grammar: { jsonSchema: schema }, temperature: 1, seed, maxTokens: MAX_TOKENS, logitBias };
  try {
    const { text, finishReason } = await model.generate('Once upon a time', options);
    return { text, outcome: finishReason === 'stop' ? 'accepted' : 'unfinished' };
  } catch (error) {
    assert.equal(error.code, 'invalid_argument', error.stack);
    assert.match(error.message, /the json schema cannot be followed: ./);
    return { outcome: 'refused', reason: error.message };
  }
}

test(`${GENERATIONS} texts under schemas are JSON that these describe`, async () => {
  const counts = { accepted: 0, unfinished: 0, refused: 0, unchecked: 0 };
  const wrong = [];
  const usable = schemas.map(({ name, schema }) => ({ name, schema, validate: validator(schema), refused: false }));
  const step = Math.max(1, Math.floor(usable.length / GENERATIONS));
  for (let n = 0, written = 0; written < GENERATIONS && n < 20 * GENERATIONS; n++) {
    const item = usable[(n * step + Math.floor((n * step) / usable.length)) % usable.length];
    if (item.refused) continue;
    const { text, outcome } = await write(item.schema, n);
    item.refused = outcome === 'refused';
    counts[outcome]++;
    if (outcome !== 'accepted') continue;
    written++;
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      wrong.push(`${item.name}: ${text} (${error.message})`);
      continue;
    }
    if (!item.validate) counts.unchecked++;
    else if (!item.validate(value)) wrong.push(`${item.name}: ${text} under ${JSON.stringify(item.schema)}`);
  }
  console.log(JSON.stringify(counts));
  assert.deepEqual(wrong, []);
  assert.ok(counts.accepted >= Math.min(GENERATIONS, 100), JSON.stringify(counts));
});

test('a schema that cannot be followed is refused with the reason, and the model goes on', async () => {
  const refused = async (grammar, words) => {
    await assert.rejects(model.generate('a', { grammar, maxTokens: 5 }).result, (error) => {
      assert.equal(error.code, 'invalid_argument');
      assert.match(error.message, words);
      return true;
    });
  };
  await refused({ jsonSchema: { type: 'object', minProperties: 3, patternProperties: 7 } }, /json schema/);
  await refused({ jsonSchema: '{"type": ' }, /EOF while parsing/);
  await refused({ regex: '(unclosed' }, /regex cannot be followed/);
  await refused({ lark: 'start: missing' }, /missing/);
  await refused({ gbnf: 'root ::= missing' }, /line 1: rule 'root' refers to 'missing'/);
  const { text } = await model.generate('a', { grammar: { choice: ['yes', 'no'] } });
  assert.match(text, /^(yes|no)$/);
});

test('a schema of a library is converted, and what a text need not follow of it is a warning', async () => {
  const warnings = [];
  const bytes = fs.readFileSync(path.join(ROOT, 'www', 'models', 'storyteller.gguf'));
  const onWarning = (warning) => warnings.push(warning);
  const own = await WasmModel.load(bytes, { backend: 'cpu', contextLength: 256, onWarning });
  const input = () => ({ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2, maxItems: 2, uniqueItems: true });
  const jsonSchema = { '~standard': { version: 1, vendor: 'zod', jsonSchema: { input } } };
  const { text } = await own.generate('Once', { grammar: { jsonSchema }, maxTokens: 60 });
  await own.generate('Once', { grammar: { jsonSchema }, maxTokens: 60 });
  await own.free();
  const list = JSON.parse(text);
  assert.ok(list.length === 2 && list.every((item) => 'ab'.includes(item)), text);
  const told = warnings.filter(({ code }) => code === 'schema');
  assert.deepEqual(
    told.map(({ message }) => message),
    ["a grammar cannot follow 'uniqueItems': the text may differ there"],
  );
});

test('each kind of grammar is followed', async () => {
  const write = async (grammar, options = {}) =>
    (await model.generate('Once', { grammar, temperature: 1, seed: 3, maxTokens: 60, logitBias, ...options })).text;
  assert.match(await write({ regex: '[0-9]{3}-[a-f]{2}' }), /^[0-9]{3}-[a-f]{2}$/);
  assert.match(await write({ lark: 'start: "<" WORD ">"\nWORD: /[a-z]{2,5}/' }), /^<[a-z]{2,5}>$/);
  const nested = 'root ::= "(" root ")" | [a-c]+\n';
  assert.match(await write({ gbnf: nested }), /^(\(*)[a-c]*\)*$/);
  assert.equal(typeof JSON.parse(await write({ jsonSchema: { type: 'string', maxLength: 12 } })), 'string');
  const constant = { const: { name: 'a hare', legs: 4, fast: true } };
  assert.deepEqual(JSON.parse(await write({ jsonSchema: constant })), constant.const);
  const penalised = { minP: 0.02, topK: 30, repetitionPenalty: 1.2, frequencyPenalty: 0.3 };
  assert.match(await write({ regex: '([a-z]{4} ){3}' }, penalised), /^([a-z]{4} ){3}$/);
  const object = await model.generate('Once', { grammar: { json: true }, maxTokens: 4 });
  assert.equal(object.finishReason, 'length');
  assert.match(object.text, /^\{/);
});

test('log-probabilities come with the tokens, forced ones among them', async () => {
  const options = {
    grammar: { regex: 'the (hare|bear) [a-z]+\\.' },
    logprobs: 3,
    temperature: 1,
    seed: 1,
    maxTokens: 30,
  };
  const plain = await model.generate('Once', { ...options, logprobs: undefined });
  const { text, ids, tokens } = await model.generate('Once', options);
  assert.equal(text, plain.text, 'they change nothing');
  assert.deepEqual(
    tokens.map(({ id }) => id),
    [...ids],
  );
  assert.equal(tokens.map((token) => token.text).join(''), text);
  const all = [...(await model.tokenize('Once', { addSpecial: true })), ...ids];
  const { logprobs } = await model.evaluate(all);
  for (const [index, token] of tokens.entries()) {
    assert.equal(token.top.length, 3);
    assert.ok(token.top[0].logprob >= token.top[1].logprob && token.logprob <= token.top[0].logprob);
    const expected = logprobs[all.length - ids.length - 1 + index];
    assert.ok(Math.abs(token.logprob - expected) < 1e-3, `${token.logprob} and ${expected}`);
  }
});

test('a bias forbids and forces', async () => {
  const first = async (bias) =>
    (await model.generate('Once', { maxTokens: 1, logitBias: bias, ignoreEos: true })).ids[0];
  const usual = await first({});
  const other = await first({ [usual]: -100 });
  assert.notEqual(other, usual);
  assert.equal(await first({ 777: 100 }), 777);
  await assert.rejects(model.generate('a', { logitBias: { 999999: 1 } }).result, /logitBias of id 999999/);
});
