// Speech on the GPU in a worker and on the CPU in the page: samples of Soprano and Pocket TTS are what llama.cpp has.

import { test } from 'node:test';
import { openEvaluation } from './site.mjs';
import { assertPocket, assertSoprano } from './speaking.mjs';

const { site } = await openEvaluation();
/** The shortest text: a GPU in software takes long. */
const last = (cases) => cases.slice(-1);

for (const [name, speaks, some] of [
  ['Soprano', assertSoprano],
  ['Pocket TTS', assertPocket, last],
]) {
  for (const options of [{ backend: 'webgpu', worker: true, some }, { backend: 'cpu' }]) {
    test(`${name} on ${options.backend}${options.worker ? ', in a worker' : ''}`, async () => {
      const page = await site.open('/blank');
      await speaks((work, argument) => page.evaluate(work, argument), options);
      await page.close();
    });
  }
}
