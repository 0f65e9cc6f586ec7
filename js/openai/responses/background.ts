/**
 * A response that is written in the background: whoever asked for it has gone on, and reads it later.
 */
import type { ResponseEvent } from './event-types.js';
import type { Run, Watcher } from './run.js';

/** @internal */
export class Background {
  /** The number of an event is its place. */
  readonly #events: ResponseEvent[] = [];
  #isOver = false;
  /** Called at every change. */
  #waiting: (() => void)[] = [];

  constructor(run: Run, watcher: Watcher) {
    void this.#write(run, watcher);
  }

  /** The events with greater numbers, also what is still to come. */
  async *after(number: number, signal: AbortSignal): AsyncGenerator<ResponseEvent> {
    const wake = (): void => this.#wake();
    signal.addEventListener('abort', wake);
    try {
      for (let next = number + 1; ; next += 1) {
        const event = await this.#at(next, signal);
        if (!event) return;
        yield event;
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  /** An event once it is there; nothing at the end, or once `signal` is aborted. */
  async #at(number: number, signal: AbortSignal): Promise<ResponseEvent | undefined> {
    while (number >= this.#events.length && !this.#isOver && !signal.aborted) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return signal.aborted ? undefined : this.#events[number];
  }

  async #write(run: Run, watcher: Watcher): Promise<void> {
    try {
      for await (const event of run.events(watcher)) this.#add(event);
    } catch (error) {
      // Nobody is there who could be told.
      if (run.writer.response.status !== 'failed') for (const event of run.writer.fail(error)) this.#add(event);
      await watcher.done(run);
    }
    this.#isOver = true;
    this.#wake();
  }

  #add(event: ResponseEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
