// Encoders of images in a page: they say what llama.cpp says, on the GPU in one page for all, on the CPU some in
// www/evaluate.html; canvases, bitmaps and files are the same image, also from a worker.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { readJson } from '../../tools/common.mjs';
import { ENCODERS } from '../js/encoders.mjs';
import { NAMES } from '../js/images.mjs';
import { testIf } from '../long.mjs';
import { countGpu } from './count_gpu.js';
import { askEncoders, assertAnswer, evaluateEncoder } from './encoders.mjs';
import { openEvaluation } from './site.mjs';

/** Encoders that run on the CPU in a page: Node.js has run all of them there. */
const ON_CPU = ['gemma3', 'lfm3vl-wide', 'glm4v'];

/** The encoders that `npm test` runs on the GPU. */
const QUICK = ['gemma3', 'gemma3nv-odd', 'pixtral', 'lfm3vl', 'lfm3vl-wide', 'hunyuanvl', 'minicpmv', 'resampler'];

const { site, evaluate } = await openEvaluation();

const page = await site.open('/blank');

for (const backend of ['webgpu', 'cpu']) {
  for (const name of backend === 'cpu' ? ON_CPU : NAMES) {
    const declare = testIf(backend === 'cpu' || QUICK.includes(name));
    declare(`${name} on ${backend}: rows and text are those of llama.cpp`, async () => {
      const fixture = readJson(path.join(ENCODERS, `${name}.json`));
      const answers = await (backend === 'cpu' ? evaluateEncoder(evaluate, fixture) : askEncoders(page, fixture));
      assert.equal(answers.length, fixture.cases.length);
      for (const [at, expected] of fixture.cases.entries()) assertAnswer(answers[at], expected, backend);
    });
  }
}

test('a file, a bitmap, a canvas and pixels are the same image, in the page and in a worker', async () => {
  const page = await site.open('/blank');
  const found = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const answers = [];
    for (const worker of [false, true]) {
      const options = { backend: 'cpu', worker, mmproj: '/fixtures/encoders/lfm2.gguf' };
      const model = await WasmModel.load('/fixtures/models/lfm2-bf16.gguf', options);
      const file = await (await fetch('/fixtures/encoders/picture-60x40.png')).blob();
      const bitmap = await createImageBitmap(file);
      const canvas = Object.assign(document.createElement('canvas'), { width: bitmap.width, height: bitmap.height });
      const context = canvas.getContext('2d');
      context.drawImage(bitmap, 0, 0);
      const pixels = context.getImageData(0, 0, bitmap.width, bitmap.height);
      const bytes = new Uint8Array(await file.arrayBuffer());
      const url = '/fixtures/encoders/picture-60x40.png';
      for (const image of [file, bytes, url, bitmap, canvas, pixels]) {
        const content = [
          { type: 'image', image },
          { type: 'text', text: 'What?' },
        ];
        const { ids, usage } = await model.generate([{ role: 'user', content }], { maxTokens: 4, ignoreEos: true })
          .result;
        answers.push({ ids: [...ids], cached: usage.cachedTokens });
      }
      await model.free();
    }
    return answers;
  });
  await page.close();
  for (const [at, { ids, cached }] of found.entries()) {
    assert.deepEqual(ids.length, 4);
    assert.ok(at % 6 === 0 || cached > 70, `image ${at}: ${cached} tokens were read before`);
  }
});

test('a worker reports what it encodes, ends with the request, and gets what is drawn without a copy', async () => {
  const page = await site.open('/blank');
  const found = await page.evaluate(async () => {
    const moved = [];
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (message, transfer, ...rest) {
      if (message.method === 'start') moved.push(transfer.length);
      return postMessage.call(this, message, transfer, ...rest);
    };
    const { WasmModel } = await import('/dist/index.js');
    const options = { backend: 'cpu', worker: true, mmproj: '/fixtures/encoders/idefics3.gguf' };
    const model = await WasmModel.load('/fixtures/models/llama-f32.gguf', options);
    const url = '/fixtures/encoders/picture-150x90.png';
    const file = await (await fetch(url)).blob();
    const canvas = Object.assign(document.createElement('canvas'), { width: 150, height: 90 });
    const drawing = canvas.getContext('2d');
    drawing.drawImage(await createImageBitmap(file), 0, 0);
    const pixels = new ImageData(150, 90);
    const ask = (image, more) =>
      model.generate([{ role: 'user', content: [{ type: 'image', image }] }], {
        maxTokens: 2,
        ignoreEos: true,
        ...more,
      });
    const ended = [];
    // A small picture may be encoded before the worker hears of the abort, so others are tried.
    for (let attempt = 0; attempt < 20 && !(ended.at(-1)?.reports.at(-1) < 1); attempt += 1) {
      drawing.fillRect(attempt, 0, 1, 90);
      const controller = new AbortController();
      const reports = [];
      const onProgress = ({ loaded }) => {
        reports.push(loaded);
        if (reports.length === 2) controller.abort(new Error('enough'));
      };
      const answer = ask(canvas, { onProgress, signal: controller.signal });
      ended.push({ message: await answer.result.catch(({ message }) => message), reports });
    }
    const counts = [];
    for (const image of [canvas, file, file, pixels, pixels]) counts.push((await ask(image)).ids.length);
    await model.free();
    return { moved, ended, counts };
  });
  await page.close();
  const drawn = found.ended.map(() => 1);
  assert.deepEqual(found.moved, [...drawn, 1, 0, 0, 0, 0], 'what a page still has is copied');
  for (const { message } of found.ended) assert.equal(message, 'enough');
  const { reports } = found.ended.at(-1);
  assert.ok(reports.at(-1) < 1, `${reports}: the image was not encoded to its end`);
  assert.deepEqual(found.counts, [2, 2, 2, 2, 2]);
});

