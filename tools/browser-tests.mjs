// The Rust tests that run in Chromium: `cargo test` with a runner that opens a browser, by wasm-pack if it is there.

import fs from 'node:fs';
import path from 'node:path';
import { findBrowser, findDriver } from './browser.mjs';
import { CACHE, cargoHome, filesUnder, readJson, ROOT, run, which, writeJson } from './common.mjs';
import { findBindgen, findToolchain, rustEnv, TARGET } from './toolchain.mjs';

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

/** Runs all of them; what `run` gives. */
export async function browserTests(options) {
  const pack = which('wasm-pack', [path.join(cargoHome(), 'bin')]);
  const programs = browserPrograms();
  if (!pack) return chosenBrowserTests(programs, [], options);
  const { bin } = await findToolchain();
  const env = { ...rustEnv(bin), WASM_BINDGEN_TEST_WEBDRIVER_JSON: settingsFile() };
  const tests = programs.flatMap((name) => ['--test', name]);
  return run(pack, ['test', '--chrome', '--headless', '--chromedriver', findDriver(), '--', ...tests], {
    env,
    ...options,
  });
}

/** Runs some programs as wasm-pack does, with arguments for their runner. */
export async function chosenBrowserTests(programs, runnerArgs, { env = {}, ...options }) {
  const { bin } = await findToolchain();
  const all = {
    ...rustEnv(bin),
    WASM_BINDGEN_TEST_WEBDRIVER_JSON: settingsFile(),
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: path.join(path.dirname(findBindgen()), 'wasm-bindgen-test-runner'),
    CHROMEDRIVER: findDriver(),
    WASM_BINDGEN_TEST_ONLY_WEB: '1',
    ...env,
  };
  const tests = programs.flatMap((name) => ['--test', name]);
  const args = ['test', '--no-fail-fast', '--target', TARGET, ...tests, '--', ...runnerArgs];
  return run(path.join(bin, 'cargo'), args, { env: all, ...options });
}
