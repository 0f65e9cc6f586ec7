// `npm test`: prepares, builds, runs every suite, and counts. The last line is `N passed, N failed`, with
// `, N skipped` where tests were skipped. `npm test -- --only host,page` runs some suites, `--list` names them, and
// `--all` runs what takes long, too (tests/long.mjs), `--record` notes which programs passed (unchanged.mjs).
// Two suites run at a time, unless the machine is small or `--lanes 1` says otherwise; each prints its output in one
// block when it is over. A program of tests that fails is run once more at the end, by itself, see programs.mjs.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from './build.mjs';
import { CACHE, isMain, ROOT, runMain, seconds, Stop } from './common.mjs';
import { added } from './counting.mjs';
import { inLanes } from './lanes.mjs';
import { prepare } from './prepare.mjs';
import { FLAKY, runAgain } from './programs.mjs';
import { option } from './serve.mjs';
import { sum } from './sizes.mjs';
import { isWhole, SUITES } from './suites.mjs';

/** A browser and what it does in software beside a compiler: two suites at a time need a core and this much each. */
const LANE_BYTES = 3e9;
/** What takes minutes, longest first. */
const LONGEST = ['browser', 'host', 'package', 'style', 'firefox', 'real', 'soak', 'site'];
/** Many files that may run beside each other: last, so that both lanes have work to the end. */
const LAST = ['page'];
const BUILD = { name: 'build' };
/** At most twice as much of a suite's failures is printed again at the end. */
const TOLD_CHARS = 6000;

/** A run of everything writes at most this in a bare clone. */
const DISK_BYTES = 12e9;

/** Says so where the disk may become full, before what then fails says something else. */
export function diskWarning({ bavail, bsize }, isBare) {
  const free = bavail * bsize;
  if (!isBare || free >= DISK_BYTES) return null;
  const [has, wants] = [free, DISK_BYTES].map((bytes) => `${(bytes / 1e9).toFixed(1)} GB`);
  return `the disk has ${has} free, and a run of everything in a bare clone writes up to ${wants}`;
}

/** Runs one of the chains of a suite; its counts. */
async function runChain(suite, work, building) {
  const buildError = suite.needsBuild && (await building);
  console.log(`\n==== ${suite.name}: ${suite.about}`);
  const start = performance.now();
  let counts;
  try {
    if (buildError) throw new Stop('the package did not build');
    counts = await work();
    if (counts.passed + counts.failed + counts.skipped === 0) throw new Stop('the suite ran no test');
  } catch (error) {
    const told = error instanceof Stop ? error.message : error.stack;
    console.error(told);
    counts = { passed: 0, skipped: 0, failed: 1, told };
  }
  return { ...counts, ms: performance.now() - start };
}

/** The row of a suite: what its chains counted. */
function rowOf(name, chains) {
  const again = chains.flatMap((counts) => counts.again ?? []);
  return { name, ...added(chains), again, ms: sum(chains, 'ms') };
}

async function tryBuild() {
  try {
    await build();
    return null;
  } catch (error) {
    console.error(error instanceof Stop ? error.message : error);
    return error;
  }
}

function chooseSuites() {
  const only = option('only')?.split(',');
  const unknown = only?.find((name) => !SUITES.some((suite) => suite.name === name));
  if (unknown !== undefined)
    throw new Stop(`no suite ${unknown}`, `one of ${SUITES.map(({ name }) => name).join(', ')}`);
  return SUITES.filter(({ name }) => !only || only.includes(name));
}

function laneCount() {
  const fitting = Math.min(os.availableParallelism(), Math.floor(os.totalmem() / LANE_BYTES), 2);
  return Math.max(1, Number(option('lanes', fitting)));
}

/**
 * Suites in the order in which they begin, and among them `BUILD` where one needs it. With two lanes the longest suite
 * that needs no build begins beside that.
 */