test('a chat completion in a worker takes image_url and what a page draws', async () => {
  const page = await site.open('/blank');
  const found = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const options = { backend: 'cpu', worker: true, mmproj: '/fixtures/encoders/lfm2.gguf' };
    const model = await WasmModel.load('/fixtures/models/lfm2-bf16.gguf', options);
    const url = '/fixtures/encoders/picture-60x40.png';
    const bitmap = await createImageBitmap(await (await fetch(url)).blob());
    const canvas = Object.assign(document.createElement('canvas'), { width: 60, height: 40 });
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
    const counts = [];
    for (const part of [
      { type: 'image_url', image_url: { url } },
      { type: 'image', image: canvas },
      { type: 'image', image: bitmap },
    ]) {
      const messages = [{ role: 'user', content: [part, { type: 'text', text: 'What?' }] }];
      const { usage } = await model.chat.completions.create({ messages, max_tokens: 2, n: 2 });
      counts.push(usage.prompt_tokens, (await model.generate(messages, { maxTokens: 1 })).usage.promptTokens);
    }
    await model.free();
    return counts;
  });
  await page.close();
  assert.ok(found[0] > 70, `${found}: with the rows of the image`);
  assert.deepEqual(new Set(found), new Set([found[0]]));
});

/** A PNG file of four channels, lines unfiltered. */
function pngOf({ width, height, data }) {
  const chunk = (type, body) => {
    const named = Buffer.concat([Buffer.from(type, 'latin1'), body]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(body.length);
    sum.writeUInt32BE(zlib.crc32(named));
    return Buffer.concat([length, named, sum]);
  };
  const header = Buffer.from([0, 0, 0, width, 0, 0, 0, height, 8, 6, 0, 0, 0]);
  const lines = Array.from({ length: height }, (_, y) => [0, ...data.slice(y * width * 4, (y + 1) * width * 4)]);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const body = zlib.deflateSync(Buffer.from(lines.flat()));
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', body), chunk('IEND', Buffer.alloc(0))]);
}

test('of a transparent file the colours count, as llama.cpp reads them', async () => {
  const [width, height] = [60, 40];
  // From nothing that is seen to all.
  const value = (_, at) => (at % 4 === 3 ? (at >> 2) % 256 : (at * 7 + (at >> 9)) % 251);
  const data = Array.from({ length: width * height * 4 }, value);
  const png = pngOf({ width, height, data }).toString('base64');
  const page = await site.open('/blank');
  const ask = async ({ png, width, height, data }) => {
    const { WasmModel } = await import('/dist/index.js');
    const options = { backend: 'cpu', mmproj: '/fixtures/encoders/lfm2.gguf' };
    const model = await WasmModel.load('/fixtures/models/lfm2-bf16.gguf', options);
    const url = `data:image/png;base64,${png}`;
    const { pixelsOf } = await import('/dist/media/pixels.js');
    const file = await pixelsOf(url);
    const rows = [];
    for (const image of [url, { width, height, data: Uint8Array.from(data) }]) {
      const { media } = await model.encodeParts([{ image }]);
      rows.push(media[0].embeddings.map((row) => [...row]));
    }
    await model.free();
    return { file: [...file.data], rows };
  };
  const found = await page.evaluate(ask, { png, width, height, data });
  await page.close();
  assert.deepEqual(found.file, data);
  assert.deepEqual(found.rows[0], found.rows[1]);
});

test('what is no image, or too large, is refused before it is decoded', async () => {
  const page = await site.open('/blank');
  const messages = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const model = await WasmModel.load('/fixtures/models/lfm2-bf16.gguf', {
      backend: 'cpu',
      mmproj: '/fixtures/encoders/lfm2.gguf',
    });
    const huge = new Uint8Array(33);
    huge.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    new DataView(huge.buffer).setUint32(16, 30_000);
    new DataView(huge.buffer).setUint32(20, 30_000);
    const canvas = Object.assign(document.createElement('canvas'), { width: 0, height: 0 });
    const found = [];
    for (const image of [huge, new Blob(['no picture']), canvas, '/nothing-here.png']) {
      const asked = model.generate([{ role: 'user', content: [{ type: 'image', image }] }]).result;
      found.push(await asked.then(String, (error) => `${error.code}: ${error.message}`));
    }
    await model.free();
    return found;
  });
  await page.close();
  const expected = [/invalid_argument.*30000 × 30000/, /invalid_argument.*no image/, /0 × 0/, /download_failed/];
  messages.forEach((message, at) => assert.match(message, expected[at]));
});

