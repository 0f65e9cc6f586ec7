// The demo page as a person meets it: opens, writes, stops, takes other models, explains what goes wrong.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { openDemo, openPage, say, send, waitForState } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { explain } from '../../www/demo/words.js';
import { longTest, testIf } from '../long.mjs';
import { badRoutes, MODELS, screenshot, SMALL, openSite, violations } from './site.mjs';

const GGUF = path.join(MODELS, path.basename(SMALL));
const late = badRoutes.late(GGUF);
const site = await openSite({
  routes: {
    '/bad/cut.gguf': badRoutes.cut(GGUF),
    '/bad/late.gguf': late,
    '/bad/stalled.gguf': badRoutes.stalled(GGUF),
  },
});
/** Another origin, which does not let this one read its files. */
const elsewhere = await serve();
after(() => elsewhere.close());
const SCRIPTED = fs.readFileSync(path.join(ROOT, 'tests', 'page', 'scripted_model.js'), 'utf8');
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

/** Opens the demo with scripted_model.js in place of the package; `options` are those of a browser context. */
async function withScripted(work, options = {}) {
  const context = await site.browser.newContext({ serviceWorkers: 'block', ...options });
  await context.route('**/dist/index.js', (route) => route.fulfill({ contentType: 'text/javascript', body: SCRIPTED }));
  const page = await openDemo(context, `${site.url}/?model=/chat-1b.gguf`);
  try {
    await work(page, context);
    assert.deepEqual(page.crashes, [], 'no uncaught error on the page');
  } finally {
    await context.close();
  }
}

/**
 * What the scripted model writes next: `text`, or one of `texts` at a time, in pieces of `size` every `wait` ms. After
 * `holdAt` characters it waits until `goesOn` is set.
 */
const script = (page, values) =>
  page.evaluate((given) => {
    globalThis.script = given;
  }, values);

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
    .waitForFunction((source) => {
      const box = document.querySelector('#error');
      return box?.checkVisibility() && new RegExp(source, 'i').test(box.innerText);
    }, pattern.source)
    .catch(async () => {
      assert.fail(`no visible error like ${pattern}; #error says: ${await page.locator('#error').textContent()}`);
    });
}

async function loadUrl(page, url) {
  if (!(await page.isVisible('#url'))) await page.click('#open-models');
  await page.fill('#url', url);
  await page.click('#load-url');
}

test('the built-in model tells the story it is asked for', async () => {
  await withDemo(async (page) => {
    await limit(page, 60);
    await page.evaluate(() => {
      globalThis.lengths = new Set();
      const look = () => globalThis.lengths.add(document.querySelector('.message.assistant')?.innerText.length);
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    // By chance a story may come to the key later than that; this one does not.
    await page.evaluate(() => {
      document.querySelector('#seed').value = 1;
    });
    await send(page, 'Tell me a story about a hedgehog who finds a silver key.');
    const answer = page.locator('.message.assistant').last();
    await waitForState(page, ['ready']);
    const text = await answer.innerText();
    await screenshot(page, 'demo-story');
    assert.ok(words(text) >= 30, `a story has some words: ${text}`);
    assert.match(text, /hedgehog/i);
    assert.match(text, /key/i);
    const lengths = await page.evaluate(() => [...globalThis.lengths]);
    assert.ok(lengths.length > 4, `the text came in pieces: ${lengths}`);
    assert.match(
      await page.locator('body').innerText(),
      /\d\s*tok(ens)?\s*(\/|per)\s*s/i,
      'tokens per second are shown',
    );
    assert.match(await page.locator('#backend').innerText(), /gpu/i);
  }, '?backend=webgpu');
});

/** Waits until a page has been painted `count` times. */
const frames = (page, count) =>
  page.evaluate(async (left) => {
    for (let frame = 0; frame < left; frame += 1) await new Promise(requestAnimationFrame);
  }, count);

test('stop stops, and the page goes on', async () => {
  await withDemo(async (page) => {
    await send(page, 'Tell me a very long story about a fox and a lantern.');
    await page.click('#stop');
    await waitForState(page, ['ready']);
    const text = await page.locator('.message.assistant').last().innerText();
    await frames(page, 30);
    assert.equal(await page.locator('.message.assistant').last().innerText(), text, 'nothing comes after a stop');
    assert.ok(words(text) < 150, `the story was not through: ${text}`);
    await limit(page, 12);
    assert.ok(words(await say(page, 'Tell me a story about a duck.')) >= 5);
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
      // One more than at first is enough: on a busy machine few frames are painted while a story is written.
      while (root.dataset.state === 'generating' && lengths.size < 2) {
        lengths.add(document.querySelector('.message.assistant')?.textContent.length);
        await frame();
      }
      const stopped = root.dataset.state === 'generating';
      document.querySelector('#stop').click();
      return { lengths: [...lengths], stopped };
    });
    await waitForState(page, ['ready']);
    assert.ok(stopped, `the story was through after showing ${lengths} characters`);
  });
});

/** Loads the small random model in one of the page's ways and lets it write. */
async function testOtherModel(load) {
  await withDemo(async (page) => {
    await load(page);
    // The name on the page tells that this model writes now.
    await page.waitForFunction(
      (name) => document.documentElement.dataset.state === 'ready' && document.body.innerText.includes(name),
      path.basename(SMALL),
    );
    // A tiny model is through before a look at the state finds it generating.
    await send(page, 'Hello');
    await page.waitForFunction(() => [...document.querySelectorAll('.message.assistant')].at(-1)?.innerText.length > 2);
    if (await page.isVisible('#stop')) await page.locator('#stop').evaluate((button) => button.click());
    await waitForState(page, ['ready']);
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
      await page.waitForFunction(() => document.documentElement.dataset.state === 'ready');
      assert.ok(!(await page.isVisible('#error')), 'the old error is gone');
    });
  });
}

// ---- the model there is stays until another one begins to arrive ----------------------------------------------------

/** The small model as one of an architecture that nobody knows. */
function unknownArchitecture() {
  const bytes = Buffer.from(fs.readFileSync(GGUF));
  const at = bytes.indexOf('llama', bytes.indexOf('general.architecture'));
  bytes.write('lloma', at, 'latin1');
  return bytes;
}

const KEEPS_MODEL = [
  { what: 'a mistyped URL', load: (page) => loadUrl(page, `${site.url}/nothing.gguf`), says: /404/ },
  { what: 'no URL at all', load: (page) => loadUrl(page, 'https://'), says: /https:\/\/ is not a web address/ },
  {
    what: 'a site that does not allow reading its files',
    load: (page) => loadUrl(page, `${elsewhere.url}${SMALL}`),
    says: /CORS/,
  },
  { what: 'a file that is no GGUF', load: (page) => drop(page, 'cat.gguf', 'a text about a cat'), says: /GGUF/ },
  {
    what: 'an unknown architecture',
    load: (page) => drop(page, 'lloma.gguf', unknownArchitecture()),
    says: /lloma/,
  },
];

