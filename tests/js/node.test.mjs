// The package with its WebAssembly in Node.js, on the CPU: what a mock cannot show.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { Gpu, Tokenizer, WasmModel } from '../../dist/index.js';
import { patched, STRING } from './gguf_patch.mjs';

const file = (path) => new Uint8Array(fs.readFileSync(new URL(`../../${path}`, import.meta.url)));
const STORYTELLER = file('www/models/storyteller.gguf');
const CHAT = [{ role: 'user', content: 'Tell me about a hare.' }];

const code = (name) => (error) => {
  assert.equal(error.code, name, error.stack);
  return true;
};

test('without WebGPU, `auto` takes the CPU, and asking for the GPU is an error', async () => {
  const model = await WasmModel.load(STORYTELLER);
  assert.equal(model.info.backend, 'cpu');
  assert.equal(model.info.backendReason, "there is no WebGPU here, which npm's webgpu would add");
  assert.ok((await model.generate('Once', { maxTokens: 3, ignoreEos: true })).text.length > 0);
  await assert.rejects(WasmModel.load(STORYTELLER, { backend: 'webgpu' }), code('webgpu_unavailable'));
  await assert.rejects(Gpu.create(), code('webgpu_unavailable'));
  await model.free();
});

test('where `navigator.gpu` gives no adapter `auto` takes the CPU and says why; no global is left behind', async () => {
  const reasonWith = async (gpu, globals) => {
    const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
    Object.defineProperty(globalThis, 'navigator', { value: { gpu }, configurable: true });
    Object.assign(globalThis, globals);
    try {
      const model = await WasmModel.load(STORYTELLER);
      await model.free();
      assert.equal(model.info.backend, 'cpu');
      return model.info.backendReason;
    } finally {
      for (const name of Object.keys(globals)) delete globalThis[name];
      delete globalThis.navigator;
      if (before) Object.defineProperty(globalThis, 'navigator', before);
    }
  };
  const asked = [];
  const none = {
    requestAdapter: async ({ featureLevel }) => {
      asked.push(featureLevel);
      return null;
    },
  };
  const broken = { requestAdapter: () => Promise.reject(new Error('no driver')) };
  const globals = { GPUDevice: class {} };
  assert.match(await reasonWith(none, {}), /globalThis lacks GPUDevice and the other `globals` of npm's webgpu$/);
  assert.deepEqual(asked, []);
  assert.equal(await reasonWith(none, globals), 'navigator.gpu offers no WebGPU adapter');
  assert.deepEqual(asked, ['core', 'compatibility']);
  assert.equal(await reasonWith(broken, globals), 'navigator.gpu gave no WebGPU adapter: no driver');
  for (const name of ['Window', 'WorkerGlobalScope']) assert.ok(!(name in globalThis), name);
});

test('a file is read by openAsBlob, and its URL is refused with that hint', async () => {
  const url = new URL('../../www/models/storyteller.gguf', import.meta.url);
  const tokenizer = await Tokenizer.load(await fs.openAsBlob(url));
  assert.deepEqual([...tokenizer.tokenize('')], []);
  const hint = (error) => code('download_failed')(error) && /openAsBlob/.test(error.message);
  await assert.rejects(Tokenizer.load(url), hint);
});

test('a thought that is closed stays in the KV cache, and the answer is what follows it', async () => {
  const template = "{% for m in messages %}{{ m.content }}{% endfor %}<think>{{ '\\n' }}";
  const thinker = patched(STORYTELLER, { set: [['tokenizer.chat_template', STRING, template]] });
  const model = await WasmModel.load(new Blob([thinker]), { backend: 'cpu' });
  const request = { messages: CHAT, temperature: 0, max_tokens: 40, reasoning_budget: 10 };
  const { choices, usage } = await model.chat.completions.create(request);
  const [{ message, finish_reason: reason }] = choices;
  const ids = [...(await model.tokenize(`${CHAT[0].content}<think>\n`, { addSpecial: true, parseSpecial: true }))];
  const thought = await model.generate(ids, { maxTokens: 10 });
  assert.equal(message.reasoning_content, thought.text.trim());
  const closing = [...(await model.tokenize('\n</think>\n\n', { parseSpecial: true }))];
  const maxTokens = 40 - 10 - closing.length;
  const answer = await model.generate([...ids, ...thought.ids, ...closing], { maxTokens });
  assert.equal(message.content, answer.text.trimStart());
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens, reason], [ids.length, 40, 'length']);
  const own = await model.generate(CHAT, { maxTokens: 40, reasoningBudget: 10 });
  assert.equal(own.text, `${thought.text}\n</think>\n\n${answer.text}`);
  assert.deepEqual([own.usage.promptTokens, own.usage.completionTokens], [ids.length, 40]);
  const session = model.session();
  assert.equal((await session.send(CHAT[0].content, { maxTokens: 40, reasoningBudget: 10 })).text, own.text);
  assert.equal(session.messages.at(-1).content, own.text);
  await session.free();
  for (const [prompt, more] of [
    ['text', {}],
    [CHAT, { grammar: { json: true } }],
  ]) {
    assert.throws(() => model.generate(prompt, { reasoningBudget: 1, ...more }), code('invalid_argument'));
  }
  // The same prompt again: what was put in is known, too.
  const read = [];
  await model.chat.completions.create(request, { onProgress: ({ loaded }) => read.push(loaded) });
  assert.ok(read[0] >= ids.length - 1, `${read} of ${ids.length}`);
  await model.free();
});

