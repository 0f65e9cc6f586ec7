// Saved sessions in a browser: stored in the origin's private file system, gone on with after the page was reloaded,
// in this thread and in a worker; and what does not fit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testIf } from '../long.mjs';
import { openSite, SMALL, STORYTELLER } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

/** Runs `work(package, argument)` in the page. */
const api = (work, argument) =>
  page.evaluate(
    async ([source, value]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), value),
    [work.toString(), argument],
  );

const OPTIONS = { maxTokens: 8, temperature: 0, ignoreEos: true };

/** Talks, saves to a file as the README has it, and goes on without having saved. */
const SAVE = async ({ WasmModel }, { url, options, name, worker, backend }) => {
  const model = await WasmModel.load(url, { backend, worker, contextLength: 256 });
  const session = model.session({ system: 'You tell stories about animals that live in the forest.' });
  await session.send('Tell me about a hare.', options);
  const folder = await navigator.storage.getDirectory();
  const out = await (await folder.getFileHandle(name, { create: true })).createWritable();
  const saved = await session.save();
  await saved.stream().pipeTo(out);
  const { text, usage } = await session.send('And then?', options);
  await model.free();
  return { text, usage, bytes: saved.size, messages: session.messages, tokens: session.tokens };
};

const GO_ON = async ({ WasmModel }, { url, options, name, ...how }) => {
  const model = await WasmModel.load(url, { contextLength: 256, ...how });
  const folder = await navigator.storage.getDirectory();
  const session = await model.restoreSession(await (await folder.getFileHandle(name)).getFile());
  const { text, usage } = await session.send('And then?', options);
  await model.free();
  return { text, usage, messages: session.messages, tokens: session.tokens };
};

for (const worker of [false, true]) {
  const declare = testIf(worker);
  declare(`worker ${worker}: after a reload a session goes on where it was, and reads nothing again`, async () => {
    const argument = { url: STORYTELLER, options: OPTIONS, name: `chat ${worker}`, backend: 'webgpu' };
    const { bytes, ...expected } = await api(SAVE, { ...argument, worker });
    assert.ok(expected.text.length > 0);
    assert.ok(expected.usage.cachedTokens >= 24, JSON.stringify(expected.usage));
    await page.reload();
    // Saved in one thread, it goes on in the other.
    assert.deepEqual(await api(GO_ON, { ...argument, worker: !worker }), expected);
    // 4 layers of 3 heads of 64 values in f16, keys and values: 3 KiB per token, and little else.
    const perToken = bytes / expected.usage.cachedTokens;
    assert.ok(perToken < 20_000, `${bytes} bytes for ${expected.usage.cachedTokens} tokens`);
  });
}

test('on the CPU a session goes on where it was, and one of the GPU is read again', async () => {
  const argument = { url: STORYTELLER, options: OPTIONS, name: 'chat cpu', backend: 'cpu' };
  const { bytes, ...expected } = await api(SAVE, argument);
  assert.ok(expected.usage.cachedTokens >= 24, JSON.stringify(expected.usage));
  assert.deepEqual(await api(GO_ON, argument), expected);
  const perToken = bytes / expected.usage.cachedTokens;
  assert.ok(perToken < 20_000, `${bytes} bytes for ${expected.usage.cachedTokens} tokens`);
  // A cache of the GPU is of no use to the CPU.
  const other = await api(GO_ON, { ...argument, name: 'chat true' });
  assert.deepEqual([other.usage.cachedTokens, other.text.length > 0], [0, true]);
});

test('what does not fit is refused, and the model goes on', async () => {
  const found = await api(
    async ({ WasmModel }, { urls, options }) => {
      const codes = {};
      const [model, other] = await Promise.all(urls.map((url) => WasmModel.load(url, { backend: 'cpu' })));
      const short = await WasmModel.load(urls[0], { backend: 'cpu', contextLength: 16 });
      const file = await (await (await navigator.storage.getDirectory()).getFileHandle('chat true')).getFile();
      const bytes = new Uint8Array(await file.arrayBuffer());
      const attempt = async (name, where, saved) => {
        codes[name] = await where.restoreSession(saved).then(
          () => 'restored',
          ({ code, message }) => `${code}: ${message}`,
        );
      };
      await attempt('other', other, file);
      await attempt('short', short, file);
      await attempt('cut', model, file.slice(0, file.size - 1));
      await attempt('head', model, new Blob([bytes.with(70, bytes[70] ^ 1)]));
      await attempt('text', model, new Blob(['x'.repeat(5000)]));
      await attempt('empty', model, new Blob([]));
      await attempt('array', model, bytes);
      const { text } = await model.generate('Once upon a time', options);
      await Promise.all([model, other, short].map((loaded) => loaded.free()));
      return { codes, text };
    },
    { urls: [STORYTELLER, SMALL], options: OPTIONS },
  );
  const { codes, text } = found;
  assert.ok(text.length > 0);
  assert.match(
    codes.other,
    /^invalid_argument: the session was saved of another model: .*[\da-f]{16}, here [\da-f]{16}/,
  );
  assert.match(codes.short, /^context_full: the saved session has \d+ tokens, the context holds 16/);
  assert.match(codes.cut, /^bad_file: the saved session is cut short or damaged: \d+ bytes, expected \d+/);
  assert.match(codes.head, /^integrity_failed: /);
  assert.match(codes.text, /^bad_file: this is no saved session/);
  assert.match(codes.empty, /^bad_file: this is no saved session: 0 bytes/);
  assert.match(codes.array, /^invalid_argument: restoreSession: expected a Blob, found an object \(Uint8Array\)/);
});
