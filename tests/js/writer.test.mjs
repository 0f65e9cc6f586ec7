// Texts and objects that pages show while they are written (`useCompletion`, `useObject` of React, Vue and Svelte),
// over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, seen } from './api.mjs';

const { CompletionStore, ObjectStore } = await import(`${dist}ui/writer.js`);
const { partialJson } = await import(`${dist}ui/partial-json.js`);
await api.init({ wasm: new Uint8Array(8) });

const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, tags: { type: 'array' } },
  required: ['name'],
};
const WHOLE = '{"name": "A \\"hare\\" \\u00e4", "tags": ["x", [1, -2.5e1], {}], "ok": true, "none": null}';

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, template: 'x' });
});

async function store(made, options) {
  const model = await api.WasmModel.load(Uint8Array.of(1));
  // The mock has no grammars: the request's is noted.
  const { generate } = model;
  model.generate = (text, { grammar, ...further }) => {
    model.asked = grammar;
    return generate.call(model, text, further);
  };
  made.configure(model, options);
  return { made, model };
}

test('each beginning of JSON says what is there', () => {
  assert.deepEqual(partialJson(WHOLE), JSON.parse(WHOLE));
  for (let length = 0; length <= WHOLE.length; length++) {
    const part = partialJson(WHOLE.slice(0, length)) ?? {};
    const whole = JSON.parse(WHOLE);
    for (const [name, value] of Object.entries(part)) {
      assert.ok(name in whole, `${length}: ${name}`);
      if (typeof value === 'string') assert.ok(whole[name].startsWith(value), `${length}: ${value}`);
      if (Array.isArray(value)) assert.ok(value.length <= whole[name].length);
    }
  }
  assert.deepEqual(partialJson('{"name": "A \\"ha'), { name: 'A "ha' });
  assert.deepEqual(partialJson('{"name": "A \\'), { name: 'A ' });
  assert.deepEqual(partialJson('{"name": "A \\u00'), { name: 'A ' });
  assert.deepEqual(partialJson('{"a": [1, {"b": "c'), { a: [1, { b: 'c' }] });
  assert.deepEqual(partialJson('{"a": tr'), {});
  assert.deepEqual(partialJson('{"a'), {});
  assert.deepEqual(partialJson('[12, 3'), [12, 3]);
  assert.equal(partialJson(''), undefined);
  assert.equal(partialJson('no JSON'), undefined);
  assert.deepEqual(Object.keys(partialJson('{"__proto__": {"x": 1}}')), ['__proto__']);
  assert.deepEqual(partialJson('{"a": "\ud83d'), { a: '' }, 'half of a character');
  assert.ok(Array.isArray(partialJson('['.repeat(100_000))), 'no end of the stack');
  assert.deepEqual(partialJson('{"a" 1}'), {});
});

test('a text grows, the next ends it, and errors are states', async () => {
  plan.writes = 'Hello there!';
  plan.tokenMs = 20;
  const { made } = await store(new CompletionStore(), { maxTokens: 50 });
  const texts = new Set();
  made.subscribe(() => texts.add(made.state().completion));
  assert.deepEqual(made.state(), { completion: '', status: 'idle', error: undefined });
  await made.complete('Once');
  assert.deepEqual(made.state(), { completion: 'Hello there!', status: 'idle', error: undefined });
  assert.ok(texts.size >= 3, [...texts].join('|'));
  assert.equal(seen.started.at(-1).options.maxTokens, 50);
  const [first, second] = [made.complete('a'), made.complete([{ role: 'user', content: 'b' }], { maxTokens: 3 })];
  await Promise.all([first, second]);
  assert.equal(made.state().completion, 'Hel');
  await made.clear();
  assert.equal(made.state().completion, '');
  const stopped = made.complete('a');
  await new Promise((resolve) => made.subscribe(() => made.state().completion.length > 2 && resolve()));
  await made.stop();
  await stopped;
  assert.equal(made.state().status, 'idle');
  assert.ok('Hello there!'.startsWith(made.state().completion) && made.state().completion.length < 12);
  made.configure(undefined, {});
  await made.complete('a');
  assert.deepEqual([made.state().status, made.state().error.code], ['error', 'invalid_argument']);
});

test('an object grows by its schema, and one that is cut off is an error', async () => {
  plan.writes = WHOLE;
  plan.tokenMs = 4;
  const options = { schema: SCHEMA, system: 'Be brief.', temperature: 0 };
  const { made, model } = await store(new ObjectStore(), options);
  const seenSo = [];
  made.subscribe(() => seenSo.push(JSON.stringify(made.state().object)));
  await made.submit('A hare, please.');
  assert.deepEqual(made.state(), { object: JSON.parse(WHOLE), status: 'idle', error: undefined });
  assert.ok(new Set(seenSo).size >= 3, seenSo.join('\n'));
  assert.deepEqual(model.asked, { jsonSchema: SCHEMA });
  const { messages } = seen.templates.at(-1);
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['system', 'user'],
  );
  assert.ok(messages[0].content.startsWith('Be brief.\n\nAnswer with JSON'), messages[0].content);
  made.configure(model, { ...options, max_completion_tokens: 20 });
  await made.submit([{ role: 'user', content: 'x' }]);
  assert.deepEqual([made.state().status, made.state().error.code], ['error', 'limit_exceeded']);
  assert.match(made.state().error.message, /the object was cut off after 20 characters/);
  assert.deepEqual(made.state().object, { name: 'A "hare"' });
});
