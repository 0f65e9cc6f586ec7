// What images and sounds are read from: bytes that a page writes over, files that were decoded before, addresses that
// are gone, servers that give too much or nothing, and headers that lie.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { mock, test } from 'node:test';
import { digestOfFile } from '../../dist/media/digest.js';
import { download } from '../../dist/media/kept.js';
import { MOST_BYTES } from '../../dist/media/kept.js';
import { sizeOfRareKind } from '../../dist/load/picture-kinds.js';
import { sizeInHeader } from '../../dist/media/header.js';
import { fixedMedia } from '../../dist/model/media-messages.js';
import { mediaModule } from '../../dist/media/module.js';
import { pixelsOf } from '../../dist/media/pixels.js';
import { samplesOf, waveOf } from '../../dist/media/samples.js';
import { openai, webggufFetch } from '../../dist/openai/index.js';
import { ChatStore } from '../../dist/ui/chat.js';
import { ENCODERS, expectationsOf, open } from './encoders.mjs';
import { readPng } from './images.mjs';
import { soundOf } from './sounds.mjs';

const other = { samples: soundOf(8000).samples.map((_, at) => Math.sin(at / 20) / 2), sampleRate: 16000 };
const bytesOf = async (sound) => new Uint8Array(await waveOf(sound).arrayBuffer());
const firstOf = (pixels) => [...pixels.data.slice(0, 4)];

test('a buffer that is used again is read again, whatever it holds', async () => {
  const model = await open(expectationsOf('ultravox'));
  const rowsOf = async (audio) => [...(await model.encodeParts([{ audio }])).media[0].embeddings[0].slice(0, 8)];
  const [one, two] = [await bytesOf(soundOf(8000)), await bytesOf(other)];
  const right = await rowsOf(two.slice());
  for (const view of [(buffer) => buffer, (buffer) => buffer.buffer]) {
    const buffer = one.slice();
    await rowsOf(view(buffer));
    buffer.set(two);
    assert.deepEqual(await rowsOf(view(buffer)), right);
  }
  const samples = soundOf(8000).samples.slice();
  const first = await rowsOf({ samples, sampleRate: 16000 });
  samples.set(other.samples);
  assert.notDeepEqual(await rowsOf({ samples, sampleRate: 16000 }), first);
  await model.free();
});

test('a request reads what it was given at the call, whatever a page writes there later', async () => {
  const model = await open(expectationsOf('lfm2'));
  const picture = readPng(path.join(ENCODERS, 'picture-60x40.png'));
  const ask = (image) =>
    model.generate([{ role: 'user', content: [{ type: 'image', image }] }], { maxTokens: 4, ignoreEos: true });
  const right = [...(await ask(picture)).ids];
  const data = picture.data.slice();
  const [busy, asked] = [ask({ ...picture, data: data.map((byte) => 255 - byte) }), ask({ ...picture, data })];
  data.fill(7);
  await busy;
  assert.deepEqual([...(await asked).ids], right);
  const session = model.session();
  const frame = { ...picture, data: picture.data.slice() };
  await session.send({ role: 'user', content: [{ type: 'image', image: frame }] }, { maxTokens: 1 });
  frame.data.fill(7);
  assert.deepEqual(firstOf(session.messages[0].content[0].image), firstOf(picture), 'what was said stays');
  assert.deepEqual(firstOf(await pixelsOf(picture)), firstOf(picture));
  assert.notEqual((await pixelsOf(picture)).data.buffer, picture.data.buffer, 'nobody else writes into it');
  await model.free();
});

test('the same bytes are decoded once, in a bounded store; what failed is decoded again', async () => {
  let [calls, wrong] = [0, true];
  globalThis.OfflineAudioContext = class {
    async decodeAudioData() {
      calls += 1;
      if (wrong) throw new DOMException('too many contexts', 'EncodingError');
      // 16 MB of samples.
      const channel = new Float32Array(4 << 20).fill(0.1);
      return { numberOfChannels: 1, sampleRate: 16000, length: channel.length, getChannelData: () => channel };
    }
  };
  const file = (seed) => new Blob([new Uint8Array(100).fill(seed)]);
  try {
    await assert.rejects(samplesOf(file(1)), /no sound/);
    wrong = false;
    const [found, again] = await Promise.all([samplesOf(file(1)), samplesOf(file(1))]);
    assert.equal(calls, 2, 'once after the failure, for two objects');
    assert.equal(found.samples, again.samples);
    for (const seed of [2, 3, 4, 5]) await samplesOf(file(seed));
    assert.equal(calls, 6);
    await samplesOf(file(5));
    assert.equal(calls, 6, 'the last ones are kept');
    await samplesOf(file(1));
    assert.equal(calls, 7, '64 MB are kept, and no more');
  } finally {
    delete globalThis.OfflineAudioContext;
  }
});

