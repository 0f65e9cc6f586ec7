// `npm test`: prepares, builds, runs every suite, and counts. The last line is `N passed, N failed`, with
// `, N skipped` where tests were skipped. `npm test -- --only host,page` runs some suites, `--list` names them, and
// `--all` runs what takes long, too (tests/long.mjs).
// Two suites run at a time, unless the machine is small or `--lanes 1` says otherwise; each prints its output in one
// block when it is over.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { browserTests } from './browser-tests.mjs';
import {
  ARITHMETIC_BUDGET,
  BARE,
  build,
  buildHarness,
  core,
  GRAMMAR_BUDGET,
  isForArithmetic,
  isForGrammars,
  isForLearning,
  isForMedia,
  LEARNING_BUDGET,
  MEDIA_BUDGET,
  SIZE_BUDGET,
  sizes,
  sum,
} from './build.mjs';
import { CACHE, cargoHome, filesUnder, isMain, ROOT, run, runMain, seconds, Stop, which } from './common.mjs';
import { inLanes } from './lanes.mjs';
import { prepare } from './prepare.mjs';
import { option } from './serve.mjs';
import { driverEnv, findDriverManifest } from './firefox.mjs';
import { firefoxDone, firefoxSkipped } from './firefox-setup.mjs';
import { style } from './style.mjs';
import { rustEnv } from './toolchain.mjs';

const SUITE_MS = 80 * 60_000;
/** What the slowest file of tests, the one of mutants, takes four times. */
const FILE_MS = 40 * 60_000;
/** A browser and what it does in software beside a compiler: two suites at a time need a core and this much each. */
const LANE_BYTES = 3e9;
/**
 * What takes minutes, longest first. Of two lanes neither is to end long before the other: what is long begins early.
 */
const LONGEST = ['browser', 'page', 'host', 'package', 'style', 'firefox', 'real', 'soak'];
const BUILD = { name: 'build' };
/** Of a suite's failures at most twice as much is printed again at the end. */
const TOLD_CHARS = 6000;

/** Suites as they are listed; `needsBuild` ones are failed without a run when the package does not build. */
const SUITES = [
  { name: 'style', about: 'rustfmt, clippy, Biome, width of lines', work: style },
  { name: 'host', about: 'cargo test: everything that needs no browser', work: host },
  { name: 'tools', about: 'the scripts themselves', work: () => nodeTests('tests/tools') },
  { name: 'browser', about: 'wasm-pack test: kernels and models on a WebGPU device in Chromium', work: browser },
  { name: 'types', about: 'tsc --strict over the example', work: types, needsBuild: true },
  {
    name: 'js',
    about: 'the TypeScript over a mock of the WebAssembly, and both in Node.js',
    work: () => nodeTests('tests/js'),
    needsBuild: true,
  },
  { name: 'media', about: 'images as encoders read them: the crate', work: images },
  {
    name: 'grammar',
    about: 'grammars of llguidance: the crate, and JSON that schemas describe',
    work: grammars,
    needsBuild: true,
  },
  { name: 'size', about: 'the package stays inside its budget', work: size, needsBuild: true },
  { name: 'page', about: 'the pages and the package in Chromium', work: pages, needsBuild: true },
  {
    name: 'soak',
    about: 'two minutes of requests while servers, devices, workers, the disk and tabs fail',
    work: () => nodeTests('tests/soak'),
    needsBuild: true,
  },
  { name: 'site', about: 'the site is built, and its pages in Chromium', work: site, needsBuild: true },
  { name: 'firefox', about: 'kernels, models, a training and the demo in Firefox', work: firefox, needsBuild: true },
  { name: 'real', about: 'published models against llama.cpp', work: () => nodeTests('tests/real'), needsBuild: true },
  { name: 'package', about: 'npm pack, installed elsewhere', work: () => nodeTests('tests/package'), needsBuild: true },
];

// ---- runners --------------------------------------------------------------------------------------------------------

async function host() {
  const cargo = which('cargo', [path.join(cargoHome(), 'bin')]);
  const env = { ...rustEnv(path.dirname(cargo)), RUST_BACKTRACE: '1' };
  const hasDriver = findDriverManifest() !== null;
  const args = ['test', ...BARE, '--features', hasDriver ? 'harness,tensors' : 'harness'];
  // The driver's libraries are for the tests alone, not for the compiler.
  await run(cargo, [...args, '--no-run'], { env, timeoutMs: SUITE_MS });
  const options = { env: { ...env, ...driverEnv() }, timeoutMs: SUITE_MS };
  const counts = countCargo(await run(cargo, [...args, '--no-fail-fast'], options));
  if (hasDriver) return counts;
  const { skipped: tensors } = skipped(
    'tensors from Rust: no Vulkan driver; run `npm run setup`, or set VK_DRIVER_FILES',
  );
  return { ...counts, skipped: counts.skipped + tensors };
}

