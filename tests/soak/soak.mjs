// Requests in several tabs while everything goes wrong that may: servers that cut, stall, are busy and send wrong
// bytes; a full disk; devices that are lost, workers that end, requests that are cancelled, downloads that are paused,
// tabs that are closed.
// Every request ends in text or in an error with a code, what is stored is whole, and memory stays.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { openBrowser, PATIENCE_MS } from '../../tools/browser.mjs';
import { ROOT } from '../../tools/common.mjs';
import { serve } from '../../tools/serve.mjs';
import { faultyRoutes, pick, randomOf } from './faults.mjs';
import { request, stored, watch } from './page.js';

const NAMES = ['llama-q8_0', 'qwen3-q4_0'];
const TABS = 3;
/** What goes wrong in the page; `null` as often as all others. */
export const FAULTS = ['device', 'worker', 'full', 'abort', 'close', 'pause'];
/** Longer than any request may take: one that is not over then hangs. */
const HANGS_MS = PATIENCE_MS;
/** Heaps of JavaScript may end this much larger than they were after the first quarter. */
const MOST_GROWTH = 8 << 20;

const codes = new Set(
  [...fs.readFileSync(path.join(ROOT, 'js', 'errors.ts'), 'utf8').matchAll(/^ {2}(\w+): true,$/gm)].map((m) => m[1]),
);

const shaOf = (name) =>
  createHash('sha256')
    .update(fs.readFileSync(path.join(ROOT, 'tests', 'fixtures', 'models', `${name}.gguf`)))
    .digest('hex');

/**
 * Runs `rounds` rounds, a request in each tab. Throws where something is wrong; the seed repeats it, but for what the
 * timing changes.
 * @param {{rounds: number, seed: number, say?: (line: string) => void, isOver?: () => boolean}} options
 * @returns {Promise<Record<'ends' | 'answers' | 'faults', Record<string, number>>>} how requests ended, what the server
 *   did, and what went wrong in the page
 */
export async function soak({ rounds, seed, say = () => {}, isOver = () => false }) {
  // Requests come to the server as the timing has it: it draws numbers of its own, so that the plans are repeated.
  const random = randomOf(seed);
  const { faults, routes } = faultyRoutes(NAMES, randomOf(seed + 1));
  routes['/blank'] = (_, response) =>
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>soak</title>');
  const { url, close } = await serve({ routes });
  const browser = await openBrowser();
  try {
    const context = await browser.newContext();
    await context.addInitScript(watch);
    const open = async () => {
      const page = await context.newPage();
      await page.goto(`${url}/blank`);
      return page;
    };
    const models = NAMES.map((name) => ({ url: `${url}/${name}.gguf`, sha256: shaOf(name) }));
    faults.on = false;
    const first = await open();
    for (const model of models) {
      const found = await first.evaluate(request, { ...model, options: { cache: false } });
      assert.equal(found.ids?.length, 24, JSON.stringify(found));
      model.expected = found.ids;
    }
    await first.close();
    faults.on = true;

    const tabs = await Promise.all(Array.from({ length: TABS }, open));
    const ends = {};
    const planned = {};
    const heaps = [];
    for (let round = 0; round < rounds && !isOver(); round++) {
      const plans = tabs.map(() => planOf(random, models));
      const found = await Promise.all(plans.map((plan, at) => ended(tabs, at, plan, open)));
      for (const [at, end] of found.entries()) {
        const kind = judge(plans[at], end, `seed ${seed}, round ${round}, tab ${at}`);
        ends[kind] = (ends[kind] ?? 0) + 1;
        const { fault } = plans[at];
        if (fault) planned[fault] = (planned[fault] ?? 0) + 1;
      }
      heaps.push(await heapOf(tabs[0]));
      if (round % 10 === 9) say(`${round + 1} rounds: ${JSON.stringify(ends)}`);
    }

    // All is well again: what is stored is whole, what is not there comes.
    faults.on = false;
    const last = await open();
    for (const model of models) {
      const found = await last.evaluate(request, { ...model, sha256: undefined, options: { worker: true } });
      assert.deepEqual(found.ids, model.expected, `seed ${seed}: from what is stored: ${JSON.stringify(found)}`);
    }
    const kept = await last.evaluate(stored);
    for (const { bytes, size, key } of kept.filter((model) => model.complete))
      assert.ok(bytes === size, `seed ${seed}: ${key} is complete with ${bytes} of ${size} bytes`);
    const settled = heaps[Math.floor(heaps.length / 4)];
    const grown = Math.min(...heaps.slice(-3)) - settled;
    assert.ok(grown < MOST_GROWTH, `seed ${seed}: the heap grew by ${grown} bytes, from ${settled}`);
    return { ends, answers: faults.counts, faults: planned };
  } finally {
    await browser.close();
    await close();
  }
}

/** What a tab does next. */
function planOf(random, models) {
  const model = pick(random, models);
  const options = {
    backend: pick(random, ['cpu', 'cpu', 'webgpu']),
    worker: random() < 0.5,
    cache: pick(random, [true, true, false, 'revalidate']),
  };
  const fault = random() < 0.5 ? pick(random, FAULTS) : null;
  return { ...model, options, fault, after: Math.floor(random() * 800) };
}

/** Runs a plan in the tab at `at`, which may be closed on the way. */
async function ended(tabs, at, { expected, ...plan }, open) {
  const page = tabs[at];
  let timer;
  const hangs = new Promise((resolve) => {
    timer = setTimeout(resolve, HANGS_MS, { hangs: true });
  });
  if (plan.fault === 'close') {
    page.evaluate(request, plan).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, plan.after));
    await page.close();
    clearTimeout(timer);
    tabs[at] = await open();
    return { closed: true };
  }
  const end = await Promise.race([page.evaluate(request, plan), hangs]);
  clearTimeout(timer);
  return end;
}

/** How a request ended, in a word; throws where it may not end so. */
function judge({ expected, fault, options }, end, where) {
  const told = `${where}, ${JSON.stringify(options)} with ${fault}: ${JSON.stringify(end)}`;
  assert.ok(!end.hangs, `${told}: it hangs`);
  if (end.closed) return 'closed';
  if (end.ids) {
    assert.deepEqual(end.ids, expected.slice(0, end.ids.length), `${told}: another text`);
    assert.ok(end.ids.length === expected.length || end.finishReason === 'abort', `${told}: a text that is cut`);
    return 'text';
  }
  if (end.name === 'AbortError') {
    assert.equal(fault, 'abort', `${told}: nobody cancelled it`);
    return 'aborted';
  }
  assert.equal(end.name, 'WebggufError', told);
  assert.ok(codes.has(end.code) && end.code !== 'internal', told);
  return end.code;
}

/** Bytes that JavaScript of a page uses, after its garbage was collected. */
async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}
