// PEFT's adapters: every key of a configuration is computed, refused by its name or told, and no bytes of a file or a
// configuration end in an exception of JavaScript. On the CPU, with the adapter that the page tests compare.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { readAdapter } from '../../dist/load/adapter.js';
import { ggufOfPeft } from '../../dist/load/peft.js';

const at = (path) => new Uint8Array(fs.readFileSync(new URL(`../fixtures/${path}`, import.meta.url)));
const MODEL = new Blob([at('models/llama-f32.gguf')]);
const WEIGHTS = at('adapters/peft/adapter_model.safetensors');
const CONFIG = JSON.parse(new TextDecoder().decode(at('adapters/peft/adapter_config.json')));
const IDS = Uint32Array.from([161, 232, 149, 178, 284]);

const configBlob = (change) =>
  new Blob([typeof change === 'string' ? change : JSON.stringify({ ...CONFIG, ...change })]);

/** Log probabilities with the adapter of a configuration. */
async function asked(model, change, weights = WEIGHTS, options = {}) {
  const id = await model.addAdapter(new Blob([weights]), { config: configBlob(change), ...options });
  try {
    return [...(await model.evaluate(IDS, { adapters: [{ id }] })).logprobs].slice(1);
  } finally {
    await model.removeAdapter(id);
  }
}

const farthest = (a, b) => Math.max(...a.map((value, i) => Math.abs(value - b[i])));
const bad = (pattern) => (error) => {
  assert.equal(`${error.name} ${error.code}`, 'WebggufError bad_file', error.stack);
  assert.match(error.message, pattern);
  return true;
};

/** The tensors of a safetensors file, and a file of some. */
function parse(file) {
  const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
  const data = file.subarray(8 + length);
  return Object.entries(header).map(([name, of]) => ({ name, ...of, bytes: data.subarray(...of.data_offsets) }));
}

function join(header, data = new Uint8Array(0)) {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const length = new Uint8Array(new BigUint64Array([BigInt(text.length)]).buffer);
  return new Uint8Array(Buffer.concat([length, text, data]));
}

function written(tensors) {
  let end = 0;
  const entries = tensors.map(({ name, dtype, shape, bytes }) => {
    end += bytes.length;
    return [name, { dtype, shape, data_offsets: [end - bytes.length, end] }];
  });
  return join(Object.fromEntries(entries), Buffer.concat(tensors.map(({ bytes }) => bytes)));
}

const TENSORS = parse(WEIGHTS);
const only = (pattern) => written(TENSORS.filter(({ name }) => pattern.test(name)));
const withRank = (tensors, pattern, rank) =>
  tensors.map((of) => {
    if (!pattern.test(of.name)) return of;
    const [rows, cols] = of.shape;
    const values = new Float32Array(of.bytes.slice().buffer);
    const isA = /lora_A/.test(of.name);
    const kept = isA ? values.slice(0, rank * cols) : values.filter((_, i) => i % cols < rank);
    return { ...of, shape: isA ? [rank, cols] : [rows, rank], bytes: new Uint8Array(kept.buffer) };
  });

