// Service worker of the demo page: keeps the page's own files, so that it opens without a network. With a network the
// files come from there, so that nobody sees an old page. Models are not kept here but in the package's cache.

const FILES = 'webgguf-demo';
/** What a cache has once all files of the page are in it: until then it is of no use. */
const WHOLE = 'whole';
/** How long a slow network may take before the kept page is used, in milliseconds. */
const PATIENCE = 4000;

/** What a file refers to, by its kind; other kinds refer to nothing. */
const REFERENCES = [
  { kind: /html/, pattern: /<(?:script|link)[^>]*?(?:src|href)="([^":]+)"/g },
  { kind: /javascript/, pattern: /\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g },
  { kind: /javascript/, pattern: /new URL\(\s*['"](\.{1,2}\/[^'"]+)['"],\s*import\.meta\.url/g },
];

let keeping;

/**
 * Fetches the page and everything that it refers to into a cache of its own, and drops the one before: files of two
 * versions never lie in one cache.
 */
function keepAll() {
  keeping ??= keepAnew().finally(() => (keeping = undefined));
  return keeping;
}

async function keepAnew() {
  const name = `${FILES} ${Date.now()}`;
  try {
    const files = await caches.open(name);
    const known = new Set();
    await keep(files, self.registration.scope, (url) => !known.has(url) && known.add(url));
    await files.put(WHOLE, new Response());
  } catch (error) {
    await caches.delete(name);
    throw error;
  }
  const isUsed = (other) => other >= name || [...fromCache.values()].includes(other);
  for (const other of await names()) if (!isUsed(other)) await caches.delete(other);
}

/** Of all caches with files of the page; the first had no number. */
const names = async () => (await caches.keys()).filter((name) => name === FILES || name.startsWith(`${FILES} `)).sort();

/** The name of the newest cache that has all files. */
async function newest() {
  for (const name of (await names()).reverse()) if (await match(name, WHOLE)) return name;
  return undefined;
}

const match = async (name, url) => (name === undefined ? undefined : (await caches.open(name)).match(url));

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

/** Pages and workers that were opened from a cache, by name, whose other files come from it, too. */
const fromCache = new Map();

/** A page: from the network, or as it is kept where that is slow or gone. */
async function answerPage(event) {
  const files = await newest();
  const kept = await match(files, keyOf(event.request));
  const fresh = fetchSound(event.request).then((response) => {
    // What this page needs goes first.
    if (response.ok && kept) event.waitUntil(keepAll().catch(() => {}));
    return response;
  });
  fresh.catch(() => {}); // where the kept file was used, nobody asks how this ended
  const slow = new Promise((_, reject) => setTimeout(reject, PATIENCE, new Error('slow')));
  try {
    return await (kept ? Promise.race([fresh, slow]) : fresh);
  } catch {
    if (!kept) return fetch(event.request);
    fromCache.set(event.resultingClientId, files);
    return kept;
  }
}

/** A file of a page: from where the page came. */
async function answer({ request, clientId, resultingClientId }) {
  const files = fromCache.get(clientId);
  if (files && resultingClientId) fromCache.set(resultingClientId, files);
  const kept = await match(files, keyOf(request));
  if (kept) return kept;
  try {
    return await fetchSound(request);
  } catch {
    return (await match(await newest(), keyOf(request))) ?? fetch(request);
  }
}

/** From the network; a server that is down is as good as none. */
async function fetchSound(request) {
  const response = await fetch(request);
  if (response.status < 500) return response;
  throw new Error(`HTTP status ${response.status}`);
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
  if (!isOwn(event.request)) return;
  event.respondWith(event.request.mode === 'navigate' ? answerPage(event) : answer(event));
});
