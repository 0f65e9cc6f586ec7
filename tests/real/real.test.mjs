// Published models on the CPU path of the package, against llama.cpp: see tests/fixtures/real/README.md.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Tokenizer, WasmModel } from '../../dist/index.js';
import { readJson, ROOT, Stop } from '../../tools/common.mjs';
import { REAL_MODELS, realModel } from '../../tools/real-models.mjs';

/** Where llama.cpp's two best logits are closer than this, rounding may swap them. */
const NEAR_TIE = 0.05;
/** Largest mean of |Δ log-probability|; rounding the KV cache to f16 makes 0.0009 of it. */
const MAX_OFF = 0.005;
const CONTEXT = 1536;

const FIXTURES = path.join(ROOT, 'tests', 'fixtures', 'real');
const { documents } = readJson(path.join(FIXTURES, 'texts.json'));
const expected = ({ file }) => readJson(path.join(FIXTURES, file.replace(/\.gguf$/, '.json')));

/** The path of a model, or why it cannot be had here. */
async function available(name) {
  try {
    return { file: await realModel(name) };
  } catch (error) {
    if (error instanceof Stop) return { skip: error.message };
    throw error;
  }
}

function checkTexts(tokenizer, { texts, ids, chat }) {
  for (const [text, plain, special = plain] of texts) {
    assert.deepEqual([...tokenizer.tokenize(text)], plain, JSON.stringify(text));
    assert.deepEqual([...tokenizer.tokenize(text, { parseSpecial: true })], special, JSON.stringify(text));
    // SentencePiece's sign for a space is one.
    if (!text.includes('\u2581')) assert.equal(tokenizer.detokenize(plain), text);
  }
  assert.deepEqual([...tokenizer.tokenize(Object.values(documents).join('\n\n'), { addSpecial: true })], ids);
  if (!chat) return;
  assert.equal(tokenizer.applyChatTemplate(chat.messages), chat.text);
  assert.deepEqual([...tokenizer.tokenize(chat.text, { parseSpecial: true })], chat.ids);
}

/** Forced decoding: the most probable token where there is a clear one, and the probability of what comes. */
async function checkForced(model, { ids, top1, margin, logprobs }) {
  const found = await model.evaluate(ids);
  const differing = ids.map((_, i) => i).filter((i) => found.top1[i] !== top1[i]);
  const unexcused = differing.filter((i) => !(margin[i] < NEAR_TIE));
  const off = logprobs.reduce((sum, value, i) => sum + Math.abs(value - found.logprobs[i]), 0) / logprobs.length;
  console.log(
    `${ids.length} positions: ${differing.length} near ties swapped, mean |Δ log-probability| ${off.toFixed(5)}`,
  );
  assert.deepEqual(unexcused, []);
  assert.equal(found.logprobs.length, logprobs.length);
  assert.ok(off <= MAX_OFF, `log-probabilities are off by ${off} on average`);
}

async function checkGreedy(model, { prompt, prompt_ids: promptIds, ids, text }) {
  assert.deepEqual([...(await model.tokenize(prompt, { addSpecial: true }))], promptIds);
  const result = await model.generate(prompt, { temperature: 0, maxTokens: ids.length, ignoreEos: true }).result;
  assert.deepEqual([...result.ids], ids, prompt);
  assert.equal(result.text, text);
}

test('the expected answers are of the pinned files', () => {
  for (const model of Object.values(REAL_MODELS)) {
    const { file, sha256 } = expected(model);
    assert.deepEqual({ file, sha256 }, { file: model.file, sha256: model.sha256 });
  }
});

async function checkModel(context, file, answers) {
  const model = await WasmModel.load(await fs.openAsBlob(file), { backend: 'cpu', contextLength: CONTEXT });
  try {
    await context.test('forced decoding', () => checkForced(model, answers));
    for (const row of answers.greedy) await context.test(`greedy: ${row.prompt}`, () => checkGreedy(model, row));
  } finally {
    await model.free();
  }
}

for (const [name, { file }] of Object.entries(REAL_MODELS)) {
  test(`${file} says what llama.cpp says`, async (context) => {
    const { file: found, skip } = await available(name);
    if (skip) return context.skip(skip);
    const answers = expected({ file });
    const tokenizer = await Tokenizer.load(await fs.openAsBlob(found));
    await context.test('ids of texts', () => checkTexts(tokenizer, answers));
    tokenizer.free();
    await checkModel(context, found, answers);
  });
}