test('numbers of a configuration are those of PEFT', async () => {
  const model = await WasmModel.load(MODEL, { backend: 'cpu' });
  const plain = [...(await model.evaluate(IDS)).logprobs].slice(1);
  const same = async (one, other, what) => {
    const [a, b] = [await asked(model, one), await asked(model, other)];
    assert.ok(farthest(a, b) < 1e-4, `${what}: ${farthest(a, b)}`);
    assert.ok(farthest(a, plain) > 0.1, `${what}: changes the model`);
  };
  await same({}, { lora_alpha: 6, use_rslora: false }, 'rslora of rank 4 doubles');
  const { lora_alpha: _, use_rslora: _r, ...bare } = CONFIG;
  await same(JSON.stringify(bare), { use_rslora: false, lora_alpha: 8 }, 'alpha is 8 where it is missing');
  await same({ use_rslora: null }, { use_rslora: false }, 'null is false');
  await same(
    {
      lora_alpha: 1,
      alpha_pattern: {
        q_proj: 3,
        '.+': undefined,
        k_proj: 3,
        v_proj: 3,
        o_proj: 3,
        '^model.layers.0.mlp.gate_proj': 3,
        'mlp\\.up_proj': 3,
        down_proj: 3,
      },
    },
    {},
    'patterns',
  );
  assert.equal(farthest(await asked(model, { lora_alpha: 0 }), plain), 0, 'alpha 0 adds nothing');
  const attention = await asked(model, {
    alpha_pattern: { gate_proj: 0, 'layers.0.mlp.up_proj': 0, 'mlp.down_proj': 0 },
  });
  assert.ok(farthest(attention, await asked(model, {}, only(/self_attn/))) < 1e-4, 'a pattern of 0');
  const shorter = written(withRank(TENSORS, /q_proj/, 2));
  const pattern = { rank_pattern: { q_proj: 2 }, lora_alpha: 3 };
  // What q adds is divided by the root of its own rank.
  const others = {
    use_rslora: false,
    lora_alpha: 6,
    alpha_pattern: { q_proj: 3 * 2 ** 0.5 },
    rank_pattern: { q_proj: 2 },
  };
  const [a, b] = [await asked(model, pattern, shorter), await asked(model, others, shorter)];
  assert.ok(farthest(a, b) < 1e-4, `ranks by pattern: ${farthest(a, b)}`);
  await model.free();
});

test('f16 and bf16 are scaled as f32 is', async () => {
  const model = await WasmModel.load(MODEL, { backend: 'cpu' });
  const rounded = TENSORS.map((of) => {
    const halves = new Uint16Array(of.bytes.slice().buffer).filter((_, i) => i % 2 === 1);
    return { ...of, dtype: 'BF16', bytes: new Uint8Array(halves.buffer) };
  });
  const [a, b] = [
    await asked(model, {}, written(rounded)),
    await asked(model, { alpha_pattern: { q_proj: 3.000001 } }, written(rounded)),
  ];
  assert.ok(farthest(a, b) < 1e-3, `${farthest(a, b)}`);
  await model.free();
});

