// Service worker of the demo page: keeps the page's own files, so that it opens without a network. With a network the
// files come from there, so that nobody sees an old page. Models are not kept here but in the package's cache.

const FILES = 'webgguf-demo';
/** How long a slow network may take before the kept file is used, in milliseconds. */
const PATIENCE = 4000;

/** What a file refers to, by its kind; other kinds refer to nothing. */
const REFERENCES = [
  { kind: /html/, pattern: /<(?:script|link)[^>]*?(?:src|href)="([^":]+)"/g },
  { kind: /javascript/, pattern: /\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g },
  { kind: /javascript/, pattern: /new URL\(\s*['"](\.{1,2}\/[^'"]+)['"],\s*import\.meta\.url/g },
];

/** Fetches the page and everything that it refers to, file by file, into the cache. */
async function keepAll() {
  const files = await caches.open(FILES);
  const known = new Set();
  const keep = async (url) => {
    if (known.has(url)) return;
    known.add(url);
    const response = await fetch(url, { cache: 'no-cache' });
    if (!response.ok) return; // a comment may show an address that is none
    await files.put(url, response.clone());
    await Promise.all((await referencesOf(response)).map(keep));
  };
  await keep(self.registration.scope);
}

async function referencesOf(response) {
  const kind = response.headers.get('content-type') ?? '';
  const patterns = REFERENCES.filter((each) => each.kind.test(kind));
  if (patterns.length === 0) return [];
  const text = await response.text();
  const found = patterns.flatMap(({ pattern }) => [...text.matchAll(pattern)].map(([, name]) => name));
  return found.map((name) => new URL(name, response.url).href).filter((url) => new URL(url).origin === location.origin);
}

/** From the network, or what is kept of it. */
async function answer(request) {
  const kept = caches.open(FILES).then((files) => files.match(request, { ignoreSearch: request.mode === 'navigate' }));
  const fresh = fetch(request).then(async (response) => {
    if (response.ok) await (await caches.open(FILES)).put(keyOf(request), response.clone());
    return response;
  });
  fresh.catch(() => {}); // where the kept file was used, nobody asks how this ended
  const slow = new Promise((_, reject) => setTimeout(reject, PATIENCE, new Error('slow')));
  try {
    return await Promise.race([fresh, slow]);
  } catch {
    return (await kept) ?? fresh;
  }
}

/** Pages are kept without what their address asks for. */
function keyOf(request) {
  const url = new URL(request.url);
  if (request.mode === 'navigate') url.search = '';
  return url.href;
}

/** Whether a request is for a file of the page: no model, no part of a file, nothing of another site. */
function isOwn({ method, url, headers }) {
  const { origin, pathname } = new URL(url);
  return method === 'GET' && origin === location.origin && !headers.has('range') && !pathname.endsWith('.gguf');
}

self.addEventListener('install', (event) => event.waitUntil(keepAll().then(() => self.skipWaiting())));
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  if (isOwn(event.request)) event.respondWith(answer(event.request));
});
