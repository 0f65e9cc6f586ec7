// A model whose encoder reads a source, in a page and in a worker, on the CPU and on the GPU.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { openSite } from './site.mjs';

const URL_OF = '/fixtures/sources/t5-f16.gguf';
const FILE = path.join(ROOT, 'tests', 'fixtures', 'sources', 't5-f16.json');
const { sources } = JSON.parse(fs.readFileSync(FILE, 'utf8'));
const { source, greedy } = sources[3];
const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

const generate = async ({ url, source, worker, backend }) => {
  const { WasmModel } = await import('/dist/index.js');
  try {
    const model = await WasmModel.load(url, { worker, backend });
    const { ids } = await model.generate({ source }, { temperature: 0, maxTokens: 30, logitBias: { 1: -100 } });
    await model.free();
    return { ids: [...ids], backend: model.info.backend };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
};

for (const worker of [false, true]) {
  for (const backend of ['cpu', 'webgpu']) {
    test(`the answer is llama.cpp's, ${worker ? 'in a worker' : 'in the page'} on ${backend}`, async () => {
      const found = await page.evaluate(generate, { url: URL_OF, source, worker, backend });
      assert.deepEqual(found, { ids: greedy.slice(0, 30), backend });
    });
  }
}

test('requests beside each other have sources of their own', async () => {
  const all = sources.slice(1, 4);
  const found = await page.evaluate(
    async ({ url, all }) => {
      const { WasmModel } = await import('/dist/index.js');
      const model = await WasmModel.load(url, { worker: false, backend: 'webgpu', parallel: 3, selfCheck: true });
      const options = { temperature: 0, maxTokens: 20, logitBias: { 1: -100 } };
      const answers = await Promise.all(all.map(({ source }) => model.generate({ source }, options)));
      const { selfCheck } = model.info;
      await model.free();
      return { answers: answers.map(({ ids }) => [...ids]), verdict: selfCheck?.verdict };
    },
    { url: URL_OF, all },
  );
  assert.deepEqual(
    found.answers,
    all.map(({ greedy }) => greedy.slice(0, 20)),
  );
  assert.equal(found.verdict, 'passed');
});
