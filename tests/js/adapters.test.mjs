// Adapters: what the engine gets of them, and PEFT's files as GGUF.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, seen, testBytes, withCode } from './api.mjs';

const { WasmModel } = api;
const { readAdapter } = await import(`${dist}load/adapter.js`);
const { ggufOfPeft } = await import(`${dist}load/peft.js`);
const GGUF = new TextEncoder().encode('GGUF and more');

beforeEach(resetMock);

const started = () => seen.started.at(-1).options.adapters;

test('adapters of load are those of requests that name none', async () => {
  const adapters = [{ source: GGUF, scale: 0.5 }, { source: GGUF }];
  const model = await WasmModel.load(new Uint8Array(8), { adapters });
  assert.deepEqual(
    seen.adapters.map(({ id }) => id),
    [1, 2],
  );
  assert.deepEqual(seen.adapters[0].file, [...GGUF]);
  await model.generate('a');
  assert.deepEqual(started(), [
    [1, 0.5],
    [2, 1],
  ]);
  const id = await model.addAdapter(GGUF);
  assert.equal(id, 3);
  await model.generate('a', { adapters: [{ id }, { id: 1, scale: -2 }] });
  assert.deepEqual(started(), [
    [3, 1],
    [1, -2],
  ]);
  await model.session().send('hi', { adapters: [{ id, scale: 2 }] });
  assert.deepEqual(started(), [[3, 2]]);
  await model.generate('a', { adapters: [] });
  assert.equal(started()?.length ?? 0, 0, 'the model alone');
  await model.removeAdapter(1);
  await model.generate('a');
  assert.deepEqual(started(), [[2, 1]], 'an adapter that was added has no scale of its own');
  await assert.rejects(model.removeAdapter(9), withCode('invalid_argument', /no adapter 9/));
  await model.free();
});

test('an adapter of many pieces arrives whole', async () => {
  const file = testBytes((5 << 20) + 3);
  file.set(GGUF);
  assert.ok(Buffer.from(await readAdapter(new Blob([file]), {}, 'llama')).equals(file));
});

test('wrong adapters are refused', async () => {
  const model = await WasmModel.load(new Uint8Array(8));
  for (const adapters of [[{}], [{ id: 1, scale: NaN }], [{ id: 0.5 }], [{ id: 1, weight: 2 }], 'a', [null]]) {
    assert.throws(() => model.generate('a', { adapters }), withCode('invalid_argument', /'adapters' must be an array/));
  }
  for (const wrong of [{ scale: 1 }, { source: GGUF, scale: 'a' }, { source: GGUF, scales: 1 }, null]) {
    const load = WasmModel.load(new Uint8Array(8), { adapters: [wrong] });
    await assert.rejects(load, withCode('invalid_argument', /an array of { source, scale, config }/), wrong);
  }
  plan.adapterFails = Object.assign(new Error('adapter: of another model'), { code: 'bad_file' });
  await assert.rejects(model.addAdapter(GGUF), withCode('bad_file', /another model/));
  await model.generate('a');
  assert.equal(started(), undefined, 'what failed is no adapter');
});

/** Safetensors of these tensors: names with dtype, shape and bytes. */
function safetensors(tensors) {
  let end = 0;
  const entries = tensors.map(([name, dtype, shape, data]) => {
    end += data.length;
    return [name, { dtype, shape, data_offsets: [end - data.length, end] }];
  });
  const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const size = new Uint8Array(new BigUint64Array([BigInt(header.length)]).buffer);
  return new Uint8Array(Buffer.concat([size, header, ...tensors.map(([, , , data]) => data)]));
}

const MODULE = 'base_model.model.model.layers.3.self_attn.q_proj';
const CONFIG = { peft_type: 'LORA', r: 2, lora_alpha: 4 };
const GOOD = safetensors([[`${MODULE}.lora_A.weight`, 'F16', [2, 3], new Uint8Array(12).fill(7)]]);

test("PEFT's tensors get the names and the shapes of a GGUF", () => {
  const embedding = [
    'base_model.model.model.embed_tokens.lora_embedding_A',
    'F16',
    [2, 3],
    Uint8Array.from({ length: 12 }, (_, i) => i),
  ];
  const file = ggufOfPeft(safetensors([embedding]), JSON.stringify(CONFIG), 'qwen2');
  const text = Buffer.from(file).toString('latin1');
  assert.equal(text.slice(0, 5), 'GGUF\u0003');
  assert.ok(text.includes('token_embd.weight.lora_a'), 'its name');
  // [2, 3] becomes [3, 2].
  assert.deepEqual([...file.subarray(-32, -20)], [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]);
  const alphaAt = text.indexOf('adapter.lora.alpha') + 'adapter.lora.alpha'.length + 4;
  assert.equal(new DataView(file.buffer, file.byteOffset).getFloat32(alphaAt, true), 4);
  const named = Buffer.from(ggufOfPeft(GOOD, JSON.stringify(CONFIG), 'llama')).toString('latin1');
  assert.ok(named.includes('blk.3.attn_q.weight.lora_a'));
});

test('what PEFT has besides is refused by name', () => {
  const refuse = (config, weights, pattern) =>
    assert.throws(
      () => ggufOfPeft(weights, typeof config === 'string' ? config : JSON.stringify(config), 'llama'),
      withCode('bad_file', pattern),
    );
  refuse('no JSON', GOOD, /adapter_config.json is not a JSON object/);
  refuse({ ...CONFIG, peft_type: 'IA3' }, GOOD, /expected peft_type LORA, found IA3/);
  refuse({ ...CONFIG, use_dora: true }, GOOD, /use_dora/);
  refuse({ ...CONFIG, modules_to_save: ['lm_head'] }, GOOD, /modules_to_save/);
  refuse({ ...CONFIG, bias: 'all' }, GOOD, /expected bias none, found all/);
  refuse(CONFIG, new Uint8Array(4), /a header of NaN bytes in a file of 4/);
  refuse(CONFIG, GOOD.subarray(0, 40), /a header of \d+ bytes in a file of 40/);
  refuse(CONFIG, GOOD.subarray(0, -1), /12 bytes for shape \[2,3\]/);
  refuse(
    CONFIG,
    safetensors([[`${MODULE}.lora_A.weight`, 'I8', [2, 3], new Uint8Array(6)]]),
    /expected F32, F16 or BF16, found I8/,
  );
  const other = safetensors([
    ['base_model.model.model.layers.0.mixer.lora_A.weight', 'F16', [2, 3], new Uint8Array(12)],
  ]);
  refuse(CONFIG, other, /layers.0.mixer.lora_A.weight: the module is none that adapters may change/);
});
