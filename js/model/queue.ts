/**
 * Requests to one model: as many at a time as it runs together, in the order in which they come.
 */

/** A request for the model. @internal */
export interface Request {
  /** Nothing else may use the model meanwhile. */
  readonly alone?: boolean;
  /** Requests of the same owner wait for each other, in order. */
  readonly owner?: object | undefined;
  /** Others wait: go on without being asked for more. */
  hurry?(): void;
  /** End soon, and {@link Queue.leave}. */
  stop?(): unknown;
}

interface Entry {
  readonly request: Request;
  holds: boolean;
  settle(isTurn: boolean): void;
  fail(): void;
}

/** The requests of one model: some have it, the others wait. @internal */
export class Queue {
  readonly #most: number;
  #entries: Entry[] = [];
  #closed: ((call: string) => unknown) | undefined;
  #emptied: (() => void) | undefined;

  /** @param most requests that have the model at once */
  constructor(most = 1) {
    this.#most = most;
  }

  /** Who has the model. */
  get holders(): Request[] {
    return this.#entries.filter(({ holds }) => holds).map(({ request }) => request);
  }

  /**
   * Resolves when the model is free for `request`, which has to {@link leave}; with false where it was withdrawn
   * before. Rejects where the queue is closed or is being closed meanwhile.
   */
  async enter(call: string, request: Request): Promise<boolean> {
    if (this.#closed) throw this.#closed(call);
    return new Promise<boolean>((settle, reject) => {
      const fail = (): void => reject(this.#closed?.(call));
      this.#entries.push({ request, holds: false, settle, fail });
      this.#admit();
    });
  }

  /** Gives the model to who waits for it. Does nothing for a request that does not have it. */
  leave(request: Request): void {
    const at = this.#entries.findIndex((entry) => entry.holds && entry.request === request);
    if (at < 0) return;
    this.#entries.splice(at, 1);
    this.#admit();
    if (this.#entries.length === 0) this.#emptied?.();
  }

  /** Takes a request that waits out of the line. */
  withdraw(request: Request): void {
    const at = this.#entries.findIndex((entry) => !entry.holds && entry.request === request);
    if (at < 0) return;
    this.#entries.splice(at, 1)[0]?.settle(false);
    this.#admit();
  }

  /**
   * Refuses all that wait and all that come, and stops those that have the model; resolves when they have left.
   *
   * @param refusal what these reject with
   */
  async close(refusal: (call: string) => unknown): Promise<void> {
    this.#closed = refusal;
    const waiting = this.#entries.filter(({ holds }) => !holds);
    this.#entries = this.#entries.filter(({ holds }) => holds);
    for (const entry of waiting) entry.fail();
    if (this.#entries.length === 0) return;
    const emptied = new Promise<void>((resolve) => (this.#emptied = resolve));
    for (const holder of this.holders) holder.stop?.();
    await emptied;
  }

  #admit(): void {
    for (const entry of this.#entries) {
      if (entry.holds) continue;
      if (this.#fits(entry.request)) {
        entry.holds = true;
        entry.settle(true);
      } else if (entry.request.alone) break; // what comes after it waits for it
    }
    if (this.#entries.every(({ holds }) => holds)) return;
    // Later, since a holder may be in the middle of `enter`.
    for (const holder of this.holders) queueMicrotask(() => holder.hurry?.());
  }

  #fits({ alone, owner }: Request): boolean {
    const { holders } = this;
    if (alone) return holders.length === 0;
    const excludes = (other: Request): boolean => other.alone || (owner !== undefined && other.owner === owner);
    return holders.length < this.#most && !holders.some(excludes);
  }
}
