// Schemas as libraries have them: what follows Standard Schema is converted, what cannot be is refused, and a tool's
// schema has several names. What the grammars follow of a schema is tested in grammar/tests.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { dist } from './api.mjs';

const WASM = new URL(`${dist}grammar/webgguf_grammar_bg.wasm`);
const skip = !existsSync(WASM) && 'no WebAssembly of grammars: run `npm run build`';
const { jsonSchemaOf, lenient, parametersOf, withParameters } = await import(`${dist}model/schema.js`);
const { grammarText } = await import(`${dist}engine/grammar.js`);
const { constraintOf } = await import(`${dist}prompt-api/constraint.js`);
const { requestOf } = await import(`${dist}ai-sdk/request.js`);
const { checkChat } = await import(`${dist}openai/request.js`);
const { templateOptions } = await import(`${dist}options.js`);
const { openai } = await import(`${dist}openai/index.js`);
const { WebggufError } = await import(`${dist}errors.js`);
const { conversationOf } = await import(`${dist}model/conversation.js`);
const grammars = skip ? undefined : await import(new URL(`${dist}grammar/webgguf_grammar.js`));
if (grammars) await grammars.default({ module_or_path: readFileSync(WASM) });

const PERSON = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const CLOSED = { ...PERSON, additionalProperties: false };
/** An object as zod 4 makes it, a function as arktype makes it, and one that cannot be converted. */
const standard = (schema = PERSON) => ({
  '~standard': { version: 1, vendor: 'zod', validate() {}, jsonSchema: { input: () => structuredClone(schema) } },
  parse() {},
});
const callable = (schema) => Object.assign(() => {}, standard(schema));
const old = () => ({ '~standard': { version: 1, vendor: 'valibot', validate() {} }, kind: 'schema' });
class Joi {
  type = 'object';
}
const refusal = (words) => (error) => {
  assert.ok(error.code === 'invalid_argument' || error.name === 'NotSupportedError', error.stack);
  assert.match(error.message, words);
  return true;
};

test('a schema that follows Standard Schema is converted wherever one can be given', () => {
  for (const make of [standard, callable]) {
    const schema = make();
    assert.deepEqual(jsonSchemaOf('it', schema), CLOSED);
    assert.deepEqual(JSON.parse(grammarText({ jsonSchema: schema }).text), CLOSED);
    assert.deepEqual(JSON.parse(constraintOf({ responseConstraint: schema }).grammar.jsonSchema), CLOSED);
    const { request } = requestOf({
      prompt: [],
      responseFormat: { type: 'json', schema },
      tools: [{ type: 'function', name: 'f', inputSchema: schema }],
    });
    assert.deepEqual(request.response_format.json_schema.schema, CLOSED);
    assert.deepEqual(request.tools[0].function.parameters, CLOSED);
    const tools = [{ type: 'function', function: { name: 'f', inputSchema: schema, strict: true } }];
    const declared = [{ type: 'function', function: { name: 'f', strict: true, parameters: CLOSED } }];
    assert.deepEqual(checkChat({ messages: [], tools }).tools, declared);
    const messages = [{ role: 'user', content: 'hi' }];
    assert.deepEqual(conversationOf('f', messages, templateOptions('f', { tools })).tools, declared);
  }
});

