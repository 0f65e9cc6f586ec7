// The speech of an LFM3 in a page, on the GPU and on the CPU path, and from a worker: samples are what llama.cpp has.

import { test } from 'node:test';
import { openEvaluation } from './site.mjs';
import { assertLfm3 } from './speaking.mjs';

const { site } = await openEvaluation();

for (const [backend, worker] of [
  ['webgpu', false],
  ['webgpu', true],
  ['cpu', true],
]) {
  test(`on ${backend}${worker ? ', in a worker' : ''}: samples are what llama.cpp has`, async () => {
    const page = await site.open('/blank');
    // A GPU in software takes long.
    const some = (cases) => (backend === 'webgpu' && worker ? cases.slice(0, 1) : cases);
    await assertLfm3((work, argument) => page.evaluate(work, argument), { backend, worker, some });
    await page.close();
  });
}
