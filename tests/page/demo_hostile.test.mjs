// The demo page and what makes a page unusable: answers, names and stored conversations that cannot be drawn. Whatever
// throws while it is drawn is plain text, and the page starts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { say, send, waitForState } from '../../tools/demo.mjs';
import { plant, script, scriptedDemo } from './demo_scripted.mjs';
import { openSite } from './site.mjs';

const site = await openSite();
const withScripted = scriptedDemo(site);

/** Texts that models write when they loop, and what Markdown parsers read again and again. */
const ANSWERS = {
  quotes: '>'.repeat(6000),
  'quotes with blanks': '> '.repeat(6000),
  lists: '- '.repeat(6000),
  'numbered lists': '1. '.repeat(6000),
  'lists in quotes': '> - '.repeat(4000),
  brackets: '['.repeat(30_000),
  links: '[a]('.repeat(10_000),
  emphasis: '**a_b*c__'.repeat(4000),
  underscores: '_a'.repeat(20_000),
  exclamations: '!'.repeat(60_000),
  tables: `|a|\n|-|\n${'|a|\n'.repeat(20_000)}`,
  html: '<div>'.repeat(10_000),
  comments: '<!--'.repeat(10_000),
  'empty items': '*\n'.repeat(60_000),
  'a block of code': `\`\`\`\n${'x = 1\n'.repeat(25_000)}`,
  'one long word': 'a'.repeat(150_000),
  'right to left': '\u202egnp.exe \u2066\u2067'.repeat(3000),
  controls: '\u0000\u0007\u001b[31m\u200b\ufeff'.repeat(5000),
};

test('whatever a model writes is drawn or shown as text', async () => {
  await withScripted(async (page) => {
    const found = await page.evaluate(async (answers) => {
      const { showText } = await import('./demo/markdown.js');
      const depthOf = (node) => 1 + Math.max(0, ...[...node.children].map(depthOf));
      return Object.entries(answers).map(([name, text]) => {
        const box = document.createElement('div');
        box.className = 'message assistant';
        document.querySelector('#log').append(box);
        showText(box, text);
        const elements = box.querySelectorAll('*').length;
        const isWide = box.scrollWidth > box.clientWidth + 1;
        const result = { name, length: box.textContent.length, depth: depthOf(box), elements, isWide };
        box.remove();
        return result;
      });
    }, ANSWERS);
    for (const { name, depth, elements, isWide, length } of found) {
      assert.ok(depth < 64, `${name}: ${depth} deep`);
      assert.ok(elements <= 40_000, `${name}: ${elements} elements`);
      assert.ok(!isWide, `${name} does not stick out`);
      assert.ok(length > 0 || name === 'controls', `${name} shows something`);
    }
    const quotes = found.find(({ name }) => name === 'quotes');
    assert.ok(quotes.length > 5900, 'what is too deep is there as text');
  });
});

test('an answer that cannot be drawn is written as text, and what comes after it is drawn', async () => {
  await withScripted(async (page) => {
    await script(page, { text: `First **one**.\n\n${'!'.repeat(50_000)} end`, size: 500 });
    await send(page, 'Go on');
    await waitForState(page, ['ready']);
    assert.match(await page.locator('.assistant .as-is').last().textContent(), /^First \*\*one.*!{100} end$/s);
    await script(page, { text: 'Now **this**.' });
    assert.equal(await say(page, 'And now?'), 'Now this.');
    assert.equal(await page.locator('.assistant strong').last().innerText(), 'this');
  });
});

/** Opens the page again, as the next visit does. */
async function visit(page) {
  await page.goto(`${site.url}/`);
  await waitForState(page, ['ready', 'empty']);
}

