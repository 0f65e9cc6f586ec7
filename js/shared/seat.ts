/**
 * The engine of all tabs, in the thread that has the seat: a tab, a service worker or a SharedWorker.
 */
import { LocalEngine } from '../engine/local.js';
import { later } from '../engine/later.js';
import { invalidArgument } from '../errors.js';
import type { SharedPlace } from '../types/info.js';
import type { LoadOptions } from '../types/load.js';
import type { Source } from '../types/source.js';
import { Busy } from './busy.js';
import type { Hosting } from './messages.js';

/** An engine that other tabs may use. @internal */
export interface Hosted {
  /** Fires when it is gone, however that came. */
  readonly ended: AbortSignal;
  end(): void;
}

/** What is loaded, and for whom. @internal */
export interface Wanted {
  readonly source: Source;
  readonly options: LoadOptions;
  /** See `messages.ts`. */
  readonly name: string;
}

/** What is to be opened, and where. @internal */
export type ToOpen = Wanted & Hosting;

/** @internal */
export const given = (): Error => invalidArgument('the model was given to another tab');

/** Opens an engine in this thread. @internal */
export async function openHere({ source, options, ...hosting }: ToOpen): Promise<Hosted> {
  const { hostModel } = await later.host();
  const engine = await LocalEngine.load(source, options);
  const stop = await hostModel(engine, hosting);
  const ending = new AbortController();
  const end = (): void => {
    if (ending.signal.aborted) return;
    ending.abort();
    stop();
    void engine.free();
  };
  return { ended: ending.signal, end };
}

/** The engine from its load to its end. @internal */
export class Seat {
  readonly host = crypto.randomUUID();
  /** Whether the model is loaded. */
  isServing = false;
  readonly #ending = new AbortController();
  readonly #open: (wanted: ToOpen) => Promise<Hosted>;

  /** @param open opens the engine: in this thread, or in one that this thread starts */
  constructor(open: (wanted: ToOpen) => Promise<Hosted>) {
    this.#open = open;
  }

  get isEnded(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Loads the model, and resolves when its engine is gone. Rejects where loading fails, unless it was ended. */
  async run(wanted: Wanted, place: SharedPlace): Promise<void> {
    const { signal } = this.#ending;
    try {
      const options = { ...wanted.options, signal };
      const opened = (): Promise<Hosted> => this.#open({ ...wanted, options, host: this.host, place });
      const hosted = await new Busy(wanted.name, this.host).during(opened);
      if (signal.aborted) hosted.end();
      signal.addEventListener('abort', () => hosted.end(), { once: true });
      this.isServing = true;
      await fired(hosted.ended);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Ends the engine at once: its thread, or its memory on the GPU, is freed. */
  end(): void {
    this.#ending.abort(given());
  }
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
