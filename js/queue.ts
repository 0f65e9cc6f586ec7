/**
 * Requests to one model: one at a time, in the order in which they come.
 */

/** Whoever wants the model for itself. @internal */
export interface Request {
  /** Others wait: go on without being asked for more. */
  hurry?(): void;
  /** End soon, and {@link Queue.leave}. */
  stop?(): unknown;
}

interface Entry {
  readonly request: Request;
  settle(isTurn: boolean): void;
  fail(): void;
}

/** The requests of one model: the first has the model, the others wait. @internal */
export class Queue {
  #entries: Entry[] = [];
  #closed: ((call: string) => unknown) | undefined;
  #emptied: (() => void) | undefined;

  /** Who has the model. */
  get holder(): Request | undefined {
    return this.#entries[0]?.request;
  }

  /**
   * Resolves when the model is free for `request`, which has to {@link leave}; with false where it was withdrawn
   * before. Rejects where the queue is closed or is being closed meanwhile.
   */
  async enter(call: string, request: Request): Promise<boolean> {
    if (this.#closed) throw this.#closed(call);
    return new Promise<boolean>((settle, reject) => {
      const fail = (): void => reject(this.#closed?.(call));
      this.#entries.push({ request, settle, fail });
      if (this.#entries.length === 1) settle(true);
      else this.holder?.hurry?.();
    });
  }

  /** Gives the model to the next in line. Does nothing for a request that does not have it. */
  leave(request: Request): void {
    if (this.holder !== request) return;
    this.#entries.shift();
    const next = this.#entries[0];
    next?.settle(true);
    if (this.#entries.length > 1) next?.request.hurry?.();
    if (!next) this.#emptied?.();
  }

  /** Takes a request that waits out of the line. */
  withdraw(request: Request): void {
    const at = this.#entries.findIndex((entry) => entry.request === request);
    if (at > 0) this.#entries.splice(at, 1)[0]?.settle(false);
  }

  /**
   * Refuses all that wait and all that come, and stops the one that has the model; resolves when that has left.
   *
   * @param refusal what these reject with
   */
  async close(refusal: (call: string) => unknown): Promise<void> {
    this.#closed = refusal;
    for (const entry of this.#entries.splice(1)) entry.fail();
    if (!this.holder) return;
    const emptied = new Promise<void>((resolve) => (this.#emptied = resolve));
    this.holder.stop?.();
    await emptied;
  }
}
