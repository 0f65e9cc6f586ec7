/**
 * A model that is loaded when it is first needed, once for all who wait for it.
 */
import { abortable } from '../cancel.js';
import { WasmModel } from './model.js';
import type { LoadOptions, Progress } from '../types/load.js';
import type { Source } from '../types/source.js';

/** Where a model comes from: what {@link WasmModel.load} takes, or a model that is loaded or being loaded. */
export type ModelSource = Source | WasmModel | Promise<WasmModel>;

type ProgressListener = (progress: Progress) => void;

interface Loading {
  readonly model: Promise<WasmModel>;
  readonly controller: AbortController;
  readonly listeners: Set<ProgressListener>;
  waiting: number;
  /** Once it is there. */
  loaded: WasmModel | undefined;
}

/** @internal */
export class LazyModel {
  /** What is loaded, or whose model it is. */
  readonly source: ModelSource;
  readonly #options: LoadOptions;
  #loading: Loading | undefined;

  constructor(source: ModelSource, options: LoadOptions = {}) {
    this.source = source;
    this.#options = options;
    if (source instanceof Promise) source.catch(() => {}); // the load reports it
  }

  get state(): 'idle' | 'loading' | 'loaded' {
    if (isModel(this.source)) return 'loaded';
    const loading = this.#current();
    return !loading ? 'idle' : loading.loaded ? 'loaded' : 'loading';
  }

  /**
   * The model. Rejects with the reason of `signal` where that fires; loading ends when the last one who waits for it
   * has gone. What fails is tried again by the next call, and so is a model whose worker was lost.
   */
  async load(signal?: AbortSignal, onProgress?: ProgressListener): Promise<WasmModel> {
    signal?.throwIfAborted();
    const loading = this.#current() ?? this.#begin();
    this.#loading = loading;
    loading.waiting += 1;
    if (onProgress) loading.listeners.add(onProgress);
    try {
      return await (signal ? abortable(loading.model, signal) : loading.model);
    } finally {
      loading.waiting -= 1;
      if (onProgress) loading.listeners.delete(onProgress);
      if (signal?.aborted && loading.waiting === 0 && !loading.loaded) this.#abandon(loading, signal.reason);
    }
  }

  /** Frees a model that was loaded here, and ends a load; the next {@link load} loads it again. */
  async free(): Promise<void> {
    const loading = this.#loading;
    if (!loading) return;
    this.#abandon(loading, new DOMException('the model was freed', 'AbortError'));
    if (!(await isGiven(this.source))) await loading.model.then((model) => model.free()).catch(() => {});
  }

  /** The load that goes on, or what came of it unless that was lost. */
  #current(): Loading | undefined {
    if (this.#loading?.loaded?.isLost) this.#loading = undefined;
    return this.#loading;
  }

  #abandon(loading: Loading, reason: unknown): void {
    loading.controller.abort(reason);
    if (this.#loading === loading) this.#loading = undefined;
  }

  #begin(): Loading {
    const { onProgress, signal } = this.#options;
    const controller = new AbortController();
    const listeners = new Set<ProgressListener>(onProgress ? [onProgress] : []);
    const report = (progress: Progress): void => {
      for (const listener of listeners) listener(progress);
    };
    const scope = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
    const options = { ...this.#options, onProgress: report, signal: scope };
    const loading: Loading = { model: this.#open(options), controller, listeners, waiting: 0, loaded: undefined };
    loading.model.then(
      (model) => (loading.loaded = model),
      () => this.#abandon(loading, undefined),
    );
    return loading;
  }

  async #open(options: LoadOptions): Promise<WasmModel> {
    const source = await this.source;
    return isModel(source) ? source : WasmModel.load(source as Source, options);
  }
}

/** By shape, since a bundler may have two copies of the class. */
function isModel(value: unknown): value is WasmModel {
  return typeof value === 'object' && value !== null && 'applyChatTemplate' in value && 'generate' in value;
}

/** Whether the model was loaded by someone else. */
async function isGiven(source: ModelSource): Promise<boolean> {
  return Promise.resolve(source).then(isModel, () => true);
}
