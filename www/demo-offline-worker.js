// Service worker of the demo page: keeps the page's own files, so that it opens without a network, and where the server
// is down or somebody else answers in its place. With a network the files come from there, so that nobody sees an old
// page. Models are not kept here but in the package's cache.
//
// What is kept is whole and of one version: a cache of its own, which replaces the one before once all of it is there.
// A page gets files of one version, too: once it has got a kept file it gets no others, and once it has got a file that
// differs from the kept one it gets no kept ones.

/** What the names of the caches begin with; a number follows. */
const FILES = 'webgguf-demo';
/** How long a slow network may take before the kept file is used, in milliseconds. */
const PATIENCE = 4000;
/** How often all files are fetched until they are twice the same: a server may be given new ones meanwhile. */
const ATTEMPTS = 3;

const { scope } = self.registration;
/** Lies in a cache that is whole. */
const WHOLE = new URL('whole', scope).href;
/** Below it lies, in the cache that a page or worker gets its files from, what it gets: its `mode`, see `answer`. */
const CLIENTS = new URL('.client/', scope).href;

/** A person has cleared what is kept: nothing is kept any more. */
let isForgotten = false;
/** What clients get, by their ids: `{ name, mode }`, the cache and what its `mode` is. */
const clientStates = new Map();

// ---- keeping --------------------------------------------------------------------------------------------------------

/** What a file refers to, by its kind; other kinds refer to nothing. */
const REFERENCES = [
  { kind: /html/, pattern: /<(?:script|link)[^>]*?(?:src|href)="([^":]+)"/g },
  { kind: /javascript/, pattern: /\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g },
  { kind: /javascript/, pattern: /new URL\(\s*['"](\.{1,2}\/[^'"]+)['"],\s*import\.meta\.url/g },
];

