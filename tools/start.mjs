// `npm start`: prepares, builds, serves the demo page and prints its address. What kernels.html runs is built when that
// page is opened.
// `npm start -- --check`: opens the page in headless Chromium instead, lets the built-in model write, prints the text
// and ends.

import { findBrowser, openBrowser } from './browser.mjs';
import { build, buildHarness, isHarnessBuilt } from './build.mjs';
import { isMain, runMain, seconds, Stop } from './common.mjs';
import { openDemo, say } from './demo.mjs';
import { prepare } from './prepare.mjs';
import { option, printAddresses, serve } from './serve.mjs';

const PROMPT = 'Tell me a story about a hedgehog who finds a silver key.';

async function check() {
  const site = await serve();
  const browser = await openBrowser();
  try {
    const start = performance.now();
    const page = await openDemo(browser, `${site.url}/`);
    console.log(
      `page ready after ${seconds(start)}: ${(await page.textContent('#backend')).trim().replace(/\s+/g, ' ')}`,
    );
    const text = await say(page, PROMPT);
    console.log(`\n> ${PROMPT}\n${text}\n`);
    if (text.trim().split(/\s+/).length < 5)
      throw new Stop('the model wrote fewer than five words', 'see the text above');
    console.log(`check passed, ${seconds(start)}`);
  } finally {
    await browser.close();
    await site.close();
  }
}

async function start() {
  const { server, url } = await serveAtPort(await lazyHarness());
  console.log('\nThe demo of webgguf; Ctrl+C ends it:');
  printAddresses(url, option('host'));
  server.ref();
}

/**
 * What kernels.html runs: built when that page asks for it.
 * @param {{isBuilt?: () => Promise<boolean>, work?: () => Promise<void>, log?: (line: string) => void}} [parts]
 */
export async function lazyHarness({ isBuilt = isHarnessBuilt, work = buildHarness, log = console.log } = {}) {
  let built = await isBuilt();
  let building = false;
  let error;
  const begin = async () => {
    if (built || building) return;
    building = true;
    log('\nkernels.html was opened: its module is built, which takes 5 minutes on two cores');
    try {
      await work();
      [built, error] = [true, undefined];
      log('kernels.html can be used');
    } catch (thrown) {
      error = thrown.message;
      log(`the module of kernels.html was not built: ${error}`);
    }
    building = false;
  };
  return { isBuilt: () => built, isBuilding: () => building, error: () => error, begin };
}

/** The usual port unless it is taken; a port asked for is taken or refused. */
async function serveAtPort(harness) {
  const host = option('host', '127.0.0.1');
  const asked = option('port');
  if (asked !== undefined) return serve({ host, port: Number(asked), harness });
  try {
    return await serve({ host, port: 8080, harness });
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    return serve({ host, harness });
  }
}

/** Before anything is built: who has no browser is not to wait for that. */
function refuseWithoutBrowser() {
  if (findBrowser()) return;
  const cure = 'install Chrome, or set CHROME to its path; without --check the page opens in any browser';
  throw new Stop('--check opens the page in Chrome or Chromium, and none was found', cure);
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const isCheck = process.argv.includes('--check');
    if (isCheck) refuseWithoutBrowser();
    console.log('The first time this takes about 5 minutes on two cores, then seconds.');
    await prepare();
    await build();
    await (isCheck ? check() : start());
  });
}