test('on the GPU nothing is dispatched for an image that the context has no room for', async () => {
  const page = await site.open('/blank');
  const found = await page.evaluate(async () => {
    let dispatches = 0;
    for (const name of ['dispatchWorkgroups', 'dispatchWorkgroupsIndirect']) {
      const original = GPUComputePassEncoder.prototype[name];
      GPUComputePassEncoder.prototype[name] = function (...args) {
        dispatches += 1;
        return original.apply(this, args);
      };
    }
    const { WasmModel } = await import('/dist/index.js');
    const options = { backend: 'webgpu', contextLength: 160, selfCheck: false, mmproj: '/fixtures/encoders/lfm2.gguf' };
    const model = await WasmModel.load('/fixtures/models/lfm2-bf16.gguf', options);
    const ask = (image) =>
      model.generate([{ role: 'user', content: [{ type: 'image', image }] }], { maxTokens: 2, ignoreEos: true }).result;
    const loaded = dispatches;
    const error = await ask('/fixtures/encoders/picture-200x121.png').catch(({ code, message }) => ({ code, message }));
    const refused = dispatches - loaded;
    const { ids } = await ask('/fixtures/encoders/picture-60x40.png');
    await model.free();
    return { error, refused, later: dispatches - loaded, ids: ids.length };
  });
  await page.close();
  assert.equal(found.error.code, 'context_full');
  assert.match(found.error.message, /200 × 121 pixels take \d+ tokens, the context has room for \d+/);
  assert.equal(found.refused, 0, 'nothing was encoded');
  assert.ok(found.later > 0 && found.ids === 2, 'and the model stays usable');
});

test('rows of images leave the GPU once they are read, however a request ends', async () => {
  const page = await site.open('/blank');
  await page.evaluate(countGpu);
  const found = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const mmproj = '/fixtures/encoders/lfm2.gguf';
    // What a prefix cache keeps are buffers, too.
    const options = { backend: 'webgpu', contextLength: 512, mmproj, prefixCache: false };
    const model = await WasmModel.load('/fixtures/models/lfm2-bf16.gguf', options);
    const picture = (seed) => ({
      width: 60,
      height: 40,
      data: new Uint8Array(9600).map((_, at) => (at * seed + (at >> 8)) % 251),
    });
    const said = (...seeds) => ({
      role: 'user',
      content: [...seeds.map((seed) => ({ type: 'image', image: picture(seed) })), { type: 'text', text: 'What?' }],
    });
    const few = { maxTokens: 3, temperature: 0, ignoreEos: true };
    const live = () => ({ ...globalThis.live });
    await model.generate([said(1)], few);
    const session = model.session();
    await session.send(said(1), few);
    await session.send('And?', few);
    const saved = await session.save();
    const [fork, restored] = [await session.fork(), await model.restoreSession(saved)];
    await fork.send('And?', few);
    await restored.send('And?', few);
    const [settled, texts] = [live(), []];
    const counts = {};
    for (let seed = 2; seed < 7; seed += 1) texts.push((await model.generate([said(seed)], few)).text);
    counts.generate = live();
    await model.generate([said(2, 3)], few);
    counts.known = live();
    const controller = new AbortController();
    const onProgress = ({ stage }) => stage === 'prefill' && controller.abort();
    await model.generate([said(8)], { ...few, onProgress, signal: controller.signal }).result.catch(() => {});
    counts.aborted = live();
    const stopped = model.generate([said(9)], few);
    await stopped.stop();
    counts.stopped = live();
    await session.send(said(10), few);
    await fork.send(said(10), few);
    await restored.send(said(11), few);
    counts.sessions = live();
    const ids = (await model.encodeParts([{ image: picture(12) }, { text: ' ab' }])).ids;
    counts.encoded = live();
    await model.generate(ids, few);
    counts.ids = live();
    await model.generate([said(13)], { maxTokens: 3, grammar: { choice: ['a', 'b'] } });
    counts.guided = live();
    const again = (await model.generate([said(2)], few)).text;
    for (const one of [session, fork, restored]) await one.free();
    await model.free();
    return { settled, counts, same: again === texts[0], left: live() };
  });
  await page.close();
  for (const [what, { buffers }] of Object.entries(found.counts)) assert.equal(buffers, found.settled.buffers, what);
  assert.ok(found.same, 'what was read before is read again');
  assert.equal(found.left.devices, 0);
});
