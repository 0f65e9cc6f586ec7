// The site, built into a folder and served from a folder of a host, as any host may do it: its links lead somewhere,
// its pages are in order on a phone and on a desk, in light and dark, and what they offer works.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { CACHE, filesUnder, readJson, ROOT } from '../../tools/common.mjs';
import { openPage, say, waitForState } from '../../tools/demo.mjs';
import { sendFile, serve } from '../../tools/serve.mjs';
import { makeSite, TOOLS } from '../../tools/site.mjs';
import { examples } from '../../tools/site/gallery.mjs';
import { faultsIn } from '../../tools/site/reference.mjs';
import { answerOf, limitRows, markdown } from '../../www/device/facts.js';
import { testIf } from '../long.mjs';

const OUT = path.join(CACHE, 'site-test');
const BASE = '/some/folder/';
const counts = await makeSite(OUT);
// Nothing is at the root of the host, nor where the server of the project has its own folders.
const nowhere = path.join(CACHE, 'nowhere');
const site = await serve({
  mounts: { '/': nowhere, '/dist/': nowhere, '/fixtures/': nowhere, '/shaders/': nowhere, [BASE]: OUT },
  routes: { '/favicon.ico': (_, response) => response.writeHead(204).end() },
});
const browser = await openBrowser();
after(async () => {
  await browser.close();
  await site.close();
});

const pages = filesUnder(path.relative(ROOT, OUT))
  .filter((file) => file.endsWith('.html'))
  .map((file) => path.relative(OUT, path.join(ROOT, file)));
const read = (page) => fs.readFileSync(path.join(OUT, page), 'utf8');
const at = (page) => `${site.url}${BASE}${page}`;

// ---- files ----------------------------------------------------------------------------------------------------------

/** Ids of a page, and what its links and files are: `[page or file, anchor]`. */
function linksOf(page) {
  const html = read(page).replaceAll(/<(script|style|pre)\b[^>]*>[^]*?<\/\1>/g, (whole) => whole.split('>')[0]);
  const found = [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, link]) => link.replaceAll('&amp;', '&'));
  return found
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [where, anchor] = link.split('#');
      const target = where.split('?')[0];
      const file = target === '' ? page : path.posix.join(path.posix.dirname(page), decodeURIComponent(target));
      return { link, file: /(^|\/)$|^\.$/.test(file) ? path.posix.join(file, 'index.html') : file, anchor };
    });
}

const idsOf = (page) => new Set([...read(page).matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id));

test('every link of every page leads to a file of the site, and to a place in it', () => {
  const ids = new Map(pages.map((page) => [page, idsOf(page)]));
  const lost = [];
  let count = 0;
  for (const page of pages) {
    for (const { link, file, anchor } of linksOf(page)) {
      count += 1;
      const isThere = fs.statSync(path.join(OUT, file), { throwIfNoEntry: false })?.isFile();
      const isPlace = !anchor || !file.endsWith('.html') || ids.get(file)?.has(decodeURIComponent(anchor));
      if (!isThere || !isPlace) lost.push(`${page}: ${link}`);
    }
  }
  assert.ok(pages.length > 100 && count > 2000, `${pages.length} pages, ${count} links`);
  assert.deepEqual(lost, []);
});