test('a load that cannot begin leaves the model and the chat as they were', async () => {
  await withDemo(async (page) => {
    await limit(page, 12);
    const story = await say(page, 'Tell me a story about a duck.');
    for (const { what, load, says } of KEEPS_MODEL) {
      await load(page);
      await expectError(page, says);
      assert.match(await page.innerText('#error'), /Storyteller is still loaded, and your chat is as it was/, what);
      assert.equal(await page.innerText('#model-name'), 'Storyteller', what);
      assert.equal(await page.locator('.message.assistant').last().innerText(), story, what);
    }
    await page.click('#error button:text("Close")');
    assert.ok(words(await say(page, 'Tell me a story about a fox.')) >= 5, 'the model still writes');
    assert.equal(await page.locator('.turn').count(), 2);
  });
});

longTest('a load that fails after the header says what became of the old model', async () => {
  await withDemo(async (page) => {
    await limit(page, 12);
    const story = await say(page, 'Tell me a story about a duck.');
    await loadUrl(page, `${site.url}/bad/late.gguf`);
    await page.waitForFunction(() => document.querySelector('#model-name').innerText !== 'Storyteller');
    late.hangUp();
    await expectError(page, /Storyteller had to make room for it and is no longer loaded/);
    assert.equal(await page.locator('.message.assistant').last().innerText(), story, 'the chat is still there to read');
    assert.ok(await page.isDisabled('#send'));
    await page.click('#error button:text("Use the built-in storyteller")');
    await waitForState(page, ['ready']);
    assert.equal(await page.locator('.message.assistant').last().innerText(), story, 'and goes on with its model');
  });
});

for (const [how, cancel] of [
  ['Escape', (page) => page.keyboard.press('Escape')],
  ['Cancel', (page) => page.click('#loading-cancel')],
]) {
  test(`${how} cancels a load in plain words`, async () => {
    await withDemo(async (page) => {
      await limit(page, 12);
      const story = await say(page, 'Tell me a story about a duck.');
      await loadUrl(page, `${site.url}/bad/stalled.gguf`);
      await waitForState(page, ['loading']);
      await cancel(page);
      await waitForState(page, ['ready']);
      const shown = await page.innerText('#error');
      assert.match(shown, /Loading was cancelled\s+Storyteller is still loaded/);
      assert.doesNotMatch(shown, /signal|abort/i);
      assert.equal(await page.locator('.message.assistant').last().innerText(), story);
      await page.keyboard.press('Escape');
      assert.ok(!(await page.isVisible('#error')), 'Escape closes the box too');
    });
  });
}

test('a first load that is cancelled can be begun again', async () => {
  const page = await openPage(site.browser, `${site.url}/?backend=cpu&model=/bad/stalled.gguf`);
  await waitForState(page, ['loading']);
  await page.keyboard.press('Escape');
  await waitForState(page, ['empty']);
  assert.match(await page.innerText('#error'), /Loading was cancelled\s+No model is loaded/);
  await page.click('#error button:text("Use the built-in storyteller")');
  await waitForState(page, ['ready']);
  await page.close();
});

// ---- what the page has to say is in sight ---------------------------------------------------------------------------

const VIEWPORTS = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
  { width: 320, height: 640 },
];

/** Whether an element is between the header and `below`, from top to bottom; its rectangles where it is not. */
const inSight = (page, selector, below = '.composer-box') =>
  page.waitForFunction(
    ([shown, under]) => {
      const rectOf = (element) => element.getBoundingClientRect();
      const top = rectOf(document.querySelector('.top')).bottom;
      const bottom = Math.min(rectOf(document.querySelector(under)).top, innerHeight);
      const boxes = [...document.querySelectorAll(shown)].map(rectOf);
      return boxes.length > 0 && boxes.every((box) => box.height > 0 && box.top >= top - 2 && box.bottom <= bottom + 1);
    },
    [selector, below],
  );

async function expectCard(page, what) {
  for (const selector of ['#error', '#error-title', '#error-actions button']) {
    await inSight(page, selector).catch(async () => {
      const boxes = await page.evaluate(
        (names) => names.map((name) => [name, document.querySelector(name).getBoundingClientRect().toJSON()]),
        ['.top', selector, '.composer-box'],
      );
      await screenshot(page, 'demo-hidden');
      assert.fail(`${what}: ${selector} is not between header and composer: ${JSON.stringify(boxes)}`);
    });
  }
}

for (const viewport of VIEWPORTS) {
  const size = `${viewport.width} × ${viewport.height}`;
  testIf(viewport.width === 320)(`errors and questions are in sight above the composer: ${size}`, async () => {
    await withDemo(async (page) => {
      await page.setViewportSize(viewport);
      const shot = (what) => screenshot(page, `demo-card-${viewport.width}-${what}`);
      await loadUrl(page, `${site.url}/a/long/way/to/a/model/that/is/not/there-${'x'.repeat(60)}.gguf`);
      await expectError(page, /404/);
      await expectCard(page, 'a wrong address');
      await shot('address');
      await page.click('#json-mode');
      await loadUrl(page, `${site.url}/nothing.gguf`);
      await expectError(page, /404/);
      await expectCard(page, 'a wrong address in JSON mode');
      await shot('json');

      await page.fill('#schema', '{"type": "object", "not": {"type": "string"}}');
      await page.fill('#prompt', 'Who is it?');
      await page.click('#send');
      await page.waitForFunction(() => document.querySelector('#schema').getAttribute('aria-invalid') === 'true');
      await waitForState(page, ['ready']);
      assert.match(await page.innerText('#schema-note'), /^No answer can follow this schema: .*not/);
      const note = await page.locator('#schema-note').boundingBox();
      assert.ok(note.y > 0 && note.y + note.height <= viewport.height, 'the reason is in sight');
      await shot('schema');
      assert.equal(await page.inputValue('#prompt'), 'Who is it?', 'the message is not lost');
      assert.equal(await page.locator('#chats li').count(), 0, 'no conversation came of it');
      await page.fill('#schema', '{"type": "object"}');
      assert.equal(await page.getAttribute('#schema', 'aria-invalid'), 'false');
      await page.click('#json-mode');

      await drop(page, path.basename(SMALL), fs.readFileSync(GGUF));
      await page.waitForFunction((name) => document.querySelector('#model-name').innerText === name, 'llama-bf16.gguf');
      await waitForState(page, ['ready']);
      await limit(page, 8);
      await say(page, 'Hello\n'.repeat(20));
      await page.reload();
      await expectError(page, /Choose llama-bf16\.gguf again/);
      await expectCard(page, 'a reload of a chat with a file');
      await shot('file');
    });
  });
}

test('a first message that is too long is given back, and leaves no conversation', async () => {
  await withDemo(async (page) => {
    const long = 'hedgehog '.repeat(1500);
    await page.fill('#prompt', long);
    await page.click('#send');
    await expectError(page, /context_full/);
    assert.equal(await page.inputValue('#prompt'), long);
    assert.equal(await page.locator('#chats li').count(), 0);
    await page.reload();
    await waitForState(page, ['ready']);
    assert.ok(await page.isVisible('#welcome'));
    assert.equal(await page.locator('#chats li').count(), 0, 'nothing of it was stored');
  });
});

test('every error code has words of its own', () => {
  const guide = fs.readFileSync(path.join(ROOT, 'docs', 'guides', 'errors-and-recovery.md'), 'utf8');
  const codes = [...guide.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code).filter((code) => code !== 'internal');
  assert.ok(codes.length >= 13, `${codes}`);
  const bug = explain({ code: 'internal' }).title;
  for (const code of codes) assert.notEqual(explain({ code }).title, bug, code);
});

// ---- keyboard and screen readers ------------------------------------------------------------------------------------

