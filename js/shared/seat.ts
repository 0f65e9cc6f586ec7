/**
 * The tab that has the engine of all tabs.
 */
import { LocalEngine } from '../engine/local.js';
import { later } from '../engine/later.js';
import { WorkerEngine } from '../engine/in-worker.js';
import { invalidArgument } from '../errors.js';
import type { LoadOptions } from '../types/load.js';
import type { Source } from '../types/source.js';

/** An engine that other tabs may use. */
interface Hosted {
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
  readonly host: string;
}

const given = (): Error => invalidArgument('the model was given to another tab');

/** In a worker, which goes on while the page's own thread stands still; service workers have none. */
async function open(wanted: Wanted): Promise<Hosted> {
  const { source, options, name, host } = wanted;
  if (typeof Worker === 'undefined') return openHere(wanted);
  const engine = await WorkerEngine.load(source, options);
  try {
    return { ended: await engine.host(name, host), end: () => engine.end(given()) };
  } catch (error) {
    engine.end(error);
    throw error;
  }
}

async function openHere({ source, options, name, host }: Wanted): Promise<Hosted> {
  const { hostModel } = await later.host();
  const engine = await LocalEngine.load(source, options);
  const stop = await hostModel(engine, name, host);
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
  readonly host: string;
  /** Whether the model is loaded. */
  isServing = false;
  readonly #ending = new AbortController();

  constructor(host: string) {
    this.host = host;
  }

  get isEnded(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Loads the model, and resolves when its engine is gone. Rejects where loading fails, unless it was ended. */
  async run(wanted: Omit<Wanted, 'host'>): Promise<void> {
    const { signal } = this.#ending;
    try {
      const options = { ...wanted.options, signal };
      const hosted = await open({ ...wanted, options, host: this.host });
      if (signal.aborted) hosted.end();
      signal.addEventListener('abort', () => hosted.end(), { once: true });
      this.isServing = true;
      await fired(hosted.ended);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Ends the engine at once: its thread stops here. */
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
