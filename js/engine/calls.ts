/**
 * The calls of {@link Engine} as another thread sends them, by the number of an engine.
 */
import type { Handler } from './channel.js';
import type { Engine } from './engine.js';
import { invalidArgument } from '../errors.js';

/** An engine and the last call of its text. @internal */
export interface Served {
  readonly engine: Engine;
  last: Promise<unknown>;
}

/** Gives an engine its number; the first one has 1. @internal */
export function adder(engines: Map<number, Served>): (engine: Engine) => number {
  let count = 0;
  return (engine) => {
    for (const [number, served] of engines) if (served.engine === engine) return number;
    engines.set((count += 1), { engine, last: Promise.resolve() });
    return count;
  };
}

/** @throws {WebggufError} `invalid_argument` where no engine has this number @internal */
export function servedBy(engines: ReadonlyMap<number, Served>, number: number): Served {
  const found = engines.get(number);
  if (found) return found;
  throw invalidArgument('the worker has no such model');
}

/** How calls reach the engines of this worker. */
function callsOf(engines: Map<number, Served>) {
  const served = (number: number): Served => servedBy(engines, number);
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

/** The calls of {@link Engine}; the first argument of each is the number of an engine. @internal */
export function engineHandlers(
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
    lane: on(async (engine, [prompt, adapters]) => add(await engine.lane(prompt, adapters))),
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
    voice: on((engine, [ids, first, part], signal) => engine.voice(ids, first, part, signal)),
    say: on((engine, [asked], signal) => engine.say(asked, signal)),
    reset: on((engine) => engine.reset()),
    wasmMemoryBytes: on((engine) => engine.wasmMemoryBytes()),
    prefixCache: on((engine) => engine.prefixCache()),
  };
}
