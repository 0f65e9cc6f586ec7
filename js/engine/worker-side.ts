/**
 * The worker's side of {@link WorkerEngine}: an engine in its own thread that answers calls.
 */
import { Channel, type Handler, type Port } from './channel.js';
import { adder, engineHandlers, type Served, servedBy } from './calls.js';
import { WebggufError } from '../errors.js';
import { DownloadControl } from '../load/patience.js';
import { later } from './later.js';
import { LocalEngine } from './local.js';
import { receivedLoad } from './remote-sources.js';
import { threadHandlers } from './thread-side.js';
import { RELEASE } from '../release.js';
import type { ModelInfo } from '../types/info.js';
import type { InWorker } from '../training/language/in-worker.js';
import { type InitOptions, init, wasmClasses } from '../wasm/instance.js';

/** Answers on `port` until the worker ends. The first argument of most calls is the number of an engine. @internal */
export function serve(port: Port): void {
  const engines = new Map<number, Served>();
  const add = adder(engines);
  const load: Handler = async ([load, callbacks, settings]): Promise<[number, ModelInfo]> => {
    if (callbacks.paused) download.pause();
    await init(settings as InitOptions);
    // What the page's callback throws ends loading there, and this worker.
    const tell = (method: string) => (value: unknown) => void channel.call(method, [value]).catch(() => {});
    const { source, options } = receivedLoad(load, channel);
    const engine = await LocalEngine.load(
      source,
      {
        ...options,
        ...(callbacks.onProgress && { onProgress: tell('progress') }),
        ...(callbacks.paused !== undefined && { download }),
        ...(callbacks.onWarning && { onWarning: tell('warning') }),
      },
      tell('state'),
    );
    return [add(engine), engine.info];
  };
  const download = new DownloadControl();
  const pause: Handler = ([paused]) => (paused ? download.pause() : download.resume());
  const reading = (number: number, progress: unknown) =>
    void channel.call('reading', [number, progress]).catch(() => {});
  const host: Handler = async ([number, hosting]) => {
    const { hostModel } = await later.host();
    await hostModel(servedBy(engines, number).engine, hosting);
  };
  const train: Handler = async ([number, script, method, args]) =>
    (await trainingOf(script)).call(servedBy(engines, number).engine, method, args);
  const handlers = { hold, host, train, load, pause, ...engineHandlers(engines, add, reading), ...threadHandlers() };
  const channel = new Channel(port, handlers);
  port.postMessage({ ready: RELEASE }, []);
}

/** What trains in this worker. A file of its own that imports nothing, see `training/language/in-worker.ts`. */
let training: Promise<InWorker> | undefined;

function trainingOf(script: string): Promise<InWorker> {
  training ??= importedFrom(script).catch((error: unknown) => {
    training = undefined; // the next call may know a better address
    throw error;
  });
  return training;
}

async function importedFrom(script: string): Promise<InWorker> {
  try {
    // Bundlers leave the address alone.
    const { open } = await import(/* @vite-ignore */ /* webpackIgnore: true */ script);
    return open(await wasmClasses());
  } catch (cause) {
    const hint = 'give the URL of webgguf/training-worker.js with trainer(model, { workerScript: url })';
    throw new WebggufError('download_failed', `${script}: ${(cause as Error).message}; ${hint}`, { cause });
  }
}

/**
 * Takes a lock that only the page wants, and keeps it as long as this worker lives: a page that gets it knows that the
 * worker is gone. Resolves to false where there are no locks.
 */
function hold([name]: unknown[]): Promise<boolean> {
  const locks = (globalThis.navigator as Partial<Navigator> | undefined)?.locks;
  if (!locks) return Promise.resolve(false);
  return new Promise((resolve) => {
    const forever = (): Promise<void> => {
      resolve(true);
      return new Promise(() => {});
    };
    locks.request(name as string, forever).catch(() => resolve(false)); // a page in a sandbox
  });
}
