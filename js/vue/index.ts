/**
 * webgguf/vue: models, chats, texts and objects as composables, named as in `webgguf/react`, for Vue 3.3 or newer.
 * @module webgguf/vue
 */
import {
  computed,
  type ComputedRef,
  type MaybeRefOrGetter,
  onScopeDispose,
  shallowRef,
  toValue,
  watchEffect,
} from 'vue';
import type { WasmModel } from '../model/model.js';
import type { Source } from '../types/source.js';
import { ChatStore } from '../ui/chat.js';
import { IDLE, joinModel, keyOf, LOADING, reloadModel, stateOf } from '../ui/shared-models.js';
import type { Writes } from '../ui/store.js';
import type * as ui from '../ui/types.js';
import { CompletionStore, ObjectStore } from '../ui/writer.js';

export type * from '../ui/types.js';

/** A ref for each part of a state. */
export type Refs<S> = { readonly [K in keyof S]: ComputedRef<S[K]> };
/** A model, or where it will be. */
export type MaybeModel = MaybeRefOrGetter<WasmModel | undefined>;

function refsOf<S extends object>(get: () => S): Refs<S> {
  return Object.fromEntries(
    Object.keys(get()).map((name) => [name, computed(() => get()[name as keyof S])]),
  ) as Refs<S>;
}

function use<S extends object, O extends object, A>(
  store: Writes<S, O, A>,
  model: MaybeModel,
  options: MaybeRefOrGetter<O>,
): Refs<S> & A {
  const state = shallowRef(store.state());
  const end = store.subscribe(() => (state.value = store.state()));
  watchEffect(() => store.configure(toValue(model), { ...toValue(options) }), { flush: 'sync' });
  onScopeDispose(() => (end(), void store.stop()));
  return { ...refsOf(() => state.value), ...store.actions };
}

/** A model that components share; `retry` loads it again. Nothing is loaded on a server, nor of `null`. */
export function useModel(
  source: MaybeRefOrGetter<Source | null | undefined>,
  options: MaybeRefOrGetter<ui.ModelOptions> = {},
): Refs<ui.LoadState> & { readonly retry: () => void } {
  const state = shallowRef(toValue(source) == null ? IDLE : LOADING);
  let key: string | undefined;
  const join = (leave: (end: () => void) => void): void => {
    const [from, given] = [toValue(source), toValue(options)];
    const own = (key = from == null ? undefined : keyOf(from, given));
    if (from != null && own !== undefined) leave(joinModel(own, from, given, () => (state.value = stateOf(own))));
    state.value = own === undefined ? IDLE : stateOf(own);
  };
  watchEffect(join, { flush: 'post' });
  return { ...refsOf(() => state.value), retry: () => key !== undefined && reloadModel(key) };
}

/** A conversation with a model. */
export const useChat = (
  model: MaybeModel,
  options: MaybeRefOrGetter<ui.ChatOptions> = {},
): Refs<ui.ChatState> & ui.ChatActions => use(new ChatStore(toValue(options).messages), model, options);

/** A text that a model writes after a prompt. */
export const useCompletion = (
  model: MaybeModel,
  options: MaybeRefOrGetter<ui.CompletionOptions> = {},
): Refs<ui.CompletionState> & ui.CompletionActions => use(new CompletionStore(), model, options);

/** An object that a model writes by a JSON Schema, shown while it grows. */
export const useObject = <T = unknown>(
  model: MaybeModel,
  options: MaybeRefOrGetter<ui.ObjectOptions>,
): Refs<ui.ObjectState<T>> & ui.ObjectActions => use(new ObjectStore<T>(), model, options);
