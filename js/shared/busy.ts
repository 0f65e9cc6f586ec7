/**
 * What a thread says of itself before it may stand still: work that holds it for long, in which it answers nobody. It
 * says so by a lock, which others see without its help.
 */
import { held, names } from './messages.js';

/** The work of one engine. @internal */
export class Busy {
  readonly #name: string;
  #count = 0;
  #lock: Promise<() => void> | undefined;

  constructor(name: string, host: string) {
    this.#name = names.busy(name, host);
  }

  /** Begins such work; what it returns ends it. */
  enter(): () => void {
    this.#count += 1;
    this.#lock ??= held(this.#name);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count -= 1;
      if (this.#count > 0) return;
      void this.#lock?.then((release) => release());
      this.#lock = undefined;
    };
  }

  async during<T>(work: () => T): Promise<Awaited<T>> {
    const leave = this.enter();
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

/** What is known of the thread with the engine, whether or not it answers. @internal */
export interface SeatNow {
  /** Whether any thread has the engine, or loads it. */
  readonly isHeld: boolean;
  /** Whether it has announced work that may hold it. */
  readonly isBusy: boolean;
}

/** @internal */
export async function seatNow(name: string): Promise<SeatNow> {
  const { held = [] } = await navigator.locks.query();
  const isHeld = held.some((lock) => lock.name === names.seat(name));
  return { isHeld, isBusy: held.some((lock) => lock.name?.startsWith(names.busy(name, ''))) };
}
