// The Prompt API with a real model in Chromium: availability and progress of a download, caches of sessions and
// clones, constraints.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSite, STORYTELLER } from './site.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

/** Runs in the page. */
async function talk(model) {
  const { languageModel } = await import('/dist/prompt-api/index.js');
  const LanguageModel = languageModel({ model, backend: 'cpu', contextLength: 192 });
  const before = await LanguageModel.availability();
  const loaded = [];
  const session = await LanguageModel.create({
    samplingMode: 'most-predictable',
    initialPrompts: [
      { role: 'user', content: 'A story about a hare, please.' },
      { role: 'assistant', content: 'Yes.' },
    ],
    monitor: (monitor) => monitor.addEventListener('downloadprogress', (event) => loaded.push(event.loaded)),
  });
  const after = await LanguageModel.availability();
  const usage = [session.contextUsage];
  const clone = await session.clone();
  const options = { responseConstraint: /( [a-z]{1,9}){3}\./, omitResponseConstraintInput: true };
  let streamed = '';
  for await (const text of session.promptStreaming('Begin!', options)) streamed += text;
  const whole = await clone.prompt('Begin!', options);
  usage.push(session.contextUsage, clone.contextUsage);
  const schema = {
    type: 'object',
    properties: { Rating: { type: 'integer', minimum: 0, maximum: 5 } },
    required: ['Rating'],
    additionalProperties: false,
  };
  const prefixed = [
    { role: 'user', content: 'How good is it?' },
    { role: 'assistant', content: '{ "Rating": ', prefix: true },
  ];
  const rest = await session.prompt(prefixed, { responseConstraint: schema, omitResponseConstraintInput: true });
  const free = await session.clone().then((other) => other.prompt('Go on.'));
  const failures = [];
  const long = await session.prompt('hare '.repeat(200)).catch((error) => error);
  failures.push([long instanceof DOMException, long.name, long.requested > long.quota, long.quota]);
  const refused = await session.prompt('x', { responseConstraint: { not: {} } }).catch((error) => error);
  failures.push([refused instanceof DOMException, refused.name]);
  const running = session.prompt('Once more.').catch((error) => error.name);
  session.destroy();
  failures.push(await running);
  await LanguageModel.free();
  return { before, after, loaded, usage, streamed, whole, rest, free, failures };
}

/** Runs in the page. */
async function show() {
  const { languageModel } = await import('/dist/prompt-api/index.js');
  const options = { backend: 'cpu', worker: true };
  const [model, mmproj] = ['/fixtures/models/lfm2-bf16.gguf', '/fixtures/encoders/lfm2.gguf'];
  const LanguageModel = languageModel({ model, mmproj, ...options });
  const expectedInputs = [{ type: 'image' }];
  const found = [await LanguageModel.availability({ expectedInputs })];
  const session = await LanguageModel.create({ expectedInputs });
  const file = await (await fetch('/fixtures/encoders/picture-60x40.png')).blob();
  const bitmap = await createImageBitmap(file);
  const canvas = Object.assign(document.createElement('canvas'), { width: 60, height: 40 });
  canvas.getContext('2d').drawImage(bitmap, 0, 0);
  const usages = [];
  for (const value of [file, await file.arrayBuffer(), new DataView(await file.arrayBuffer()), bitmap, canvas]) {
    usages.push(await session.measureContextUsage([{ role: 'user', content: [{ type: 'image', value }] }]));
  }
  await session.append([{ role: 'user', content: [{ type: 'image', value: canvas }] }]);
  usages.push(session.contextUsage);
  const answer = await session.prompt('ab', { responseConstraint: /[a-d]{3}/, omitResponseConstraintInput: true });
  await LanguageModel.free();
  const Blind = languageModel({ model, ...options });
  found.push(await Blind.availability({ expectedInputs }));
  found.push(await Blind.create({ expectedInputs }).catch(({ name }) => name));
  return { found, usages, answer };
}

/** Runs in the page. */
async function sound() {
  const { languageModel } = await import('/dist/prompt-api/index.js');
  const options = { backend: 'cpu', worker: true, model: '/fixtures/models/llama-f32.gguf' };
  const LanguageModel = languageModel({ ...options, mmproj: '/fixtures/encoders/ultravox.gguf' });
  const expectedInputs = [{ type: 'audio' }];
  const found = [await LanguageModel.availability({ expectedInputs })];
  const session = await LanguageModel.create({ expectedInputs });
  const file = await (await fetch('/fixtures/encoders/sound-8219.wav')).blob();
  const buffer = await new OfflineAudioContext(1, 1, 16000).decodeAudioData(await file.arrayBuffer());
  const usages = [];
  for (const value of [file, await file.arrayBuffer(), new DataView(await file.arrayBuffer()), buffer]) {
    usages.push(await session.measureContextUsage([{ role: 'user', content: [{ type: 'audio', value }] }]));
  }
  const words = [{ role: 'user', content: [{ type: 'audio', value: 'https://example.com/a.wav' }] }];
  found.push(await session.prompt(words).catch(({ name }) => name));
  const image = [{ role: 'user', content: [{ type: 'image', value: file }] }];
  found.push(await session.prompt(image).catch(({ name }) => name));
  const heard = [{ role: 'user', content: [{ type: 'audio', value: buffer }] }];
  const answer = await session.prompt(heard, { responseConstraint: /[a-d]{3}/, omitResponseConstraintInput: true });
  // The encoder is there, but it reads no images: known once it is loaded.
  const sees = { expectedInputs: [{ type: 'image' }] };
  found.push(await LanguageModel.create(sees).catch(({ name, message }) => `${name}: ${message}`));
  await LanguageModel.free();
  return { found, usages, answer };
}

test('a page plays sounds to a model through the Prompt API', async () => {
  const { found, usages, answer } = await page.evaluate(sound);
  assert.deepEqual(found, [
    'downloadable',
    'TypeError',
    'NotSupportedError',
    "NotSupportedError: expectedInputs: the model has no encoder of images; give it one by 'mmproj'",
  ]);
  assert.ok(usages[0] > 8, usages.join());
  assert.deepEqual(new Set(usages), new Set([usages[0]]), 'all are the same sound');
  assert.match(answer, /^[a-d]{3}$/);
});

test('a page shows images to a model through the Prompt API', async () => {
  const { found, usages, answer } = await page.evaluate(show);
  assert.deepEqual(found, ['downloadable', 'unavailable', 'NotSupportedError']);
  assert.ok(usages[0] > 70, usages.join());
  assert.deepEqual(new Set(usages), new Set([usages[0]]), 'all are the same image');
  assert.match(answer, /^[a-d]{3}$/);
});

test('a page talks to a model through the Prompt API', async () => {
  const found = await page.evaluate(talk, STORYTELLER);
  assert.deepEqual([found.before, found.after], ['downloadable', 'available']);
  assert.deepEqual([found.loaded[0], found.loaded.at(-1)], [0, 1]);
  assert.match(found.streamed, /^( [a-z]{1,9}){3}\.$/);
  assert.equal(found.whole, found.streamed);
  const [begun, session, clone] = found.usage;
  assert.ok(begun > 0 && session > begun && clone === session, found.usage.join());
  const { Rating } = JSON.parse(`{ "Rating": ${found.rest}`);
  assert.ok(Number.isInteger(Rating) && Rating >= 0 && Rating <= 5, found.rest);
  assert.ok(found.free.length > 20, found.free);
  assert.deepEqual(found.failures, [
    [true, 'QuotaExceededError', true, 192],
    [true, 'NotSupportedError'],
    'AbortError',
  ]);
  assert.deepEqual(page.crashes, []);
});
