'use client';
import { useCallback, useSyncExternalStore } from 'react';
import type { LoadOptions, Source } from '../types.js';
import { IDLE, joinModel, keyOf, LOADING, type LoadState, reloadModel, stateOf } from './shared-models.js';

/** Options of {@link useModel}: those of `WasmModel.load`, but what the hook does by itself. */
export type ModelOptions = Omit<LoadOptions, 'onProgress' | 'signal'>;

/** What {@link useModel} gives. */
export interface ModelState extends LoadState {
  /** Loads again: after an error, or where the model's device or worker was lost. */
  readonly retry: () => void;
}

const NOTHING = (): void => {};

/**
 * Loads a model as long as a component shows it. Components with the same source and options share one model, which is
 * freed when the last of them unmounts; that also cancels a load. StrictMode's second mount goes on with the first
 * load.
 *
 * @param source as `WasmModel.load` takes it; nothing is loaded while it is `null` or `undefined`. An object (`File`,
 *   `Request`, a promise) has to be the same from one render to the next: keep it in a state.
 * @param options as `WasmModel.load` takes them; others load another model
 *
 * @example
 * const { model, status, progress, error, retry } = useModel('/models/qwen3-0.6b-q4_k_m.gguf', { worker: true });
 */
export function useModel(source: Source | null | undefined, options: ModelOptions = {}): ModelState {
  const key = source === null || source === undefined ? undefined : keyOf(source, options);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when source and options are others
  const subscribe = useCallback(
    (changed: () => void) => (key === undefined ? NOTHING : joinModel(key, source as Source, options, changed)),
    [key],
  );
  const onServer = (): LoadState => (key === undefined ? IDLE : LOADING);
  const state = useSyncExternalStore(subscribe, () => (key === undefined ? IDLE : stateOf(key)), onServer);
  const retry = useCallback(() => {
    if (key !== undefined) reloadModel(key);
  }, [key]);
  return { ...state, retry };
}
