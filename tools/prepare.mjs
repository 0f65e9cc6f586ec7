// Prepares a machine to build and test: `npm run setup`, and first thing in `npm start` and `npm test`.
//
// Each step knows how to tell that it is done (in milliseconds), how to do itself, and what to say when it cannot.
// Steps with `skipped`, which says why this machine cannot do them, serve single suites of tests: those are skipped
// without.

import fs from 'node:fs';
import path from 'node:path';
import { findBrowser, findDriver } from './browser.mjs';
import {
  ask,
  CACHE,
  cargoHome,
  hashOf,
  isMain,
  isRoot,
  must,
  programIn,
  ROOT,
  run,
  runMain,
  seconds,
  Stop,
  which,
  withLock,
} from './common.mjs';
import { firefoxDone, firefoxSkipped, prepareFirefox } from './firefox-setup.mjs';
import {
  bindgenVersion,
  findBindgen,
  findToolchain,
  hasCargoCommand,
  remapFlags,
  rustEnv,
  TARGET,
} from './toolchain.mjs';

const DEBIAN_RUST = ['rustc-web', 'cargo-web', 'rust-web-src', 'lld'];
const DEBIAN_CHROMIUM = ['chromium', 'chromium-driver'];
const NPM_STAMP = path.join(ROOT, 'node_modules', '.lock-hash');

const STEPS = [
  { name: `Rust for ${TARGET}`, done: async () => (await findToolchain())?.version, perform: prepareRust },
  { name: 'wasm-bindgen', done: findBindgen, perform: installBindgen },
  { name: 'Chromium and its driver', done: () => findBrowser() && findDriver(), perform: prepareChromium },
  { name: 'npm packages', done: npmDone, perform: prepareNpm },
  { name: 'rustfmt and clippy', done: lintersDone, perform: prepareLinters, skipped: lintersSkipped },
  {
    name: 'Firefox and lavapipe',
    done: firefoxDone,
    perform: () => prepareFirefox((packages) => aptInstall(packages, 'or set FIREFOX to its path')),
    skipped: firefoxSkipped,
  },
];

/**
 * Runs the steps that are not done. Throws `Stop` at the first that cannot be done.
 * @param {{quiet?: boolean, tests?: boolean}} [options] `tests`: also what only single suites of tests need
 */
export async function prepare({ quiet = false, tests = false } = {}) {
  await withLock('prepare', async () => {
    for (const step of STEPS) if (tests || !step.skipped) await performStep(step, quiet);
  });
}

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
  await step.perform();
  const after = await step.done();
  if (!after) throw new Stop(`${step.name}: installed, but still not usable`, 'read the lines above, then try again');
  console.log(`ready   ${step.name}  (${shorten(after)}, ${seconds(start)})`);
}

const shorten = (state) => (typeof state === 'string' ? state.replace(`${ROOT}${path.sep}`, '') : 'up to date');

// ---- Rust -----------------------------------------------------------------------------------------------------------

async function prepareRust() {
  const rustup = findRustup();
  if (rustup && process.env.WEBGGUF_RUST !== '/usr/bin' && (await addRustupTarget(rustup))) return;
  if (!which('apt-get')) {
    throw new Stop(
      `no Rust toolchain that builds for ${TARGET}`,
      `install rustup (https://rustup.rs), then \`rustup target add ${TARGET}\``,
    );
  }
  await aptInstall(DEBIAN_RUST, `Rust for ${TARGET}: or run \`rustup target add ${TARGET}\` where rustup is online`);
  linkLinker();
  await buildStandardLibrary();
}

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
async function installBindgen() {
  const { bin } = await findToolchain();
  const taken = which('wasm-bindgen', [path.join(cargoHome(), 'bin')]);
  const place = taken ? ['--root', path.join(CACHE, 'cargo')] : [];
  const crate = ['wasm-bindgen-cli', '--version', bindgenVersion()];
  const env = { ...rustEnv(bin), CARGO_TARGET_DIR: path.join(CACHE, 'install') };
  const install = (...flags) => {
    console.log(`  cargo install ${[...crate, ...flags].join(' ')} (some minutes, once)`);
    return must(programIn(bin, 'cargo'), ['install', ...crate, ...flags, ...place], { cwd: CACHE, env, quiet: true });
  };
  try {
    await install('--locked');
  } catch (error) {
    if (!lacksLockedVersion(error.message)) throw error;
    console.log('  this registry lacks a version that the lock file of wasm-bindgen-cli names; cargo chooses another');
    await install();
  }
}

/** Whether cargo failed because the registry lacks a version that a lock file names; mirrors can be behind. */
export const lacksLockedVersion = (output) => /failed to select a version .*\(locked to /.test(output);

async function prepareChromium() {
  const hint = 'or install Chrome and chromedriver and set CHROME and CHROMEDRIVER to their paths';
  if (!which('apt-get')) throw new Stop('no Chrome or Chromium with its chromedriver', hint.slice(3));
  await aptInstall(DEBIAN_CHROMIUM, hint);
}

let aptUpdated = false;

async function aptInstall(packages, hint) {
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
  if (!which('npm')) throw new Stop('npm was not found', 'install Node.js 20.19 or newer with npm');
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
