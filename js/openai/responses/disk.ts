/**
 * Texts by name in the origin's IndexedDB, within a budget: the oldest go first.
 */

const DATABASE = 'webgguf-responses';
const TEXTS = 'texts';
/** Bytes of the texts and when they were written, apart from the texts, which can be long. */
const SIZES = 'sizes';

interface Size {
  readonly id: string;
  readonly bytes: number;
  readonly at: number;
}

/** @internal */
export class Disk {
  readonly #most: number;
  #opening: Promise<IDBDatabase> | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether there is one: Node.js and some private windows have none. */
  get isHere(): boolean {
    return typeof indexedDB !== 'undefined';
  }

  async get(id: string): Promise<string | undefined> {
    const found: unknown = await this.#in('readonly', ([texts]) => texts.get(id));
    return typeof found === 'string' ? found : undefined;
  }

  async delete(id: string): Promise<void> {
    await this.#in('readwrite', ([texts, sizes]) => {
      sizes.delete(id);
      return texts.delete(id);
    });
  }

  /** Writes a text, and makes room for it. */
  async put(id: string, text: string): Promise<void> {
    const added = { id, bytes: 2 * text.length, at: Date.now() };
    await this.#in('readwrite', ([texts, sizes]) => {
      texts.put(text, id);
      const all = sizes.getAll();
      all.onsuccess = () => {
        for (const old of tooMany([...(all.result as Size[]), added], this.#most)) {
          texts.delete(old);
          sizes.delete(old);
        }
      };
      return sizes.put(added);
    });
  }

  /** What a request of one transaction gives, once the transaction is complete. */
  async #in<T>(
    mode: IDBTransactionMode,
    work: (stores: [IDBObjectStore, IDBObjectStore]) => IDBRequest<T>,
  ): Promise<T> {
    const database = await this.#open();
    return new Promise<T>((resolve, reject) => {
      const transaction = database.transaction([TEXTS, SIZES], mode);
      const request = work([transaction.objectStore(TEXTS), transaction.objectStore(SIZES)]);
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? new Error('the browser ended the transaction'));
    });
  }

  #open(): Promise<IDBDatabase> {
    this.#opening ??= opened(() => (this.#opening = undefined));
    this.#opening.catch(() => (this.#opening = undefined));
    return this.#opening;
  }
}

/** The oldest, as far as all together are more than `most` bytes; the newest stays. */
function tooMany(sizes: readonly Size[], most: number): string[] {
  const newest = new Map(sizes.map((size) => [size.id, size]));
  let left = [...newest.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  const out: string[] = [];
  for (const { id, bytes } of [...newest.values()].sort((a, b) => a.at - b.at).slice(0, -1)) {
    if (left <= most) break;
    left -= bytes;
    out.push(id);
  }
  return out;
}

function opened(closed: () => void): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(TEXTS);
      request.result.createObjectStore(SIZES, { keyPath: 'id' });
    };
    request.onsuccess = () => {
      const database = request.result;
      // Another tab deletes it, or the browser closes it: the next call opens it again.
      database.onversionchange = () => {
        database.close();
        closed();
      };
      database.onclose = closed;
      resolve(database);
    };
    request.onerror = () => reject(request.error ?? new Error('the browser does not open the database'));
    request.onblocked = () => reject(new Error('another page holds the database'));
  });
}
