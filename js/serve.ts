/**
 * The worker's side of {@link WorkerEngine}: an engine in its own thread that answers calls.
 */
import { Channel, type Handler, type Port } from './channel.js';
import type { Engine, TextEngine } from './engine.js';
import { invalidArgument } from './errors.js';
import { LocalEngine } from './local-engine.js';
import { receivedSource } from './remote-sources.js';
import type { ModelInfo, WasmInput } from './types.js';
import { init } from './wasm.js';

/** Answers on `port` until the worker ends. @internal */
export function serve(port: Port): void {
  let engine: Engine | undefined;
  const loaded = (): Engine => {
    if (engine) return engine;
    throw invalidArgument('the worker has no model');
  };
  const load: Handler = async ([source, options, callbacks, wasm]): Promise<ModelInfo> => {
    if (wasm !== undefined) await init({ wasm: wasm as WasmInput });
    // What the page's callback throws ends loading there, and this worker.
    const tell = (method: string) => (value: unknown) => void channel.call(method, [value]).catch(() => {});
    engine = await LocalEngine.load(receivedSource(source, channel), {
      ...options,
      ...(callbacks.onProgress && { onProgress: tell('progress') }),
      ...(callbacks.onWarning && { onWarning: tell('warning') }),
    });
    return engine.info;
  };
  const channel = new Channel(port, {
    ...{ hold, load },
    ...textHandlers(loaded),
    tokenize: ([text, addSpecial, parseSpecial]) => loaded().tokenize(text, addSpecial, parseSpecial),
    detokenize: ([ids, showSpecial]) => loaded().detokenize(ids, showSpecial),
    applyChatTemplate: ([conversation]) => loaded().applyChatTemplate(conversation),
    evaluate: ([ids, logits]) => loaded().evaluate(ids, logits),
    embed: ([inputs, options], signal) => loaded().embed(inputs, options, signal),
    rank: ([query, documents, options], signal) => loaded().rank(query, documents, options, signal),
    reset: () => loaded().reset(),
    wasmMemoryBytes: () => loaded().wasmMemoryBytes(),
    free: () => loaded().free(),
  });
  port.postMessage({ ready: true }, []);
}

/** The page asks for several pieces ahead, so the calls of one text wait for each other; `cancel` does not wait. */
function textHandlers(loaded: () => TextEngine): Record<string, Handler> {
  let last: Promise<unknown> = Promise.resolve();
  const inOrder =
    (work: (engine: TextEngine, args: unknown[]) => Promise<unknown>): Handler =>
    (args) => {
      const done = last.then(() => work(loaded(), args));
      last = done.catch(() => {});
      return done;
    };
  return {
    start: inOrder((engine, [prompt, options]) => engine.start(...([prompt, options] as Parameters<Engine['start']>))),
    next: inOrder((engine) => engine.next()),
    finish: inOrder((engine) => engine.finish()),
    cancel: () => loaded().cancel(),
  };
}

/**
 * Takes a lock that nobody else wants, and keeps it as long as this worker lives: whoever gets it after that knows that
 * the worker is gone, however it went. False where there are no locks.
 */
function hold([name]: unknown[]): Promise<boolean> {
  const locks = (globalThis.navigator as Partial<Navigator> | undefined)?.locks;
  if (!locks) return Promise.resolve(false);
  return new Promise((resolve, reject) => {
    const forever = (): Promise<void> => {
      resolve(true);
      return new Promise(() => {});
    };
    locks.request(name as string, forever).catch(reject);
  });
}
