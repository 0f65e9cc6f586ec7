// Answers of text and sound by an LFM3 on the CPU path in Node.js, against llama.cpp: tokens and samples; whose turn it
// is; messages, sounds among them; what is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { joined } from '../../dist/voice/resample.js';
import { Slots } from '../../dist/voice/slots.js';
import { blob, ENCODERS } from './encoders.mjs';
import { answers, askedForAnswer, GENERATOR, open } from './lfm3_speech.mjs';
import { refused, SAMPLES, sampledApart } from './speech.mjs';

/** All that is said and written. */
async function answered(model, asked) {
  const [ids, pieces] = [[], []];
  let text = '';
  for (let [isLast, next] = [false, asked]; !isLast; next = undefined) {
    const said = await model.withEngine('converse', (engine) => engine.say(next));
    isLast = said.isLast;
    if (said.id !== undefined) ids.push(said.id);
    text += said.text ?? '';
    pieces.push(said.samples);
  }
  return { ids, text, samples: joined(pieces) };
}

/** The tokens of an answer without the one that ends it. */
const tokensOf = ({ slots, most }) => slots.filter((id, at) => id >= 0 && (at < slots.length - 1 || at === most - 1));

test('tokens and samples are what llama.cpp has', async () => {
  const model = await open();
  for (const some of answers.cases) {
    const { ids, text, samples } = await answered(model, askedForAnswer(some));
    assert.deepEqual(ids, tokensOf(some), `${some.output}: ${some.text}`);
    assert.equal(text, await model.detokenize(Uint32Array.from(ids), {}));
    if (some.count === 0) assert.equal(samples.length, 0);
    else {
      const apart = sampledApart(samples, some, answers.every);
      assert.ok(apart < SAMPLES, `${some.output}, ${some.text}: samples differ by ${apart}`);
    }
  }
  await model.free();
});

const PROMPT = '<|im_start|>user\nsay more words then<|im_end|>\n<|im_start|>assistant\n';
const BIASES = { 322: 5, 320: -5, 319: 4 };

/** The pieces of an answer. */
async function piecesOf(model, prompt, options) {
  const pieces = [];
  for await (const piece of model.converse(prompt, options)) pieces.push(piece);
  return pieces;
}

test('text and sound come in turn, six tokens and then up to twelve frames, the same with the same seed', async () => {
  const model = await open();
  const options = { seed: 3, maxTokens: 40, logitBias: BIASES };
  const pieces = await piecesOf(model, PROMPT, options);
  const kinds = pieces.map(({ type }) => type);
  assert.deepEqual(kinds.slice(0, 7), [...new Array(6).fill('text'), 'sound']);
  assert.ok(pieces.every((piece) => piece.type === 'text' || piece.sampleRate === 24_000));
  const again = await piecesOf(model, PROMPT, options);
  assert.deepEqual(again, pieces);
  const other = await piecesOf(model, PROMPT, { ...options, seed: 4 });
  assert.notDeepEqual(other, pieces);
  const text = await piecesOf(model, PROMPT, { output: 'text', maxTokens: 12, logitBias: { 320: 50, 321: 50 } });
  assert.ok(text.length > 0 && text.every(({ type, id }) => type === 'text' && ![320, 321].includes(id)));
  // The template of the file begins with a sound.
  const auto = await piecesOf(model, [{ role: 'user', content: 'hello' }], { output: 'auto', maxTokens: 4, seed: 1 });
  assert.equal(auto[0]?.type, 'sound');
  const [first] = await piecesOf(model, [{ role: 'user', content: 'hello' }], { maxTokens: 4 });
  assert.equal(first.type, 'text');
  await model.free();
});

