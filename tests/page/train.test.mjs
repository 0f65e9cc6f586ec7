// The page that trains, as a person meets it: brings examples, starts, looks, asks, stops, saves, and is told what
// went wrong. The trainer is scripted; trainer.test.mjs has the real one.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { openSite, screenshot, violations } from './site.mjs';

const site = await openSite();
const SCRIPTED = fs.readFileSync(path.join(ROOT, 'tests', 'page', 'scripted_trainer.js'), 'utf8');
const FACE = "export { encodeExamples, readExamples, trainer } from '../index.js';";

/** Opens the page with scripted_trainer.js in place of the package; `options` are those of a browser context. */
async function withPage(work, options = {}) {
  const context = await site.browser.newContext({ serviceWorkers: 'block', ...options });
  const serve = (body) => (route) => route.fulfill({ contentType: 'text/javascript', body });
  await context.route('**/dist/index.js', serve(SCRIPTED));
  await context.route('**/dist/training/index.js', serve(FACE));
  const page = await openPage(context, `${site.url}/train.html`);
  page.setDefaultTimeout(60_000);
  try {
    await counted(page);
    await work(page);
    assert.deepEqual(page.crashes, [], 'no uncaught error on the page');
  } finally {
    await context.close();
  }
}

/** Waits until a model is there and all tokens are counted. */
const counted = (page) =>
  page.waitForFunction(() => {
    const { state } = document.documentElement.dataset;
    const cells = [...document.querySelectorAll('td.tokens')].map((cell) => cell.textContent);
    return state === 'ready' && cells.length > 0 && !cells.includes('…');
  });

const script = (page, values) =>
  page.evaluate((given) => {
    globalThis.script = given;
  }, values);

const state = (page, wanted) => page.waitForFunction((name) => document.documentElement.dataset.state === name, wanted);

/** Starts; the state is `training` when this returns, or it is over already. */
const train = async (page, values) => {
  await script(page, values);
  await page.click('#start');
};

async function says(page, selector, pattern) {
  await page
    .waitForFunction(
      ([where, source]) => new RegExp(source).test(document.querySelector(where)?.innerText ?? ''),
      [selector, pattern.source],
    )
    .catch(async () => {
      assert.fail(`${selector} does not say ${pattern}: ${await page.locator(selector).first().innerText()}`);
    });
}

const fileOf = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

test('the sample shows what is read and what is learned', () =>
  withPage(async (page) => {
    await says(page, '#examples-status', /^20 examples · \d+ tokens, of which \d+ are learned\.$/);
    const [first] = await page.locator('#rows tr').all();
    const learned = await first.locator('mark').innerText();
    assert.match(learned, /Once upon a time there was a hero named Quillo\..*<\|end\|>$/s);
    assert.doesNotMatch(learned, /Tell me/);
    assert.match(await first.locator('.read').innerText(), /<\|user\|>\s?Tell me a story about a hero/);
    const tokens = await page.locator('td.tokens').allInnerTexts();
    assert.equal(tokens.length, 20);
    const sum = tokens.reduce((total, text) => total + Number(text), 0);
    await says(page, '#examples-status', new RegExp(`· ${sum} tokens`));
  }));

test('examples are added, edited and removed by keyboard', () =>
  withPage(async (page) => {
    await page.focus('#add-chat');
    await page.keyboard.press('Enter');
    await page.keyboard.type('What is your name?');
    await page.keyboard.press('Tab');
    await page.keyboard.type('I am Quillo.');
    await page.keyboard.press('Control+Enter');
    await counted(page);
    await says(page, '#examples-status', /^1 example ·/);
    assert.match(await page.locator('mark').last().innerText(), /I am Quillo\./);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Edit', 'the focus is in the row');
    await page.keyboard.press('Enter');
    await page.keyboard.type('X');
    await page.keyboard.press('Escape');
    assert.doesNotMatch(await page.locator('#rows').innerText(), /X/);
    await page.click('#add-text');
    await page.keyboard.type('A text of its own.');
    await page.click('text=Done');
    await counted(page);
    await says(page, '#examples-status', /^2 examples ·/);
    await page.locator('.remove').first().click();
    await says(page, '#examples-status', /^1 example ·/);
    await page.click('#remove-all');
    await page.click('#remove-all');
    await says(page, '#rows', /Nothing here yet/);
    assert.ok(await page.isDisabled('#start'), 'nothing to learn');
    await page.click('#sample');
    await says(page, '#examples-status', /^20 examples/);
  }));

