/**
 * `idleTimeout`: frees the GPU's memory when nobody has asked a model for anything for so long.
 */

/** Counts the requests of a model, its sessions included, and calls back when there was none for a while. @internal */
export class Idle {
  readonly #after: number;
  readonly #rest: () => void;
  #requests = 0;
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
  enter(): void {
    this.#requests += 1;
    clearTimeout(this.#timer);
  }

  leave(): void {
    this.#requests -= 1;
    this.#wait();
  }

  /** Does `work` as a request. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Calls back no more. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #wait(): void {
    if (this.#isOver || this.#requests > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#rest, this.#after);
    // In Node.js, a process does not wait for it.
    (this.#timer as { unref?(): void }).unref?.();
  }
}
