// The pages of Nuxt and Astro of docs/guides/other-libraries.md: built from the installed package, with the Node.js
// that they want, and used in Chromium.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openBrowser } from '../../tools/browser.mjs';
import { CACHE, must, ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { installTools, NPM_FLAGS } from '../../tools/install-tools.mjs';
import { serve } from '../../tools/serve.mjs';
import { longTest } from '../long.mjs';
import { writeSection } from './guide.mjs';
import { installPackage } from './install.mjs';

const BASE = path.join(CACHE, 'frameworks');
const installed = (name) => path.join(BASE, 'node_modules', name);
const env = { ASTRO_TELEMETRY_DISABLED: '1', NUXT_TELEMETRY_DISABLED: '1', CI: '1' };

/** Builds the page of a section as the file `page` of an app, and opens what comes of it for `use`. */
async function withApp(title, { page, command, out, files = {} }, use) {
  await installTools(path.join(ROOT, 'tests', 'package', 'frameworks'), BASE);
  const { tarball } = await installPackage();
  await must('npm', ['install', ...NPM_FLAGS, '--no-save', tarball], { cwd: BASE, quiet: true });
  const app = path.join(BASE, title.toLowerCase());
  fs.rmSync(app, { recursive: true, force: true });
  fs.mkdirSync(path.join(app, 'public', 'models'), { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'www/models/storyteller.gguf'), path.join(app, 'public/models/storyteller.gguf'));
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    fs.writeFileSync(path.join(app, name), text);
  }
  writeSection(path.join(app, path.dirname(page)), title, { name: path.basename(page) });
  const node = path.join(installed('node'), 'bin', 'node');
  await must(node, [installed(command[0]), ...command.slice(1)], { cwd: app, env, quiet: true });
  const site = await serve({ mounts: { '/': path.join(app, out) } });
  const browser = await openBrowser();
  try {
    const opened = await openPage(browser, `${site.url}/index.html`);
    await use(opened);
    assert.deepEqual(opened.crashes, []);
  } finally {
    await browser.close();
    await site.close();
  }
}

const wrote = (page) => page.waitForFunction(() => document.querySelector('p:last-of-type')?.innerText.length > 20);

longTest('Nuxt: the page is rendered on a server, where nothing is loaded, and the model answers in the page', () => {
  const files = { 'nuxt.config.ts': 'export default {};' };
  const command = ['nuxt/bin/nuxt.mjs', 'generate'];
  return withApp('Nuxt', { page: 'app/app.vue', command, out: '.output/public', files }, async (page) => {
    const html = await (await fetch(page.url())).text();
    assert.match(html, /<button disabled>Ask<\/button>/);
    await page.getByRole('button').click();
    await wrote(page);
  });
});

longTest('Astro: a script of a page runs a model', () => {
  const command = ['astro/bin/astro.mjs', 'build'];
  return withApp('Astro', { page: 'src/pages/index.astro', command, out: 'dist' }, wrote);
});
