// An embedder of texts, images and sounds in Node.js, on the CPU path, against llama.cpp: vectors of inputs with parts,
// how they are given, and what is refused.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { CASES, FOLDER, apart, contentOf, tokensOf, unit } from './embed_media.mjs';
import { ENCODERS, FIXTURES, blob } from './encoders.mjs';

const text = () => blob(path.join(FOLDER, 'embed-media.gguf'));
const mmproj = () => blob(path.join(FOLDER, 'encoders.gguf'));
const open = (options) => WasmModel.load(text(), { backend: 'cpu', mmproj: mmproj(), ...options });
const model = await open();
after(() => model.free());

/** How far vectors of length 1 may be off. */
const CLOSE = 1e-4;
const near = (found, expected, what) => {
  const off = apart(found, expected);
  assert.ok(off < CLOSE, `${what}: off by ${off}`);
};
const refused = (promise, message, code = 'invalid_argument') => assert.rejects(promise, { code, message });

const inputs = CASES.map(({ parts }) => ({ content: contentOf(parts) }));
const [picture] = contentOf([{ image: 'picture-60x40.png' }]);
const [sound] = contentOf([{ audio: 'sound-8219.wav' }]);

test('texts, images and sounds become the vectors that llama.cpp makes of them', async () => {
  assert.deepEqual(model.info.media, { image: true, audio: true });
  const found = await model.embed(inputs);
  for (const [at, { embedding }] of CASES.entries()) near(found[at], unit(embedding), `case ${at}`);
  const plain = await model.embed(inputs, { normalize: false });
  for (const [at, { embedding }] of CASES.entries()) {
    near(unit(plain[at]), unit(embedding), `case ${at}`);
    assert.ok(Math.abs(Math.hypot(...plain[at]) / Math.hypot(...embedding) - 1) < CLOSE);
  }
  const cut = await model.embed(inputs, { dimensions: 11 });
  for (const [at, { embedding }] of CASES.entries()) near(cut[at], unit(embedding, 11), `case ${at}, cut`);
});

test('an input is a text, a part, or a content; and one of them gives one vector', async () => {
  const [first, , third, , , last] = CASES.map(({ embedding }) => unit(embedding));
  near(await model.embed(picture), first, 'a part');
  near(await model.embed({ content: 'nobody knows' }), last, 'a text as content');
  const found = await model.embed(['nobody knows', sound, Uint32Array.from(CASES[5].pieces[0]), picture]);
  for (const [at, expected] of [last, third, last, first].entries()) near(found[at], expected, `input ${at}`);
  const url = `data:audio/wav;base64,${fs.readFileSync(path.join(ENCODERS, 'sound-8219.wav')).toString('base64')}`;
  near(await model.embed({ type: 'audio', audio: url }), third, 'an address');
  const [, data] = url.split(',');
  near(await model.embed({ type: 'input_audio', input_audio: { data, format: 'wav' } }), third, 'a part of OpenAI');
});

test('the prompt of a task stands before texts and contents', async () => {
  const [, ...others] = contentOf(CASES[4].parts);
  const found = await model.embed({ content: others }, { task: 'search query' });
  near(found, unit(CASES[4].embedding), 'a query with pictures and a sound');
  const [query, document] = [await model.embed('bread', { task: 'search query' }), await model.embed('bread')];
  assert.ok(apart(query, document) > 0.01);
  near(query, await model.embed('task: search result | query: bread'), 'a query');
  near(await model.embed('bread', { task: 'document' }), await model.embed('title: none | text: bread'), 'a document');
});

test('many images go through the model a few at a time, and onProgress hears it', async () => {
  const all = Array.from({ length: 40 }, () => picture);
  const told = [];
  const found = await model.embed(all, { onProgress: ({ loaded }) => told.push(loaded) });
  assert.ok(told.length > 3 && told.at(-1) === 40, `${told}`);
  for (const vector of found) near(vector, unit(CASES[0].embedding), 'each');
});

