// Chunks of OpenAI's face as parts of the AI SDK: calls that were cut are none, since the SDK would make them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';

const { PartReader } = await import(`${dist}ai-sdk/parts.js`);

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
