/**
 * Voice activity: where in a sound somebody speaks, by the energy of bands over a floor of noise that adapts, by the
 * flatness of the spectrum, and by how much it changes. A function of the samples alone: no model, no clock.
 */
import { checked, number } from '../check.js';
import { RATE, resampled } from './resample.js';
import { BANDS, type Features, featuresOf, FRAME, HOP, likeness } from './spectrum.js';

/** What counts as speech. */
export interface ActivityOptions {
  /** Seconds without speech after which a speech is over, 0.1 to 5. Default 0.5. */
  silence?: number | undefined;
  /** How far speech must be above the noise, in decibels, 1 to 30. Default 6. */
  threshold?: number | undefined;
  /** Seconds that are added before and after each speech, 0 to 1. Default 0.2. */
  padding?: number | undefined;
}

/** A part of a sound in which somebody speaks. */
export interface SpeechSpan {
  /** Where it begins, in seconds. */
  readonly start: number;
  /** Where it ends, in seconds. */
  readonly end: number;
  /** Share of its frames that sound like speech, 0 to 1. */
  readonly speech: number;
}

/** Speech has begun, or is over; numbers of samples at 16 kHz. @internal */
export type Change =
  | { readonly type: 'speech'; readonly start: number }
  | { readonly type: 'silence'; readonly start: number; readonly end: number; readonly speech: number };

/** @internal */
export const ACTIVITY_OPTIONS = {
  silence: number(0.1, 5, 'a number of seconds from 0.1 to 5'),
  threshold: number(1, 30, 'a number of decibels from 1 to 30'),
  padding: number(0, 1, 'a number of seconds from 0 to 1'),
};

/** Frames in which the quietest is looked for: 1.5 seconds, in parts, so that an old one is forgotten. */
const [PARTS, PART] = [4, 24];
/** The mean of a noise is above its smallest smoothed frame by about this factor. */
const BIAS = 1.8;
/** Power of a band below which nothing is heard, about -75 dB of full scale. */
const QUIET = 3e-8;
/** Power of a band that is taken for noise before there is anything to compare with, about -55 dB. */
const FIRST = 3e-6;
/** Voiced frames among the last 16, a quarter of a second, that begin a speech. */
const [ONSET, RECENT] = [6, 16];
/**
 * How alike a frame and the one 64 ms before it are, at most, on average of a second of speech. Made speech of five
 * languages has 0.6, notes and hums have 0.9 and more.
 */
const ALIKE = 0.85;
const [APART, SECOND] = [4, 62];
/** Bands whose power is below this share of the strongest band may be what leaks from it. */
const LEAK = 1e-3;

const decibels = (power: number): number => 10 * Math.log10(power);

/** The floor of noise in each band: the quietest of the last second and a half. */
class Floor {
  readonly #smooth = new Float32Array(BANDS);
  readonly #parts: Float32Array[] = [];
  #frames = 0;

