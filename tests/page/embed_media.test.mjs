// An embedder of texts, images and sounds, on the GPU in a worker and on the CPU in the page, against llama.cpp.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CASES, apart, unit } from '../js/embed_media.mjs';
import { openSite } from './site.mjs';

const site = await openSite();
const page = await site.open('/blank');

/** What `embed` gives for these cases, in which images and sounds are the names of files. */
async function embedded([cases, options]) {
  const { WasmModel } = await import('/dist/index.js');
  const model = await WasmModel.load('/fixtures/embed-media/embed-media.gguf', {
    mmproj: '/fixtures/embed-media/encoders.gguf',
    cache: false,
    ...options,
  });
  const file = async (name) => (await fetch(`/fixtures/encoders/${name}`)).blob();
  const part = async ({ text, image, audio }) => {
    if (text !== undefined) return { type: 'text', text };
    if (audio) return { type: 'audio', audio: await file(audio) };
    return { type: 'image', image: await createImageBitmap(await file(image)) };
  };
  const inputs = [];
  for (const { parts } of cases) inputs.push({ content: await Promise.all(parts.map(part)) });
  const vectors = (await model.embed([...inputs, 'nobody knows'])).map((vector) => [...vector]);
  const { usage } = await model.embeddings.create({ input: inputs });
  const { backend } = model.info;
  await model.free();
  return { backend, vectors, tokens: usage.prompt_tokens };
}

for (const options of [{ backend: 'webgpu', worker: true }, { backend: 'cpu' }]) {
  test(`texts, images and sounds on ${JSON.stringify(options)}`, async () => {
    const { backend, vectors, tokens } = await page.evaluate(embedded, [CASES, options]);
    assert.equal(backend, options.backend);
    const expected = [...CASES, CASES.at(-1)].map(({ embedding }) => unit(embedding));
    for (const [at, vector] of vectors.entries()) {
      const off = apart(vector, expected[at]);
      assert.ok(off < (backend === 'cpu' ? 1e-4 : 2e-3), `case ${at}: off by ${off}`);
    }
    const sum = CASES.flatMap(({ pieces }) => pieces).reduce((sum, piece) => sum + (piece.length ?? piece), 0);
    assert.equal(tokens, sum);
  });
}