/** `fetch` of these files by their addresses, which counts. */
async function withFiles(files, work) {
  const { fetch } = globalThis;
  const asked = [];
  globalThis.fetch = (url, ...rest) => {
    if (/^data:/.test(url)) return fetch(url, ...rest);
    asked.push(String(url));
    const file = files[url];
    return Promise.resolve(file ? new Response(file) : new Response('', { status: 404 }));
  };
  try {
    await work(asked);
  } finally {
    globalThis.fetch = fetch;
  }
}

test('the addresses of a conversation are asked once, also where they are gone later', async () => {
  const model = await open(expectationsOf('qwen3a'));
  const [first, second, third] = ['blob:https://page/1', 'https://example.com/2.wav', 'https://example.com/3.wav'];
  const files = { [first]: waveOf(soundOf(8000)), [second]: waveOf(other) };
  const said = (audio) => ({ role: 'user', content: [{ type: 'audio', audio }] });
  const options = { maxTokens: 1, ignoreEos: true };
  await withFiles(files, async (asked) => {
    const session = model.session({ messages: [said(new URL(second)), { role: 'assistant', content: 'ok' }] });
    await session.send(said(first), options);
    delete files[first];
    const before = session.messages.length;
    await assert.rejects(session.send(said(third), options).result, { code: 'download_failed', message: /404/ });
    assert.equal(session.messages.length, before, 'an error leaves the conversation as it was');
    await session.send('And?', options);
    await session.countTokens();
    const fork = await session.fork();
    await fork.send('And?', options);
    const again = await model.restoreSession(await session.save());
    await again.send('And?', options);
    files[third] = waveOf(soundOf(8000));
    await session.send(said(third), options);
    assert.deepEqual(asked.toSorted(), [first, second, third, third].toSorted());
    const link = { type: 'input_audio', input_audio: { data: 'AQID', format: 'wav' } };
    const messages = [{ role: 'user', content: [link, { type: 'text', text: 'a' }] }];
    assert.equal(await fixedMedia(messages), messages, 'what is there stays as it is');
  });
  await withFiles({ [first]: waveOf(soundOf(8000)) }, async (asked) => {
    const store = new ChatStore();
    store.configure(model, { max_completion_tokens: 1, temperature: 0 });
    for (const sounds of [[first], []]) await store.send('What?', { sounds });
    await store.regenerate();
    assert.equal(store.state().error, undefined);
    assert.deepEqual([asked, store.state().messages[0].sounds], [[first], [first]], 'a page shows what it gave');
  });
  await model.free();
});

test('too many bytes are refused, said or not, and the rest is not read', async () => {
  const { fetch } = globalThis;
  let [given, ended] = [0, false];
  const body = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array((given += 1) && 16 << 20)),
      cancel: () => void (ended = true),
    });
  try {
    for (const [what, headers, most] of [
      ['image', { 'content-length': `${MOST_BYTES.image + 1}` }, 2],
      ['image', {}, MOST_BYTES.image / (16 << 20) + 2],
      ['audio', {}, MOST_BYTES.audio / (16 << 20) + 3],
    ]) {
      [given, ended] = [0, false];
      globalThis.fetch = async () => new Response(body(), { headers });
      const message = /a file of \d+ bytes, at most \d+ are taken/;
      await assert.rejects(download(what, 'https://example.com/x'), { code: 'invalid_argument', message });
      assert.ok(ended && given <= most, `${given} pieces`);
    }
  } finally {
    globalThis.fetch = fetch;
  }
});

