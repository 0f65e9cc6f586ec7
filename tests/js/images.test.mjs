// Encoders of images in Node.js, on the CPU path, against llama.cpp: rows, positions, and what a model writes after
// a picture; and what is refused.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { sizeInHeader } from '../../dist/media/header.js';
import { layoutOf } from '../../dist/media/layout.js';
import { languageModel } from '../../dist/prompt-api/index.js';
import { ChatStore } from '../../dist/ui/chat.js';
import { ENCODERS, FIXTURES, LOGPROBS, ROWS, blob, expectationsOf, open } from './encoders.mjs';
import { allRows, NAMES, readPng } from './images.mjs';
import { differenceOfSome } from './sounds.mjs';

for (const name of NAMES) {
  test(`${name}: rows, positions and text as llama.cpp has them`, async () => {
    const expected = expectationsOf(name);
    const model = await open(expected);
    assert.deepEqual(model.info.media, { image: true, audio: false });
    for (const { image, positions, generated, logprobs, ...some } of expected.cases) {
      const picture = readPng(path.join(ENCODERS, image));
      const found = await model.encodeParts([{ text: 'ab ' }, { image: picture }, { text: ' cd' }]);
      const { count, at, rows } = allRows(some);
      assert.equal(found.media[0].embeddings.length, count, `${image}: rows`);
      const apart = differenceOfSome(found.media[0].embeddings, { at, rows });
      assert.ok(apart < ROWS, `${image}: rows differ by ${apart}`);
      if (!generated) continue;
      assert.equal(found.positions, positions, `${image}: positions`);
      const run = model.generate(found.ids, { maxTokens: 8, temperature: 0, ignoreEos: true, logprobs: 0 });
      const chosen = [];
      for await (const { tokens = [] } of run) chosen.push(...tokens);
      assert.deepEqual(
        chosen.map(({ id }) => id),
        generated,
        image,
      );
      chosen.forEach(({ logprob }, at) => {
        assert.ok(Math.abs(logprob - logprobs[at]) < LOGPROBS, `${image}: ${logprob}, expected ${logprobs[at]}`);
      });
    }
    await model.free();
  });
}

test('an image in a message stands between its texts, and is encoded once', async () => {
  const model = await open(expectationsOf('lfm2'));
  const image = readPng(path.join(ENCODERS, 'picture-60x40.png'));
  const content = [
    { type: 'image', image },
    { type: 'text', text: 'What is this?' },
  ];
  const ask = () => model.generate([{ role: 'user', content }], { maxTokens: 3, temperature: 0 }).result;
  const [first, second] = [await ask(), await ask()];
  assert.deepEqual([...second.ids], [...first.ids]);
  assert.ok(first.usage.promptTokens > 70, 'the rows are part of the prompt');
  assert.ok(second.usage.cachedTokens > 70, 'the same image has the same ids');
  const url = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] };
  await assert.rejects(model.generate([url]).result, { code: 'invalid_argument' });
  await model.free();
});

test('an image in a chat completion is read as it is by generate', async () => {
  const model = await open(expectationsOf('lfm2'));
  const image = readPng(path.join(ENCODERS, 'picture-60x40.png'));
  const content = [
    { type: 'image', image },
    { type: 'text', text: 'What is this?' },
  ];
  const messages = [{ role: 'user', content }];
  const { usage } = await model.generate(messages, { maxTokens: 3, temperature: 0 }).result;
  const answer = await model.chat.completions.create({ messages, max_tokens: 3, temperature: 0, n: 2 });
  assert.equal(answer.usage.prompt_tokens, usage.promptTokens, 'the rows are part of the prompt');
  assert.ok(answer.usage.prompt_tokens_details.cached_tokens > 70, 'the image is known');
  const blind = await WasmModel.load(blob(path.join(FIXTURES, 'models', 'lfm2-bf16.gguf')), { backend: 'cpu' });
  await assert.rejects(blind.chat.completions.create({ messages, max_tokens: 3 }), /loaded without an encoder/);
  await Promise.all([model.free(), blind.free()]);
});

