// www/kernels.html: the page over a harness that is made up, with many cases of every kind; the real harness and the
// tensor API on a few cheap kernels; and a reference with a mistake, which the page must show.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openPage } from '../../tools/demo.mjs';
import { ROOT } from '../../tools/common.mjs';
import { longTest } from '../long.mjs';
import { openSite, reportOf, screenshot } from './site.mjs';

const script = (text) => (_, response) => response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(text);

/** As many cases as the real harness has, and more, of which a few are special. */
const MADE_UP = `
const SPECIAL = {
  '3,5': { status: 'failed', reason: 'kernel_3.a: element 7 is 2', first: { index: 7, expected: '1', found: '2' } },
  '4,0': { status: 'failed', reason: "kernel_4.b does not compile\\n  12:7 unresolved value 'x'\\n"
    + '  11 | let y = 1;\\n> 12 | y = x;' },
  '5,1': { status: 'skipped', reason: 'needs shader-f16' },
};
const entries = Array.from({ length: 1200 }, (_, index) => {
  const [kernel, nth] = [Math.floor(index / 100), index % 100];
  return { kernel: 'kernel_' + kernel, variant: 'kernel_' + kernel + (nth % 2 ? '.a' : '.b'), case: 'case ' + nth };
});
const passed = {
  status: 'passed', maxAbsError: 1e-7, maxRelError: 2e-6, ofLimit: 0.25, limit: { abs: 2e-6, rel: 2e-5 }, ms: 0.5,
  gbps: 12.5, gflops: 0,
};
export default async () => {};
export class Harness {
  static async open() { return new Harness(); }
  facts() { return { name: 'a made-up adapter', vendor: '', architecture: '', software: false, features: ['subgroups'],
    limits: { maxBufferSize: 268435456 } }; }
  rules() { return [{ kernel: 'kernel_1', problem: '512 rows of 2048', choice: 'tiles of 64x64' }]; }
  list() { return entries; }
  async run(index) {
    const special = SPECIAL[Math.floor(index / 100) + ',' + index % 100];
    await new Promise((resolve) => queueMicrotask(resolve));
    return { ...passed, ...special };
  }
  large() { return products; }
  async read(index) {
    if (index === 3) throw Object.assign(new Error('no room'), { code: 'out_of_memory' });
    const ms = 0.125 + index / 64;
    return { bytes: products[index].bytes, ms, gbps: products[index].bytes / ms / 1e6 };
  }
}
const types = ['q4_0', 'q4_1', 'q5_0', 'q5_1', 'q8_0', 'q4_k', 'q5_k', 'q6_k'];
const products = types.flatMap((type, nth) => ['.digits', ''].map((end) => ({
  variant: 'mat_vec.' + type + '.subgroup' + end, name: type + ' ' + (100 + nth) + '000x4096', bytes: 268500000,
  needs: type === 'q6_k' ? 'a buffer of 268500000 bytes, this device binds 134217728' : undefined,
})));`;

/** The second bandwidth is the larger one. */
const BANDWIDTHS = `
const values = [3e12, 4.296e12];
let calls = 0;
export const readBandwidth = async () => ({ bytes_per_second: values[calls++ % 2], buffer_bytes: 268435456 });`;

/** silu is off by a thousandth. */
function mistakenReferences() {
  const source = fs.readFileSync(path.join(ROOT, 'www', 'kernels', 'references.js'), 'utf8');
  const wrong = source.replace('silu: (x) => x * sigmoid(x)', 'silu: (x) => 1.001 * x * sigmoid(x)');
  assert.notEqual(wrong, source, 'the line to change is not there');
  return wrong;
}

let deliver = () => {};
const onReport = (value) => deliver(value);
const real = await openSite({ onReport });
const madeUp = await openSite({
  onReport,
  routes: { '/harness/webgguf.js': script(MADE_UP), '/bench/meter.js': script(BANDWIDTHS) },
});
const mistaken = await openSite({ onReport, routes: { '/kernels/references.js': script(mistakenReferences()) } });

const stateIs = (page, state) =>
  page.waitForFunction((wanted) => document.documentElement.dataset.state === wanted, state);