export function schedule(chosen, lanes) {
  const rank = ({ name }) => (LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length + LAST.indexOf(name) + 1);
  const before = (a, b) => (lanes > 1 ? rank(a) - rank(b) : LAST.indexOf(a.name) - LAST.indexOf(b.name));
  const order = chosen.toSorted(before);
  if (!chosen.some((suite) => suite.needsBuild)) return order;
  const beside = lanes > 1 ? order.findIndex((suite) => !suite.needsBuild) : -1;
  const first = beside < 0 ? [] : order.splice(beside, 1);
  return [...first, BUILD, ...order];
}

/** Runs the suites; their rows, in the order of `chosen`. */
async function runSuites(chosen) {
  const lanes = laneCount();
  let built;
  const building = new Promise((resolve) => {
    built = resolve;
  });
  const jobsOf = (suite) => {
    if (suite === BUILD) return [{ name: suite.name, work: () => tryBuild().then(built) }];
    return suite.chains().map(({ name, work }) => ({
      name: name ? `${suite.name}, ${name}` : suite.name,
      work: async () => ({ suite: suite.name, counts: await runChain(suite, work, building) }),
    }));
  };
  const results = await inLanes(lanes, schedule(chosen, lanes).flatMap(jobsOf));
  const chainsOf = (name) => results.filter((result) => result?.suite === name).map(({ counts }) => counts);
  return chosen.map(({ name }) => rowOf(name, chainsOf(name)));
}

function printTable(rows) {
  const line = ({ name, passed, failed, skipped }, time) =>
    `${name.padEnd(10)}${[passed, failed, skipped].map((n) => String(n).padStart(9)).join('')}${time.padStart(11)}`;
  console.log(`\n${line({ name: 'suite', passed: 'passed', failed: 'failed', skipped: 'skipped' }, 'time')}`);
  rows.forEach((row) => console.log(line(row, `${(row.ms / 1000).toFixed(1)} s`)));
}

/** What failed once more, where who reads only the end finds it; of long texts the first and the last part. */
function printFailures(rows) {
  for (const { name, told = '' } of rows) if (told.trim()) printTold(`failed in ${name}`, told);
}

function printTold(title, told) {
  const fits = told.length <= 2 * TOLD_CHARS;
  const text = fits ? told : `${told.slice(0, TOLD_CHARS)}\n[…]\n${told.slice(-TOLD_CHARS)}`;
  console.log(`\n==== ${title}\n${text.trim()}`);
}

/** Names what passed only when it was run again. */
function printFlaky(flaky) {
  for (const { name } of flaky) console.log(`flaky: ${name}: failed, and passed when it was run again by itself`);
  if (flaky.length > FLAKY) console.log(`${flaky.length} are flaky; of more than ${FLAKY} the failures count`);
}

async function main() {
  if (process.argv.includes('--list')) {
    SUITES.forEach(({ name, about }) => console.log(`${name.padEnd(10)}${about}`));
    return;
  }
  const start = performance.now();
  if (isWhole()) process.env.WEBGGUF_ALL = '1';
  // A run of everything compiles everything: what cargo would keep for a later change takes 2 GB and time.
  if (!option('only')) process.env.CARGO_INCREMENTAL ??= '0';
  const chosen = chooseSuites();
  const isBare = !option('only') && !fs.existsSync(path.join(ROOT, 'target'));
  const warning = diskWarning(fs.statfsSync(ROOT), isBare);
  if (warning) console.warn(warning);
  fs.mkdirSync(CACHE, { recursive: true });
  await prepare({ tests: true });
  const { rows, flaky } = await runAgain(await runSuites(chosen));
  flaky.forEach(({ name, told }) => printTold(`failed the first time: ${name}`, told));
  printFailures(rows);
  printTable(rows);
  const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map((key) => sum(rows, key));
  if (failed > 0) process.exitCode = 1;
  console.log(`\nall of it in ${seconds(start)}`);
  printFlaky(flaky);
  console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
}

if (isMain(import.meta.url)) await runMain(main);
