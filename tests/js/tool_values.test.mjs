// What a schema says of a value that stands bare, strings that end the text alone, and thoughts that go back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';

const { familyOf, readerOf } = await import(`${dist}openai/families.js`);
const { messagesFor, formsOf } = await import(`${dist}openai/messages.js`);
const { Stops } = await import(`${dist}openai/stops.js`);

/** The JSON of a value by the schema of a tool's parameters. */
function valueBy(parameters, value) {
  const reader = readerOf(familyOf('{{ tools }}<tool_call><function='), '', new Map([['f', parameters]]));
  const text = `<tool_call>\n<function=f>\n<parameter=v>\n${value}\n</parameter>\n</function>\n</tool_call>`;
  const deltas = [...reader.push(text), ...reader.end()];
  return deltas
    .map((delta) => delta.arguments ?? '')
    .join('')
    .replace(/^\{"v": (.*)\}$/s, '$1');
}

const property = (schema) => ({ type: 'object', properties: { v: schema } });
const TEXTS = {
  'a type': property({ type: 'string' }),
  types: property({ type: ['null', 'string'] }),
  anyOf: property({ anyOf: [{ type: 'integer' }, { type: 'string' }] }),
  oneOf: property({ oneOf: [{ type: 'string' }, { type: 'null' }] }),
  allOf: property({ allOf: [{ type: 'string' }, { minLength: 1 }] }),
  const: property({ const: '12134' }),
  enum: property({ enum: ['12134', 5, null] }),
  nullable: property({ type: 'string', nullable: true }),
  pattern: property({ pattern: '^\\d+$' }),
  format: property({ format: 'uuid' }),
  'no type': property({}),
  true: property(true),
  if: property(JSON.parse('{"if": {"const": "a"}, "then": {"type": "string"}, "else": {"type": "integer"}}')),
  $ref: { ...property({ $ref: '#/$defs/zip' }), $defs: { zip: { type: 'string' } } },
  'escaped $ref': { ...property({ $ref: '#/$defs/a~1b%20c' }), $defs: { 'a/b c': { type: 'string' } } },
  'a $ref to itself': { ...property({ $ref: '#/$defs/zip' }), $defs: { zip: { $ref: '#/$defs/zip' } } },
  patternProperties: { type: 'object', patternProperties: { '^v': { type: 'string' } } },
  additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
  'no schema': undefined,
  'properties of a branch': { anyOf: [property({ type: 'string' }), { type: 'object' }] },
};

test('what may be text is text, by every way in which a schema says so', () => {
  for (const [way, schema] of Object.entries(TEXTS)) assert.equal(valueBy(schema, '12134'), '"12134"', way);
});

test('what may be no text is what it is, with all its digits', () => {
  for (const [schema, value, expected] of [
    [{ type: 'integer' }, '2512292042121000001', '2512292042121000001'],
    [{ type: 'number' }, '1.0', '1.0'],
    [{ type: ['integer', 'null'] }, 'null', 'null'],
    [{ type: 'boolean' }, 'True', 'true'],
    [{ type: ['string', 'null'] }, 'null', 'null'],
    [{ type: 'object' }, '{"2": 1.50, "1": 9007199254740993, "2": "x y"}', '{"2":1.50,"1":9007199254740993,"2":"x y"}'],
    [{ type: 'object' }, "{'a': True, 'b': (1, None)}", '{"a": true, "b": [1, null]}'],
    [{ enum: [1, 2] }, '2', '2'],
    [{ $ref: '#/$defs/none' }, '5', '"5"'],
  ]) {
    assert.equal(valueBy(property(schema), value), expected, JSON.stringify(schema));
  }
});

test('a string that ends the text is looked for in the text alone, however it is cut', () => {
  const passed = (deltas, stop) => {
    const stops = new Stops(stop);
    return [...deltas.flatMap((delta) => stops.pass([delta])), ...stops.pass([], true)];
  };
  const content = (deltas) => deltas.map((delta) => delta.content ?? '').join('');
  const text = [{ reasoning: 'an END' }, { content: 'one E' }, { content: 'N' }, { content: 'D two' }];
  const out = passed(text, ['END', 'x']);
  assert.equal(content(out), 'one ');
  assert.deepEqual(out[0], { reasoning: 'an END' });
  assert.equal(content(passed([{ content: 'an EN' }], 'END')), 'an EN');
  assert.equal(content(passed(text, undefined)), 'one END two');
});

test('thoughts have the name by which the template reads them', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
  const sent = (template, message) => {
    const family = familyOf(`{{ tools }}{{ m.tool_calls }} ${template}`);
    return messagesFor(family, [{ role: 'assistant', content: '', tool_calls: [call], ...message }], [])[0];
  };
  assert.equal(sent('{{ m.thinking }}', { reasoning_content: 'Hm.' }).thinking, 'Hm.');
  assert.equal(sent("{{ m['thinking'] }}", { reasoning: 'Hm.' }).thinking, 'Hm.');
  assert.equal(sent('{% if m.reasoning_content is string %}', { thinking: 'Hm.' }).reasoning_content, 'Hm.');
  assert.equal(sent("{{ m.get('reasoning') }}", { reasoning_content: 'Hm.' }).reasoning, 'Hm.');
  // The variable that switches thoughts on is none of a message.
  assert.equal(sent('{% if thinking %}', { reasoning_content: 'Hm.' }).thinking, undefined);
});

test('a template that takes thoughts or text beside calls gets both as thoughts', () => {
  const message = { role: 'assistant', content: 'I look.', thinking: 'Hm.', tool_calls: [{}] };
  const [first, second] = [...formsOf([message])];
  assert.deepEqual(first, [message]);
  assert.deepEqual(second, [{ ...message, content: '', thinking: 'Hm.\n\nI look.' }]);
});
