/**
 * Models that components share: one for each source and options, loaded when the first component wants it and freed
 * after the last has gone.
 */
import { WasmModel } from '../model/model.js';
import { original } from '../proxies.js';
import type { LoadOptions, Progress } from '../types/load.js';
import type { Source } from '../types/source.js';

/** The options of `WasmModel.load`, except what is done for the page. */
export type ModelOptions = Omit<LoadOptions, 'onProgress' | 'signal'>;

/** How far a model is. */
export interface LoadState {
  /** The model, once `status` is `ready`. */
  readonly model: WasmModel | undefined;
  /** `idle` while there is no source. */
  readonly status: 'idle' | 'loading' | 'ready' | 'error';
  /** The last report of loading. */
  readonly progress: Progress | undefined;
  /** Why loading failed, nearly always a `WebggufError`; `undefined` unless `status` is `error`. */
  readonly error: Error | undefined;
}

const state = (status: LoadState['status'], more: Partial<LoadState> = {}): LoadState =>
  Object.freeze({ model: undefined, progress: undefined, error: undefined, ...more, status });

/** Without a source. @internal */
export const IDLE = state('idle');
/** Before the first report. @internal */
export const LOADING = state('loading');

/** A model and those who use it. */
class SharedModel {
  state = LOADING;
  readonly #source: Source;
  readonly #options: LoadOptions;
  readonly #forget: () => void;
  readonly #users = new Set<{ changed: () => void }>();
  #attempt = new AbortController();
  #leaving: ReturnType<typeof setTimeout> | undefined;

  constructor(source: Source, options: LoadOptions, forget: () => void) {
    this.#source = source;
    this.#options = options;
    this.#forget = forget;
    void this.#load(undefined);
  }

  /** Counts one more user, who hears of changes; the function that comes back counts one less. */
  join(changed: () => void): () => void {
    clearTimeout(this.#leaving);
    const user = { changed };
    this.#users.add(user);
    return () => {
      if (!this.#users.delete(user) || this.#users.size > 0) return;
      // StrictMode, and a router that shows another page, unmount one component and mount the next at once.
      this.#leaving = setTimeout(() => {
        this.#forget();
        this.#attempt.abort();
        void this.state.model?.free();
      });
    };
  }

  /** Loads again: after an error, or a model whose device or worker was lost. */
  reload(): void {
    const { model, status } = this.state;
    if (status === 'loading') return;
    this.#attempt.abort();
    this.#attempt = new AbortController();
    this.#set(LOADING);
    void this.#load(model);
  }

  async #load(old: WasmModel | undefined): Promise<void> {
    const { signal } = this.#attempt;
    const onProgress = (progress: Progress): void => {
      if (!signal.aborted) this.#set(state('loading', { progress }));
    };
    try {
      await old?.free();
      const model = await WasmModel.load(this.#source, { ...this.#options, signal, onProgress });
      if (signal.aborted) await model.free();
      else this.#set(state('ready', { model, progress: this.state.progress }));
    } catch (error) {
      if (!signal.aborted) this.#set(state('error', { error: error as Error }));
    }
  }

  #set(next: LoadState): void {
    this.state = next;
    for (const { changed } of this.#users) changed();
  }
}

const models = new Map<string, SharedModel>();

/** Uses the model of `key`, which is loaded unless others use it. Returns what ends that. @internal */
export function joinModel(key: string, source: Source, options: LoadOptions, changed: () => void): () => void {
  let shared = models.get(key);
  if (!shared) {
    shared = new SharedModel(source, options, () => models.delete(key));
    models.set(key, shared);
  }
  return shared.join(changed);
}

/** @internal */
export const stateOf = (key: string): LoadState => models.get(key)?.state ?? LOADING;

/** @internal */
export const reloadModel = (key: string): void => models.get(key)?.reload();

/**
 * Equal for equal sources and options, also where a component writes them anew at each render. What cannot be looked
 * into (files, buffers, promises, functions) is equal to itself alone.
 * @internal
 */
export function keyOf(source: Source, options: LoadOptions): string {
  const given = Object.entries(options).filter(([, value]) => typeof value !== 'function');
  return nameOf([source, Object.fromEntries(given)]);
}

/** A key without what is equal to itself alone. @internal */
export const shapeOf = (key: string): string => key.replace(/#\d+/g, '#');

const numbers = new WeakMap<object, number>();
let lastNumber = 0;

function nameOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(nameOf).join()}]`;
  if (value instanceof URL) return JSON.stringify(value.href);
  if (value instanceof Request && !value.body) {
    const { method, url, headers, mode, credentials, cache } = value;
    return JSON.stringify([method, url, [...headers], mode, credentials, cache]);
  }
  if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) return JSON.stringify(value) ?? '';
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    const names = fields
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [JSON.stringify(name), nameOf(field)]);
    return `{${names.map((pair) => pair.join(':')).join()}}`;
  }
  const known = original(value);
  let number = numbers.get(known);
  if (number === undefined) numbers.set(known, (number = lastNumber += 1));
  return `#${number}`;
}
