// Embedders and rerankers in a page: www/evaluate.html reports what llama.cpp says, and the package refuses wrong use.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import path from 'node:path';
import { readJson, ROOT } from '../../tools/common.mjs';
import { jsonUrl, openEvaluation, SMALL } from './site.mjs';

const EMBEDDERS = path.join(ROOT, 'tests', 'fixtures', 'embedders');
const expected = (name) => readJson(path.join(EMBEDDERS, `${name}.json`));
const urlOf = (name) => `/fixtures/embedders/${name}.gguf`;

const { site, evaluate } = await openEvaluation();

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

for (const backend of ['webgpu', 'cpu']) {
  for (const name of ['bert-f16', 'gemma-embedding-f16', 'qwen3-embedding-q4_0']) {
    test(`${name} on ${backend}: the vectors are those of llama.cpp`, async () => {
      const { inputs, pooled } = expected(name);
      const { embeddings, info, error } = await evaluate({ model: urlOf(name), embed: jsonUrl(inputs), backend });
      assert.equal(error, undefined, JSON.stringify(error));
      assert.deepEqual([info.backend, info.embeddingLength], [backend, pooled[0].length]);
      assert.equal(embeddings.length, inputs.length);
      for (const [i, vector] of embeddings.entries()) {
        assert.ok(cosine(vector, pooled[i]) > 0.99999, `${inputs[i].length} ids: ${cosine(vector, pooled[i])}`);
        assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-5, 'normalised');
      }
    });
  }

  for (const name of ['bert-rank-f32', 'qwen3-rerank-q8_0']) {
    test(`${name} on ${backend}: the scores are those of llama.cpp`, async () => {
      const { inputs, pooled } = expected(name);
      const { scores, info, error } = await evaluate({ model: urlOf(name), embed: jsonUrl(inputs), backend });
      assert.equal(error, undefined, JSON.stringify(error));
      assert.equal(info.pooling, 'rank');
      for (const [i, score] of scores.entries()) assert.ok(Math.abs(score - pooled[i][0]) < 1e-3, `${score}`);
    });
  }
}

test('strings get the special tokens of the model', async () => {
  const { texts } = expected('bert-f16');
  const model = { model: urlOf('bert-f16'), backend: 'cpu' };
  const { embeddings } = await evaluate({ ...model, embed: jsonUrl(texts.flat()) });
  for (let i = 0; i < embeddings.length; i += 2) assert.deepEqual(embeddings[i], embeddings[i + 1], texts[i / 2][0]);
});

test('wrong use is refused with what to do instead', async () => {
  const embed = jsonUrl([[5, 6, 7]]);
  const codes = async (parameters) => (await evaluate({ backend: 'cpu', ...parameters })).error;
  const text = await codes({ model: urlOf('bert-f16'), ids: '5,6', predict: 3 });
  assert.equal(text.code, 'invalid_argument');
  assert.match(text.message, /writes no text: use embed/);
  const chat = await codes({ model: SMALL, embed });
  assert.equal(chat.code, 'invalid_argument');
  assert.match(chat.message, /load it with the option 'pooling'/);
  const long = await codes({ model: urlOf('bert-f16'), embed: jsonUrl([Array(513).fill(5)]) });
  assert.equal(long.code, 'context_full');
  assert.match(long.message, /513 tokens, the context holds 512/);
});

test('a page embeds, cuts, shortens, cancels and ranks', async () => {
  const page = await site.open('/evaluate.html');
  const found = await page.evaluate(
    async ([embedder, reranker, chat]) => {
      const { WasmModel } = await import('/dist/index.js');
      const model = await WasmModel.load(embedder, { backend: 'webgpu' });
      // More rows than one batch takes (4096).
      const many = Array.from({ length: 120 }, (_, i) => 'the river '.repeat(1 + (i % 40)));
      const vectors = await model.embed(many);
      const one = await model.embed(many[17]);
      const short = await model.embed(many[17], { dimensions: 8 });
      const cut = await model.embed('bread '.repeat(2000), { truncate: true });
      const aborted = await model.embed(many, { signal: AbortSignal.abort('no') }).catch(String);
      await model.free();
      const judge = await WasmModel.load(reranker, { backend: 'cpu' });
      const scores = await judge.rank('the river', ['the old bridge', 'bread'], { truncate: true });
      await judge.free();
      const pooled = await WasmModel.load(chat, { backend: 'webgpu', pooling: 'mean' });
      const mean = await pooled.embed([[5, 6, 7]]);
      const { info } = pooled;
      await pooled.free();
      const plain = (values) => Array.from(values);
      return {
        ...{
          count: vectors.length,
          same: plain(vectors[17]),
          first: plain(vectors[37]),
          second: plain(vectors[117]),
          one: plain(one),
          short: plain(short),
        },
        ...{ cut: plain(cut), aborted, scores, mean: plain(mean[0]), pooling: info.pooling },
      };
    },
    [urlOf('bert-f16'), urlOf('bert-rank-f32'), SMALL],
  );
  await page.close();
  assert.equal(found.count, 120);
  assert.ok(cosine(found.first, found.second) > 0.99999, 'in one batch or another');
  assert.ok(cosine(found.same, found.one) > 0.99999, 'alone or among others');
  assert.equal(found.short.length, 8);
  assert.ok(cosine(found.short, found.one.slice(0, 8)) > 0.99999);
  assert.ok(found.cut.every(Number.isFinite));
  assert.equal(found.aborted, 'no');
  assert.equal(found.scores.length, 2);
  assert.notEqual(found.scores[0], found.scores[1]);
  assert.equal(found.pooling, 'mean');
  assert.equal(found.mean.length, 64);
});
