// The page that trains, as a person meets it: brings examples, starts, looks, asks, stops, saves, and is told what
// went wrong. The trainer is scripted but for one test; trainer.test.mjs has the real one.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PATIENCE_MS } from '../../tools/browser.mjs';
import { ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { openSite, screenshot, violations } from './site.mjs';
import { trainInParts } from './train_in_parts.mjs';

const site = await openSite();
const SCRIPTED = fs.readFileSync(path.join(ROOT, 'tests', 'page', 'scripted_trainer.js'), 'utf8');
const FACE = "export { deleteTraining, encodeExamples, readExamples, savedTrainings, trainer } from '../index.js';";
import { testIf } from '../long.mjs';

/** Opens the page with scripted_trainer.js in place of the package; `options` are those of a browser context. */
async function withPage(work, options = {}) {
  const context = await site.browser.newContext({ serviceWorkers: 'block', ...options });
  const serve = (body) => (route) => route.fulfill({ contentType: 'text/javascript', body });
  await context.route('**/dist/index.js', serve(SCRIPTED));
  await context.route('**/dist/training/index.js', serve(FACE));
  const openOne = async () => {
    const page = await openPage(context, `${site.url}/train.html`);
    page.setDefaultTimeout(60_000);
    return page;
  };
  const page = await openOne();
  // In another tab of the same browser.
  const again = async () => {
    const other = await openOne();
    await counted(other);
    return other;
  };
  try {
    await counted(page);
    await work(page, again);
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
    await says(page, '#examples-status', /^2 examples · .* · one is being edited: “Done” takes it\.$/);
    assert.ok(await page.isDisabled('#start'));
    await page.click('.editor >> text=Done');
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

test('pairs of answers are shown, edited, and learned as preferences', () =>
  withPage(async (page) => {
    const pair = { prompt: 'Who?', chosen: ' Quillo.', rejected: ' Nobody.' };
    const chat = { prompt: 'Who?', chosen: [{ role: 'assistant', content: 'I.' }] };
    const rejected = [{ role: 'assistant', content: 'You.' }];
    const text = [pair, { ...chat, rejected }].map((one) => JSON.stringify(one)).join('\n');
    await page.setInputFiles('#examples-file', fileOf('pairs.jsonl', text));
    await says(page, '#examples-status', /^2 examples ·/);
    await counted(page);
    const [first, second] = await page.locator('#rows tr').all();
    assert.match(await first.innerText(), /Who\?[^]* Quillo\.[^]*rather than: Nobody\./);
    assert.match(await second.innerText(), /I\.[^]*rather than: You\./);
    await screenshot(page, 'train-pairs');
    await second.locator('.edit').click();
    assert.deepEqual(await page.locator('.editor label').allInnerTexts(), ['Prompt', 'Better answer', 'Worse answer']);
    await page.locator('.editor textarea').last().fill('They.');
    await page.click('.editor >> text=Done');
    await counted(page);
    await train(page, { steps: 3 });
    await says(page, '#training-status', /^Done after 3 steps/);
    const { examples, runOptions } = await trained(page);
    assert.equal(runOptions.loss, 'dpo');
    assert.deepEqual(examples, [pair, { ...chat, rejected: [{ role: 'assistant', content: 'They.' }] }]);
    // Beside texts a pair is one, too.
    await page.click('#add-text');
    await page.keyboard.type('A text.');
    await page.click('.editor >> text=Done');
    await counted(page);
    await train(page, { steps: 3 });
    await page.waitForFunction(() => globalThis.trained?.examples?.length === 3);
    assert.equal((await trained(page)).runOptions.loss, undefined);
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
    await page.evaluate(async () => {
      const { WasmModel } = await import('/dist/index.js');
      const { tokenize } = WasmModel.prototype;
      WasmModel.prototype.tokenize = async function (...given) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return tokenize.apply(this, given);
      };
    });
    // The click itself ends the change, after which all tokens are counted again.
    await page.fill('#length', '32');
    await train(page, { steps: 2 });
    await says(page, '#training-status', /^Done after 2 steps/);
    assert.equal((await trained(page)).examples.length, 70);
  }));

test('training shows loss, time and answers, and leaves an adapter', () =>
  withPage(async (page) => {
    await page.fill('#epochs', '5');
    await train(page, { steps: 24, wait: 40 });
    await says(page, '#training-status', /^Step \d+ of 24, pass [1-4] of 5 through the examples\.$/);
    assert.ok(await page.isDisabled('#add-chat'));
    await page.waitForFunction(() => /L/.test(document.querySelector('#loss-line').getAttribute('d')));
    await screenshot(page, 'train-running');
    await state(page, 'ready');
    await says(page, '#training-status', /^Done after 24 steps and/);
    const { options, runOptions, examples, freed } = await page.evaluate(() => globalThis.trained);
    const { onWarning: _, ...plain } = options;
    assert.deepEqual(plain, { name: 'train.html 1', rank: 8, alpha: 16, learningRate: 0.01 });
    assert.deepEqual(runOptions, { epochs: 5, batch: 2, length: 128, heldOut: 0.1 });
    assert.equal(examples.length, 20);
    assert.ok(freed);
    for (const [id, pattern] of Object.entries({
      loss: /^\d\.\d\d$/,
      'held-out-loss': /^\d\.\d\d$/,
      left: /^0 s$/,
      speed: /^812$/,
      memory: /221,184 numbers are learned\. GPU memory: 33\.2 MB, of which 6\.2 MB/,
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

test('the adapter is shared where the device shares files, and a sheet that is closed is no error', () =>
  withPage(async (page) => {
    await page.evaluate(() => {
      globalThis.sheets = [];
      navigator.canShare = ({ files }) => files.every(({ name }) => name.endsWith('.gguf'));
      navigator.share = async ({ files: [{ name, size }], title }) => {
        globalThis.sheets.push({ name, size, title });
        if (globalThis.refusal) throw new DOMException('refused', globalThis.refusal);
      };
    });
    assert.ok(await page.isHidden('#share'), 'there is nothing to share yet');
    await train(page, { steps: 2 });
    await page.click('#share');
    const name = 'Storyteller-adapter.gguf';
    assert.deepEqual(await page.evaluate(() => globalThis.sheets), [{ name, size: 884_004, title: name }]);
    const refuse = async (kind) => {
      await page.evaluate((refusal) => Object.assign(globalThis, { refusal }), kind);
      await page.click('#share');
    };
    await refuse('AbortError');
    assert.ok(await page.isHidden('#error'));
    await refuse('NotAllowedError');
    await says(page, '#error', /The file could not be shared/);
    await page.evaluate(() => {
      navigator.canShare = () => false;
    });
    await train(page, { steps: 2 });
    await says(page, '#training-status', /^Done/);
    await page.waitForFunction(() => document.querySelector('#share').hidden);
  }));

test('the time that is left is short in words, and the smooth line follows short runs', () =>
  withPage(async (page) => {
    const words = await page.evaluate(async () => {
      const { about } = await import('/train/run.js');
      return [0, 99.4, 99.5, 130, 5969, 5971, 36_000].map(about);
    });
    assert.deepEqual(words, ['0 s', '99 s', '2 min', '2 min', '99 min', '1.7 h', '10.0 h']);
    const ends = await page.evaluate(async () => {
      const { addStep, clearChart } = await import('/train/chart.js');
      const end = async (steps) => {
        clearChart(steps);
        for (let step = 1; step <= steps; step++) addStep({ step, steps, loss: 8 - (6 * step) / steps });
        await new Promise(requestAnimationFrame);
        return Number(document.querySelector('#loss-line').getAttribute('d').split(' ').at(-1)) / 1000;
      };
      return [await end(10), await end(200)];
    });
    // On a scale to 8 the last loss is at three quarters.
    for (const end of ends) assert.ok(end > 0.69 && end < 0.75, String(ends));
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

/** Waits until a step is done. */
const stepIs = (page, least) =>
  page.waitForFunction(
    (wanted) => Number(/Step (\d+)/.exec(document.querySelector('#training-status').innerText)?.[1]) >= wanted,
    least,
  );

/** What the scripted trainer was last asked for. */
const trained = (page) =>
  page.evaluate(() => {
    const { options, from, examples, runOptions } = globalThis.trained;
    return { resume: options.resume, name: options.name, from, examples, runOptions };
  });

test('a page that is closed in the midst loses nothing that was kept', () =>
  withPage(async (first, again) => {
    await first.setInputFiles(
      '#examples-file',
      fileOf('own.jsonl', '{"prompt":"a b","completion":" c d"}\n{"text":"e"}'),
    );
    await first.fill('#prompt', 'What then?');
    await first.fill('#epochs', '7');
    await counted(first);
    await train(first, { steps: 60, wait: 40 });
    await stepIs(first, 12);
    await first.close();
    const page = await again();
    await says(page, '#examples-status', /^2 examples/);
    assert.equal(await page.inputValue('#epochs'), '7');
    assert.equal(await page.inputValue('#prompt'), 'What then?');
    await says(page, '#kept-words', /^A training with 2 examples was interrupted at step 1\d of 60; saved just now\.$/);
    const words = await page.innerText('#go-on');
    const step = Number(/^Go on from step (\d+)$/.exec(words)[1]);
    assert.ok(step >= 10, words);
    await says(page, '#start', /^Start again$/);
    await screenshot(page, 'train-kept');
    // The table may be another by then: a run goes on with what it began with.
    await page.click('#remove-all');
    await page.click('#remove-all');
    await script(page, { steps: 60, wait: 20 });
    await page.click('#go-on');
    await stepIs(page, step + 3);
    const found = await trained(page);
    assert.deepEqual([found.resume, found.name, found.from], ['train.html 1', undefined, step]);
    assert.equal(found.examples.length, 2);
    assert.equal(found.runOptions.epochs, 7);
    const label = await page.getAttribute('#chart', 'aria-label');
    assert.match(label, /^Loss from \d\.\d\d at step 1 to/, 'the losses of before are drawn, too');
    await page.click('#stop');
    await says(page, '#training-status', /^Stopped after \d+ steps/);
    await says(page, '#go-on', /^Go on from step \d+$/);
    // Starting again asks first.
    await page.click('#sample');
    await counted(page);
    await script(page, { steps: 8 });
    await page.click('#start');
    await says(page, '#start', /^Lose step \d+ and start again\?$/);
    await page.click('#go-on', { trial: true });
    await page.click('#start');
    await says(page, '#training-status', /^Done after 8 steps/);
    assert.equal((await trained(page)).name, 'train.html 1');
    assert.ok(await page.isHidden('#kept'), 'its adapter is on the page');
    await page.close();
    // A training that is done, whose adapter nobody has saved.
    const last = await again();
    await says(last, '#kept-words', /^A training with 20 examples is done with all 8 steps; saved just now\.$/);
    await script(last, { steps: 8 });
    await last.click('#go-on');
    await says(last, '#adapter-words', /^Storyteller-adapter\.gguf/);
    assert.equal((await trained(last)).from, undefined, 'no step is made');
    assert.ok(await last.isHidden('#kept'));
    await last.reload();
    await counted(last);
    await says(last, '#kept-words', /is done with all 8 steps/);
    await last.click('#forget');
    await last.click('#forget');
    await last.waitForFunction(() => document.querySelector('#kept').hidden);
    await last.reload();
    await counted(last);
    assert.ok(await last.isHidden('#kept'), 'nothing is kept');
  }));

// It takes a minute here; firefox.test.mjs always does this.
const skip = process.env.WEBGGUF_TRAINABLE !== 'all';
test('a small model learns, in two parts, for real', { skip }, async (t) => {
  const context = await site.browser.newContext({ serviceWorkers: 'block' });
  const pages = [];
  const open = async () => {
    await pages.at(-1)?.close();
    pages.push(await openPage(context, `${site.url}/train.html`));
  };
  const evaluate = (work, argument) => pages.at(-1).evaluate(work, argument);
  t.diagnostic(await trainInParts({ open, evaluate, patience: PATIENCE_MS / 1000 }));
  assert.deepEqual(
    pages.flatMap(({ crashes }) => crashes),
    [],
  );
  await context.close();
});

test('a device that is lost goes on by itself; two tabs do not disturb each other', () =>
  withPage(async (page, again) => {
    await train(page, { steps: 20, wait: 20, failsAt: 13, fails: 'device_lost' });
    await says(page, '#training-status', /^Done after 20 steps\.$/);
    assert.ok(await page.isHidden('#error'));
    const all = await page.evaluate(() => globalThis.trainings.map(({ options, from }) => [options.resume, from]));
    assert.deepEqual(
      all,
      [
        [null, 0],
        ['train.html 1', 10],
      ].map(([resume, from]) => [resume ?? undefined, from]),
    );
    const other = await again();
    assert.ok(await other.isHidden('#kept'), 'the training is of the other tab');
    await train(other, { steps: 30, full: true });
    await says(other, '#training-note', /^There is no room in this browser to keep the training/);
    await says(other, '#training-status', /^Done after 30 steps/);
    assert.equal((await trained(other)).name, 'train.html 2');
  }));

test('errors are clear, and the page can be used after each', () =>
  withPage(async (page) => {
    await train(page, { refuses: ['out_of_memory', 'the device gave 12 of 900 MB'] });
    await says(page, '#error', /Training could not begin[^]*fewer sequences at once[^]*out_of_memory[^]*12 of 900 MB/);
    await state(page, 'ready');
    assert.ok(await page.isHidden('#run'), 'there is no step to show');
    assert.ok(await page.isEnabled('#start'));
    await train(page, { refuses: ['device_lost', 'the driver was reset'] });
    await says(page, '#error', /Training could not begin[^]*Load the model again to go on/);
    await page.click('#error-actions >> text=Load the model again');
    await page.waitForFunction(() => document.querySelector('#error').hidden);
    await counted(page);
    await train(page, { steps: 40, failsAt: 6 });
    await says(page, '#error', /Training ended at step 5[^]*the loss of step 6 is NaN/);
    await says(page, '#training-status', /What was learned until then is kept/);
    assert.ok(await page.isEnabled('#save'));
    await train(page, { steps: 12, mute: true });
    await says(page, '#training-status', /^Done after 12 steps/);
    await says(page, '#after', /^No answer\. With the adapter the model computes no numbers: a smaller learning rate/);
    assert.ok(await page.isHidden('#error'));
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
  testIf(name === 'small')(`accessible, and nothing is wider than the window: ${name}`, () =>
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
      await page.reload();
      await counted(page);
      await says(page, '#kept-words', /is done/);
      await check('kept');
      await train(page, { refuses: ['device_lost', 'the driver was reset'] });
      await says(page, '#error', /device_lost/);
      await check('error');
    }, options),
  );
}
