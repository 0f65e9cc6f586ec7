// Prepares a machine to build and test: `npm run setup`, and first thing in `npm start` and `npm test`.
//
// Each step knows how to tell that it is done (in milliseconds), how to do itself, and what to say when it cannot.

import fs from 'node:fs';
import path from 'node:path';
import { cargoInstall } from './bindgen.mjs';
import { findBrowser, findDriver } from './browser.mjs';
import {
  ask,
  CACHE,
  cargoHome,
  hashOf,
  isMain,
  isRoot,
  must,
  readJson,
  ROOT,
  run,
  runMain,
  seconds,
  Stop,
  which,
  withLock,
} from './common.mjs';
import { dawnSkipped, findDawnManifest, prepareDawn } from './dawn-setup.mjs';
import { firefoxDone, firefoxSkipped, prepareFirefox } from './firefox-setup.mjs';
import { npmCommand } from './system.mjs';
import {
  bindgenVersion,
  findTestRunner,
  findToolchain,
  hasCargoCommand,
  neededRust,
  oldRust,
  remapFlags,
  rustEnv,
  TARGET,
} from './toolchain.mjs';

const DEBIAN_RUST = ['rustc-web', 'cargo-web', 'rust-web-src', 'lld'];
const NPM_STAMP = path.join(ROOT, 'node_modules', '.lock-hash');

/**
 * `forTests` are needed by tests alone: to build and to serve, Node.js and Rust are enough. A step with `skipped` is
 * for single suites, which are skipped where it says why. One that is `isOptional` may fail: its tests are skipped
 * then.
 */
const STEPS = [
  { name: 'Node.js', done: nodeDone, perform: refuseNode },
  { name: `Rust for ${TARGET}`, done: async () => (await findToolchain())?.version, perform: prepareRust },
  { name: 'npm packages', done: npmDone, perform: prepareNpm },
  { name: 'Chrome or Chromium', done: findBrowser, perform: () => aptInstall(['chromium'], CHROME), forTests: true },
  {
    name: 'chromedriver',
    done: findDriver,
    perform: () => aptInstall(['chromium-driver'], 'or set CHROMEDRIVER to its path'),
    skipped: aptSkipped,
    forTests: true,
  },
  { name: 'the runner of wasm-bindgen', done: findTestRunner, perform: installRunner, forTests: true },
  { name: 'rustfmt and clippy', done: lintersDone, perform: prepareLinters, skipped: lintersSkipped, forTests: true },
  {
    name: 'Firefox and lavapipe',
    done: firefoxDone,
    perform: () => prepareFirefox((packages) => aptInstall(packages, 'or set FIREFOX to its path')),
    skipped: firefoxSkipped,
    forTests: true,
  },
  {
    name: 'lavapipe for Node.js',
    done: findDawnManifest,
    perform: prepareDawn,
    skipped: dawnSkipped,
    isOptional: true,
    forTests: true,
  },
];

/**
 * Runs the steps that are not done. Throws `Stop` at the first that cannot be done.
 * @param {{quiet?: boolean, tests?: boolean}} [options] `tests`: also what only tests need
 */
export async function prepare({ quiet = false, tests = false } = {}) {
  await withLock('prepare', async () => {
    for (const step of stepsFor(tests)) await performStep(step, quiet);
  });
}

/** The steps of `npm start`, or those of `npm test`. */
export const stepsFor = (tests) => STEPS.filter((step) => tests || !step.forTests);

async function performStep(step, quiet) {
  const before = await step.done();
  if (before) {
    if (!quiet) console.log(`ready   ${step.name}  (${shorten(before)})`);
    return;
  }
  const why = await step.skipped?.();
  if (why) {
    console.log(`skipped ${step.name}: ${why}`);
    return;
  }
  console.log(`prepare ${step.name}`);
  const start = performance.now();
  try {
    await step.perform();
  } catch (error) {
    if (!step.isOptional) throw error;
    console.log(`skipped ${step.name}: ${error.message}`);
    return;
  }
  const after = await step.done();
  if (!after) throw new Stop(`${step.name}: installed, but still not usable`, 'read the lines above, then try again');
  console.log(`ready   ${step.name}  (${shorten(after)}, ${seconds(start)})`);
}