/** The crate for images. */
async function images() {
  const cargo = which('cargo', [path.join(cargoHome(), 'bin')]);
  const env = { ...rustEnv(path.dirname(cargo)), CARGO_TARGET_DIR: path.join(ROOT, 'target', 'media') };
  return countCargo(
    await run(cargo, ['test', '--no-fail-fast'], { cwd: path.join(ROOT, 'media'), env, timeoutMs: SUITE_MS }),
  );
}

/** The crate alone, then the schemas of JSON Schema's test suite with a model. */
async function grammars() {
  const cargo = which('cargo', [path.join(cargoHome(), 'bin')]);
  const env = { ...rustEnv(path.dirname(cargo)), CARGO_TARGET_DIR: path.join(ROOT, 'target', 'grammar') };
  const folder = path.join(ROOT, 'grammar');
  const crate = countCargo(await run(cargo, ['test', '--no-fail-fast'], { cwd: folder, env, timeoutMs: SUITE_MS }));
  const texts = await nodeTests('tests/grammar');
  const both = (name) => crate[name] + texts[name];
  return { passed: both('passed'), failed: both('failed'), skipped: both('skipped'), told: both('told') };
}

async function browser() {
  return countCargo(await browserTests({ all: isWhole(), timeoutMs: SUITE_MS }));
}

async function nodeTests(folder) {
  const files = filesUnder(folder).filter((file) => file.endsWith('.test.mjs'));
  // One file at a time: each drives a browser of its own.
  // A file that does not end is failed and the next one runs.
  const args = ['--test', '--test-reporter=spec', '--test-concurrency=1', `--test-timeout=${FILE_MS}`, ...files];
  return countNode(await run(process.execPath, args, { timeoutMs: SUITE_MS }));
}

async function pages() {
  await buildHarness();
  return nodeTests('tests/page');
}

async function site() {
  await buildHarness();
  return nodeTests('tests/site');
}

async function firefox() {
  if (!firefoxDone()) return skipped(firefoxSkipped() ?? 'Firefox or lavapipe is missing; run `npm run setup`');
  await buildHarness();
  return nodeTests('tests/firefox');
}

function skipped(why) {
  console.log(`skipped: ${why}`);
  return { passed: 0, failed: 0, skipped: 1 };
}

async function types() {
  const tsc = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { code } = await run(process.execPath, [tsc, '-p', 'tests/package']);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}

function size() {
  const { inCore, others } = core();
  const checks = [
    ['core', sum(inCore, 'gzip'), SIZE_BUDGET],
    ['grammars', sum(sizes().filter(isForGrammars), 'gzip'), GRAMMAR_BUDGET],
    ['images', sum(sizes().filter(isForMedia), 'gzip'), MEDIA_BUDGET],
    ['compute and training', sum(others.filter(isForArithmetic), 'gzip'), ARITHMETIC_BUDGET],
    ['training of models', sum(others.filter(isForLearning), 'gzip'), LEARNING_BUDGET],
  ];
  console.log(`other entry points, shaders of tensors: ${sum(others, 'gzip').toLocaleString('en')} bytes, gzipped`);
  const fitting = checks.filter(([name, total, budget]) => {
    console.log(`${name}: ${total.toLocaleString('en')} of ${budget.toLocaleString('en')} bytes, gzipped`);
    return total > 0 && total <= budget;
  });
  return { passed: fitting.length, failed: checks.length - fitting.length, skipped: 0 };
}

// ---- counting -------------------------------------------------------------------------------------------------------