const focusedId = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.tagName);

test('the focus follows what happens', async () => {
  await withScripted(async (page) => {
    await script(page, { text: 'word '.repeat(50_000), wait: 5 });
    await page.fill('#prompt', 'Hello');
    await page.focus('#send');
    await page.keyboard.press('Enter');
    await waitForState(page, ['generating']);
    assert.equal(await focusedId(page), 'stop', 'Send has become Stop');
    await page.keyboard.press('Enter');
    await waitForState(page, ['ready']);
    assert.equal(await focusedId(page), 'prompt', 'after Stop');
    await page.click('#new-chat');
    await page.focus('#examples button');
    await page.keyboard.press('Enter');
    await waitForState(page, ['generating']);
    assert.equal(await focusedId(page), 'stop', 'the examples are gone');
    await page.keyboard.press('Escape');
    await waitForState(page, ['ready']);
    assert.equal(await focusedId(page), 'prompt', 'after Escape');
    await page.focus('.again');
    await script(page, { text: 'Short.' });
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('.assistant').innerText === 'Short.');
    assert.notEqual(await focusedId(page), 'BODY', 'after Regenerate');
  });
});

test('every control has a name, and sliders say their values', async () => {
  await withScripted(async (page, context) => {
    await script(page, { text: 'Some `code`:\n\n```js\nlet x;\n```' });
    await say(page, 'Hello');
    await page.click('#settings > summary');
    const client = await context.newCDPSession(page);
    const { nodes } = await client.send('Accessibility.getFullAXTree');
    const controls = nodes
      .filter(({ role }) => /^(slider|button|textbox|spinbutton|combobox|link)$/.test(role?.value))
      .map(({ role, name }) => ({ role: role.value, name: name?.value ?? '' }));
    assert.deepEqual(
      controls.filter(({ name }) => !name.trim()),
      [],
      'controls without a name',
    );
    const sliders = controls.filter(({ role }) => role === 'slider').map(({ name }) => name);
    assert.deepEqual(sliders, ['Temperature', 'Top-p', 'Top-k', 'Min-p', 'Repetition penalty']);
    const says = (name) => page.getByRole('slider', { name }).getAttribute('aria-valuetext');
    assert.deepEqual(await Promise.all(sliders.map(says)), ['0.7', '0.9', '40', '0.05', 'off']);
  });
});

// ---- answers --------------------------------------------------------------------------------------------------------

const MARKDOWN = `# Sorting

The **fast** way, see [the docs][1]:

\`\`\`python
print(sorted("${'x'.repeat(90)}"))
\`\`\`

- one
- two

| a | ${'wide '.repeat(9)} |
|---|---:|
| 1 | 2 |

[1]: https://example.com/ "https://bank.example/"`;

test('an answer is rendered as Markdown while it comes', async () => {
  await withScripted(async (page) => {
    await script(page, { text: MARKDOWN, wait: 10, holdAt: 60 });
    await send(page, 'How do I sort?');
    const answer = page.locator('.message.assistant');
    await answer.locator('strong').waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.state), 'generating');
    await page.evaluate(() => {
      globalThis.goesOn = true;
    });
    await waitForState(page, ['ready']);
    assert.equal(await answer.locator('h3').innerText(), 'Sorting');
    assert.equal(await answer.locator('.code-head span').innerText(), 'python');
    assert.equal(await answer.locator('li').count(), 2);
    assert.equal(await answer.locator('td').last().getAttribute('align'), 'right');
    const link = answer.getByRole('link', { name: 'the docs' });
    assert.equal(await link.getAttribute('href'), 'https://example.com/', 'an address that came last');
    assert.match(await link.getAttribute('rel'), /noopener/);
    assert.equal(await link.getAttribute('title'), 'https://example.com/', 'the tooltip tells no other address');
  });
});

const HOSTILE = [
  '<img src=x onerror="globalThis.hit = 1">',
  '<script>globalThis.hit = 2</script>',
  '<svg><script>globalThis.hit = 3</script></svg><iframe srcdoc="<script>parent.hit = 4</script>"></iframe>',
  '[click](javascript:globalThis.hit=5) <javascript:globalThis.hit=6> [data](data:text/html,x) [here](/kernels.html)',
  '![pixel](https://example.com/pixel.png "title")',
  '```"><img src=x onerror=globalThis.hit=7>\n<img src=x onerror=globalThis.hit=8>\n```',
  '[x](https://example.com/"onmouseover="globalThis.hit=9)',
  '<style>* { display: none }</style><form action="https://example.com"><input name=q></form><base href="//e.com">',
  '<a href="https://example.com" style="position:fixed;inset:0" id="prompt" class="message">over everything</a>',
];

test('what a model writes cannot run, load or cover anything', async () => {
  await withScripted(async (page) => {
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await script(page, { texts: [...HOSTILE] });
    for (const _ of HOSTILE) await say(page, 'Show me');
    await frames(page, 12);
    const found = await page.evaluate(() => ({
      hit: globalThis.hit,
      elements: [...new Set([...document.querySelectorAll('.assistant *')].map(({ localName }) => localName))],
      names: [...document.querySelectorAll('.assistant :not(button, .code, .code-head, .table)')].flatMap((element) =>
        element.getAttributeNames(),
      ),
      links: [...document.querySelectorAll('.assistant a')].map(({ href }) => href),
    }));
    assert.equal(found.hit, undefined, 'no script ran');
    const harmless = ['p', 'a', 'br', 'div', 'span', 'button', 'pre', 'code'];
    assert.deepEqual(
      found.elements.filter((name) => !harmless.includes(name)),
      [],
    );
    const allowed = ['href', 'title', 'target', 'rel', 'data-language', 'tabindex'];
    assert.deepEqual(
      found.names.filter((name) => !allowed.includes(name)),
      [],
    );
    assert.ok(
      found.links.every((href) => href.startsWith('https://example.com/')),
      found.links.join(' '),
    );
    assert.deepEqual(asked, [], 'nothing is fetched');
    assert.match(await page.locator('.assistant').first().innerText(), /<img src=x onerror=/, 'HTML is shown as text');
  });
});

test('text that comes fast is drawn once per frame, and complete blocks once', async () => {
  await withScripted(async (page) => {
    const { drawings, frames, kept, same } = await page.evaluate(async () => {
      const { showText, TextStream } = await import('./demo/markdown.js');
      const box = document.createElement('div');
      document.body.append(box);
      const stream = new TextStream(box);
      const frame = () => new Promise(requestAnimationFrame);
      let frames = 0;
      let first;
      for (let at = 0; at < 3000; at += 1) {
        stream.append(at % 30 === 29 ? `word ${at}.\n\n` : `word ${at} `);
        if (at % 100 !== 99) continue;
        await frame();
        frames += 1;
        first ??= box.firstChild;
      }
      while (!box.textContent.includes('word 2999.')) {
        await frame();
        frames += 1;
      }
      const kept = first === box.firstChild && first.isConnected;
      const shown = box.textContent;
      stream.end();
      const whole = document.createElement('div');
      showText(whole, stream.text);
      const same = whole.innerHTML === box.innerHTML && whole.textContent === shown;
      return { drawings: stream.drawings, frames, kept, same };
    });
    assert.ok(drawings > 3 && drawings <= frames + 1, `${drawings} drawings in ${frames} frames`);
    assert.ok(kept, 'the first paragraph was left alone');
    assert.ok(same, 'pieces and the whole look the same');
  });
});