  /** Takes a frame; the floor before it. */
  push(bands: Float32Array): Float32Array {
    const floor = this.now();
    if (this.#frames % PART === 0) {
      this.#parts.push(new Float32Array(BANDS).fill(Infinity));
      if (this.#parts.length > PARTS) this.#parts.shift();
    }
    const part = this.#parts.at(-1) as Float32Array;
    for (let band = 0; band < BANDS; band += 1) {
      const [last, next] = [this.#smooth[band] as number, bands[band] as number];
      const value = this.#frames === 0 ? next : 0.7 * last + 0.3 * next;
      this.#smooth[band] = value;
      part[band] = Math.min(part[band] as number, value);
    }
    this.#frames += 1;
    return floor;
  }

  now(): Float32Array {
    // A sound that begins with speech has no quiet frame yet.
    const most = this.#frames < PARTS * PART ? FIRST : Infinity;
    return Float32Array.from({ length: BANDS }, (_, band) => {
      const least = Math.min(...this.#parts.map((part) => part[band] as number), most);
      return Math.max(QUIET, BIAS * least);
    });
  }
}

/** What one frame looks like. */
interface Look {
  /** It can begin a speech. */
  readonly isVoiced: boolean;
  /** It goes on with one. */
  readonly isActive: boolean;
}

/** A speech that goes on: numbers of samples, and of frames. */
interface Speech {
  readonly start: number;
  last: number;
  frames: number;
  active: number;
}

/** Finds speech in samples at 16 kHz that arrive in pieces. @internal */
export class VoiceActivity {
  readonly #silence: number;
  readonly #threshold: number;
  readonly #padding: number;
  readonly #floor = new Floor();
  readonly #recent: boolean[] = [];
  /** The last frames, and how alike they were to those before them where there was sound. */
  readonly #frames: Features[] = [];
  readonly #alike: number[] = [];
  #held = new Float32Array(0);
  /** The number of the first sample of `#held`. */
  #at = 0;
  #speech: Speech | undefined;
  /** Where the last speech ended. */
  #end = 0;

  constructor({ silence = 0.5, threshold = 6, padding = 0.2 }: ActivityOptions = {}) {
    this.#silence = Math.round(silence * RATE);
    this.#threshold = threshold;
    this.#padding = Math.round(padding * RATE);
  }

  /** Whether somebody speaks at the end of what was pushed. */
  get isSpeech(): boolean {
    return this.#speech !== undefined;
  }

  push(samples: Float32Array): Change[] {
    const held = new Float32Array(this.#held.length + samples.length);
    held.set(this.#held);
    held.set(samples, this.#held.length);
    const changes: Change[] = [];
    let at = 0;
    for (; at + FRAME <= held.length; at += HOP) {
      const change = this.#frame(featuresOf(held.subarray(at, at + FRAME)), this.#at + at);
      if (change) changes.push(change);
    }
    this.#held = held.slice(at);
    this.#at += at;
    return changes;
  }

  /** Nothing follows. */
  end(): Change[] {
    const last = this.#at + this.#held.length;
    return this.#speech ? [this.#over(last)] : [];
  }

  #frame(features: Features, at: number): Change | undefined {
    const { isVoiced, isActive } = this.#look(features);
    this.#recent.push(isVoiced);
    if (this.#recent.length > RECENT) this.#recent.shift();
    if (!this.#speech) return this.#begun(at);
    this.#speech.frames += 1;
    if (isActive && !this.#isTonal()) {
      this.#speech.active += 1;
      this.#speech.last = at + FRAME;
    }
    return at + FRAME - this.#speech.last > this.#silence ? this.#over(at + FRAME) : undefined;
  }

  #look(features: Features): Look {
    const { bands, flatness } = features;
    const floor = this.#floor.push(bands);
    const least = LEAK * Math.max(...bands);
    let [sum, loud] = [0, 0];
    for (let band = 0; band < BANDS; band += 1) {
      const power = bands[band] as number;
      const above = decibels(power / (floor[band] as number));
      sum += Math.min(Math.max(above, 0), 20) / BANDS;
      if (above > this.#threshold && power > least) loud += 1;
    }
    const isActive = loud >= 3 && sum > 0.5 * this.#threshold;
    this.#compare(features, isActive);
    return { isVoiced: loud >= 4 && sum > 0.8 * this.#threshold && flatness < 0.3, isActive };
  }

  #compare(features: Features, isActive: boolean): void {
    const before = this.#frames.length === APART ? this.#frames.shift() : undefined;
    this.#frames.push(features);
    if (!before || !isActive) return;
    this.#alike.push(likeness(features, before));
    if (this.#alike.length > SECOND) this.#alike.shift();
  }

  /** Whether the last second of sound was notes or a hum. */
  #isTonal(): boolean {
    return this.#alike.reduce((sum, value) => sum + value, 0) > ALIKE * this.#alike.length;
  }

  #begun(at: number): Change | undefined {
    if (this.#recent.filter(Boolean).length < ONSET || this.#isTonal()) return undefined;
    const first = at - HOP * (this.#recent.length - 1 - this.#recent.indexOf(true));
    const start = Math.max(this.#end, first - this.#padding, 0);
    this.#speech = { start, last: at + FRAME, frames: RECENT, active: ONSET };
    return { type: 'speech', start };
  }

  #over(now: number): Change {
    const { start, last, frames, active } = this.#speech as Speech;
    this.#speech = undefined;
    this.#recent.length = 0;
    this.#end = Math.min(last + this.#padding, now);
    return { type: 'silence', start, end: this.#end, speech: Math.min(1, active / frames) };
  }
}

/**
 * Where in a sound of one channel somebody speaks.
 *
 * @example
 * const spans = speechIn(samples, 16_000); // [{ start: 0.42, end: 2.1, speech: 0.87 }]
 */
export function speechIn(samples: Float32Array, sampleRate: number, options: ActivityOptions = {}): SpeechSpan[] {
  const activity = new VoiceActivity(checked('speechIn', options, ACTIVITY_OPTIONS));
  const sound = resampled(samples, sampleRate, RATE);
  const changes = [...activity.push(sound), ...activity.end()];
  return changes.flatMap((change) => {
    if (change.type === 'speech') return [];
    const { start, end, speech } = change;
    return [{ start: start / RATE, end: Math.min(end, sound.length) / RATE, speech }];
  });
}
