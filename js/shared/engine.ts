/**
 * The engine that tabs share, as one tab sees it. When it moves to another tab, calls are made again there, sessions
 * begin again with what they know, and a text of which pieces were given ends with `engine_moved`.
 */
import { abortable } from '../cancel.js';
import type { Input } from '../model/embedding.js';
import type {
  EmbedCall,
  EncodedParts,
  Engine,
  EvaluateCall,
  Inserted,
  Prompt,
  PromptPart,
  Restored,
  StartOptions,
} from '../engine/engine.js';
import { WebggufError } from '../errors.js';
import type { Conversation } from '../templates/types.js';
import type { GenerationResult, Piece } from '../types/generate.js';
import type { ModelInfo, PrefixCacheUse, SharedPlace } from '../types/info.js';
import type { LoadOptions } from '../types/load.js';
import type { Evaluation } from '../types/read.js';
import type { Source } from '../types/source.js';
import type { TensorHandle } from '../wasm/webgguf.js';
import { sharedName } from './key.js';
import { MOST_MOVES } from './limits.js';
import type { Link } from './link.js';
import { moved, Tab } from './tab.js';

/** Makes an engine of the loaded model, after each move anew. */
type Make = (root: Engine, link: Link) => Promise<Engine>;

/** @internal */
export class SharedEngine implements Engine {
  readonly info: ModelInfo;
  readonly #tab: Tab;
  readonly #make: Make;
  readonly #isRoot: boolean;
  /** The engine on the connection that there was last. */
  #made: { readonly link: Link; readonly engine: Promise<Engine> } | undefined;
  /** The text that is to be written. */
  #asked: [Prompt, StartOptions] | undefined;
  #hasGiven = false;
  #ending = new AbortController();

  private constructor(tab: Tab, info: ModelInfo, make?: Make) {
    this.#tab = tab;
    this.info = info;
    this.#isRoot = make === undefined;
    this.#make = make ?? (async (root) => root);
  }

  /** `options` are checked; see {@link WasmModel.load}. */
  static async load(source: Source, options: LoadOptions): Promise<SharedEngine> {
    checkSurroundings();
    const { signal } = options;
    const name = await sharedName(source, options);
    const tab = new Tab({ source, options, name });
    try {
      const link = await (signal ? abortable(tab.link(), signal) : tab.link());
      return new SharedEngine(tab, { ...link.info, shared: placeOf(tab) });
    } catch (error) {
      await tab.close();
      throw error;
    }
  }

  tokenize(...call: Parameters<Engine['tokenize']>): Promise<Uint32Array> {
    return this.#call((engine) => engine.tokenize(...call));
  }

  detokenize(ids: Uint32Array, showSpecial: boolean): Promise<string> {
    return this.#call((engine) => engine.detokenize(ids, showSpecial));
  }

  applyChatTemplate(conversation: Conversation): Promise<string> {
    return this.#call((engine) => engine.applyChatTemplate(conversation));
  }

  async lane(prompt: Prompt, given: StartOptions['adapters'], signal?: AbortSignal): Promise<Engine> {
    if ((this.info.parallel ?? 1) === 1) return this;
    const make: Make = async (root, link) => {
      const { adapters } = await this.#tab.adapters.numbered(link, given);
      return root.lane(prompt, adapters, signal);
    };
    const lane = new SharedEngine(this.#tab, this.info, make);
    await lane.#call(async () => {}, signal);
    return lane;
  }

  async start(prompt: Prompt, options: StartOptions): Promise<void> {
    this.#asked = [prompt, options];
    this.#hasGiven = false;
    this.#ending = new AbortController();
    await this.#start();
  }

  #start(): Promise<void> {
    const [prompt, options] = this.#asked as [Prompt, StartOptions];
    const begin = async (engine: Engine, link: Link): Promise<void> => {
      const named = this.#tab.adapters.numbered(link, options.adapters);
      named.catch(() => this.#giveLane(engine));
      await engine.start(prompt, { ...options, ...(await named) });
    };
    return this.#call(begin, this.#ending.signal);
  }

  /** A lane is taken until its text ends, also a text that was not begun. */
  #giveLane(engine: Engine): void {
    if ((this.info.parallel ?? 1) > 1) engine.finish().catch(() => {});
  }

  async next(): Promise<Piece | undefined> {
    for (let moves = 0; ; moves += 1) {
      try {
        const piece = await this.#now((engine) => engine.next());
        this.#hasGiven = true;
        return piece;
      } catch (error) {
        // Nothing was given: the text begins again, without a word.
        if (!isMove(error) || this.#hasGiven || moves === MOST_MOVES || this.#ending.signal.aborted) throw error;
        await this.#start();
      }
    }
  }

  async insert(inserted: Inserted, kept: number): Promise<Piece | undefined> {
    return this.#now((engine) => engine.insert(inserted, kept));
  }

  cancel(): void {
    this.#ending.abort();
    this.#made?.engine.then(
      (engine) => engine.cancel(),
      () => {},
    );
  }

  finish(): Promise<GenerationResult> {
    return this.#now((engine) => engine.finish());
  }

  evaluate(ids: Uint32Array, options: EvaluateCall, signal?: AbortSignal): Promise<Evaluation> {
    const read = async (engine: Engine, link: Link): Promise<Evaluation> => {
      const named = await this.#tab.adapters.numbered(link, options.adapters);
      return engine.evaluate(ids, { ...options, ...named }, signal);
    };
    return this.#call(read, signal);
  }

