/**
 * webgguf/svelte: models, chats, texts and objects as stores, for `$store` in components, with the states and functions
 * of `webgguf/react`. They need no code of Svelte. A store works while something subscribes to it: a model is loaded
 * for that time, and what is being written ends with the last subscriber.
 *
 * @module webgguf/svelte
 */
import type { WasmModel } from '../model/model.js';
import type { Source } from '../types/source.js';
import { ChatStore } from '../ui/chat.js';
import { IDLE, joinModel, keyOf, reloadModel, stateOf } from '../ui/shared-models.js';
import type { Writes } from '../ui/store.js';
import type * as ui from '../ui/types.js';
import { CompletionStore, ObjectStore } from '../ui/writer.js';

export type * from '../ui/types.js';

/** A store of Svelte. */
export interface Readable<S> {
  /** Calls `run` with the state now and at each change, until the function that comes back is called. */
  subscribe(run: (state: S) => void): () => void;
}

/** A store of {@link createModel}, or a model that is there already. */
export type MaybeModel = Readable<Pick<ui.LoadState, 'model'>> | WasmModel | undefined;

/** Follows `model` while there are subscribers. */
function use<S extends object, O, A>(store: Writes<S, O, A>, model: MaybeModel, options: O): Readable<S> & A {
  const from = model && 'subscribe' in model ? model : undefined;
  if (!from) store.configure(model as WasmModel | undefined, options);
  let subscribers = 0;
  let leave: (() => void) | undefined;
  const subscribe = (run: (state: S) => void): (() => void) => {
    if ((subscribers += 1) === 1) leave = from?.subscribe(({ model }) => store.configure(model, options));
    const end = store.subscribe(() => run(store.state()));
    run(store.state());
    return () => {
      end();
      if ((subscribers -= 1) > 0) return;
      leave?.();
      void store.stop();
    };
  };
  return { subscribe, ...store.actions };
}

/** A model that components share; `retry` loads it again. Nothing is loaded of `null`. */
export function createModel(
  source: Source | null | undefined,
  options: ui.ModelOptions = {},
): Readable<ui.LoadState> & { readonly retry: () => void } {
  const key = source == null ? undefined : keyOf(source, options);
  const subscribe = (run: (state: ui.LoadState) => void): (() => void) => {
    const changed = (): void => run(key === undefined ? IDLE : stateOf(key));
    const leave = source == null || key === undefined ? undefined : joinModel(key, source, options, changed);
    changed();
    return () => leave?.();
  };
  return { subscribe, retry: () => key !== undefined && reloadModel(key) };
}

/** A conversation with a model. The fields of `options` are read whenever something is sent. */
export const createChat = (model: MaybeModel, options: ui.ChatOptions = {}): Readable<ui.ChatState> & ui.ChatActions =>
  use(new ChatStore(options.messages), model, options);

/** A text that a model writes after a prompt. */
export const createCompletion = (
  model: MaybeModel,
  options: ui.CompletionOptions = {},
): Readable<ui.CompletionState> & ui.CompletionActions => use(new CompletionStore(), model, options);

/** An object that a model writes by a JSON Schema, shown while it grows. */
export const createObject = <T = unknown>(
  model: MaybeModel,
  options: ui.ObjectOptions,
): Readable<ui.ObjectState<T>> & ui.ObjectActions => use(new ObjectStore<T>(), model, options);
