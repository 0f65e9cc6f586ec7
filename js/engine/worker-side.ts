/**
 * The worker's side of {@link WorkerEngine}: an engine in its own thread that answers calls.
 */
import { Channel, type Handler, type Port } from './channel.js';
import type { Engine } from './engine.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { DownloadControl } from '../load/patience.js';
import { LocalEngine } from './local.js';
import { receivedSource } from './remote-sources.js';
import { threadHandlers } from './thread-side.js';
import type { ModelInfo } from '../types/info.js';
import type { InWorker } from '../training/language/in-worker.js';
import { type InitOptions, init, wasmClasses } from '../wasm/instance.js';

/** An engine and the last call of its text. */
interface Served {
  readonly engine: Engine;
  last: Promise<unknown>;
}

/** Answers on `port` until the worker ends. The first argument of most calls is the number of an engine. @internal */
export function serve(port: Port): void {
  const engines = new Map<number, Served>();
  let count = 0;
  const add = (engine: Engine): number => {
    for (const [number, served] of engines) if (served.engine === engine) return number;
    engines.set((count += 1), { engine, last: Promise.resolve() });
    return count;
  };
  const load: Handler = async ([source, options, callbacks, settings]): Promise<[number, ModelInfo]> => {
    if (callbacks.paused) download.pause();
    await init(settings as InitOptions);
    // What the page's callback throws ends loading there, and this worker.
    const tell = (method: string) => (value: unknown) => void channel.call(method, [value]).catch(() => {});
    const engine = await LocalEngine.load(receivedSource(source, channel), {
      ...options,
      ...(typeof options.mmproj === 'object' && { mmproj: receivedSource(options.mmproj, channel) }),
      ...(options.draft && { draft: receivedSource(options.draft, channel) }),
      ...(callbacks.onProgress && { onProgress: tell('progress') }),
      ...(callbacks.paused !== undefined && { download }),
      ...(callbacks.onWarning && { onWarning: tell('warning') }),
    });
    return [add(engine), engine.info];
  };
  const download = new DownloadControl();
  const pause: Handler = ([paused]) => (paused ? download.pause() : download.resume());
  const reading = (number: number, progress: unknown) =>
    void channel.call('reading', [number, progress]).catch(() => {});
  const handlers = { hold, load, pause, ...engineHandlers(engines, add, reading), ...threadHandlers() };
  const channel = new Channel(port, handlers);
  port.postMessage({ ready: true }, []);
}

/** How calls reach the engines of this worker. */
function callsOf(engines: Map<number, Served>) {
  const served = (number: number): Served => {
    const found = engines.get(number);
    if (found) return found;
    throw invalidArgument('the worker has no such model');
  };
  /** A call that does not wait for others. */
  const on =
    // biome-ignore lint/suspicious/noExplicitAny: as Handler
      (work: (engine: Engine, args: any[], signal: AbortSignal) => unknown): Handler =>
      ([number, ...args], signal) =>
        work(served(number).engine, args, signal);
  /** A call that waits for the calls of its text before it: the page asks for several pieces ahead. */
  const inOrder =
    // biome-ignore lint/suspicious/noExplicitAny: as Handler
      (work: (engine: Engine, args: any[]) => Promise<unknown>): Handler =>
      ([number, ...args]) => {
        const text = served(number);
        const done = text.last.then(() => work(text.engine, args));
        text.last = done.catch(() => {});
        return done;
      };
  return { served, on, inOrder };
}

/** The calls of {@link Engine}. */
function engineHandlers(
  engines: Map<number, Served>,
  add: (engine: Engine) => number,
  tell: (number: number, progress: unknown) => void,
): Record<string, Handler> {
  const { served, on, inOrder } = callsOf(engines);
  const free: Handler = async ([number]) => {
    const { engine } = served(number);
    engines.delete(number);
    await engine.free();
  };
  return {
    free,
    start: inOrder((engine, [prompt, { onProgress, ...options }, number]) =>
      engine.start(prompt, { ...options, ...(onProgress && { onProgress: (it: unknown) => tell(number, it) }) }),
    ),
    next: inOrder((engine) => engine.next()),
    // The pieces that the page asked for ahead are none of the text.
    insert: ([number, inserted, kept]) => served(number).engine.insert(inserted, kept, () => served(number).last),
    finish: inOrder((engine) => engine.finish()),
    cancel: on((engine) => engine.cancel()),
    lane: on(async (engine, [prompt]) => add(await engine.lane(prompt))),
    another: on(async (engine, [withCache]) => add(await engine.another(withCache))),
    save: on((engine, [notes, text]) => engine.save(notes, text)),
    restore: on(async (engine, [saved]) => {
      const { engine: made, notes } = await engine.restore(saved);
      return { engine: add(made), notes };
    }),
    count: on((engine, [prompt]) => engine.count(prompt)),
    encodeParts: on((engine, [parts]) => engine.encodeParts(parts)),
    tokenize: on((engine, [text, addSpecial, parseSpecial]) => engine.tokenize(text, addSpecial, parseSpecial)),
    detokenize: on((engine, [ids, showSpecial]) => engine.detokenize(ids, showSpecial)),
    applyChatTemplate: on((engine, [conversation]) => engine.applyChatTemplate(conversation)),
    evaluate: on((engine, [ids, options], signal) => engine.evaluate(ids, options, signal)),
    addAdapter: on((engine, [file, scale]) => engine.addAdapter(file, scale)),
    removeAdapter: on((engine, [id]) => engine.removeAdapter(id)),
    embed: on((engine, [inputs, options], signal) => engine.embed(inputs, options, signal)),
    rank: on((engine, [query, documents, options], signal) => engine.rank(query, documents, options, signal)),
    train: on(async (engine, [script, method, args]) => (await trainingOf(script)).call(engine, method, args)),
    reset: on((engine) => engine.reset()),
    wasmMemoryBytes: on((engine) => engine.wasmMemoryBytes()),
  };
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
