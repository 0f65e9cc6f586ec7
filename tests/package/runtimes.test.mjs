// The installed package on a GPU outside of pages: npm's `webgpu` (Dawn) in Node.js and Bun, and Deno's own WebGPU, all
// on Mesa's lavapipe. A process that did not end by itself would be given up by the runner.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { must, readJson, ROOT } from '../../tools/common.mjs';
import { dawnEnv, findDawnManifest } from '../../tools/dawn-setup.mjs';
import { readExpectations } from '../../tools/expectations.mjs';
import { driverEnv, findDriverManifest } from '../../tools/firefox.mjs';
import { compareGreedy } from '../../www/answers/compare.js';
import { ALL as IS_WHOLE } from '../long.mjs';
import { APPS, installPackage, tool } from './install.mjs';

await installPackage();

const FIXTURES = path.join(ROOT, 'tests', 'fixtures');
const EMBEDDER = readJson(path.join(FIXTURES, 'embedders', 'bert-f16.json'));
const DENO = [tool('deno', 'bin.cjs'), 'run', '--allow-read', '--allow-env', '--no-lock', '--node-modules-dir=manual'];
const BUN = tool('bun', 'bin/bun.exe');
const GUIDE = fs.readFileSync(path.join(ROOT, 'docs', 'guides', 'node.md'), 'utf8');

const NO_DAWN = findDawnManifest() ? false : 'Dawn takes no Vulkan driver that is here; `npm run setup` says why';
const NO_DRIVER = findDriverManifest() ? false : 'there is no lavapipe; `npm run setup` says why';

/** Fixture models: the first in every run, the others where what takes long is wanted, too. */
const expected = (...names) =>
  readExpectations(path.join(FIXTURES, 'models')).filter(({ name }) => names.includes(name));
const QUICK = expected('llama-bf16');
const ALL = IS_WHOLE ? expected('llama-bf16', 'gemma3-q4_k_m', 'gpt-oss-mxfp4') : QUICK;

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** Writes what apps/gpu.mjs is to do. */
function writePlan(models) {
  const plan = {
    story: path.join(APPS, 'public', 'model.gguf'),
    models: models.map(({ files, prompt, exact }) => ({
      path: path.join(FIXTURES, 'models', files[0]),
      prompt,
      count: exact.greedy.length,
    })),
    embedder: { path: path.join(FIXTURES, 'embedders', 'bert-f16.gguf'), inputs: EMBEDDER.inputs },
  };
  fs.writeFileSync(path.join(APPS, 'plan.json'), JSON.stringify(plan));
}

/** Runs apps/gpu.mjs and checks what it found. */
async function checkGpu(models, [program, ...args], env) {
  writePlan(models);
  const output = await must(program, [...args, 'gpu.mjs', 'plan.json'], { cwd: APPS, env, quiet: true });
  const { software, auto, embeddings, ...found } = JSON.parse(output.trim().split('\n').at(-1));
  assert.equal(software.backend, 'cpu');
  assert.match(software.backendReason, /^the only GPU adapter is a software one/);
  assert.deepEqual([auto.backend, auto.text], ['webgpu', software.text]);
  assert.match(auto.adapter, /llvmpipe/);
  assert.equal(found.models.length, models.length);
  for (const [i, { name, exact }] of models.entries()) {
    const { equal, of, agrees } = compareGreedy(found.models[i], exact);
    assert.ok(agrees, `${name}: ${equal} of ${of} ids as llama.cpp has them`);
  }
  for (const [i, wanted] of EMBEDDER.pooled.entries()) {
    const cosine = dot(embeddings[i], wanted) / Math.sqrt(dot(embeddings[i], embeddings[i]) * dot(wanted, wanted));
    assert.ok(cosine > 0.99999, `embedding ${i}: ${cosine}`);
  }
  assert.deepEqual(found.product, [4, 5, 10, 11]);
  assert.equal(found.refused, 'invalid_argument');
  // Two of the story, one of each other model, of the embedder and of `Gpu`.
  assert.deepEqual(found.lost, Array(models.length + 4).fill('destroyed'), 'free has released every device');
  assert.deepEqual(found.globals, [], 'nothing of a page or a worker is left behind');
}

/** Runs a program of the guide on the built-in model; the lines that it prints. */
async function runGuide(heading, name, command, env) {
  const section = GUIDE.slice(GUIDE.indexOf(`\n## ${heading}\n`));
  const [, code] = /^```js\n([^]*?)^```$/m.exec(section);
  const program = code.replace('model.gguf', 'public/model.gguf').replace('npm:webgguf', 'webgguf');
  assert.notEqual(program, code);
  fs.writeFileSync(path.join(APPS, name), program);
  const [first, ...args] = command;
  return must(first, [...args, name], { cwd: APPS, env, quiet: true });
}

const SOFTWARE = /^cpu .*the only GPU adapter is a software one/m;
const NODE = [
  process.execPath,
  '--import',
  `data:text/javascript,${encodeURIComponent('globalThis.navigator ??= {};')}`,
];
const version = `Node.js ${process.versions.node}`;

test(`${version} with npm's webgpu: the guide's program finds the adapter, and ends`, { skip: NO_DAWN }, async () => {
  const output = await runGuide('Node.js and Bun', 'guide.mjs', NODE, dawnEnv());
  assert.match(output, SOFTWARE);
});

test(`${version} with npm's webgpu: models, an embedder and tensors on a GPU`, { skip: NO_DAWN }, () =>
  checkGpu(ALL, [process.execPath, '--import', './webgpu.mjs'], dawnEnv()),
);

test("Bun with npm's webgpu: the guide's program finds the adapter, and ends", { skip: NO_DAWN }, async () => {
  assert.match(await runGuide('Node.js and Bun', 'guide.mjs', [BUN], dawnEnv()), SOFTWARE);
});

test("Bun with npm's webgpu: models, an embedder and tensors on a GPU", { skip: NO_DAWN }, () =>
  checkGpu(QUICK, [BUN, '--preload', './webgpu.mjs'], dawnEnv()),
);

test("Deno: the guide's program finds the adapter, and ends", { skip: NO_DRIVER }, async () => {
  assert.match(await runGuide('Deno', 'guide-deno.mjs', [process.execPath, ...DENO], driverEnv()), SOFTWARE);
});

test('Deno: models, an embedder and tensors on a GPU', { skip: NO_DRIVER }, () =>
  checkGpu(ALL, [process.execPath, ...DENO], driverEnv()),
);
