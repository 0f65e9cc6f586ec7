// How long a page is blocked while a model is loaded and while it writes: in the page's thread and in a worker.
//
//   node tools/longtasks.mjs [--model FILE] [--rounds N] [--prompt N] [--predict N] [--backend auto, webgpu or cpu]
//
// Without a file the server makes one of the size of Llama 3.2 1B in Q4_0, of which `--layers N` keeps some layers. The
// package must be built. On a software adapter the GPU's work competes with the page for the same processors.

import path from 'node:path';
import { largeModel, WIDE } from '../tests/page/large_model.mjs';
import { openBrowser } from './browser.mjs';
import { isMain, runMain } from './common.mjs';
import { openPage } from './demo.mjs';
import { option, serve } from './serve.mjs';

const BLANK = '<!doctype html><title>long tasks</title>';
const LAYERS = 16;

/** Runs in the page. */
async function measure({ model: url, worker, backend, prompt, predict }) {
  const { WasmModel } = await import('/dist/index.js');
  const { watchBlocks } = await import('/bench/meter.js');
  const blocks = watchBlocks();
  const settled = () => new Promise((resolve) => setTimeout(resolve, 100)); // long tasks are told afterwards
  const phase = async (work) => {
    const from = performance.now();
    const result = await work();
    const to = performance.now();
    await settled();
    return [result, { ms: to - from, ...blocks.between(from, to) }];
  };
  await settled();
  const [model, load] = await phase(() => WasmModel.load(url, { worker, backend, cache: false }));
  const ids = Uint32Array.from({ length: prompt }, (_, at) => 1000 + at);
  const answer = async () => {
    for await (const _ of model.generate(ids, { maxTokens: predict, temperature: 0, ignoreEos: true }));
  };
  const [, generate] = await phase(answer);
  blocks.stop();
  await model.free();
  return { adapter: model.info.adapter || model.info.backend, load, generate };
}

function row({ adapter, load, generate }, worker) {
  const cells = [load, generate].flatMap(({ ms, longtask_ms, longtasks, timer_gap_ms }) => [
    `${(ms / 1000).toFixed(1)} s`,
    `${longtasks} / ${Math.round(longtask_ms)} ms`,
    `${Math.round(timer_gap_ms)} ms`,
  ]);
  return `| ${[worker ? 'worker' : 'page', adapter, ...cells].join(' | ')} |`;
}

async function main() {
  const file = option('model');
  const shape = { ...WIDE, layers: Number(option('layers') ?? LAYERS) };
  const model = file ? `/model/${encodeURIComponent(path.basename(file))}` : '/large.gguf';
  const site = await serve({
    mounts: file ? { '/model/': path.dirname(path.resolve(file)) } : {},
    routes: {
      '/blank.html': (_, response) => response.setHeader('Content-Type', 'text/html').end(BLANK),
      ...(file ? {} : { '/large.gguf': largeModel(shape).route }),
    },
  });
  const browser = await openBrowser();
  const settings = {
    model,
    backend: option('backend') ?? 'auto',
    prompt: Number(option('prompt') ?? 64),
    predict: Number(option('predict') ?? 32),
  };
  console.log('| model in | on | load | long tasks: number / longest | timer late by | answer | long tasks | timer |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  try {
    for (let round = 0; round < Number(option('rounds') ?? 3); round += 1) {
      for (const worker of [false, true]) {
        const page = await openPage(browser, `${site.url}/blank.html`);
        console.log(row(await page.evaluate(measure, { ...settings, worker }), worker));
        await page.close();
      }
    }
  } finally {
    await browser.close();
    await site.close();
  }
}

if (isMain(import.meta.url)) await runMain(main);
