// Parts of the AI SDK: chunks of OpenAI's face as parts, where calls that were cut are none, since the SDK would make
// them, and files of a prompt that are texts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';

const { PartReader } = await import(`${dist}ai-sdk/parts.js`);
const { textOf } = await import(`${dist}ai-sdk/prompt.js`);

/** Types of the parts of an answer whose only call has these arguments, and that ended for this reason. */
function typesOf(input, reason) {
  const reader = new PartReader();
  const call = { index: 0, id: 'call_0', type: 'function', function: { name: 'ping', arguments: input } };
  const choices = [
    { delta: { tool_calls: [call] }, finish_reason: null },
    { delta: {}, finish_reason: reason },
  ];
  const parts = choices.flatMap((choice) => [...reader.read({ choices: [choice] })]);
  return [...parts, ...reader.end()].map(({ type }) => type);
}

test('a call is made where it is whole, whatever ended the answer', () => {
  for (const [input, reason, isMade] of [
    ['{}', 'tool_calls', true],
    ['{"a": 1}', 'length', true],
    ['{"a": 1', 'length', false],
    ['', 'length', false],
    ['', 'abort', false],
    ['{"a": 1', 'abort', false],
  ]) {
    const types = typesOf(input, reason);
    assert.equal(types.includes('tool-call'), isMade, `${input} after ${reason}`);
    assert.deepEqual([types[0], types.at(-1)], ['tool-input-start', 'finish']);
  }
});

test('a file that is a text is read as base64 of UTF-8, and refused where it is none', () => {
  const file = (data) => textOf({ type: 'file', mediaType: 'text/plain', data });
  assert.equal(file('w6Q='), 'ä');
  assert.equal(file({ type: 'data', data: Uint8Array.of(0xc3, 0xa4) }), 'ä');
  assert.throws(() => file('w6Qw6Qw6Q!'), {
    code: 'invalid_argument',
    message: /10 characters is not base64/,
  });
});