test('answers and code can be copied, the last answer written again', async () => {
  const permissions = ['clipboard-read', 'clipboard-write'];
  await withScripted(
    async (page) => {
      const copied = () => page.evaluate(() => navigator.clipboard.readText());
      await script(page, { texts: ['First.', MARKDOWN, 'Another *one*.'] });
      await say(page, 'One?');
      await say(page, 'Two?');
      const last = page.locator('.turn').last();
      // The button says so for a moment alone.
      const said = last.getByText('Copied').waitFor();
      await last.getByRole('button', { name: 'Copy', exact: true }).click();
      await said;
      assert.equal(await copied(), MARKDOWN);
      await last.getByRole('button', { name: 'Copy code' }).click();
      assert.match(await copied(), /^print\(sorted\("x{90}"\)\)\n?$/);
      assert.equal(await page.getByRole('button', { name: 'Regenerate' }).count(), 1, 'on the last answer only');
      await page.getByRole('button', { name: 'Regenerate' }).click();
      await last.locator('em').waitFor();
      await waitForState(page, ['ready']);
      assert.equal(await page.locator('.turn').count(), 2);
      const prompts = await page.evaluate(() => globalThis.prompts);
      assert.deepEqual(prompts[2], prompts[1], 'the same conversation');
      assert.deepEqual(
        prompts[2].map(({ content }) => content),
        ['One?', 'First.', 'Two?'],
      );
    },
    { permissions },
  );
});

// ---- thoughts -------------------------------------------------------------------------------------------------------

/** Loads another scripted model, whose template has thoughts; with the setting it begins within one. */
async function loadThinker(page) {
  await page.evaluate(() => {
    globalThis.scriptedInfo = { chatTemplate: "{{ content.split('</think>')[-1] }}" };
    globalThis.opensThought = true;
  });
  await loadUrl(page, `${site.url}/thinker.gguf`);
  await page.waitForFunction(() => document.querySelector('#model-name').innerText === 'thinker.gguf');
  await waitForState(page, ['ready']);
}

/** Notes what the page says about thoughts, and what it shows as answer meanwhile. */
const watchThoughts = (page) =>
  page.evaluate(() => {
    globalThis.seen = [];
    new MutationObserver(() => {
      const [box, answer] = ['.thoughts', '.assistant'].map((name) => [...document.querySelectorAll(name)].at(-1));
      if (box?.classList.contains('thinking')) {
        globalThis.seen.push({ says: box.querySelector('summary').textContent, answer: answer.textContent });
      }
    }).observe(document.querySelector('#log'), { childList: true, subtree: true, characterData: true });
  });

test('thoughts are folded above the answer', async () => {
  await withScripted(async (page) => {
    await loadThinker(page);
    await watchThoughts(page);
    await script(page, { text: '<think>\nFirst, **one**.\n\n- two\n</think>\n\nThe *answer*.', size: 3 });
    assert.equal(await say(page, 'How many?'), 'The answer.');
    const seen = await page.evaluate(() => globalThis.seen);
    assert.ok(seen.length > 3, 'it says that the model thinks');
    for (const { says, answer } of seen) {
      assert.match(says, /^Thinking · \d+ tokens$/);
      assert.equal(answer, '', 'no thought is in the answer');
    }
    const summary = page.locator('.thoughts > summary');
    assert.match(await summary.innerText(), /^Thought for \d+ tokens, \d+\.\d s$/);
    assert.equal(await page.locator('.thought strong').isVisible(), false, 'folded');
    await summary.focus();
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('.thought strong').innerText(), 'one');
    assert.equal(await page.locator('.thought li').innerText(), 'two');
    assert.deepEqual(await page.evaluate(() => globalThis.asked.showSpecial), ['<think>', '</think>']);
    await screenshot(page, 'demo-thoughts');
    assert.deepEqual(await violations(page), []);
    await visitAgain(page);
    assert.match(await summary.innerText(), /^Thought for/, 'thoughts are kept');
    assert.equal(await page.innerText('.assistant'), 'The answer.');
  });
});

test('a prompt that ends within a thought, an answer without one, and a stop while the model thinks', async () => {
  await withScripted(async (page) => {
    await loadThinker(page);
    const boxes = page.locator('.thoughts:visible');
    await script(page, { text: 'Just this.' });
    assert.equal(await say(page, 'One?'), 'Just this.');
    assert.equal(await boxes.count(), 0, 'no thoughts, no box');
    await page.click('#settings > summary');
    await page.check('#thinking');
    await script(page, { text: 'Hm.</think>Two.', size: 2 });
    assert.equal(await say(page, 'And now?'), 'Two.');
    assert.equal((await page.locator('.thought').last().textContent()).trim(), 'Hm.');
    await script(page, { text: 'word '.repeat(2000), wait: 5 });
    await send(page, 'And then?');
    await page.locator('.thinking').waitFor();
    await page.keyboard.press('Escape');
    await waitForState(page, ['ready']);
    assert.equal(await boxes.count(), 2);
    assert.match(await boxes.last().locator('summary').innerText(), /^Thought for/);
    assert.equal(await page.locator('.assistant').last().innerText(), '');
    await script(page, { text: 'Three.</think>Four.' });
    await page.getByRole('button', { name: 'Regenerate' }).click();
    await page.locator('.assistant', { hasText: 'Four.' }).waitFor();
  });
});

test('thoughts are told apart however the text is cut, for all marks', async () => {
  await withScripted(async (page) => {
    const wrong = await page.evaluate(async () => {
      const { marksOf, splitThoughts } = await import('./demo/thoughts.js');
      const texts = [
        ['</think>', '<think>\nA < b.\n</think>\n\nYes.'],
        ['[THINK]', '[THINK]A < b.[/THINK]Yes.'],
        ['<|channel>', '<|channel>thought\nA < b.<channel|>Yes.'],
        ['<|channel|>', '<|channel|>analysis<|message|>A < b.assistant<|channel|>final<|message|>Yes.'],
        ['<|channel|>', '<|channel|>final<|message|>Yes.', ''],
        ['</think>', 'Yes.', ''],
        ['nothing', '<think>Yes.', '', '<think>Yes.'],
      ];
      const wrong = [];
      for (const [chatTemplate, text, thoughts = 'A < b.', answer = 'Yes.'] of texts) {
        const model = { info: { chatTemplate }, applyChatTemplate: async () => '' };
        const marks = await marksOf(model);
        for (let at = 0; at <= text.length; at += 1) {
          const part = splitThoughts(text.slice(0, at), marks);
          if (!thoughts.startsWith(part.thoughts) || !answer.startsWith(part.answer)) wrong.push([text, at, part]);
        }
        const whole = splitThoughts(text, marks, { isOver: true });
        if (whole.thoughts !== thoughts || whole.answer !== answer) wrong.push([text, whole]);
      }
      return wrong;
    });
    assert.deepEqual(wrong, []);
  });
});

// ---- what is kept between visits ------------------------------------------------------------------------------------

/** Opens the page afresh, without what its address said. */
async function visitAgain(page) {
  await page.goto(`${site.url}/`);
  await page.waitForFunction(() => !['loading', undefined].includes(document.documentElement.dataset.state));
}

