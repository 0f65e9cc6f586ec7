/**
 * Several models within one budget: which are loaded, and which make room.
 */
import { abortable } from '../cancel.js';
import { show } from '../check.js';
import { readOnce } from '../engine/recovery.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { LazyModel } from '../model/lazy-model.js';
import { WasmModel } from '../model/model.js';
import type { InspectOptions } from '../types/load.js';
import type { ListedModel, ModelPlace, ModelsOptions, UseOptions } from './types.js';

/** The options of a load that say how much memory a model takes, and how its file is reached. */
const INSPECTED: readonly (keyof InspectOptions & keyof ModelPlace)[] = [
  ...(['cacheKey', 'hub', 'token', 'retries', 'stallTimeout', 'maxBytes', 'backend'] as const),
  ...(['contextLength', 'kvType', 'parallel', 'perLayerEmbeddings', 'mmproj', 'draft'] as const),
];

class Entry {
  readonly lazy: LazyModel;
  /** What it takes when it is loaded, once that is known. */
  bytes: number | undefined;
  /** Calls that have the model or wait for it: it is not unloaded meanwhile. */
  users = 0;
  /** When it was used last, counted in uses. */
  used = 0;
  /** Whether there is room for it: its bytes count. */
  hasRoom = false;

  constructor(readonly place: ModelPlace) {
    const { source, ...options } = place;
    const prefixCache = options.prefixCache && { memoryBytes: 0, ...options.prefixCache };
    this.lazy = new LazyModel(source, { ...options, prefixCache: prefixCache ?? false });
  }
}

/**
 * The models of a page, which share a budget of memory.
 *
 * @example
 * const app = models({
 *   budget: 3e9,
 *   models: {
 *     embedder: { source: 'ggml-org/embeddinggemma-300M-GGUF:Q8_0' },
 *     writer: { source: 'Qwen/Qwen3-4B-GGUF:Q4_K_M', contextLength: 8192 },
 *   },
 * });
 * const vectors = await app.use('embedder', (model) => model.embed(chunks));
 * const { text } = await app.use('writer', (model) => model.generate(prompt)); // the embedder goes if both do not fit
 */
export function models<Name extends string>(options: ModelsOptions<Name>): Models<Name> {
  return new Models(options);
}

/** See {@link models}. */
export class Models<Name extends string = string> {
  /** Bytes that all may take together. */
  readonly budget: number;
  readonly #entries = new Map<string, Entry>();
  /** Uses so far. */
  #uses = 0;
  /** The end of the last search for room: one at a time, in the order of the calls. */
  #searches: Promise<unknown> = Promise.resolve();
  /** Told when a use has ended or a model is gone. */
  #waiting: (() => void)[] = [];
  #isFreed = false;

  constructor({ budget, models: places }: ModelsOptions<Name>) {
    if (!(typeof budget === 'number' && budget > 0)) {
      throw invalidArgument(`models: 'budget' must be a positive number of bytes, found ${show(budget)}`);
    }
    for (const [name, place] of Object.entries<ModelPlace>(places ?? {})) {
      if (!place?.source) throw invalidArgument(`models: '${name}' needs a source: { source: 'owner/repo:Q4_K_M' }`);
      this.#entries.set(name, new Entry(place));
    }
    this.budget = budget;
  }

  /**
   * Loads a model, if it is not loaded, and does `work` with it. It stays loaded until `work` has ended, and after that
   * until another one needs its room. Where the models in use leave no room, it waits; so `work` must not wait for
   * another model that does not fit beside its own.
   *
   * @param work gets the model, which must not be kept beyond it
   * @returns what `work` gives; a generation is awaited
   * @throws {WebggufError} `invalid_argument` for an unknown name or a source that can be read once; `limit_exceeded`
   *   for a model that is larger than the budget by itself; the errors of `load`
   * @throws what `work` throws, and the reason of `signal`
   */
  async use<T>(name: Name, work: (model: WasmModel) => T, { signal }: UseOptions = {}): Promise<Awaited<T>> {
    const entry = this.#entry('use', name);
    entry.users += 1;
    try {
      const search = this.#searches.then(() => this.#makeRoom(name, entry, signal));
      this.#searches = search.catch(() => {});
      await search;
      const model = await entry.lazy.load(signal);
      const { gpuBytes } = model.info;
      entry.bytes = gpuBytes > 0 ? gpuBytes + keptBytes(entry.place) : (entry.bytes ?? 0);
      this.#uses += 1;
      entry.used = this.#uses;
      return await work(model);
    } finally {
      entry.users -= 1;
      if (entry.lazy.state === 'idle') entry.hasRoom = false;
      this.#tell();
    }
  }

