// Videos in a page: files that the browser itself has recorded become frames, in the page's thread and for a worker;
// what it does not decode is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSite } from './site.mjs';

const site = await openSite();
const page = await site.open('/blank');

/** Colours that the test video shows one after the other, each for a second. */
const COLOURS = ['#ff0000', '#00ff00', '#0000ff'];

/** Runs in the page: records the colours, and notes what was recorded as `globalThis.recorded`. */
async function record([colours, width, height]) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d');
  const stream = canvas.captureStream();
  const recorder = new MediaRecorder(stream, { mimeType: 'video/webm;codecs=vp8' });
  const pieces = [];
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  const stopped = new Promise((resolve) => {
    recorder.onstop = resolve;
  });
  recorder.start(100);
  // A busy machine may have recorded nothing yet.
  const bytes = () => pieces.reduce((sum, { size }) => sum + size, 0);
  for (const start = performance.now(); ; ) {
    const at = Math.floor((performance.now() - start) / 1000);
    if (at >= colours.length && bytes() > 500) break;
    context.fillStyle = colours[Math.min(at, colours.length - 1)];
    context.fillRect(0, 0, width, height);
    await new Promise(requestAnimationFrame);
  }
  recorder.stop();
  await stopped;
  globalThis.recorded = new Blob(pieces, { type: 'video/webm' });
  return globalThis.recorded.size;
}

/** Runs in the page: the frames of a video, of each its size and the colour in its middle. */
async function framesInPage(part) {
  const { framesOf } = await import('/dist/video/index.js');
  const { frames, times, seconds } = await framesOf({ video: globalThis.recorded, ...part }, { check: () => {} });
  const middle = ({ width, height, data }) => [...data.slice(2 * width * height + 2 * width).slice(0, 3)];
  return {
    times,
    seconds,
    sizes: frames.map(({ width, height }) => `${width} × ${height}`),
    colours: frames.map(middle).map((channels) => channels.indexOf(Math.max(...channels))),
  };
}

test('a recording becomes frames at the rate that is wanted, each with its time', async () => {
  assert.ok((await page.evaluate(record, [COLOURS, 320, 200])) > 500);
  for (const [part, most] of [
    [{}, 32],
    [{ fps: 4 }, 32],
    [{ fps: 30, maxFrames: 5 }, 5],
    [{ maxFrames: 1 }, 1],
  ]) {
    const { times, seconds, sizes, colours } = await page.evaluate(framesInPage, part);
    assert.ok(seconds > 2 && seconds < 20, `${seconds} s`);
    const count = Math.min(most, Math.ceil(seconds * (part.fps ?? 2) - 1e-6));
    assert.equal(times.length, count, JSON.stringify(part));
    const step = Math.max(1 / (part.fps ?? 2), seconds / count);
    times.forEach((time, at) => assert.ok(Math.abs(time - at * step) < 1e-6, `${times}`));
    assert.ok(times.at(-1) < seconds);
    assert.deepEqual(new Set(sizes), new Set(['320 × 200']));
    assert.equal(colours[0], 0, `${colours}`);
    assert.deepEqual(colours, colours.toSorted(), `${colours}: the colours follow each other`);
    if (count > 3) assert.deepEqual([...new Set(colours)], [0, 1, 2]);
  }
});

test('a large video gives smaller frames', async () => {
  await page.evaluate(record, [COLOURS.slice(0, 1), 1280, 720]);
  const { sizes } = await page.evaluate(framesInPage, { maxFrames: 2 });
  const [width, height] = sizes[0].split(' × ').map(Number);
  assert.ok(width * height <= 2 ** 19 && width * height > 2 ** 18, sizes[0]);
  assert.ok(Math.abs(width / height - 16 / 9) < 0.01);
});

test('a model sees a recording, in the page and in a worker', async () => {
  await page.evaluate(record, [COLOURS.slice(0, 2), 64, 40]);
  const found = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const answers = [];
    for (const worker of [false, true]) {
      const options = { backend: 'cpu', worker, mmproj: '/fixtures/encoders/qwen3vl.gguf' };
      const model = await WasmModel.load('/fixtures/models/qwen3vl-f16.gguf', options);
      const content = [
        { type: 'video', video: globalThis.recorded, fps: 1, maxFrames: 2 },
        { type: 'text', text: 'What?' },
      ];
      const session = model.session();
      const ask = { maxTokens: 4, ignoreEos: true, temperature: 0 };
      const { ids, usage } = await session.send({ role: 'user', content }, ask).result;
      const again = await session.send('And?', ask).result;
      const saved = await session.save();
      const restored = await model.restoreSession(saved);
      const { video } = restored.messages[0].content[0];
      const { promptTokens } = usage;
      answers.push({ ids: [...ids], promptTokens, cached: again.usage.cachedTokens, saved: video.slice(0, 16) });
      await model.free();
    }
    return answers;
  });
  assert.deepEqual(found[1], found[0]);
  assert.ok(found[0].promptTokens > 20 && found[0].cached >= found[0].promptTokens, JSON.stringify(found[0]));
  assert.equal(found[0].saved, 'data:video/webm;');
});

test('what the browser does not decode is refused; a request that is ended ends the decoder', async () => {
  const found = await page.evaluate(async () => {
    const { framesOf } = await import('/dist/video/index.js');
    const said = async (video, signal, more) =>
      framesOf({ video, ...more }, { check: () => {} }, signal).then(
        () => 'frames',
        ({ code, name, message }) => `${code ?? name}: ${message}`,
      );
    const wave = new Uint8Array(44 + 3200);
    wave.set(new TextEncoder().encode('RIFF'), 0);
    new DataView(wave.buffer).setUint32(4, 36 + 3200, true);
    wave.set(new TextEncoder().encode('WAVEfmt '), 8);
    new Uint8Array(wave.buffer).set([16, 0, 0, 0, 1, 0, 1, 0, 0x80, 0x3e, 0, 0, 0, 0x7d, 0, 0, 2, 0, 16, 0], 16);
    wave.set(new TextEncoder().encode('data'), 36);
    new DataView(wave.buffer).setUint32(40, 3200, true);
    const cut = globalThis.recorded.slice(0, 120, 'video/webm');
    const ended = new AbortController();
    const aborted = said(globalThis.recorded, ended.signal, { fps: 60 });
    ended.abort(new Error('enough'));
    return {
      text: await said(new Blob(['no video'], { type: 'video/mp4' })),
      sound: await said(new Blob([wave], { type: 'audio/wav' })),
      cut: await said(cut),
      empty: await said(new Blob([])),
      aborted: await aborted,
    };
  });
  assert.match(found.text, /^invalid_argument: video: the file of 8 bytes is no video that this browser decodes/);
  assert.match(found.sound, /^invalid_argument: video: the file of 3244 bytes has pictures of 0 × 0 pixels/);
  assert.match(found.cut, /^invalid_argument: video: the file of 120 bytes/);
  assert.match(found.empty, /^invalid_argument: video: the file of 0 bytes/);
  assert.equal(found.aborted, 'Error: enough');
});
