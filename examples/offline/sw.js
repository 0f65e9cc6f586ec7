// Keeps the page and what it is made of, the WebAssembly included: the files that the page names, and no others. Models
// are not its business: webgguf keeps them in the origin's private file system.

const CACHE = 'offline-assistant';
const MOST_FILES = 200;
/** The largest file in bytes: nothing that a page is made of is larger. */
const LARGEST = 32 << 20;

self.addEventListener('install', () => self.skipWaiting());

// What the page was loaded from, by its own word: before this worker was there, and since.
self.addEventListener('message', (event) => {
  if (event.source?.url.startsWith(self.registration.scope)) event.waitUntil(keepAll(event));
});

async function keepAll({ data: { files, isAll }, ports: [port] }) {
  try {
    await self.clients.claim();
    const cache = await caches.open(CACHE);
    const wanted = files.filter(isOwn).slice(0, MOST_FILES);
    await Promise.all(wanted.map(async (url) => (await cache.match(url)) ?? keep(url, await fetch(url))));
    const others = (await cache.keys()).filter(({ url }) => isAll && !wanted.includes(url));
    await Promise.all(others.map((request) => cache.delete(request)));
    port.postMessage({ kept: true });
  } catch (error) {
    port.postMessage({ kept: false, reason: error.message });
  }
}

/** Stores a file, unless the server forbids it or it is too large. */
async function keep(url, response) {
  const cache = await caches.open(CACHE);
  const { headers, ok } = response;
  const isAllowed = !/\bno-store\b/i.test(headers.get('cache-control')) && !(headers.get('content-length') > LARGEST);
  if (ok && isAllowed) await cache.put(url, response);
  else if (ok) await cache.delete(url);
}

/** Whether this may be a file of the page: no model, nothing of another site. */
function isOwn(address) {
  const { origin, pathname } = new URL(address);
  return origin === location.origin && !pathname.endsWith('.gguf');
}

self.addEventListener('fetch', (event) => {
  const { method, url, headers } = event.request;
  if (method === 'GET' && !headers.has('range') && isOwn(url)) event.respondWith(answer(event));
});

/** From the network, so that a new version is seen at once; without a network what was kept. */
async function answer(event) {
  const url = keyOf(event.request);
  const kept = await (await caches.open(CACHE)).match(url);
  try {
    const response = await fetch(event.request);
    if (kept) event.waitUntil(keep(url, response.clone()));
    return response;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/** A page is kept without what its address asks for. */
function keyOf({ url, mode }) {
  const address = new URL(url);
  if (mode === 'navigate') address.search = '';
  return address.href;
}
