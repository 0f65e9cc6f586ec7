// What tests of pictures and of sounds on the demo page share.

import assert from 'node:assert/strict';
import { openDemo } from '../../tools/demo.mjs';
import { screenshot, violations } from './site.mjs';

export const SIZES = { phone: { width: 320, height: 640 }, desk: { width: 1280, height: 800 } };

/** What is looked at: layout depends on the size, contrast on the colours, and neither on the other. */
export const LOOKS = [
  { size: 'phone', colorScheme: 'dark' },
  { size: 'desk', colorScheme: 'light' },
];

/**
 * Opens the demo with the small model of `model` for `work`, on the CPU; `options` are those of a browser context, and
 * `query` takes the place of `model`.
 */
export const demoWith =
  (site, model) =>
  async (work, { query = model, ...options } = {}) => {
    const context = await site.browser.newContext({ serviceWorkers: 'block', ...options });
    const page = await openDemo(context, `${site.url}/?backend=cpu&${query}`);
    try {
      // The small models write anything, and their texts do not end.
      await page.evaluate(() => {
        document.querySelector('#max-tokens').value = 8;
      });
      await work(page, context);
      assert.deepEqual(page.crashes, [], 'no uncaught error on the page');
    } finally {
      await context.close();
    }
  };

/** Gives the page files the way a browser does, by `type` of event. */
export async function give(page, type, files) {
  await page.evaluate(
    ({ type, files }) => {
      const data = new DataTransfer();
      for (const { name, base64, kind } of files) {
        data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name, { type: kind }));
      }
      const settings = { bubbles: true, cancelable: true };
      if (type === 'paste') {
        document
          .querySelector('#prompt')
          .dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, ...settings }));
        return;
      }
      for (const each of ['dragenter', 'dragover', 'drop']) {
        document.querySelector('.page').dispatchEvent(new DragEvent(each, { dataTransfer: data, ...settings }));
      }
    },
    {
      type,
      files: Object.entries(files).map(([name, bytes]) => ({
        name,
        base64: Buffer.from(bytes).toString('base64'),
        kind: name.endsWith('.png') ? 'image/png' : '',
      })),
    },
  );
}

/** What the page says above the field. */
export async function note(page) {
  await page.locator('#attach-note:visible').waitFor();
  return page.innerText('#attach-note');
}

/** Takes a screenshot; axe-core finds nothing wrong in what it shows, and nothing sticks out to the side. */
export async function checkLook(page, name) {
  await screenshot(page, name);
  assert.deepEqual(await violations(page), [], name);
  const { scrollWidth, clientWidth } = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return { scrollWidth, clientWidth };
  });
  assert.ok(scrollWidth <= clientWidth, `${name}: nothing sticks out to the side`);
}
