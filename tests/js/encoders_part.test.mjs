// The part of the WebAssembly that encoders need is not there until one is loaded: a file of an encoder must not be run
// into code that is missing, whatever it is given as.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { files } from '../../dist/engine/files.js';
import { ENCODERS, FIXTURES, blob, expectationsOf, open } from './encoders.mjs';

const expected = expectationsOf('lfm2');
const given = files.encoders;
const encoder = () => blob(path.join(ENCODERS, expected.encoder));

test('an encoder that is given as a model is refused without the part', async (t) => {
  t.after(() => {
    files.encoders = given;
  });
  files.encoders = () => assert.fail('the part was fetched');
  const refused = { code: 'invalid_argument', message: /the file is an encoder of images or sounds/ };
  await assert.rejects(WasmModel.load(encoder(), { backend: 'cpu' }), refused);
});

test('no model needs the part, whatever its family', async (t) => {
  t.after(() => {
    files.encoders = given;
  });
  files.encoders = () => assert.fail('the part was fetched');
  const folder = path.join(FIXTURES, 'models');
  const names = fs.readdirSync(folder).filter((name) => name.endsWith('.gguf'));
  const run = async (name) => {
    const model = await WasmModel.load(blob(path.join(folder, name)), { backend: 'cpu' });
    if (model.info.pooling) await model.embed('ab');
    else await model.generate('ab', { maxTokens: 2, temperature: 0 }).result;
    await model.free();
  };
  for (const name of names) await run(name).catch((error) => assert.ok(error.code, `${name}: ${error}`));
  assert.ok(names.length > 60, `${names.length} models`);
});

test('a part that cannot be fetched fails loads and inspections, and the next one fetches it', async (t) => {
  t.after(() => {
    files.encoders = given;
  });
  files.encoders = async () => ({ encoders: 'AAAA' });
  const unfit = { code: 'download_failed', message: /^wasm\/encoders\.js does not fit/ };
  await assert.rejects(open(expected), unfit);
  await assert.rejects(WasmModel.inspect(encoder()), unfit);
  files.encoders = given;
  const { supported, reason, quantization, parameters } = await WasmModel.inspect(encoder());
  assert.deepEqual([supported, reason.code], [false, 'invalid_argument']);
  assert.ok(quantization !== undefined && parameters > 1000);
  const model = await open(expected);
  assert.equal(model.info.encoders[0].projector, 'lfm2');
  await model.free();
});

test('encoders do without the part of speech, and a vocoder is one only where it is asked for', async (t) => {
  const { instantiate } = WebAssembly;
  t.after(() => {
    WebAssembly.instantiate = instantiate;
  });
  let linked = 0;
  WebAssembly.instantiate = (...args) => {
    linked++;
    return instantiate(...args);
  };
  const lfm2 = await open(expected);
  await lfm2.free();
  const vocoder = () => blob(path.join(ENCODERS, 'soprano.gguf'));
  const text = () => blob(path.join(ENCODERS, 'soprano-text.gguf'));
  const refused = { code: 'invalid_argument', message: /the file is a vocoder: give it to the option 'vocoder'/ };
  await assert.rejects(WasmModel.load(text(), { backend: 'cpu', mmproj: vocoder() }), refused);
  const { supported } = await WasmModel.inspect(vocoder());
  assert.equal(supported, false);
  const before = linked;
  const model = await WasmModel.load(text(), { backend: 'cpu', vocoder: vocoder() });
  assert.equal(linked, before + 1);
  await model.free();
});
