// The tarball itself, and the installed package without a bundler: in pages, in Node.js and in Deno.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { must, readJson, ROOT } from '../../tools/common.mjs';
import { sendFile, serve } from '../../tools/serve.mjs';
import { APPS, INSTALLED, installPackage, tool } from './install.mjs';
import { outcomeOf } from './page.mjs';

const { tarball, names } = await installPackage();
const browser = await openBrowser();
after(() => browser.close());

test('the package holds what it should and nothing else', () => {
  for (const name of [
    'package.json',
    'THIRD-PARTY.txt',
    'dist/index.js',
    'dist/index.d.ts',
    'dist/webgguf.min.js',
    'dist/webgguf-worker.min.js',
    'dist/openai/index.js',
    'dist/openai/index.d.ts',
    'dist/anthropic/index.js',
    'dist/anthropic/index.d.ts',
    'dist/mcp/index.js',
    'dist/mcp/index.d.ts',
    'dist/react/index.js',
    'dist/react/index.d.ts',
    'dist/vue/index.js',
    'dist/vue/index.d.ts',
    'dist/svelte/index.js',
    'dist/svelte/index.d.ts',
    'dist/ai-sdk/index.js',
    'dist/ai-sdk/index.d.ts',
    'dist/decide/index.js',
    'dist/decide/index.d.ts',
    'dist/voice/index.js',
    'dist/voice/index.d.ts',
    'dist/voice/capture-worklet.js',
    'dist/voice/player-worklet.js',
    'dist/models/index.js',
    'dist/models/index.d.ts',
    'dist/compute/index.js',
    'dist/compute/index.d.ts',
    'dist/compute/shaders.js',
    'dist/compute/shaders.d.ts',
    'dist/training/index.js',
    'dist/training/index.d.ts',
    'dist/training/language/training-worker.js',
    'dist/prompt-api/index.js',
    'dist/prompt-api/index.d.ts',
    'dist/wasm/webgguf_bg.wasm',
    'dist/wasm/webgguf_bg.wasm.d.ts',
    'dist/wasm/webgguf.js',
    'dist/grammar/webgguf_grammar.js',
    'dist/grammar/webgguf_grammar_bg.wasm',
    'dist/grammar/webgguf_grammar_bg.wasm.d.ts',
  ]) {
    assert.ok(names.includes(name), `${name} is missing`);
  }
  const allowed = /^(package\.json|README\.md|CHANGELOG\.md|LICENSE.*|THIRD-PARTY\.txt|dist\/.*\.(js|d\.ts|wasm))$/;
  assert.deepEqual(
    names.filter((name) => !allowed.test(name)),
    [],
  );
});

test('package.json says where the project is, and no code runs at installation', () => {
  const { dependencies, scripts, repository, homepage, bugs } = readJson(path.join(INSTALLED, 'package.json'));
  assert.equal(dependencies, undefined, 'no runtime dependency');
  for (const hook of ['preinstall', 'install', 'postinstall']) assert.equal(scripts?.[hook], undefined);
  for (const url of [repository.url, homepage, bugs.url]) assert.match(url, /github\.com\/webgguf\/webgguf/);
});

test('no path of the building machine is in it', () => {
  for (const name of names) {
    const bytes = fs.readFileSync(path.join(INSTALLED, name), 'latin1');
    for (const trace of [ROOT, `${process.env.HOME}/`]) {
      assert.ok(!bytes.includes(trace), `${name} mentions ${trace}`);
    }
  }
});

