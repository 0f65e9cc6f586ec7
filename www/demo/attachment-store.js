// The pictures and sounds of stored conversations, in IndexedDB: localStorage, where their texts are, has no room for
// files. A browser that stores nothing for this page is no error: the files are then there for this visit alone.

const NAME = 'webgguf.demo';
const STORE = 'pictures';
/** Files that no conversation has are kept for so many milliseconds: one that was deleted may come back. */
const GRACE = 24 * 60 * 60 * 1000;

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function open() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
  return settled(request);
}

/** Does `work` with the store in one transaction, which is over when this resolves. */
async function using(mode, work) {
  const database = await open();
  try {
    const transaction = database.transaction(STORE, mode);
    const over = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
    over.catch(() => {}); // `work` says it first
    const result = await work(transaction.objectStore(STORE));
    await over;
    return result;
  } finally {
    database.close();
  }
}

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