async function withPage(site, query, work) {
  const page = await site.open(`/kernels.html${query}`);
  try {
    await work(page);
    assert.deepEqual(page.crashes, []);
  } finally {
    await page.close();
  }
}

/** Opens the page with `report`; what it posts, once the page is done too. */
async function reported(site, query, look = () => {}) {
  const arrived = new Promise((resolve) => {
    deliver = resolve;
  });
  let result;
  await withPage(site, `?${new URLSearchParams({ ...query, report: '/result' })}`, async (page) => {
    result = await reportOf(page, arrived);
    await look(page);
  });
  return result;
}

const rowsOf = (page) => page.locator('tr.case');
const group = (page, kernel) => page.locator(`.group[data-kernel="${kernel}"]`);

test('folded groups hold no rows; all cases run while the page stays awake', async (t) => {
  await withPage(madeUp, '?seed=1', async (page) => {
    await stateIs(page, 'ready');
    assert.match(await page.innerText('#device'), /a made-up adapter[^]*subgroups/);
    assert.match(await page.locator('#limits').textContent(), /maxBufferSize268,435,456/);
    assert.match(await page.innerText('#chips'), /1,2\d\d all/);
    assert.equal(await rowsOf(page).count(), 0);
    assert.equal(await page.isVisible('#export'), false);
    await group(page, 'kernel_3').locator('summary').click();
    await page.waitForFunction(() => document.querySelectorAll('tr.case').length === 100);
    await group(page, 'kernel_3').locator('summary').click();
    await page.waitForFunction(() => document.querySelectorAll('tr.case').length === 0);

    await page.fill('#filter', 'kernel_');
    assert.match(await page.innerText('#run'), /Run these 1,200/);
    await page.evaluate(() => {
      // How often the page had its thread for something else while cases ran.
      window.turns = 0;
      setInterval(() => {
        if (document.documentElement.dataset.state === 'running') window.turns += 1;
      }, 1);
    });
    await page.click('#run');
    await stateIs(page, 'done');
    const turns = await page.evaluate(() => window.turns);
    t.diagnostic(`${turns} turns of a timer meanwhile`);
    assert.ok(turns > 3, `the page was deaf: ${turns} turns of a timer`);
    assert.match(await page.innerText('#step'), /1197 passed, 2 failed, 1 skipped/);
  });
});