test('links and pictures of the README lead somewhere on npm, too', () => {
  const readme = fs.readFileSync(path.join(INSTALLED, 'README.md'), 'utf8').replaceAll(/```.*?```/gs, '');
  const targets = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
  assert.ok(targets.length > 10);
  assert.deepEqual(
    targets.filter((target) => !/^(https:|#)/.test(target)),
    [],
    'relative targets exist in the repository only',
  );
  const ours =
    /^https:\/\/(?:github\.com\/webgguf\/webgguf\/(?:blob|tree)|raw\.githubusercontent\.com\/webgguf\/webgguf)/;
  for (const target of targets.filter((url) => ours.test(url))) {
    const file = target
      .replace(ours, '')
      .replace(/^\/main\//, '')
      .replace(/#.*/, '');
    assert.ok(fs.existsSync(path.join(ROOT, file)), `${target}: the repository has no ${file}`);
  }
});

test('publint finds nothing', async () => {
  const output = await must(process.execPath, [tool('publint', 'src/cli.js'), tarball, '--strict'], { quiet: true });
  assert.match(output, /All good/);
});

test('attw (are the types wrong?) finds nothing, as far as an ES module can please it', async () => {
  const attw = tool('@arethetypeswrong/cli', 'dist/index.js');
  await must(process.execPath, [attw, tarball, '--profile', 'esm-only'], { quiet: true });
});

// ---- pages ----------------------------------------------------------------------------------------------------------

const PAGE = path.join(APPS, 'pages', 'unbundled.html');
/** Where Vite's development server keeps bundled dependencies. */
const VITE_DEPS = '/node_modules/.vite/deps/';

const vitePage = () => fs.readFileSync(PAGE, 'utf8').replace('/webgguf/', VITE_DEPS);

/** Serves the installed package as it is, with `policy` as content security policy of the page. */
async function withSite(policy, work) {
  const send =
    (file, headers = {}) =>
    (request, response) => {
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      sendFile(request, response, file, fs.statSync(file).size);
    };
  const routes = {
    '/': send(PAGE, policy ? { 'Content-Security-Policy': policy } : {}),
    '/vite.html': (_, response) => response.setHeader('Content-Type', 'text/html').end(vitePage()),
    [`${VITE_DEPS}wasm/webgguf_bg.wasm`]: (_, response) => response.writeHead(404).end(),
    '/page.html': (_, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html>'),
    '/cdn/engine.wasm': send(path.join(INSTALLED, 'dist', 'wasm', 'webgguf_bg.wasm')),
    '/model.gguf': send(path.join(APPS, 'public', 'model.gguf')),
    '/main.js': send(path.join(APPS, 'main.js')),
    '/story.js': send(path.join(APPS, 'story.js')),
  };
  const dist = path.join(INSTALLED, 'dist');
  const site = await serve({ mounts: { '/webgguf/': dist, [VITE_DEPS]: dist }, routes });
  try {
    await work(site.url);
  } finally {
    await site.close();
  }
}

test('a plain module script with an import map: it runs, also with the WebAssembly elsewhere', () =>
  withSite('', async (url) => {
    const { title, text } = await outcomeOf(browser, `${url}/`);
    assert.equal(title, 'done on cpu');
    const other = await outcomeOf(browser, `${url}/?wasm=/cdn/engine.wasm`);
    assert.deepEqual([other.title, other.text], [title, text]);
  }));

test('WebAssembly that is not there, or something else, is named with what to do', () =>
  withSite('', async (url) => {
    const titleWith = async (wasm) => (await outcomeOf(browser, `${url}/?wasm=${wasm}`)).title;
    assert.match(
      await titleWith('/nowhere.wasm'),
      /download_failed .*nowhere\.wasm: HTTP status 404[^;]*; give its URL/,
    );
    assert.match(await titleWith('/page.html'), /download_failed .*a web page instead of WebAssembly/);
    assert.match(
      await titleWith('/model.gguf'),
      /invalid_argument .*model\.gguf is not the WebAssembly of this version/,
    );
  }));

test('a content security policy has to allow wasm-unsafe-eval, and the error says so', async () => {
  const inline = "script-src 'self' 'unsafe-inline'";
  await withSite(inline, async (url) => {
    const { title } = await outcomeOf(browser, `${url}/`);
    assert.match(title, /^failed: WebggufError feature_missing .*content security policy.*'wasm-unsafe-eval'/);
  });
  await withSite(`${inline} 'wasm-unsafe-eval'`, async (url) => {
    assert.equal((await outcomeOf(browser, `${url}/`)).title, 'done on cpu');
  });
});

test('an address that Vite moved and does not serve: the error names the line of configuration', () =>
  withSite('', async (url) => {
    const { title } = await outcomeOf(browser, `${url}/vite.html`);
    assert.match(title, /download_failed .*optimizeDeps: \{ exclude: \['webgguf'\] \}/);
  }));

// ---- other runtimes -------------------------------------------------------------------------------------------------

function checkRuntime(output) {
  const { backend, text, ids, codes } = JSON.parse(output.trim().split('\n').at(-1));
  assert.equal(backend, 'cpu');
  assert.ok(text.trim().split(/\s+/).length >= 8, text);
  assert.ok(ids > 0);
  return codes;
}

test(`Node.js ${process.versions.node}: models and tokenizers on the CPU, without init`, async () => {
  const codes = checkRuntime(await must(process.execPath, ['node.mjs'], { cwd: APPS, quiet: true }));
  assert.deepEqual(codes, ['webgpu_unavailable', 'webgpu_unavailable'], 'an error, and the process lives');
});

test('Deno: models and tokenizers on the CPU, without init', async () => {
  const deno = [tool('deno', 'bin.cjs'), 'run', '--allow-read', '--no-lock', '--node-modules-dir=manual', 'deno.mjs'];
  checkRuntime(await must(process.execPath, deno, { cwd: APPS, quiet: true }));
});
