// The page without a network: a service worker keeps the page's own files (demo-offline-worker.js); models are in the
// package's cache.

import { $ } from './dom.js';

const WORKER = 'demo-offline-worker.js';
/** What the names of the worker's caches begin with. */
const FILES = 'webgguf-demo';

/** Removes what is kept of the page, until its next visit. */
export async function forgetOffline() {
  $('offline').hidden = true;
  const kept = await navigator.serviceWorker?.getRegistration();
  for (const worker of [kept?.installing, kept?.waiting, kept?.active]) worker?.postMessage('forget');
  await kept?.unregister();
  const names = (await globalThis.caches?.keys()) ?? [];
  await Promise.all(names.filter((name) => name.startsWith(FILES)).map((name) => caches.delete(name)));
}

/** Starts the worker and says when all is stored. A browser without one is no error. */
export async function workOffline() {
  try {
    if (!(await navigator.serviceWorker?.register(WORKER))) return;
    await navigator.serviceWorker.ready;
    $('offline').hidden = false;
  } catch (error) {
    // Pages that are not https, private windows: the page works with a network.
    console.info(`offline use is not available: ${error.message}`);
  }
}
