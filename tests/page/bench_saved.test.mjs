// www/bench.html beside other results: what is saved in the browser, files, links that hold a result, and charts; how
// all of it looks, and what a program reads aloud.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { readResults, writeResults } from '../../www/bench/results.js';
import { longTest, testIf } from '../long.mjs';
import { openSite, screenshot, SMALL, until, violations } from './site.mjs';

const site = await openSite();

const RUNS = [0.97, 1, 1.02];
const runsOf = (tg, prompt_n) => RUNS.map((share) => ({ prompt_n, n: 16, tg: tg * share, pp: 20 * tg, ttft_ms: 9 }));
const point = (tg, over) => ({ ...over, runs: runsOf(tg), median: { tg, pp: 20 * tg, ttft_ms: 9 } });

/** A result as the page keeps it, of a machine that decodes `tg` tokens a second. */
function result(tg, { name = 'small model', date = '2026-11-20T08:00:00.000Z', ...more } = {}) {
  return {
    date,
    user_agent: 'Mozilla/5.0 Chrome/156.0.0.0 Safari/537.36',
    adapter: 'a card with a name that is rather long',
    features: ['shader-f16'],
    settings: { model: SMALL, prompt: 64, predict: 16, runs: 3, temperature: 0, lengths: [32, 512], parallel: 3 },
    info: { name, architecture: 'llama', quantization: 'Q4_0', layers: 2, backend: 'webgpu', gpuBytes: 9e8 },
    load_ms: { ready: 1234.5 },
    runs: runsOf(tg, 64),
    median: { tg, pp: 20 * tg, ttft_ms: 9 },
    per_token: { dispatches: 100, submits: 1 },
    lengths: [32, 128, 512, 2048].map((prompt_n, i) => point(tg * (1 - 0.05 * i), { prompt_n })),
    sequences: [1, 2, 3].map((sequences) => point(tg * (0.4 + 0.6 * sequences), { sequences })),
    ...more,
  };
}

const bare = (page) => page.evaluate(() => ({ ...localStorage }));
const textOf = (page, selector) => page.locator(selector).innerText();

async function withPage(address, work, options = {}) {
  const context = await site.browser.newContext({ serviceWorkers: 'block', ...options });
  const page = await context.newPage();
  const crashes = [];
  page.on('pageerror', (error) => crashes.push(String(error)));
  try {
    await page.goto(site.url + address);
    await page.waitForFunction(() => document.documentElement.dataset.state === 'ready');
    await work(page, context);
    assert.deepEqual(crashes, []);
  } finally {
    await context.close();
  }
}

/** Gives the page a file of results; ends when it has said what became of it. */
async function importInto(page, text, name = 'results.json') {
  await page.setInputFiles('#import', { name, mimeType: 'application/json', buffer: Buffer.from(text) });
  await page.waitForFunction(() => document.getElementById('saved-status').textContent !== '');
  return textOf(page, '#saved-status');
}

async function measureHere(page) {
  await page.click('#run');
  await page.waitForFunction(() => document.documentElement.dataset.state === 'done');
}

const headsOf = (page) => page.locator('#compared .card h2').allTextContents();

const linkTo = (value) => `/bench.html#result=${deflateRawSync(JSON.stringify(value)).toString('base64url')}`;

test('a run is saved, found by the next visit, and compared with the next run', async () => {
  const asked = `/bench.html?model=${SMALL}&prompt=8&predict=4&runs=2&backend=cpu`;
  await withPage(asked, async (page) => {
    await measureHere(page);
    assert.deepEqual(await headsOf(page), []);
    await page.click('#save');
    assert.equal(await page.locator('#saved li').count(), 1);
    await page.reload();
    assert.equal(await page.locator('#saved li').count(), 1);
    await measureHere(page);
    assert.deepEqual(await headsOf(page), ['Compared']);
    const columns = await page.locator('#compared thead th').allTextContents();
    assert.deepEqual(columns.slice(1), ['this run', 'change']);
    assert.match(await textOf(page, '#compared'), /decode\s+[\d.,]+( \([\d.,]+–[\d.,]+\))?\t[\d.,]+/);
    await page.locator('#saved input').uncheck();
    assert.deepEqual(await headsOf(page), []);
    // Nothing is deleted by one click.
    await page.click('#saved button:text("Delete")');
    assert.equal(Object.keys(await bare(page)).length, 1);
    await page.click('#saved button:text("Delete for good?")');
    assert.deepEqual(await bare(page), {});
    assert.ok(await page.isVisible('#none-saved'));
  });
});

