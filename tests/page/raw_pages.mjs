// Pages that playwright does not know. Its own pages always count as visible, and a visible page is never frozen.

import { until } from './site.mjs';

/**
 * Pages of a browser context of their own.
 * @returns {Promise<{open: (url: string) => Promise<object>, endServiceWorkers: () => Promise<number>,
 *   close: () => Promise<void>}>} a page has `close()`,
 *   `evaluate(work, argument)` and `send(method, params)` of the browser's protocol
 */
export async function rawPages(browser) {
  const root = await browser.newBrowserCDPSession();
  const { browserContextId } = await root.send('Target.createBrowserContext');
  const open = async (url) => {
    const { targetId } = await root.send('Target.createTarget', { url, browserContextId });
    const { sessionId } = await root.send('Target.attachToTarget', { targetId, flatten: false });
    const page = new RawPage(root, targetId, sessionId);
    const isThere = (wanted) => document.readyState === 'complete' && location.href === wanted;
    await until(() => page.evaluate(isThere, url), `${url} is there`);
    return page;
  };
  const endServiceWorkers = async () => {
    const { targetInfos } = await root.send('Target.getTargets');
    const wanted = targetInfos.filter((it) => it.type === 'service_worker' && it.browserContextId === browserContextId);
    for (const { targetId } of wanted) await root.send('Target.closeTarget', { targetId });
    return wanted.length;
  };
  return { open, endServiceWorkers, close: () => root.send('Target.disposeBrowserContext', { browserContextId }) };
}

class RawPage {
  #root;
  #sessionId;
  #calls = 0;
  #pending = new Map();

  constructor(root, targetId, sessionId) {
    this.#root = root;
    this.close = () => root.send('Target.closeTarget', { targetId });
    this.#sessionId = sessionId;
    root.on('Target.receivedMessageFromTarget', (event) => {
      if (event.sessionId !== sessionId) return;
      const { id, result, error } = JSON.parse(event.message);
      const { resolve, reject } = this.#pending.get(id) ?? {};
      if (error) reject?.(new Error(error.message));
      else resolve?.(result);
    });
  }

  send(method, params = {}) {
    const id = (this.#calls += 1);
    const message = JSON.stringify({ id, method, params });
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#root.send('Target.sendMessageToTarget', { sessionId: this.#sessionId, message }).catch(reject);
    });
  }

  async evaluate(work, argument) {
    const expression = `(${work})(${JSON.stringify(argument)})`;
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails: thrown } = await this.send('Runtime.evaluate', options);
    if (thrown) throw new Error(thrown.exception?.description ?? thrown.text);
    return result.value;
  }
}
