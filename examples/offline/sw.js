// Keeps the page and what it is made of, the WebAssembly included. Models are not its business: webgguf keeps them in
// the origin's private file system.

const CACHE = 'offline-assistant';

self.addEventListener('install', () => self.skipWaiting());

// What the page loaded before this worker was there. Later fetches of the page come here.
self.addEventListener('message', (event) => {
  const keep = async () => {
    await self.clients.claim();
    const cache = await caches.open(CACHE);
    await cache.addAll(event.data.files);
    event.ports[0].postMessage('kept');
  };
  event.waitUntil(keep());
});

self.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method === 'GET' && origin === location.origin && !pathname.endsWith('.gguf')) {
    event.respondWith(answer(event));
  }
});

/** From the network, so that a new version is seen at once; without a network what was kept. */
async function answer(event) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(event.request);
    if (response.ok) event.waitUntil(cache.put(event.request, response.clone()));
    return response;
  } catch (error) {
    const kept = await cache.match(event.request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
