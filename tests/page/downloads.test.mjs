// Downloads in a real browser: a file over several connections, and pauses, in the page and in a worker; the demo's
// button for it. The server counts what it is asked for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDemo, openPage, waitForState } from '../../tools/demo.mjs';
import { parseRange } from '../../tools/serve.mjs';
import { largeModel, WIDE } from './large_model.mjs';
import { openSite, until, violations } from './site.mjs';

const MB = 1 << 20;
const model = largeModel({ ...WIDE, layers: 1, hidden: 512, heads: 8, kvHeads: 2, ffn: 2048 });
/** What was asked for, and the answers that are open; after `stopAt` bytes of an answer nothing more comes. */
const served = { asked: [], open: new Set(), stopAt: Infinity };

function serveModel(request, response) {
  if (request.method === 'HEAD') return response.writeHead(405).end();
  const { start = 0 } = parseRange(request.headers.range, model.bytes) ?? {};
  served.asked.push({ start, range: request.headers.range });
  served.open.add(response.on('close', () => served.open.delete(response)));
  const write = response.write.bind(response);
  let sent = 0;
  response.write = (bytes) => {
    if (sent >= served.stopAt) return false; // and never `drain`
    sent += bytes.length;
    return write(bytes);
  };
  return model.route(request, response);
}

const reset = () => Object.assign(served, { asked: [], stopAt: Infinity });
const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank, '/bad/model.gguf': serveModel } });

/** Runs `work(package, argument)` in a page of storage of its own. */
async function inPage(work, argument) {
  const page = await (await site.browser.newContext()).newPage();
  await page.goto(`${site.url}/blank`);
  const result = page.evaluate(
    async ([source, value]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), value),
    [work.toString(), argument],
  );
  return { page, result };
}

const write = async ({ WasmModel }, options) => {
  const loaded = [];
  const onProgress = (progress) => {
    if (progress.stage === 'download') loaded.push((globalThis.loaded = progress.loaded));
  };
  const model = await WasmModel.load('/bad/model.gguf', { backend: 'cpu', ...options, onProgress });
  const { ids } = await model.generate([5, 6, 7, 8], { maxTokens: 4, ignoreEos: true, temperature: 0 });
  await model.free();
  return { ids: [...ids], isMonotonic: loaded.every((bytes, at) => at === 0 || bytes >= loaded[at - 1]) };
};

const expected = await (async () => {
  const { page, result } = await inPage(write, { connections: 1, cache: false });
  const { ids } = await result;
  await page.context().close();
  return ids;
})();

for (const worker of [false, true]) {
  const where = worker ? 'in a worker' : 'in the page';

  test(`${where}: parts come over three connections, each byte once`, async () => {
    reset();
    const { page, result } = await inPage(write, { worker, connections: 3, cache: worker });
    assert.deepEqual(await result, { ids: expected, isMonotonic: true });
    const parts = served.asked.filter(({ range }) => /-\d/.test(range)).map(({ range }) => range);
    assert.ok(parts.length >= 2, parts.join());
    assert.equal(new Set(parts).size, parts.length);
    assert.equal(served.asked.length, parts.length + 1);
    await page.context().close();
  });

  test(`${where}: a pause closes the connection, and the rest is asked for once`, async () => {
    reset();
    served.stopAt = 12 * MB;
    const load = async ({ DownloadControl }, [source, options]) => {
      window.download = new DownloadControl();
      const { download } = window;
      return (0, eval)(`(${source})`)(await import('/dist/index.js'), { ...options, download });
    };
    const { page, result } = await inPage(load, [write.toString(), { worker, connections: 1 }]);
    await page.waitForFunction(() => globalThis.loaded > 0);
    await page.evaluate(() => window.download.pause());
    await until(() => served.open.size === 0, 'the connection is closed');
    const list = () => page.evaluate(async () => (await import('/dist/index.js')).cache.list());
    await until(async () => (await list())[0]?.bytes > 0, 'what came is stored');
    assert.equal(served.asked.length, 1);
    served.stopAt = Infinity;
    await page.evaluate(() => window.download.resume());
    assert.deepEqual(await result, { ids: expected, isMonotonic: true });
    assert.equal(served.asked.length, 2);
    const [{ complete }] = await list();
    assert.ok(complete);
    await page.context().close();
  });
}

// ---- the demo -------------------------------------------------------------------------------------------------------

