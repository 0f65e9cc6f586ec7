/**
 * How long the thread with the engine, and the tab that started it, have given no sign of life: counted in beats, so
 * that a tab whose own timers stood still counts nothing.
 */
import type { SeatNow } from './busy.js';
import { BUSY_MS, LATE_MS, SILENT_MS } from './limits.js';

/** @internal */
export class Watch {
  #last: number;
  /** Milliseconds without a sign of anyone, and without one of the engine. */
  #all = 0;
  #engine = 0;

  /** @param now the time, in milliseconds, as for all calls */
  constructor(now: number) {
    this.#last = now;
  }

  beat(now: number): void {
    const passed = now - this.#last;
    this.#last = now;
    if (passed > LATE_MS) return;
    this.#all += passed;
    this.#engine += passed;
  }

  /** A sign of the tab whose worker has the engine. */
  heardTab(): void {
    this.#all = 0;
  }

  /** A sign of the engine, or of one who loads it. */
  heardEngine(): void {
    [this.#all, this.#engine] = [0, 0];
  }

  /** Whether it is worth a look at the locks. */
  get isSilent(): boolean {
    return this.#engine > SILENT_MS;
  }

  /**
   * Whether the seat is to be taken away; where nobody has it, the silence begins anew. `isOneThread`: no tab would
   * answer for the engine, which is in a SharedWorker or in a worker of this very tab. Else a tab and its worker that
   * are silent together stand still, whatever they had announced.
   */
  isOver({ isHeld, isBusy }: SeatNow, isOneThread: boolean): boolean {
    if (!isHeld) this.heardEngine();
    return this.#engine > (isBusy ? BUSY_MS : SILENT_MS) || (!isOneThread && this.#all > SILENT_MS);
  }
}
