// A model whose encoder reads a source, in a page and in a worker: `auto` takes the CPU, the GPU refuses it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { openSite } from './site.mjs';

const URL_OF = '/fixtures/sources/t5-f16.gguf';
const FILE = path.join(ROOT, 'tests', 'fixtures', 'sources', 't5-f16.json');
const { source, greedy } = JSON.parse(fs.readFileSync(FILE, 'utf8')).sources[3];
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
  test(`the answer is llama.cpp's, ${worker ? 'in a worker' : 'in the page'}`, async () => {
    const found = await page.evaluate(generate, { url: URL_OF, source, worker, backend: 'auto' });
    assert.deepEqual(found, { ids: greedy.slice(0, 30), backend: 'cpu' });
  });
}

test('the GPU refuses it and says what to do', async () => {
  const { code, message } = await page.evaluate(generate, { url: URL_OF, source, worker: false, backend: 'webgpu' });
  assert.equal(code, 'unsupported_architecture');
  assert.match(message, /backend 'cpu'/);
});
