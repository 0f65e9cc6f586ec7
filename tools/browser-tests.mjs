// The Rust tests that run in Chromium: `cargo test` with a runner that opens a browser, by wasm-pack if it is there.

import fs from 'node:fs';
import path from 'node:path';
import { findBrowser, findDriver } from './browser.mjs';
import { CACHE, cargoHome, filesUnder, must, programIn, readJson, ROOT, run, which, writeJson } from './common.mjs';
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

/** Compiles programs, so that each is only run after that. */
export async function compileBrowserPrograms(programs) {
  const { bin, env, tests } = await prepared(programs);
  await must(programIn(bin, 'cargo'), ['test', '--no-run', '--target', TARGET, ...tests], { env });
}

/** Runs a program, with `all` also the tests that are marked `#[ignore]`; gives what `run` gives. */
export async function browserProgram(program, { all = false, ...options }) {
  const pack = which('wasm-pack', [path.join(cargoHome(), 'bin')]);
  const more = all ? ['--include-ignored'] : [];
  if (!pack) return chosenBrowserTests([program], more, options);
  const { env, tests } = await prepared([program]);
  const args = ['test', '--chrome', '--headless', '--chromedriver', findDriver(), '--', ...tests, '--', ...more];
  return run(pack, args, { env, ...options });
}

/** Runs some programs as wasm-pack does, with arguments for their runner, and `env` beside what that needs. */
export async function chosenBrowserTests(programs, runnerArgs, { env = {}, ...options }) {
  const { bin, env: needed, tests } = await prepared(programs);
  const runner = {
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: findTestRunner(),
    CHROMEDRIVER: findDriver(),
    WASM_BINDGEN_TEST_ONLY_WEB: '1',
  };
  const args = ['test', '--no-fail-fast', '--target', TARGET, ...tests, '--', ...runnerArgs];
  return run(programIn(bin, 'cargo'), args, { env: { ...needed, ...runner, ...env }, ...options });
}