test('a sound is heard and answered, and two answers at once do not mix', async () => {
  const model = await open({ mmproj: blob(GENERATOR) });
  const audio = { samples: Float32Array.from({ length: 8000 }, (_, at) => Math.sin(at / 7) / 3), sampleRate: 16_000 };
  const heard = [{ role: 'user', content: [{ type: 'audio', audio }] }];
  const asks = [
    [heard, { seed: 1, maxTokens: 24 }],
    [PROMPT, { seed: 3, maxTokens: 40, logitBias: BIASES }],
  ];
  const alone = [];
  for (const [prompt, options] of asks) alone.push(await piecesOf(model, prompt, options));
  assert.ok(alone.every((pieces) => new Set(pieces.map(({ type }) => type)).size === 2));
  const quiet = [{ role: 'user', content: [{ type: 'audio', audio: { ...audio, samples: new Float32Array(8000) } }] }];
  assert.notDeepEqual(await piecesOf(model, quiet, asks[0][1]), alone[0], 'the sound is heard');
  const together = await Promise.all(asks.map(([prompt, options]) => piecesOf(model, prompt, options)));
  assert.deepEqual(together, alone);
  const spoken = await Promise.all(['is it two?', 'ab'].map((text) => model.speech(text, { seed: 2 })));
  const bytes = async (sound) => new Uint8Array(await sound.arrayBuffer());
  for (const [at, text] of ['is it two?', 'ab'].entries()) {
    assert.deepEqual(await bytes(spoken[at]), await bytes(await model.speech(text, { seed: 2 })), text);
  }
  await model.free();
});

test('what cannot be answered so is refused', async () => {
  const model = await open();
  const ask = async (prompt, options) => void (await piecesOf(model, prompt, options));
  await refused(ask(PROMPT, { output: 'song' }), 'invalid_argument', "found 'song'");
  await refused(ask(PROMPT, { grammar: { json: true } }), 'invalid_argument', "'grammar'");
  await refused(ask(PROMPT, { temperature: -1 }), 'invalid_argument', "'temperature'");
  await refused(ask(PROMPT, { sound: { temperature: 11 } }), 'invalid_argument', "'sound.temperature'");
  await refused(ask(PROMPT, { sound: { topP: 1 } }), 'invalid_argument', "'sound.topP'");
  await refused(ask(PROMPT, { sound: null }), 'invalid_argument', "'sound'");
  await refused(ask([], {}), 'invalid_argument', 'empty array');
  const abort = new AbortController();
  const run = async () => {
    for await (const { type } of model.converse(PROMPT, { signal: abort.signal, logitBias: BIASES, seed: 3 })) {
      if (type === 'sound') abort.abort(new Error('enough'));
    }
  };
  await assert.rejects(run(), /enough/);
  for await (const { type } of model.converse(PROMPT, { seed: 3, logitBias: BIASES })) if (type === 'sound') break;
  assert.equal((await model.generate('ab', { maxTokens: 2, ignoreEos: true })).ids.length, 2, 'the model is free');
  await model.free();
  const short = await open({ contextLength: 16 });
  await refused(short.converse(PROMPT).next(), 'context_full', 'the context holds 16');
  await short.free();
  const files = { text: `${ENCODERS}/soprano-text.gguf`, vocoder: `${ENCODERS}/soprano.gguf` };
  const soprano = await WasmModel.load(blob(files.text), { backend: 'cpu', vocoder: blob(files.vocoder) });
  await refused(soprano.converse('ab').next(), 'invalid_argument', 'found a vocoder of kind soprano');
  await soprano.free();
});

test('whose turn it is', () => {
  const slots = new Slots('mixed');
  const turns = (count, each) =>
    Array.from({ length: count }, () => {
      const { isText } = slots;
      each(isText);
      return isText ? 't' : 's';
    }).join('');
  const go = (isText) => (isText ? slots.wrote(undefined) : slots.spoke(false));
  assert.equal(turns(30, go), `${'t'.repeat(6)}${'s'.repeat(12)}${'t'.repeat(6)}${'s'.repeat(6)}`);
  assert.equal(slots.frames, 6);
  slots.spoke(true); // the sound ends within its block
  assert.ok(slots.isText && slots.isPlain);
  slots.wrote('mixed');
  assert.equal(turns(3, go), 'ttt');
  slots.wrote('sound'); // within blocks it is a token like others
  assert.equal(turns(4, go), 'ttss');
  const over = new Slots('mixed');
  over.wrote('over');
  assert.deepEqual([over.isText, over.frames], [false, Number.POSITIVE_INFINITY]);
  for (let frame = 0; frame < 40; frame++) over.spoke(false);
  assert.ok(!over.isText);
  over.spoke(true);
  assert.ok(over.isPlain);
  over.wrote('sound');
  assert.ok(!over.isText);
});
