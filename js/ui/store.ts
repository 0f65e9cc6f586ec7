/**
 * A state that a page shows, and who is told of its changes. It knows no framework.
 */
import type { WasmModel } from '../model/model.js';

/** A page is told of new text so often, in milliseconds: models may write a thousand tokens per second. */
const INTERVAL = 30;

/** A store that writes with a model. @internal */
export interface Writes<S extends object, O, A> extends Pick<Store<S>, 'subscribe' | 'state'> {
  /** What the page does. */
  readonly actions: A;
  configure(model: WasmModel | undefined, options: O): void;
  stop(): Promise<void>;
}

/** @internal */
export class Store<S extends object> {
  #state: S;
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(state: S) {
    this.#state = state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): S => this.#state;

  protected set(change: Partial<S>): void {
    this.#state = { ...this.#state, ...change };
    this.#tell();
  }

  /** The change is shown together with what comes soon after it. */
  protected setSoon(change: Partial<S>): void {
    this.#state = { ...this.#state, ...change };
    this.#timer ??= setTimeout(() => this.#tell(), INTERVAL);
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const listener of this.#listeners) listener();
  }
}
