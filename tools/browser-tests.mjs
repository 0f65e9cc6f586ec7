// The Rust tests that run in Chromium: programs that `cargo test` compiles, and a runner that opens a browser.

import fs from 'node:fs';
import path from 'node:path';
import { compileTests, testsAmong } from './artifacts.mjs';
import { findBrowser, findDriver } from './browser.mjs';
import { CACHE, filesUnder, programIn, readJson, ROOT, run, writeJson } from './common.mjs';
import { findTestRunner, findToolchain, rustEnv, TARGET } from './toolchain.mjs';

/** The programs in tests/ that have tests in a browser: all others would be built for it in vain. */
export function browserPrograms() {
  const root = /^tests\/(\w+)(?:\/main)?\.rs$/;
  const has = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8').includes('wasm_bindgen_test_configure!');
  const programs = filesUnder('tests').filter((file) => root.test(file) && has(file));
  return programs.map((file) => root.exec(file)[1]);
}

/** Where the runner finds the browser and its flags. */
function settingsFile() {
  const settings = readJson(path.join(ROOT, 'webdriver.json'));
  settings['goog:chromeOptions'].binary = findBrowser();
  const file = path.join(CACHE, 'webdriver.json');
  writeJson(file, settings);
  return file;
}

/** What both ways of running programs need: cargo's folder, its environment, and its arguments. */
async function prepared(programs) {
  const { bin } = await findToolchain();
  const env = { ...rustEnv(bin), WASM_BINDGEN_TEST_WEBDRIVER_JSON: settingsFile() };
  return { bin, env, tests: programs.flatMap((name) => ['--test', name]) };
}

/** The environment in which the runner opens a browser. */
const runnerEnv = () => ({ CHROMEDRIVER: findDriver(), WASM_BINDGEN_TEST_ONLY_WEB: '1' });

/** What .cargo/config.toml gives to programs that cargo runs. */
export function cargoEnv(text = fs.readFileSync(path.join(ROOT, '.cargo', 'config.toml'), 'utf8')) {
  const section = /^\[env\]\n([^[]*)/m.exec(text)?.[1] ?? '';
  return Object.fromEntries([...section.matchAll(/^(\w+) = "([^"]*)"$/gm)].map(([, name, value]) => [name, value]));
}

/** Compiles programs; the WebAssembly of each, by name. */
export async function compileBrowserPrograms(programs) {
  const { bin, env, tests } = await prepared(programs);
  const args = ['--target', TARGET, ...tests];
  const output = await compileTests(programIn(bin, 'cargo'), args, { env }, 'the tests for browsers');
  return new Map(testsAmong(output).map(({ target, executable }) => [target.name, executable]));
}

/**
 * Runs a compiled program, with `all` also the tests that are marked `#[ignore]`; gives what `run` gives. Cargo has no
 * part in it: that waits while another one compiles for the host.
 */
export async function browserProgram(file, { all = false, ...options }) {
  const { env } = await prepared([]);
  const more = all ? ['--include-ignored'] : [];
  return run(findTestRunner(), [file, ...more], { env: { ...cargoEnv(), ...env, ...runnerEnv() }, ...options });
}

/** Compiles and runs some programs, with arguments for their runner, and `env` beside what that needs. */
export async function chosenBrowserTests(programs, runnerArgs, { env = {}, ...options }) {
  const { bin, env: needed, tests } = await prepared(programs);
  const runner = { CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: findTestRunner(), ...runnerEnv() };
  const args = ['test', '--no-fail-fast', '--target', TARGET, ...tests, '--', ...runnerArgs];
  return run(programIn(bin, 'cargo'), args, { env: { ...needed, ...runner, ...env }, ...options });
}
