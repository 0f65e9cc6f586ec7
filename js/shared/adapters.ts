/**
 * The adapters (LoRA) of one tab. The engine of all tabs has each file once; requests of another tab do not use it
 * unless that tab adds it, too. After a move they are added again, before anything else is asked of the new engine.
 */
import type { StartOptions } from '../engine/engine.js';
import { invalidArgument } from '../errors.js';
import type { Link } from './link.js';

type Scales = NonNullable<StartOptions['adapters']>;

/** An adapter of this tab. @internal */
export interface OwnAdapter {
  /** The number in this tab. */
  readonly id: number;
  readonly file: Blob;
  /** What all tabs call it: its digest, and which of equal files of a tab it is. */
  readonly key: string;
  /** The scale in texts whose options name no adapters. */
  readonly scale: number;
}

/** @internal */
export class TabAdapters {
  readonly #own = new Map<number, OwnAdapter>();
  #count = 0;
  /** The numbers of these adapters in the engine of a connection. */
  #there: { readonly link: Link; readonly numbers: Promise<Map<number, number>> } | undefined;

  /** Gives a file its number, and what all tabs call it. */
  async of(file: Uint8Array, scale: number): Promise<OwnAdapter> {
    const bytes = file as Uint8Array<ArrayBuffer>;
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    const name = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const keys = new Set([...this.#own.values()].map(({ key }) => key));
    let copy = 1;
    while (keys.has(`${name} ${copy}`)) copy += 1;
    this.#count += 1;
    return { id: this.#count, file: new Blob([bytes]), key: `${name} ${copy}`, scale };
  }

  /** Adds an adapter to the engine. */
  async add(link: Link, adapter: OwnAdapter): Promise<void> {
    const numbers = await this.on(link);
    numbers.set(adapter.id, await link.addAdapter(adapter.file, adapter.key));
    this.#own.set(adapter.id, adapter);
  }

  /** Forgets an adapter, and says which one it was. */
  forget(id: number): OwnAdapter | undefined {
    const found = this.#own.get(id);
    this.#own.delete(id);
    return found;
  }

  /** Waits until the engine has all of them. No request of this tab may have its turn in a new engine before. */
  on(link: Link): Promise<Map<number, number>> {
    if (this.#there?.link === link) return this.#there.numbers;
    const there = { link, numbers: this.#addAll(link) };
    this.#there = there;
    there.numbers.catch(() => {
      if (this.#there === there) this.#there = undefined;
    });
    return there.numbers;
  }

  async #addAll(link: Link): Promise<Map<number, number>> {
    const numbers = new Map<number, number>();
    for (const { id, file, key } of this.#own.values()) numbers.set(id, await link.addAdapter(file, key));
    return numbers;
  }

  /**
   * Adapters of a request as the engine numbers them. `given`: as this tab does; where it is undefined, the adapters of
   * `load`.
   *
   * @throws {WebggufError} `invalid_argument` for a number that no adapter of this tab has or that occurs twice
   */
  async numbered(link: Link, given: Scales | undefined): Promise<{ adapters?: Scales }> {
    const numbers = await this.on(link);
    const loaded = [...this.#own.values()].filter(({ scale }) => scale !== 0);
    const asked = given ?? loaded.map(({ id, scale }) => [id, scale] as const);
    const named = new Set<number>();
    const adapters = asked.map(([id, scale]) => {
      const number = this.#own.has(id) ? numbers.get(id) : undefined;
      if (number === undefined) throw invalidArgument(`adapters: the model has no adapter ${id}`);
      if (named.has(id)) throw invalidArgument(`adapters: adapter ${id} occurs twice`);
      named.add(id);
      return [number, scale] as const;
    });
    return given || adapters.length > 0 ? { adapters } : {};
  }
}
