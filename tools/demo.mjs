// Drives the demo page as a person would. The page tells its state in `data-state` of its root element:
// loading, ready, generating or error.

import { PATIENCE_MS } from './browser.mjs';
import { Stop } from './common.mjs';

/**
 * Opens a page that keeps everything the console said in `page.log`, and every uncaught error in `page.crashes`.
 * What a service worker keeps is not what a test serves: by default there is none. A context takes no options here.
 */
export async function openPage(browser, url, { serviceWorkers = 'block' } = {}) {
  const page = await browser.newPage({ serviceWorkers });
  page.log = [];
  page.crashes = [];
  page.on('console', (message) => page.log.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => page.crashes.push(String(error)));
  await page.goto(url);
  return page;
}

/** Opens the demo and waits until its model is loaded. */
export async function openDemo(browser, url) {
  const page = await openPage(browser, url);
  await waitForState(page, ['ready']);
  return page;
}

/** Waits until the page is in one of `states`; an error it shows meanwhile, unless waited for, ends the wait. */
export async function waitForState(page, states, timeout = PATIENCE_MS) {
  const seen = await page
    .waitForFunction(
      (wanted) => {
        const { state } = document.documentElement.dataset;
        return wanted.includes(state) || state === 'error' ? state : null;
      },
      states,
      { timeout },
    )
    .then(
      (handle) => handle.jsonValue(),
      () => 'nothing',
    );
  if (states.includes(seen)) return seen;
  const shown = await page
    .locator('#error')
    .textContent({ timeout: 1000 })
    .catch(() => '');
  const log = [...page.log.slice(-8), ...page.crashes].join('\n  ');
  throw new Stop(
    `the page did not become ${states.join(' or ')}: ${seen}, ${shown.trim() || 'no error shown'}\n  ${log}`,
  );
}

/** Sends a message and waits for the whole answer. */
export async function say(page, prompt) {
  await send(page, prompt);
  await waitForState(page, ['ready']);
  return page.locator('.message.assistant').last().innerText();
}

/** Sends a message and returns once the page generates. */
export async function send(page, prompt) {
  const before = await page.locator('.message.assistant').count();
  await page.fill('#prompt', prompt);
  await page.click('#send');
  await page.waitForFunction((count) => document.querySelectorAll('.message.assistant').length > count, before);
}