longTest('speed over lengths and sequences is measured, drawn, and stands in a table', async () => {
  const asked = `/bench.html?model=${SMALL}&prompt=8&predict=16&runs=1&backend=webgpu&lengths=8,32&parallel=2`;
  await withPage(asked, async (page) => {
    assert.equal(await page.inputValue('[name=lengths]'), '8,32');
    await measureHere(page);
    const titles = await headsOf(page);
    assert.deepEqual(titles, [
      'Decode over context length, tokens/s',
      'Prefill over prompt length, tokens/s',
      'Sequences together, tokens/s in all',
    ]);
    for (const [i, places] of [
      ['8', '32'],
      ['8', '32'],
      ['1', '2'],
    ].entries()) {
      const curve = page.locator('.curve').nth(i);
      assert.deepEqual(await curve.locator('tbody th').allTextContents(), places);
      for (const cell of await curve.locator('td').allTextContents()) assert.ok(Number.parseFloat(cell) > 0, cell);
      assert.equal(await curve.locator('.plot .mark').count(), 2);
      assert.equal(await curve.locator('.plot[role=img] > title').count(), 1);
    }
    await page.click('#save');
    const [kept] = Object.values(await bare(page)).map((text) => readResults(text)[0]);
    assert.deepEqual(kept.settings.lengths, [8, 32]);
    assert.deepEqual(
      kept.lengths.map(({ prompt_n, runs }) => [prompt_n, runs.length, runs[0].n]),
      [
        [8, 1, 16],
        [32, 1, 16],
      ],
    );
    assert.deepEqual(
      kept.sequences.map(({ sequences, runs }) => [sequences, runs[0].n]),
      [
        [1, 16],
        [2, 32],
      ],
    );
  });
});

test('a file of results goes out and comes in, and nothing else does', async () => {
  const both = [result(1000), result(1100, { date: '2026-11-21T08:00:00.000Z' })];
  await withPage('/bench.html', async (page) => {
    assert.equal(await importInto(page, writeResults(both)), '2 imported');
    assert.equal((await headsOf(page))[0], 'Compared');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export')]);
    assert.equal(download.suggestedFilename(), 'webgguf-bench.json');
    assert.deepEqual(readResults(fs.readFileSync(await download.path(), 'utf8')), readResults(writeResults(both)));
    await importInto(page, writeResults(both));
    assert.equal(await page.locator('#saved li').count(), 2, 'the same result is kept once');
    for (const [text, message] of [
      ['{', /results\.json: this is no JSON/],
      ['{"a":1}', /no result of bench\.html/],
    ]) {
      await page.evaluate(() => (document.getElementById('saved-status').textContent = ''));
      assert.match(await importInto(page, text), message);
    }
    assert.equal(await page.locator('#saved li').count(), 2);
  });
});

