// What page tests share: one server and one browser per file, and fixtures.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { openBrowser, PATIENCE_MS } from '../../tools/browser.mjs';
import { copyLibraries } from '../../tools/build.mjs';
import { CACHE, ROOT } from '../../tools/common.mjs';
import { openPage } from '../../tools/demo.mjs';
import { readExpectations } from '../../tools/expectations.mjs';
import { serve } from '../../tools/serve.mjs';
import { compareForced, compareGreedy } from '../../www/answers/compare.js';

export const MODELS = path.join(ROOT, 'tests', 'fixtures', 'models');
/** The smallest model there is: enough where only the way matters. */
export const SMALL = '/fixtures/models/llama-bf16.gguf';
export const STORYTELLER = '/models/storyteller.gguf';

/**
 * Starts a server and a browser for the tests of a file; both end with them.
 * @param {object} [options] of `serve`, and `args`: further flags of the browser
 * @returns {Promise<{url: string, browser: object, open: (pathname: string) => Promise<object>}>}
 */
export async function openSite({ args, ...options } = {}) {
  copyLibraries();
  const { url, close } = await serve(options);
  const browser = await openBrowser({ args });
  after(async () => {
    await browser.close();
    await close();
  });
  return { url, browser, open: (pathname) => openPage(browser, url + pathname) };
}

/** Waits until `condition` holds, looking again and again; `what` it was goes into the error. */
export async function until(condition, what) {
  for (const start = performance.now(); !(await condition()); ) {
    assert.ok(performance.now() - start < PATIENCE_MS, `waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What `arrived` gives: the report of `page`. Fails with what the page said where none comes. */
export function reportOf(page, arrived) {
  const late = new Promise((_, reject) => {
    const said = () => [...page.log, ...page.crashes].join('\n');
    setTimeout(() => reject(new Error(`no report; the page said:\n${said()}`)), PATIENCE_MS).unref();
  });
  return Promise.race([arrived, late]);
}

/** Expectations from llama.cpp by model name, `same_as` resolved. */
export function expectations() {
  return readExpectations(MODELS).map((entry) => ({ ...entry, url: `/fixtures/models/${entry.files[0]}` }));
}

/** A URL that holds `value`. */
export const jsonUrl = (value) => `data:application/json,${encodeURIComponent(JSON.stringify(value))}`;

/**
 * Starts a server and a browser as {@link openSite} does.
 * @returns {Promise<{site: object, evaluate: (parameters: object) => Promise<object>}>} `evaluate` gives what
 *   www/evaluate.html reports for these parameters
 */
export async function openEvaluation(options = {}) {
  let deliver = () => {};
  const site = await openSite({ ...options, onReport: (value) => deliver(value) });
  const evaluate = async (parameters) => {
    const arrived = new Promise((resolve) => {
      deliver = resolve;
    });
    const page = await site.open(`/evaluate.html?${new URLSearchParams({ ...parameters, report: '/result' })}`);
    try {
      return await reportOf(page, arrived);
    } finally {
      await page.close();
    }
  };
  return { site, evaluate };
}

/** Keeps a picture for people to look at. */
export async function screenshot(page, name) {
  const file = path.join(CACHE, 'screenshots', `${name}.png`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  await page.screenshot({ path: file, fullPage: true });
}

const AXE = path.join(ROOT, 'node_modules', 'axe-core', 'axe.min.js');

/** What axe-core finds wrong with the page as it is now. */
export async function violations(page) {
  await page.evaluate(
    (source) => {
      if (!globalThis.axe) (0, eval)(source);
    },
    fs.readFileSync(AXE, 'utf8'),
  );
  const found = await page.evaluate(async () => (await globalThis.axe.run()).violations);
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`),
  );
}

/**
 * Answers of a server that behaves badly, for `serve({routes})`. Each takes the file it should have sent.
 */
export const badRoutes = {
  /** Sends half of the bytes it announced, then hangs up, every time. */
  cut: (file) => (request, response) => {
    const bytes = fs.readFileSync(file);
    response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': bytes.length });
    response.write(bytes.subarray(0, bytes.length / 2), () => setTimeout(() => response.destroy(), 50));
  },
  /** Sends all but the last bytes, which are weights; hangs up once its `hangUp()` is called, and from then on. */
  late: (file) => {
    let hangUp;
    const isTime = new Promise((resolve) => {
      hangUp = resolve;
    });
    const route = (request, response) => {
      const bytes = fs.readFileSync(file);
      response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': bytes.length });
      response.write(bytes.subarray(0, bytes.length - 100), () => isTime.then(() => response.destroy()));
    };
    return Object.assign(route, { hangUp });
  },
  /** Knows no ranges, and does not say how long the file is. */
  plain: (file) => (request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/octet-stream' });
    fs.createReadStream(file).pipe(response);
  },
  /** Hangs up in the middle the first time; knows ranges, so that the rest can be asked for. */
  resumable: (file) => {
    let asked = 0;
    return (request, response) => {
      const bytes = fs.readFileSync(file);
      const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const headers = { 'Accept-Ranges': 'bytes', ETag: '"1"', 'Content-Length': bytes.length - start };
      if (start > 0) headers['Content-Range'] = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
      response.writeHead(start > 0 ? 206 : 200, headers);
      asked += 1;
      if (asked > 1) response.end(bytes.subarray(start));
      else response.write(bytes.subarray(0, bytes.length / 2), () => setTimeout(() => response.destroy(), 50));
    };
  },
  /** Sends a little, then nothing more. */
  stalled: (file) => (request, response) => {
    const bytes = fs.readFileSync(file);
    response.writeHead(200, { 'Content-Length': bytes.length });
    response.write(bytes.subarray(0, 1000));
  },
};

// ---- comparing with llama.cpp ---------------------------------------------------------------------------------------

/** Tokens of greedy text that the expectations hold. */
export const PREDICT = 64;

const isIntegers = (list, length) => {
  assert.equal(list.length, length);
  assert.ok(list.every(Number.isInteger));
};

/** Forced decoding agrees as far as rounding lets it. */
export function agree({ top1, logprobs }, wanted) {
  isIntegers(top1, wanted.top1.length);
  assert.equal(logprobs.length, wanted.logprobs.length);
  assert.ok(logprobs.every((value) => Number.isFinite(value) && value <= 0));
  const { share, off, differing, unexcused, agrees } = compareForced({ top1, logprobs }, wanted);
  const words = `top-1 agrees in ${share}, not at ${differing.slice(0, 8)}, without excuse at ${unexcused.slice(0, 8)}`;
  assert.ok(agrees, `${words}; log-probabilities are off by ${off} on average`);
}

/** Greedy ids are equal up to the first near tie. */
export function sameGreedy(generated, wanted) {
  isIntegers(generated, PREDICT);
  const { equal, agrees } = compareGreedy(generated, wanted, { count: PREDICT });
  assert.ok(agrees, `greedy text differs at ${equal}: ${generated[equal]}, not ${wanted.greedy[equal]}`);
}
