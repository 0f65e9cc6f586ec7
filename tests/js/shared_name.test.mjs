// Which loads mean the same model for all tabs, and what tabs cannot share.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readJson, ROOT } from '../../tools/common.mjs';
import { api, withCode } from './api.mjs';

const { sharedName } = await import(path.join(ROOT, 'dist', 'shared', 'key.js'));
const url = 'https://example.com/model.gguf';

test('the same model with the same options has one name, of this release', async () => {
  const name = await sharedName(url, { contextLength: 512, retries: 3, onProgress() {} });
  assert.equal(await sharedName(Promise.resolve(new URL(url)), { shared: true, contextLength: 512 }), name);
  const { version } = readJson(path.join(ROOT, 'package.json'));
  assert.ok(name.startsWith(`webgguf ${version} `), name);
  const others = [
    await sharedName(url, {}),
    await sharedName(url, { contextLength: 512, parallel: 2 }),
    await sharedName(url, { contextLength: 512, mmproj: url }),
    await sharedName(url, { contextLength: 512, draft: url }),
    await sharedName(url, { contextLength: 512, draft: false }),
    await sharedName([url, `${url}2`], { contextLength: 512 }),
    await sharedName(new File(['GGUF'], 'model.gguf'), { contextLength: 512 }),
  ];
  assert.equal(new Set([name, ...others]).size, 8);
});

test('what a tab cannot read again, or would change the model of all, is refused', async () => {
  const once = [new Uint8Array(4), new Response('x'), new Blob(['x']), new ReadableStream()];
  for (const source of once) await assert.rejects(sharedName(source, {}), withCode('feature_missing', /each tab/));
  await assert.rejects(sharedName(url, { gpu: {} }), withCode('invalid_argument', /one thread/));
  // Node.js 20 has no locks.
  if (!globalThis.navigator?.locks) {
    await assert.rejects(api.WasmModel.load(url, { shared: true }), withCode('feature_missing', /locks/));
  }
});