test('a link holds its result, asks the same, and is shown beside what is saved here', async () => {
  let link;
  const permissions = ['clipboard-read', 'clipboard-write'];
  await withPage(
    '/bench.html',
    async (page) => {
      await importInto(page, writeResults([result(1000)]));
      await page.click('#saved button:text("Copy link")');
      await page.waitForSelector('#saved button:text("Copied")');
      link = await page.evaluate(() => navigator.clipboard.readText());
    },
    { permissions },
  );
  assert.ok(link.startsWith(`${site.url}/bench.html#result=`) && link.length < 3000, `${link.length} characters`);
  await withPage('/bench.html', async (page, context) => {
    await importInto(page, writeResults([result(1500, { date: '2026-11-22T08:00:00.000Z' })]));
    const asked = [];
    context.on('request', (request) => asked.push(request.url() + (request.postData() ?? '')));
    const other = await context.newPage();
    await other.goto(link);
    await other.waitForSelector('#linked:not([hidden])');
    assert.match(await textOf(other, '#linked-words'), /small model Q4_0, a card .* decode 1,000/);
    const columns = await other.locator('#compared .card').first().locator('thead th').allTextContents();
    assert.deepEqual(columns.slice(1), ['from the link', 'change']);
    assert.match(await textOf(other, '#compared'), /−33\.3 %/);
    assert.equal(await other.inputValue('[name=lengths]'), '32,512');
    assert.equal(await other.inputValue('[name=model]'), '', 'a file of another server is not asked for');
    assert.ok(
      asked.every((url) => url.startsWith(site.url) && !url.includes('result=')),
      'the result went to a server',
    );
    await other.click('#keep-linked');
    assert.equal(await other.locator('#saved li').count(), 2);
    await until(async () => (await page.locator('#saved li').count()) === 2, 'the other tab knows');
  });
});

test('links that were cut, changed or made to harm are told apart, and run nothing', async () => {
  const name = '<img src=x onerror="globalThis.harmed = true">';
  const good = linkTo(result(1000, { name, settings: { model: 'https://u:p@example.org/a.gguf?token=1' } }));
  await withPage(good, async (page) => {
    await page.waitForSelector('#linked:not([hidden])');
    assert.match(await textOf(page, '#linked-words'), /<img src=x/);
    assert.equal(await page.locator('main img').count(), 0);
    assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
    assert.equal(await page.inputValue('[name=model]'), 'https://example.org/a.gguf');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.state), 'ready');
  });
  for (const [address, message] of [
    [good.slice(0, -40), /cut or changed/],
    ['/bench.html#result=!', /cut or changed/],
    [linkTo({ info: {} }), /no result of bench\.html/],
    [linkTo({ text: 'a'.repeat(2 ** 22) }), /more than 262144 bytes/],
  ]) {
    await withPage(address, async (page) => {
      await page.waitForSelector('#linked:not([hidden])');
      assert.match(await textOf(page, '#linked-words'), message);
      assert.equal(await page.isVisible('#keep-linked'), false);
      assert.deepEqual(await headsOf(page), []);
    });
  }
});

test('a browser that stores nothing says so', async () => {
  await withPage('/bench.html', async (page) => {
    await page.evaluate(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
    });
    assert.match(await importInto(page, writeResults([result(1)])), /keeps nothing/);
  });
});

for (const [width, colorScheme] of [
  [320, 'dark'],
  [800, 'light'],
  [1440, 'dark'],
]) {
  const declare = testIf(width === 320 && colorScheme === 'dark');
  declare(`axe finds nothing wrong and nothing sticks out: ${width} pixels, ${colorScheme}`, async () => {
    const others = [900, 1300].map((tg, i) => result(tg, { date: `2026-11-1${i}T08:00:00.000Z` }));
    const look = async (page) => {
      await page.waitForSelector('#linked:not([hidden])');
      await importInto(page, writeResults(others));
      await page.click('#settings-card > summary');
      await screenshot(page, `bench-compared-${width}-${colorScheme}`);
      assert.deepEqual(await violations(page), []);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide`);
      // Tables that are too wide scroll by keyboard.
      const regions = page.locator('#compared [role=region]');
      for (const region of await regions.all()) assert.equal(await region.getAttribute('tabindex'), '0');
      assert.equal(await regions.count(), 4);
    };
    await withPage(linkTo(result(1000)), look, { colorScheme, viewport: { width, height: 900 } });
  });
}
