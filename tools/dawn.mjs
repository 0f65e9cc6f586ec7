// Runs kernel cases and models on Dawn in Node: `node tools/dawn.mjs [--only STEM[,STEM]] [--case TEXT] [--models]`.
//
// Dawn is Chromium's WebGPU, and here it takes any Vulkan driver. Mesa's lavapipe, a driver without a GPU, has what
// SwiftShader lacks: shader-f16, subgroups of 8 and, from Mesa 26 on, subgroup matrices. So this runs the variants that
// Chromium cannot run without a GPU. It needs the npm package `webgpu`, no dependency of this one for its size:
//
//     npm install --no-save webgpu
//     VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json node tools/dawn.mjs --models

import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, runMain, Stop } from './common.mjs';
import { readExpectations } from './expectations.mjs';
import { compareGreedy } from '../www/answers/compare.js';
import { report, runCases, wanted } from './kernels.mjs';

/** Makes this process look like a page with WebGPU, as far as wgpu looks. */
async function openDawn() {
  const { create, globals } = await import('webgpu').catch(() => {
    throw new Stop('the package webgpu is missing', 'npm install --no-save webgpu');
  });
  const dawn = create(['enable-dawn-features=allow_unsafe_apis']);
  const adapter = await dawn.requestAdapter();
  if (!adapter) throw new Stop('Dawn finds no adapter', 'name a Vulkan driver in VK_DRIVER_FILES');
  const gpu = {
    requestAdapter: (options) => dawn.requestAdapter(options),
    getPreferredCanvasFormat: () => 'bgra8unorm',
    // The package's own set has no iterators.
    wgslLanguageFeatures: new Set([...dawn.wgslLanguageFeatures]),
  };
  Object.assign(globalThis, globals, { Window: class Window {} });
  Object.defineProperty(globalThis, 'navigator', { value: { gpu }, configurable: true });
  console.log(`${adapter.info.description}: ${[...adapter.features].join(' ')}`);
}

/** Every model of the fixtures, rounding where the device can and not at all: its greedy text against llama.cpp's. */
async function runModels() {
  const { init, WasmModel } = await import(pathToFileURL(path.join(ROOT, 'dist', 'index.js')).href);
  await init({ wasm: fs.readFileSync(path.join(ROOT, 'dist', 'wasm', 'webgguf_bg.wasm')) });
  const folder = path.join(ROOT, 'tests', 'fixtures', 'models');
  for (const { name, files, prompt, exact } of readExpectations(folder).filter(({ files }) => files.length === 1)) {
    const bytes = new Uint8Array(fs.readFileSync(path.join(folder, files[0])));
    for (const precision of ['auto', 'exact']) {
      const model = await WasmModel.load(bytes, { backend: 'webgpu', precision });
      const { ids } = await model.generate(prompt, { temperature: 0, ignoreEos: true, maxTokens: exact.greedy.length })
        .result;
      await model.free();
      const { equal, of, agrees } = compareGreedy([...ids], exact);
      if (!agrees) process.exitCode = 1;
      console.log(`${agrees ? '' : 'FAILED '}${name} ${precision}: ${equal} of ${of} ids as llama.cpp has them`);
    }
  }
}

await runMain(async () => {
  await openDawn();
  const start = performance.now();
  const harness = path.join(ROOT, 'www', 'harness', 'webgguf');
  const wasm = fs.readFileSync(`${harness}_bg.wasm`);
  report(await runCases({ ...wanted(), module: `${harness}.js`, wasm }), start);
  if (process.argv.includes('--models')) await runModels();
  // Dawn keeps the process alive.
  process.exit();
});
