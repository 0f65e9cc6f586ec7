// What a file asks for and is not done, as a page hears of it: refused by name, or said. With the WebAssembly of the
// package, on the CPU; tests/config.rs and tests/tokenizer.rs have all keys.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { Tokenizer, WasmModel } from '../../dist/index.js';
import { ARRAY, BOOL, I32, patched, STRING, U32 } from './gguf_patch.mjs';

const at = (path) => new Uint8Array(fs.readFileSync(new URL(`../fixtures/${path}`, import.meta.url)));
const model = (name) => at(`models/${name}.gguf`);
const blob = (bytes) => new Blob([bytes]);

/** What `onWarning` hears of a load, and the warnings of `info` and of `inspect`. */
async function heard(file, options = {}) {
  const warnings = [];
  const loaded = await WasmModel.load(blob(file), { backend: 'cpu', onWarning: (of) => warnings.push(of), ...options });
  const { info } = loaded;
  await loaded.free();
  assert.ok(warnings.every(({ code }) => code === 'file'));
  const said = warnings.map(({ message }) => message);
  assert.deepEqual(info.warnings, said);
  assert.deepEqual((await WasmModel.inspect(blob(file))).warnings, said);
  return said;
}

const refusal = (code, pattern) => (error) => {
  assert.equal(`${error.name} ${error.code}`, `WebggufError ${code}`, error.stack);
  assert.match(error.message, pattern);
  return true;
};

/** `load` and `inspect` say the same. */
async function refused(file, code, pattern) {
  await assert.rejects(WasmModel.load(blob(file), { backend: 'cpu' }), refusal(code, pattern));
  const { supported, reason } = await WasmModel.inspect(blob(file));
  assert.equal(supported, false);
  assert.equal(reason.code, code);
  assert.match(reason.message, pattern);
}

test('onWarning, info and inspect hear what is left out', async () => {
  const qwen = model('qwen3-q4_0');
  assert.deepEqual(await heard(qwen), []);
  const [missing] = await heard(patched(qwen, { drop: ['tokenizer.ggml.pre'] }));
  assert.match(missing, /tokenizer.ggml.pre is missing/);
  const unknown = await heard(patched(qwen, { set: [['qwen3.attention.twist', U32, 1]] }));
  assert.deepEqual(unknown.length, 1);
  assert.match(unknown[0], /qwen3.attention.twist/);
  const stray = patched(qwen, {
    change: (tensors) => [...tensors, { name: 'blk.0.extra.weight', dims: [4], type: 0, data: Buffer.alloc(16) }],
  });
  assert.match((await heard(stray)).join(), /^1 tensors are not read .* blk.0.extra.weight$/);
  const odd = await heard(patched(qwen, { set: [['tokenizer.ggml.padding_token_id', U32, 1_000_000]] }));
  assert.match(odd.join(), /padding_token_id is 1000000/);
});

