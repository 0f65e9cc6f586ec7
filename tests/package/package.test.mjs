// The package as a user gets it: packed, installed into a fresh Vite app, developed, built, and used without a bundler.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { CACHE, must, readJson, ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';

const HERE = path.join(ROOT, 'tests', 'package');
const APP = path.join(CACHE, 'package-app');
const INSTALLED = path.join(APP, 'node_modules', 'webgguf');
const MODEL = path.join(ROOT, 'www', 'models', 'storyteller.gguf');
const VITE = path.join(APP, 'node_modules', 'vite', 'bin', 'vite.js');

let text;

const packed = await installPackage();
const browser = await openBrowser();
after(() => browser.close());

/** Packs the package and installs it into a fresh copy of the app; returns what `npm pack` says about it. */
async function installPackage() {
  fs.rmSync(APP, { recursive: true, force: true });
  fs.cpSync(path.join(HERE, 'app'), APP, { recursive: true });
  fs.mkdirSync(path.join(APP, 'public'));
  fs.copyFileSync(MODEL, path.join(APP, 'public', 'model.gguf'));
  const output = await must('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', APP], { quiet: true });
  const [pack] = JSON.parse(output.slice(output.indexOf('[\n'), output.lastIndexOf(']') + 1));
  const { vite } = readJson(path.join(ROOT, 'package.json')).devDependencies;
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${pack.filename}`, `vite@${vite}`];
  await must('npm', install, { cwd: APP, quiet: true });
  return pack;
}

/** Opens a page of the app and returns what the model wrote there, on `backend`. */
async function storyOf(url, backend) {
  const page = await openPage(browser, url);
  try {
    await page
      .waitForFunction(() => /^(done|failed)/.test(document.title), null, { timeout: 90_000 })
      .catch(() => assert.fail(`nothing happened on ${url}:\n${[...page.log, ...page.crashes].join('\n')}`));
    assert.equal(await page.title(), `done on ${backend}`, [...page.log, ...page.crashes].join('\n'));
    return await page.locator('#output').innerText();
  } finally {
    await page.close();
  }
}

/** All ways of using the package write the same text. */
function checkStory(story) {
  assert.ok(story.trim().split(/\s+/).length >= 8, story);
  text ??= story;
  assert.equal(story, text);
}

/** Starts a Vite server and calls `work` with its address. */
async function withVite(args, work) {
  const child = spawn(process.execPath, [VITE, ...args, '--host', '127.0.0.1', '--port', '0'], { cwd: APP });
  try {
    const url = await new Promise((resolve, reject) => {
      let said = '';
      const listen = (piece) => {
        said += piece;
        const match = /http:\/\/127\.0\.0\.1:\d+/.exec(said.replaceAll(/\x1b\[\d*m/g, ''));
        if (match) resolve(match[0]);
      };
      child.stdout.on('data', listen);
      child.stderr.on('data', listen);
      child.on('exit', () => reject(new Error(`vite ${args.join(' ')} ended: ${said}`)));
    });
    await work(url);
  } finally {
    child.kill();
  }
}

test('the package holds what it should and nothing else', () => {
  const names = packed.files.map(({ path: name }) => name);
  for (const name of [
    'package.json',
    'dist/index.js',
    'dist/index.d.ts',
    'dist/wasm/webgguf_bg.wasm',
    'dist/wasm/webgguf.js',
  ]) {
    assert.ok(names.includes(name), `${name} is missing`);
  }
  const allowed = /^(package\.json|README\.md|CHANGELOG\.md|LICENSE.*|dist\/.*\.(js|d\.ts|wasm))$/;
  assert.deepEqual(
    names.filter((name) => !allowed.test(name)),
    [],
  );
  const { dependencies, scripts } = readJson(path.join(INSTALLED, 'package.json'));
  assert.equal(dependencies, undefined, 'no runtime dependency');
  for (const hook of ['preinstall', 'install', 'postinstall']) assert.equal(scripts?.[hook], undefined);
});

test('no path of the building machine is in it', () => {
  const files = packed.files.map(({ path: name }) => path.join(INSTALLED, name));
  for (const file of files) {
    const bytes = fs.readFileSync(file, 'latin1');
    for (const trace of [ROOT, `${process.env.HOME}/`]) {
      assert.ok(!bytes.includes(trace), `${path.basename(file)} mentions ${trace}`);
    }
  }
});

test('vite dev: it runs as installed, with no configuration', () =>
  withVite([], async (url) => checkStory(await storyOf(`${url}/`, 'webgpu'))));

test('vite build and preview: it runs', async () => {
  await must(process.execPath, [VITE, 'build'], { cwd: APP, quiet: true });
  const built = fs.readdirSync(path.join(APP, 'dist', 'assets'));
  assert.ok(
    built.some((name) => name.endsWith('.wasm')),
    `the WebAssembly is an asset of its own: ${built}`,
  );
  await withVite(['preview'], async (url) => checkStory(await storyOf(`${url}/`, 'webgpu')));
});

test('a plain module script: it runs, also with the WebAssembly elsewhere', async () => {
  const elsewhere = (request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/wasm' });
    response.end(fs.readFileSync(path.join(INSTALLED, 'dist', 'wasm', 'webgguf_bg.wasm')));
  };
  const mounts = { '/': HERE, '/node_modules/': path.join(APP, 'node_modules') };
  const model = (request, response) => response.end(fs.readFileSync(MODEL));
  const site = await serve({ mounts, routes: { '/cdn/engine.wasm': elsewhere, '/model.gguf': model } });
  try {
    checkStory(await storyOf(`${site.url}/plain.html`, 'cpu'));
    checkStory(await storyOf(`${site.url}/plain.html?wasm=/cdn/engine.wasm`, 'cpu'));
  } finally {
    await site.close();
  }
});
