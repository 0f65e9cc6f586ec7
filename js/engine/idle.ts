/**
 * `idleTimeout`: frees the GPU's memory when nobody has asked a model for anything for a while.
 */

/** Counts the requests of a model, its sessions included, and calls back when there was none for a while. @internal */
export class Idle {
  readonly #after: number;
  readonly #rest: () => void;
  readonly #requests = new Set<object>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /**
   * @param after milliseconds without a request
   * @param rest called after these
   */
  constructor(after: number, rest: () => void) {
    this.#after = after;
    this.#rest = rest;
    this.#wait();
  }

  /** A request begins, which has to {@link leave}. */
  enter(request: object): void {
    this.#requests.add(request);
    clearTimeout(this.#timer);
  }

  /** Does nothing for a request that has left. */
  leave(request: object): void {
    if (this.#requests.delete(request)) this.#wait();
  }

  /** Does `work` as a request. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.enter(work);
    try {
      return await work();
    } finally {
      this.leave(work);
    }
  }

  /** Calls back no more. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #wait(): void {
    if (this.#isOver || this.#requests.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#rest, this.#after);
    // In Node.js, a process does not wait for it.
    (this.#timer as { unref?(): void }).unref?.();
  }
}
