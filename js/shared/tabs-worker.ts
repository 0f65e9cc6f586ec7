/**
 * The SharedWorker that has the engine of all tabs. It waits for the seat as a tab does, loads the model there, and
 * frees it once no tab holds its lock any more.
 */
import { Channel, type Handler, type Port } from '../engine/channel.js';
import { receivedLoad } from '../engine/remote-sources.js';
import type { LoadWarning } from '../load/cache/warning.js';
import { DownloadControl } from '../load/patience.js';
import { RELEASE } from '../release.js';
import type { Progress } from '../types/load.js';
import { init } from '../wasm/instance.js';
import { GRACE_MS } from './limits.js';
import { Everyone, held, names, onceFree } from './messages.js';
import { openHere, Seat } from './seat.js';
import type { Asked, Greeting } from './shared-worker.js';

/** What this script needs of its global scope; the types of pages do not have it. @internal */
export interface SharedScope {
  /** The model's name, see `messages.ts`. */
  readonly name: string;
  addEventListener(type: 'connect', listener: (event: MessageEvent) => void): void;
  close(): void;
}

/** Whether this script runs in a SharedWorker. @internal */
export const isShared = (scope: object): scope is SharedScope => 'onconnect' in scope;

/** Answers tabs until none uses the model. @internal */
export function serveTabs(scope: SharedScope): void {
  const keeper = new Keeper(scope.name, () => scope.close());
  const greeting = greet();
  scope.addEventListener('connect', async ({ ports }) => {
    const port = ports[0] as MessagePort;
    keeper.stay();
    keeper.connect(port);
    port.start();
    port.postMessage(await greeting, []);
  });
}

async function greet(): Promise<Greeting> {
  const lock = `webgguf shared worker ${crypto.randomUUID()}`;
  await held(lock);
  return { ready: RELEASE, lock, ...(await gpuHere()) };
}

interface Adapter {
  readonly info?: { readonly architecture?: string; readonly isFallbackAdapter?: boolean };
}

/** Why there can be no engine here, or what kind of GPU it would have. */
async function gpuHere(): Promise<Pick<Greeting, 'why' | 'isSoftware'>> {
  const { gpu } = navigator as { gpu?: { requestAdapter(): Promise<Adapter | null> } };
  if (!gpu) return { why: 'this browser has no WebGPU in SharedWorkers' };
  const adapter = await gpu.requestAdapter().catch(() => null);
  if (!adapter) return { why: 'this browser gives SharedWorkers no GPU' };
  const { info } = adapter;
  return { isSoftware: Boolean(info?.isFallbackAdapter) || info?.architecture === 'swiftshader' };
}

/** Loads the model as long as tabs want it. */
class Keeper {
  readonly #name: string;
  readonly #close: () => void;
  readonly #everyone: Everyone;
  readonly #download = new DownloadControl();
  /** The locks of the tabs that use the model. */
  readonly #holders = new Set<string>();
  /** The engine, or the wait for the seat; shared by all who ask meanwhile. */
  #running: { readonly over: Promise<void>; readonly ending: AbortController } | undefined;
  #seat: Seat | undefined;
  #leaving: ReturnType<typeof setTimeout> | undefined;

  constructor(name: string, close: () => void) {
    this.#name = name;
    this.#close = close;
    this.#everyone = new Everyone(name, ({ kind }) => {
      const isLoading = kind === 'beat' && this.#seat && !this.#seat.isServing;
      if (isLoading) this.#everyone.say({ kind: 'alive', by: 'loading tab' });
    });
  }

  /** Ends this worker, and with it all of its memory, unless a tab asks for the model soon. */
  stay(): void {
    clearTimeout(this.#leaving);
    this.#leaving = setTimeout(() => {
      if (this.#holders.size === 0) this.#close();
    }, GRACE_MS);
  }

  connect(port: Port): void {
    const stand: Handler = ([asked]) => this.#stand(asked, channel);
    const pause: Handler = ([paused]) => this.#pause(paused);
    const channel = new Channel(port, { stand, pause });
  }

  #pause(paused: boolean): void {
    if (paused) this.#download.pause();
    else this.#download.resume();
  }

  /** Resolves when the engine is gone; rejects where it could not be loaded. */
  #stand(asked: Asked, channel: Channel): Promise<void> {
    const { holder } = asked;
    this.#holders.add(holder);
    onceFree(holder, new AbortController().signal, () => {
      this.#holders.delete(holder);
      if (this.#holders.size > 0) return;
      this.#running?.ending.abort();
      this.stay();
    });
    if (!this.#running) {
      if (asked.paused !== undefined) this.#pause(asked.paused);
      const ending = new AbortController();
      const over = this.#run(asked, channel, ending.signal).finally(() => {
        this.#running = undefined;
      });
      this.#running = { over, ending };
    }
    return this.#running.over;
  }

  async #run({ load, settings }: Asked, channel: Channel, signal: AbortSignal): Promise<void> {
    const { source, options } = receivedLoad(load, channel);
    const onProgress = (progress: Progress): void => this.#everyone.say({ kind: 'progress', progress });
    const onWarning = (warning: LoadWarning): void => this.#everyone.say({ kind: 'warning', warning });
    const told = { ...options, onProgress, onWarning, download: this.#download };
    const wanted = { source, options: told, name: this.#name };
    const seat = new Seat(async (given) => {
      await init(settings);
      return openHere(given);
    });
    signal.addEventListener('abort', () => seat.end(), { once: true });
    const sit = async (): Promise<void> => {
      if (seat.isEnded) return;
      this.#seat = seat;
      this.#everyone.say({ kind: 'loading', host: seat.host });
      await seat.run(wanted, { engineIn: 'sharedWorker' });
    };
    try {
      await navigator.locks.request(names.seat(this.#name), { signal }, sit);
    } catch (error) {
      // A tab has taken the seat, or all have gone.
      if ((error as Error).name !== 'AbortError') throw error;
    } finally {
      seat.end();
      this.#seat = undefined;
    }
  }
}