test('a reload keeps the model, the settings and the chat; Clear forgets them', async () => {
  await withScripted(async (page) => {
    await script(page, { text: 'The **answer**.' });
    await say(page, 'A question?');
    await page.click('#settings > summary');
    await page.fill('#system', 'Be brief');
    await page.locator('#temperature').fill('1.2');
    await page.locator('#temperature').blur();
    await visitAgain(page);
    assert.equal(await page.innerText('#model-name'), 'chat-1b.gguf');
    assert.equal(await page.innerText('.assistant strong'), 'answer');
    assert.match(await page.innerText('.meta'), /tokens\/s/);
    assert.equal(await page.inputValue('#temperature'), '1.2');
    await say(page, 'And then?');
    const asked = await page.evaluate(() => globalThis.prompts[0].map(({ content }) => content));
    assert.deepEqual(asked, ['Be brief', 'A question?', 'The **answer**.', 'And then?']);

    await page.click('#forget');
    assert.equal(await page.locator('.turn').count(), 2, 'it asks first');
    await page.click('#forget');
    assert.equal(await page.locator('.turn').count(), 0);
    assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), []);
    await visitAgain(page);
    assert.equal(await page.innerText('#model-name'), 'Storyteller');
    assert.equal(await page.locator('.turn').count(), 0);
    assert.equal(await page.inputValue('#temperature'), '0.7');
  });
});

test('after a reload the page asks for a file of the device again and goes on with its chat', async () => {
  await withScripted(async (page) => {
    await page.setInputFiles('#file', GGUF);
    await page.waitForFunction((name) => document.querySelector('#model-name').innerText === name, path.basename(GGUF));
    await waitForState(page, ['ready']);
    await say(page, 'A question?');
    await visitAgain(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.state), 'empty');
    assert.match(await page.innerText('#error'), new RegExp(`Choose ${path.basename(GGUF)} again`));
    assert.equal(await page.locator('.turn').count(), 1);
    await page.setInputFiles('#file', GGUF);
    await waitForState(page, ['ready']);
    assert.equal(await page.locator('.turn').count(), 1, 'the chat goes on');
    await page.click('#open-models');
    await page.click('#built-in');
    await page.waitForFunction(() => document.querySelector('#model-name').innerText === 'Storyteller');
    await waitForState(page, ['ready']);
    assert.equal(await page.locator('.turn').count(), 0, 'another model, another chat');
  });
});

test('a long chat is kept in part, and broken storage is no error', async () => {
  await withScripted(async (page) => {
    const { size, last, count } = await page.evaluate(async () => {
      const { recallChat, rememberChat } = await import('./demo/memory.js');
      const turns = Array.from({ length: 60 }, (_, index) => ({
        user: `${index}`,
        answer: 'x'.repeat(10_000),
        meta: '',
      }));
      rememberChat({ id: 'long', title: 'Long', model: { builtIn: true }, updated: 1, turns });
      const kept = recallChat('long').turns;
      return {
        size: localStorage.getItem('webgguf.demo.chat.long').length,
        last: kept.at(-1).user,
        count: kept.length,
      };
    });
    assert.ok(size < 250_000, `${size} characters`);
    assert.deepEqual([count, last], [19, '59']);
    for (const broken of ['{', '7', '{"model":{"url":3},"settings":5,"chat":{}}']) {
      await page.evaluate((text) => {
        localStorage.setItem('webgguf.demo', text);
        localStorage.setItem('webgguf.demo.chat.broken', text);
      }, broken);
      await visitAgain(page);
      assert.equal(await page.innerText('#model-name'), 'Storyteller', broken);
      assert.deepEqual(await page.locator('.chat-title').allInnerTexts(), ['Long'], broken);
    }
  });
});

test('a full storage is said, and the chat goes on', async () => {
  await withScripted(async (page) => {
    await page.evaluate(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
    });
    assert.equal(await say(page, 'Hello'), 'Yes.');
    assert.ok(await page.isVisible('#chats-full'));
  });
});

// ---- conversations --------------------------------------------------------------------------------------------------

const titles = (page) => page.locator('.chat-title').allInnerTexts();
const asked = (page) => page.evaluate(() => globalThis.prompts.at(-1).map(({ content }) => content));

test('conversations are kept: opened again they go on; renamed, deleted, and had back', async () => {
  await withScripted(async (page) => {
    await script(page, { texts: ['Seven.', 'Rain.', 'Eight.', 'Nine.', 'Ten.'] });
    await say(page, 'What comes after six?');
    await page.click('#new-chat');
    await say(page, 'Write me a story about a wet day.');
    assert.deepEqual(await asked(page), ['Write me a story about a wet day.'], 'another conversation');
    assert.deepEqual(await titles(page), ['A wet day', 'What comes after six?']);

    await page.click('.chat-open:has-text("after six")');
    assert.equal(await page.locator('.turn').count(), 1);
    await say(page, 'And then?');
    assert.deepEqual(await asked(page), ['What comes after six?', 'Seven.', 'And then?']);
    await say(page, 'And then?');
    assert.equal((await asked(page)).length, 5);
    const sessions = await page.evaluate(() => globalThis.sessions.length);
    assert.equal(sessions, 3, 'one session for each conversation as it was opened');
    assert.deepEqual(await titles(page), ['What comes after six?', 'A wet day'], 'the latest first');

    await page.click('[aria-label="Rename What comes after six?"]');
    await page.keyboard.type('Numbers');
    await page.keyboard.press('Enter');
    await page.click('[aria-label="Rename Numbers"]');
    await page.keyboard.type('Nothing');
    await page.keyboard.press('Escape');
    assert.deepEqual(await titles(page), ['Numbers', 'A wet day']);
    await say(page, 'And then?');
    assert.deepEqual(await titles(page), ['Numbers', 'A wet day'], 'the title stays');

    await page.click('[aria-label="Delete Numbers"]');
    assert.deepEqual(await titles(page), ['A wet day']);
    assert.equal(await page.locator('.turn').count(), 0, 'it was open');
    await page.click('#undo button');
    await visitAgain(page);
    assert.deepEqual(await titles(page), ['Numbers', 'A wet day']);
    await page.click('.chat-open:has-text("Numbers")');
    assert.equal(await page.locator('.turn').count(), 4);
  });
});

test('a conversation with another model offers that model', async () => {
  await withScripted(async (page) => {
    await say(page, 'One?');
    await loadUrl(page, '/other.gguf');
    await page.waitForFunction(() => document.querySelector('#model-name').innerText === 'other.gguf');
    await waitForState(page, ['ready']);
    assert.equal(await page.locator('.turn').count(), 0, 'another model, another conversation');
    await page.click('.chat-open');
    assert.match(await page.innerText('#error'), /This conversation was with chat-1b\.gguf/);
    await page.click('#error button:text("Load chat-1b.gguf")');
    await page.waitForFunction(() => document.querySelector('#model-name').innerText === 'chat-1b.gguf');
    await waitForState(page, ['ready']);
    await say(page, 'Two?');
    assert.deepEqual(await asked(page), ['One?', 'Yes.', 'Two?']);
  });
});

test('leaving a conversation stops its answer, which is kept where it belongs', async () => {
  await withScripted(async (page) => {
    await script(page, { text: 'word '.repeat(50_000), wait: 5 });
    await send(page, 'One?');
    await page.waitForFunction(() => document.querySelector('.assistant').innerText.length > 30);
    await page.click('#new-chat');
    await waitForState(page, ['ready']);
    assert.equal(await page.locator('.turn').count(), 0);
    await page.click('.chat-open');
    assert.match(await page.innerText('.assistant'), /^(word )+/);
    assert.match(await page.innerText('.meta'), /stopped/);
  });
});

