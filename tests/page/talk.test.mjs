// The example of a conversation, as it is in the repository: Chromium's microphone plays a spoken file once, models of
// the tests listen and answer, and a voice of the test speaks. Pictures of it are left in .cache/screenshots.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { CACHE, ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { SPEECH } from '../js/voice.mjs';

const MAP = { imports: { webgguf: '/dist/index.js', 'webgguf/voice': '/dist/voice/index.js' } };
/** The page with an import map, since there is no bundler. */
function sendPage(_, response) {
  const html = fs.readFileSync(path.join(ROOT, 'examples/talk/index.html'), 'utf8');
  const map = `<script type="importmap">${JSON.stringify(MAP)}</script>`;
  response.setHeader('Content-Type', 'text/html').end(html.replace('</head>', `${map}</head>`));
}
const QUERY = new URLSearchParams({
  ...{ model: '/models/storyteller.gguf', ears: '/fixtures/models/llama-f32.gguf' },
  mmproj: '/fixtures/encoders/ultravox.gguf',
});

/** A browser's voice that says half of the first sentence and then waits until it is cancelled. */
function giveVoice() {
  const speaking = [];
  window.SpeechSynthesisUtterance = class {
    constructor(text) {
      this.text = text;
    }
  };
  const speak = (utterance) => {
    speaking.push(utterance);
    queueMicrotask(() => {
      utterance.onstart();
      utterance.onboundary({ charIndex: utterance.text.length / 2 });
    });
  };
  const cancel = () => {
    for (const utterance of speaking.splice(0)) utterance.onerror({ error: 'canceled' });
  };
  Object.defineProperty(window, 'speechSynthesis', { value: { speak, cancel } });
}

/** Calls `use` with a page on the example, whose microphone plays a spoken file once. */
async function withExample(query, use) {
  const server = await serve({
    routes: { '/talk/': sendPage },
    mounts: { '/': path.join(ROOT, 'examples'), '/models/': path.join(ROOT, 'www', 'models') },
  });
  const browser = await openBrowser({
    args: [
      ...['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
      `--use-file-for-fake-audio-capture=${SPEECH}%noloop`,
    ],
  });
  try {
    const page = await openPage(browser, 'about:blank');
    await page.addInitScript(giveVoice);
    await page.goto(`${server.url}/talk/?${query}`);
    await use(page);
    assert.deepEqual(page.crashes, []);
  } finally {
    await browser.close();
    await server.close();
  }
}

/** Pictures in both colour schemes, on a small screen. */
async function takePictures(page, name) {
  const folder = path.join(CACHE, 'screenshots');
  fs.mkdirSync(folder, { recursive: true });
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 360, height: 720 });
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(beyond <= 0, `${beyond} pixels beyond the right edge`);
    await page.screenshot({ path: path.join(folder, `${name}-${colorScheme}.png`) });
  }
}

test('what is heard is answered and said until Escape, and a refused microphone is told', async () => {
  await withExample(QUERY, async (page) => {
    assert.match(await page.locator('#who').innerText(), /browser's own voice/);
    const talk = page.locator('#talk');
    await talk.focus();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('#caption').textContent.length > 5);
    await page.waitForFunction(() => document.documentElement.dataset.state === 'speaking');
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => /\S …$/.test(document.querySelector('#turns .assistant')?.textContent));
    assert.equal(await talk.innerText(), 'End');
    const times = await page.locator('#times').innerText();
    assert.match(times, /^After you spoke: words [\d.]+ s, first token [\d.]+ s, first sound [\d.]+ s\.$/);
    await takePictures(page, 'example-talk');
    await talk.click();
    await page.waitForFunction(() => document.querySelector('#talk').textContent === 'Talk');
    assert.equal(await page.locator('#error').innerText(), '');
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', 'NotAllowedError'));
    });
    await talk.click();
    await page.waitForFunction(() => /was refused/.test(document.querySelector('#error').textContent));
    assert.equal(await talk.innerText(), 'Talk');
  });
});

const OMNI = new URLSearchParams({
  omni: '/fixtures/encoders/lfm3a-gen-text.gguf',
  mmproj: '/fixtures/encoders/lfm3a-gen.gguf',
});

test('one model hears, writes and speaks', async () => {
  await withExample(OMNI, async (page) => {
    assert.match(await page.locator('#who').innerText(), /One model hears/);
    await page.locator('#talk').click();
    await page.waitForFunction(() => document.documentElement.dataset.state === 'speaking');
    const times = await page.locator('#times').innerText();
    assert.match(times, /^After you spoke: first token [\d.]+ s, first sound [\d.]+ s\.$/);
    assert.equal(await page.locator('#turns .user').first().innerText(), 'You: (you spoke)');
    await takePictures(page, 'example-talk-one-model');
    await page.locator('#talk').click();
    await page.waitForFunction(() => document.querySelector('#talk').textContent === 'Talk');
    assert.equal(await page.locator('#error').innerText(), '');
  });
});
