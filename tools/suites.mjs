// The suites of `npm test`. Each has chains of work: what is in one chain runs one after the other, and two chains may
// run beside each other.

import fs from 'node:fs';
import path from 'node:path';
import { compileTests, testsAmong } from './artifacts.mjs';
import { browserProgram, browserPrograms, compileBrowserPrograms } from './browser-tests.mjs';
import { buildHarness } from './build.mjs';
import { findBrowser, findDriver } from './browser.mjs';
import { filesUnder, ROOT, run } from './common.mjs';
import { added, countCargo, countNode, hasFailedTest } from './counting.mjs';
import { driverEnv, findDriverManifest } from './firefox.mjs';
import { firefoxDone, firefoxSkipped } from './firefox-setup.mjs';
import { BARE } from './modules.mjs';
import { runPrograms } from './programs.mjs';
import {
  ARITHMETIC_BUDGET,
  core,
  GRAMMAR_BUDGET,
  isForArithmetic,
  isForGrammars,
  isForLearning,
  isForMedia,
  isForSpeech,
  isForVoice,
  LEARNING_BUDGET,
  MEDIA_BUDGET,
  SIZE_BUDGET,
  sizes,
  sum,
  SPEECH_BUDGET,
  VOICE_BUDGET,
} from './sizes.mjs';
import { style } from './style.mjs';
import { findCargo, rustEnv } from './toolchain.mjs';
import { unchanged } from './unchanged.mjs';
import { watch } from './watch.mjs';

/**
 * Suites as they are listed: `chains` gives the work of each, with a name where there are several. Those with
 * `needsBuild` are failed without a run when the package does not build.
 */
export const SUITES = [
  { name: 'style', about: 'rustfmt, clippy, Biome; budgets, words, paths in documents', chains: one(style) },
  { name: 'host', about: 'cargo test: everything that needs no browser', chains: one(host) },
  { name: 'tools', about: 'the scripts themselves', chains: one(() => nodeTests('tests/tools')) },
  { name: 'browser', about: 'kernels and models on a WebGPU device in Chromium', chains: one(browser) },
  { name: 'types', about: 'tsc --strict over the example', chains: one(types), needsBuild: true },
  {
    name: 'js',
    about: 'the TypeScript over a mock of the WebAssembly, and both in Node.js',
    chains: one(() => nodeTests('tests/js')),
    needsBuild: true,
  },
  { name: 'media', about: 'images as encoders read them: the crate', chains: one(images) },
  {
    name: 'grammar',
    about: 'grammars of llguidance: the crate, and JSON that schemas describe',
    chains: one(grammars),
    needsBuild: true,
  },
  { name: 'size', about: 'the package stays inside its budget', chains: one(size), needsBuild: true },
  { name: 'page', about: 'the pages and the package in Chromium', chains: pages, needsBuild: true },
  {
    name: 'soak',
    about: 'two minutes of requests while servers, devices, workers, the disk and tabs fail',
    chains: one(() => nodeTests('tests/soak')),
    needsBuild: true,
  },
  { name: 'site', about: 'the site is built, and its pages in Chromium', chains: one(site), needsBuild: true },
  {
    name: 'firefox',
    about: 'kernels, models, speech, a training and the demo in Firefox',
    chains: one(firefox),
    needsBuild: true,
  },
  {
    name: 'real',
    about: 'published models against llama.cpp',
    chains: one(() => nodeTests('tests/real')),
    needsBuild: true,
  },
  {
    name: 'package',
    about: 'npm pack, installed elsewhere',
    chains: one(() => nodeTests('tests/package')),
    needsBuild: true,
  },
];

/** A suite of one chain. */
function one(work) {
  return () => [{ work }];
}

// ---- Node.js --------------------------------------------------------------------------------------------------------

function testFiles(folder) {
  return filesUnder(folder).filter((file) => file.endsWith('.test.mjs'));
}

/** A file of tests, in a process of its own; `limits` are those of `watch`. */
export function nodeProgram(file, { quiet = false, ...limits } = {}) {
  return {
    name: path.posix.basename(file),
    run: () =>
      run(process.execPath, ['--test-reporter=spec', path.join(ROOT, file)], {
        // Without this variable it is a run of its own, also where a test starts it.
        env: { NODE_TEST_CONTEXT: '' },
        isAlone: true,
        quiet,
        watch: watch({ hasFailed: hasFailedTest, ...limits }),
      }),
    count: countNode,
  };
}

