/**
 * Attributes such as `oncontextoverflow`: one handler each, beside what `addEventListener` added.
 */

type Handler<E extends Event> = ((event: E) => unknown) | null;

/** The handlers of one event target. @internal */
export class Handlers<E extends Event = Event> {
  readonly #target: EventTarget;
  readonly #handlers = new Map<string, Handler<E>>();

  constructor(target: EventTarget) {
    this.#target = target;
  }

  get(type: string): Handler<E> {
    return this.#handlers.get(type) ?? null;
  }

  /** What is no function is null, as in the DOM. */
  set(type: string, handler: unknown): void {
    if (!this.#handlers.has(type)) {
      this.#target.addEventListener(type, (event) => void this.get(type)?.call(this.#target, event as E));
    }
    this.#handlers.set(type, typeof handler === 'function' ? (handler as Handler<E>) : null);
  }
}
