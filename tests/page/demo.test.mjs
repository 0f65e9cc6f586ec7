// The demo page as a person meets it: opens, writes, stops, takes other models, explains what goes wrong.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openDemo, openPage, say, send, waitForState } from '../../tools/demo.mjs';
import { badRoutes, MODELS, screenshot, SMALL, openSite } from './site.mjs';

const GGUF = path.join(MODELS, path.basename(SMALL));
const site = await openSite({ routes: { '/bad/cut.gguf': badRoutes.cut(GGUF) } });
const words = (text) => text.trim().split(/\s+/).filter(Boolean).length;

/** Opens the demo for `work`; on the CPU unless told otherwise, which loads in no time everywhere. */
async function withDemo(work, query = '?backend=cpu') {
  const page = await openDemo(site.browser, `${site.url}/${query}`);
  try {
    await work(page);
    assert.deepEqual(page.crashes, [], 'no uncaught error on the page');
  } finally {
    await page.close();
  }
}

/** Answers get at most this many tokens from now on: SwiftShader writes about ten a second. */
const limit = (page, tokens) =>
  page.evaluate((count) => {
    document.querySelector('#max-tokens').value = count;
  }, tokens);

/** Drops a file on the page the way a browser does. */
async function drop(page, name, bytes) {
  await page.evaluate(
    async ({ name, base64 }) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
      for (const type of ['dragenter', 'dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
      }
    },
    { name, base64: Buffer.from(bytes).toString('base64') },
  );
}

/** Waits until the page shows an error that matches. */
async function expectError(page, pattern) {
  await page
    .waitForFunction(
      (source) => {
        const box = document.querySelector('#error');
        return box && box.checkVisibility() && new RegExp(source, 'i').test(box.innerText);
      },
      pattern.source,
      { timeout: 20_000 },
    )
    .catch(async () => {
      assert.fail(`no visible error like ${pattern}; #error says: ${await page.locator('#error').textContent()}`);
    });
}

async function loadUrl(page, url) {
  if (!(await page.isVisible('#url'))) await page.locator('details:has(#url) > summary').first().click();
  await page.fill('#url', url);
  await page.click('#load-url');
}

test('the built-in model tells the story it is asked for', async () => {
  await withDemo(async (page) => {
    const lengths = new Set();
    await limit(page, 80);
    // By chance a story may come to the key later than that; this one does not.
    await page.evaluate(() => {
      document.querySelector('#seed').value = 1;
    });
    await send(page, 'Tell me a story about a hedgehog who finds a silver key.');
    const answer = page.locator('.message.assistant').last();
    while ((await page.evaluate(() => document.documentElement.dataset.state)) === 'generating') {
      lengths.add((await answer.innerText()).length);
      await page.waitForTimeout(50);
    }
    await waitForState(page, ['ready']);
    const text = await answer.innerText();
    await screenshot(page, 'demo-story');
    assert.ok(words(text) >= 30, `a story has some words: ${text}`);
    assert.match(text, /hedgehog/i);
    assert.match(text, /key/i);
    assert.ok(lengths.size >= 3, 'the text came in pieces');
    assert.match(
      await page.locator('body').innerText(),
      /\d\s*tok(ens)?\s*(\/|per)\s*s/i,
      'tokens per second are shown',
    );
    assert.match(await page.locator('#backend').innerText(), /gpu/i);
  }, '?backend=webgpu');
});

test('stop stops, and the page goes on', async () => {
  await withDemo(async (page) => {
    await send(page, 'Tell me a very long story about a fox and a lantern.');
    await page.click('#stop');
    await waitForState(page, ['ready'], 5000);
    const text = await page.locator('.message.assistant').last().innerText();
    await page.waitForTimeout(500);
    assert.equal(await page.locator('.message.assistant').last().innerText(), text, 'nothing comes after a stop');
    assert.ok(words(text) < 150, `the story was not through: ${text}`);
    await limit(page, 30);
    assert.ok(words(await say(page, 'Tell me a story about a duck.')) >= 10);
  }, '?backend=webgpu');
});

test('on the CPU the text comes in pieces too, and stop stops', async () => {
  await withDemo(async (page) => {
    // Seen from inside: a page whose thread is never free paints nothing in between.
    const { lengths, stopped } = await page.evaluate(async () => {
      const root = document.documentElement;
      const frame = () => new Promise(requestAnimationFrame);
      document.querySelector('#prompt').value = 'Tell me a story about a fox and a lantern.';
      document.querySelector('#send').click();
      await frame();
      const lengths = new Set();
      while (root.dataset.state === 'generating' && lengths.size < 6) {
        lengths.add(document.querySelector('.message.assistant')?.textContent.length);
        await frame();
      }
      const stopped = root.dataset.state === 'generating';
      document.querySelector('#stop').click();
      return { lengths: [...lengths], stopped };
    });
    await waitForState(page, ['ready'], 5000);
    assert.ok(stopped, `the story was through after showing ${lengths} characters`);
  });
});

