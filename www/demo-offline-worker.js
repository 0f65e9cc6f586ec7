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
  const isNew = (url) => !known.has(url) && known.add(url);
  await keep(files, self.registration.scope, isNew);
  const others = (await files.keys()).filter(({ url }) => !known.has(url));
  await Promise.all(others.map((request) => files.delete(request)));
}

async function keep(files, url, isNew) {
  if (!(await isNew(url))) return;
  const response = await fetch(url, { cache: 'no-cache' });
  if (response.ok) await store(files, { url, response }, isNew); // a comment may show an address that is none
}

/** Stores a file, and what it refers to and `isNew`. */
async function store(files, { url, response }, isNew) {
  await files.put(url, response.clone());
  const references = await referencesOf(response);
  await Promise.all(references.map((each) => keep(files, each, isNew)));
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
  const url = keyOf(request);
  const kept = (await caches.has(FILES)) ? await (await caches.open(FILES)).match(url) : undefined;
  const fresh = fetch(request).then((response) => {
    if (response.ok && kept) void renew(url, response.clone());
    return response;
  });
  fresh.catch(() => {}); // where the kept file was used, nobody asks how this ended
  const slow = new Promise((_, reject) => setTimeout(reject, PATIENCE, new Error('slow')));
  try {
    return await Promise.race([fresh, slow]);
  } catch {
    return kept ?? fresh;
  }
}

/** Stores a file of the page anew. A newer one may refer to others; what the page does not refer to is not kept. */
async function renew(url, response) {
  const files = await caches.open(FILES);
  await store(files, { url, response }, async (each) => !(await files.match(each)));
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