test('files and pasted texts are read, and what is wrong in them is named', () =>
  withPage(async (page) => {
    const messages = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'w' },
    ];
    const good = [{ prompt: 'a b', completion: ' c d' }, { messages }].map((one) => JSON.stringify(one)).join('\n');
    await page.setInputFiles('#examples-file', [
      fileOf('bad.jsonl', '{"text":"a"}\n{"txt":"b"}'),
      fileOf('good.jsonl', good),
    ]);
    await says(page, '#error', /bad\.jsonl has no examples that can be read[^]*line 2: found the fields 'txt'/);
    await says(page, '#examples-status', /^2 examples ·/);
    await page.click('#error-actions >> text=Close');
    await page.click('#paste-card summary');
    await page.fill('#paste', 'prompt;completion\nx;y\n"z');
    await page.click('#add-pasted');
    await says(page, '#error', /line 3: a quoted field is not closed/);
    assert.match(await page.inputValue('#paste'), /^prompt/, 'what was pasted is not lost');
    await page.fill('#paste', 'One text.\n\nAnother.');
    await page.click('#add-pasted');
    await says(page, '#examples-status', /^4 examples ·/);
    assert.ok(await page.isHidden('#error'));
    // What cannot be learned says so in its row, and does not stand in the way of others.
    const seen = { type: 'image_url', image_url: { url: 'data:image/png;base64,' } };
    messages[0].content = [{ type: 'text', text: 'What is this?' }, seen];
    await page.setInputFiles('#examples-file', fileOf('pictures.jsonl', JSON.stringify({ messages })));
    await says(page, '#examples-status', /^5 examples · .* · 1 cannot be used\.$/);
    assert.match(
      await page.locator('#rows tr').last().innerText(),
      /What is this\?[^]*images and sounds cannot be learned/,
    );
    assert.ok(await page.isEnabled('#start'));
  }));

test('examples longer than a sequence are cut, and many are shown in parts', () =>
  withPage(async (page) => {
    const texts = Array.from(
      { length: 70 },
      (_, at) => `Text ${at}. ${at === 0 ? 'Once upon a time there was. '.repeat(40) : ''}`,
    );
    await page.setInputFiles('#examples-file', fileOf('many.txt', texts.join('\n\n')));
    await says(page, '#examples-status', /^70 examples · .* · 1 lose their end/);
    assert.match(await page.locator('td.tokens').first().innerText(), /^128\s+\d+ cut$/);
    assert.equal(await page.locator('#rows tr').count(), 30);
    await page.click('#more-rows');
    assert.equal(await page.locator('#rows tr').count(), 60);
    await says(page, '#more-rows', /Show 10 of 10 more/);
    await page.click('text=More settings');
    await page.fill('#length', '16');
    await page.locator('#length').blur();
    await page.waitForFunction(() => document.querySelector('td.tokens').innerText.startsWith('16'));
  }));

test('training shows loss, time and answers, and leaves an adapter', () =>
  withPage(async (page) => {
    await page.fill('#epochs', '5');
    await train(page, { steps: 24, wait: 40 });
    await says(page, '#training-status', /^Step \d+ of 24/);
    assert.ok(await page.isDisabled('#add-chat'));
    await page.waitForFunction(() => /L/.test(document.querySelector('#loss-line').getAttribute('d')));
    await screenshot(page, 'train-running');
    await state(page, 'ready');
    await says(page, '#training-status', /^Done after 24 steps and/);
    const { options, runOptions, examples, freed } = await page.evaluate(() => globalThis.trained);
    assert.deepEqual(options, { rank: 8, alpha: 16, learningRate: 0.003 });
    assert.deepEqual(runOptions, { epochs: 5, batch: 4, length: 128, heldOut: 0.1 });
    assert.equal(examples.length, 20);
    assert.ok(freed);
    for (const [id, pattern] of Object.entries({
      loss: /^\d\.\d\d$/,
      'held-out-loss': /^\d\.\d\d$/,
      left: /^0 s$/,
      speed: /^812$/,
      memory: /221,184 numbers are learned\. GPU memory: 30\.5 MB, of which 3\.5 MB/,
      before: /\w/,
      after: /^The hero was named Quillo\.$/,
      'after-when': /^24 steps$/,
      'adapter-words': /^Storyteller-adapter\.gguf, 884 kB/,
    })) {
      await says(page, `#${id}`, pattern);
    }
    const label = await page.getAttribute('#chart', 'aria-label');
    assert.match(label, /^Loss from \d\.\d\d at step 1 to \d\.\d\d at step 24; held-out loss \d\.\d\d at step 24$/);
    assert.equal((await page.getAttribute('#held-out-dots', 'd')).match(/M/g).length, 4);
    await screenshot(page, 'train-done');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
    assert.equal(download.suggestedFilename(), 'Storyteller-adapter.gguf');
    assert.equal(fs.readFileSync(await download.path()).length, 884_004);
    await page.evaluate(() => {
      globalThis.asked = [];
    });
    await page.fill('#prompt', 'Who?');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => globalThis.asked.length === 2);
    const asked = await page.evaluate(() => globalThis.asked);
    assert.deepEqual(
      asked.map(({ adapters }) => adapters),
      [[], [{ id: 3 }]],
    );
    assert.equal(asked[1].content[0].content, 'Who?');
    await page.click('#drop-adapter');
    assert.ok(await page.isDisabled('#save'));
    assert.deepEqual(await page.evaluate(() => globalThis.removed), [3]);
  }));

