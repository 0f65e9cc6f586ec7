// The examples, built with Vite and Next.js from the installed package and used in Chromium as a person would. Pictures
// of them are left in .cache/screenshots.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { FAKE_CAMERA, openBrowser, openWithExtension, patient } from '../../tools/browser.mjs';
import { CACHE, must, ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { serve } from '../../tools/serve.mjs';
import { longTest } from '../long.mjs';
import { APPS, installPackage, tool } from './install.mjs';
import { pdf } from './pdfs.mjs';

await installPackage();
const SOURCE = path.join(APPS, 'examples');
fs.cpSync(path.join(ROOT, 'examples'), SOURCE, {
  recursive: true,
  filter: (name) => !/node_modules|[\\/](dist|out|\.next)$/.test(name),
});
const { build } = await import(tool('vite', 'dist/node/index.js'));
await build({ root: SOURCE, logLevel: 'error' });
await build({ root: path.join(SOURCE, 'extension'), logLevel: 'error' });

const STORYTELLER = '/models/storyteller.gguf';
const HEARER = '/fixtures/models/llama-f32.gguf';
const EARS = '/fixtures/encoders/ultravox.gguf';
const TRANSLATOR = '/fixtures/sources/t5-f16.gguf';
const EMBEDDER = '/fixtures/embedders/nomic-bert-f16.gguf';
const MOUNTS = { '/': path.join(SOURCE, 'dist'), '/source/': SOURCE, '/models/': path.join(ROOT, 'www', 'models') };
const HARE = '<!doctype html><title>The hare</title><main>A hare and a tortoise ran a race. The hare slept.</main>';
const site = await serve({
  mounts: MOUNTS,
  routes: { '/hare': (_, response) => response.setHeader('Content-Type', 'text/html').end(HARE) },
});
const browser = await openBrowser({ args: FAKE_CAMERA });
after(async () => {
  await browser.close();
  await site.close();
});

/** Opens an example, lets `use` use it, takes a picture of it, and wants no error in it. */
async function withExample(name, query, use, opener = browser) {
  const page = await openPage(opener, `${site.url}/${name}/${query}`);
  try {
    await use(page);
    await picture(page, name);
    assert.deepEqual([...page.crashes, ...page.log.filter((line) => /^error/.test(line))], []);
  } finally {
    await page.close();
  }
}

async function picture(page, name) {
  const file = path.join(CACHE, 'screenshots', `example-${name}.png`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  await page.setViewportSize({ width: 900, height: 760 });
  await page.screenshot({ path: file });
}

/** The text of `selector`, once it matches. */
async function textOf(page, selector, pattern) {
  const matches = ([css, source, flags]) =>
    new RegExp(source, flags).test(document.querySelector(css)?.innerText ?? '');
  await page.waitForFunction(matches, [selector, pattern.source, pattern.flags]).catch(async (error) => {
    const text = await page.locator('body').innerText();
    throw new Error(`${selector} does not match ${pattern}: ${error.message}\n${text}\n${page.log.join('\n')}`);
  });
  return page.locator(selector).first().innerText();
}

/** Ends an answer that is being written; a fast machine may have ended it already. */
async function stopWriting(page) {
  await page.evaluate(() => [...document.querySelectorAll('button')].find((one) => one.innerText === 'Stop')?.click());
  await page.getByRole('button', { name: 'Send' }).waitFor();
}

test('react-chat: the model calls a tool of the page, and answers', () =>
  withExample('react-chat', `?model=${STORYTELLER}`, async (page) => {
    await page.getByRole('button', { name: 'Load the model' }).click();
    await page.getByLabel('Message').fill('Roll two dice for me');
    await page.getByLabel(/has to begin with a tool/).check();
    await page.getByRole('button', { name: 'Send' }).click();
    const call = await textOf(page, '.call', /\{.*\}$/);
    const [, name, input] = /calls (\w+) (\{.*\})$/.exec(call);
    assert.ok(['roll_dice', 'get_time'].includes(name), call);
    const result = await textOf(page, '.tool', /gave/);
    if (name === 'get_time') assert.match(result, /get_time gave \w+, \d+ \w+ \d{4} at \d\d:\d\d/);
    else assert.equal(JSON.parse(/\{.*\}/.exec(result)[0]).dice.length, JSON.parse(input).count);
    await page.waitForSelector('.tool + .assistant p');
    await stopWriting(page);
    assert.equal(await page.locator('.error').count(), 0);
  }));

test('search: every note gets a score, and a note is nearest to itself', () =>
  withExample('search', `?model=${EMBEDDER}`, async (page) => {
    await page.getByLabel('What to look for').fill('Anna prefers tea to coffee.');
    await page.getByRole('button', { name: 'Search' }).click();
    await textOf(page, '#status', /^6 notes in \d+ ms/);
    const results = await page.locator('#results li').allInnerTexts();
    assert.equal(results.length, 6);
    assert.match(results[0], /^Anna prefers tea to coffee\.\s+1\.00$/);
    assert.ok(Number(/[\d.-]+$/.exec(results[5])[0]) < 0.99, results[5]);
  }));

const SEES_AND_HEARS = '/fixtures/embed-media/embed-media.gguf&mmproj=/fixtures/embed-media/encoders.gguf';
const MEDIA = path.join(ROOT, 'tests', 'fixtures', 'encoders');

test('search: words find pictures and sounds; a damaged file is left out, and a picture is shown as one', () =>
  withExample('search', `?model=${SEES_AND_HEARS}`, async (page) => {
    const title = await page.title();
    const hostile = { name: '<img src=x onerror="document.title=1">.png', mimeType: 'image/png' };
    await page.locator('#files').setInputFiles([
      ...['picture-60x40.png', 'sound-8219.wav'].map((name) => ({
        name,
        mimeType: name.endsWith('png') ? 'image/png' : 'audio/wav',
        buffer: fs.readFileSync(path.join(MEDIA, name)),
      })),
      { ...hostile, buffer: Buffer.from('no picture') },
      { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') },
    ]);
    await textOf(page, '#error', /^a\.txt is neither a picture nor a sound$/);
    assert.equal(await page.locator('#added li').count(), 3);
    await page.getByLabel('Notes').fill('Anna prefers tea to coffee.');
    await page.getByRole('button', { name: 'Search' }).click();
    await textOf(page, '#status', /^1 note and 2 files in \d+ ms, \d+ dimensions/);
    await textOf(page, '#error', /onerror="document\.title=1">\.png: image: the file of 10 bytes is no image/);
    assert.equal(await page.locator('#results li').count(), 3);
    assert.equal(await page.locator('#results img[alt="picture-60x40.png"]').count(), 1);
    assert.equal(await page.locator('#results audio').count(), 1);
    for (const score of await page.locator('#results output').allInnerTexts()) assert.match(score, /^-?[01]\.\d\d$/);
    await page.getByRole('button', { name: 'Remove sound-8219.wav' }).click();
    await page.getByRole('button', { name: 'Search' }).click();
    await textOf(page, '#status', /^1 note and 1 file in/);
    assert.equal(await page.title(), title);
    await page.setViewportSize({ width: 360, height: 760 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${wide} pixels wide`);
    await page.screenshot({ path: path.join(CACHE, 'screenshots', 'example-search-360.png'), fullPage: true });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.screenshot({ path: path.join(CACHE, 'screenshots', 'example-search-dark.png'), fullPage: true });
  }));

/** Files that cannot be read, and what the page says of them. */
const UNREADABLE = {
  'empty.txt': ['', /is empty$/],
  'spaces.md': [' \n\t\n', /has no words in it$/],
  'picture.png': [Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), /is no text; .*\.pdf are read$/],
  'huge.txt': [Buffer.alloc(50_000_001, 'a'), /has 50\.0 MB; up to 50\.0 MB are read$/],
  'broken.pdf': ['%PDF-1.4\nnothing', /is no PDF that can be read/],
  'locked.pdf': [pdf(['secret'], { isLocked: true }), /is protected by a password/],
  'scan.pdf': [pdf(['']), /has no text: its pages may be pictures/],
};
const HOSTILE = '<img src=x onerror="document.title=1">';

test('ask-your-files: hostile files are refused or are text, and passages are marked in their files', () =>
  withExample('ask-your-files', `?model=${STORYTELLER}&embedder=${EMBEDDER}`, async (page) => {
    const title = await page.title();
    const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    const choose = (...files) => page.locator('#choose').setInputFiles(files);
    await choose(...Object.entries(UNREADABLE).map(([name, [text]]) => file(name, text)));
    for (const [at, [name, [, words]]] of Object.entries(UNREADABLE).entries()) {
      const said = await page.locator('#refused li').nth(at).innerText();
      assert.ok(said.startsWith(name) && words.test(said), said);
    }
    assert.equal(await page.locator('#files li').count(), 0);

    const script = '<script>document.title = 2</script>';
    const far = `${'The ferry leaves at noon. '.repeat(60)}\n\nThe key of the boathouse hangs behind the ferns.\n`;
    await choose(
      file(`${HOSTILE}.txt`, `${HOSTILE} ${script} A hedgehog sleeps.`),
      file('page.html', `<body>${HOSTILE}${script}<p>Tea at four.</p></body>`),
      file('ferry.pdf', pdf(['The ferry costs ten euros.', 'Zeppelins fly on Sundays.'])),
      file('notes.md', far),
    );
    await page.waitForFunction(() => document.querySelectorAll('#files li').length === 4);
    assert.equal(await page.locator('#files li').first().locator('bdi').innerText(), `${HOSTILE}.txt`);
    assert.equal(await page.locator('#refused li').count(), 0);

    const find = page.getByRole('button', { name: 'Only find passages' });
    for (const [question, name, words] of [
      ['Where is the key of the boathouse?', 'notes.md', /The key of the boathouse hangs behind the ferns\.$/],
      ['zeppelins', 'ferry.pdf, page 2', /^Zeppelins fly on Sundays\.$/],
      ['hedgehog', `${HOSTILE}.txt`, /A hedgehog sleeps\.$/],
      ['tea', 'page.html', /^Tea at four\.$/],
    ]) {
      await page.getByLabel('Question').fill(question);
      await find.click();
      await textOf(page, '#status', /^\d passages, the best first$/);
      await page.locator('#passages .cite').first().click();
      assert.equal(await page.locator('#viewer-title').innerText(), name);
      assert.match(await page.locator('mark').innerText(), words);
      await picture(page, 'ask-your-files-viewer');
      await page.keyboard.press('Escape');
      await page.locator('#viewer').waitFor({ state: 'hidden' });
    }
    await page.getByRole('button', { name: /^Ask/ }).click();
    await textOf(page, '#status', /^done: /);
    assert.match(await page.locator('#answer').innerText(), /[^[\]]{3}\[[1-4]\]/);
    await page.locator('#answer .cite').first().click();
    assert.notEqual(await page.locator('mark').innerText(), '');
    await page.getByRole('button', { name: 'Close' }).click();
    for (const id of ['#embedder-bytes', '#writer-bytes']) assert.match(await page.innerText(id), /^\d+ MB$/);
    assert.deepEqual([await page.title(), await page.locator('main img, dialog img').count()], [title, 0]);

    await page.getByRole('button', { name: 'Remove page.html' }).click();
    await find.click();
    await textOf(page, '#status', /^\d passages, the best first$/);
    assert.ok(!(await page.innerText('#passages')).includes('Tea at four'), 'a file that was removed is not found');
    assert.equal(await page.innerText('#error'), '');
  }));

test('agents: a plan, consent before each call that changes something, and a stop', () =>
  withExample('agents', `?model=${STORYTELLER}`, async (page) => {
    const tasks = () => page.locator('#tasks li').allInnerTexts();
    const before = await tasks();
    const start = page.getByRole('button', { name: /^Start/ });
    const answers = async (label) => {
      const button = page.getByRole('button', { name: label, exact: true });
      await page.locator('.consent, .error:not(:empty)').first().waitFor();
      assert.equal(await page.innerText('#error'), '');
      assert.ok(await button.evaluate((each) => each.parentElement.contains(document.activeElement)), 'has the focus');
      const step = page.locator('#steps li', { has: button });
      const at = await step.evaluate((each) => [...each.parentElement.children].indexOf(each));
      await button.click();
      return page.locator('#steps li').nth(at);
    };
    await start.click();
    const refused = await answers('Refuse');
    await refused.locator('.error', { hasText: 'error: the user refused this call' }).waitFor();
    assert.match(await page.innerText('#memory'), /^(takes \d+ MB on the GPU|runs on the CPU)$/);
    assert.deepEqual(await tasks(), before, 'what was refused was not done');
    await picture(page, 'agents');

    // Greedy, so the plan is the same. What changes the list is shown in it.
    await page.locator('.consent').waitFor();
    assert.deepEqual(await tasks(), before, 'nothing is done before the answer');
    const allowed = await answers('Allow');
    await allowed.and(page.locator('[data-state="done"], [data-state="failed"]')).waitFor();
    const [, name, input] = /^(\w+) (\{.*\})$/.exec(await allowed.locator('.call').innerText());
    const says = await allowed.locator('p').last().innerText();
    if (name === 'add_task') {
      assert.equal(says, 'added as task 3');
      assert.ok((await tasks())[2].includes(JSON.parse(input).title.trim()), input);
    } else assert.match(says, /^error: .*there is no task \d+; there are 1, 2|^(deleted )?task [12]/);

    await page.locator('.consent').waitFor();
    const during = await tasks();
    await page.getByRole('button', { name: 'Stop' }).click();
    await textOf(page, '#status', /^stopped$/);
    assert.deepEqual(await page.locator('#steps [data-state="stopped"]').count(), 1);
    assert.ok(await start.evaluate((each) => each === document.activeElement), 'the focus is not lost');
    assert.deepEqual([await tasks(), await page.innerText('#error')], [during, '']);
  }));

test('extract: what comes follows the schema, whatever the model is', () =>
  withExample('extract', `?model=${STORYTELLER}`, async (page) => {
    await page.getByRole('button', { name: 'Extract' }).click();
    await textOf(page, '#status', /^done in/);
    const form = JSON.parse(await page.locator('#json').innerText());
    assert.deepEqual(Object.keys(form), ['name', 'people', 'day', 'time', 'outside', 'allergies']);
    assert.ok(Number.isInteger(form.people) && form.people >= 1 && form.people <= 20);
    assert.match(form.day, /day$/);
    assert.match(form.time, /^[0-2]\d:[0-5]\d$/);
    assert.equal(await page.locator('#table tr').count(), 6);
  }));

test('translate: each paragraph gets a translation, and it can be stopped', () =>
  withExample('translate', `?model=${TRANSLATOR}`, async (page) => {
    await page.getByRole('button', { name: 'Translate' }).click();
    await textOf(page, '#status', /^translated 3 paragraphs in/);
    const [first, ...others] = await page.locator('#translated p').allInnerTexts();
    assert.equal(others.length, 2);
    assert.ok(first.length > 20, first);
    await page.getByLabel('Text').fill('one\n\n\n \ntwo');
    await page.getByLabel('To').selectOption('French');
    await page.getByRole('button', { name: 'Translate' }).click();
    await textOf(page, '#status', /^translated 2 paragraphs in/);
    assert.equal(await page.locator('#translated p[lang="fr"]').count(), 2);
    await page.getByLabel('Text').fill('many words \n\n'.repeat(200));
    await page.getByRole('button', { name: 'Translate' }).click();
    await textOf(page, '#status', /^paragraph \d+ of 200$/);
    await page.getByRole('button', { name: 'Stop' }).click();
    await textOf(page, '#status', /^stopped$/);
    await page.getByLabel('Text').fill(' \n');
    await page.getByRole('button', { name: 'Translate' }).click();
    await textOf(page, '#error', /no text/);
  }));

test('triage: every letter gets a team, an urgency and a place', () =>
  withExample('triage', `?model=${STORYTELLER}&letters=12`, async (page) => {
    await page.getByRole('button', { name: 'Sort the letters' }).click();
    await textOf(page, '#status', /^sorted 12 letters$/);
    const chips = await page.locator('#letters .chip').allInnerTexts();
    assert.equal(chips.length, 12);
    for (const chip of chips) assert.match(chip, /^(billing|delivery|workshop|office) \d+ %$/);
    const urgencies = (await page.locator('#letters').innerText()).match(/(?<=urgency )[\d.]+/g).map(Number);
    assert.deepEqual(
      urgencies,
      urgencies.toSorted((a, b) => b - a),
    );
    const [team] = chips[0].split(' ');
    await page.getByRole('button', { name: new RegExp(`^${team} `) }).click();
    assert.equal(await page.locator('#letters li').count(), chips.filter((chip) => chip.startsWith(team)).length);
  }));

longTest('digits: the loss falls, and the network reads most of what it has not seen', () =>
  withExample('digits', '?steps=20', async (page) => {
    await page.getByRole('button', { name: 'Train' }).click();
    const text = await textOf(page, '#status', /^20 steps/);
    const [, loss, share] = /loss ([\d.]+), reads (\d+) % of 500 new digits$/.exec(text) ?? [];
    // It begins at about 2.5, and by chance it would read every tenth.
    assert.ok(Number(loss) < 1.8 && Number(share) >= 30, text);
    assert.equal(await page.locator('#digits li').count(), 20);
    assert.equal(await page.locator('#error').innerText(), '');
  }),
);

longTest('train: the model learns, and answers as it was and with what it has learned', () =>
  withExample('train', `?model=${STORYTELLER}&epochs=1`, async (page) => {
    await page.getByRole('button', { name: 'Train' }).click();
    await textOf(page, '#status', /^step (\d+) of \1, loss \d+\.\d\d$/);
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    for (const id of ['#before', '#after']) assert.match(await page.locator(id).innerText(), /^\w.{60}/s);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the adapter' }).click();
    assert.match(fs.readFileSync(await (await saving).path(), 'latin1'), /^GGUF/);
    await page.getByLabel(/^Questions and answers/).fill('Who are you?');
    await page.getByRole('button', { name: 'Train' }).click();
    await textOf(page, '#error', /needs a line with its answer/);
  }),
);

/** One second of a tone as a file of 16-bit samples. */
function wav(hertz, sampleRate = 44_100) {
  const data = Buffer.alloc(44 + 2 * sampleRate);
  data.write('RIFF');
  data.writeUInt32LE(data.length - 8, 4);
  data.write('WAVEfmt ', 8);
  for (const [at, value] of [16, 0x10001, sampleRate, 2 * sampleRate, 0x100002].entries()) {
    data.writeUInt32LE(value, 16 + 4 * at);
  }
  data.write('data', 36);
  data.writeUInt32LE(2 * sampleRate, 40);
  for (let i = 0; i < sampleRate; i += 1) {
    data.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * hertz * i) / sampleRate)), 44 + 2 * i);
  }
  return data;
}

longTest('spectrum: peaks are where the tones of a recording are', () =>
  withExample('spectrum', '', async (page) => {
    const peaks = async () => (await page.locator('#peaks li').allInnerTexts()).map((text) => Number.parseFloat(text));
    const near = (found, tones, bin) =>
      assert.ok(
        found.length === tones.length && found.every((hertz, i) => Math.abs(hertz - tones[i]) <= bin),
        `${found} for ${tones}`,
      );
    await textOf(page, '#status', /^four notes.* computed in/);
    near(await peaks(), [440, 554.37, 659.26, 1760], 16_000 / 4096);
    await picture(page, 'spectrum-generated');
    await page.locator('#file').setInputFiles({ name: 'tone.wav', mimeType: 'audio/wav', buffer: wav(3000) });
    await textOf(page, '#status', /^tone.wav: 1.0 s, 44100 samples a second; computed/);
    near((await peaks()).slice(0, 1), [3000], 44_100 / 4096);
    await page
      .locator('#file')
      .setInputFiles({ name: 'words.wav', mimeType: 'audio/wav', buffer: Buffer.from('words') });
    await textOf(page, '#error', /^words.wav is no sound that this browser can read$/);
    await page.getByRole('button', { name: 'Generated recording' }).click();
    await textOf(page, '#status', /^four notes.* computed in/);
    assert.equal(await page.locator('#error').innerText(), '');
  }),
);

test('dictate: words of a recording, and of the microphone', async () => {
  // Chromium's own microphone beeps.
  const context = patient(await browser.newContext({ permissions: ['microphone'] }));
  const use = async (page) => {
    await page.locator('#file').setInputFiles({ name: 'tone.wav', mimeType: 'audio/wav', buffer: wav(3000) });
    await textOf(page, '#status', /^done in/);
    await textOf(page, '#texts .words', /./);
    await page.getByRole('button', { name: 'Record', exact: true }).click();
    await textOf(page, '#status', /^recording, up to 30 seconds$/);
    await page.waitForTimeout(500);
    await page.getByRole('button', { name: 'Done' }).click();
    await textOf(page, '#status', /^done in/);
    assert.equal(await page.locator('#texts li').count(), 2);
    assert.equal(await page.locator('#error').innerText(), '');
    await page
      .locator('#file')
      .setInputFiles({ name: 'words.wav', mimeType: 'audio/wav', buffer: Buffer.from('words') });
    await textOf(page, '#error', /^words.wav is no sound that this browser can read\.$/);
    assert.equal(await page.locator('#texts li').count(), 2, 'there is no player for it');
    for (const [name, sentence] of [
      ['NotAllowedError', /^The microphone was refused/],
      ['NotFoundError', /^There is no microphone here/],
    ]) {
      await page.evaluate((name) => {
        const refuse = () => Promise.reject(new DOMException('Permission denied', name));
        navigator.mediaDevices.getUserMedia = refuse;
      }, name);
      await page.getByRole('button', { name: 'Record', exact: true }).click();
      await textOf(page, '#error', sentence);
    }
  };
  await withExample('dictate', `?model=${HEARER}&mmproj=${EARS}`, use, context);
  await context.close();
});

const SEES = '?model=/fixtures/models/llama-f32.gguf&mmproj=/fixtures/encoders/idefics3.gguf';

/** What a model that reads pages may write, some of it hostile. */
const PAGE = `# A *page* <img src=x onerror="document.title=1">

Dear **Anna**, the sum is $a^2$ and
[here](javascript:alert(1)) ![x](https://example.com/x.png)

| Name | Sum |
|---|---:|
| Tea | <b>3</b> |

<table><tr><th colspan="2">Head</th></tr><tr><td>1<img src=x onerror="document.title=2"></td>
<td><script>document.title=3</script>2</td></tr></table>

- one
- two

$$
x = 1
$$
\`\`\`
code **as it is**
\`\`\`
<table><tr><td>not at its end`;

test('read-a-page: Markdown of a page becomes elements, and nothing of it runs or is fetched', () =>
  withExample('read-a-page', SEES, async (page) => {
    const title = await page.title();
    const requests = [];
    page.on('request', (request) => requests.push(request.url()));
    const found = await page.evaluate(async (text) => {
      const { elementsOf } = await import('/source/read-a-page/markdown.js');
      const out = document.querySelector('#out');
      out.replaceChildren(elementsOf(text));
      const texts = (css) => [...out.querySelectorAll(css)].map(({ textContent }) => textContent);
      const names = [...out.querySelectorAll('*')].map(({ localName }) => localName);
      const attributes = [...out.querySelectorAll('*')].flatMap((one) => [...one.attributes].map(({ name }) => name));
      for (let end = 0; end <= text.length; end += 1) elementsOf(text.slice(0, end));
      return {
        names: [...new Set(names)],
        attributes: [...new Set(attributes)],
        cells: texts('th, td'),
        items: texts('li'),
        formulas: texts('.formula'),
        code: texts('pre:not(.formula)'),
        strong: texts('strong'),
        heading: texts('h2'),
        paragraph: texts('p')[0],
      };
    }, PAGE);
    const allowed = ['h2', 'p', 'strong', 'code', 'br', 'div', 'table', 'tr', 'th', 'td', 'ul', 'li', 'pre'];
    assert.deepEqual(found.names.toSorted(), allowed.toSorted());
    assert.deepEqual(found.attributes.toSorted(), ['class', 'colspan', 'tabindex']);
    assert.deepEqual(found.cells, [
      'Name',
      'Sum',
      'Tea',
      '<b>3</b>',
      'Head',
      '1',
      'document.title=32',
      'not at its end',
    ]);
    assert.deepEqual([found.items, found.strong], [['one', 'two'], ['Anna']]);
    assert.deepEqual(found.formulas, ['$a^2$', '$$\nx = 1\n$$']);
    assert.deepEqual(found.code, ['code **as it is**']);
    assert.deepEqual(found.heading, ['A *page* <img src=x onerror="document.title=1">']);
    assert.match(found.paragraph, /javascript:alert\(1\)/);
    assert.deepEqual(
      requests.filter((url) => !url.includes('/source/')),
      [],
    );
    assert.equal(await page.title(), title);
  }));

test('read-a-page: a picture is read while it is shown, can be stopped, copied and downloaded', () =>
  withExample('read-a-page', SEES, async (page) => {
    const read = page.getByRole('button', { name: 'Read' });
    assert.ok(await read.isDisabled());
    const choose = (name, mimeType, buffer) => page.locator('#file').setInputFiles({ name, mimeType, buffer });
    await choose('a.txt', 'text/plain', Buffer.from('a'));
    await textOf(page, '#error', /^a\.txt is no picture\.$/);
    await choose('broken.png', 'image/png', Buffer.from('no picture'));
    await read.click();
    await textOf(page, '#error', /the file of 10 bytes is no image/);
    await choose('page.png', 'image/png', fs.readFileSync(path.join(MEDIA, 'picture-150x90.png')));
    await read.click();
    await textOf(page, '#status', /^\d+ characters in \d+\.\d s$/);
    await page.evaluate(() => {
      document.querySelector('#read .main').click();
      document.querySelector('#stop').click();
    });
    await textOf(page, '#status', /^stopped$/);
    await read.click();
    await textOf(page, '#status', /^\d+ characters in \d+\.\d s$/);
    await textOf(page, '#out', /./);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download Markdown' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'page.md');
    assert.ok(fs.readFileSync(await download.path(), 'utf8').length > 0);
    assert.equal(await page.locator('#error').innerText(), '');
    await page.setViewportSize({ width: 360, height: 760 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${wide} pixels wide`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.screenshot({ path: path.join(CACHE, 'screenshots', 'example-read-360.png'), fullPage: true });
  }));

test('camera: one answer after the other, each about another frame, until it is stopped', async () => {
  const context = patient(await browser.newContext({ permissions: ['camera'] }));
  const use = async (page) => {
    const watch = page.getByRole('button', { name: 'Watch' });
    await watch.click();
    await page.waitForFunction(() => document.querySelectorAll('#answers li').length >= 3);
    assert.match(await page.locator('#answers time').first().innerText(), /\d:\d\d/);
    await textOf(page, '#status', /^first word after \d+\.\d s$/);
    await picture(page, 'camera-watching');
    await page.getByRole('button', { name: 'Stop' }).click();
    await watch.waitFor();
    const hasFocus = () => watch.evaluate((button) => document.activeElement === button);
    assert.ok(await hasFocus(), 'the button has the focus of the one that is gone');
    const words = await page.locator('#answers li span').allInnerTexts();
    assert.ok(words.length > 0 && words.every(Boolean), `answers without words: ${JSON.stringify(words)}`);
    assert.equal(await page.evaluate(() => document.querySelector('video').srcObject), null, 'the camera is closed');
    assert.equal(await page.locator('#error').innerText(), '');
    const count = await page.locator('#answers li').count();
    assert.ok(count <= 6, `${count} answers stay`);
    await page.setViewportSize({ width: 320, height: 640 });
    const beyond = await page.evaluate(() => {
      document.querySelector('#answers span').textContent = 'x'.repeat(80);
      return document.documentElement.scrollWidth - innerWidth;
    });
    assert.ok(beyond <= 0, `${beyond} pixels beyond the right edge`);

    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', 'NotAllowedError'));
    });
    await watch.click();
    await textOf(page, '#error', /^The camera was refused/);
    assert.ok(await hasFocus(), 'after a refusal, too');
  };
  await withExample('camera', SEES, use, context);
  await context.close();
});

test('worker: a story from the worker and from the page', () =>
  withExample('worker', `?model=${STORYTELLER}`, async (page) => {
    for (const place of ['in the page', 'in a worker']) {
      await page.getByLabel(place).check();
      await page.getByRole('button', { name: 'Write' }).click();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
      await textOf(page, '#story', /^Once upon a time.{100}/s);
      await textOf(page, '#frame', /^\d+ ms$/);
    }
  }));

test('tabs: a second tab has the model of the first one, and goes on without it', async () => {
  const context = await browser.newContext();
  const query = `?model=${STORYTELLER}`;
  const write = async (page) => {
    await page.getByRole('button', { name: 'Write' }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    await textOf(page, '#story', /^Once upon a time.{100}/s);
  };
  const use = async (page) => {
    const first = await openPage(context, `${site.url}/tabs/${query}`);
    await first.evaluate(() => {
      const writing = document.querySelector('#writing');
      const note = () => writing.innerText !== '–' && (globalThis.wrote ||= writing.innerText);
      new MutationObserver(note).observe(writing, { childList: true });
    });
    await write(first);
    await write(page);
    await textOf(page, '#tabs', /^2$/);
    await textOf(page, '#leads', /^tab 2$/);
    assert.equal(await first.evaluate(() => globalThis.wrote), 'tab 2, this one');
    await textOf(first, '#writing', /^–$/);
    assert.deepEqual([first.workers().length, page.workers().length], [1, 0]);
    await first.close();
    await write(page);
    assert.equal(page.workers().length, 1);
    await textOf(page, '#leads', /^tab 1, this one$/);
  };
  await withExample('tabs', query, use, context);
  await context.close();
});

test('next: a chat as static files, with its model in a worker', async () => {
  const args = [tool('next', 'dist/bin/next'), 'build', 'next'];
  await must(process.execPath, args, { cwd: SOURCE, env: { NEXT_TELEMETRY_DISABLED: '1' }, quiet: true });
  const own = await serve({ mounts: { ...MOUNTS, '/': path.join(SOURCE, 'next', 'out') } });
  const page = await openPage(browser, `${own.url}/?model=${STORYTELLER}`);
  try {
    await page.getByRole('button', { name: /^Load / }).click();
    await page.getByRole('button', { name: 'Tell me a story about a lighthouse' }).click();
    await textOf(page, '.assistant', /.{60}/s);
    assert.equal(page.workers().length, 1, 'the model is in a worker');
    await stopWriting(page);
    const first = await textOf(page, '.assistant', /.{60}/s);
    await page.getByLabel('Message').fill('Now one about a fox');
    await page.getByLabel('Message').press('Enter');
    await textOf(page, '.user ~ .user + .assistant', /.{60}/s);
    await stopWriting(page);
    assert.ok((await page.locator('.assistant').first().innerText()).startsWith(first), 'the first answer stays');
    await picture(page, 'next');
    assert.deepEqual([...page.crashes, ...page.log.filter((line) => /^error/.test(line))], []);
    await page.getByRole('button', { name: 'New chat' }).click();
    await page.getByRole('button', { name: 'What should I cook' }).waitFor();
    assert.equal(await page.locator('.assistant').count(), 0);
  } finally {
    await page.close();
    await own.close();
  }
});

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>';
const svg =
  (headers, text = SVG) =>
  (_, response) =>
    response.writeHead(200, { 'Content-Type': 'image/svg+xml', ...headers }).end(text);

/** Runs in the page: pictures of it, and data that it asks for. */
async function askFor({ pictures, data }) {
  for (const src of pictures) {
    const image = Object.assign(new Image(), { src });
    document.body.append(image);
    await image.decode();
  }
  for (const url of data) await (await fetch(url)).text();
}

/** Runs in the page: paths of what its service worker keeps. */
async function keptPaths() {
  const requests = await (await caches.open('offline-assistant')).keys();
  return requests.map(({ url }) => new URL(url).pathname);
}

test('offline: the service worker keeps what the page is made of, and nothing else', async () => {
  const routes = {
    '/hare': (_, response) => response.setHeader('Content-Type', 'text/html').end(HARE),
    '/offline/data.json': (_, response) => response.setHeader('Content-Type', 'application/json').end('{}'),
    '/offline/shown.svg': svg({}),
    '/offline/large.svg': svg({ 'Content-Length': 33 << 20 }, SVG.padEnd(33 << 20)),
    '/offline/private.svg': svg({ 'Cache-Control': 'private, no-store' }),
  };
  const own = await serve({ mounts: MOUNTS, routes, cacheControl: 'no-cache' });
  const page = await openPage(browser, `${own.url}/offline/?model=${STORYTELLER}`, { serviceWorkers: 'allow' });
  try {
    await textOf(page, '#page', /is kept/);
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    await page.evaluate(askFor, { pictures: ['shown.svg', 'private.svg', 'large.svg'], data: ['/hare', 'data.json'] });
    await page.getByRole('button', { name: 'Keep the model here' }).click();
    await page.getByRole('button', { name: 'Ask' }).waitFor();
    const kept = await page.evaluate(keptPaths);
    for (const wanted of [/^\/offline\/$/, /\.js$/, /\.css$/, /_bg.*\.wasm$/, /shown\.svg$/]) {
      assert.ok(
        kept.some((name) => wanted.test(name)),
        `${wanted} of ${kept}`,
      );
    }
    assert.deepEqual(
      kept.filter((name) => /hare|data|private|large|\.gguf$/.test(name)),
      [],
    );
    // A newer version of the page has no such picture.
    await page.reload();
    await page.getByRole('button', { name: 'Ask' }).waitFor();
    const later = await page.evaluate(keptPaths);
    assert.deepEqual(later.toSorted(), kept.filter((name) => !name.endsWith('shown.svg')).toSorted());
    assert.deepEqual(page.crashes, []);
  } finally {
    await page.close();
    await own.close();
  }
});

test('offline: page and model are there when the server is gone', async () => {
  const own = await serve({ mounts: MOUNTS, cacheControl: 'no-cache' });
  const page = await openPage(browser, `${own.url}/offline/?model=${STORYTELLER}`, { serviceWorkers: 'allow' });
  try {
    await page.getByRole('button', { name: 'Keep the model here' }).click();
    await textOf(page, '#model', /6\.8 MB/);
    await textOf(page, '#page', /is kept/);
    await page.getByRole('button', { name: 'Ask' }).waitFor();
    await own.close();
    await page.reload();
    await textOf(page, '#page', /is kept/);
    await page.getByRole('button', { name: 'Ask' }).click();
    await textOf(page, '#answer', /.{100}/s);
    await picture(page, 'offline');
    assert.deepEqual(page.crashes, []);
    await page.getByRole('button', { name: 'Delete the model' }).click();
    await textOf(page, '#model', /not kept yet/);
  } finally {
    await page.close();
    await own.close();
  }
});

test('extension: the side panel summarises the page that is shown', async () => {
  const { panel, article, close } = await openExtension();
  try {
    await article.bringToFront();
    await panel.evaluate(() => document.querySelector('#summarise').click());
    await textOf(panel, '#status', /^The hare$/);
    await textOf(panel, '#summary', /.{60}/s);
    await panel.evaluate(() => document.querySelector('#stop').click());
    await panel.locator('#stop').waitFor({ state: 'hidden' });
    await panel.setViewportSize({ width: 400, height: 640 });
    await panel.screenshot({ path: path.join(CACHE, 'screenshots', 'example-extension.png') });
    assert.equal(await panel.locator('#error').innerText(), '');
    await panel.bringToFront(); // itself is no page to read
    await panel.evaluate(() => document.querySelector('#summarise').click());
    await textOf(panel, '#error', /./);
    await article.bringToFront();
    await panel.evaluate(() => document.querySelector('#summarise').click());
    await panel.waitForFunction(() => document.querySelector('#error').innerText === '');
    await textOf(panel, '#summary', /.{60}/s);
    assert.equal(panel.workers().length, 1, 'the model is loaded once, whatever fails');
    assert.deepEqual(panel.crashes, []);
  } finally {
    await close();
  }
});

/** Chromium with the extension: its panel, opened as a page, and a tab with a text. */
async function openExtension() {
  const context = await openWithExtension(path.join(SOURCE, 'extension', 'dist'));
  const [background = await context.waitForEvent('serviceworker')] = context.serviceWorkers();
  const { host } = new URL(background.url());
  const panel = await openPage(context, `chrome-extension://${host}/panel.html?model=${site.url}${STORYTELLER}`);
  const article = await context.newPage();
  await article.goto(`${site.url}/hare`);
  return { panel, article, close: () => context.close() };
}