/** One file at a time: files of these suites share folders. */
function nodeTests(folder) {
  return runPrograms(testFiles(folder).map((file) => nodeProgram(file)));
}

/** The harness is built once for all files. */
let harness;
const withHarness = async (work) => {
  harness ??= buildHarness();
  await harness;
  return work();
};

/** Each file is a chain: it has a server and a browser of its own. */
function pages() {
  return testFiles('tests/page').map((file) => ({
    name: path.posix.basename(file),
    work: () => withHarness(() => runPrograms([nodeProgram(file)])),
  }));
}

function site() {
  return withHarness(() => nodeTests('tests/site'));
}

function firefox() {
  if (!firefoxDone()) return skipped(firefoxSkipped() ?? 'Firefox or lavapipe is missing; run `npm run setup`');
  return withHarness(() => nodeTests('tests/firefox'));
}

function skipped(why) {
  console.log(`skipped: ${why}`);
  return { passed: 0, failed: 0, skipped: 1, told: '' };
}

async function types() {
  const tsc = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { code } = await run(process.execPath, [tsc, '-p', 'tests/package']);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}

// ---- cargo ----------------------------------------------------------------------------------------------------------

/** How cargo is asked for one of the programs that it has built. */
const SELECTORS = { lib: '--lib', cdylib: '--lib', rlib: '--lib', bin: '--bin', example: '--example', test: '--test' };

/** The programs of tests among what `cargo test --no-run --message-format=json` prints: arguments that select each. */
export function programsOf(output) {
  return testsAmong(output).map(({ target }) => {
    const selector = SELECTORS[target.kind[0]];
    return selector === '--lib' ? [selector] : [selector, target.name];
  });
}

/**
 * Compiles a crate's tests, then runs each program and the code in its documentation. Examples are left to clippy.
 * @param {string[]} args of cargo
 * @param {object} [options] `targets`: which of the programs, as arguments; without them all, and the documentation
 */
async function cargoTests(args, { cwd = ROOT, env, testEnv = {}, targets }) {
  const cargo = findCargo();
  const chosen = targets ?? ['--tests'];
  const what = `the tests in ${path.relative(ROOT, cwd) || 'src/ and tests/'}`;
  const output = await compileTests(cargo, [...args, ...chosen], { cwd, env }, what);
  const hasDocuments = !targets && fs.existsSync(path.join(cwd, 'src', 'lib.rs'));
  const programs = [...programsOf(output), ...(hasDocuments ? [['--doc']] : [])];
  return runPrograms(programs.map((selector) => cargoProgram(cargo, [...args, ...selector], { cwd, env, testEnv })));
}

function cargoProgram(cargo, args, { cwd, env, testEnv }) {
  const options = { cwd, env: { ...env, ...testEnv }, isAlone: true };
  const isDocuments = args.at(-1) === '--doc';
  return {
    name: isDocuments ? 'documentation' : args.at(-1).replace('--lib', 'src'),
    run: () => run(cargo, ['test', ...args], { ...options, watch: watch() }),
    count: countCargo,
    // A crate may have no code in its documentation, and a program no test on this system.
    mayBeEmpty: true,
  };
}

/**
 * Programs that compute little. They, the tests in src/ and the library for both are compiled without optimisation: a
 * program takes a second then in place of five to twenty, and all of them together run for twelve seconds more.
 */
export const PLAIN = [
  ...['adapters', 'config', 'dispatches', 'embed_rows', 'encoders', 'experts', 'formats', 'hadamard', 'layout', 'plan'],
  ...['hearing', 'pocket', 'saved', 'scales'],
];

/** The programs in tests/. */
export const hostPrograms = () =>
  filesUnder('tests').flatMap((file) => /^tests\/(\w+)(?:\/main)?\.rs$/.exec(file)?.[1] ?? []);

const selected = (names) => names.flatMap((name) => ['--test', name]);