/** Opens the demo with a download that has stopped in the middle. */
async function openStopped(options = {}, prepare = () => {}) {
  reset();
  served.stopAt = 12 * MB;
  const context = await site.browser.newContext({ serviceWorkers: 'block', ...options });
  await prepare(context);
  const page = await openPage(context, `${site.url}/?backend=cpu&model=/bad/model.gguf`);
  await waitForState(page, ['loading']);
  await page.waitForFunction(() => / of /.test(document.querySelector('#loading-words').textContent));
  return { context, page };
}

const words = (page) => page.innerText('#loading-words');

test('the demo pauses a download by the keyboard, says so, and goes on', async () => {
  const { context, page } = await openStopped();
  await page.focus('#loading-pause');
  assert.equal(await page.innerText('#loading-pause'), 'Pause');
  await page.keyboard.press('Enter');
  await until(() => served.open.size === 0, 'the connection is closed');
  assert.match(await words(page), /^paused at .* of /);
  assert.equal(await page.evaluate(() => document.activeElement.innerText), 'Resume');
  assert.deepEqual(await violations(page), []);
  served.stopAt = Infinity;
  await page.keyboard.press('Space');
  await waitForState(page, ['ready']);
  assert.equal(served.asked.length, 2);
  assert.deepEqual(page.crashes, []);
  await context.close();
});

test('a page that is closed in a pause goes on at the next visit', async () => {
  const { context, page } = await openStopped();
  await page.click('#loading-pause');
  await until(() => served.open.size === 0, 'the connection is closed');
  const stored = () => page.evaluate(async () => (await import('/dist/index.js')).cache.list());
  await until(async () => (await stored())[0]?.bytes > 0, 'what came is stored');
  const [{ bytes }] = await stored();
  served.stopAt = Infinity;
  await page.goto(`${site.url}/?backend=cpu&model=/bad/model.gguf`);
  await waitForState(page, ['ready']);
  assert.deepEqual(
    served.asked.map(({ start }) => start),
    [0, bytes],
  );
  await context.close();
});

test('a paused download is cancelled, and what needs none has no button', async () => {
  const { context, page } = await openStopped();
  await page.click('#loading-pause');
  await page.click('#loading-cancel');
  await waitForState(page, ['empty']);
  await page.click('#error button:text("Use the built-in storyteller")');
  await waitForState(page, ['ready']);
  await context.close();
  const again = await openDemo(site.browser, `${site.url}/?backend=cpu`);
  assert.ok(await again.isHidden('#loading-pause'));
  await again.close();
});

test('a device that goes over to a mobile network pauses, and goes on when it is back', async () => {
  const network = (context) =>
    context.addInitScript(() => {
      const connection = Object.assign(new EventTarget(), { type: 'wifi' });
      Object.defineProperty(navigator, 'connection', { get: () => connection });
      window.goOver = (type) => {
        connection.type = type;
        connection.dispatchEvent(new Event('change'));
      };
    });
  const { context, page } = await openStopped({}, network);
  await page.evaluate(() => window.goOver('cellular'));
  await until(() => served.open.size === 0, 'the connection is closed');
  assert.match(await words(page), /^paused at .*: this device is on a mobile network now$/);
  served.stopAt = Infinity;
  await page.evaluate(() => window.goOver('wifi'));
  await waitForState(page, ['ready']);
  await context.close();
});

/** The package, with what its load reports at `globalThis.report`, for tests to report more. */
const REPORTING = `export * from '/dist/index.js?package';
import { WasmModel as Loaded } from '/dist/index.js?package';
export class WasmModel extends Loaded {
  static load(source, options) {
    globalThis.report = options.onProgress;
    return super.load(source, options);
  }
}`;

/** Whether the button is hidden right after a report of `stage`: others may come at any time. */
const isHiddenAt = (page, stage) =>
  page.evaluate((name) => {
    globalThis.report({ stage: name, loaded: 1, total: 2, fraction: 0.5 });
    return document.querySelector('#loading-pause').hidden;
  }, stage);

const reporting = (context) =>
  context.route('**/dist/index.js', (route) => route.fulfill({ contentType: 'text/javascript', body: REPORTING }));

test('a paused load keeps its button, whatever it reports meanwhile', async () => {
  const { context, page } = await openStopped({}, reporting);
  assert.equal(await isHiddenAt(page, 'compile'), true);
  assert.equal(await isHiddenAt(page, 'download'), false);
  await page.click('#loading-pause');
  assert.equal(await isHiddenAt(page, 'compile'), false);
  served.stopAt = Infinity;
  await page.click('#loading-pause');
  await waitForState(page, ['ready']);
  await context.close();
});
