/**
 * The last samples of a sound that goes on, in a buffer that does not grow.
 */
import { invalidArgument } from '../errors.js';

/** Keeps the last samples; each has a number, from the first one on. @internal */
export class Ring {
  readonly #samples: Float32Array;
  #written = 0;

  constructor(capacity: number) {
    this.#samples = new Float32Array(capacity);
  }

  /** How many samples it keeps at most. */
  get capacity(): number {
    return this.#samples.length;
  }

  /** The number of the oldest sample that it keeps ... */
  get first(): number {
    return Math.max(0, this.#written - this.capacity);
  }

  /** ... and of the next one. */
  get end(): number {
    return this.#written;
  }

  push(samples: Float32Array): void {
    const kept = samples.subarray(Math.max(0, samples.length - this.capacity));
    const at = (this.#written + samples.length - kept.length) % this.capacity;
    const fits = Math.min(kept.length, this.capacity - at);
    this.#samples.set(kept.subarray(0, fits), at);
    this.#samples.set(kept.subarray(fits), 0);
    this.#written += samples.length;
  }

  /** A copy of the samples `from` to `to`, without those that are gone. */
  slice(from: number, to: number): Float32Array {
    if (!(from <= to && to <= this.#written)) throw invalidArgument(`samples ${from} to ${to} of ${this.#written}`);
    const start = Math.max(from, this.first);
    const copy = new Float32Array(Math.max(0, to - start));
    const at = start % this.capacity;
    const fits = Math.min(copy.length, this.capacity - at);
    copy.set(this.#samples.subarray(at, at + fits));
    copy.set(this.#samples.subarray(0, copy.length - fits), fits);
    return copy;
  }
}
