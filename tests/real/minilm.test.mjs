// all-MiniLM-L6-v2 in F16 on the CPU path of the package, against sentence-transformers: the expected vectors are
// written by tools/oracle/make_minilm.py.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { readJson, ROOT, Stop } from '../../tools/common.mjs';
import { miniLm } from '../../tools/real-models.mjs';

/** Weights in F16, and GELU in its tanh form where the model was trained with the exact one. */
const LEAST_COSINE = 0.9999;

const { sentences } = readJson(path.join(ROOT, 'tests', 'fixtures', 'real', 'all-MiniLM-L6-v2.json'));

/** A vector of 16-bit integers in base64, 32767 for 1. */
function unpack(text) {
  const bytes = Buffer.from(text, 'base64');
  return Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(2 * i) / 32767);
}

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

test('sentences get the vectors of sentence-transformers', async (context) => {
  let file;
  try {
    file = await miniLm();
  } catch (error) {
    if (error instanceof Stop) return context.skip(error.message);
    throw error;
  }
  const model = await WasmModel.load(await fs.openAsBlob(file), { backend: 'cpu' });
  try {
    assert.deepEqual([model.info.pooling, model.info.embeddingLength], ['mean', 384]);
    for (const [sentence, ids] of sentences) {
      assert.deepEqual([...(await model.tokenize(sentence, { addSpecial: true }))], ids, sentence);
    }
    const found = await model.embed(sentences.map(([sentence]) => sentence));
    const cosines = found.map((vector, i) => {
      const expected = unpack(sentences[i][2]);
      return dot(vector, expected) / Math.sqrt(dot(expected, expected));
    });
    console.log(`${cosines.length} sentences, least cosine ${Math.min(...cosines).toFixed(6)}`);
    assert.ok(Math.min(...cosines) >= LEAST_COSINE, `${cosines}`);
    assert.ok(Math.abs(dot(found[0], found[0]) - 1) < 1e-5, 'normalised');
  } finally {
    await model.free();
  }
});