test('what would give wrong answers is refused by its name', async () => {
  const qwen = model('qwen3-q4_0');
  const rotated = patched(qwen, { set: [['prism.hadamard.version', U32, 2]] });
  await refused(rotated, 'bad_file', /prism.hadamard.transform` is missing/);
  const words = patched(qwen, { set: [['tokenizer.ggml.pre', STRING, 'k9-horizon']] });
  await refused(words, 'unsupported_architecture', /tokenizer.ggml.pre is 'k9-horizon'/);
  await assert.rejects(Tokenizer.load(blob(words)), refusal('unsupported_architecture', /'k9-horizon'/));
  const headless = patched(qwen, { set: [['qwen3.pooling_type', U32, 4]] });
  await refused(headless, 'bad_file', /cls.output.weight is missing/);
  const unmasked = patched(qwen, { set: [['qwen3.attention.causal', BOOL, false]] });
  await refused(unmasked, 'unsupported_architecture', /qwen3.attention.causal/);
});

test('a file that is no model says what it is', async () => {
  const qwen = model('qwen3-q4_0');
  const kind = (set, change) => patched(qwen, { set, ...(change && { change }) });
  const code = 'invalid_argument';
  await refused(at('adapters/llama-f32.all.gguf'), code, /is an adapter \(LoRA\)/);
  await refused(at('adapters/gemma2-bf16.vector.gguf'), code, /is a control vector/);
  await refused(kind([['general.type', STRING, 'imatrix']]), code, /is an importance matrix/);
  await refused(
    kind([], () => []),
    code,
    /is a vocabulary without weights/,
  );
  const encoder = at('encoders/gemma3.gguf');
  await refused(encoder, code, /is an encoder of images or sounds/);
  for (const wrong of [at('adapters/llama-f32.all.gguf'), qwen]) {
    const load = WasmModel.load(blob(model('llama-f32')), { backend: 'cpu', mmproj: blob(wrong) });
    await assert.rejects(load, refusal(code, /is an adapter|a model of architecture qwen3, expected an encoder/));
  }
  const loaded = await WasmModel.load(blob(model('llama-f32')), { backend: 'cpu' });
  for (const wrong of [qwen, encoder])
    await assert.rejects(loaded.addAdapter(blob(wrong)), refusal('bad_file', /adapter/));
  await loaded.free();
});

test('vectors and scores of a model that writes text are refused with the reason', async () => {
  const asked = async (file, call) => {
    const loaded = await WasmModel.load(blob(file), { backend: 'cpu', onWarning: () => {} });
    return call(loaded)
      .then(
        () => assert.fail('must be refused'),
        (error) => error.message,
      )
      .finally(() => loaded.free());
  };
  const pooled = patched(model('qwen35-q8_0'), { set: [['qwen35.pooling_type', U32, 3]] });
  assert.match((await heard(pooled)).join(), /qwen35.pooling_type.*write text alone/);
  assert.match(await asked(pooled, (loaded) => loaded.embed('a')), /architecture qwen35/);
  const plain = model('qwen3-q4_0');
  assert.match(await asked(plain, (loaded) => loaded.embed('a')), /load it with the option 'pooling'/);
  assert.match(await asked(plain, (loaded) => loaded.rank('a', ['b'])), /the file of a reranker/);
});

test('a text of letters and marks has the ids of the composed one in Qwen', async () => {
  const file = model('qwen3-q4_0');
  const tokenizer = await Tokenizer.load(blob(patched(file, { set: [['tokenizer.ggml.pre', STRING, 'qwen2']] })));
  const other = await Tokenizer.load(blob(patched(file, { set: [['tokenizer.ggml.pre', STRING, 'gpt-2']] })));
  const composed = 'café 한국 が';
  const apart = composed.normalize('NFD');
  assert.notEqual(apart, composed);
  assert.deepEqual(tokenizer.tokenize(apart), tokenizer.tokenize(composed));
  assert.equal(tokenizer.detokenize(tokenizer.tokenize(apart)), composed);
  assert.notDeepEqual(other.tokenize(apart), other.tokenize(composed));
  assert.equal(other.detokenize(other.tokenize(apart)), apart);
});

test('a factor beside each matrix multiplies what it gives', async () => {
  const file = model('llama-f32');
  // Weights eight times as large, with factors of an eighth.
  const larger = ({ data, ...of }) => {
    const values = new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
    return { ...of, data: Buffer.from(values.map((value) => 8 * value).buffer) };
  };
  const factor = Buffer.from(Float32Array.of(0.125).buffer);
  const change = (tensors) =>
    tensors.flatMap((of) =>
      /(attn_(q|k|v|output)|ffn_(gate|up|down))\.weight$/.test(of.name)
        ? [larger(of), { name: of.name.replace('weight', 'scale'), dims: [1], type: 0, data: factor }]
        : [of],
    );
  const ids = Uint32Array.from([161, 232, 149, 178, 284]);
  const logprobs = async (bytes) => {
    const loaded = await WasmModel.load(blob(bytes), { backend: 'cpu' });
    return loaded.evaluate(ids).finally(() => loaded.free());
  };
  const [expected, found] = [await logprobs(file), await logprobs(patched(file, { change }))];
  const far = Math.max(...[...expected.logprobs].slice(1).map((value, i) => Math.abs(value - found.logprobs[i + 1])));
  assert.ok(far < 1e-4, `${far}`);
});

test('tokens of the same text load, and each decodes to it', async () => {
  const tokens = ['<pad>', '<eos>', '<bos>', '<unk>', 'a', '/', '//', '//', '#', '#'];
  const kinds = tokens.map((_, id) => (id < 4 ? 3 : 1));
  const vocabulary = patched(model('qwen3-q4_0'), {
    drop: [/^tokenizer\./],
    set: [
      ['tokenizer.ggml.model', STRING, 'gemma4'],
      ['tokenizer.ggml.tokens', ARRAY, [STRING, tokens]],
      ['tokenizer.ggml.merges', ARRAY, [STRING, ['/ /']]],
      ['tokenizer.ggml.token_type', ARRAY, [I32, kinds]],
    ],
  });
  const tokenizer = await Tokenizer.load(blob(vocabulary));
  assert.deepEqual([...tokenizer.tokenize('a//#')], [4, 6, 8]);
  for (const id of [6, 7, 8, 9]) assert.equal(tokenizer.detokenize([id]), tokens[id]);
});
