/**
 * The inverse of a short-time Fourier transform with Hann windows, frame by frame.
 */
import { transform } from '../fourier-transform.js';

/** Logarithms of magnitudes are cut here, as Vocos does. */
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
  /** Samples to come that are not wanted: by default those before the middle of the first window. */
  #before: number;

  /**
   * @param bins of a spectrum: one more than a power of two
   * @param before samples from the start of the first window on that are not wanted
   */
  constructor(bins: number, hop: number, before = bins - 1) {
    const size = 2 * (bins - 1);
    this.#size = size;
    this.#hop = hop;
    this.#window = Float64Array.from({ length: size }, (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / size));
    [this.#real, this.#imaginary, this.#sum, this.#weight] = [size, size, size, size].map(
      (length) => new Float64Array(length),
    ) as [Float64Array, Float64Array, Float64Array, Float64Array];
    this.#before = before;
  }

  /** Adds a frame, logarithms of magnitudes and then phases. Gives the samples that no later frame changes. */
  frame(spectrum: Float32Array): Float32Array {
    const bins = this.#size / 2 + 1;
    for (let bin = 0; bin < bins; bin++) {
      const magnitude = Math.exp(Math.min(spectrum[bin] as number, LOUDEST));
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
    transform(this.#imaginary, this.#real); // the inverse
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
