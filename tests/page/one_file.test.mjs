// The package as one file for pages without a bundler: from the page's own server and from another one, as a CDN is.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { serve } from '../../tools/serve.mjs';
import { openSite, STORYTELLER } from './site.mjs';

/** What a page needs of dist/, and nothing else of it. */
const FILES = [
  'webgguf.min.js',
  'webgguf-worker.min.js',
  'wasm/webgguf_bg.wasm',
  'grammar/webgguf_grammar_bg.wasm',
  'media/webgguf_media_bg.wasm',
];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'webgguf-one-file-'));
for (const file of FILES) {
  fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'dist', file), path.join(folder, file));
}
const shared = (file) => (_, response) => {
  const type = file.endsWith('.js') ? 'text/javascript' : 'application/wasm';
  response.writeHead(200, { 'Content-Type': type, 'Access-Control-Allow-Origin': '*' });
  response.end(fs.readFileSync(path.join(folder, file)));
};
const cdn = await serve({ routes: Object.fromEntries(FILES.map((file) => [`/dist/${file}`, shared(file)])) });
after(async () => {
  await cdn.close();
  fs.rmSync(folder, { recursive: true });
});

/** A page that a stranger would write. */
const bare = (address) => (_, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<!doctype html>
    <link rel="icon" href="data:,"><p id="out"></p>
    <script type="module">
      import { Model } from '${address}/webgguf.min.js';
      const out = document.querySelector('#out');
      const write = async (worker) => {
        const model = await Model.load('${STORYTELLER}', { backend: 'webgpu', worker });
        const messages = [{ role: 'user', content: 'Tell me about a hare.' }];
        const { text } = await model.generate(messages, { maxTokens: 20 });
        const format = { type: 'json_object', schema: { enum: ['yes', 'no'] } };
        const { choices } = await model.chat.completions.create({ messages, response_format: format, temperature: 0 });
        await model.free();
        return [text, choices[0].message.content];
      };
      window.said = Promise.all([false, true].map(write));
      out.textContent = JSON.stringify(await window.said);
    </script>`);
};

const site = await openSite({
  routes: { '/own': bare('/cdn'), '/other': bare(`${cdn.url}/dist`) },
  mounts: { '/cdn/': folder },
});

for (const [name, pathname, prefix] of [
  ['beside it', '/own', '/cdn/'],
  ['on another server', '/other', '/dist/'],
]) {
  test(`one file ${name} has chats, grammars and workers, and asks for nothing but WebAssembly`, async () => {
    const page = await site.browser.newPage();
    const asked = new Set();
    page.context().on('request', (request) => asked.add(new URL(request.url()).pathname));
    await page.goto(site.url + pathname);
    const [here, inWorker] = await page.evaluate(() => window.said);
    assert.ok(here[0].length > 30, here[0]);
    assert.match(here[1], /^"(yes|no)"$/);
    assert.deepEqual(inWorker, here);
    const wanted = FILES.filter((file) => !file.startsWith('media/')).map((file) => prefix + file);
    const others = [pathname, STORYTELLER];
    assert.deepEqual([...asked].filter((file) => file.startsWith('/')).sort(), [...wanted, ...others].sort());
    await page.close();
  });
}
