/**
 * Responses that are kept: in memory within a budget, and in IndexedDB where a request says so.
 */
import { Disk } from './disk.js';
import type { Item } from './items.js';
import type { ModelResponse } from './types.js';

/** A response, and what its model read after the response before it. @internal */
export interface Kept {
  readonly response: ModelResponse;
  readonly input: readonly (Item & { readonly id: string })[];
}

/** Bytes of the responses of one client in memory, and of an origin in IndexedDB: the oldest go first. */
const MOST_BYTES = 64 << 20;

/** @internal */
export class KeptResponses {
  /** The least recently used first. As text, so that nobody changes them from outside. */
  readonly #texts = new Map<string, string>();
  readonly #disk: Disk;
  readonly #most: number;
  #bytes = 0;

  constructor(most = MOST_BYTES) {
    this.#most = most;
    this.#disk = new Disk(most);
  }

  async get(id: string): Promise<Kept | undefined> {
    const text = this.#texts.get(id);
    if (text !== undefined) return JSON.parse(text) as Kept;
    if (!this.#disk.isHere) return undefined;
    return keptOf(id, await this.#disk.get(id).catch(() => undefined));
  }

  /** These were used, the last one last. */
  use(ids: readonly string[]): void {
    for (const id of ids) {
      const text = this.#texts.get(id);
      if (text === undefined) continue;
      this.#texts.delete(id);
      this.#texts.set(id, text);
    }
  }

  /** Gives the error of the browser where it did not write to the disk; the response is kept in memory then. */
  async put(kept: Kept, place: 'memory' | 'disk'): Promise<unknown> {
    const { id } = kept.response;
    const text = JSON.stringify(kept);
    this.#remember(id, text);
    if (place === 'memory' || !this.#disk.isHere) return undefined;
    return this.#disk.put(id, text).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** Whether it was there. */
  async delete(id: string): Promise<boolean> {
    const wasHeld = this.#texts.has(id);
    this.#forget(id);
    if (!this.#disk.isHere) return wasHeld;
    const wasStored = (await this.#disk.get(id).catch(() => undefined)) !== undefined;
    if (wasStored) await this.#disk.delete(id);
    return wasHeld || wasStored;
  }

  #remember(id: string, text: string): void {
    this.#texts.set(id, text);
    this.#bytes += 2 * text.length;
    for (const old of this.#texts.keys()) {
      if (this.#bytes <= this.#most || old === id) return;
      this.#forget(old);
    }
  }

  #forget(id: string): void {
    this.#bytes -= 2 * (this.#texts.get(id)?.length ?? 0);
    this.#texts.delete(id);
  }
}

/** What was stored, unless somebody has written over it. */
function keptOf(id: string, text: string | undefined): Kept | undefined {
  try {
    const kept = JSON.parse(text ?? 'null') as Kept | null;
    return kept?.response?.id === id && Array.isArray(kept.input) ? kept : undefined;
  } catch {
    return undefined;
  }
}
