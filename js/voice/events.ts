/**
 * Events for `for await`: they wait for their reader, and not more than some.
 */

/** Events that wait; then the oldest are dropped. */
const MOST = 64;

/** Events that an iteration reads, from its begin on. @internal */
export class EventQueue<T extends { readonly type: string }> implements AsyncIterableIterator<T> {
  readonly #waiting: T[] = [];
  readonly #left: () => void;
  #wake: (() => void) | undefined;
  #over: { readonly error?: unknown } | undefined;

  constructor(left: () => void) {
    this.#left = left;
  }

  /** An event of the kind `replaces` takes the place of one that nobody has read. */
  push(event: T, replaces: string): void {
    if (event.type === replaces && this.#waiting.at(-1)?.type === replaces) this.#waiting.pop();
    this.#waiting.push(event);
    if (this.#waiting.length > MOST) this.#waiting.shift();
    this.#wake?.();
  }

  /** Nothing follows, or an error. */
  end(over: { readonly error?: unknown }): void {
    this.#over ??= over;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<T>> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) return { done: false, value: event };
      if (this.#over) {
        const over = this.#over;
        this.#over = {};
        if ('error' in over) throw over.error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<T>> {
    this.#left();
    this.end({});
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