test('a request that is ended while its image is downloaded ends at once, and the download with it', async () => {
  const model = await open(expectationsOf('lfm2'));
  const { fetch } = globalThis;
  const ended = new Error('enough');
  let signals = [];
  globalThis.fetch = (_url, { signal }) => {
    signals.push(signal);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  try {
    const requests = {
      generate: (messages, options) => model.generate(messages, options),
      session: (messages, options) => model.session({ overflow: 'truncate' }).send(messages, options),
    };
    for (const ask of Object.values(requests)) {
      signals = [];
      const content = [{ type: 'image', image: 'https://example.com/slow' }];
      const controller = new AbortController();
      const aborted = ask([{ role: 'user', content }], { signal: controller.signal });
      while (signals.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      controller.abort(ended);
      await assert.rejects(aborted.result, ended);
      const stopped = ask([{ role: 'user', content }], {});
      while (signals.length === 1) await new Promise((resolve) => setTimeout(resolve, 1));
      await stopped.stop();
      assert.equal((await stopped.result).finishReason, 'abort');
      assert.ok(signals.every(({ aborted: isOver }) => isOver));
    }
    globalThis.fetch = async () => new Response('x', { status: 404 });
    const lost = [{ role: 'user', content: [{ type: 'image', image: 'https://example.com/lost' }] }];
    await assert.rejects(model.generate(lost).result, { code: 'download_failed', message: /status 404/ });
  } finally {
    globalThis.fetch = fetch;
  }
  await model.free();
});

/** Colours by place, so that no two of these are the same. */
function drawn(width, height, seed) {
  const data = new Uint8Array(width * height * 4).map((_, at) => (at * seed + (at >> 9)) % 251);
  return { width, height, data };
}

const asking = (...images) => [
  { role: 'user', content: [...images.map((image) => ({ type: 'image', image })), { type: 'text', text: 'What?' }] },
];

test('the encoding of images is reported, tile by tile, and that of known ones is not', async () => {
  const model = await open(expectationsOf('idefics3'));
  const reports = [];
  const onProgress = (progress) => progress.stage === 'encode' && reports.push(progress);
  const options = { maxTokens: 1, onProgress };
  await model.generate(asking(drawn(150, 90, 7)), options);
  assert.deepEqual(reports[0], { stage: 'encode', loaded: 0, total: 1, fraction: 0 });
  assert.deepEqual(
    reports.map(({ loaded }) => loaded),
    [0, 0.2, 0.4, 0.6, 0.8, 1],
    'four tiles and an overview',
  );
  await model.session().send(asking(drawn(150, 90, 7)), options);
  assert.equal(reports.length, 6, 'it was met before');
  await model.free();
});

test('a request that is ended while its image is encoded ends at once, and the next one has its turn', async () => {
  const model = await open(expectationsOf('idefics3'));
  const ended = new Error('enough');
  for (const how of ['signal', 'stop']) {
    const controller = new AbortController();
    const image = drawn(150, 90, how.length);
    let tiles = 0;
    const end = () => (how === 'stop' ? void running.stop() : controller.abort(ended));
    const onProgress = () => (tiles += 1) === 2 && end();
    const running = model.generate(asking(image), { maxTokens: 4, signal: controller.signal, onProgress });
    if (how === 'signal') await assert.rejects(running.result, ended);
    else assert.equal((await running.result).finishReason, 'abort');
    assert.equal(tiles, 2, `${how}: no further tile was encoded`);
    const { ids } = await model.generate(asking(image), { maxTokens: 2, ignoreEos: true });
    assert.equal(ids.length, 2, 'and the same image can be asked about again');
  }
  await model.free();
});

test('an encoder that is not kept is loaded again for an image that the model has not met', async () => {
  const { text, encoder } = expectationsOf('idefics3');
  const bytes = fs.readFileSync(path.join(ENCODERS, encoder));
  let loads = 0;
  const read = (offset, length) => {
    loads += offset === 0 ? 1 : 0;
    return bytes.subarray(offset, offset + length);
  };
  const mmproj = { size: bytes.length, read };
  const model = await open({ text, encoder }, { mmproj, keepEncoder: false });
  const kept = await open({ text, encoder });
  const ask = async (seed, of = model) => {
    const { ids } = await of.generate(asking(drawn(60, 40, seed)), { maxTokens: 4, temperature: 0, ignoreEos: true });
    return [...ids];
  };
  const loaded = [loads];
  for (const seed of [7, 7, 11]) {
    assert.deepEqual(await ask(seed), await ask(seed, kept));
    loaded.push(loads);
  }
  const [once] = loaded;
  assert.deepEqual(loaded, [once, 2 * once, 2 * once, 3 * once]);
  const stream = new Blob([bytes]).stream();
  await assert.rejects(open({ text, encoder }, { mmproj: stream, keepEncoder: false }), /'keepEncoder'.*a stream/);
  await Promise.all([model.free(), kept.free()]);
});

test('useChat sends images, and keeps them for the page and for later answers', async () => {
  const model = await open(expectationsOf('lfm2'));
  const store = new ChatStore();
  store.configure(model, { max_completion_tokens: 3, temperature: 0, overflow: 'truncate' });
  const image = readPng(path.join(ENCODERS, 'picture-60x40.png'));
  await store.send('What is this?', { images: [image] });
  await store.send('And now?');
  const { messages, error } = store.state();
  assert.equal(error, undefined);
  assert.deepEqual(
    messages.map(({ role, images }) => [role, images?.length]),
    [
      ['user', 1],
      ['assistant', undefined],
      ['user', undefined],
      ['assistant', undefined],
    ],
  );
  assert.equal(messages[0].content, 'What is this?');
  const { cache_n: read, prompt_n: more } = messages[3].timings;
  assert.ok(read + more > 100, `${read} and ${more} tokens with the rows of the image`);
  await model.free();
});

test('the Prompt API takes images where the model sees', async () => {
  const model = await open(expectationsOf('lfm2'), { contextLength: 512 });
  const LanguageModel = languageModel({ model });
  const expectedInputs = [{ type: 'image' }];
  assert.equal(await LanguageModel.availability({ expectedInputs }), 'available');
  const image = readPng(path.join(ENCODERS, 'picture-60x40.png'));
  const parts = [
    { type: 'image', value: image },
    { type: 'text', value: 'What is ' },
    { type: 'text', value: 'this?' },
  ];
  const prompt = [{ role: 'user', content: parts }];
  const session = await LanguageModel.create({ expectedInputs, samplingMode: 'most-predictable' });
  const usage = await session.measureContextUsage(prompt);
  const textUsage = await session.measureContextUsage('What is this?');
  assert.ok(usage > textUsage + 70, `${usage} tokens with the rows of the image, ${textUsage} without`);
  await session.append(prompt);
  assert.equal(session.contextUsage, usage);
  const signal = AbortSignal.timeout(20_000);
  await session.prompt('Say it.', { signal, responseConstraint: /[a-d]{3}/, omitResponseConstraintInput: true });
  assert.ok(session.contextUsage > usage, 'the picture stays part of the conversation');

  const rejects = (promise, name, message) => assert.rejects(promise, { name, message });
  const assistant = [{ role: 'assistant', content: [parts[0]] }];
  await rejects(session.append(assistant), 'NotSupportedError', /assistants say text/);
  await rejects(session.prompt([{ role: 'user', content: [{ type: 'image', value: 'x.png' }] }]), 'TypeError', /image/);
  const plain = await LanguageModel.create();
  await rejects(plain.prompt(prompt), 'NotSupportedError', /expectedInputs/);
  const text = blob(path.join(FIXTURES, 'models', 'lfm2-bf16.gguf'));
  const blind = await WasmModel.load(text, { backend: 'cpu' });
  for (const model of [blind, text]) {
    const Blind = languageModel({ model, backend: 'cpu' });
    assert.equal(await Blind.availability({ expectedInputs }), 'unavailable');
    assert.equal(await Blind.availability(), 'available');
    await rejects(Blind.create({ expectedInputs }), 'NotSupportedError', /no encoder of images/);
  }
  const later = languageModel({ model: text, mmproj: blob(path.join(ENCODERS, 'lfm2.gguf')), backend: 'cpu' });
  assert.equal(await later.availability({ expectedInputs }), 'available');
  await Promise.all([model.free(), blind.free()]);
});

test('what cannot be read is refused, and the model stays usable', async () => {
  const expected = expectationsOf('lfm2');
  const model = await open(expected);
  const refused = (image, message) =>
    assert.rejects(model.generate([{ role: 'user', content: [{ type: 'image', image }] }]).result, {
      code: 'invalid_argument',
      message,
    });
  await refused({ width: 0, height: 0, data: new Uint8Array(0) }, /0 × 0/);
  await refused({ width: 30_000, height: 30_000, data: new Uint8Array(0) }, /30000 × 30000/);
  await refused({ width: 2, height: 2, data: new Uint8Array(3) }, /expected 16 bytes, found 3/);
  await refused(7, /expected a File/);
  assert.equal((await model.generate('ab', { maxTokens: 2, ignoreEos: true }).result).ids.length, 2);
  await assert.rejects(open({ ...expected, text: 'llama-f32.gguf' }), /rows of 60 values, the model takes 64/);
  const text = blob(path.join(FIXTURES, 'models', 'llama-f32.gguf'));
  await assert.rejects(WasmModel.load(text, { backend: 'cpu', mmproj: text }), /expected an encoder/);
  await assert.rejects(WasmModel.load(blob(path.join(ENCODERS, 'lfm2.gguf')), { backend: 'cpu' }), /option 'mmproj'/);
  const alone = await WasmModel.load(text, { backend: 'cpu' });
  const image = { width: 1, height: 1, data: new Uint8Array(4) };
  const asked = alone.generate([{ role: 'user', content: [{ type: 'image', image }] }]).result;
  await assert.rejects(asked, /loaded without an encoder/);
  await Promise.all([model.free(), alone.free()]);
});

test('inspect says how large an encoder is', async () => {
  const { text, encoder } = expectationsOf('lfm2');
  const model = path.join(FIXTURES, 'models', text);
  const mmproj = path.join(ENCODERS, encoder);
  const found = await WasmModel.inspect(blob(model), { mmproj: blob(mmproj) });
  assert.equal(found.architecture, 'lfm2');
  const { fileBytes, parameters, quantization } = found.encoder;
  const { size } = fs.statSync(mmproj);
  assert.ok(fileBytes <= size && fileBytes > 0.9 * size, `${fileBytes} of ${size} bytes`);
  assert.ok(parameters > 10_000 && quantization, `${parameters} weights, ${quantization}`);
  assert.equal((await WasmModel.inspect(blob(model))).encoder, undefined);
  const wrong = WasmModel.inspect(blob(model), { mmproj: blob(model) });
  await assert.rejects(wrong, { code: 'invalid_argument', message: /architecture lfm2, expected an encoder/ });
});

test('sizes are read from the headers of files', () => {
  const png = fs.readFileSync(path.join(ENCODERS, 'picture-200x121.png'));
  assert.deepEqual(sizeInHeader(png), [200, 121]);
  assert.equal(sizeInHeader(png.subarray(0, 20)), undefined);
  assert.equal(sizeInHeader(new TextEncoder().encode('GGUF and no picture at all')), undefined);
  const jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 17, 8, 0x75, 0x30, 0x12, 0x34];
  assert.deepEqual(sizeInHeader(Uint8Array.from(jpeg)), [0x1234, 0x7530]);
  const webp = [...'RIFF....WEBPVP8X'].map((sign) => sign.charCodeAt(0));
  assert.deepEqual(
    sizeInHeader(Uint8Array.from([...webp, 10, 0, 0, 0, 0, 0, 0, 0, 0x2f, 1, 0, 0xff, 0, 0])),
    [304, 256],
  );
});

test('tiles stand where models expect them', () => {
  const lfm2 = ['<|image_start|>', '<|img_row_1_col_1|>', 0, '<|img_row_1_col_2|>', 1, '<|img_thumbnail|>', 2];
  assert.deepEqual(layoutOf('lfm2', [2, 1, 1]), [...lfm2, '<|image_end|>']);
  assert.deepEqual(layoutOf('gemma3', [0, 0, 0]), ['<start_of_image>', 0, '<end_of_image>']);
  const mark = '<fake_token_around_image>';
  const rows = [`${mark}<row_1_col_1>`, 0, '\n', `${mark}<row_2_col_1>`, 1];
  assert.deepEqual(layoutOf('idefics3', [1, 2, 1]), [...rows, '\n\n', mark, '<global-img>', 2, mark]);
});

test('where nothing decodes images, a file is refused with what to give, and pixels are not saved', async () => {
  const model = await open(expectationsOf('lfm2'));
  const file = path.join(ENCODERS, 'picture-60x40.png');
  const short = { maxTokens: 2, temperature: 0 };
  const of = (image) => ({ role: 'user', content: [{ type: 'image', image }] });
  for (const image of [new Uint8Array(fs.readFileSync(file)), blob(file)]) {
    await assert.rejects(model.generate([of(image)], short).result, {
      name: 'WebggufError',
      code: 'invalid_argument',
      message: /no decoder of image files here: give its pixels, \{ width, height, data \}/,
    });
  }
  const drawing = model.generate([of({ width: 4, height: 4 })], short).result;
  await assert.rejects(drawing, { code: 'invalid_argument', message: /no canvas here: give its pixels/ });
  const session = model.session();
  await session.send(of(readPng(file)), short);
  const named = { name: 'WebggufError', code: 'invalid_argument', message: /^save: the conversation holds pixels/ };
  await assert.rejects(session.save(), named);
  assert.equal((await session.send('ab', short)).finishReason, 'length', 'the session goes on');
  await model.free();
});
