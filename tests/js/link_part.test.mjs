// Parts of the WebAssembly, for tensors, rare families, encoders and speech: they fit the module of the package, and
// no other.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const dist = new URL('../../dist/', import.meta.url);
const { linkPart } = await import(`${dist}wasm/link-part.js`);
const { tensors } = await import(`${dist}wasm/tensors.js`);
const { families } = await import(`${dist}wasm/families.js`);
const { encoders } = await import(`${dist}wasm/encoders.js`);
const { speech } = await import(`${dist}wasm/speech.js`);
const { partScript } = await import('../../tools/wasm_part.mjs');
const module = new WebAssembly.Module(fs.readFileSync(fileURLToPath(`${dist}wasm/webgguf_bg.wasm`)));

/** The module of the package, which calls nothing of JavaScript here. */
function exportsOf() {
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[name] = () => 0;
  return new WebAssembly.Instance(module, imports).exports;
}

/** Slots of its table that hold no function. */
function empty(exports) {
  const [table] = Object.values(exports).filter((it) => it instanceof WebAssembly.Table && it.length < 2000);
  return Array.from({ length: table.length }, (_, slot) => table.get(slot)).filter((held) => held === null).length;
}

const withCode = (code, pattern) => (error) => error.code === code && pattern.test(error.message);

test('each part fills the slots that the module has for it, and is linked once', async () => {
  const exports = exportsOf();
  const before = empty(exports);
  const links = [linkPart(exports, 'wasm/tensors.js', tensors), linkPart(exports, 'wasm/tensors.js', tensors)];
  assert.equal(links[0], links[1]);
  await Promise.all(links);
  const between = empty(exports);
  await linkPart(exports, 'wasm/families.js', families);
  const last = empty(exports);
  await linkPart(exports, 'wasm/encoders.js', encoders);
  const after = empty(exports);
  await linkPart(exports, 'wasm/speech.js', speech);
  assert.equal(empty(exports), 1, 'the first slot stands for no function');
  const others = exportsOf();
  await linkPart(others, 'wasm/encoders.js', encoders);
  const slots = [before, between, last, after];
  assert.ok(slots.every((count, at) => at === 0 || slots[at - 1] > count + 5) && after > 5, `${slots} empty slots`);
  assert.equal(empty(others), before - last + after, 'without what fills the slots of the others');
});

test('a part of another version is refused with a reason, and the right one can be linked after', async () => {
  const exports = exportsOf();
  const whole = empty(exports);
  const other = { ...exports };
  for (const name of Object.keys(other)) if (name.startsWith('memory ')) delete other[name];
  await assert.rejects(
    linkPart(other, 'wasm/tensors.js', tensors),
    withCode('download_failed', /^wasm\/tensors\.js does not fit webgguf_bg\.wasm: both must be of one version/),
  );
  await assert.rejects(linkPart(exports, 'wasm/tensors.js', tensors.slice(0, 400)), withCode('download_failed', /fit/));
  assert.equal(empty(exports), whole);
  await linkPart(exports, 'wasm/tensors.js', tensors);
  assert.ok(empty(exports) < whole);
});

test('a browser that cannot decompress is named', async (t) => {
  const kept = globalThis.DecompressionStream;
  t.after(() => {
    globalThis.DecompressionStream = kept;
  });
  delete globalThis.DecompressionStream;
  const linking = linkPart(exportsOf(), 'wasm/tensors.js', tensors);
  await assert.rejects(linking, withCode('feature_missing', /DecompressionStream, which wasm\/tensors\.js needs/));
});

test('the script holds the bytes that it was given', async () => {
  const script = `data:text/javascript,${encodeURIComponent(partScript('part', Buffer.from([0, 1, 255, 128])))}`;
  const { part } = await import(script);
  const stream = new Blob([Buffer.from(part, 'base64')]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  assert.deepEqual(new Uint8Array(await new Response(stream).arrayBuffer()), Uint8Array.of(0, 1, 255, 128));
});
