// The sections of docs/guides/other-libraries.md that want a page, and chats of `webgguf/vue`, `webgguf/svelte` and
// assistant-ui: built with Vite and used in Chromium, with real models.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { writeSection } from './guide.mjs';
import { installLibraries, LIBRARIES, tool } from './install.mjs';
import { weatherServer } from './weather-server.mjs';

const skip = await installLibraries();
const require = createRequire(import.meta.url);
const SOURCE = path.join(LIBRARIES, 'page');
const NOTES = ['A cat sleeps.', 'animals with spines', 'Music for two.'];

/** Vite's plugin for components of Svelte, as much of it as one component needs. */
const svelte = {
  name: 'svelte',
  transform(code, id) {
    if (!id.endsWith('.svelte')) return undefined;
    const { compile } = require(tool('svelte', 'compiler/index.js'));
    return compile(code, { filename: id, generate: 'client' }).js;
  },
};

async function buildPage() {
  fs.rmSync(SOURCE, { recursive: true, force: true });
  fs.cpSync(path.join(ROOT, 'tests', 'package', 'libraries', 'page'), SOURCE, { recursive: true });
  const parts = {
    'orama.js': ['Orama', 'export const texts = hits.map(({ document }) => document.text);'],
    'pglite.js': ['PGlite with pgvector', 'export const texts = rows.map(({ text }) => text);'],
    'dexie.ts': ['Dexie', 'export const texts = notes.map(({ text }) => text);'],
    'agent.js': ['Agents of LangChain', 'export const texts = [answer.messages.at(-1).text];'],
    'runtime.jsx': ['assistant-ui', 'export { useWebgguf };'],
  };
  for (const [name, [title, more]] of Object.entries(parts)) writeSection(SOURCE, title, { name, more });
  const more = `const [{ name, server: from, execute }] = tools;
export const texts = [name + ' of ' + from, await execute({ city: 'Rome' })];
await client.close();`;
  const change = (code) => code.replace("'https://example.com/mcp'", 'window.server').replace('400', '24');
  writeSection(SOURCE, 'MCP', { name: 'mcp.js', change, more });
  const { build } = await import(tool('vite', 'dist/node/index.js'));
  await build({
    root: SOURCE,
    logLevel: 'error',
    plugins: [svelte],
    build: { target: 'esnext' },
    resolve: { alias: { vue: tool('vue', 'dist/vue.esm-bundler.js') }, dedupe: ['react', 'react-dom'] },
    define: { __VUE_OPTIONS_API__: 'true', __VUE_PROD_DEVTOOLS__: 'false' },
  });
}

if (!skip) await buildPage();
const site = await serve({ mounts: { '/': path.join(SOURCE, 'dist'), '/models/': path.join(ROOT, 'www', 'models') } });
const browser = skip ? undefined : await openBrowser();
after(async () => {
  await browser?.close();
  await site.close();
});

/** Opens the page for `use`, and wants nothing on the console. */
async function withPage(use) {
  const page = await openPage(browser, `${site.url}/index.html`);
  try {
    await use(page);
    assert.deepEqual([...page.crashes, ...page.log.filter((line) => /^(error|warning)/.test(line))], []);
  } finally {
    await page.close();
  }
}

for (const name of ['orama', 'pglite', 'dexie']) {
  test(`${name}: what was asked for is found first`, { skip }, () =>
    withPage(async (page) => {
      const texts = await page.evaluate(([name, notes]) => window.run(name, notes), [name, NOTES]);
      assert.equal(texts[0], 'animals with spines');
      assert.ok(texts.length <= 3 && texts.every((text) => NOTES.includes(text)), texts.join());
    }),
  );
}

test('agent: LangChain runs in a page', { skip }, () =>
  withPage(async (page) => {
    const [text] = await page.evaluate(() => window.run('agent', [], '/models/storyteller.gguf'));
    assert.ok(text.length > 20, text);
  }),
);

test('mcp: a page has the tools of a server of another origin over HTTP', { skip }, async () => {
  const { sessions, url, close } = await weatherServer();
  try {
    await withPage(async (page) => {
      await page.evaluate((server) => (window.server = server), url);
      const texts = await page.evaluate(() => window.run('mcp', [], '/models/storyteller.gguf'));
      assert.deepEqual(texts, ['look of weather', 'sun in Rome']);
      assert.ok((await page.locator('#app').innerText()).length > 20);
    });
    assert.deepEqual([...sessions.keys()], ['s0']);
  } finally {
    close();
  }
});

const statusIs = (page, wanted) =>
  page.waitForFunction((text) => document.querySelector('output')?.innerText === text, wanted);

for (const name of ['vue', 'svelte', 'assistant']) {
  test(`${name}: a chat writes, is stopped, and leaves`, { skip }, () =>
    withPage(async (page) => {
      await page.evaluate((name) => window.show(name), name);
      await statusIs(page, 'ready idle');
      if (name === 'assistant') await page.getByRole('textbox').fill('Tell me about a hare.');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.waitForFunction(() => document.querySelector('.assistant')?.innerText.length > 20);
      assert.equal(await page.locator('.user').innerText(), 'Tell me about a hare.');
      await page.evaluate(() =>
        [...document.querySelectorAll('button')].find((one) => one.innerText === 'Stop').click(),
      );
      await statusIs(page, 'ready idle');
      if (name === 'assistant') return;
      const isFreed = page.workers()[0].waitForEvent('close');
      await page.getByRole('button', { name: 'Leave' }).click();
      await statusIs(page, 'idle idle');
      await isFreed;
    }),
  );
}