  /** The models, in the order in which they were given. */
  list(): ListedModel<Name>[] {
    return [...this.#entries].map(([name, { lazy, bytes = 0, users }]) => ({
      name: name as Name,
      state: lazy.state,
      bytes: lazy.state === 'idle' ? 0 : bytes,
      users,
    }));
  }

  /** Unloads a model that nobody uses. @returns whether it was loaded and is not any more */
  async unload(name: Name): Promise<boolean> {
    const entry = this.#entry('unload', name);
    if (entry.users > 0 || entry.lazy.state === 'idle') return false;
    await this.#unload(entry);
    return true;
  }

  /** Frees all models, also those in use. Further calls are refused. */
  async free(): Promise<void> {
    this.#isFreed = true;
    this.#tell();
    await Promise.all([...this.#entries.values()].map((entry) => this.#unload(entry)));
  }

  /** `await using app = models(…)` frees them at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.free();
  }

  #entry(call: string, name: string): Entry {
    if (this.#isFreed) throw invalidArgument(`${call}: the models were freed`);
    const entry = this.#entries.get(name);
    if (entry) return entry;
    const names = [...this.#entries.keys()].join(', ');
    throw invalidArgument(`${call}: there is no model ${show(name)}; there are ${names || 'none'}`);
  }

  #change(signal?: AbortSignal): Promise<void> {
    const change = new Promise<void>((tell) => this.#waiting.push(tell));
    return signal ? abortable(change, signal) : change;
  }

  #tell(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const tell of waiting) tell();
  }

  /** Unloads those that were used longest ago until `entry` fits, and waits where all others are in use. */
  async #makeRoom(name: string, entry: Entry, signal?: AbortSignal): Promise<void> {
    if (entry.hasRoom) return;
    entry.bytes ??= await bytesOf(name, entry.place, signal);
    const { bytes } = entry;
    if (bytes > this.budget) {
      const message = `use: the model '${name}' takes ${bytes} bytes, the budget of all models is ${this.budget}`;
      throw new WebggufError('limit_exceeded', message);
    }
    for (;;) {
      if (this.#isFreed) throw invalidArgument('use: the models were freed');
      signal?.throwIfAborted();
      const others = [...this.#entries.values()].filter(({ hasRoom }) => hasRoom);
      const taken = others.reduce((sum, other) => sum + (other.bytes ?? 0), 0);
      if (taken + bytes <= this.budget) break;
      const [oldest] = others.filter(({ users }) => users === 0).sort((a, b) => a.used - b.used);
      if (oldest) await this.#unload(oldest);
      else await this.#change(signal);
    }
    entry.hasRoom = true;
  }

  async #unload(entry: Entry): Promise<void> {
    await entry.lazy.free();
    entry.hasRoom = false;
    this.#tell();
  }
}

/** What a model may keep of prompts in memory: nothing unless the page says how much, since it counts. */
const keptBytes = ({ prefixCache }: ModelPlace): number => (prefixCache ? prefixCache.memoryBytes : 0) ?? 0;

/** What a model takes, by the header of its file. */
async function bytesOf(name: string, place: ModelPlace, signal?: AbortSignal): Promise<number> {
  const { source, ...options } = place;
  const once = await readOnce(source);
  if (once) throw invalidArgument(`use: the model '${name}' cannot be unloaded and loaded again: ${once}`);
  const given = INSPECTED.filter((option) => options[option] !== undefined);
  const asked = Object.fromEntries(given.map((option) => [option, options[option]]));
  const { gpu, fileBytes } = await WasmModel.inspect(source, { ...asked, signal });
  return gpu ? gpu.weightBytes + gpu.sessionBytes + keptBytes(place) : fileBytes;
}
