/**
 * What the models of a page are called, and how they are loaded. No code here.
 */
import type { LoadOptions } from '../types/load.js';
import type { Source } from '../types/source.js';

/**
 * Where a model comes from, with the options of its load. It must be readable again: an address, a name, a `File`.
 * `prefixCache` keeps nothing in memory unless its `memoryBytes` say how much, which count for the budget.
 */
export interface ModelPlace extends Omit<LoadOptions, 'gpu' | 'signal'> {
  /** As for `load`. */
  readonly source: Source;
}

/** Options of {@link models}. */
export interface ModelsOptions<Name extends string = string> {
  /** Bytes that all models together may take on the GPU; on the CPU, of their files. */
  readonly budget: number;
  /** The models by the names that the page gives them. */
  readonly models: Readonly<Record<Name, ModelPlace>>;
}

/** Options of {@link Models.use}. */
export interface UseOptions {
  /** Ends the wait for room and for the model; what `work` does is its own. */
  readonly signal?: AbortSignal | undefined;
}

/** What {@link Models.list} says of a model. */
export interface ListedModel<Name extends string = string> {
  /** The page's name for it. */
  readonly name: Name;
  /** `idle`: it is not loaded. */
  readonly state: 'idle' | 'loading' | 'loaded';
  /** Bytes that it takes now; 0 where it is not loaded. */
  readonly bytes: number;
  /** Calls of `use` that have it or wait for it. */
  readonly users: number;
}
