/**
 * Sounds that are faster or slower at the same pitch: waveform similarity overlap-add (W. Verhelst, M. Roelands, "An
 * overlap-add technique based on waveform similarity (WSOLA) for high quality time-scale modification of speech",
 * 1993). Windows of the sound are added where they follow each other as the sound itself would go on.
 */
import { number } from '../check.js';
import { joined } from './resample.js';

/** How fast a sound may be, as OpenAI's `speed`. @internal */
export const SPEED = number(0.25, 4, 'a number from 0.25 to 4');

/** Half a window, and how far one is moved at most, in seconds: a period of 80 Hz is within reach. */
const [HALF, REACH] = [0.02, 0.0125];
/** Places from one that is looked at first to the next. */
const STEP = 4;
/** The length is off by this share at most. */
const OFF = 0.01;

/** Makes a sound of one channel that arrives in pieces `speed` times as fast. @internal */
export class TimeStretch {
  readonly #speed: number;
  /** Samples of half a window, and of the reach. */
  readonly #half: number;
  readonly #reach: number;
  /** How much of the next window there is at each sample of the overlap. */
  readonly #rise: Float32Array;
  #held: Float32Array = new Float32Array(0);
  /** The number of the first sample of `#held`, and of the one behind the last. */
  #first = 0;
  #end = 0;
  /** Windows so far, and where the last one begins. */
  #windows = 0;
  #last = 0;

  constructor(sampleRate: number, speed: number) {
    this.#speed = speed;
    this.#half = Math.max(1, Math.round(HALF * sampleRate));
    this.#reach = Math.round(REACH * sampleRate);
    this.#rise = Float32Array.from(
      { length: this.#half },
      (_, at) => 0.5 - 0.5 * Math.cos((Math.PI * (at + 0.5)) / this.#half),
    );
  }

  /** The samples that are certain after `samples`; which they are does not depend on where pieces end. */
  push(samples: Float32Array): Float32Array {
    if (this.#speed === 1) return samples;
    this.#held = joined([this.#held, samples]);
    this.#end += samples.length;
    const made: Float32Array[] = [];
    // The last window, which only the end knows, is never one of these.
    while (this.#next() + this.#reach + 3 * this.#half <= this.#end && !this.#isLast()) made.push(this.#window());
    this.#drop();
    return joined(made);
  }

  /** The last samples: they end as the sound that was pushed ends. */
  end(): Float32Array {
    if (this.#speed === 1) return new Float32Array(0);
    const short = 2 * this.#half - this.#end;
    if (short > 0) return this.#short(short);
    const made: Float32Array[] = [];
    while (!this.#isLast()) made.push(this.#window());
    const length = this.#whole() - this.#windows * this.#half;
    const slack = Math.min(this.#reach, Math.floor(OFF * this.#whole()));
    const at = this.#windows === 0 ? Math.max(0, this.#end - length) : this.#best(this.#end - length, slack, this.#end);
    if (length > 0) made.push(this.#overlap(at, this.#end - at));
    return joined(made);
  }

  /** How many samples come of those so far. */
  #whole(): number {
    return Math.round(this.#end / this.#speed);
  }

  /** Whether the window that comes now would be the last one if nothing followed. */
  #isLast(): boolean {
    return (this.#windows + 2) * this.#half >= this.#whole();
  }

  /** Where the next window lies by the speed alone: its middle is where the sound's middle is. */
  #next(): number {
    return Math.max(0, Math.round((this.#windows + 1) * this.#half * this.#speed) - this.#half);
  }

  /** A sound that is shorter than a window: silence follows. */
  #short(missing: number): Float32Array {
    const count = this.#whole();
    return joined([this.push(new Float32Array(missing)), this.end()]).subarray(0, count);
  }

  /** The first half of the next window. */
  #window(): Float32Array {
    const wanted = Math.min(this.#next(), this.#end - 2 * this.#half);
    const at = this.#windows === 0 ? 0 : this.#best(wanted, this.#reach, this.#end - this.#half);
    const made = this.#overlap(at, this.#half);
    this.#last = at;
    this.#windows += 1;
    return made;
  }

  /** The place within `reach` of `wanted` that is most like what follows the last window's first half. */
  #best(wanted: number, reach: number, end: number): number {
    const follows = this.#last + this.#half - this.#first;
    const [from, to] = [Math.max(this.#first, wanted - reach), Math.min(wanted + reach, end - this.#half)];
    if (from > to) return Math.max(this.#first, wanted);
    // One place of some, and then its neighbours.
    const near = this.#likest(follows, [from, to], STEP);
    return this.#likest(follows, [Math.max(from, near - STEP + 1), Math.min(to, near + STEP - 1)], 1);
  }

  #likest(follows: number, [from, to]: [number, number], step: number): number {
    let [best, most] = [from, -Infinity];
    for (let at = from; at <= to; at += step) {
      const likeness = this.#likeness(follows, at - this.#first);
      if (likeness > most) [best, most] = [at, likeness];
    }
    return best;
  }

  /** The correlation of two halves of windows, over the second one's energy. */
  #likeness(one: number, other: number): number {
    const held = this.#held;
    let [product, energy] = [0, 1e-9];
    for (let at = 0; at < this.#half; at += 1) {
      const value = held[other + at] as number;
      product += (held[one + at] as number) * value;
      energy += value * value;
    }
    return product / Math.sqrt(energy);
  }

  /** `count` samples from `at` on, into which what follows the last window fades. */
  #overlap(at: number, count: number): Float32Array {
    const from = at - this.#first;
    const made = this.#held.slice(from, from + count);
    if (this.#windows === 0) return made;
    const before = this.#last + this.#half - this.#first;
    for (let sample = 0; sample < Math.min(this.#half, count); sample += 1) {
      const rise = this.#rise[sample] as number;
      made[sample] = rise * (made[sample] as number) + (1 - rise) * (this.#held[before + sample] ?? 0);
    }
    return made;
  }

  /** Forgets what no further window reads. */
  #drop(): void {
    if (this.#windows === 0) return;
    // The last window may begin before the place that the speed alone gives it.
    const needed = Math.min(this.#last + this.#half, this.#next() - this.#reach - 2 * this.#half);
    const count = Math.max(0, needed - this.#first);
    this.#held = this.#held.slice(count);
    this.#first += count;
  }
}