test('no script of the site imports a file that is not there, and none is asked for at the root of the host', () => {
  const lost = [];
  const scripts = filesUnder(path.relative(ROOT, OUT)).filter((file) => /\.js$/.test(file) && !/\/api\//.test(file));
  for (const file of scripts) {
    const text = fs.readFileSync(path.join(ROOT, file), 'utf8').replaceAll(/^\s*(\/\/|\*).*$/gm, '');
    for (const [, target] of text.matchAll(/(?:\bfrom|\bimport\(|\bURL\()\s*['"](\.{0,2}\/[\w./-]+\.\w+)['"]/g)) {
      const place = path.join(path.dirname(path.join(ROOT, file)), target);
      // The server of `npm start` alone answers this one.
      if (target.endsWith('/harness/status.json')) continue;
      if (!place.startsWith(OUT + path.sep) || !fs.existsSync(place))
        lost.push(`${path.relative(OUT, file)}: ${target}`);
    }
  }
  assert.ok(scripts.length > 50, `${scripts.length} scripts`);
  assert.deepEqual(lost, []);
});

test('`npx serve` is told of every page of a folder, which it would else list', () => {
  const { cleanUrls, trailingSlash, rewrites } = readJson(path.join(OUT, 'serve.json'));
  assert.deepEqual([cleanUrls, trailingSlash], [false, true]);
  const told = rewrites.map(({ source, destination }) => [source, destination]).sort();
  const wanted = pages.filter((page) => /(^|\/)index\.html$/.test(page)).map((page) => `/${page}`);
  assert.deepEqual(told, wanted.map((page) => [path.posix.dirname(page), page]).sort());
  assert.ok(wanted.includes('/index.html') && wanted.includes('/guides/index.html'));
});

test('every guide is a page, and every example has its code', () => {
  const guides = fs.readdirSync(path.join(ROOT, 'docs/guides'));
  assert.equal(pages.filter((page) => page.startsWith('guides/')).length, guides.length);
  assert.ok(counts.documents > guides.length && counts.reference > 100);
  const list = examples();
  const folders = fs.readdirSync(path.join(ROOT, 'examples'), { withFileTypes: true });
  for (const { name } of folders.filter((entry) => entry.isDirectory() && !/node_modules|dist/.test(entry.name))) {
    assert.ok(
      list.some((example) => example.name === name),
      `examples/README.md does not name ${name}`,
    );
  }
  for (const { name, runs, cost, code } of list) {
    assert.ok(pages.includes(code), code);
    if (runs) assert.ok(cost, `tools/site/gallery.mjs does not say what ${name} downloads`);
  }
});

test('a public name without a comment is found', () => {
  const missing = '[warning] webgguf.Gpu.relu (CallSignature), defined in js/a.ts, does not have any documentation';
  const field =
    '[warning] webgguf.Tool.function.__type.name (Property), defined in js/a.ts, does not have any documentation';
  assert.deepEqual(faultsIn(`\x1b[93m[warning]\x1b[0m${missing.slice(9)}\n${field}\n[info] html generated`), [missing]);
});

test('issue forms ask for the report of kernels.html, and workflows run scripts that there are', () => {
  const { parse } = createRequire(path.join(TOOLS, 'package.json'))('yaml');
  const parsed = (folder) =>
    fs
      .readdirSync(path.join(ROOT, folder))
      .map((name) => [name, parse(fs.readFileSync(path.join(ROOT, folder, name), 'utf8'))]);
  for (const [name, { body }] of parsed('.github/ISSUE_TEMPLATE').filter(([file]) => file !== 'config.yml')) {
    const ids = body.map(({ id }) => id).filter(Boolean);
    assert.equal(new Set(ids).size, ids.length, name);
    const report = body.find(({ id }) => id === 'kernels');
    assert.equal(report?.type, 'textarea', name);
    assert.match(JSON.stringify(report.attributes), /kernels\.html/, name);
  }
  const { scripts } = readJson(path.join(ROOT, 'package.json'));
  const commands = parsed('.github/workflows').flatMap(([, { jobs }]) =>
    Object.values(jobs).flatMap(({ steps }) => steps.map(({ run }) => run ?? '')),
  );
  for (const command of commands) {
    for (const [, script] of command.matchAll(/npm run ([\w:]+)/g)) assert.ok(scripts[script], command);
  }
  for (const wanted of ['npm test', 'npm run site', 'npm publish --provenance --access public']) {
    assert.ok(commands.includes(wanted), wanted);
  }
});

// ---- the device page ------------------------------------------------------------------------------------------------

test('whether it runs is said for every kind of browser', () => {
  const good = { wasm: true, secure: true, webgpu: true, adapter: true, software: false };
  const answers = [
    [{}, 'good', /on the GPU/],
    [{ software: true }, 'fair', /computes on the CPU/],
    [{ adapter: false }, 'fair', /offers no GPU/],
    [{ webgpu: false, adapter: false }, 'fair', /has no WebGPU/],
    [{ secure: false, webgpu: false, adapter: false }, 'fair', /not secure/],
    [{ wasm: false }, 'bad', /switched off/],
  ];
  for (const [change, level, pattern] of answers) {
    const answer = answerOf({ ...good, ...change });
    assert.equal(answer.level, level);
    assert.match(`${answer.words} ${answer.advice}`, pattern);
  }
  const limits = limitRows({ maxBufferSize: 2 ** 31, maxStorageBufferBindingSize: 2 ** 27 });
  assert.deepEqual(limits[0], ['maxBufferSize', '2.1 GB', '268 MB']);
  const model = {
    backend: 'GPU',
    verdict: 'failed',
    wrong: ['mat_vec.q4_k'],
    rate: '9.0 tokens/s',
    variants: ['a', 'b'],
  };
  const text = markdown({ agent: 'X', answer: answerOf(good), adapter: 'Y', features: [], limits, model });
  assert.match(text, /^\*\*Yes, on the GPU\.\*\*/);
  assert.match(text, /- wrong: mat_vec\.q4_k\n- kernels: a, b\n\n\| limit/);
});

// ---- pages ----------------------------------------------------------------------------------------------------------

const AXE = fs.readFileSync(path.join(ROOT, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/** Rules that the markup of TypeDoc breaks: headings of members in a summary, and their levels. */
const OF_TYPEDOC = { rules: { 'heading-order': { enabled: false }, 'nested-interactive': { enabled: false } } };

async function violations(page, options = {}) {
  await page.evaluate((source) => {
    if (!globalThis.axe) (0, eval)(source);
  }, AXE);
  const found = await page.evaluate(async (given) => (await globalThis.axe.run(given)).violations, options);
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`),
  );
}

/** Elements that make the page wider than the window. */
const tooWide = (page) =>
  page.evaluate(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    const wide = [...document.querySelectorAll('body *')].filter(
      (each) => each.getBoundingClientRect().right > innerWidth,
    );
    return ['the page scrolls sideways', ...wide.slice(0, 5).map((each) => each.outerHTML.slice(0, 120))];
  });

/** What the console and uncaught errors said. */
const faultsOf = ({ log, crashes }) => [...crashes, ...log.filter((line) => /^error/.test(line))];

const LOOKED_AT = [
  ...['index.html', 'train.html', 'device.html', 'kernels.html', 'answers.html', 'bench.html', 'results.html'],
  ...['guides/index.html', 'guides/first-page.html', 'docs/models.html'],
  ...['examples/index.html', 'examples/extract.code.html', 'examples/search/index.html', 'examples/digits/index.html'],
  ...['examples/react-chat/index.html', 'examples/train/index.html', 'examples/tabs/index.html'],
  ...['examples/ask-your-files/index.html', 'examples/agents/index.html'],
  ...['api/index.html', 'api/classes/webgguf.WasmModel.html'],
];

/** Sizes of windows: a narrow phone in both modes, a desk in one, since the colours are the same. */
const WINDOWS = {
  light: [
    [320, 640],
    [1440, 900],
  ],
  dark: [[320, 640]],
};

for (const [colorScheme, sizes] of Object.entries(WINDOWS)) {
  const declare = testIf(colorScheme === 'light');
  declare(`pages are in order at ${sizes.map(([width]) => width).join(' and ')} pixels: ${colorScheme}`, async () => {
    // The first page's policy forbids what axe-core needs.
    const context = await browser.newContext({ colorScheme, bypassCSP: true, serviceWorkers: 'block' });
    for (const name of LOOKED_AT) {
      const page = await openPage(context, at(name));
      if (/^(index|train|device)/.test(name)) await waitForState(page, ['ready']);
      for (const [width, height] of sizes) {
        await page.setViewportSize({ width, height });
        assert.deepEqual(await tooWide(page), [], `${name} at ${width}`);
        const rules = name.startsWith('api/') ? OF_TYPEDOC : {};
        assert.deepEqual(await violations(page, rules), [], `${name} at ${width}`);
        const picture = `site-${name.replaceAll(/\W/g, '-')}-${width}-${colorScheme}.png`;
        await page.screenshot({ path: path.join(CACHE, 'screenshots', picture) });
      }
      assert.deepEqual(faultsOf(page), [], name);
      await page.close();
    }
    await context.close();
  });
}

test('the first page tells a story, and its links lead to the others', async () => {
  const page = await openPage(browser, at(''));
  await waitForState(page, ['ready']);
  for (const words of ['Examples', 'Guides', 'API', 'Does it run here?']) {
    assert.ok(await page.locator('#welcome').getByRole('link', { name: words, exact: true }).isVisible(), words);
  }
  assert.match(await say(page, 'Tell me a story about a hedgehog'), /\w+ \w+ \w+/);
  assert.deepEqual(faultsOf(page), []);
  await page.close();
});

test('a guide is read with the keyboard: skip, copy, follow', async () => {
  const context = await browser.newContext({ serviceWorkers: 'block' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await openPage(context, at('guides/first-page.html'));
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the text');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  const block = page.locator('.code').first();
  const first = await page.evaluate(() => document.activeElement.closest('main') !== null);
  assert.ok(first, 'the focus is in the text');
  await block.getByRole('button', { name: 'Copy' }).focus();
  await page.keyboard.press('Enter');
  await block.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await block.locator('code').innerText());
  await page.locator('.aside').getByRole('link', { name: 'Chat', exact: true }).press('Enter');
  await page.waitForURL(/guides\/chat\.html$/);
  assert.deepEqual(faultsOf(page), []);
  await context.close();
});

test('the code of an example is the file that runs', async () => {
  const page = await openPage(browser, at('examples/spectrum.code.html'));
  const shown = await page.locator('[data-file="examples/spectrum/spectrum.js"] code').textContent();
  assert.equal(shown, read('examples/spectrum/spectrum.js'));
  assert.equal(shown, fs.readFileSync(path.join(ROOT, 'examples/spectrum/spectrum.js'), 'utf8'));
  await page.getByRole('link', { name: 'Open' }).click();
  await page.locator('#status', { hasText: /four notes.* computed in/ }).waitFor();
  assert.equal(await page.locator('#peaks li').count(), 4);
  assert.equal(await page.innerText('#error'), '');
  assert.deepEqual(faultsOf(page), []);
  await page.close();
});

test('an example in React loads the model it is told, after a click', async () => {
  const page = await openPage(browser, at('examples/react-chat/index.html?model=../../models/storyteller.gguf'));
  await page.getByRole('button', { name: 'Load the model' }).click();
  await page.getByLabel('Message', { exact: true }).fill('Roll two dice');
  await page.getByRole('button', { name: 'Send' }).click();
  await page
    .locator('.assistant p', { hasText: /\w+ \w+/ })
    .first()
    .waitFor();
  assert.deepEqual(faultsOf(page), []);
  await page.close();
});

test('the device page checks the kernels with the built-in model, and reports', async () => {
  const context = await browser.newContext({ serviceWorkers: 'block' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await openPage(context, at('device.html'));
  await waitForState(page, ['ready']);
  assert.equal(await page.locator('#fits li').count(), 14);
  await page.click('#check');
  await waitForState(page, ['done']);
  assert.match(await page.innerText('#story'), /^Once upon a time.{60}/s);
  await page.click('#copy');
  await page.getByText('Copied').first().waitFor();
  assert.match(
    await page.evaluate(() => navigator.clipboard.readText()),
    /storyteller: on the [CG]PU, [\d.]+ tokens\/s/,
  );
  assert.deepEqual(faultsOf(page), []);
  await context.close();
});

/** What the hub's API says of a repository. */
const HUB_FILES = [{ type: 'file', path: 'Qwen3-0.6B-Q8_0.gguf' }];

// ---- the CDN --------------------------------------------------------------------------------------------------------

test("the guide's page from a CDN runs as it stands, with this server in place of the CDN and the hub", async () => {
  const guide = fs.readFileSync(path.join(ROOT, 'docs/guides/first-page.md'), 'utf8');
  const [html] = [...guide.matchAll(/^```html\n([^]*?)^```$/gm)]
    .map(([, text]) => text)
    .filter((text) => /cdn/.test(text));
  const cdn = await serve({
    mounts: { '/': path.join(ROOT, 'dist') },
    routes: {
      '/page.html': (_, response) => response.setHeader('Content-Type', 'text/html').end(html),
      '/model.gguf': (request, response) => {
        const file = path.join(ROOT, 'www', 'models', 'storyteller.gguf');
        sendFile(request, response, file, fs.statSync(file).size);
      },
    },
  });
  const page = await browser.newPage({ serviceWorkers: 'block' });
  const CORS = { 'access-control-allow-origin': '*' };
  const asked = [];
  await page.route('https://cdn.jsdelivr.net/npm/webgguf@*/dist/**', async (route) => {
    const { pathname } = new URL(route.request().url());
    asked.push(pathname);
    const response = await route.fetch({ url: cdn.url + pathname.replace(/^.*?\/dist/, '') });
    await route.fulfill({ response, headers: { ...response.headers(), ...CORS } });
  });
  await page.route('https://huggingface.co/api/**', (route) => route.fulfill({ headers: CORS, json: HUB_FILES }));
  await page.route('https://huggingface.co/Qwen/**', async (route) => {
    const response = await route.fetch({ url: `${cdn.url}/model.gguf` });
    await route.fulfill({ response, headers: { ...response.headers(), ...CORS } });
  });
  await page.goto(`${cdn.url}/page.html`);
  await page.locator('#story', { hasText: /\w+ \w+ \w+ \w+ \w+/ }).waitFor();
  assert.ok(
    asked.some((name) => /webgguf_bg\.wasm$/.test(name)),
    'the WebAssembly comes from the CDN',
  );
  await page.close();
  await cdn.close();
});