test('what a configuration asks for and is not done is refused by its name', () => {
  const refuse = (change, pattern, weights = WEIGHTS) => {
    const text = typeof change === 'string' ? change : JSON.stringify({ ...CONFIG, ...change });
    assert.throws(() => ggufOfPeft(weights, text, 'llama'), bad(pattern), text);
  };
  for (const text of ['', 'no JSON', 'null', '5', '"a"', '[]', '[{"peft_type":"LORA"}]'])
    refuse(text, /not a JSON object/);
  refuse({ peft_type: undefined }, /expected peft_type LORA, found nothing/);
  for (const peft_type of ['IA3', 'LOHA', null, 1]) refuse({ peft_type }, /expected peft_type LORA/);
  for (const bias of ['all', 'lora_only', true, 1]) refuse({ bias }, /expected bias none/);
  const inits = ['pissa', 'PISSA', 'pissa_niter_4', 'olora', 'corda', 'loftq', 'lora_ga', 'mica', 'other', 1, {}];
  for (const init_lora_weights of inits) refuse({ init_lora_weights }, /init_lora_weights: expected/);
  const switches = ['use_dora', 'fan_in_fan_out', 'lora_bias', 'use_qalora'];
  for (const key of switches)
    for (const value of [true, 'true', 1]) refuse({ [key]: value }, new RegExp(`${key} is not`));
  const objects = ['megatron_config', 'monteclora_config', 'use_bdlora', 'kasa_config', 'arrow_config'];
  for (const key of objects) refuse({ [key]: { a: 1 } }, new RegExp(`${key} is not supported`));
  refuse({ modules_to_save: ['lm_head'] }, /modules_to_save is not supported/);
  refuse(
    {
      layer_replication: [
        [0, 1],
        [0, 1],
      ],
    },
    /layer_replication is not supported/,
  );
  refuse({ trainable_token_indices: [1] }, /trainable_token_indices is not supported/);
  refuse({ trainable_token_indices: { embed_tokens: [1] } }, /trainable_token_indices is not supported/);
  refuse({ target_parameters: ['experts.down_proj'] }, /target_parameters is not supported/);
  for (const lora_alpha of [null, 'x', '8', true, {}, [8], 1e39, -1e39, 1e-60])
    refuse({ lora_alpha }, /lora_alpha: expected a number/);
  for (const r of [null, 'x', 0, -4, 1.5, true, [4]]) refuse({ r }, /r: expected an integer/);
  for (const use_rslora of ['true', 1, {}]) refuse({ use_rslora }, /use_rslora: expected true or false/);
  for (const key of ['rank_pattern', 'alpha_pattern']) {
    for (const value of [5, 'x', [1], true]) refuse({ [key]: value }, new RegExp(`${key}: expected an object`));
    for (const value of [null, 'x', true, []])
      refuse({ [key]: { q_proj: value } }, new RegExp(`${key} of q_proj: expected`));
    for (const name of ['(a+)+$', '.*', 'layers.[0-9]+', 'q_proj|k_proj', '']) {
      refuse({ [key]: { [name]: 4 } }, new RegExp(`${key}: the regular expression`));
    }
  }
  refuse({ r: 8 }, /adapter_config.json says rank 8, found 4/);
  refuse({ rank_pattern: { v_proj: 2 } }, /v_proj.lora_A.weight: adapter_config.json says rank 2, found 4/);
  for (const ids of [7, 'abc', [], [-1], [1.5], [null], [2 ** 33], {}]) {
    refuse({ alora_invocation_tokens: ids }, /alora_invocation_tokens: expected token ids/);
  }
  refuse({ layers_to_transform: [1] }, /layers_to_transform of adapter_config.json leaves/);
  refuse({ layers_to_transform: 3 }, /layers_to_transform of adapter_config.json leaves/);
  for (const value of ['x', [-1], [null], {}, true])
    refuse({ layers_to_transform: value }, /expected numbers of layers/);
  refuse({ target_modules: ['q_proj'] }, /k_proj.lora_A.weight: target_modules of adapter_config.json leaves/);
  refuse({ exclude_modules: ['mlp.up_proj'] }, /up_proj.lora_A.weight: exclude_modules of/);
  for (const value of [5, [5], {}]) refuse({ target_modules: value }, /target_modules: expected names/);
});

test('what changes nothing is taken, and what is not known is told', async () => {
  const heard = [];
  const taken = {
    target_modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
    exclude_modules: null,
    layers_to_transform: [0, 1],
    init_lora_weights: 'gaussian',
    modules_to_save: [],
    rank_pattern: {},
    alpha_pattern: null,
    loftq_config: {},
    layer_replication: null,
    megatron_core: 'megatron.core',
    runtime_config: { ephemeral_gpu_offload: false },
    qalora_group_size: 16,
    lora_dropout: 0.1,
    task_type: 'CAUSAL_LM',
    use_dora: false,
    eva_config: null,
  };
  const tell = (message) => heard.push(message);
  ggufOfPeft(WEIGHTS, JSON.stringify({ ...CONFIG, ...taken }), 'llama', tell);
  ggufOfPeft(WEIGHTS, JSON.stringify({ ...CONFIG, target_modules: 'all-linear' }), 'llama', tell);
  assert.deepEqual(heard, []);
  const warnings = [];
  const options = {
    config: configBlob({ use_new: true, empty: null }),
    onWarning: (warning) => warnings.push(warning),
  };
  await readAdapter(new Blob([WEIGHTS]), options, 'llama');
  assert.equal(warnings.length, 1);
  assert.equal(warnings[0].code, 'file');
  assert.match(warnings[0].message, /the key use_new, which is not known/);
});

test('a digest for the configuration, and no configuration', async () => {
  const hex = async (bytes) => Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
  const config = configBlob({});
  const digests = [await hex(WEIGHTS), await hex(await config.arrayBuffer())];
  const weights = new Blob([WEIGHTS]);
  await readAdapter(weights, { config, sha256: digests }, 'llama');
  await readAdapter(weights, { config, sha256: digests[0] }, 'llama');
  const wrong = readAdapter(weights, { config: configBlob({ lora_alpha: 5 }), sha256: digests }, 'llama');
  await assert.rejects(wrong, { code: 'integrity_failed' });
  const alone = readAdapter(weights, {}, 'llama');
  await assert.rejects(alone, { code: 'invalid_argument', message: /adapter_config.json, by the option 'config'/ });
});

