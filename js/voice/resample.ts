/**
 * Sounds at another rate: a windowed sinc, piece by piece, with the same result wherever the pieces end.
 */
import { invalidArgument } from '../errors.js';
import type { SoundPiece } from './types.js';

/** Samples each second of encoders of sounds. @internal */
export const RATE = 16_000;
/** Zero crossings of the sinc on each side. */
const CROSSINGS = 12;
/** Rows of the table: positions between two samples. */
const PHASES = 256;
/** Lowest and highest rate. */
const [LEAST, MOST] = [1000, 768_000];

/** Taps for each position between two samples; both ends of the table are there, so that rows can be mixed. */
function tableOf(cutoff: number, reach: number): Float32Array[] {
  return Array.from({ length: PHASES + 1 }, (_, phase) => {
    const taps = Float32Array.from({ length: 2 * reach }, (__, tap) => {
      const x = tap - reach + 1 - phase / PHASES;
      const sinc = x === 0 ? 1 : Math.sin(Math.PI * cutoff * x) / (Math.PI * cutoff * x);
      const window = Math.abs(x) < reach ? 0.5 + 0.5 * Math.cos((Math.PI * x) / reach) : 0;
      return sinc * window;
    });
    const sum = taps.reduce((all, tap) => all + tap, 0);
    return taps.map((tap) => tap / sum);
  });
}

/** Changes the rate of a sound that arrives in pieces. @internal */
export class Resampler {
  readonly #step: number;
  readonly #reach: number;
  readonly #table: Float32Array[] | undefined;
  #held: Float32Array;
  /** Where the next sample lies, in samples of `#held`. */
  #at: number;
  /** Samples that came and that were given. */
  #taken = 0;
  #given = 0;

  constructor(from: number, to: number) {
    for (const rate of [from, to]) {
      if (!(rate >= LEAST && rate <= MOST)) {
        throw invalidArgument(`the sample rate must be from ${LEAST} to ${MOST}, found ${rate}`);
      }
    }
    this.#step = from / to;
    const cutoff = Math.min(1, to / from) * (from === to ? 1 : 0.94);
    this.#reach = Math.ceil(CROSSINGS / cutoff);
    this.#table = from === to ? undefined : tableOf(cutoff, this.#reach);
    // Silence before the first sample.
    this.#held = new Float32Array(this.#reach - 1);
    this.#at = this.#reach - 1;
  }

  /** The samples that are certain after `samples`. */
  push(samples: Float32Array): Float32Array {
    if (!this.#table) return samples;
    this.#taken += samples.length;
    return this.#take(samples);
  }

  /** The last samples: as many as the whole sound has at the new rate. */
  end(): Float32Array {
    const whole = Math.round(this.#taken / this.#step);
    const missing = whole - this.#given;
    return this.#table && missing > 0 ? this.#take(new Float32Array(2 * this.#reach)).subarray(0, missing) : EMPTY;
  }

  #take(samples: Float32Array): Float32Array {
    const held = new Float32Array(this.#held.length + samples.length);
    held.set(this.#held);
    held.set(samples, this.#held.length);
    const count = Math.max(0, Math.floor((held.length - this.#reach - 1 - this.#at) / this.#step) + 1);
    const made = Float32Array.from({ length: count }, (_, number) =>
      this.#sample(held, this.#at + number * this.#step),
    );
    const next = this.#at + count * this.#step;
    const first = Math.max(0, Math.floor(next) - this.#reach + 1);
    this.#held = held.slice(first);
    this.#at = next - first;
    this.#given += count;
    return made;
  }

  #sample(held: Float32Array, at: number): number {
    const whole = Math.floor(at);
    const phase = (at - whole) * PHASES;
    const row = Math.floor(phase);
    const [low, high] = [this.#table?.[row], this.#table?.[Math.min(row + 1, PHASES)]] as [Float32Array, Float32Array];
    const share = phase - row;
    const first = whole - this.#reach + 1;
    let sum = 0;
    for (let tap = 0; tap < low.length; tap += 1) {
      const weight = (low[tap] as number) * (1 - share) + (high[tap] as number) * share;
      sum += weight * (held[first + tap] as number);
    }
    return sum;
  }
}

const EMPTY = new Float32Array(0);

/** A whole sound at another rate. @internal */
export function resampled(samples: Float32Array, from: number, to: number): Float32Array {
  if (from === to) return samples;
  const resampler = new Resampler(from, to);
  return joined([resampler.push(samples), resampler.end()]);
}

/** Pieces of one sound at `rate`, and without it as they are. Where pieces meet, nothing is heard. @internal */
export async function* atRate(pieces: AsyncIterable<SoundPiece>, rate?: number): AsyncGenerator<SoundPiece> {
  let resampler: Resampler | undefined;
  let last = 0;
  for await (const { samples, sampleRate } of pieces) {
    if (resampler && sampleRate !== last) throw invalidArgument(`pieces at ${last} and ${sampleRate} samples a second`);
    [resampler, last] = [resampler ?? new Resampler(sampleRate, rate ?? sampleRate), sampleRate];
    const made = resampler.push(samples);
    if (made.length > 0) yield { samples: made, sampleRate: rate ?? sampleRate };
  }
  const end = resampler?.end() ?? EMPTY;
  if (end.length > 0) yield { samples: end, sampleRate: rate ?? last };
}

/** Pieces as one. @internal */
export function joined(pieces: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
