// Arguments of calls in history: digits, points and the order of keys stay as the model wrote them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';

const { exactJson } = await import(`${dist}model/exact-json.js`);
const { conversationOf } = await import(`${dist}model/conversation.js`);
const { renderConversation } = await import(`${dist}templates/index.js`);
await import(`${dist}templates/rare.js`);

const SOURCE = '{% for t in messages[1].tool_calls %}{{ t.function.arguments | tojson }}{% endfor %}';

/** The arguments as a template writes them, after a way through a worker. */
function written(text) {
  const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }];
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: '', tool_calls: calls },
  ];
  const conversation = structuredClone(conversationOf('test', messages));
  const template = { source: SOURCE, bos: '', eos: '', unknown: '', padding: '' };
  return renderConversation(template, conversation, new Date(2026, 0, 1));
}

test('templates write arguments as Python reads and writes them', () => {
  for (const text of [
    '{"id": 2512292042121000001}',
    '{"id": -9007199254740993, "list": [1, [18446744073709551615]]}',
    '{"10": 1.0, "2": {"b": 2.5, "1": [-0.0, 3.0, true, null, "a \\"b\\" \\\\ é"]}, "2x": 5}',
    '{}',
    '{"a": {}, "b": []}',
  ]) {
    assert.equal(written(text), text);
  }
  assert.equal(written('{"a": 1, "b": 2, "a": 3}'), '{"a": 3, "b": 2}');
});

test('what is no JSON, and what is too deep, is refused', () => {
  for (const text of ['', '{', '{"a": 1,}', "{'a': 1}", '1 2']) assert.throws(() => exactJson(text), SyntaxError, text);
  assert.throws(() => exactJson('['.repeat(65) + ']'.repeat(65)), RangeError);
  assert.equal(exactJson(' 5 '), 5);
});