async function host() {
  const env = { ...rustEnv(path.dirname(findCargo())), RUST_BACKTRACE: '1' };
  const hasDriver = findDriverManifest() !== null;
  // Models on the native GPU are tested in the browser, too, so a short run leaves them out.
  const features = hasDriver ? ['harness', 'tensors', ...(isWhole() ? ['gpu-tests'] : [])] : ['harness'];
  const args = [...BARE, '--features', features.join(',')];
  // The driver's libraries are for the tests alone, not for the compiler.
  const options = { env, testEnv: driverEnv() };
  const plain = [...args, '--config', 'profile.test.package.webgguf.opt-level=0'];
  const parts = [
    await cargoTests(plain, { ...options, targets: ['--lib', ...selected(PLAIN)] }),
    await cargoTests(args, { ...options, targets: selected(hostPrograms().filter((name) => !PLAIN.includes(name))) }),
    await runPrograms([cargoProgram(findCargo(), [...args, '--doc'], options)]),
  ];
  const counts = { ...added(parts), again: parts.flatMap(({ again }) => again) };
  if (hasDriver) return counts;
  const tensors = skipped('tensors from Rust: no Vulkan driver; run `npm run setup`, or set VK_DRIVER_FILES');
  return { ...counts, skipped: counts.skipped + tensors.skipped };
}

/** A crate in a folder of its own, which has its own folder of what cargo builds. */
function crate(name) {
  const env = { ...rustEnv(path.dirname(findCargo())), CARGO_TARGET_DIR: path.join(ROOT, 'target', name) };
  return cargoTests([], { cwd: path.join(ROOT, name), env });
}

/** The crate for images. */
function images() {
  return crate('media');
}

/** The crate alone, then the schemas of JSON Schema's test suite with a model. */
async function grammars() {
  const parts = [await crate('grammar'), await nodeTests('tests/grammar')];
  return { ...added(parts), again: parts.flatMap(({ again }) => again) };
}

async function browser() {
  if (!findDriver()) return skipped('no chromedriver; install the one of your Chrome, or set CHROMEDRIVER to its path');
  const names = browserPrograms();
  const { isKnown, record } = unchanged(names, findBrowser());
  const known = isWhole() ? [] : names.filter(isKnown);
  const same = known.map((name) =>
    skipped(`${name} passed, and nothing that it is compiled from has changed since; --all runs it`),
  );
  const left = names.filter((name) => !known.includes(name));
  if (left.length === 0) return added(same);
  const files = await compileBrowserPrograms(left);
  const ran = await runPrograms(
    left.map((name) => ({
      name,
      run: () => browserProgram(files.get(name), { all: isWhole(), isAlone: true, watch: watch() }),
      count: (result) => {
        const counts = countCargo(result);
        if (counts.failed === 0 && process.argv.includes('--record')) record(name);
        return counts;
      },
    })),
  );
  return { ...added([...same, ran]), again: ran.again };
}

/** Whether tests that take long run, too. */
export const isWhole = () => process.argv.includes('--all');

// ---- sizes ----------------------------------------------------------------------------------------------------------

function size() {
  const { inCore, others } = core();
  const checks = [
    ['core', sum(inCore, 'gzip'), SIZE_BUDGET],
    ['grammars', sum(sizes().filter(isForGrammars), 'gzip'), GRAMMAR_BUDGET],
    ['images', sum(sizes().filter(isForMedia), 'gzip'), MEDIA_BUDGET],
    ['compute and training', sum(others.filter(isForArithmetic), 'gzip'), ARITHMETIC_BUDGET],
    ['speech', sum(sizes().filter(isForSpeech), 'gzip'), SPEECH_BUDGET],
    ['voice', sum(sizes().filter(isForVoice), 'gzip'), VOICE_BUDGET],
    ['training of models', sum(others.filter(isForLearning), 'gzip'), LEARNING_BUDGET],
  ];
  console.log(`other entry points, shaders of tensors: ${sum(others, 'gzip').toLocaleString('en')} bytes, gzipped`);
  const fitting = checks.filter(([name, total, budget]) => {
    console.log(`${name}: ${total.toLocaleString('en')} of ${budget.toLocaleString('en')} bytes, gzipped`);
    return total > 0 && total <= budget;
  });
  return { passed: fitting.length, failed: checks.length - fitting.length, skipped: 0 };
}
