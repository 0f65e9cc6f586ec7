// The hooks of `webgguf/react` with React itself: in StrictMode in Chromium, with a real model, and on a server.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { CACHE, ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { installClients, tool } from './install.mjs';

await installClients();
const require = createRequire(import.meta.url);
const { build } = require(tool('esbuild', 'lib/main.js'));
const OUT = path.join(CACHE, 'react');
const common = {
  bundle: true,
  format: 'esm',
  jsx: 'automatic',
  nodePaths: [path.dirname(tool('react', ''))],
  define: { 'process.env.NODE_ENV': '"development"' },
  logLevel: 'error',
};
await build({ ...common, entryPoints: [path.join(ROOT, 'tests/package/react-page.jsx')], outdir: OUT });
fs.cpSync(path.join(ROOT, 'dist', 'wasm'), path.join(OUT, 'wasm'), { recursive: true });
fs.cpSync(path.join(ROOT, 'dist', 'grammar'), path.join(OUT, 'grammar'), { recursive: true });

const MODEL = path.join(ROOT, 'tests/fixtures/models/llama-bf16.gguf');
/** How often the model was asked for; how the next answers are. */
const server = { requests: 0, aborted: 0, answer: 'send' };
function model(_, response) {
  server.requests += 1;
  response.on('close', () => (server.aborted += response.writableFinished ? 0 : 1));
  if (server.answer === 'fail') return response.writeHead(500).end();
  const bytes = fs.readFileSync(MODEL);
  response.writeHead(200, { 'Content-Length': bytes.length });
  return server.answer === 'hang' ? response.write(bytes.subarray(0, 1000)) : response.end(bytes);
}
const html = `<!doctype html>
<meta charset="utf-8">
<main id="root"></main>
<script type="module" src="/app/react-page.js"></script>`;
const site = await serve({
  mounts: { '/app/': OUT },
  routes: {
    '/': (_, response) => response.setHeader('Content-Type', 'text/html').end(html),
    '/model.gguf': model,
    '/other.gguf': model,
  },
});
const browser = await openBrowser();
after(async () => {
  await browser.close();
  await site.close();
});
beforeEach(() => Object.assign(server, { requests: 0, aborted: 0, answer: 'send' }));

/** Opens the page, runs `work` in it, and wants nothing on the console. */
async function inPage(work, argument) {
  const page = await openPage(browser, site.url);
  try {
    await page.waitForFunction(() => window.page);
    const result = await page.evaluate(work, argument);
    assert.deepEqual([...page.crashes, ...page.log.filter((line) => /^(error|warning)/.test(line))].filter(isOurs), []);
    return result;
  } finally {
    await page.close();
  }
}
/** Chromium itself reports answers of a server that are errors. */
const isOurs = (line) => !/Failed to load resource|WebGPU|powerPreference/.test(line);

const OPTIONS = { backend: 'cpu', cache: false };

