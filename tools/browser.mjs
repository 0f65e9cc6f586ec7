// Finds Chromium and its driver, and opens pages in it.

import fs from 'node:fs';
import path from 'node:path';
import { readJson, ROOT, Stop, which } from './common.mjs';
import { browserPlaces } from './system.mjs';
import { pace } from './watch.mjs';

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'];
/** Path of Chrome or Chromium: `CHROME`, then PATH, then the usual places; null when there is none. */
export function findBrowser() {
  if (process.env.CHROME) return fs.existsSync(process.env.CHROME) ? process.env.CHROME : null;
  return (
    firstOf(BROWSERS.map((name) => which(name))) ?? firstOf(browserPlaces().map((file) => fs.existsSync(file) && file))
  );
}

/** Path of chromedriver: `CHROMEDRIVER`, then PATH, then beside the browser; null when there is none. */
export function findDriver() {
  if (process.env.CHROMEDRIVER) return fs.existsSync(process.env.CHROMEDRIVER) ? process.env.CHROMEDRIVER : null;
  const browser = findBrowser();
  const beside = browser ? [path.dirname(fs.realpathSync(browser))] : [];
  return which('chromedriver', [...beside, '/usr/lib/chromium']);
}

const firstOf = (list) => list.find(Boolean) ?? null;

/**
 * How long a page may take for one step: the end of what hangs, far above what any step takes. The more the machine has
 * to do, the longer, up to three times: a wait for what never comes should not hold a run for half an hour.
 */
export const PATIENCE_MS = Math.round(240_000 / Math.max(pace(), 1 / 3));

/** The flags in webdriver.json, so that every kind of test meets the same browser. */
export function browserFlags() {
  return readJson(path.join(ROOT, 'webdriver.json'))['goog:chromeOptions'].args;
}

/**
 * Features that are off. Chromium takes the last such flag alone, so this list replaces playwright's: the first two
 * lines have what pages meet, the third what asks servers of Google, the fourth what stands in the address bar. No test
 * sees that, and Chromium opened pages of its own for it, which took a third of the time for each page of a test.
 */
const OFF = [
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades', 'PaintHolding'],
  ...['HttpsFirstBalancedModeAutoEnable', 'ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect'],
  ...['MediaRouter', 'OptimizationHints', 'NetworkTimeServiceQuerying', 'AimEnabled', 'PreconnectToSearch'],
  ...['LensOverlay', 'WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'],
];

/** Flags for a browser whose camera is a picture that moves and whose microphone beeps; permissions are a context's. */
export const FAKE_CAMERA = ['--use-fake-device-for-media-stream'];

/**
 * Opens Chromium with an extension.
 * @param {string} folder with its manifest
 * @returns {Promise<import('playwright-core').BrowserContext>}
 */
export async function openWithExtension(folder) {
  const { chromium } = await import('playwright-core');
  const launched = await chromium.launchPersistentContext('', {
    executablePath: findBrowser(),
    headless: true,
    ignoreDefaultArgs: ['--disable-extensions'],
    args: [
      ...browserFlags(),
      ...[`--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
      '--disable-features=DisableLoadExtensionCommandLineSwitch',
    ],
  });
  return patient(launched);
}

/**
 * Starts headless Chromium with WebGPU on (on SwiftShader where there is no GPU), with further flags `args`. Its pages
 * wait `PATIENCE_MS` where no other limit is given. The caller closes it.
 */
export async function openBrowser({ args = [] } = {}) {
  const executablePath = findBrowser();
  if (!executablePath)
    throw new Stop('no Chrome or Chromium was found', 'install Chrome, or set CHROME to the path of one');
  const { chromium } = await import('playwright-core');
  const flags = [...browserFlags(), `--disable-features=${OFF.join()}`, ...args];
  const browser = await chromium.launch({ executablePath, headless: true, args: flags });
  const newContext = browser.newContext.bind(browser);
  // `browser.newPage` opens a context by it, too.
  browser.newContext = async (options) => patient(await newContext(options));
  return browser;
}

/** Gives the pages of a context `PATIENCE_MS`. */
export function patient(context) {
  context.setDefaultTimeout(PATIENCE_MS);
  return context;
}
