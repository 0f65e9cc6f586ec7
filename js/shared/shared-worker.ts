/**
 * A tab's side of the SharedWorker that has the engine of all tabs. The tab says what is to be loaded, and holds a lock
 * as long as it uses the model: the worker frees the engine once no tab holds one.
 */
import { Channel } from '../engine/channel.js';
import { type SentLoad, SourceHost } from '../engine/remote-sources.js';
import { RELEASE } from '../release.js';
import { initForWorker, type InitOptions } from '../wasm/instance.js';
import { otherRelease } from '../worker-running.js';
import { sharedWorker } from '../worker-start.js';
import { AGAIN_MS, PATIENCE_MS } from './limits.js';
import { held, onceFree } from './messages.js';
import type { Wanted } from './seat.js';

const ON_CPU = 'the model runs on the CPU, where threads of a tab share its work';

/**
 * What a SharedWorker says first. The names of these fields never change: releases know each other by them.
 * @internal
 */
export interface Greeting {
  /** The release of its script. */
  readonly ready: string;
  /** A lock that it holds as long as it lives. */
  readonly lock: string;
  /** Why it can have no engine: a sentence for people. */
  readonly why?: string;
  /** Whether its GPU is a program on the CPU, which only `backend: 'webgpu'` takes. */
  readonly isSoftware?: boolean;
}

/** What a tab asks of the worker. @internal */
export interface Asked {
  readonly load: SentLoad;
  readonly settings: InitOptions;
  /** The lock that the tab holds. */
  readonly holder: string;
  /** Whether the page's control has paused the download. */
  readonly paused?: boolean | undefined;
}

/** @internal */
export class SharedWorkerSeat {
  readonly #channel: Channel;
  readonly #lock: string;
  readonly #asked: Omit<Asked, 'holder'>;
  readonly #wanted: Wanted;

  private constructor(port: MessagePort, lock: string, asked: Omit<Asked, 'holder'>, wanted: Wanted) {
    this.#channel = new Channel(port, {});
    this.#lock = lock;
    this.#asked = asked;
    this.#wanted = wanted;
  }

  /** Connects to the worker of a model, which is started if there is none; a sentence where that does not go. */
  static async open(wanted: Wanted, signal: AbortSignal): Promise<SharedWorkerSeat | string> {
    const { source, options, name } = wanted;
    const { navigator } = globalThis as { navigator?: { gpu?: unknown } };
    if (options.backend === 'cpu') return ON_CPU;
    if (!navigator?.gpu) return 'this browser has no WebGPU';
    const connect = sharedWorker(name);
    if (typeof connect === 'string') return connect;
    try {
      const { load } = await new SourceHost(signal).sendLoad(source, options);
      const [{ port, greeting }, settings] = await Promise.all([greeted(connect, signal), initForWorker()]);
      const { ready, lock, why, isSoftware } = greeting;
      if (ready !== RELEASE) return otherRelease('the script of the SharedWorker', ready);
      if (why !== undefined) return why;
      if (isSoftware && options.backend !== 'webgpu') return `the only GPU adapter is a software one, so ${ON_CPU}`;
      if (settings.wasm instanceof WebAssembly.Module) return 'init was given a compiled module, which stays in a tab';
      return new SharedWorkerSeat(port, lock, { load, settings }, wanted);
    } catch (error) {
      return `the SharedWorker did not start: ${(error as Error).message}`;
    }
  }

  /**
   * Asks for the engine as long as `signal` does not fire. Resolves when it is gone: to true where the worker is, too.
   * Rejects where the model could not be loaded.
   */
  async run(signal: AbortSignal): Promise<boolean> {
    const holder = `${this.#wanted.name} holder ${crypto.randomUUID()}`;
    const release = await held(holder);
    const { download } = this.#wanted.options;
    const over = new AbortController();
    const onPause = (): void => void this.#channel.call('pause', [download?.paused]).catch(() => {});
    download?.addEventListener('change', onPause, { signal: over.signal });
    try {
      return await new Promise<boolean>((resolve, reject) => {
        onceFree(this.#lock, over.signal, () => resolve(true));
        signal.addEventListener('abort', () => resolve(false), { once: true, signal: over.signal });
        if (signal.aborted) resolve(false);
        const asked: Asked = { ...this.#asked, holder, ...(download && { paused: download.paused }) };
        this.#channel.call('stand', [asked]).then(() => resolve(false), reject);
      });
    } finally {
      over.abort();
      this.#channel.close(new Error('the engine is gone'));
      release();
    }
  }
}

/** Waits for the first word of a worker. */
function greeted(connect: () => SharedWorker, signal: AbortSignal): Promise<{ port: MessagePort; greeting: Greeting }> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const found = new Promise<{ port: MessagePort; greeting: Greeting }>((resolve, reject) => {
    const attempt = (wait: number): void => {
      const worker = connect();
      const { port } = worker;
      const failed = 'its script is not at its address, or the content security policy (worker-src) forbids it';
      worker.addEventListener('error', () => reject(new Error(failed)), { once: true });
      port.addEventListener('message', ({ data }) => resolve({ port, greeting: data }), { once: true });
      port.start();
      const again = (): void => {
        if (2 * wait > PATIENCE_MS) reject(new Error('it gave no answer'));
        else attempt(2 * wait);
      };
      timer = setTimeout(again, wait);
    };
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    attempt(AGAIN_MS);
  });
  return found.finally(() => clearTimeout(timer));
}