const kindOf = ({ headers }) => (headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase();

function referencesOf(url, kind, bytes) {
  const patterns = REFERENCES.filter((each) => each.kind.test(kind));
  if (patterns.length === 0) return [];
  const text = new TextDecoder().decode(bytes);
  const found = patterns.flatMap(({ pattern }) => [...text.matchAll(pattern)].map(([, name]) => name));
  return found.map((name) => new URL(name, url).href).filter((each) => new URL(each).origin === location.origin);
}

/** The page and everything that it refers to: responses and their bytes, by address. */
async function fetchAll() {
  const found = new Map();
  const follow = async (url) => {
    if (found.has(url)) return;
    found.set(url, undefined);
    const response = await fetch(url, { cache: 'no-cache' });
    const bytes = await response.arrayBuffer();
    // A comment may show an address where nothing is. A file that the server cannot give now is missed later.
    if (url !== scope && response.status === 404) return;
    if (!isOurs(response)) throw new Error(`${url}: ${response.status}`);
    found.set(url, { response, bytes });
    await Promise.all(referencesOf(url, kindOf(response), bytes).map(follow));
  };
  await follow(scope);
  return new Map([...found].filter(([, file]) => file));
}

const isSame = (a, b) => {
  if (a.byteLength !== b.byteLength) return false;
  const [left, right] = [new Uint8Array(a), new Uint8Array(b)];
  return left.every((byte, at) => byte === right[at]);
};

const areSame = (a, b) =>
  a.size === b.size && [...a].every(([url, { bytes }]) => isSame(bytes, b.get(url)?.bytes ?? []));

/** Fetches all files until they are of one version, and keeps them in place of those before. */
async function keepAll() {
  let all = await fetchAll();
  for (let attempt = 1; ; attempt += 1) {
    const again = await fetchAll();
    if (areSame(all, again)) break;
    if (attempt === ATTEMPTS) throw new Error('the files of the page change while they are fetched');
    all = again;
  }
  if (isForgotten) return;
  const name = `${FILES} ${Date.now()}`;
  const files = await caches.open(name);
  // Without what only says how it came: a page that was led here by another address would be refused.
  const stored = ({ response, bytes }) => new Response(bytes, { headers: response.headers });
  await Promise.all([...all].map(([url, file]) => files.put(url, stored(file))));
  await files.put(WHOLE, new Response());
  if (isForgotten) await caches.delete(name);
  else await dropOld();
}

/** Names of the caches, the newest first; with `isWhole` only complete ones. */
async function names({ isWhole = true } = {}) {
  const all = (await caches.keys())
    .filter((name) => name.startsWith(`${FILES} `))
    .sort()
    .reverse();
  const whole = await Promise.all(all.map(async (name) => (await caches.open(name)).match(WHOLE)));
  return isWhole ? all.filter((_, at) => whole[at]) : all;
}

/** Removes what no page uses: files before the newest ones, and notes about pages that are closed. */
async function dropOld() {
  const open = new Set((await self.clients.matchAll({ type: 'all', includeUncontrolled: true })).map(({ id }) => id));
  const [newest] = await names();
  for (const name of await names({ isWhole: false })) {
    const files = await caches.open(name);
    const notes = (await files.keys()).filter(({ url }) => url.startsWith(CLIENTS));
    const closed = notes.filter(({ url }) => !open.has(url.slice(CLIENTS.length)));
    await Promise.all(closed.map((note) => files.delete(note)));
    // What is not whole is being filled, or its worker was ended; then the next one removes it.
    if (name < newest && closed.length === notes.length) await caches.delete(name);
  }
  if (await caches.has(FILES)) await caches.delete(FILES); // of an earlier version of this worker
}

let keeping;

/** Keeps all files anew, once at a time. */
function keepAnew() {
  keeping ??= keepAll()
    .catch((error) => console.info(`the files of the page are not kept anew: ${error.message}`))
    .finally(() => {
      keeping = undefined;
    });
  return keeping;
}

// ---- answering ------------------------------------------------------------------------------------------------------

/** Whether a response is of this site, and right. */
function isOurs({ ok, type, url }) {
  return ok && type !== 'opaqueredirect' && (url === '' || new URL(url).origin === location.origin);
}

const scriptsOf = (bytes) =>
  [...new TextDecoder().decode(bytes).matchAll(/<script[^>]*? src="([^"]+)"/g)].map(([, src]) => src);

/** Whether a response is another version of what is kept, and no page of somebody else who answers in its place. */
function isVersion(response, bytes, { kept, keptBytes }) {
  if (!isOurs(response) || kindOf(response) !== kindOf(kept)) return false;
  if (!/html/.test(kindOf(kept))) return true;
  const scripts = scriptsOf(bytes);
  return scriptsOf(keptBytes).some((each) => scripts.includes(each));
}

const late = () => new Promise((_, reject) => setTimeout(reject, PATIENCE, new Error('slow')));

/** Who gets what is asked for: a page that is opened is another client than the one that it was opened from. */
const idsOf = ({ request, clientId, resultingClientId }) =>
  (request.mode === 'navigate' ? [resultingClientId] : [clientId, resultingClientId]).filter(Boolean);

/** What a page or a worker gets its files from; nothing where nothing is kept. Which it is stays the same. */
async function stateOf(event) {
  const ids = idsOf(event);
  let state = ids.map((id) => clientStates.get(id)).find(Boolean);
  const all = state ? [] : await names();
  for (const name of all) {
    const files = await caches.open(name);
    const notes = await Promise.all(ids.map((id) => files.match(CLIENTS + id)));
    const note = notes.find(Boolean);
    if (note) state ??= { name, mode: await note.text() };
  }
  state =
    ids.map((id) => clientStates.get(id)).find(Boolean) ?? state ?? (all.length > 0 && { name: all[0], mode: '' });
  if (!state) return undefined;
  for (const id of ids.filter((each) => clientStates.get(each) !== state)) {
    clientStates.set(id, state);
    await note(state, id);
  }
  return state;
}

/** Notes what a client gets: this worker may be ended, and started again while the page is open. */
async function note({ name, mode }, id) {
  if (!isForgotten && (await caches.has(name))) await (await caches.open(name)).put(CLIENTS + id, new Response(mode));
}

/** Decides what a client gets from now on, unless that is decided; returns what it is. */
function decide(event, state, mode) {
  if (state.mode) return state.mode;
  state.mode = mode;
  event.waitUntil(Promise.all(idsOf(event).map((id) => note(state, id))));
  return mode;
}

/**
 * From the network, or what is kept. The `mode` of a client is '' as long as all that it got is the same in both, then
 * `fresh` or `kept`.
 */
async function answer(event) {
  const { request } = event;
  const state = isForgotten ? undefined : await stateOf(event);
  const kept = state && (await (await caches.open(state.name)).match(keyOf(request)));
  if (!kept || state.mode === 'fresh') return fetch(request);
  if (state.mode === 'kept') return kept;
  const keptBytes = await kept.clone().arrayBuffer();
  let response;
  try {
    response = await Promise.race([fetch(request), late()]);
    // The server says that there is no such page any more.
    if (request.mode === 'navigate' && [404, 410].includes(response.status)) return response;
    const bytes = await Promise.race([response.clone().arrayBuffer(), late()]);
    if (isOurs(response) && isSame(bytes, keptBytes)) return state.mode === 'kept' ? kept : response;
    if (isVersion(response, bytes, { kept, keptBytes }) && decide(event, state, 'fresh') === 'fresh') {
      event.waitUntil(keepAnew());
      return response;
    }
  } catch {
    // Nobody answers, or not in time.
  }
  return decide(event, state, 'kept') === 'kept' ? kept : (response ?? fetch(request));
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
self.addEventListener('message', ({ data }) => {
  if (data === 'forget') isForgotten = true;
});
self.addEventListener('fetch', (event) => {
  if (isOwn(event.request)) event.respondWith(answer(event));
});