/** Adds up cargo's `test result:` lines, which wasm-bindgen's runner prints too. */
export function countCargo({ code, output }) {
  const counts = { passed: 0, failed: 0, skipped: 0, told: '' };
  for (const [, passed, failed, ignored] of output.matchAll(/(\d+) passed; (\d+) failed; (\d+) ignored/g)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  // Of each program of tests, what is between the list of its failures and its result.
  for (const [text] of output.matchAll(/^failures:\n\n[^]*?(?=^test result)/gm)) counts.told += text;
  return withExitCode(counts, code);
}

/** Reads the closing lines of node's test runner. */
export function countNode({ code, output }) {
  const number = (name) => Number(new RegExp(`^. ${name} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);
  const counts = {
    passed: number('pass'),
    failed: number('fail') + number('cancelled'),
    skipped: number('skipped') + number('todo'),
    told: /^. failing tests:\n([^]*)/m.exec(output)?.[1] ?? '',
  };
  return withExitCode(counts, code);
}

/** A run that failed without a failed test did not get as far as its tests: that is one failure. */
function withExitCode(counts, code) {
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

// ---- the run --------------------------------------------------------------------------------------------------------

async function runSuite(suite, building) {
  const buildError = suite.needsBuild && (await building);
  console.log(`\n==== ${suite.name}: ${suite.about}`);
  const start = performance.now();
  let counts;
  try {
    if (buildError) throw new Stop('the package did not build');
    counts = await suite.work();
    if (counts.passed + counts.failed + counts.skipped === 0) throw new Stop('the suite ran no test');
  } catch (error) {
    console.error(error instanceof Stop ? error.message : error);
    counts = { passed: 0, failed: 1, skipped: 0, ...counts };
    counts.failed = Math.max(1, counts.failed);
  }
  return { name: suite.name, ...counts, time: seconds(start) };
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

/** Whether tests that take long run, too. */
const isWhole = () => process.argv.includes('--all');

function laneCount() {
  const fitting = Math.min(os.availableParallelism(), Math.floor(os.totalmem() / LANE_BYTES), 2);
  return Math.max(1, Number(option('lanes', fitting)));
}

/**
 * Suites in the order in which they begin, and among them `BUILD` where one needs it. With two lanes the longest suite
 * that needs no build begins beside that.
 */
export function schedule(chosen, lanes) {
  const rank = ({ name }) => (LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length);
  const order = lanes > 1 ? chosen.toSorted((a, b) => rank(a) - rank(b)) : [...chosen];
  if (!chosen.some((suite) => suite.needsBuild)) return order;
  const beside = lanes > 1 ? order.findIndex((suite) => !suite.needsBuild) : -1;
  const first = beside < 0 ? [] : order.splice(beside, 1);
  return [...first, BUILD, ...order];
}

/** Runs the suites; their rows, in the order of `chosen`. */
async function runSuites(chosen) {
  const lanes = Math.min(laneCount(), chosen.length);
  let built;
  const building = new Promise((resolve) => {
    built = resolve;
  });
  const work = (suite) => (suite === BUILD ? tryBuild().then(built) : runSuite(suite, building));
  const jobs = schedule(chosen, lanes).map((suite) => ({ name: suite.name, work: () => work(suite) }));
  const rows = await inLanes(lanes, jobs);
  return chosen.map((suite) => rows.find((row) => row?.name === suite.name));
}

function printTable(rows) {
  const line = ({ name, passed, failed, skipped, time }) =>
    `${name.padEnd(10)}${[passed, failed, skipped].map((n) => String(n).padStart(9)).join('')}${time.padStart(11)}`;
  console.log(`\n${line({ name: 'suite', passed: 'passed', failed: 'failed', skipped: 'skipped', time: 'time' })}`);
  rows.forEach((row) => console.log(line(row)));
}

/** What failed once more, where who reads only the end finds it; of long texts the first and the last part. */
function printFailures(rows) {
  for (const { name, told = '' } of rows) {
    if (!told.trim()) continue;
    const fits = told.length <= 2 * TOLD_CHARS;
    const text = fits ? told : `${told.slice(0, TOLD_CHARS)}\n[…]\n${told.slice(-TOLD_CHARS)}`;
    console.log(`\n==== failed in ${name}\n${text.trim()}`);
  }
}

async function main() {
  if (process.argv.includes('--list')) {
    SUITES.forEach(({ name, about }) => console.log(`${name.padEnd(10)}${about}`));
    return;
  }
  const start = performance.now();
  if (isWhole()) process.env.WEBGGUF_ALL = '1';
  const chosen = chooseSuites();
  fs.mkdirSync(CACHE, { recursive: true });
  await prepare({ tests: true });
  const rows = await runSuites(chosen);
  printFailures(rows);
  printTable(rows);
  const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map((key) => sum(rows, key));
  if (failed > 0) process.exitCode = 1;
  console.log(`\nall of it in ${seconds(start)}`);
  console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
}

if (isMain(import.meta.url)) await runMain(main);