// ---- models ---------------------------------------------------------------------------------------------------------

test('the list of models says what fits, what is stored, and deletes it', async () => {
  await withScripted(async (page) => {
    await page.evaluate(() => {
      const base = 'https://huggingface.co';
      globalThis.storedModels = [
        {
          key: `${base}/Qwen/Qwen3-0.6B-GGUF/resolve/main/Qwen3-0.6B-Q8_0.gguf`,
          bytes: 6.39e8,
          size: 6.39e8,
          complete: true,
          lastUsed: new Date(),
        },
        { key: `${base}/a/b/resolve/main/half.gguf`, bytes: 1e8, size: 4e8, complete: false, lastUsed: new Date() },
      ];
    });
    await page.click('#open-models');
    const rows = page.locator('#stored li');
    assert.match(await rows.nth(0).innerText(), /Storyteller\s+Comes with this page/);
    assert.match(await rows.nth(1).innerText(), /Qwen3 0\.6B\s+639 MB +used today/);
    assert.match(await rows.nth(2).innerText(), /half\.gguf\s+100 MB of 400 MB +not complete yet/);
    assert.match(await page.innerText('#room'), /Models take 739 MB in this browser\. There is room for about 40 GB/);

    const catalogue = page.locator('#catalogue li');
    await catalogue.last().locator('.verdict[data-level]').waitFor();
    assert.ok((await catalogue.count()) >= 5);
    for (const text of await catalogue.allInnerTexts()) {
      assert.match(text, /\d (MB|GB)( of its encoder)? +(MIT, |)(Apache-2\.0|Llama 3\.2|Gemma|LFM 1\.0)/);
      assert.match(text, /Fits|tight|Slow|large/i);
    }
    await page.setViewportSize({ width: 400, height: 800 });
    const edges = await catalogue.locator('.model-facts').evaluateAll((lists) =>
      lists.flatMap((list) => {
        const left = list.getBoundingClientRect().left;
        const boxes = [...list.children].flatMap((one) => [...one.getClientRects()]).filter(({ width }) => width > 0);
        // The first of each line.
        const isFirst = (box, at) => at === 0 || box.left < boxes[at - 1].left;
        return boxes.filter(isFirst).map((box) => Math.round(box.left - left));
      }),
    );
    assert.ok(edges.length > (await catalogue.count()), 'some of them take several lines');
    assert.deepEqual([...new Set(edges)], [0], 'every line begins at the edge');
    const qwen = catalogue.filter({ hasText: 'Qwen3 0.6B' });
    assert.equal(await qwen.getByRole('button', { name: /^Use/ }).count(), 1, 'it is there already');
    await qwen.getByRole('button', { name: /Check/ }).click();
    await qwen.getByText('Fits: 1 GB on the GPU').waitFor();
    assert.equal(await page.evaluate(() => globalThis.inspected), 'hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf');

    const remove = rows.nth(1).locator('.link');
    await remove.click();
    assert.equal(await remove.innerText(), 'Delete 639 MB?');
    await remove.click();
    await page.waitForFunction(() => document.querySelectorAll('#stored li').length === 2);
    await qwen.getByRole('button', { name: 'Download: Qwen3 0.6B' }).click();
    await page.waitForFunction(() => document.querySelector('#model-name').innerText === 'Qwen3 0.6B');
    assert.ok(!(await page.isVisible('#models')));
  });
});

test('what fits a device is a matter of its GPU, its memory and its disk', async () => {
  await withScripted(async (page) => {
    const levels = await page.evaluate(async () => {
      const { CATALOGUE, verdict } = await import('./demo/catalogue.js');
      const [small, large] = [CATALOGUE[0], CATALOGUE.at(-1)];
      const desk = { gpu: true, memory: 32, room: 1e11 };
      const devices = [
        desk,
        { ...desk, memory: 2 },
        { ...desk, memory: 4 },
        { ...desk, gpu: false },
        { ...desk, room: 0 },
      ];
      return devices.map((device) => [verdict(small, device).level, verdict(large, device).level].join());
    });
    assert.deepEqual(levels, ['fits,fits', 'fits,large', 'fits,large', 'fits,tight', 'tight,tight']);
  });
});

// ---- JSON mode ------------------------------------------------------------------------------------------------------

test('in JSON mode answers follow the schema; a broken schema is explained', async () => {
  await withScripted(async (page) => {
    await page.click('#json-mode');
    await script(page, { text: '{"name":"Ada","age":36}' });
    await page.fill('#schema', '{"type": "object"');
    await page.fill('#prompt', 'Who?');
    await page.click('#send');
    assert.match(await page.innerText('#schema-note'), /This is not JSON/);
    assert.equal(await page.locator('.turn').count(), 0, 'nothing was asked');
    assert.equal(await focusedId(page), 'schema');

    await page.fill('#schema', '{"type": "object", "required": ["name"]}');
    assert.equal(await page.inputValue('#preset'), 'own');
    await say(page, 'Who?');
    const grammar = await page.evaluate(() => globalThis.asked.grammar);
    assert.deepEqual(grammar, { jsonSchema: { type: 'object', required: ['name'] } });
    assert.equal(await page.innerText('.assistant code'), '{\n  "name": "Ada",\n  "age": 36\n}');
    assert.match(await page.innerText('.meta'), /^valid JSON/);
    await visitAgain(page);
    assert.ok(await page.isVisible('#schema'), 'the mode is kept');
    assert.match(await page.innerText('.assistant code'), /"name": "Ada"/);

    await page.click('#json-mode');
    await script(page, { text: 'Plain.' });
    assert.equal(await say(page, 'And now?'), 'Plain.');
    assert.equal(await page.evaluate(() => globalThis.asked.grammar), undefined);
  });
});

test('the storyteller writes JSON by the schema', async () => {
  await withDemo(async (page) => {
    await page.click('#json-mode');
    await say(page, 'Tell me about a hedgehog.');
    const { name, animal, age, friends } = JSON.parse(await page.innerText('.assistant code'));
    assert.equal(typeof name, 'string');
    assert.ok(['hedgehog', 'owl', 'fox', 'mouse'].includes(animal));
    assert.ok(Number.isInteger(age) && age > 0 && age < 100);
    assert.ok(friends.length >= 1 && friends.length <= 3);
  });
});

test('the speed of an answer is drawn, and told to those who cannot see it', async () => {
  await withScripted(async (page) => {
    await script(page, { text: 'word '.repeat(60), wait: 10 });
    await say(page, 'Hello');
    const label = await page.getAttribute('#chart-picture', 'aria-label');
    assert.match(label, /^Speed of the last answer over [\d.]+ seconds: [\d.]+ to [\d.]+ tokens per second$/);
    assert.match(await page.getAttribute('#chart-line', 'd'), /^M0\.0 [\d.]+(L[\d.]+ [\d.]+)+$/);
  });
});

// ---- without a network ----------------------------------------------------------------------------------------------