test('StrictMode: components share one load and one model, which is freed when the last has gone', async () => {
  const result = await inPage(async (options) => {
    const { show, seen, last, ready } = window.page;
    const a = { name: 'a', url: '/model.gguf', options: { ...options, contextLength: undefined } };
    const b = { name: 'b', url: '/model.gguf', options: { cache: false, backend: 'cpu' } };
    show([a, b]);
    const first = document.querySelector('#a').innerText;
    await ready('a');
    await ready('b');
    const { model, retry } = last('a');
    const same = model === last('b').model && seen.a.every((state) => state.retry === retry);
    const statuses = [...new Set(seen.a.map(({ status }) => status))];
    const stages = [...new Set(seen.a.map(({ progress }) => progress?.stage))];
    show([b]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const ids = await model.tokenize('a');
    show([]);
    const codeOf = () =>
      model.tokenize('a').then(
        () => undefined,
        (error) => error.code,
      );
    let code;
    while (!(code = await codeOf())) await new Promise((resolve) => setTimeout(resolve, 10));
    return { first, same, statuses, stages, count: ids.length, code };
  }, OPTIONS);
  assert.equal(result.first, 'loading');
  assert.ok(result.same, 'one model, and always the same function');
  assert.deepEqual(result.statuses, ['loading', 'ready']);
  assert.deepEqual(result.stages.slice(0, 2), [undefined, 'download']);
  assert.equal(result.stages.at(-1), 'ready');
  assert.ok(result.count > 0, 'still there for the other component');
  assert.equal(result.code, 'invalid_argument', 'freed');
  assert.equal(server.requests, 1);
});

test('unmounting cancels a load, and mounting again begins another', async () => {
  server.answer = 'hang';
  const open = async (options) => {
    const { show, last, until, ready } = window.page;
    const a = { name: 'a', url: '/model.gguf', options };
    show([a]);
    await until(() => last('a')?.progress?.stage === 'download');
    show([]);
    await fetch('/heal');
    show([a]);
    await ready('a');
    return last('a').model.info.architecture;
  };
  const page = await openPage(browser, site.url);
  await page.route('**/heal', async (route) => {
    while (server.aborted === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    server.answer = 'send';
    await route.fulfill({ body: '' });
  });
  await page.waitForFunction(() => window.page);
  assert.equal(await page.evaluate(open, OPTIONS), 'llama');
  await page.close();
  assert.deepEqual([server.requests, server.aborted], [2, 1]);
});

test('another source, another option: the old model goes at once; without a source nothing is loaded', async () => {
  const result = await inPage(async (options) => {
    const { show, seen, last, ready } = window.page;
    show([{ name: 'a', url: null, options }]);
    const idle = last('a').status;
    show([{ name: 'a', url: '/model.gguf', options }]);
    await ready('a');
    const { model } = last('a');
    show([{ name: 'a', url: '/model.gguf', options: { ...options } }]);
    const kept = last('a').model === model;
    const count = seen.a.length;
    show([{ name: 'a', url: new URL('/other.gguf', location.href), options: { ...options, contextLength: 32 } }]);
    const { model: gone, status } = seen.a[count];
    await ready('a');
    const { contextLength } = last('a').model.info;
    const code = await model.tokenize('a').catch((error) => error.code);
    show([{ name: 'a', url: undefined, options }]);
    return { idle, kept, gone, status, contextLength, code, end: last('a').status };
  }, OPTIONS);
  const expected = {
    idle: 'idle',
    kept: true,
    status: 'loading',
    contextLength: 32,
    code: 'invalid_argument',
    end: 'idle',
  };
  assert.deepEqual({ ...result, gone: undefined }, { ...expected, gone: undefined });
  assert.equal(result.gone, undefined);
  assert.equal(server.requests, 2);
});

test('an error has its code, and retry loads again', async () => {
  server.answer = 'fail';
  const page = await openPage(browser, site.url);
  await page.waitForFunction(() => window.page);
  const code = await page.evaluate(async (options) => {
    window.page.show([{ name: 'a', url: '/model.gguf', options }]);
    await window.page.until(() => window.page.last('a').status === 'error');
    return window.page.last('a').error.code;
  }, OPTIONS);
  assert.equal(code, 'download_failed');
  server.answer = 'send';
  const after = await page.evaluate(async () => {
    window.page.last('a').retry();
    await window.page.ready('a');
    const { error, model } = window.page.last('a');
    return [error, model.info.architecture];
  });
  assert.deepEqual(after, [undefined, 'llama']);
  await page.close();
});

test('a chat writes into the page, and ends when its component goes', async () => {
  const result = await inPage(async (options) => {
    const { show, seen, ready, until } = window.page;
    const a = { name: 'a', url: '/models/storyteller.gguf', options };
    const chat = { temperature: 0, max_completion_tokens: 12 };
    show([{ ...a, chat }]);
    await ready('a');
    const functions = ({ send, stop, clear, regenerate }) => [send, stop, clear, regenerate];
    const before = functions(seen.chat);
    const sent = seen.chat.send('Tell me about a hare.');
    await until(() => document.querySelector('.assistant')?.innerText);
    await sent;
    await until(() => seen.chat.status === 'idle');
    const stable = functions(seen.chat).every((value, index) => value === before[index]);
    const texts = [...document.querySelectorAll('li')].map((item) => item.innerText);
    const long = seen.chat.send('Go on.', { max_completion_tokens: 500 });
    await until(() => seen.chat.status === 'writing');
    show([]);
    await long;
    return { texts, stable, messages: seen.chat.messages.length };
  }, OPTIONS);
  assert.equal(result.texts[0], 'Tell me about a hare.');
  assert.ok(result.texts[1].length > 20, result.texts[1]);
  assert.ok(result.stable, 'functions are always the same');
});

test('on a server a model is loading, and nothing is fetched', async () => {
  const stdin = {
    contents: `
      import { renderToString } from 'react-dom/server';
      import { createElement } from 'react';
      import { useChat, useModel } from 'webgguf/react';
      function App({ url }) {
        const { status, model } = useModel(url);
        const { messages } = useChat(model, { messages: [{ role: 'user', content: 'Hi' }] });
        return status + ' ' + messages[0].content;
      }
      export const html = ['/model.gguf', null].map((url) => renderToString(createElement(App, { url })));`,
    resolveDir: ROOT,
  };
  const outfile = path.join(OUT, 'server.cjs');
  await build({
    ...common,
    stdin,
    outfile,
    format: 'cjs',
    platform: 'node',
    define: { 'import.meta.url': '"file:///x"' },
  });
  assert.deepEqual(require(outfile).html, ['loading Hi', 'idle Hi']);
});