test('no header of safetensors ends in an exception of JavaScript', () => {
  const name = 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight';
  const fine = { dtype: 'F32', shape: [4, 4], data_offsets: [0, 64] };
  const data = new Uint8Array(64);
  const text = JSON.stringify(CONFIG);
  const read = (header, bytes = data) => ggufOfPeft(join(header, bytes), text, 'llama');
  assert.ok(read({ [name]: fine, __metadata__: { format: 'pt' } }).length > 64);
  const values = [null, true, 0, -1, 0.5, 1e300, '', 'x', '__proto__', 'constructor', [], {}, [null], [[]]];
  const lists = [[4], [4, 4, 1], [-4, -4], [0.5, 32], [4, '4'], [1e200, 1e200], [4, null], [2 ** 53, 2], [4, {}]];
  for (const value of values) {
    assert.throws(() => read(JSON.stringify(value)), bad(/./), `header ${JSON.stringify(value)}`);
    assert.throws(() => read({ [name]: value }), bad(/lora_A/), `entry ${JSON.stringify(value)}`);
    for (const field of Object.keys(fine)) {
      assert.throws(
        () => read({ [name]: { ...fine, [field]: value } }),
        bad(/lora_A/),
        `${field}: ${JSON.stringify(value)}`,
      );
    }
  }
  for (const list of lists) {
    assert.throws(() => read({ [name]: { ...fine, shape: list } }), bad(/lora_A/), `shape ${list}`);
    assert.throws(() => read({ [name]: { ...fine, data_offsets: list } }), bad(/lora_A/), `offsets ${list}`);
  }
  for (const field of Object.keys(fine))
    assert.throws(() => read({ [name]: { ...fine, [field]: undefined } }), bad(/lora_A/));
  const names = [
    '',
    'x',
    '__proto__',
    'constructor',
    'lora_A',
    name.replace('q_proj', 'constructor'),
    'base_model.model.toString.lora_A',
  ];
  for (const other of names)
    assert.throws(() => read(`{${JSON.stringify(other)}:${JSON.stringify(fine)}}`), bad(/adapters may change/));
  for (const dora of ['lora_magnitude_vector', 'lora_B.bias']) {
    assert.throws(() => read({ [name.replace('lora_A.weight', dora)]: fine }), bad(new RegExp(dora)));
  }
  for (const bytes of [0, 4, 7, 8, 20])
    assert.throws(() => ggufOfPeft(join({ [name]: fine }).subarray(0, bytes), text, 'llama'), bad(/header/));
  for (const length of [2n ** 64n - 1n, 2n ** 63n, 2n ** 32n]) {
    const file = join({ [name]: fine }, data);
    new DataView(file.buffer).setBigUint64(0, length, true);
    assert.throws(() => ggufOfPeft(file, text, 'llama'), bad(/a header of \d+ bytes/));
  }
  assert.throws(() => read('{'), bad(/neither GGUF nor safetensors/));
  assert.throws(() => read('['.repeat(100_000)), bad(/neither GGUF nor safetensors/));
  assert.throws(() => read({ [name]: fine }, data.subarray(1)), bad(/up to byte 64 of 63/));
});

test('tensors of an adapter that do not fit together are refused', async () => {
  const model = await WasmModel.load(MODEL, { backend: 'cpu' });
  const twice = TENSORS.flatMap((of) => [of, { ...of, name: of.name.replace('model.model.model', 'model.model') }]);
  await assert.rejects(asked(model, {}, written(twice)), bad(/a second time/));
  await assert.rejects(asked(model, {}, only(/lora_A/)), bad(/lora_b is missing/));
  await assert.rejects(asked(model, {}, written([])), bad(/no tensors/));
  await model.free();
});
