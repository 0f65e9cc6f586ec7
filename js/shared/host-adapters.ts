/**
 * The adapters (LoRA) of all tabs in the engine that they share: each file once, as long as a tab has it.
 */
import type { Engine } from '../engine/engine.js';

interface Known {
  readonly number: number;
  /** The connections of the tabs that have added it. */
  readonly users: Set<object>;
}

/** No request may run during the calls. @internal */
export class HostAdapters {
  readonly #root: Pick<Engine, 'addAdapter' | 'removeAdapter'>;
  readonly #known = new Map<string, Known>();

  constructor(root: Pick<Engine, 'addAdapter' | 'removeAdapter'>) {
    this.#root = root;
  }

  /** Adds the file that all tabs call `key`, unless it is there, and gives its number. */
  async add(user: object, file: Blob, key: string): Promise<number> {
    const known = this.#known.get(key) ?? { number: await this.#load(file), users: new Set() };
    this.#known.set(key, known);
    known.users.add(user);
    return known.number;
  }

  /** With a scale of 0: which requests use it, their tab says. */
  async #load(file: Blob): Promise<number> {
    return this.#root.addAdapter(new Uint8Array(await file.arrayBuffer()), 0);
  }

  /** Frees the adapter if no other tab has it. */
  async remove(user: object, key: string): Promise<void> {
    const known = this.#known.get(key);
    if (!known?.users.delete(user) || known.users.size > 0) return;
    this.#known.delete(key);
    await this.#root.removeAdapter(known.number);
  }

  /** Removes all that a connection has added; its tab is gone. */
  async leave(user: object): Promise<void> {
    for (const key of [...this.#known.keys()]) await this.remove(user, key);
  }

  /** Whether a connection has added one. */
  isUsedBy(user: object): boolean {
    return [...this.#known.values()].some(({ users }) => users.has(user));
  }
}
