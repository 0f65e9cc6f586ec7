// The installed package in every bundler of docs/guides/first-page.md: each builds or serves an app, Chromium opens it,
// and the model writes. All must write the same text.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { must } from '../../tools/common.mjs';
import { serve } from '../../tools/serve.mjs';
import { longTest, testIf } from '../long.mjs';
import { APPS, INSTALLED, installPackage, tool } from './install.mjs';
import { outcomeOf, withServer } from './page.mjs';

/** The WebAssembly of the package. */
const MODULES = ['webgguf_bg', 'webgguf_grammar_bg', 'webgguf_media_bg'];

const WASM = path.join(INSTALLED, 'dist', 'wasm', 'webgguf_bg.wasm');

await installPackage();
const browser = await openBrowser();
after(() => browser.close());

let firstText;

/** The app at `url` runs to its end, in the page, with tensors, and in a worker; it writes what others wrote. */
async function checkStory(url, backend = 'cpu', more = '') {
  for (const place of ['&tensors', '&worker']) {
    const { title, text, log } = await outcomeOf(browser, `${url}?backend=${backend}${place}${more}`);
    assert.equal(title, `done on ${backend}`, `${place}: ${log}`);
    assert.ok(text.trim().split(/\s+/).length >= 8, text);
    firstText ??= text;
    assert.equal(text, firstText);
  }
}

/** A model for all tabs is in the SharedWorker whose script the bundler has found. */
async function checkShared(url, more = '') {
  const { title, text, log } = await outcomeOf(browser, `${url}?backend=webgpu&shared${more}`);
  assert.equal(title, 'done on webgpu in sharedWorker, undefined', log);
  assert.equal(text, firstText);
}

/** An empty folder for the output of a bundler, with a page that loads `bundle.js` from it. */
function outFolder(name, page) {
  const folder = path.join(APPS, 'out', name);
  fs.mkdirSync(folder, { recursive: true });
  fs.copyFileSync(path.join(APPS, 'pages', page), path.join(folder, 'index.html'));
  return folder;
}

async function withFolder(folder, work) {
  const model = (_, response) => response.end(fs.readFileSync(path.join(APPS, 'public', 'model.gguf')));
  const site = await serve({ mounts: { '/': folder }, routes: { '/model.gguf': model } });
  try {
    await work(`${site.url}/`);
  } finally {
    await site.close();
  }
}

/** What the guide says about bundlers that leave the file alone: copy it to where the bundle looks for it. */
function copyWasm(folder) {
  fs.mkdirSync(path.join(folder, 'wasm'));
  fs.copyFileSync(WASM, path.join(folder, 'wasm', 'webgguf_bg.wasm'));
}

const wasmFiles = (folder) => fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.wasm'));

for (const version of [5, 6, 7, 8]) {
  // The oldest and the newest.
  const viteTest = testIf(version === 5 || version === 8);
  const vite = tool(`vite${version}`, 'bin/vite.js');
  const server = [vite, '--host', '127.0.0.1', '--port', '0'];

  viteTest(`Vite ${version}, dev: without configuration`, async () => {
    fs.rmSync(path.join(APPS, 'node_modules', '.vite'), { recursive: true, force: true });
    await withServer(server, APPS, (url) => checkStory(`${url}/`));
  });

  viteTest(`Vite ${version}, dev: in a monorepo with hoisted packages`, async () => {
    const app = path.join(APPS, 'hoisted');
    fs.rmSync(path.join(app, 'node_modules', '.vite'), { recursive: true, force: true });
    await withServer(server, app, (url) => checkStory(`${url}/`));
  });

  viteTest(`Vite ${version}, build and preview`, async () => {
    const out = path.join(APPS, 'dist');
    await must(process.execPath, [vite, 'build'], { cwd: APPS, quiet: true });
    const names = wasmFiles(out).map((name) => /(webgguf_\w+)-[\w-]+\.wasm$/.exec(name)?.[1]);
    assert.deepEqual(names.toSorted(), MODULES, 'each is one asset, with a hash in its name');
    const preview = [vite, 'preview', '--host', '127.0.0.1', '--port', '0'];
    await withServer(preview, APPS, async (url) => {
      await checkStory(`${url}/`, version === 8 ? 'webgpu' : 'cpu');
      if (version === 8) await checkShared(`${url}/`);
    });
  });
}

test('webpack 5: without configuration', async () => {
  const folder = outFolder('webpack', 'module.html');
  const { default: webpack } = await import(tool('webpack', 'lib/index.js'));
  const output = { path: folder, filename: 'bundle.js' };
  const compiler = webpack({ mode: 'production', context: APPS, entry: './main.js', output, performance: false });
  const stats = await new Promise((resolve, reject) => {
    compiler.run((error, result) => (error ? reject(error) : resolve(result)));
  });
  const { errors, warnings } = stats.toJson();
  assert.deepEqual([errors, warnings], [[], []]);
  assert.equal(wasmFiles(folder).length, MODULES.length, 'one asset each, though page and worker ask for them');
  await withFolder(folder, async (url) => {
    await checkStory(url);
    await checkShared(url);
  });
});

