// Schemas as libraries write them, by the real grammars: what says nothing about an answer does not fail a request.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { dist } from './api.mjs';

const WASM = new URL(`${dist}grammar/webgguf_grammar_bg.wasm`);
const skip = !existsSync(WASM) && 'no WebAssembly of grammars: run `npm run build`';
const { followable } = await import(`${dist}model/schema.js`);
const grammars = skip ? undefined : await import(new URL(`${dist}grammar/webgguf_grammar.js`));
if (grammars) await grammars.default({ module_or_path: readFileSync(WASM) });

/** Whether the grammars take a schema. */
function isTaken(schema) {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const ends = Uint32Array.from({ length: 257 }, (_, id) => Math.min(id + 1, 256));
  const inside = (text) => Uint32Array.from(Buffer.from(text));
  const vocabulary = new grammars.Vocabulary(
    bytes,
    ends,
    new Uint8Array(257).fill(1, 256),
    Uint32Array.of(256),
    inside,
  );
  try {
    vocabulary.compile('json_schema', JSON.stringify(schema)).free();
    return true;
  } catch {
    return false;
  } finally {
    vocabulary.free();
  }
}

const text = (keywords) => ({ type: 'object', properties: { a: { type: 'string', ...keywords } } });
/** What zod and OpenAPI write, and what is left of it. */
const ANNOTATIONS = [
  [text({ format: 'cuid2', pattern: '^[0-9a-z]+$' }), text({ pattern: '^[0-9a-z]+$' })],
  [text({ format: 'password' }), text({})],
  [text({ format: 'email', pattern: '^(?!\\.)(?!.*\\.\\.)x$' }), text({ format: 'email' })],
  [
    { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
    { type: 'object', additionalProperties: { type: 'number' } },
  ],
  [
    { type: 'array', items: {}, uniqueItems: false },
    { type: 'array', items: {} },
  ],
  [{ type: 'object', dependentRequired: {}, patternProperties: {} }, { type: 'object' }],
];
/** What no grammar can follow: left out for tools alone. */
const LOOSE = [
  [text({ pattern: '^(?=.*\\d).+$' }), text({})],
  [text({ pattern: '^\\w+\\b' }), text({})],
  [text({ $ref: 'https://example.com/a.json' }), text({})],
  [{ type: 'object', propertyNames: { pattern: '^a' } }, { type: 'object' }],
  [
    { type: 'array', items: {}, uniqueItems: true },
    { type: 'array', items: {} },
  ],
];

test('annotations and keywords that change nothing are left out', { skip }, () => {
  for (const [schema, left] of ANNOTATIONS) {
    assert.deepEqual(followable(schema), left);
    assert.ok(isTaken(followable(schema)), JSON.stringify(schema));
  }
});

test('what no grammar can follow is refused, but for tools left out', { skip }, () => {
  for (const [schema, left] of LOOSE) {
    assert.deepEqual(followable(schema), schema);
    assert.ok(!isTaken(followable(schema)), JSON.stringify(schema));
    assert.deepEqual(followable(schema, true), left);
    assert.ok(isTaken(followable(schema, true)), JSON.stringify(schema));
  }
});

test('names of properties and values are no keywords', () => {
  const schema = {
    type: 'object',
    properties: { format: { const: { format: 'x', pattern: '\\b' } }, pattern: { enum: [{ uniqueItems: false }] } },
    required: ['format', 'pattern'],
  };
  assert.deepEqual(followable(schema, true), schema);
});
