// A store of IndexedDB that is opened for each use.

/** What a request gives. */
export const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function open(database, store, options) {
  const request = indexedDB.open(database, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(store, options);
  return settled(request);
}

/**
 * A function `(mode, work)` that does `work` with the store in one transaction, which is over when it resolves.
 *
 * @param {IDBObjectStoreParameters} [options] with which the store is made at its first use
 */
export const storeOf = (name, store, options) => async (mode, work) => {
  const database = await open(name, store, options);
  try {
    const transaction = database.transaction(store, mode);
    const over = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
    over.catch(() => {}); // `work` says it first
    const result = await work(transaction.objectStore(store));
    await over;
    return result;
  } finally {
    database.close();
  }
};