  embed(inputs: readonly Input[], options: EmbedCall, signal?: AbortSignal): Promise<Float32Array[]> {
    return this.#call((engine) => engine.embed(inputs, options, signal), signal);
  }

  rank(...call: Parameters<Engine['rank']>): Promise<Float32Array[]> {
    return this.#call((engine) => engine.rank(...call), call[3]);
  }

  async addAdapter(file: Uint8Array, scale: number): Promise<number> {
    const { adapters } = this.#tab;
    const adapter = await adapters.of(file, scale);
    await this.#call((_, link) => adapters.add(link, adapter));
    return adapter.id;
  }

  async removeAdapter(id: number): Promise<boolean> {
    const found = this.#tab.adapters.forget(id);
    if (found) await this.#call((_, link) => link.removeAdapter(found.key));
    return found !== undefined;
  }

  hiddenStates(): Promise<TensorHandle> {
    return refused('hiddenStates');
  }

  train<T>(): Promise<T> {
    return refused('training');
  }

  say(...call: Parameters<Engine['say']>): ReturnType<Engine['say']> {
    return this.#call((engine) => engine.say(...call), call[1]);
  }

  voice(...call: Parameters<Engine['voice']>): Promise<Float32Array> {
    return this.#call((engine) => engine.voice(...call), call[3]);
  }

  count(prompt: Prompt, signal?: AbortSignal): Promise<number> {
    return this.#call((engine) => engine.count(prompt, signal), signal);
  }

  encodeParts(parts: readonly PromptPart[]): Promise<EncodedParts> {
    return this.#call((engine) => engine.encodeParts(parts));
  }

  async another(withCache: boolean): Promise<Engine> {
    const made = await this.#call(async (engine, link) => ({ link, engine: await engine.another(withCache) }));
    // What it had read is gone after a move: it is read again from the messages.
    return this.#child(made, (root) => root.another(false));
  }

  async save(notes: string, text?: Prompt): Promise<Blob> {
    return this.#call((engine) => engine.save(notes, text));
  }

  async restore(saved: Blob): Promise<Restored> {
    const { notes, ...made } = await this.#call(async (engine, link) => ({ link, ...(await engine.restore(saved)) }));
    const again: Make = async (root) => (await root.restore(saved)).engine;
    return { notes, engine: this.#child(made, again) };
  }

  #child({ link, engine }: { link: Link; engine: Engine }, make: Make): SharedEngine {
    const child = new SharedEngine(this.#tab, this.info, make);
    child.#made = { link, engine: Promise.resolve(engine) };
    return child;
  }

  reset(): Promise<void> {
    return this.#call((engine) => engine.reset());
  }

  wasmMemoryBytes(): Promise<number> {
    return this.#call((engine) => engine.wasmMemoryBytes());
  }

  prefixCache(): Promise<PrefixCacheUse> {
    return this.#call((engine) => engine.prefixCache());
  }

  async free(): Promise<void> {
    if (this.#isRoot) return this.#tab.close();
    const made = await this.#made?.engine.catch(() => undefined);
    await made?.free();
  }

  /** Does `work` with the engine, and again where that has moved meanwhile. */
  async #call<T>(work: (engine: Engine, link: Link) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let moves = 0; ; moves += 1) {
      const link = await (signal ? abortable(this.#tab.link(), signal) : this.#tab.link());
      try {
        return await this.#tab.during(this.#on(link).then((engine) => work(engine, link)));
      } catch (error) {
        if (!isMove(error) || moves === MOST_MOVES) throw error;
        signal?.throwIfAborted();
      }
    }
  }

  /** Does `work` with the engine that there was, for calls that mean nothing to another one. */
  async #now<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    if (!this.#made) throw moved();
    return this.#tab.during(this.#made.engine.then(work));
  }

  #on(link: Link): Promise<Engine> {
    if (this.#made?.link === link) return this.#made.engine;
    const make = async (): Promise<Engine> => {
      await this.#tab.adapters.on(link);
      return this.#make(link.root, link);
    };
    const made = { link, engine: make() };
    this.#made = made;
    made.engine.catch(() => {
      if (this.#made === made) this.#made = undefined;
    });
    return made.engine;
  }
}

const isMove = (error: unknown): boolean => error instanceof WebggufError && error.code === 'engine_moved';

async function refused(call: string): Promise<never> {
  const why = 'it would change or leave the engine of all tabs; load it without shared';
  throw new WebggufError('feature_missing', `${call}: not with a model that tabs share: ${why}`);
}

/** Where the engine is, at all times. */
function placeOf(tab: Tab): SharedPlace {
  const now = <K extends keyof SharedPlace>(key: K) => ({ get: () => tab.place?.[key], enumerable: true });
  return Object.defineProperties({} as SharedPlace, { engineIn: now('engineIn'), reason: now('reason') });
}

function checkSurroundings(): void {
  const { navigator } = globalThis as { navigator?: Partial<Navigator> };
  if (navigator?.locks && typeof BroadcastChannel === 'function') return;
  const message = 'there are no locks here (Web Locks: https: and localhost): load without the option shared';
  throw new WebggufError('feature_missing', message);
}

/** By the name that `load` knows engines of other threads by. @internal */
export { SharedEngine as WorkerEngine };