test('Parcel 2: with what a worker needs', async () => {
  // Parcel's entry is a page, whose script it finds beside it; the package.json has the guide's line for workers.
  const app = path.join(APPS, 'parcel');
  fs.mkdirSync(app);
  for (const name of ['main.js', 'story.js']) fs.copyFileSync(path.join(APPS, name), path.join(app, name));
  const page = fs.readFileSync(path.join(APPS, 'pages', 'module.html'), 'utf8');
  fs.writeFileSync(path.join(app, 'index.html'), page.replace('/bundle.js', './main.js'));
  const config = { '@parcel/bundler-default': { disableSharedBundles: true } };
  fs.writeFileSync(path.join(app, 'package.json'), JSON.stringify({ dependencies: { webgguf: '*' }, ...config }));
  fs.writeFileSync(path.join(app, 'package-lock.json'), '{}'); // the project ends here
  const folder = path.join(APPS, 'out', 'parcel');
  const parcel = tool('parcel', 'lib/bin.js');
  const build = ['build', 'index.html', '--dist-dir', folder, '--no-cache', '--no-source-maps', '--public-url', '/'];
  await must(process.execPath, [parcel, ...build], { cwd: app, quiet: true });
  assert.equal(wasmFiles(folder).length, MODULES.length, 'one asset each');
  await withFolder(folder, async (url) => {
    await checkStory(url);
    await checkShared(url);
  });
});

// What `npm test` builds with Next.js is the example.
longTest('Next.js 16, build and start: without configuration', async () => {
  const next = tool('next', 'dist/bin/next');
  const app = path.join(APPS, 'next');
  const env = { NEXT_TELEMETRY_DISABLED: '1' };
  await must(process.execPath, [next, 'build'], { cwd: app, env, quiet: true });
  const start = [next, 'start', '--hostname', '127.0.0.1', '--port', '0'];
  await withServer(start, app, async (url) => {
    await checkStory(`${url}/`);
    await checkShared(`${url}/`);
  });
});

const require = createRequire(import.meta.url);
const esbuild = () => require(tool('esbuild', 'lib/main.js'));
const esbuildOptions = (entry, folder) => ({
  absWorkingDir: APPS,
  entryPoints: { bundle: entry, worker: 'webgguf/worker.js' },
  outdir: folder,
  bundle: true,
  minify: true,
  logLevel: 'error',
});

test('esbuild, ES module: the file copied beside the bundle', async () => {
  const folder = outFolder('esbuild', 'module.html');
  await esbuild().build({ ...esbuildOptions('main.js', folder), format: 'esm' });
  copyWasm(folder);
  await withFolder(folder, (url) => checkStory(url));
});

test('esbuild, ES module: the file imported with the file loader', async () => {
  const folder = outFolder('esbuild-loader', 'module.html');
  const options = esbuildOptions('esbuild-file-loader.js', folder);
  await esbuild().build({ ...options, format: 'esm', loader: { '.wasm': 'file' } });
  assert.equal(wasmFiles(folder).length, 1);
  await withFolder(folder, (url) => checkStory(url));
});

test('esbuild, IIFE: an error that says what to do, and works once that is done', async () => {
  const folder = outFolder('esbuild-iife', 'classic.html');
  await esbuild().build({ ...esbuildOptions('main.js', folder), format: 'iife' });
  copyWasm(folder);
  await withFolder(folder, async (url) => {
    const { title } = await outcomeOf(browser, url);
    assert.match(title, /^failed: WebggufError download_failed .*no ES module.*init\(\{ wasm: url \}\)/);
    const files = '&wasm=/wasm/webgguf_bg.wasm&script=/worker.js';
    await checkStory(url, 'cpu', files);
    await checkShared(url, files);
  });
});

test('Rollup 4: the file copied beside the bundle', async () => {
  const folder = outFolder('rollup', 'module.html');
  const { rollup } = await import(tool('rollup', 'dist/es/rollup.js'));
  const { default: resolve } = await import(tool('@rollup/plugin-node-resolve', 'dist/es/index.js'));
  const input = { bundle: path.join(APPS, 'main.js'), worker: 'webgguf/worker.js' };
  const bundle = await rollup({ input, plugins: [resolve({ browser: true, rootDir: APPS })] });
  await bundle.write({ dir: folder, entryFileNames: '[name].js', chunkFileNames: '[name].js', format: 'es' });
  copyWasm(folder);
  await withFolder(folder, (url) => checkStory(url));
});