test('what a page writes over afterwards is another image', async () => {
  const { image } = contentOf([{ image: 'picture-60x40.png' }])[0];
  const found = model.embed({ type: 'image', image });
  await new Promise((resolve) => setTimeout(resolve, 0));
  image.data.fill(7);
  near(await found, unit(CASES[0].embedding), 'as it was');
  assert.ok(apart(await model.embed({ type: 'image', image }), unit(CASES[0].embedding)) > 0.01);
});

test("OpenAI's embeddings take contents, also in its shapes, and count their rows", async () => {
  const [, data] = [0, fs.readFileSync(path.join(ENCODERS, 'sound-8219.wav')).toString('base64')];
  const content = [
    { type: 'text', text: 'warm bread' },
    { type: 'input_audio', input_audio: { data, format: 'wav' } },
  ];
  const own = [{ type: 'text', text: 'warm bread' }, sound];
  const request = { input: [{ content }, 'nobody knows'], dimensions: 20 };
  const { data: found, usage } = await model.embeddings.create(request);
  near(found[0].embedding, await model.embed({ content: own }, { dimensions: 20 }), 'with a sound');
  near(found[1].embedding, unit(CASES[5].embedding, 20), 'a text');
  const one = await model.embeddings.create({ input: { content: contentOf(CASES[4].parts) } });
  assert.deepEqual(one.usage, { prompt_tokens: tokensOf(CASES[4]), total_tokens: tokensOf(CASES[4]) });
  const { length } = await model.tokenize('warm bread', { addSpecial: true });
  assert.equal(usage.prompt_tokens, length + 2 + 13 + tokensOf(CASES[5]));
  const [, , ...behind] = contentOf(CASES[4].parts);
  const asked = await model.embeddings.create({ input: [{ content: behind }, 'bread'], task: 'search query' });
  assert.equal(asked.data.length, 2);
  near(asked.data[1].embedding, await model.embed('bread', { task: 'search query' }), 'a task');
});

test('what is no input, has no encoder, or does not fit is refused', async () => {
  await refused(model.embed({ type: 'smell', smell: 1 }), /text 0: content\[0\] must be .*, found an object/);
  await refused(model.embed(['a', { content: [] }]), /text 1: content must be a string or an array of parts/);
  await refused(model.embed({ content: 5 }), /text 0: content must be .*, found 5/);
  await refused(model.embed('a', { task: 'search' }), /'task' must be one of 'search query', .*, found 'search'/);
  await refused(model.embed('a', { task: 5 }), /'task' must be a string/);
  await refused(model.embed([[5]], { task: 'document' }), /text 0 is token ids/);
  await refused(model.embed({ type: 'image', image: Uint8Array.of(1, 2) }), /image/);
  const small = await open({ contextLength: 70 });
  await refused(small.embed(picture), /60 × 40 pixels take 70 tokens, the context has room for 68/, 'context_full');
  await small.embed('nobody knows');
  await small.free();
  const exact = await open({ contextLength: 74 });
  near(await exact.embed(picture), unit(CASES[0].embedding), 'a context that is just large enough');
  await exact.free();
  const blind = await WasmModel.load(text(), { backend: 'cpu' });
  await refused(blind.embed(picture), /^the model was loaded without an encoder of images/);
  await blind.free();
  const others = blob(path.join(FIXTURES, 'embedders', 'bert-f16.gguf'));
  const bert = await WasmModel.load(others, { backend: 'cpu' });
  await refused(bert.embed('a', { task: 'document' }), /architecture bert want .* is not known/);
  await bert.free();
  await refused(WasmModel.load(others, { backend: 'cpu', mmproj: mmproj() }), /architecture bert embed texts alone/);
  const wider = blob(path.join(FIXTURES, 'embedders', 'gemma-embedding2-q8_0.gguf'));
  await refused(WasmModel.load(wider, { backend: 'cpu', mmproj: mmproj() }), /rows of 44 values, the model takes 64/);
});
