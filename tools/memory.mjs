// `node tools/memory.mjs [--only 0.3,1] [--stages load,prefill,decode] [--prompt 16] [--tokens 3]`: how much memory a
// page has at most while it loads a model, reads a prompt and writes, of files of 0.3, 1, 4 and 8 GB. Prints a table.
//
// The files are on no disk: the server makes them, in the shapes of models that are published. Bytes are counted, so
// it does not matter how slow the adapter is; one that is a program needs as much memory of the machine as a GPU would.

import { openBrowser } from './browser.mjs';
import { runMain } from './common.mjs';
import { option, serve } from './serve.mjs';
import { countGpu } from '../tests/page/count_gpu.js';
import { DEEP, largeModel, WIDE } from '../tests/page/large_model.mjs';

const [F16, Q8_0, Q4_0] = [DEEP.embedding, DEEP.matrices, WIDE.matrices];
const SMALL = { layers: 24, hidden: 896, heads: 14, kvHeads: 2, headDim: 64, ffn: 4864, context: 4096 };
const MIDDLE = { layers: 16, hidden: 2048, heads: 32, kvHeads: 8, headDim: 64, ffn: 8192, context: 4096 };
const LARGE = { layers: 32, hidden: 4096, heads: 32, kvHeads: 8, headDim: 128, ffn: 14336, context: 4096 };
/** By the size of the file in GB. */
const SHAPES = {
  0.3: { ...SMALL, embedding: Q8_0, matrices: Q4_0 },
  1: { ...MIDDLE, embedding: F16, matrices: Q4_0 },
  4: { ...LARGE, embedding: Q4_0, matrices: Q4_0 },
  8: { ...LARGE, embedding: Q8_0, matrices: Q8_0 },
};
const STAGES = ['load', 'prefill', 'decode'];
/** How often JavaScript's memory is looked at, in milliseconds. */
const LOOK = 50;

/** In the page: one stage; gives WebAssembly's memory, which never shrinks, and the most that the GPU held. */
async function run({ stage, prompt, tokens }) {
  const { WasmModel } = await import('/dist/index.js');
  globalThis.most = globalThis.live.bytes;
  globalThis.model ??= await WasmModel.load('/model.gguf', { backend: 'webgpu', cache: false });
  const { model } = globalThis;
  const ids = Uint32Array.from({ length: prompt }, (_, i) => (i * 7919) % 128_000);
  const options = { temperature: 0, ignoreEos: true };
  if (stage === 'prefill') await model.generate(ids, { ...options, maxTokens: 1 }).result;
  if (stage === 'decode') await model.generate(ids, { ...options, maxTokens: 1 + tokens }).result;
  return { gpu: globalThis.most, wasm: await model.wasmMemoryBytes() };
}

/** In the page: what `inspect` said before that the model would take, for the page as a whole. */
async function inspected() {
  const { WasmModel } = await import('/dist/index.js');
  const { advice } = await WasmModel.inspect('/model.gguf', { backend: 'webgpu', memoryBytes: 64e9 });
  return advice.bytes;
}

/** The most bytes of JavaScript, with its buffers but without WebAssembly's, while `work` goes on. */
async function watched(devtools, work) {
  let most = 0;
  let isOver = false;
  const look = async () => {
    while (!isOver) {
      const { usedSize, backingStorageSize } = await devtools.send('Runtime.getHeapUsage');
      most = Math.max(most, usedSize + backingStorageSize);
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
  };
  const looking = look();
  const found = await work().finally(() => (isOver = true));
  await looking;
  return { ...found, javascript: most };
}

const mb = (bytes) => Math.round(bytes / 1e6).toLocaleString('en');

/** The peaks of one file: prints a row for each stage. */
async function measure(name, { stages, prompt, tokens }) {
  const model = largeModel(SHAPES[name]);
  const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
  const { url, close } = await serve({ routes: { '/blank': blank, '/model.gguf': model.route } });
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    await page.addInitScript(countGpu);
    await page.goto(`${url}/blank`);
    const devtools = await page.context().newCDPSession(page);
    const predicted = await page.evaluate(inspected);
    for (const stage of stages) {
      const { javascript, wasm, gpu } = await watched(devtools, () => page.evaluate(run, { stage, prompt, tokens }));
      console.log(`| ${mb(model.bytes)} | ${stage} | ${[javascript, wasm, gpu, predicted].map(mb).join(' | ')} |`);
    }
  } finally {
    await browser.close();
    await close();
  }
}

await runMain(async () => {
  const names = option('only')?.split(',') ?? Object.keys(SHAPES);
  const [prompt, tokens] = [Number(option('prompt', 16)), Number(option('tokens', 3))];
  const stages = option('stages')?.split(',') ?? STAGES;
  console.log('| file, MB | stage | JavaScript | WebAssembly | GPU | `advice.bytes` |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const name of names) await measure(name, { stages, prompt, tokens });
});
