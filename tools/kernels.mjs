// Runs kernel cases in headless Chromium: `node tools/kernels.mjs [--only STEM[,STEM]] [--case TEXT] [--timed]`.
//
// For work on a kernel: builds the harness, runs the cases of some stems and prints a line per variant and one per
// failure. `www/kernels.html` shows the same cases to people.

import { openBrowser } from './browser.mjs';
import { buildHarness } from './build.mjs';
import { isMain, runMain, seconds, Stop } from './common.mjs';
import { prepare } from './prepare.mjs';
import { option, serve } from './serve.mjs';

const BLANK = '<!doctype html><title>kernels</title>';

async function main() {
  await prepare({ quiet: true });
  await buildHarness({ quiet: true });
  const page = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(BLANK);
  const server = await serve({ routes: { '/blank.html': page } });
  const browser = await openBrowser();
  try {
    const tab = await browser.newPage();
    tab.on('pageerror', (error) => console.error(error.message));
    tab.on('console', (message) => message.type() === 'error' && console.error(message.text()));
    await tab.goto(`${server.url}/blank.html`);
    const start = performance.now();
    report(await tab.evaluate(runCases, { ...wanted(), module: '/harness/webgguf.js' }), start);
  } finally {
    await browser.close();
    await server.close();
  }
}

/** What the command line asks for. */
export function wanted() {
  return {
    only: option('only')?.split(',') ?? null,
    text: option('case') ?? '',
    timed: process.argv.includes('--timed'),
  };
}

/** In the page: runs the wanted cases, one after the other. */
export async function runCases({ only, text, timed, module, wasm }) {
  const { default: init, Harness } = await import(module);
  await init(wasm && { module_or_path: wasm });
  const harness = await Harness.open();
  const results = [];
  for (const [index, entry] of harness.list().entries()) {
    if (only && !only.includes(entry.kernel)) continue;
    if (!`${entry.variant} ${entry.case}`.includes(text)) continue;
    results.push({ ...entry, ...(await harness.run(index, timed)) });
  }
  return results;
}

/** Prints how the cases came out; a failed one makes the exit status 1. */
export function report(results, start) {
  if (results.length === 0) throw new Stop('no case fits', 'see src/kernels/ for the names');
  const variants = Map.groupBy ? Map.groupBy(results, (r) => r.variant) : groupBy(results);
  for (const [variant, cases] of variants) {
    const worst = Math.max(...cases.map((r) => r.ofLimit ?? 0));
    const failed = cases.filter((r) => r.status === 'failed');
    const time = cases.reduce((sum, r) => sum + r.ms, 0);
    const limit = `worst ${worst.toFixed(3)} of the limit`;
    console.log(`${variant}: ${cases.length} cases, ${failed.length} failed, ${limit}, ${time.toFixed(0)} ms`);
    failed.forEach((r) => console.log(`  FAILED ${r.reason}`));
  }
  const count = (status) => results.filter((r) => r.status === status).length;
  console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped in ${seconds(start)}`);
  if (count('failed') > 0) process.exitCode = 1;
}

function groupBy(results) {
  const groups = new Map();
  results.forEach((r) => groups.set(r.variant, [...(groups.get(r.variant) ?? []), r]));
  return groups;
}

if (isMain(import.meta.url)) await runMain(main);
