// OpenAI's older completions over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, isAbort, plan, resetMock, seen, withCode } from './api.mjs';

const { openai, webggufFetch } = await import(`${dist}openai/index.js`);
await api.init({ wasm: new Uint8Array(8) });

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, writes: ' world!' });
});

const load = () => api.WasmModel.load(Uint8Array.of(1));
const client = async () => openai({ model: await load() }).completions;

test('a text goes on, as OpenAI writes it', async () => {
  const completions = await client();
  const { id, created, ...answer } = await completions.create({ prompt: 'Hello', model: 'mine', max_tokens: 50 });
  assert.match(id, /^cmpl-\w{24}$/);
  assert.ok(Math.abs(created - Date.now() / 1e3) < 600);
  const { usage, ...others } = answer;
  assert.deepEqual(others, {
    object: 'text_completion',
    model: 'mine',
    system_fingerprint: 'webgguf-cpu',
    webgguf: { backend: 'cpu' },
    choices: [{ index: 0, text: ' world!', finish_reason: 'stop', logprobs: null }],
  });
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [6, 7, 13]);
  assert.equal(seen.templates.length, 0);
  await completions.create({ prompt: 'Hello' });
  assert.equal(seen.started.at(-1).options.maxTokens, 16);
});

test('several texts, several answers, token ids, echo and log-probabilities', async () => {
  const completions = await client();
  const { choices, usage } = await completions.create({ prompt: ['a', 'bc'], n: 2, seed: 5, echo: true });
  assert.deepEqual(
    choices.map(({ index, text }) => [index, text]),
    [
      [0, 'a world!'],
      [1, 'a world!'],
      [2, 'bc world!'],
      [3, 'bc world!'],
    ],
  );
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens], [5, 28]);
  assert.deepEqual(
    seen.started.map(({ options }) => options.seed),
    [5, 6, 5, 6],
  );
  await completions.create({ prompt: [72, 105] });
  assert.deepEqual(seen.started.at(-1).ids, [72, 105]);
  const [{ logprobs }] = (await completions.create({ prompt: 'a', logprobs: 1 })).choices;
  assert.equal(logprobs.tokens.join(''), ' world!');
  assert.deepEqual(logprobs.text_offset, [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(logprobs.top_logprobs[1], { w: -0.5 });
});

test('a stream, its end and its routes', async () => {
  const model = await load();
  const { completions } = openai({ model });
  const chunks = [];
  const request = { prompt: 'Hello', stream: true, stream_options: { include_usage: true } };
  for await (const chunk of await completions.create(request)) chunks.push(chunk);
  assert.equal(chunks.map(({ choices }) => choices[0]?.text ?? '').join(''), ' world!');
  assert.equal(chunks.at(-2).choices[0].finish_reason, 'stop');
  assert.equal(chunks.at(-1).usage.completion_tokens, 7);
  const controller = new AbortController();
  const stream = await completions.create(request, { signal: controller.signal });
  const read = async () => {
    for await (const _ of stream) controller.abort();
  };
  await assert.rejects(read(), isAbort);
  let count = 0;
  for await (const _ of await completions.create(request)) if (++count === 2) break;
  assert.equal(seen.running, 0);
  const fetch = webggufFetch({ model });
  const post = (body) => fetch('http://webgguf/v1/completions', { method: 'POST', body: JSON.stringify(body) });
  assert.equal((await (await post({ prompt: 'Hello' })).json()).choices[0].text, ' world!');
  const lines = (await (await post({ prompt: 'Hello', stream: true })).text()).trimEnd().split('\n\n');
  assert.equal(lines.at(-1), 'data: [DONE]');
  assert.equal(lines.length, 9);
  const wrong = await post({ prompt: 'Hello', stream: true, suffix: 'x' });
  assert.deepEqual([wrong.status, (await wrong.json()).error.param], [400, 'suffix']);
});

test('what is wrong is named', async () => {
  const completions = await client();
  const refused = [
    [{}, /field 'prompt' is missing/],
    [{ prompt: [] }, /field 'prompt' must be a string, token ids/],
    [{ prompt: [[]] }, /field 'prompt' must be/],
    [{ prompt: 'x', best_of: 3 }, /field 'best_of' must be 'n', which is 1, found 3/],
    [{ prompt: 'x', logprobs: 9 }, /field 'logprobs' must be an integer from 0 to 5, found 9/],
    [{ prompt: 'x', echo: true, logprobs: 1 }, /'echo' and 'logprobs' exclude each other/],
    [{ prompt: ['x'], suffix: 'y' }, /field 'suffix' needs a 'prompt' that is a string/],
    [{ prompt: 'x', suffix: 'y' }, /field 'suffix': the model's vocabulary has no tokens for gaps/],
    [{ prompt: 'x', messages: [] }, /unknown field 'messages'/],
  ];
  for (const [request, message] of refused) {
    await assert.rejects(completions.create(request), withCode('invalid_argument', message), JSON.stringify(request));
  }
});

test('a server answers in the place of the model', async () => {
  const bodies = [];
  const fetch = async (url, { body }) => {
    bodies.push([String(url), JSON.parse(body)]);
    return Response.json({ object: 'text_completion', choices: [{ index: 0, text: 'far', finish_reason: 'stop' }] });
  };
  const model = Promise.reject(new api.WebggufError('limit_exceeded', 'too large'));
  const { completions } = openai({ model, fallback: { baseURL: 'https://example.com/v1', model: 'm', fetch } });
  const { choices, webgguf } = await completions.create({ prompt: 'a', suffix: 'b' });
  assert.deepEqual([choices[0].text, webgguf.backend], ['far', 'server']);
  assert.deepEqual(bodies, [['https://example.com/v1/completions', { prompt: 'a', suffix: 'b', model: 'm' }]]);
  await assert.rejects(completions.create({ prompt: 5 }), withCode('invalid_argument', /field 'prompt' must be/));
  assert.equal(bodies.length, 1);
});
