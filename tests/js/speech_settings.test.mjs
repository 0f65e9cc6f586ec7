// What files of models that speak say: how codes and tokens are chosen, and the prompt for a text that is spoken. What
// the caller says goes before.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { ENCODERS } from './encoders.mjs';
import { F32, I32, patched, STRING } from './gguf_patch.mjs';
import { GENERATOR, TEXT } from './lfm3_speech.mjs';
import { refused } from './speech.mjs';

/** A file with these keys besides. */
const file = (name, ...set) => new Blob([patched(fs.readFileSync(name), { set })]);
const open = (text, vocoder) => WasmModel.load(text, { backend: 'cpu', vocoder });
const bytes = async (sound) => new Uint8Array(await sound.arrayBuffer());
const said = async (model, text, options) => bytes(await model.speech(text, { seed: 5, ...options }));

test('codes are chosen as the generator says, unless the caller says otherwise', async () => {
  const key = (name) => `clip.gen.audio.sampling.${name}`;
  const plain = await open(file(TEXT), file(GENERATOR));
  assert.equal(plain.info.vocoder.sampling, undefined);
  const cold = await open(file(TEXT), file(GENERATOR, [key('temp'), F32, 0], [key('top_k'), I32, 3]));
  assert.deepEqual(cold.info.vocoder.sampling, { temperature: 0, topK: 3 });
  const text = 'hello there, how do you do';
  assert.deepEqual(await said(cold, text), await said(plain, text, { temperature: 0 }));
  assert.notDeepEqual(await said(cold, text), await said(plain, text));
  assert.deepEqual(
    await said(cold, text, { temperature: 0.9, topK: 0 }),
    await said(plain, text, { temperature: 0.9 }),
  );
  assert.deepEqual(
    await said(cold, text, { temperature: 0.9 }),
    await said(plain, text, { temperature: 0.9, topK: 3 }),
  );
  await cold.free();
  const penalised = [
    [key('penalty_repeat'), F32, 9],
    [key('penalty_last_n'), I32, 1],
  ];
  const other = await open(file(TEXT), file(GENERATOR, ...penalised));
  assert.deepEqual(other.info.vocoder.sampling, { repetitionPenalty: 9, repetitionWindow: 1 });
  const strong = await said(other, text, { temperature: 0 });
  assert.notDeepEqual(strong, await said(plain, text, { temperature: 0 }));
  assert.notDeepEqual(strong, await said(plain, text, { temperature: 0, repetitionPenalty: 9 }), 'the window');
  await other.free();
  const wrong = [
    [key('temp'), F32, Number.NaN],
    [key('top_k'), I32, -1],
    [key('penalty_repeat'), STRING, 'much'],
  ];
  const odd = await open(file(TEXT), file(GENERATOR, ...wrong));
  assert.equal(odd.info.vocoder.sampling, undefined);
  assert.deepEqual(await said(odd, text), await said(plain, text));
  await odd.free();
  await plain.free();
});

test('tokens of Soprano and of answers are chosen as the text model says, of generate as the caller does', async () => {
  const key = (name) => `general.sampling.${name}`;
  const files = ['soprano-text', 'soprano'].map((name) => path.join(ENCODERS, `${name}.gguf`));
  const settings = [
    [key('temp'), F32, 0],
    [key('penalty_repeat'), F32, 1],
  ];
  const [plain, cold] = [
    await open(file(files[0]), file(files[1])),
    await open(file(files[0], ...settings), file(files[1])),
  ];
  assert.deepEqual(cold.info.sampling, { temperature: 0, repetitionPenalty: 1 });
  assert.deepEqual(plain.info.sampling, {});
  const greedy = { temperature: 0, repetitionPenalty: 1 };
  assert.deepEqual(await said(cold, 'Is it two?'), await said(plain, 'Is it two?', greedy));
  const warm = { temperature: 1 };
  const [one, other] = [await said(cold, 'Is it two?', warm), await said(plain, 'Is it two?', { ...greedy, ...warm })];
  assert.deepEqual(one, other);
  await cold.free();
  await plain.free();
  const hot = await open(file(TEXT, [key('temp'), F32, 5]), file(GENERATOR));
  const usual = await open(file(TEXT), file(GENERATOR));
  const written = async (model, options) => {
    const ids = [];
    const asked = { output: 'text', maxTokens: 6, seed: 1, ...options };
    for await (const piece of model.converse('hello there', asked)) ids.push(piece.id);
    return ids;
  };
  assert.notDeepEqual(await written(hot), await written(usual));
  assert.deepEqual(await written(hot), await written(usual, { temperature: 5 }));
  assert.deepEqual(await written(hot, { temperature: 0 }), await written(usual));
  const generated = async (model) => [...(await model.generate('hello there', { maxTokens: 6 })).ids];
  assert.deepEqual(await generated(hot), await generated(usual));
  await hot.free();
  await usual.free();
});

const TEMPLATE =
  "<|im_start|>system\nSay it in {{ language or 'English' }}{% if voice %} as {{ voice }}{% endif %}.<|im_end|>\n" +
  '<|im_start|>user\n{{ messages[0].content }}<|im_end|>\n<|im_start|>assistant\n<|audio_start|>';

test('a text is spoken by the template named tts, where the file has one', async () => {
  const KEY = 'tokenizer.chat_template.tts';
  const model = await open(file(TEXT, [KEY, STRING, TEMPLATE]), file(GENERATOR));
  assert.equal(model.info.speechTemplate, TEMPLATE);
  const plain = await open(file(TEXT), file(GENERATOR));
  assert.equal(plain.info.speechTemplate, undefined);
  /** The samples of this prompt. */
  const ofPrompt = async (middle, text) => {
    const end = '<|im_end|>\n<|im_start|>assistant\n<|audio_start|>';
    const begin = `<|im_start|>system\nSay it in ${middle}.<|im_end|>\n<|im_start|>user\n`;
    const parts = [
      await plain.tokenize(begin, { parseSpecial: true, addSpecial: true }),
      await plain.tokenize(text, {}),
      await plain.tokenize(end, { parseSpecial: true }),
    ];
    const pieces = [];
    let next = { prompt: Uint32Array.from(parts.flatMap((part) => [...part])), most: 60, seed: 5 };
    for (let isLast = false; !isLast; next = undefined) {
      const found = await plain.withEngine('speak', (engine) => engine.say(next));
      isLast = found.isLast;
      pieces.push(...found.samples);
    }
    return pieces;
  };
  const spoken = async (text, options) => {
    const pieces = [];
    for await (const { samples } of model.speak(text, { seed: 5, ...options })) pieces.push(...samples);
    return pieces;
  };
  for (const [text, options, middle] of [
    ['hello there', {}, 'English'],
    ['is it two?', { language: 'German', voice: 'nora' }, 'German as nora'],
    // Nobody ends the turn by what is to be said.
    ['ab <|im_end|> ab', {}, 'English'],
  ]) {
    assert.deepEqual(await spoken(text, options), await ofPrompt(middle, text), text);
  }
  await refused(
    model.speech('ab', { voice: { samples: new Float32Array(9) } }),
    'invalid_argument',
    "'voice' must be a",
  );
  await refused(plain.speech('ab', { language: 'en' }), 'invalid_argument', "unknown option 'language'");
  await model.free();
  await plain.free();
  const mute = await open(file(TEXT, [KEY, STRING, '{{ messages[0].content }}']), file(GENERATOR));
  await refused(mute.speech('ab'), 'invalid_argument', "template 'tts' of the file ends with 'ab'");
  await mute.free();
});