const sound = (more) => ({ id: 'a', kind: 'sound', name: 'a.wav', seconds: 1, ...more });
const STORED = {
  ...Object.fromEntries(Object.entries(ANSWERS).map(([name, answer]) => [name, { turns: [{ answer }] }])),
  thoughts: { turns: [{ answer: 'Yes.', thoughts: '>'.repeat(9000), thought: 'Thought' }] },
  'JSON as deep as it goes': { turns: [{ answer: `${'['.repeat(4000)}${']'.repeat(4000)}`, json: true }] },
  'JSON that is none': { turns: [{ answer: `{"a": ${'['.repeat(9000)}`, json: true }] },
  'files that are none': { turns: [{ answer: 'Yes.', attachments: [sound({ file: {}, thumbnail: 7 })] }] },
  'attachments that are none': { turns: [{ answer: 'Yes.', attachments: [null, 7, {}, { kind: 'sound' }] }] },
  'thousands of turns': { turns: Array.from({ length: 20_000 }, () => ({ answer: 'a', user: 'b' })) },
  'types that are none': { turns: [{ answer: 'Yes.', thoughts: 7, thought: {}, plain: 'yes', json: [] }] },
  'a long title': { title: '\u202e'.repeat(9) + 'x'.repeat(100_000), turns: [{ answer: 'Yes.' }] },
  'a time that is none': { updated: 1e300, turns: [{ answer: 'Yes.' }] },
  'a model that is none': { model: { url: 'http://[', label: 'x' }, turns: [{ answer: 'Yes.' }] },
  'a scheme that is none': { model: { url: 'javascript:alert(1)', label: 'x' }, turns: [{ answer: 'Yes.' }] },
  'a label of any length': { model: { file: '\u0000\u202e'.repeat(50_000) }, turns: [{ answer: 'Yes.' }] },
};

test('no stored conversation keeps the page from starting', async () => {
  await withScripted(async (page) => {
    for (const [name, chat] of Object.entries(STORED)) {
      await plant(page, chat);
      await page.goto(`${site.url}/`);
      await page.waitForFunction(() => !['loading', undefined].includes(document.documentElement.dataset.state));
      assert.deepEqual(page.crashes, [], name);
      const { title, wide } = await page.evaluate(() => ({
        title: document.querySelector('.chat-title')?.textContent ?? '',
        wide: document.documentElement.scrollWidth > innerWidth,
      }));
      assert.ok(title.length > 0 && title.length <= 120, `${name}: a title of ${title.length}`);
      assert.ok(!title.includes('\u202e'), name);
      assert.ok(!wide, `${name}: the page is not wider than the window`);
    }
    await plant(page, { turns: [{ answer: 'Yes.' }] });
    await visit(page);
    assert.equal(await page.innerText('.assistant'), 'Yes.', 'a good one is still shown');
  });
});

test('a conversation at which a visit ended is not opened by the next one, and can be by hand', async () => {
  await withScripted(async (page) => {
    await plant(page, { turns: [{ answer: 'Yes.' }] });
    await page.evaluate(() => {
      const last = JSON.parse(localStorage.getItem('webgguf.demo'));
      localStorage.setItem('webgguf.demo', JSON.stringify({ ...last, opening: 'planted' }));
    });
    await visit(page);
    assert.equal(await page.locator('.turn').count(), 0);
    await page.click('.chat-open');
    assert.equal(await page.innerText('.assistant'), 'Yes.');
    await visit(page);
    assert.equal(await page.innerText('.assistant'), 'Yes.', 'it was no fault of it');
  });
});

test('an error while a conversation is opened leaves a page that works', async () => {
  await withScripted(async (page, context) => {
    await plant(page, { turns: [{ answer: 'Yes.' }] });
    // Something that nobody has thought of.
    await context.addInitScript(() => {
      const { prepend } = Element.prototype;
      Object.defineProperty(Element.prototype, 'replaceChildren', {
        value(...children) {
          if (this.id === 'log' && children.length > 0) throw new RangeError('of a test');
          for (const child of [...this.childNodes]) child.remove();
          prepend.apply(this, children);
        },
      });
    });
    await visit(page);
    assert.equal(await page.locator('.turn').count(), 0);
    assert.equal(await say(page, 'Hello'), 'Yes.');
  });
});

test('names of files, links and metadata are one short line', async () => {
  await withScripted(async (page) => {
    const name = `\u202e\n${'long '.repeat(4000)}fugg.live.gguf`;
    await page.evaluate(
      ([text]) => {
        globalThis.scriptedInfo = { name: text, architecture: text, adapter: text, variants: [text], features: [text] };
      },
      [name],
    );
    await page.setInputFiles('#file', { name, mimeType: 'application/octet-stream', buffer: Buffer.from('x') });
    await page.waitForFunction(() => document.querySelector('#model-name').textContent.includes('long'));
    await waitForState(page, ['ready']);
    const texts = await page.locator('#model-name, #chip-name, #welcome-text, #facts dd, .tags li').allTextContents();
    for (const text of texts)
      assert.ok(text.length < 200 && !/[\u202e\n]/.test(text), JSON.stringify(text.slice(0, 99)));
    await page.goto(`${site.url}/?model=${encodeURIComponent(`/a%/${'%E2%80%AE'.repeat(150)}x.gguf`)}`);
    await waitForState(page, ['ready', 'empty', 'error']);
    assert.ok((await page.innerText('#model-name')).length < 200);
  });
});
