// The part of the WebAssembly for rare families is not there until a file needs it: no file may run into code that is
// missing, and none fetches it in vain.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { files } from '../../dist/engine/files.js';
import { ENCODERS, FIXTURES, blob, expectationsOf, open } from './encoders.mjs';

const given = files.families;
let asked = 0;
/** As long as the file cannot be fetched. */
files.families = () => {
  asked += 1;
  return Promise.reject(new TypeError('Failed to fetch'));
};
const isMissing = ({ code, message }) =>
  code === 'download_failed' && /^wasm\/families\.js, which this model needs.*Failed to fetch/.test(message);
const missing = (error) => isMissing(error) || assert.fail(`${error.code}: ${error.message}`);
const FOLDERS = ['models', 'embedders'].map((folder) => path.join(FIXTURES, folder));
const LIST = FOLDERS.flatMap((folder) => fs.readdirSync(folder).map((name) => path.join(folder, name)));
const MODELS = new Map(
  LIST.filter((file) => file.endsWith('.gguf')).map((file) => [path.basename(file, '.gguf'), file]),
);
const model = (name) => blob(MODELS.get(name));

/** The names for which `run` finds that the part is missing. Whatever else fails must not be code that is missing. */
async function without(names, run) {
  const refused = new Set();
  for (const name of names) {
    try {
      await run(name);
    } catch (error) {
      assert.ok(error.code && error.code !== 'internal', `${name}: ${error}`);
      if (isMissing(error)) refused.add(name);
    }
  }
  return refused;
}

async function answer(source) {
  const loaded = await WasmModel.load(source, { backend: 'cpu' });
  if (loaded.info.pooling) await loaded.embed('ab');
  else await loaded.generate('ab', { maxTokens: 2, temperature: 0 }).result;
  await loaded.free();
}

// First: what is given stays.
test('the shaders of a rare family are asked for with its code, not after it', async (t) => {
  const { rare } = files;
  t.after(() => {
    files.rare = rare;
  });
  const names = new Set();
  const refuse = (name) => () => {
    names.add(name);
    return Promise.reject(new TypeError('Failed to fetch'));
  };
  const wanted = {
    'lfm2-q8_0': ['families', 'rare'],
    'bloom-f16': ['families'],
    'llama-q5_1': ['rare'],
    'qwen3-q4_0': [],
  };
  const found = {};
  const counting = { rare: refuse('rare'), families: refuse('families') };
  const { families } = files;
  Object.assign(files, counting);
  for (const name of Object.keys(wanted)) {
    names.clear();
    await answer(model(name)).catch((error) => assert.equal(error.code, 'download_failed'));
    found[name] = [...names].sort();
  }
  files.families = families;
  assert.deepEqual(found, wanted);
});

test('models of common families run without the part, and the others say that it is missing', async () => {
  const names = [...MODELS.keys()];
  const refused = await without(names, (name) => answer(model(name)));
  const of = (families) => names.filter((name) => families.some((family) => name.startsWith(`${family}-`)));
  const common = of([
    'llama',
    'qwen2',
    'qwen3',
    'gemma3',
    'gemma4',
    'phi3',
    'gpt-oss',
    'qwen3moe',
    'granite',
    'llama-embed',
  ]);
  const rare = of(['mamba', 'mamba2', 'rwkv7', 'lfm2', 'qwen35', 'bert', 'nomic-bert', 'gemma3n', 'deepseek2']);
  assert.ok(common.length >= 9 && rare.length >= 9, `${common}; ${rare}`);
  const wrong = [common.filter((name) => refused.has(name)), rare.filter((name) => !refused.has(name))];
  assert.deepEqual(wrong, [[], []]);
  assert.equal(asked, refused.size, 'each of them asks once');
});

test('an encoder whose operations need the part says that it is missing, whatever its text model', async () => {
  const list = fs.readdirSync(ENCODERS).filter((name) => name.endsWith('.json'));
  const names = list.map((name) => path.basename(name, '.json')).filter((name) => expectationsOf(name).encoder);
  const ran = new Set(names);
  const refused = await without(names, async (name) => {
    const loaded = await WasmModel.load(model('qwen3-q4_0'), {
      backend: 'cpu',
      mmproj: blob(path.join(ENCODERS, expectationsOf(name).encoder)),
    });
    await loaded.free();
  });
  for (const name of refused) ran.delete(name);
  assert.ok(refused.size > 1 && ran.size > 1, `${[...refused]}; ${[...ran]}`);
});

test('an inspection needs the part as a load does', async () => {
  await assert.rejects(WasmModel.inspect(model('lfm2-q8_0')), missing);
  assert.equal((await WasmModel.inspect(model('gemma3-f16'))).supported, true);
});

test('the next load after a failed one fetches the part, once', async (t) => {
  let count = 0;
  files.families = () => {
    count += 1;
    return given();
  };
  t.after(() => {
    files.families = given;
  });
  assert.equal((await WasmModel.inspect(model('lfm2-q8_0'))).supported, true);
  for (const name of ['lfm2-q8_0', 'arwkv7-q8_0', 'granitehybrid-q8_0']) await answer(model(name));
  assert.equal(count, 1);
  const loaded = await open(expectationsOf('lfm2'));
  await loaded.free();
});
