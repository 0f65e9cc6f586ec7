// `npm start`: prepares, builds, serves the demo page and prints its address.
// `npm start -- --check`: opens the page in headless Chromium instead, lets the built-in model write, prints the text
// and ends.

import { openBrowser } from './browser.mjs';
import { build, buildHarness } from './build.mjs';
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
  const { server, url } = await serveAtPort();
  console.log('\nThe demo of webgguf; Ctrl+C ends it:');
  printAddresses(url, option('host'));
  server.ref();
}

/** The usual port unless it is taken; a port asked for is taken or refused. */
async function serveAtPort() {
  const host = option('host', '127.0.0.1');
  const asked = option('port');
  if (asked !== undefined) return serve({ host, port: Number(asked) });
  try {
    return await serve({ host, port: 8080 });
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    return serve({ host });
  }
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    await prepare();
    await build();
    await buildHarness();
    await (process.argv.includes('--check') ? check() : start());
  });
}