test('a question waits for the end of a step; stop keeps what was learned', () =>
  withPage(async (page) => {
    await train(page, { steps: 1500, wait: 30 });
    await says(page, '#after', /Quillo/);
    await page.evaluate(() => {
      globalThis.asked = [];
    });
    await page.fill('#prompt', 'And now?');
    await page.click('#ask');
    await page.waitForFunction(
      () => globalThis.asked.filter(({ content }) => /now/.test(content[0].content)).length > 1,
    );
    const asked = await page.evaluate(() => globalThis.asked.map(({ content }) => content[0].content));
    assert.deepEqual(asked.filter((text) => /now/.test(text)).slice(0, 2), ['And now?', 'And now?']);
    await page.focus('#stop');
    await page.keyboard.press('Enter');
    await state(page, 'ready');
    await says(page, '#training-status', /^Stopped after \d+ steps/);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'start', 'the focus is where one goes on');
    assert.ok(await page.isEnabled('#save'));
  }));

test('errors are clear, and the page can be used after each', () =>
  withPage(async (page) => {
    await train(page, { refuses: ['out_of_memory', 'the device gave 12 of 900 MB'] });
    await says(page, '#error', /Training could not begin[^]*fewer sequences at once[^]*out_of_memory[^]*12 of 900 MB/);
    await state(page, 'ready');
    assert.ok(await page.isHidden('#run'), 'there is no step to show');
    assert.ok(await page.isEnabled('#start'));
    await train(page, { steps: 40, failsAt: 6 });
    await says(page, '#error', /Training ended at step 5[^]*the loss of step 6 is NaN/);
    await says(page, '#training-status', /What was learned until then is kept/);
    assert.ok(await page.isEnabled('#save'));
    await page.setInputFiles('#adapter-file', fileOf('adapter.gguf', 'no adapter'));
    await says(page, '#error', /adapter\.gguf could not be loaded[^]*bad_file/);
    await page.setInputFiles('#adapter-file', fileOf('pirate.gguf', 'GGUF…'));
    await says(page, '#adapter-words', /^pirate\.gguf, /);
    assert.ok(await page.isHidden('#error'));
    await page.click('#other-model summary');
    await page.fill('#url', `${site.url}/nothing.gguf`);
    await page.click('#url-form button');
    await says(page, '#error', /could not be downloaded[^]*404/);
    await says(page, '#model-name', /^Storyteller$/);
    await train(page, { steps: 3 });
    await state(page, 'ready');
    await says(page, '#training-status', /^Done after 3 steps/);
  }));

test('a link of the catalogue, and what a model without a chat template is taught', () =>
  withPage(async (page) => {
    await page.click('#other-model summary');
    await page.selectOption('#catalogue', { index: 1 });
    await says(page, '#catalogue-about', /145 MB from Hugging Face.*Apache-2\.0/);
    await page.evaluate(() => {
      globalThis.scriptedInfo = { hasChatTemplate: false, parameters: 1.2e9 };
    });
    await page.selectOption('#catalogue', { index: 0 });
    await page.click('#load-catalogue');
    await page.waitForFunction(() => document.querySelector('#prompt-label').textContent === 'Beginning of a text');
    await counted(page);
    assert.doesNotMatch(await page.locator('.read').first().innerText(), /<\|user\|>/);
    assert.deepEqual(
      await page.evaluate(() => ['epochs', 'rate', 'rank', 'batch'].map((id) => document.getElementById(id).value)),
      ['3', '0.0002', '16', '2'],
    );
    await page.click('#add-chat');
    assert.deepEqual(await page.locator('.editor label').allInnerTexts(), ['Prompt', 'Completion']);
  }));

for (const [name, options] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  small: { viewport: { width: 320, height: 640 } },
})) {
  test(`accessible, and nothing is wider than the window: ${name}`, () =>
    withPage(async (page) => {
      const check = async (what) => {
        assert.deepEqual(await violations(page), [], what);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${what}: ${wide} pixels too wide`);
        await screenshot(page, `train-${name}-${what}`);
      };
      await check('ready');
      for (const summary of await page.locator('summary').all()) await summary.click();
      await page.click('#add-chat');
      await check('open');
      await page.keyboard.press('Escape');
      await page.click('#sample');
      await counted(page);
      await train(page, { steps: 30, wait: 60 });
      await says(page, '#held-out-loss', /\d/);
      await check('training');
      await state(page, 'ready');
      await train(page, { refuses: ['device_lost', 'the driver was reset'] });
      await says(page, '#error', /device_lost/);
      await check('error');
    }, options));
}
