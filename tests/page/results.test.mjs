// www/results.html: the row of a link beside the others, marked; links that lie; sorting and choosing by keyboard; how
// it looks. What is taken from a link is tested in tests/tools/results.test.mjs, without a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formOf, fragmentOf, lineOf, rowIn } from '../../www/results/rows.js';
import { testIf } from '../long.mjs';
import { openSite, screenshot, SMALL, violations } from './site.mjs';

const site = await openSite();

const ROW = {
  model: 'a model with quite a long name, 1.7B instruct',
  type: 'Q4_K_M',
  device: 'qualcomm adreno-7xx, a chip that says a lot about itself',
  features: 'shader-f16, subgroups',
  browser: 'Chrome 156, Android',
  date: '2026-11-25',
  prompt: 512,
  predict: 128,
  prefill: 301,
  decode: 950,
  load_ms: 4321,
};

async function withPage(address, work, options = {}) {
  const context = await site.browser.newContext({ serviceWorkers: 'block', ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  try {
    await page.goto(site.url + address);
    await page.waitForFunction(() => document.documentElement.dataset.state !== 'loading');
    await work(page);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

const column = (page, nth) => page.locator(`#rows tr > :nth-child(${nth})`).allTextContents();
/** Numbers of cells, of pairs the middle. */
function numbers(cells) {
  const pairs = cells.map((cell) => cell.replaceAll(',', '').split('–').map(Number));
  return pairs.map((pair) => (pair[0] + pair.at(-1)) / 2);
}
const isFalling = (list) => list.every((value, i) => i === 0 || list[i - 1] >= value);

test('a run of bench.html leads to its row beside the others, marked as not checked', async () => {
  const asked = `/bench.html?model=${SMALL}&prompt=8&predict=4&runs=1&backend=cpu`;
  await withPage(asked, async (page) => {
    assert.equal(await page.isVisible('#among'), false);
    await page.click('#run');
    await page.waitForFunction(() => document.documentElement.dataset.state === 'done');
    const sent = [];
    page.on('request', (request) => sent.push(request.url() + (request.postData() ?? '')));
    await page.click('#among');
    await page.waitForFunction(() => location.pathname === '/results.html');
    await page.waitForFunction(() => document.documentElement.dataset.state === 'ready');
    const row = rowIn(new URL(page.url()).hash);
    assert.deepEqual([row.device, row.prompt, row.predict], ['CPU', 8, 4]);
    const mine = page.locator('#rows .theirs');
    assert.equal(await mine.count(), 1);
    assert.match(await mine.innerText(), /BF16.*8 \+ 4.*CPU.*Chrome \d+, Linux.*this link\s*not checked/s);
    assert.match(await page.innerText('#linked'), /nobody has checked them/);
    assert.ok(
      sent.every((url) => url.startsWith(site.url) && !url.includes('decode=')),
      'the row went to a server',
    );
    // Nothing leads there while another run is under way, nor from one that cannot be compared.
    await page.goBack();
    await page.goto(`${site.url}/bench.html?model=${SMALL}&prompt=8&predict=4&runs=1&backend=cpu&draft=prompt`);
    await page.click('#run');
    await page.waitForFunction(() => document.documentElement.dataset.state === 'done');
    assert.equal(await page.isVisible('#among'), false);
  });
});

test('all rows say that they are ours; one of a link can be sent in', async () => {
  const permissions = ['clipboard-read', 'clipboard-write'];
  const work = async (page) => {
    assert.match(await page.innerText('#whose'), /All results are ours/);
    assert.match(await page.innerText('#count'), /^\d\d results, and that of this link$/);
    const sources = await column(page, 10);
    assert.equal(sources.filter((words) => words === 'oursby the project').length, sources.length - 1);
    await page.getByText('Send it in').click();
    assert.equal(await page.getAttribute('#form', 'href'), formOf(ROW));
    await page.click('#copy');
    await page.getByText('Copied').first().waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), lineOf(ROW));
  };
  await withPage(`/results.html#${fragmentOf(ROW)}`, work, { permissions });
});

test('links that lie say why they are not shown, and harm nothing', async () => {
  const harm = '<img src=x onerror="globalThis.harmed = true">';
  const words = [
    [{ ...ROW, device: harm }, /'device' is .*with characters that no name has/],
    [{ ...ROW, decode: 'a lot' }, /'decode' is 'a lot', not a number/],
    [{ ...ROW, [harm]: '1' }, /there is no field 'img src=x/],
  ];
  for (const [row, message] of words) {
    await withPage(`/results.html#${fragmentOf(row)}`, async (page) => {
      assert.match(await page.innerText('#error'), message);
      assert.equal(await page.isVisible('#linked'), false);
      assert.equal(await page.locator('#rows .theirs').count(), 0);
      assert.equal(await page.locator('main img').count(), 0);
      assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
      // A good link in the same tab takes its place.
      await page.evaluate((fragment) => (location.hash = fragment), fragmentOf(ROW));
      await page.waitForSelector('#linked:not([hidden])');
      assert.equal(await page.isVisible('#error'), false);
    });
  }
});

test('by keyboard: rows of a model, and the order of a column either way', async () => {
  await withPage(`/results.html#${fragmentOf(ROW)}`, async (page) => {
    const all = await column(page, 1);
    assert.ok(isFalling(numbers(await column(page, 3))), 'the fastest first');
    assert.equal(await page.getAttribute('[data-field=decode]', 'aria-sort'), 'descending');
    await page.focus('#model');
    await page.keyboard.type('llama-1b');
    await page.waitForFunction(() => /of \d+ results/.test(document.getElementById('count').textContent));
    const chosen = await column(page, 1);
    assert.deepEqual([...new Set(chosen)].sort(), [ROW.model, 'llama-1b']);
    assert.ok(chosen.length < all.length);
    await page.focus('[data-field=prefill] button');
    await page.keyboard.press('Enter');
    assert.ok(isFalling(numbers(await column(page, 4))));
    await page.keyboard.press('Enter');
    assert.ok(isFalling(numbers(await column(page, 4)).reverse()));
    assert.equal(await page.getAttribute('[data-field=prefill]', 'aria-sort'), 'ascending');
    assert.equal(await page.locator('[aria-sort]').count(), 1);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Prefill', 'the focus stays');
  });
});

for (const [width, colorScheme] of [
  [320, 'light'],
  [320, 'dark'],
  [1440, 'light'],
]) {
  const declare = testIf(width === 320 && colorScheme === 'dark');
  declare(`axe finds nothing wrong and nothing sticks out: ${width} pixels, ${colorScheme}`, async () => {
    const look = async (page) => {
      await page.getByText('Send it in').click();
      await screenshot(page, `results-${width}-${colorScheme}`);
      assert.deepEqual(await violations(page), []);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide`);
      await page.evaluate(() => (location.hash = 'nothing'));
      await page.waitForSelector('#error:not([hidden])');
      assert.deepEqual(await violations(page), []);
      await screenshot(page, `results-refused-${width}-${colorScheme}`);
    };
    await withPage(`/results.html#${fragmentOf(ROW)}`, look, { colorScheme, viewport: { width, height: 900 } });
  });
}
