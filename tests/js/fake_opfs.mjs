// A private file system and Web Locks in memory, as browsers have them: a writable stream changes its file when it is
// closed, all at once; a lock that is stolen rejects its request. `installStorage` makes them `navigator`'s.

const domError = (name) => new DOMException(name, name);

class FakeFile {
  kind = 'file';
  bytes = new Uint8Array(0);

  constructor(disk) {
    this.disk = disk;
  }

  async getFile() {
    const file = new File([this.bytes], 'file');
    const { slice } = file;
    // As of a file that was deleted: what was got of it cannot be read.
    file.slice = (...range) => {
      if (this.disk.lost) throw domError('NotReadableError');
      return slice.apply(file, range);
    };
    return file;
  }

  async createWritable() {
    await this.disk.before('createWritable');
    const pieces = [];
    return {
      write: async (piece) => {
        await this.disk.before('write');
        const bytes = new Uint8Array(await new Blob([piece]).arrayBuffer());
        this.disk.used += bytes.length;
        if (this.disk.used > this.disk.quota) throw domError('QuotaExceededError');
        pieces.push(bytes);
      },
      close: async () => {
        await this.disk.before('close');
        this.bytes = new Uint8Array(Buffer.concat(pieces));
      },
      abort: async () => {},
    };
  }
}

class FakeDirectory {
  kind = 'directory';
  children = new Map();

  constructor(disk) {
    this.disk = disk;
  }

  #get(Kind, name, create) {
    if (!this.children.has(name)) {
      if (!create) throw domError('NotFoundError');
      this.children.set(name, new Kind(this.disk));
    }
    const child = this.children.get(name);
    if (!(child instanceof Kind)) throw domError('TypeMismatchError');
    return child;
  }

  async getDirectoryHandle(name, { create = false } = {}) {
    return this.#get(FakeDirectory, name, create);
  }

  async getFileHandle(name, { create = false } = {}) {
    return this.#get(FakeFile, name, create);
  }

  async removeEntry(name) {
    if (!this.children.delete(name)) throw domError('NotFoundError');
  }

  async *entries() {
    yield* [...this.children];
  }

  async *keys() {
    yield* [...this.children.keys()];
  }
}

class FakeLocks {
  #held = new Map();

  async query() {
    const longerThan = (length) =>
      [...this.#held].filter(([, queue]) => queue.length > length).map(([name]) => ({ name }));
    return { held: longerThan(0), pending: longerThan(1) };
  }

  request(name, ...args) {
    const work = args.pop();
    const { ifAvailable, steal, signal } = args.pop() ?? {};
    return new Promise((resolve, reject) => {
      const holder = { reject };
      const queue = this.#held.get(name) ?? this.#held.set(name, []).get(name);
      const start = () => {
        const done = () => {
          queue.splice(queue.indexOf(holder), 1);
          queue[0]?.start();
        };
        Promise.resolve(work({ name })).then(
          (value) => (queue.includes(holder) && done(), resolve(value)),
          (error) => (queue.includes(holder) && done(), reject(error)),
        );
      };
      holder.start = start;
      if (steal) {
        for (const other of queue.splice(0, 1)) other.reject(domError('AbortError'));
        queue.unshift(holder);
        return start();
      }
      if (ifAvailable && queue.length > 0) return Promise.resolve(work(null)).then(resolve, reject);
      signal?.addEventListener('abort', () => {
        const at = queue.indexOf(holder);
        if (at > 0) queue.splice(at, 1);
        if (at > 0) reject(signal.reason);
      });
      queue.push(holder);
      if (queue.length === 1) start();
    });
  }
}

/**
 * Gives this process storage. `disk.quota` is its size, `disk.before(operation)` runs before each operation of a
 * writable stream and may throw; `disk.root` is the directory that pages see.
 */
export function installStorage() {
  const disk = { quota: Infinity, used: 0, before: async () => {} };
  disk.root = new FakeDirectory(disk);
  const storage = {
    getDirectory: async () => disk.root,
    estimate: async () => ({ quota: disk.announced ?? disk.quota, usage: disk.used }),
    persist: async () => true,
  };
  const navigator = { storage, locks: new FakeLocks() };
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true, writable: true });
  /** The folder of the only stored file. */
  disk.only = () => {
    const [model] = disk.root.children.get('webgguf').children.values();
    return [...model.children.values()][0].children;
  };
  return disk;
}
