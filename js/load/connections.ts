/**
 * Whether a file is fetched over several connections.
 */
import { strongValidator, type FileFacts } from './responses.js';

/** Connections of `auto` once one is slow. */
const SEVERAL = 4;
/** Bytes per millisecond below which a connection is slow. */
const SLOW = 10_000;
/** Bytes after which the rate is looked at. */
const WINDOW = 8 << 20;

/** How fast one connection is, and so how many there are to be. @internal */
export class Connections {
  readonly #wanted: number | 'auto';
  #bytes = 0;
  #milliseconds = 0;

  constructor(wanted: number | 'auto' = 'auto') {
    this.#wanted = isMetered() ? 1 : wanted;
  }

  /** Counts bytes and how long they were waited for; says how many connections there should be. */
  after(bytes: number, milliseconds: number): number {
    if (this.#wanted !== 'auto') return this.#wanted;
    this.#bytes += bytes;
    this.#milliseconds += milliseconds;
    if (this.#bytes < WINDOW) return 1;
    const isSlow = this.#bytes < SLOW * this.#milliseconds;
    this.#bytes = this.#milliseconds = 0;
    return isSlow ? SEVERAL : 1;
  }
}

/** Whether a server gives parts of this version of a file alone. @internal */
export function takesParts(response: Response | undefined, facts: FileFacts | undefined): boolean {
  return response?.status === 206 && strongValidator(facts) !== undefined;
}

/** Where the browser says so, bytes are paid for: no more come than are needed. */
function isMetered(): boolean {
  const { type, saveData } = Reflect.get(globalThis.navigator ?? {}, 'connection') ?? {};
  return type === 'cellular' || saveData === true;
}
