// The pictures and sounds of stored conversations, in IndexedDB: localStorage, where their texts are, has no room for
// files. A browser that stores nothing for this page is no error: the files are then there for this visit alone.

import { settled, storeOf } from '../shared/store.js';

const NAME = 'webgguf.demo';
const STORE = 'pictures';
/** Milliseconds for which files without a conversation are kept: a deleted conversation may come back. */
const GRACE = 24 * 60 * 60 * 1000;

const using = storeOf(NAME, STORE, { keyPath: 'id' });

/** Stores attachments; returns whether the browser took them. */
export async function keepAttachments(attachments) {
  if (attachments.length === 0) return true;
  const time = Date.now();
  const put = (store) =>
    Promise.all(attachments.map(({ id, file, thumbnail }) => settled(store.put({ id, file, thumbnail, time }))));
  return using('readwrite', put).then(
    () => true,
    () => false,
  );
}

/** The same attachments with their files, where these are there. */
export async function recallAttachments(attachments) {
  const get = (store) => Promise.all(attachments.map(({ id }) => settled(store.get(id))));
  const found = await using('readonly', get).catch(() => []);
  return attachments.map((attachment, at) => ({ ...attachment, ...pick(attachment, found[at]) }));
}

/** A picture has a small copy beside its file. */
function pick({ kind }, { file, thumbnail } = {}) {
  if (!(file instanceof Blob)) return {};
  if (kind === 'sound') return { file };
  return thumbnail instanceof Blob ? { file, thumbnail } : {};
}

/** Removes the files that are of no conversation any more; `used` are ids. */
export async function dropUnused(used) {
  await using('readwrite', async (store) => {
    const all = await settled(store.getAll());
    const old = all.filter(({ id, time }) => !used.has(id) && !(Date.now() - time < GRACE));
    await Promise.all(old.map(({ id }) => settled(store.delete(id))));
  }).catch(() => {}); // nothing is stored, or nothing can be
}

/** Removes all files. */
export async function forgetAttachments() {
  await using('readwrite', (store) => settled(store.clear())).catch(() => {});
}