// tests/tokenizer.rs runs the same on the host, where tables of Unicode come from elsewhere.
test('committed vocabularies give in WebAssembly the ids that they give on the host', async () => {
  const folder = 'tests/fixtures/tokenizer';
  const read = (name) => JSON.parse(new TextDecoder().decode(file(`${folder}/${name}`)));
  const vocabularies = [...read('cases.json').vocabularies, read('world.json'), read('plamo.json')];
  assert.equal(vocabularies.length, 12);
  for (const { vocabulary, cases } of vocabularies) {
    const tokenizer = await Tokenizer.load(file(`${folder}/${vocabulary}`));
    for (const [text, plain, special] of cases) {
      const ids = (options) => [...tokenizer.tokenize(text, { addSpecial: false, ...options })];
      assert.deepEqual(ids({ parseSpecial: false }), plain, `${vocabulary}: ${text}`);
      assert.deepEqual(ids({ parseSpecial: true }), special ?? plain, `${vocabulary}: ${text}`);
    }
    tokenizer.free();
  }
});

test('a prompt from applyChatTemplate has one BOS, as messages have', async () => {
  const model = await WasmModel.load(STORYTELLER);
  const text = await model.applyChatTemplate(CHAT);
  const [bos] = await model.tokenize('', { addSpecial: true });
  assert.ok(text.startsWith(await model.detokenize([bos], { showSpecial: true })), 'this template writes BOS');
  const options = { maxTokens: 8, ignoreEos: true };
  const [fromText, fromMessages] = [await model.generate(text, options), await model.generate(CHAT, options)];
  assert.equal(fromText.usage.promptTokens, fromMessages.usage.promptTokens);
  assert.equal(fromText.text, fromMessages.text);
  const plain = await model.generate('Once upon a time', options);
  assert.equal(plain.usage.promptTokens, (await model.tokenize('Once upon a time', { addSpecial: true })).length);
  await model.free();
});

test('content in parts reads like one string', async () => {
  const content = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ];
  const tokenizer = await Tokenizer.load(STORYTELLER);
  assert.equal(
    tokenizer.applyChatTemplate([{ role: 'user', content }]),
    tokenizer.applyChatTemplate([{ role: 'user', content: 'a\nb' }]),
  );
});

test('evaluate fills the logits, and where these cannot be allocated the model stays usable', async () => {
  const model = await WasmModel.load(STORYTELLER);
  const ids = await model.tokenize('Once upon a time there was', { addSpecial: true });
  const { vocabularySize } = model.info;
  const { top1, logprobs, logits } = await model.evaluate(ids, { logits: true });
  assert.equal(logits.length, ids.length * vocabularySize);
  const row = logits.subarray(vocabularySize, 2 * vocabularySize);
  assert.equal(
    row[top1[1]],
    row.reduce((most, value) => Math.max(most, value)),
  );
  const sum = row.reduce((total, value) => total + Math.exp(value), 0);
  assert.ok(Math.abs(row[ids[2]] - Math.log(sum) - logprobs[1]) < 1e-3);

  const Original = globalThis.Float32Array;
  globalThis.Float32Array = class extends Original {
    constructor(...args) {
      if (typeof args[0] === 'number') throw new RangeError('Array buffer allocation failed');
      super(...args);
    }
  };
  try {
    await assert.rejects(model.evaluate(ids, { logits: true }), code('out_of_memory'));
  } finally {
    globalThis.Float32Array = Original;
  }
  assert.deepEqual((await model.evaluate(ids)).logprobs, logprobs);
  await model.free();
});