test('a server that gives nothing is left, before its headers and after some bytes', async () => {
  const { fetch } = globalThis;
  mock.timers.enable({ apis: ['setTimeout'] });
  let signal;
  const hanging = [
    () => new Promise(() => {}),
    async () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(9)) })),
  ];
  try {
    for (const answer of hanging) {
      globalThis.fetch = (_url, options) => {
        ({ signal } = options);
        return answer();
      };
      const failed = assert.rejects(download('image', 'https://example.com/x'), {
        code: 'download_failed',
        message: /no byte for 30 s/,
      });
      for (let turn = 0; turn < 20; turn += 1) await null;
      mock.timers.tick(29_999);
      for (let turn = 0; turn < 20; turn += 1) await null;
      assert.equal(signal.aborted, false);
      mock.timers.tick(1);
      await failed;
      assert.equal(signal.aborted, true);
    }
  } finally {
    mock.timers.reset();
    globalThis.fetch = fetch;
  }
});

test('no listener stays at the signal of a download', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  let listening = 0;
  const [add, remove] = [signal.addEventListener, signal.removeEventListener];
  Object.assign(signal, {
    addEventListener: (...args) => void ((listening += 1), add.apply(signal, args)),
    removeEventListener: (...args) => void ((listening -= 1), remove.apply(signal, args)),
  });
  await withFiles({ 'https://example.com/x': new Blob(['x']) }, async () => {
    await download('image', 'https://example.com/x', signal);
    await assert.rejects(download('image', 'https://example.com/y', signal), { code: 'download_failed' });
  });
  assert.equal(listening, 0);
});

test('data URLs and base64 that are damaged are mistakes of the request', async () => {
  const model = await open(expectationsOf('ultravox'));
  const send = webggufFetch({ model });
  const ask = async (part) => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: [part] }], max_tokens: 1 });
    const response = await send('http://webgguf/v1/chat/completions', { method: 'POST', body });
    const { error } = await response.json();
    return [response.status, error?.code, error?.message];
  };
  for (const data of ['!!!', 'AQI', 'AQID\u0000', '=', 'UklGRg==']) {
    const [status, , message] = await ask({ type: 'input_audio', input_audio: { data, format: 'wav' } });
    assert.equal(status, 400, message);
    assert.match(message, /^audio: /);
  }
  const odd = { data: 'AQID', format: 'wav;base64,AAAA,' };
  assert.equal((await ask({ type: 'input_audio', input_audio: odd }))[0], 400);
  await assert.rejects(download('image', 'data:image/png;base64,!!!'), { code: 'invalid_argument' });
  await assert.rejects(download('image', 'data:'), { code: 'invalid_argument' });
  await assert.rejects(download('image', 'http://['), { code: 'invalid_argument', message: /no address/ });
  const client = openai({ model });
  const file = new Blob(['no sound']);
  await assert.rejects(client.audio.transcriptions.create({ file }), { code: 'invalid_argument' });
  await model.free();
});

test('long sounds are read in short steps, of any rate and kind', async () => {
  const { Samples, Sound } = await mediaModule();
  const most = { push: 0, bytes: 0, sound: 0 };
  const { push, pushBytes } = Samples.prototype;
  const noted = (name, work) =>
    function (piece) {
      most[name] = Math.max(most[name], piece.length);
      return work.call(this, piece);
    };
  Samples.prototype.push = noted('push', push);
  Samples.prototype.pushBytes = noted('bytes', pushBytes);
  // Each look at the clock is later than a step may take: there is a pause behind every step.
  let clock = 0;
  const now = mock.method(performance, 'now', () => (clock += 20));
  let pauses = 0;
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (work, ...rest) => setTimeout(work, ...rest, (pauses += 1));
  try {
    for (const rate of [8000, 44_100, 767_999]) {
      pauses = 0;
      const samples = new Float32Array(500_000).fill(0.1);
      const found = await samplesOf({ samples, sampleRate: rate });
      assert.equal(found.samples.length, Math.ceil((500_000 * 16_000) / rate));
      assert.ok(pauses >= 500_000 / 16_384 - 2, `${rate}: ${pauses} pauses`);
    }
    pauses = 0;
    await samplesOf(waveOf({ samples: new Float32Array(500_000).fill(0.2), sampleRate: 48_000 }));
    assert.ok(pauses >= 500_000 / 16_384 - 2, `${pauses} pauses for a file`);
    const channels = [new Float32Array(100_000).fill(0.5), new Float32Array(100_000).fill(-0.25)];
    const buffer = { numberOfChannels: 2, sampleRate: 16_000, length: 100_000, getChannelData: (at) => channels[at] };
    pauses = 0;
    assert.equal((await samplesOf(buffer)).samples[99_999], 0.125);
    assert.ok(pauses >= 4, `${pauses} pauses for two channels`);
  } finally {
    Object.assign(Samples.prototype, { push, pushBytes });
    now.mock.restore();
    globalThis.setTimeout = setTimeout;
  }
  assert.ok(most.push <= 16_384 && most.bytes <= 4 * 16_384, JSON.stringify(most));
  const sound = new Sound('ultravox', Float64Array.of(80, 8, 32), 480_000);
  sound.push(new Float32Array(480_000));
  let steps = 1;
  while (!sound.step()) steps += 1;
  sound.free();
  assert.ok(steps > 20, `${steps} steps for half a minute`);
});

