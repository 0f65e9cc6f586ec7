// One model for the service worker and the pages of an extension (Manifest V3), built with Vite from the installed
// package, in Chromium.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openWithExtension } from '../../tools/browser.mjs';
import { openPage } from '../../tools/demo.mjs';
import { APPS, installPackage, tool } from './install.mjs';

await installPackage();
const SOURCE = path.join(APPS, 'extension');
const BUILT = path.join(SOURCE, 'dist');
const { build } = await import(tool('vite', 'dist/node/index.js'));
await build({ root: SOURCE, logLevel: 'error' });
for (const file of ['manifest.json', '../public/model.gguf']) {
  fs.copyFileSync(path.join(SOURCE, file), path.join(BUILT, path.basename(file)));
}

test('a service worker and two pages share one model, and a page takes over when the service worker ends', async () => {
  const context = await openWithExtension(BUILT);
  try {
    const [background = await context.waitForEvent('serviceworker')] = context.serviceWorkers();
    const { host } = new URL(background.url());
    const open = () => openPage(context, `chrome-extension://${host}/page.html`);
    const pages = [await open(), await open()];
    const engines = () => pages.map((page) => page.workers().length);
    const text = await pages[0].evaluate(() => globalThis.fromBackground());
    assert.match(text, /^(?!Error).{10}/s);
    for (const page of pages) assert.equal(await page.evaluate(() => globalThis.write()), text);
    assert.deepEqual(engines(), [0, 0], 'the engine is in the service worker');
    assert.equal(await endServiceWorkers(context), 1);
    for (const page of pages) assert.equal(await page.evaluate(() => globalThis.write()), text);
    assert.equal(engines()[0] + engines()[1], 1, 'the engine is in one page');
    assert.equal(await pages[1].evaluate(() => globalThis.fromBackground()), text, 'the service worker joins it');
    assert.equal(engines()[0] + engines()[1], 1);
    for (const { crashes } of pages) assert.deepEqual(crashes, []);
  } finally {
    await context.close();
  }
});

/** As the browser does with one that nobody has used for a while; how many there were. */
async function endServiceWorkers(context) {
  const devtools = await context.browser().newBrowserCDPSession();
  const { targetInfos } = await devtools.send('Target.getTargets');
  const workers = targetInfos.filter(({ type }) => type === 'service_worker');
  for (const { targetId } of workers) await devtools.send('Target.closeTarget', { targetId });
  return workers.length;
}