const shorten = (state) => (typeof state === 'string' ? state.replace(`${ROOT}${path.sep}`, '') : 'up to date');

// ---- Node.js --------------------------------------------------------------------------------------------------------

const neededNode = () => /\d+\.\d+/.exec(readJson(path.join(ROOT, 'package.json')).engines.node)[0];

/** Whether a version such as `v20.19.0` is at least one such as `20.19`. */
export function isNodeNewEnough(version, needed) {
  const [have, want] = [version.replace('v', ''), needed].map((text) => text.split('.').map(Number));
  return have[0] > want[0] || (have[0] === want[0] && have[1] >= want[1]);
}

function nodeDone() {
  return isNodeNewEnough(process.version, neededNode()) ? process.version : null;
}

function refuseNode() {
  throw new Stop(`Node.js ${process.version} is too old`, `install ${neededNode()} or newer, from https://nodejs.org`);
}

// ---- Rust -----------------------------------------------------------------------------------------------------------

async function prepareRust() {
  const rustup = findRustup();
  const old = oldRust();
  if (old)
    throw new Stop(
      `${old} is too old`,
      `webgguf needs ${neededRust()} or newer: ${rustup ? '`rustup update stable`' : RUSTUP}`,
    );
  if (rustup && process.env.WEBGGUF_RUST !== '/usr/bin' && (await addRustupTarget(rustup))) return;
  if (!which('apt-get'))
    throw new Stop(`no Rust that builds for ${TARGET}`, rustup ? `\`rustup target add ${TARGET}\`` : RUSTUP);
  await aptInstall(DEBIAN_RUST, `or ${RUSTUP}`);
  linkLinker();
  await buildStandardLibrary();
}

const RUSTUP = 'install rustup (https://rustup.rs), which brings Rust, and open a new terminal';

const findRustup = () => which('rustup', [path.join(cargoHome(), 'bin')]);

async function addRustupTarget(rustup) {
  console.log(`  rustup target add ${TARGET}`);
  const { code, output } = await run(rustup, ['target', 'add', TARGET], { quiet: true, timeoutMs: 300_000 });
  if (code === 0 && (await findToolchain())) return true;
  console.log(`  rustup could not: ${output.trim().split('\n').pop()}`);
  return false;
}

async function lintersDone() {
  const { bin } = await findToolchain();
  return hasCargoCommand(bin, 'fmt') && hasCargoCommand(bin, 'clippy');
}

async function lintersSkipped() {
  const { bin } = await findToolchain();
  return findRustup() && bin !== '/usr/bin' ? null : `the Rust in ${bin} is not rustup's, which alone can add them`;
}

async function prepareLinters() {
  await must(findRustup(), ['component', 'add', 'rustfmt', 'clippy'], { quiet: true, timeoutMs: 300_000 });
}

/** rustc asks for `rust-lld` in its own folder of tools; Debian's lld is the same program under another name. */
function linkLinker() {
  const host = /host: (\S+)/.exec(ask('/usr/bin/rustc', ['-vV']))[1];
  const folder = `/usr/lib/rustlib/${host}/bin`;
  if (fs.existsSync(path.join(folder, 'rust-lld')) || which('rust-lld')) return;
  fs.mkdirSync(folder, { recursive: true });
  fs.symlinkSync('/usr/bin/lld', path.join(folder, 'rust-lld'));
}

