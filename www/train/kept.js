// What outlives a reload, in IndexedDB: the draft (examples, options, model, question), what the last training began
// with, and its losses. Its numbers are kept by webgguf/training under the name that `trainingName` gives. A browser
// that stores nothing for this page is no error: a reload then begins anew.

import { settled, storeOf } from '../shared/store.js';

const NAME = 'webgguf.train';
const STORE = 'kept';
/** How long after a change it is written, in milliseconds: people change many things in a row. */
const DELAY = 300;
/** How long the page before a reload may hold its slot. */
const GRACE = 1500;

/** Each tab has its own: two may learn at a time, and a new tab goes on with what a closed one had. */
let slot = 1;

const using = storeOf(NAME, STORE);

const keyOf = (part) => `${slot}/${part}`;

/** Writes a part at once; whether the browser took it. */
export async function keep(part, value) {
  return using('readwrite', (store) => settled(store.put(value, keyOf(part)))).then(
    () => true,
    () => false,
  );
}

/** What `keep` has written of a part, or nothing. */
export const recall = (part) => using('readonly', (store) => settled(store.get(keyOf(part)))).catch(() => undefined);

const waiting = new Map();

/** Writes what `make` gives a moment later; of several in a row the last one. */
export function keepSoon(part, make) {
  clearTimeout(waiting.get(part)?.timer);
  waiting.set(part, { make, timer: setTimeout(() => flush(part), DELAY) });
}

function flush(part) {
  const { make, timer } = waiting.get(part);
  clearTimeout(timer);
  waiting.delete(part);
  return keep(part, make());
}

// A page that is hidden may not come back.
addEventListener('pagehide', () => [...waiting.keys()].forEach(flush));
document.addEventListener('visibilitychange', () => document.hidden && [...waiting.keys()].forEach(flush));

/** Under which name the training of this tab is kept. */
export const trainingName = () => `train.html ${slot}`;

/** Takes a slot that no other tab has: the one that this tab had before its reload, or the first. */
export async function openKept() {
  if (!navigator.locks) return;
  const own = Number(sessionStorage.getItem(NAME));
  if (own && (await taken(own, { signal: AbortSignal.timeout(GRACE) }))) slot = own;
  else for (slot = 1; !(await taken(slot, { ifAvailable: true })); ) slot += 1;
  sessionStorage.setItem(NAME, slot);
}

/** Whether the lock of a slot was had; it is held until the tab closes. */
function taken(number, options) {
  return new Promise((resolve) => {
    const hold = (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {});
    };
    navigator.locks.request(`${NAME} ${number}`, options, hold).catch(() => resolve(false));
  });
}
