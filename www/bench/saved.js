// Results that this browser keeps, in localStorage, each under a key of its own, so that two tabs do not overwrite each
// other's. A browser that stores nothing for this page is no error: `save` says so.

import { summaryOf } from './results.js';

const PREFIX = 'webgguf.bench.';

/** What is kept under a key; nothing where it cannot be read. */
function read(key) {
  try {
    return summaryOf(JSON.parse(localStorage.getItem(key)));
  } catch {
    return undefined;
  }
}

function keys() {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  } catch {
    return [];
  }
}

/** All of them, oldest first: pairs of a key and a result. */
export function saved() {
  const all = keys().map((key) => [key, read(key)]);
  return all.filter(([, result]) => result).sort(([, a], [, b]) => (a.date < b.date ? -1 : 1));
}

/** Keeps a result, once. Returns its key; nothing where the browser did not take it. */
export function save(result) {
  const key = `${PREFIX}${result.date}.${result.adapter}.${result.info.quantization}`;
  try {
    localStorage.setItem(key, JSON.stringify(result));
    return key;
  } catch {
    return undefined;
  }
}

export function remove(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // Where storage is refused there is nothing to remove.
  }
}
