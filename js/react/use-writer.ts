'use client';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { WasmModel } from '../model/model.js';
import type { Writes } from '../ui/store.js';
import {
  type CompletionActions,
  type CompletionOptions,
  type CompletionState,
  CompletionStore,
  type ObjectActions,
  type ObjectOptions,
  type ObjectState,
  ObjectStore,
} from '../ui/writer.js';

/** What {@link useCompletion} gives. */
export interface Completion extends CompletionState, CompletionActions {}

/** What {@link useObject} gives. */
export interface WrittenObject<T = unknown> extends ObjectState<T>, ObjectActions {}

/** The state of a component's store, which has what the last render gave, and its functions. @internal */
export function useStore<S extends object, O, A extends object>(
  make: () => Writes<S, O, A>,
  model: WasmModel | undefined,
  options: O,
): S & A {
  const [store] = useState(make);
  useEffect(() => store.configure(model, options));
  useEffect(() => () => void store.stop(), [store]);
  return { ...useSyncExternalStore(store.subscribe, store.state, store.state), ...store.actions };
}

/**
 * A text that the model writes after a prompt. It ends when the component unmounts or the model changes.
 *
 * @param model of `useModel`; may be `undefined` until there is something to write
 * @param options as of `generate`; the options of the last render count
 *
 * @example
 * const { completion, status, complete, stop } = useCompletion(model, { maxTokens: 200 });
 */
export function useCompletion(model: WasmModel | undefined, options: CompletionOptions = {}): Completion {
  return useStore(() => new CompletionStore(), model, options);
}

/**
 * An object that the model writes by a JSON Schema, shown while it grows. It ends when the component unmounts or the
 * model changes.
 *
 * @param model of `useModel`; may be `undefined` until there is something to write
 * @param options see {@link ObjectOptions}; the options of the last render count
 *
 * @example
 * const { object, status, submit } = useObject<Recipe>(model, { schema: RECIPE, max_completion_tokens: 400 });
 */
export function useObject<T = unknown>(model: WasmModel | undefined, options: ObjectOptions): WrittenObject<T> {
  return useStore(() => new ObjectStore<T>(), model, options);
}