/** Loads the small random model in one of the page's ways and lets it write. */
async function testOtherModel(load) {
  await withDemo(async (page) => {
    await load(page);
    // Its name on the page tells that it is this model which writes now.
    await page.waitForFunction(
      (name) => document.documentElement.dataset.state === 'ready' && document.body.innerText.includes(name),
      path.basename(SMALL),
      { timeout: 30_000 },
    );
    // A tiny model is through before a look at the state finds it generating.
    await send(page, 'Hello');
    await page.waitForFunction(() => [...document.querySelectorAll('.message.assistant')].at(-1)?.innerText.length > 2);
    if (await page.isVisible('#stop')) await page.click('#stop', { timeout: 1000 }).catch(() => {});
    await waitForState(page, ['ready'], 30_000);
  });
}

test('a dropped file is loaded', () =>
  testOtherModel((page) => drop(page, path.basename(SMALL), fs.readFileSync(GGUF))));

test('a chosen file is loaded', () => testOtherModel((page) => page.setInputFiles('#file', GGUF)));

test('a pasted URL is loaded', () => testOtherModel((page) => loadUrl(page, site.url + SMALL)));

const FAILURES = [
  { what: 'a URL that is not there', load: (page) => loadUrl(page, `${site.url}/nothing.gguf`), says: /404/ },
  {
    what: 'a connection cut in the middle',
    load: (page) => loadUrl(page, `${site.url}/bad/cut.gguf`),
    says: /network|cut|download|connection|interrupted|ended/,
  },
  {
    what: 'a file that is no GGUF',
    load: (page) => drop(page, 'cat.gguf', 'this is a text about a cat'),
    says: /not a (usable )?GGUF/,
  },
  {
    what: 'a truncated file',
    load: (page) => drop(page, 'half.gguf', fs.readFileSync(GGUF).subarray(0, 60_000)),
    says: /trunc|ends|end of|missing|short|incomplete/,
  },
];

for (const { what, load, says } of FAILURES) {
  test(`${what} is explained, and the page stays usable`, async () => {
    await withDemo(async (page) => {
      await load(page);
      await expectError(page, says);
      await screenshot(page, `demo-error-${what.replaceAll(' ', '-')}`);
      await drop(page, path.basename(SMALL), fs.readFileSync(GGUF));
      await page.waitForFunction(() => document.documentElement.dataset.state === 'ready', null, { timeout: 30_000 });
      assert.ok(!(await page.isVisible('#error')), 'the old error is gone');
    });
  });
}

test('without WebGPU the model runs on the CPU', async () => {
  const page = await site.browser.newPage();
  Object.assign(page, { log: [], crashes: [] });
  page.on('pageerror', (error) => page.crashes.push(String(error)));
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined }));
  await page.goto(`${site.url}/`);
  await waitForState(page, ['ready']);
  assert.match(await page.locator('#backend').innerText(), /cpu/i);
  assert.ok(words(await say(page, 'Tell me a story about a mouse.')) >= 10);
  assert.deepEqual(page.crashes, []);
  await page.close();
});

for (const scheme of ['light', 'dark']) {
  test(`it fits a phone in ${scheme} mode`, async () => {
    const context = await site.browser.newContext({
      viewport: { width: 360, height: 740 },
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
      colorScheme: scheme,
    });
    const page = await openPage(context, `${site.url}/?backend=cpu`);
    await waitForState(page, ['ready']);
    await say(page, 'Tell me a story about a bear and a red kite.');
    await screenshot(page, `demo-phone-${scheme}`);
    const { overflow, brightness } = await page.evaluate(measureLook);
    assert.ok(overflow <= 0, `nothing sticks out to the side, but ${overflow} pixels do`);
    assert.ok(scheme === 'dark' ? brightness < 80 : brightness > 175, `background of brightness ${brightness}`);
    assert.ok(await page.locator('#prompt').isVisible());
    await context.close();
  });
}

/** Runs in the page: how far it is too wide, and how bright its background is (0 to 255). */
function measureLook() {
  const root = document.documentElement;
  const opaque = [document.body, root]
    .map((element) => getComputedStyle(element).backgroundColor)
    .find((color) => !/, 0\)|transparent/.test(color));
  const canvas = new OffscreenCanvas(1, 1).getContext('2d');
  // A page without a background of its own shows the browser's, which follows the colour scheme.
  canvas.fillStyle = opaque ?? 'Canvas';
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
  return { overflow: root.scrollWidth - root.clientWidth, brightness: (r + g + b) / 3 };
}