/** Debian ships the sources of std but no wasm32 build of it: builds it once, into rustc's own folder. */
async function buildStandardLibrary() {
  console.log('  building the standard library (a minute or two, once)');
  const folder = path.join(CACHE, 'std');
  fs.mkdirSync(path.join(folder, 'src'), { recursive: true });
  fs.writeFileSync(
    path.join(folder, 'Cargo.toml'),
    '[package]\nname = "std-build"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n',
  );
  fs.writeFileSync(path.join(folder, 'src', 'lib.rs'), '#![no_std]\n');
  const env = {
    ...rustEnv('/usr/bin'),
    RUSTC_BOOTSTRAP: '1',
    CARGO_TARGET_DIR: path.join(folder, 'target'),
    // The release build optimises across crates, std among them; and its panic messages show none of our folders.
    RUSTFLAGS: ['-C embed-bitcode=yes', ...remapFlags()].join(' '),
  };
  const args = ['build', '-Zbuild-std=std,panic_abort,test,proc_macro', '--release', '--target', TARGET];
  await must('/usr/bin/cargo', args, { cwd: folder, env, quiet: true });
  const built = path.join(folder, 'target', TARGET, 'release', 'deps');
  const library = `/usr/lib/rustlib/${TARGET}/lib`;
  // Two builds of one crate side by side would be ambiguous.
  fs.rmSync(library, { recursive: true, force: true });
  fs.mkdirSync(library, { recursive: true });
  for (const name of fs
    .readdirSync(built)
    .filter((file) => file.endsWith('.rlib') && !file.startsWith('libstd_build'))) {
    fs.copyFileSync(path.join(built, name), path.join(library, name));
  }
  fs.rmSync(folder, { recursive: true, force: true });
}

// ---- tools ----------------------------------------------------------------------------------------------------------

/** Installs into cargo's own folder, or beside the project when another version is there already. */
async function installRunner() {
  const { bin } = await findToolchain();
  const taken = which('wasm-bindgen', [path.join(cargoHome(), 'bin')]);
  const place = taken ? ['--root', path.join(CACHE, 'cargo')] : [];
  console.log('  cargo install wasm-bindgen-cli (two minutes on two cores, once)');
  await cargoInstall({ bin }, ['wasm-bindgen-cli', '--version', bindgenVersion(), ...place], CACHE);
}

const CHROME = 'or install Chrome, or set CHROME to the path of Chrome or Chromium';

/** Why nothing can be installed here by Debian's packages, or null. */
function aptSkipped() {
  if (!which('apt-get')) return 'not found, and no Debian to install it from';
  return isRoot() && process.env.WEBGGUF_APT !== '0' ? null : 'not found, and apt-get is not to be used here';
}

let aptUpdated = false;

async function aptInstall(packages, hint) {
  if (!which('apt-get')) throw new Stop(`missing: ${packages.join(', ')}`, hint.replace(/^or /, ''));
  if (!isRoot() || process.env.WEBGGUF_APT === '0') {
    throw new Stop(
      `these Debian packages are missing: ${packages.join(' ')}`,
      `as root: \`apt-get update && apt-get install -y ${packages.join(' ')}\`; ${hint}`,
    );
  }
  console.log(`  apt-get install ${packages.join(' ')}  (WEBGGUF_APT=0 installs nothing)`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const patience = ['-o', 'DPkg::Lock::Timeout=300'];
  if (!aptUpdated) await must('apt-get', [...patience, 'update', '-qq'], { env, quiet: true });
  aptUpdated = true;
  await must('apt-get', [...patience, 'install', '-y', '-qq', '--no-install-recommends', ...packages], {
    env,
    quiet: true,
  });
}

// ---- npm ------------------------------------------------------------------------------------------------------------

const lockHash = () => hashOf(['package.json', 'package-lock.json']);

function npmDone() {
  return fs.existsSync(NPM_STAMP) && fs.readFileSync(NPM_STAMP, 'utf8') === lockHash();
}

async function prepareNpm() {
  if (!npmCommand()) throw new Stop('npm was not found', `install Node.js ${neededNode()} or newer with npm`);
  console.log('  npm ci (half a minute)');
  // What the lock file holds and nothing else; no package here needs a script of its own.
  await must('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], { quiet: true });
  fs.writeFileSync(NPM_STAMP, lockHash());
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const start = performance.now();
    await prepare({ tests: true });
    console.log(`all there, ${seconds(start)}`);
  });
}