test('without a secure context bytes are hashed with pauses, and to the same digest again', async () => {
  const { crypto } = globalThis;
  const bytes = new Uint8Array(3 << 20).map((_, at) => at % 251);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  Object.defineProperty(globalThis, 'crypto', { value: {}, configurable: true });
  let clock = 0;
  const now = mock.method(performance, 'now', () => (clock += 20));
  try {
    const [one, two] = [await digestOfFile(bytes), await digestOfFile(bytes)];
    assert.equal(one, two);
    assert.ok(turns > 10, `${turns} turns of the page`);
  } finally {
    now.mock.restore();
    clearInterval(timer);
    Object.defineProperty(globalThis, 'crypto', { value: crypto, configurable: true, writable: true });
  }
});

test('damaged WAV files are refused, and end where they are cut', async () => {
  const whole = await bytesOf(soundOf(4000));
  for (const end of [4, 11, 12, 19, 30, 43, 44]) await assert.rejects(samplesOf(whole.slice(0, end)), /audio: /);
  assert.equal((await samplesOf(whole.slice(0, 444))).samples.length, 100);
  const unknown = whole.slice();
  new DataView(unknown.buffer).setUint32(40, 0, true);
  assert.equal((await samplesOf(unknown)).samples.length, 4000, 'a size of 0: up to the end');
  const list = Buffer.concat([whole.subarray(0, 12), Buffer.from('LIST\x03\0\0\0abc\0'), whole.subarray(12)]);
  assert.equal((await samplesOf(new Uint8Array(list))).samples.length, 4000, 'with another part before');
});

const words = (...values) => Buffer.concat(values.map((value) => Buffer.from(value, 'latin1')));
const big = (bytes, value) => Buffer.from(value.toString(16).padStart(2 * bytes, '0'), 'hex');
const little = (bytes, value) => big(bytes, value).reverse();
const box = (kind, ...body) => words(big(4, 8 + words(...body).length), kind, ...body);
const ispe = (width, height) => box('ispe', big(4, 0), big(4, width), big(4, height));

