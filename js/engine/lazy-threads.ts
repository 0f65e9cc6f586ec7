/**
 * The threads of a model that comes to run on the CPU, which is known only while it is loaded.
 */
import type { CpuThreads } from '../wasm/webgguf.js';
import { later } from './later.js';

/** @internal */
export class LazyThreads {
  /** How many there are, with the one that runs the model. */
  count = 1;
  readonly #wanted: number | undefined;
  readonly #signal: AbortSignal;

  constructor(wanted: number | undefined, signal: AbortSignal) {
    this.#wanted = wanted;
    this.#signal = signal;
  }

  /** Whether this page or worker may have memory that other threads see. */
  static areThere(): boolean {
    return globalThis.crossOriginIsolated === true && typeof Worker !== 'undefined';
  }

  /** Starts them; without any where they do not start: then the model runs in this thread alone. */
  readonly start = async (): Promise<CpuThreads | undefined> => {
    const { defaultThreads, Threads } = await later.threads();
    const count = this.#wanted ?? defaultThreads();
    try {
      const threads = count > 1 ? await Threads.open(count - 1, this.#signal) : undefined;
      this.count = threads ? count : 1;
      return threads;
    } catch {
      this.#signal.throwIfAborted();
      return undefined;
    }
  };
}
