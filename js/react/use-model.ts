'use client';
import { useCallback, useState, useSyncExternalStore } from 'react';
import type { Source } from '../types/source.js';
import {
  IDLE,
  joinModel,
  keyOf,
  LOADING,
  type LoadState,
  type ModelOptions,
  reloadModel,
  shapeOf,
  stateOf,
} from '../ui/shared-models.js';

/** What {@link useModel} gives. */
export interface ModelState extends LoadState {
  /** Loads again: after an error, or where the model's device or worker was lost. */
  readonly retry: () => void;
}

const NOTHING = (): void => {};

/**
 * The key of what one component asks for. A component that writes a `Uint8Array`, a promise or a function anew at each
 * render would load for ever, since each report of progress renders it. So where a render that a report has caused has
 * another key that differs in such objects alone, the first key stays.
 * @internal
 */
export class StableKey {
  #key: string | undefined;
  #isTold = false;
  #isInline = false;

  /** To be called before a report makes the component render. */
  readonly told = (): void => {
    this.#isTold = true;
  };

  of(key: string | undefined): string | undefined {
    const isAlike = key !== undefined && this.#key !== undefined && shapeOf(key) === shapeOf(this.#key);
    if (isAlike && key !== this.#key && this.#isTold) this.#isInline = true;
    if (!isAlike) this.#isInline = false;
    if (!isAlike || !this.#isInline) this.#key = key;
    this.#isTold = false;
    return this.#key;
  }
}

/**
 * Loads a model as long as a component shows it. Components with the same source and options share one model, which is
 * freed when the last of them unmounts; that also cancels a load. StrictMode's second mount goes on with the first
 * load.
 *
 * @param source as `WasmModel.load` takes it; nothing is loaded while it is `null` or `undefined`. Keep a `File`,
 *   a buffer or a promise in a state: another one of them is another model
 * @param options as `WasmModel.load` takes them; others load another model. They may be written anew at each render
 *
 * @example
 * const { model, status, progress, error, retry } = useModel('/models/qwen3-0.6b-q4_k_m.gguf', { worker: true });
 */
export function useModel(source: Source | null | undefined, options: ModelOptions = {}): ModelState {
  const [stable] = useState(() => new StableKey());
  const key = stable.of(source === null || source === undefined ? undefined : keyOf(source, options));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when source and options are others
  const subscribe = useCallback(
    (changed: () => void) => {
      const report = (): void => {
        stable.told();
        changed();
      };
      return key === undefined ? NOTHING : joinModel(key, source as Source, options, report);
    },
    [key],
  );
  const onServer = (): LoadState => (key === undefined ? IDLE : LOADING);
  const state = useSyncExternalStore(subscribe, () => (key === undefined ? IDLE : stateOf(key)), onServer);
  const retry = useCallback(() => {
    if (key !== undefined) reloadModel(key);
  }, [key]);
  return { ...state, retry };
}