test('response_format has a schema in three forms, and a server gets it as JSON', async () => {
  const formatOf = (response_format) => checkChat({ messages: [], response_format }).response_format;
  const closed = { type: 'json_object', schema: CLOSED };
  assert.deepEqual(formatOf({ type: 'json_object', schema: standard() }), closed);
  assert.deepEqual(formatOf({ type: 'json_object', schema: JSON.stringify(CLOSED) }), closed);
  assert.deepEqual(formatOf({ type: 'json_object' }), { type: 'json_object' });
  const named = (schema) => ({ type: 'json_schema', json_schema: { name: 'x', schema } });
  assert.deepEqual(formatOf(named(callable())), named(CLOSED));
  assert.throws(() => formatOf({ type: 'json_object', schema: '{' }), refusal(/its schema is no JSON/));
  assert.throws(() => formatOf(named('{}')), refusal(/response_format' must be/));
  assert.throws(() => formatOf(named(old())), refusal(/is a schema of valibot/));

  const sent = [];
  const fetch = async (_, { body }) => {
    sent.push(JSON.parse(body));
    return Response.json({ choices: [] });
  };
  const model = Promise.reject(new WebggufError('out_of_memory', 'too small'));
  const ai = openai({ model, fallback: { baseURL: 'https://example.com/v1', model: 'theirs', fetch } });
  const tools = [tool({ inputSchema: standard() })];
  await ai.chat.completions.create({ messages: [], tools, response_format: named(standard()) });
  assert.deepEqual(sent[0].tools, [tool({ parameters: CLOSED })]);
  assert.deepEqual(sent[0].response_format, named(CLOSED));
});

test('converted objects have no properties but their own, where that contradicts nothing', () => {
  const inner = { type: 'object', properties: { a: {} } };
  const open = { ...inner, additionalProperties: {} };
  const both = { allOf: [inner, inner] };
  const data = { const: inner };
  assert.deepEqual(jsonSchemaOf('it', standard({ anyOf: [inner, open, data] })), {
    anyOf: [{ ...inner, additionalProperties: false }, open, data],
  });
  assert.deepEqual(jsonSchemaOf('it', standard(both)), both);
  assert.deepEqual(jsonSchemaOf('it', inner), inner, 'a JSON Schema stays as it is');
});

test('what is no JSON Schema and cannot be converted is refused, and how it is converted said', () => {
  const how = /is a schema of .*no JSON Schema: convert it \(z\.toJSONSchema/;
  for (const given of [old(), Object.assign(() => {}, old()), () => {}, new Joi(), { safeParse() {} }]) {
    assert.throws(() => grammarText({ jsonSchema: given }), refusal(how));
    assert.throws(() => constraintOf({ responseConstraint: given }), refusal(how));
    assert.throws(() => checkChat({ messages: [], tools: [tool({ parameters: given })] }), refusal(how));
    assert.throws(() => requestOf({ prompt: [], responseFormat: { type: 'json', schema: given } }), refusal(how));
  }
  const throwing = standard();
  throwing['~standard'].jsonSchema.input = () => {
    throw new Error('Date cannot be represented');
  };
  assert.throws(() => jsonSchemaOf('the schema', throwing), refusal(/^the schema: zod makes .*Date cannot be/));
});

const tool = (fields) => ({ type: 'function', function: { name: 'f', ...fields } });

test("a tool's schema has three names, and one schema", () => {
  for (const name of ['parameters', 'inputSchema', 'input_schema']) {
    assert.deepEqual(parametersOf('it', { name: 'f', [name]: PERSON }), PERSON);
    assert.deepEqual(withParameters('it', { name: 'f', [name]: PERSON }), { name: 'f', parameters: PERSON });
  }
  assert.equal(parametersOf('it', { name: 'f' }), undefined);
  assert.deepEqual(parametersOf('it', { parameters: null, inputSchema: PERSON }), PERSON);
  assert.deepEqual(parametersOf('it', { parameters: CLOSED, inputSchema: standard() }), CLOSED, 'twice the same');
  const two = { parameters: PERSON, input_schema: CLOSED };
  assert.throws(
    () => parametersOf('the tool', two),
    refusal(/the tool has 'parameters' and 'input_schema', which diff/),
  );
  for (const wrong of ['{}', 3, [], true]) {
    assert.throws(
      () => parametersOf('it', { inputSchema: wrong }),
      refusal(/it\.inputSchema must be a JSON Schema of/),
    );
  }
  assert.deepEqual(Object.keys(withParameters('it', { name: 'f', parameters: PERSON, strict: true })), [
    'name',
    'parameters',
    'strict',
  ]);
});

/** A grammar over all bytes, or why there is none. */
function compiled({ kind, text }) {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const ends = Uint32Array.from({ length: 257 }, (_, id) => Math.min(id + 1, 256));
  const kinds = new Uint8Array(257).fill(1, 256);
  const ids = (part) => Uint32Array.from(Buffer.from(part));
  const vocabulary = new grammars.Vocabulary(bytes, ends, kinds, Uint32Array.of(256), ids);
  try {
    return vocabulary.compile(kind, text);
  } catch (error) {
    return error;
  } finally {
    vocabulary.free();
  }
}

test('what cannot be followed is refused in an answer, and left out with a note in a tool', { skip }, () => {
  for (const [keywords, words] of [
    [{ pattern: '^(?<=a)b$' }, /look-around/],
    [{ pattern: '(a)\\1' }, /references back/],
    [{ pattern: '\\bword\\b' }, /borders of words/],
    [{ $ref: 'https://example.com/a.json' }, /names nothing/],
    [{ type: 'string', minLength: 3, maxLength: 2 }, /./],
    [{ not: { const: 1 } }, /not/],
  ]) {
    const schema = { type: 'object', properties: { a: keywords } };
    assert.match(String(compiled(grammarText({ jsonSchema: schema }))), words, JSON.stringify(keywords));
    const loose = compiled(grammarText({ jsonSchema: lenient({ ...schema }) }));
    assert.notEqual(typeof loose, 'string', String(loose));
    loose.free();
  }
  const set = compiled(grammarText({ jsonSchema: { type: 'array', items: {}, uniqueItems: true } }));
  assert.deepEqual(set.notes(), ["'uniqueItems'"]);
  set.free();
});