test('failures say where, a compiler what, skipped cases why; filters, links and exports work', async () => {
  await withPage(madeUp, '?only=kernel_3,kernel_4,kernel_5', async (page) => {
    await stateIs(page, 'ready');
    await page.click('#run');
    await stateIs(page, 'done');
    assert.match(await group(page, 'kernel_3').innerText(), /1 failed/, 'groups with failures open by themselves');
    const red = page.locator('tr.more.failed-row');
    assert.match(await red.first().innerText(), /first difference at element 7: expected 1, found 2/);
    const compiler = await red.nth(1).locator('pre').innerText();
    assert.match(compiler, /kernel_4\.b does not compile\n.*unresolved value[^]*> 12 \| y = x;/);
    await screenshot(page, 'kernels-failures');

    await page.locator('#chips button[data-status=failed]').click();
    assert.equal(await rowsOf(page).count(), 2);
    await page.locator('#chips button[data-status=all]').click();
    await page.fill('#filter', 'KERNEL_5.a skipped');
    assert.equal(await rowsOf(page).count(), 1);
    assert.match(await group(page, 'kernel_5').innerText(), /needs shader-f16/);
    await page.fill('#filter', 'nothing of this');
    assert.ok(await page.isVisible('#nothing'));

    await page.evaluate(() => {
      location.hash = encodeURIComponent('kernel_5.a/case 97');
    });
    await page.waitForSelector('tr.case.chosen');
    const chosen = await page.innerText('tr.case.chosen');
    assert.match(chosen, /passed[^]*case 97[^]*1\.0e-7[^]*0\.50 ms[^]*12\.5 GB\/s/);

    const [saved] = await Promise.all([page.waitForEvent('download'), page.click('#save-json')]);
    const json = JSON.parse(fs.readFileSync(await saved.path(), 'utf8'));
    assert.deepEqual([json.passed, json.failed, json.skipped, json.cases.length], [297, 2, 1, 300]);
    const [text] = await Promise.all([page.waitForEvent('download'), page.click('#save-markdown')]);
    const markdown = fs.readFileSync(await text.path(), 'utf8');
    assert.match(markdown, /^## Kernels on a made-up adapter: 297 passed, 2 failed, 1 skipped/);
    assert.match(markdown, /element 7: expected 1, found 2[^]*y = x;/);
    assert.match(markdown, /\| kernel_3 \| 2 \| 99 \| 1 \| 0 \| 1\.0e-7 \|/);
    assert.match(markdown, /\| needs shader-f16 \| 1 \|/);
  });
});

test('a link opens one case, which runs alone', async () => {
  await withPage(madeUp, `#${encodeURIComponent('kernel_7.b/case 42')}`, async (page) => {
    await stateIs(page, 'ready');
    const chosen = page.locator('tr.case.chosen');
    assert.match(await chosen.innerText(), /waiting[\s\S]*kernel_7\.b[\s\S]*case 42/);
    await chosen.getByRole('button').click();
    await stateIs(page, 'done');
    await page.waitForFunction(() => document.querySelector('tr.case.chosen').innerText.includes('passed'));
    assert.match(await page.innerText('#chips'), /1 passed/);
  });
});

test('with `report` the real harness and the tensor API run by themselves', async () => {
  const result = await reported(real, { only: 'swiglu,softmax,rms_norm', seed: 7 }, async (page) => {
    assert.match(await page.locator('#limits').textContent(), /maxBufferSize/);
    assert.match(await page.locator('#rules').textContent(), /mat_vec/);
  });
  assert.equal(result.error, undefined, JSON.stringify(result.error));
  const failures = result.cases.filter(({ status }) => status === 'failed');
  assert.deepEqual(failures, []);
  assert.equal(result.failed, 0);
  assert.equal(result.passed + result.skipped, result.cases.length);
  assert.deepEqual(new Set(result.cases.map(({ kernel }) => kernel)), new Set(['swiglu', 'softmax', 'rms_norm']));
  assert.ok(result.cases.some(({ variant }) => variant === 'tensor api'));
  assert.ok(result.adapter.length > 0 && Array.isArray(result.features) && result.seed === 7);
  for (const { status, variant, maxAbsError, maxRelError, ms, limit } of result.cases) {
    if (status === 'skipped') continue;
    const numbers = [maxAbsError, maxRelError, ms, limit.abs, limit.rel];
    assert.ok(
      numbers.every((value) => value >= 0),
      `${variant}: ${numbers}`,
    );
  }
});

// ---- reading speed --------------------------------------------------------------------------------------------------

test('the reading speed is measured on request and shown as a share of the larger bandwidth', async () => {
  await withPage(madeUp, '?only=kernel_3', async (page) => {
    await stateIs(page, 'ready');
    assert.equal(await page.locator('#speeds tr').count(), 0);
    await page.click('#measure');
    await stateIs(page, 'done');
    assert.match(await page.innerText('#reading-step'), /4,296 GB\/s \(3,000 before and 4,296 after\)/);
    const rows = page.locator('#speeds tbody tr');
    assert.equal(await rows.count(), 16);
    assert.equal(
      await rows.first().innerText(),
      'mat_vec.q4_0.subgroup.digits\tq4_0 100000x4096\t269 MB\t0.13 ms\t2,148 GB/s\t50.0 %',
    );
    assert.match(await rows.nth(3).innerText(), /q4_1.*269 MB\tout_of_memory: no room$/);
    assert.match(await rows.last().innerText(), /needs a buffer of 268500000 bytes/);
    assert.equal(await page.isEnabled('#measure'), true);
    await screenshot(page, 'kernels-reading');
    const [text] = await Promise.all([page.waitForEvent('download'), page.click('#save-markdown')]);
    const markdown = fs.readFileSync(await text.path(), 'utf8');
    assert.match(markdown, /### Reading speed[^]*4,296 GB\/s[^]*\| variant \| matrix \| size \|/);
    const row = '| mat_vec.q4_0.subgroup | q4_0 100000x4096 | 269 MB | 0.14 ms | 1,909 GB/s | 44.4 % |';
    assert.ok(markdown.includes(row), markdown);
  });
});

test('with `each` a few cases of every variant run', async () => {
  const { cases } = await reported(madeUp, { only: 'kernel_1,kernel_2', each: 3 });
  const names = cases.map(({ variant, case: name }) => `${variant} ${name}`);
  const [even, odd] = [
    [0, 34, 68],
    [1, 35, 69],
  ];
  const expected = [1, 2].flatMap((kernel) =>
    [...even.map((n) => [n, 'b']), ...odd.map((n) => [n, 'a'])]
      .sort(([a], [b]) => a - b)
      .map(([n, variant]) => `kernel_${kernel}.${variant} case ${n}`),
  );
  assert.deepEqual(names, expected);
  const all = await reported(madeUp, { only: 'kernel_1', each: 50 });
  assert.equal(all.cases.length, 100);
});

test('with `reading` it is measured after the cases, with `only=reading` alone', async () => {
  const both = await reported(madeUp, { only: 'kernel_3', reading: 1 });
  const alone = await reported(madeUp, { only: 'reading' });
  assert.deepEqual([both.cases.length, alone.cases.length], [100, 0]);
  for (const {
    reading: { read_bandwidth: read, rows },
  } of [both, alone]) {
    assert.deepEqual(read, { bytes_per_second: 4.296e12, buffer_bytes: 268435456, both: [3e12, 4.296e12] });
    assert.equal(rows.length, 16);
    const { variant, name, bytes, ms, gbps, percent } = rows[0];
    assert.deepEqual([variant, name], ['mat_vec.q4_0.subgroup.digits', 'q4_0 100000x4096']);
    assert.deepEqual([bytes, ms, gbps, percent], [268500000, 0.125, 2148, 50]);
    assert.match(rows.at(-1).reason, /^needs a buffer/);
  }
  assert.equal((await reported(madeUp, { only: 'kernel_3' })).reading, undefined, 'not asked for');
});

longTest('on a software adapter the card says why it measures nothing', async () => {
  const { software, reading } = await reported(real, { only: 'reading' }, async (page) => {
    await stateIs(page, 'done');
    await page.waitForFunction(() => !document.documentElement.hidden);
    await page.waitForFunction(() => document.getElementById('reading-step').textContent.length > 0);
    if (await page.isVisible('#measure')) return;
    assert.match(await page.innerText('#reading-step'), /software adapter/);
  });
  if (software) return assert.match(reading.skipped, /software adapter/);
  return assert.ok(reading.rows.every(({ gbps, reason }) => gbps > 0 || reason));
});

longTest('products of small matrices can be timed on any adapter, and leave no buffers behind', async () => {
  // Another page: kernels.html has a harness of its own, whose cases take seconds to make.
  const page = await real.open('/evaluate.html');
  try {
    const { products, read, left, wrong } = await page.evaluate(async () => {
      const { default: init, Harness } = await import('/harness/webgguf.js');
      await init();
      const harness = await Harness.open();
      // Buffers made from here on: the device may free its own meanwhile.
      const made = new Set();
      const { createBuffer } = GPUDevice.prototype;
      GPUDevice.prototype.createBuffer = function (descriptor) {
        const buffer = createBuffer.call(this, descriptor);
        made.add(buffer);
        return buffer;
      };
      const { destroy } = GPUBuffer.prototype;
      GPUBuffer.prototype.destroy = function () {
        made.delete(this);
        return destroy.call(this);
      };
      const bytes = 2 ** 20;
      const products = harness.large(bytes);
      const chosen = products.flatMap(({ name }, index) => (/^q4_0|^q6_k/.test(name) ? [index] : []));
      const read = [];
      for (const index of chosen) read.push({ ...products[index], ...(await harness.read(index, bytes)) });
      const wrong = await harness.read(products.length, bytes).catch(({ code }) => code);
      return { products, read, left: made.size, wrong };
    });
    assert.ok(products.length >= 8 && read.length >= 2, JSON.stringify(products));
    for (const { variant, bytes, ms, gbps } of read) {
      assert.ok(bytes >= 2 ** 20 && bytes < 2 ** 20 + 4096, `${variant}: ${bytes} bytes`);
      assert.ok(ms > 0 && Math.abs((gbps * ms * 1e6) / bytes - 1) < 1e-6, `${variant}: ${ms} ms, ${gbps} GB/s`);
    }
    assert.equal(left, 0, 'buffers were not destroyed');
    assert.equal(wrong, 'invalid_argument');
    assert.deepEqual(page.crashes, []);
  } finally {
    await page.close();
  }
});

longTest('a mistake in a reference shows as a red row with the first difference', async () => {
  const query = { only: 'elementwise', variant: 'tensor api' };
  const result = await reported(mistaken, query, async (page) => {
    const red = page.locator('tr.more.failed-row');
    await red.first().waitFor();
    assert.equal(await red.count(), 1);
    assert.match(await red.innerText(), /first difference at element \d+: expected -?\d+\.\d+, found -?\d+\.\d+/);
    assert.match(await page.locator('tr.case.failed-row').innerText(), /silu/);
    const colours = (selectors) =>
      selectors.map((selector) => getComputedStyle(document.querySelector(selector)).backgroundColor);
    const [colour, plain] = await page.evaluate(colours, ['tr.failed-row td', 'tr:not(.failed-row) td']);
    assert.notEqual(colour, plain);
  });
  const others = result.cases.filter(({ status }) => status !== 'passed');
  assert.deepEqual(
    others.map(({ case: name }) => name),
    ['silu'],
  );
  assert.ok(result.cases.length > 20);
});

longTest('a wrong address is posted and shown', async () => {
  const wrong = [
    [{ only: 'matmul' }, /'only' names 'matmul'; there are .*mat_mul/],
    [{ sed: 1 }, /unknown parameter 'sed'/],
    [{ seed: 'x' }, /'seed' is 'x'/],
    [{ variant: 'q9' }, /'q9'/],
    [{ reading: 'yes' }, /'reading' is 'yes', not 1/],
  ];
  for (const [query, message] of wrong) {
    // What the page reads by itself needs no cases of the real harness, which take seconds to make.
    const site = query.only ? real : madeUp;
    const { error } = await reported(site, query, async (page) => {
      await stateIs(page, 'error');
      assert.match(await page.innerText('#error'), message);
    });
    assert.equal(error.code, 'invalid_argument');
    assert.match(error.message, message);
  }
});

for (const scheme of ['light', 'dark']) {
  test(`it fits a phone in ${scheme} mode`, async () => {
    const context = await madeUp.browser.newContext({
      viewport: { width: 360, height: 740 },
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
      colorScheme: scheme,
    });
    const page = await openPage(context, `${madeUp.url}/kernels.html?only=kernel_3,kernel_4`);
    await stateIs(page, 'ready');
    await page.click('#run');
    await stateIs(page, 'done');
    await page.click('#measure');
    await stateIs(page, 'done');
    const root = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
    assert.ok(root <= 0, `${root} pixels stick out to the side`);
    await page.screenshot({ path: path.join(ROOT, '.cache', 'screenshots', `kernels-phone-${scheme}.png`) });
    await context.close();
  });
}

test('pages for developers have the look of the demo: header, cards, lists', async () => {
  for (const name of ['kernels', 'answers', 'bench', 'evaluate']) {
    const page = await madeUp.open(`/${name}.html`);
    const look = await page.evaluate(() => {
      const of = (selector) => getComputedStyle(document.querySelector(selector));
      const main = document.querySelector('main').getBoundingClientRect();
      const margins = [main.left, document.documentElement.clientWidth - main.right];
      return { brand: of('.brand').textDecorationLine, card: of('.card').borderTopWidth, margins };
    });
    assert.deepEqual([look.brand, look.card], ['none', '1px'], name);
    assert.ok(Math.abs(look.margins[0] - look.margins[1]) <= 1, `${name}: ${look.margins}`);
    await page.close();
  }
});