test('after the first visit the page works without a network', async () => {
  const server = await serve();
  const context = await site.browser.newContext();
  try {
    const page = await openDemo(context, `${server.url}/?backend=cpu`);
    await page.locator('#offline').waitFor();
    await server.close();
    await page.goto(`${server.url}/?backend=cpu`);
    await waitForState(page, ['ready']);
    await limit(page, 12);
    assert.ok(words(await say(page, 'Tell me a story about a duck.')) >= 5);
    await limit(page, '');
    await page.click('#json-mode');
    await say(page, 'Tell me about an owl.');
    assert.ok(JSON.parse(await page.locator('.assistant code').last().innerText()).name, 'the grammar is there, too');
    assert.deepEqual(page.crashes, []);
  } finally {
    await context.close();
  }
});

test('the offline copy never has files of two versions, nor has a visit that began with it', async () => {
  let version = 1;
  let isDown = false;
  const answer = (name) => (_, response) => {
    const type = name.endsWith('html') ? 'text/html' : 'text/javascript';
    if (isDown) return response.writeHead(503).end();
    response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' });
    const text = { 'index.html': '<script type="module" src="a.js"></script>', 'a.js': "import './b.js';", 'b.js': '' }[
      name
    ];
    const mark = name === 'index.html' ? `<link rel="icon" href="data:,"><title>${version}</title>` : '';
    const note = name === 'index.html' ? '' : `(window.found ??= []).push('${name} ${version}');`;
    return response.end(`${mark}${text}${note}`);
  };
  const worker = (_, response) => {
    const text = fs.readFileSync(path.join(ROOT, 'www', 'demo-offline-worker.js'));
    response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(text);
  };
  const names = ['index.html', 'a.js', 'b.js'];
  const routes = Object.fromEntries(names.map((name) => [`/copy/${name}`, answer(name)]));
  const server = await serve({ routes: { ...routes, '/copy/': answer('index.html'), '/copy/worker.js': worker } });
  const context = await site.browser.newContext();
  try {
    const page = await context.newPage();
    const visit = async () => {
      await page.goto(`${server.url}/copy/`);
      await page.waitForFunction(() => window.found?.length === 2);
      return page.evaluate(() => [document.title, ...window.found].join());
    };
    const kept = () =>
      page.evaluate(async () => {
        const found = [];
        for (const name of await caches.keys()) {
          const cache = await caches.open(name);
          if (await cache.match('whole')) found.push(await (await cache.match('b.js')).text());
        }
        return found.join();
      });
    assert.equal(await visit(), '1,b.js 1,a.js 1');
    await page.evaluate(async () => {
      await navigator.serviceWorker.register('worker.js');
      await navigator.serviceWorker.ready;
    });
    assert.match(await kept(), /b\.js 1/);
    version = 2;
    assert.equal(await visit(), '2,b.js 2,a.js 2');
    while (!/b\.js 2/.test(await kept())) await new Promise((resolve) => setTimeout(resolve, 20));
    isDown = true;
    assert.equal(await visit(), '2,b.js 2,a.js 2', 'a server that is down');
    isDown = false;
    version = 3;
    await context.setOffline(true);
    await page.goto(`${server.url}/copy/`);
    await context.setOffline(false);
    const late = await page.evaluate(async () => (await fetch('b.js')).text());
    assert.match(late, /b\.js 2/, 'what a page of the copy asks for later is of the copy');
  } finally {
    await context.close();
    await server.close();
  }
});

// ---- accessibility --------------------------------------------------------------------------------------------------

/** Layout depends on the size, contrast on the colours, and neither on the other. */
const LOOKS = [
  ['desk', 'dark', { width: 1280, height: 800 }],
  ['phone', 'light', { width: 390, height: 844 }],
];

for (const [size, colorScheme, viewport] of LOOKS) {
  test(`axe finds nothing wrong: ${size}, ${colorScheme}`, async () => {
    await withScripted(
      async (page) => {
        const check = async (what) => {
          await screenshot(page, `demo-${size}-${colorScheme}-${what}`);
          assert.deepEqual(await violations(page), [], what);
        };
        await check('welcome');
        await script(page, { text: MARKDOWN, wait: 10 });
        await say(page, 'How do I sort?');
        await check('chat');
        await page.click('#json-mode');
        await page.fill('#schema', '{');
        await check('json');
        await page.click('#json-mode');
        await page.click('#open-models');
        await page.locator('#catalogue .verdict[data-level]').last().waitFor();
        await check('models');
        await page.keyboard.press('Escape');
        if (size === 'phone') await page.click('#toggle-panel');
        await page.click('#settings > summary');
        await check('settings');
        if (size === 'phone') await page.click('#toggle-chats');
        await page.click('#chats .delete');
        await check('chats');
      },
      // The policy of the page forbids what axe-core needs.
      { colorScheme, viewport, bypassCSP: true },
    );
  });
}

// ---- looks ----------------------------------------------------------------------------------------------------------

for (const colorScheme of ['light', 'dark']) {
  test(`in ${colorScheme} mode controls stand out, and an answer fits 320 pixels`, async () => {
    await withScripted(
      async (page) => {
        await script(page, { text: MARKDOWN });
        await say(page, 'How do I sort?');
        await screenshot(page, `demo-answer-320-${colorScheme}`);
        assert.ok((await page.evaluate(measureLook)).overflow <= 0, 'the answer');
        await page.click('#toggle-panel');
        await page.click('#settings > summary');
        await screenshot(page, `demo-settings-320-${colorScheme}`);
        assert.ok((await page.evaluate(measureLook)).overflow <= 0, 'the settings');
        const weak = (await page.evaluate(borderContrasts)).filter(({ ratio }) => !(ratio >= 3));
        assert.deepEqual(weak, []);
      },
      { colorScheme, viewport: { width: 320, height: 640 } },
    );
  });
}

/** Runs in the page: the contrast of each field's border with what is around the field (WCAG 2, 1.4.11). */
function borderContrasts() {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const around = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return (channels(color)[3] ?? 1) > 0 ? color : around(element.parentElement);
  };
  return [...document.querySelectorAll('input:not([type="range"], [type="file"]), select, textarea')].map((field) => {
    const [a, b] = [getComputedStyle(field).borderTopColor, around(field.parentElement)].map(luminance);
    return { id: field.id, ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) };
  });
}

// ---- why the CPU ----------------------------------------------------------------------------------------------------

for (const [what, { isSecureContext, says }] of Object.entries({
  'without WebGPU': {
    isSecureContext: true,
    says: /runs on the CPU, much slower than on a GPU: this browser has no WebGPU/,
  },
  'over http:': { isSecureContext: false, says: /runs on the CPU, much slower than on a GPU: this page is not secure/ },
})) {
  test(`${what} the page says why the CPU is used`, async () => {
    const page = await site.browser.newPage({ serviceWorkers: 'block' });
    Object.assign(page, { log: [], crashes: [] });
    await page.addInitScript((isSecure) => {
      Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined });
      Object.defineProperty(globalThis, 'isSecureContext', { get: () => isSecure });
    }, isSecureContext);
    await page.goto(`${site.url}/`);
    await waitForState(page, ['ready']);
    for (const id of ['#why-cpu', '#why-cpu-2']) assert.match(await page.innerText(id), says);
    await page.evaluate(() => {
      document.querySelector('#backend-choice').value = 'cpu';
      document.querySelector('#reload').click();
    });
    await page.waitForFunction(() => document.querySelector('#why-cpu').hidden);
    await waitForState(page, ['ready']);
    assert.ok(await page.isHidden('#why-cpu'), 'who chose the CPU knows why');
    await page.close();
  });
}

