// Requests with images whose rows have no room.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectationsOf, open } from './encoders.mjs';

/** Colours by place, so that no two of these are the same. */
function drawn(width, height, seed) {
  const data = new Uint8Array(width * height * 4).map((_, at) => (at * seed + (at >> 9)) % 251);
  return { width, height, data };
}

const asking = (...images) => [
  { role: 'user', content: [...images.map((image) => ({ type: 'image', image })), { type: 'text', text: 'What?' }] },
];

test('an image that the context has no room for is refused before it is encoded, with both numbers', async () => {
  const model = await open(expectationsOf('lfm2'), { contextLength: 160 });
  const reports = [];
  const ask = (...images) =>
    model.generate(asking(...images), { maxTokens: 2, ignoreEos: true, onProgress: (it) => reports.push(it) }).result;
  const full = (message) => ({ code: 'context_full', message });
  await assert.rejects(
    ask(drawn(200, 121, 7)),
    full(/^image: 200 × 121 pixels take \d+ tokens, the context has room for \d+$/),
  );
  assert.equal(reports.length, 0, 'nothing was encoded');
  const [, needed, room] = /take (\d+) .* room for (\d+)/.exec(
    await ask(drawn(200, 121, 7)).catch(({ message }) => message),
  );
  assert.ok(Number(needed) > Number(room) && Number(room) < 160, `${needed} tokens, ${room} beside the text`);
  assert.equal((await ask(drawn(60, 40, 7))).ids.length, 2, 'another image has room');
  reports.length = 0;
  await assert.rejects(
    ask(drawn(60, 40, 7), drawn(60, 40, 11)),
    full(/60 × 40 pixels take \d+ tokens, .* room for \d\d$/),
  );
  assert.equal(reports.length, 0, 'the first is known, the second has no room beside it');
  const session = model.session();
  await assert.rejects(session.send(asking(drawn(200, 121, 7))).result, full(/200 × 121/));
  assert.deepEqual(session.messages, []);
  assert.equal((await session.send('ab', { maxTokens: 2, ignoreEos: true }).result).ids.length, 2);
  await model.free();
});
