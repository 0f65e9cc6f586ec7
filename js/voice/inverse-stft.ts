/**
 * The inverse of a short-time Fourier transform with Hann windows, frame by frame.
 */
import { transform, turnsOf } from '../fourier-transform.js';

/** How magnitudes are limited, and where the sound begins. @internal */
export interface StftOptions {
  /** Samples to leave out from the start of the first window on: by default half a window. */
  readonly before?: number;
  /** The largest logarithm of a magnitude; larger ones are taken for it. */
  readonly loudest?: number;
}

/** The largest logarithm of a magnitude, as in Vocos. */
const LOUDEST = Math.log(100);

/** Makes samples of spectra. @internal */
export class InverseStft {
  readonly #size: number;
  readonly #hop: number;
  readonly #window: Float64Array;
  readonly #real: Float64Array;
  readonly #imaginary: Float64Array;
  /** What the frames so far add to the samples from the next one on, and the squares of their windows. */
  readonly #sum: Float64Array;
  readonly #weight: Float64Array;
  /** Samples that are still to be left out. */
  #before: number;
  readonly #loudest: number;

  /** @param bins values of a spectrum: one more than a power of two, or one more than five times a power of two */
  constructor(bins: number, hop: number, { before = bins - 1, loudest = LOUDEST }: StftOptions = {}) {
    const size = 2 * (bins - 1);
    this.#size = size;
    this.#hop = hop;
    this.#window = Float64Array.from({ length: size }, (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / size));
    [this.#real, this.#imaginary, this.#sum, this.#weight] = [size, size, size, size].map(
      (length) => new Float64Array(length),
    ) as [Float64Array, Float64Array, Float64Array, Float64Array];
    this.#before = before;
    this.#loudest = loudest;
  }

  /** Adds a frame, logarithms of magnitudes and then phases. Gives the samples that no later frame changes. */
  frame(spectrum: Float32Array): Float32Array {
    const bins = this.#size / 2 + 1;
    for (let bin = 0; bin < bins; bin++) {
      const magnitude = Math.exp(Math.min(spectrum[bin] as number, this.#loudest));
      const phase = spectrum[bins + bin] as number;
      const mirrored = (this.#size - bin) % this.#size;
      // The spectrum of a real sound; the first and the last value have no mirror image and no imaginary part.
      const isOwn = mirrored === bin;
      this.#real[bin] = magnitude * Math.cos(phase);
      this.#imaginary[bin] = isOwn ? 0 : magnitude * Math.sin(phase);
      if (isOwn) continue;
      this.#real[mirrored] = this.#real[bin] as number;
      this.#imaginary[mirrored] = -(this.#imaginary[bin] as number);
    }
    transformAny(this.#imaginary, this.#real); // the inverse
    for (let at = 0; at < this.#size; at++) {
      const window = this.#window[at] as number;
      this.#sum[at] = (this.#sum[at] as number) + ((this.#real[at] as number) / this.#size) * window;
      this.#weight[at] = (this.#weight[at] as number) + window * window;
    }
    return this.#take(this.#hop);
  }

  /** The `count` samples behind the last frame's. */
  rest(count: number): Float32Array {
    return this.#take(Math.min(count + this.#before, this.#size));
  }

  #take(count: number): Float32Array {
    const found = new Float32Array(count);
    for (let at = 0; at < count; at++) {
      const weight = this.#weight[at] as number;
      found[at] = (this.#sum[at] as number) / (weight > 1e-8 ? weight : 1);
    }
    for (const values of [this.#sum, this.#weight]) {
      values.copyWithin(0, count);
      values.fill(0, this.#size - count);
    }
    const dropped = Math.min(this.#before, count);
    this.#before -= dropped;
    return found.subarray(dropped);
  }
}

/**
 * The Fourier transform in place of `odd · 2ⁿ` numbers: part p has the numbers p, p + odd, p + 2 · odd, …; each part is
 * transformed by {@link transform}, and every result is a sum over the parts.
 */
function transformAny(re: Float64Array, im: Float64Array): void {
  const count = re.length;
  let odd = count;
  while (odd % 2 === 0) odd /= 2;
  if (odd === 1) {
    transform(re, im);
    return;
  }
  const size = count / odd;
  const [x, y] = [new Float64Array(count), new Float64Array(count)];
  for (let part = 0; part < odd; part++) {
    for (let at = 0; at < size; at++) {
      x[part * size + at] = re[at * odd + part] as number;
      y[part * size + at] = im[at * odd + part] as number;
    }
    const [from, end] = [part * size, (part + 1) * size];
    transform(x.subarray(from, end), y.subarray(from, end));
  }
  const { cos, sin } = turnsOf(count);
  for (let at = 0; at < count; at++) {
    re[at] = 0;
    im[at] = 0;
    for (let part = 0; part < odd; part++) {
      const [turn, of] = [(part * at) % count, part * size + (at % size)];
      const [c, s, a, b] = [cos[turn] as number, sin[turn] as number, x[of] as number, y[of] as number];
      re[at] = (re[at] as number) + a * c - b * s;
      im[at] = (im[at] as number) + a * s + b * c;
    }
  }
}