test('where the browser has WebGPU but no GPU for it the page says so', async () => {
  await withScripted(async (page, context) => {
    assert.ok(await page.isHidden('#why-cpu'), 'this one runs on the GPU');
    await context.addInitScript(() => {
      globalThis.scriptedInfo = { backend: 'cpu', adapter: undefined };
    });
    await page.reload();
    await waitForState(page, ['ready']);
    assert.match(await page.innerText('#why-cpu'), /much slower than on a GPU: the browser offers no GPU to pages\./);
  });
});

test('the card says how much of prompts is kept, as it is after each answer', async () => {
  await withScripted(async (page) => {
    const words = (kept) => (kept.tokens ? `${kept.tokens} tokens, ${kept.bytes / 1e6} MB` : undefined);
    const ask = async (kept) => {
      await page.evaluate((given) => {
        globalThis.scriptedKept = given;
      }, kept);
      await page.fill('#prompt', 'Hello');
      await page.press('#prompt', 'Enter');
      await waitForState(page, ['ready']);
      await page.waitForFunction((text) => document.querySelector('#kept')?.textContent === text, words(kept));
    };
    for (const kept of [{}, { blocks: 2, tokens: 300, bytes: 12e6 }, { blocks: 4, tokens: 900, bytes: 36e6 }, {}]) {
      await ask(kept);
      assert.equal(await page.locator('#kept').count(), kept.tokens ? 1 : 0);
    }
  });
});

test('a browser that is too old is told so', async () => {
  const page = await site.browser.newPage({ serviceWorkers: 'block' });
  await page.addInitScript(() => {
    delete Object.hasOwn;
  });
  await page.goto(`${site.url}/`);
  await page.getByText(/This browser is too old for this page.*It lacks Object\.hasOwn/).waitFor();
  await page.close();
});

// ---- links and what is kept -----------------------------------------------------------------------------------------

test('a link that names a model of another site loads nothing before it is asked', async () => {
  const asked = [];
  const sendModel = (request, response) => {
    asked.push(request.url);
    response.writeHead(200, { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' });
    response.end(fs.readFileSync(GGUF));
  };
  const models = await serve({ routes: { '/big.gguf': sendModel } });
  const link = `${site.url}/?backend=cpu&model=${models.url}/big.gguf`;
  const context = await site.browser.newContext({ serviceWorkers: 'block' });
  const page = await openPage(context, link);
  await waitForState(page, ['empty']);
  assert.match(await page.innerText('#error'), /Load big\.gguf\?\s+The link .* a model from 127\.0\.0\.1:\d+\./);
  assert.ok(await page.isHidden('#welcome'), 'the question is the first thing on the page');
  assert.deepEqual(asked, [], 'the other site was not asked');
  await page.click('#error button:text("Use Storyteller")');
  await waitForState(page, ['ready']);
  await page.goto(`${site.url}/?backend=cpu`);
  await waitForState(page, ['ready']);
  assert.equal(await page.innerText('#model-name'), 'Storyteller', 'the link is not remembered');
  assert.deepEqual(asked, []);

  await page.goto(`${link}&prompt=${encodeURIComponent('Why is the sky blue?')}`);
  await page.click('#error button:text-matches("Ask 127.0.0.1:[0-9]+ how large it is")');
  await page.locator('#error-advice', { hasText: /The file on 127\.0\.0\.1:\d+ has [\d.]+ [kM]B\./ }).waitFor();
  await waitForState(page, ['empty']);
  const download = page.locator('#error button', { hasText: /^Download [\d.]+ [kM]B$/ });
  await download.click();
  await waitForState(page, ['ready']);
  assert.equal(await page.innerText('#model-name'), 'big.gguf');
  assert.ok(asked.length > 0);
  assert.equal(await page.inputValue('#prompt'), 'Why is the sky blue?');
  assert.equal(await page.locator('.turn').count(), 0, 'a link sends nothing');
  await context.close();
  await models.close();
});

test('a link to a model of the catalogue says its size; a link to what is here can be copied', async () => {
  const context = await site.browser.newContext({ serviceWorkers: 'block' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await openPage(context, `${site.url}/?model=hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf`);
  await waitForState(page, ['empty']);
  assert.deepEqual(await page.locator('#error button').allInnerTexts(), ['Download 639 MB', 'Use Storyteller']);

  await page.goto(`${site.url}/?backend=cpu&model=${SMALL}&prompt=Hi`);
  await waitForState(page, ['ready']);
  await page.fill('#prompt', 'One & two');
  await page.click('#copy-link');
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, `${site.url}/?${new URLSearchParams({ model: site.url + SMALL, prompt: 'One & two' })}`);
  await page.goto(link);
  await waitForState(page, ['ready']);
  assert.equal(await page.inputValue('#prompt'), 'One & two');
  await context.close();
});

test('the policy of the page lets no script of its text run and no picture of another site load', async () => {
  const context = await site.browser.newContext({ serviceWorkers: 'block' });
  const asked = [];
  await context.route('https://**', (route) => {
    asked.push(route.request().url());
    return route.abort();
  });
  const page = await openDemo(context, `${site.url}/?backend=cpu`);
  await limit(page, 4);
  await say(page, 'Tell me a story.');
  assert.deepEqual(
    page.log.filter((line) => /Content.Security.Policy/i.test(line)),
    [],
    'the page keeps to it',
  );
  await page.evaluate(() => {
    globalThis.violated = [];
    addEventListener('securitypolicyviolation', ({ effectiveDirective }) => violated.push(effectiveDirective));
    const script = Object.assign(document.createElement('script'), { textContent: 'globalThis.ran = true' });
    const image = Object.assign(document.createElement('img'), { src: 'https://elsewhere.example/seen.png' });
    document.body.append(script, image);
  });
  await page.waitForFunction(() => violated.length >= 2);
  assert.deepEqual(await page.evaluate(() => violated.sort()), ['img-src', 'script-src-elem']);
  assert.equal(await page.evaluate(() => globalThis.ran), undefined);
  assert.deepEqual(asked, []);
  await context.close();
});

test('what is kept of the page is its own files, and Clear removes them', async () => {
  const server = await serve();
  const context = await site.browser.newContext();
  try {
    const page = await openDemo(context, `${server.url}/?backend=cpu`);
    await page.locator('#offline').waitFor();
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    const kept = () =>
      page.evaluate(async () => {
        const found = [];
        for (const name of await caches.keys()) {
          found.push(...(await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname));
        }
        return found;
      });
    await page.evaluate(() => Promise.all([fetch('/kernels.html'), fetch('/fixtures/models/README.md')]));
    const files = await kept();
    assert.ok(files.includes('/') && files.includes('/demo/layout.css'), files.join(' '));
    assert.deepEqual(
      files.filter((name) => /kernels|README|gguf$/.test(name) && !name.startsWith('/dist/')),
      [],
      'nothing else',
    );
    await page.click('#forget');
    await page.click('#forget');
    await page.waitForFunction(async () => (await caches.keys()).length === 0);
    assert.ok(await page.isHidden('#offline'));
  } finally {
    await context.close();
    await server.close();
  }
});

test('without WebGPU the model runs on the CPU', async () => {
  const page = await site.browser.newPage({ serviceWorkers: 'block' });
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
      serviceWorkers: 'block',
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