test('headers of all kinds say their size, and of several the largest', () => {
  const png = (width, height) => words('\x89PNG\r\n\x1a\n', big(4, 13), 'IHDR', big(4, width), big(4, height));
  const jpeg = (...segments) => words('\xff\xd8', ...segments, '\xff\xda\0\x02');
  const frame = (kind, width, height) => words('\xff', kind, '\0\x0b\x08', big(2, height), big(2, width), '\0\0\0\0');
  const app = words('\xff\xe1\xff\xff', Buffer.alloc(65_533));
  const gif = (screen, ...behind) => words('GIF89a', ...screen.map((side) => little(2, side)), '\0\0\0', ...behind);
  const descriptor = (...sides) => words(',', ...sides.map((side) => little(2, side)), '\0');
  const bitmap = words(little(4, 40), little(4, 300), little(4, 200));
  const avif = (...boxes) => words(box('ftyp', 'avif', big(4, 0)), ...boxes);
  const meta = (...sizes) => box('meta', big(4, 0), box('iprp', box('ipco', ...sizes.map((size) => ispe(...size)))));
  const track = box('av01', Buffer.alloc(24), big(2, 640), big(2, 480), Buffer.alloc(50));
  const frames = box('stbl', box('stsd', big(4, 0), big(4, 1), track));
  const movie = box('moov', box('trak', box('mdia', box('minf', frames))));
  const icon = (...pictures) => {
    const starts = pictures.map((_, at) => 6 + 16 * pictures.length + 100 * at);
    const entries = starts.map((start) => words(Buffer.alloc(12), little(4, start)));
    const padded = pictures.map((picture) => words(picture, Buffer.alloc(100 - picture.length)));
    return words('\0\0\x01\0', little(2, pictures.length), ...entries, ...padded);
  };
  const tag = (number, value) => words(little(2, number), little(2, 4), little(4, 1), little(4, value));
  const tiff = words('II*\0', little(4, 8), little(2, 2), tag(256, 70_000), tag(257, 3));
  for (const [what, file, expected] of [
    ['PNG', png(30_000, 7), [30_000, 7]],
    ['JPEG', jpeg(frame('\xc0', 640, 480)), [640, 480]],
    ['JPEG, progressive, behind much else', jpeg(app, app, app, app, app, frame('\xc2', 9000, 8000)), [9000, 8000]],
    ['JPEG with filling bytes', jpeg('\xff\xff\xff', frame('\xc1', 640, 480)), [640, 480]],
    ['JPEG with two frames', jpeg(frame('\xc0', 6, 4), frame('\xc0', 60_000, 40_000)), [60_000, 40_000]],
    ['GIF', gif([60, 40], descriptor(0, 0, 60, 40)), [60, 40]],
    ['GIF, a frame beyond its screen', gif([1, 1], descriptor(5, 6, 60_000, 50_000)), [60_005, 50_006]],
    ['GIF with a comment before', gif([1, 1], '!\xfe\x02ab\0', descriptor(0, 0, 70, 80)), [70, 80]],
    ['BMP', words('BM', Buffer.alloc(12), bitmap), [300, 200]],
    [
      'BMP, from the top',
      words('BM', Buffer.alloc(12), little(4, 40), little(4, 3), Buffer.from('38ffffff', 'hex')),
      [3, 200],
    ],
    ['AVIF', avif(meta([800, 600])), [800, 600]],
    ['AVIF with a small preview', avif(meta([80, 60], [40_000, 30_000], [8, 6])), [40_000, 30_000]],
    ['AVIF, a sequence', avif(movie), [640, 480]],
    ['ICO of a bitmap and a PNG', icon(bitmap, png(20_000, 10_000)), [20_000, 10_000]],
    ['TIFF', tiff, [70_000, 3]],
  ]) {
    const sizeOf = (bytes) => sizeInHeader(bytes) ?? sizeOfRareKind(bytes);
    assert.deepEqual(sizeOf(new Uint8Array(file)), expected, what);
    for (let end = 0; end < Math.min(file.length, 200); end += 1) sizeOf(new Uint8Array(file).subarray(0, end));
  }
  const endless = words(box('ftyp', 'avif'), big(4, 0), 'meta', Buffer.alloc(40));
  assert.equal(sizeInHeader(new Uint8Array(endless)), undefined);
  const nested = Array.from({ length: 100 }).reduce((inner) => box('moov', inner), ispe(5, 5));
  assert.equal(sizeInHeader(new Uint8Array(avif(nested))), undefined, 'deeper than any file');
});

test('a file is decoded only where its header says a size that is taken', async () => {
  let decoded = 0;
  const saved = [globalThis.createImageBitmap, globalThis.OffscreenCanvas];
  Object.assign(globalThis, {
    createImageBitmap: async () => {
      decoded += 1;
      throw new DOMException('damaged', 'InvalidStateError');
    },
    OffscreenCanvas: class {},
  });
  try {
    const hostile = [
      [
        words(box('ftyp', 'avif', big(4, 0)), box('meta', big(4, 0), box('iprp', box('ipco', ispe(65_535, 65_535))))),
        /65535 × 65535/,
      ],
      [words('BM', Buffer.alloc(12), little(4, 40), little(4, 60_000), little(4, 60_000)), /60000 × 60000/],
      [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="99999" height="99999"/>'), /no image of a kind/],
      [Buffer.from('no picture'), /no image/],
    ];
    for (const [bytes, message] of hostile) {
      await assert.rejects(pixelsOf(new Blob([bytes])), { code: 'invalid_argument', message });
    }
    assert.equal(decoded, 0, 'nothing was decoded');
    await assert.rejects(pixelsOf(new Blob([fs.readFileSync(path.join(ENCODERS, 'picture-60x40.png'))])), /damaged/);
    await assert.rejects(pixelsOf(new Blob([fs.readFileSync(path.join(ENCODERS, 'picture-60x40.png'))])), /damaged/);
    assert.equal(decoded, 2, 'what failed is tried again');
  } finally {
    [globalThis.createImageBitmap, globalThis.OffscreenCanvas] = saved;
  }
});
