/**
 * Peaks of signals and of their spectra.
 */
import { invalidArgument } from '../errors.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { at, finite, floats, known } from './checks.js';
import { asF32, gridOf } from './dispatch.js';
import * as shaders from './shaders.js';
import { SpectrumOperations, WELCH_NAMES, type WelchOptions } from './spectra.js';

/** Options of {@link PeakOperations.findPeaks}: which local maxima count as peaks, as in SciPy's `find_peaks`. */
export interface PeakOptions {
  /** Least height. Default: none */
  height?: number | undefined;
  /** Least distance of neighbours, in elements: of two that are nearer the lower one goes. Default: 1 */
  distance?: number | undefined;
  /** How much a peak must stand above what is around it at least. Default: none */
  prominence?: number | undefined;
}

/** Peaks of a row, in their order along it. */
export interface Peaks {
  /** Where they are; of a plateau its middle, the left one of two. */
  readonly indices: Uint32Array;
  /** x there. */
  readonly heights: Float32Array;
  /** What each stands above the higher of the lowest elements on its two sides, up to the next higher element. */
  readonly prominences: Float32Array;
}

/** Peaks of a spectrum. */
export interface SpectralPeaks extends Peaks {
  /** The frequencies of the bins, in the unit of the sample rate. */
  readonly frequencies: Float64Array;
}

/** A local maximum. */
interface Peak {
  index: number;
  height: number;
  prominence: number;
}

const NAMES = ['height', 'distance', 'prominence'] as const;

/** Elements whose extremes `peaks.wgsl` looks at together. */
const BLOCK = 256;

/** The longest row: places behind an element are f32. */
const LONGEST = 2 ** 24;

/** Peaks. */
export abstract class PeakOperations extends SpectrumOperations {
  /**
   * The peaks of each row, as `scipy.signal.find_peaks`: local maxima, of which those below `height` go first, then
   * those too near to a higher one, then those with too little prominence. The GPU finds all maxima with their
   * prominences; which of them count is settled one after the other, so by the page, once they have arrived.
   *
   * @param x [.., L] without NaN: f32, f16 or bf16
   * @returns one for each row
   * @throws {WebggufError} `invalid_argument` where options do not fit
   *
   * @example
   * const [beats] = await gpu.findPeaks(gpu.tensor(pulse), { prominence: 0.5, distance: 20 });
   * console.log(beats.indices, beats.heights);
   */
  async findPeaks(x: Tensor, options?: PeakOptions): Promise<Peaks[]> {
    const limits = limitsOf('findPeaks', known('findPeaks', options, NAMES));
    const signal = floats('findPeaks', 'x', x);
    const length = signal.shape.at(-1) ?? 0;
    const rows = length && signal.size / length;
    if (length > LONGEST) throw invalidArgument(`findPeaks: x is ${x}; rows have up to ${LONGEST} elements`);
    // No row is no dispatch, and two elements have nothing between them.
    if (length < 3) return Array.from({ length: rows }, () => listed([]));
    const maxima = this.scope(() => this.#maxima(signal, rows, length));
    try {
      const found = (await maxima.data()) as Float32Array;
      return Array.from({ length: rows }, (_, row) => {
        const part = found.subarray(row * 3 * length, (row + 1) * 3 * length);
        return listed(chosen(maximaOf(part, length), limits));
      });
    } finally {
      maxima.free();
    }
  }

  /**
   * The peaks of each row's power spectrum: {@link welch} and {@link findPeaks} without a wait between them.
   *
   * @param x [.., L]
   * @param options of both; `distance` is in bins
   * @returns one for each row
   *
   * @example
   * const [tones] = await gpu.welchPeaks(gpu.tensor(samples), { sampleRate: 48_000, prominence: 1e-6 });
   * console.log(tones.frequencies); // in Hz
   */
  async welchPeaks(x: Tensor, options: WelchOptions & PeakOptions = {}): Promise<SpectralPeaks[]> {
    const { height, distance, prominence, ...rest } = known('welchPeaks', options, [...WELCH_NAMES, ...NAMES]);
    const { frequencies, power } = this.welch(x, rest);
    const peaks = this.findPeaks(power, { height, distance, prominence });
    power.free();
    const of = (index: number) => at(frequencies as unknown as number[], index);
    return (await peaks).map((found) => ({ ...found, frequencies: Float64Array.from(found.indices, of) }));
  }

  /** `[rows, 3, length]`: what `peaks.wgsl` finds at each element, and x. */
  #maxima(x: Tensor, rows: number, length: number): FloatTensor {
    const plain = this.reshape(asF32(this, x), [rows, length]);
    const blocks = Math.ceil(length / BLOCK);
    // The last block goes on with the last element, which changes neither of its extremes.
    const whole = this.reshape(this.pad(plain, [[0, blocks * BLOCK - length]], { mode: 'edge' }), [
      rows,
      blocks,
      BLOCK,
    ]);
    const found = this.dispatch('findPeaks', shaders.peaks, {
      inputs: { x: plain, highest: this.max(whole, { axis: 2 }), lowest: this.min(whole, { axis: 2 }) },
      shape: [rows, 2, length],
      params: { len: rows * length, length, blocks },
      workgroups: gridOf(rows * length),
    });
    return this.concat([found, this.reshape(plain, [rows, 1, length])] as FloatTensor[], { axis: 1 });
  }
}

/** Checked options. */
function limitsOf(call: string, options: PeakOptions): Required<{ [K in keyof PeakOptions]: number }> {
  const { height = -Infinity, distance = 1, prominence = -Infinity } = options;
  for (const [name, value] of Object.entries(options)) if (value !== undefined) finite(call, name, value);
  if (distance < 1) throw invalidArgument(`${call}: distance must be at least 1, found ${distance}`);
  return { height, distance, prominence };
}

/** The maxima of a row in order: places, prominences and x. */
function maximaOf(found: Float32Array, length: number): Peak[] {
  const maxima: Peak[] = [];
  for (let i = 0; i < length; i += 1) {
    const place = found[i] as number;
    if (place === 0) continue;
    const [prominence, height] = [found[length + i], found[2 * length + i]] as [number, number];
    maxima.push({ index: i + place - 1, height, prominence });
  }
  return maxima;
}

/** The maxima that are peaks. */
function chosen(maxima: Peak[], { height, distance, prominence }: ReturnType<typeof limitsOf>): Peak[] {
  const high = maxima.filter((peak) => peak.height >= height);
  return apart(high, Math.ceil(distance)).filter((peak) => peak.prominence >= prominence);
}

/** Peaks that are `distance` or more apart: of two nearer ones the higher stays, of two equal ones the right one. */
function apart(peaks: Peak[], distance: number): Peak[] {
  if (distance <= 1) return peaks;
  const gone = new Set<Peak>();
  const isNear = (a: Peak, b: Peak | undefined) => b !== undefined && Math.abs(a.index - b.index) < distance;
  const places = peaks.map((_, place) => place);
  // Upwards and without changing the order of equals, so that from the end on each is the highest that is left.
  places.sort((a, b) => at(peaks, a).height - at(peaks, b).height);
  for (const place of places.reverse()) {
    const peak = at(peaks, place);
    if (gone.has(peak)) continue;
    for (let i = place - 1; isNear(peak, peaks[i]); i -= 1) gone.add(at(peaks, i));
    for (let i = place + 1; isNear(peak, peaks[i]); i += 1) gone.add(at(peaks, i));
  }
  return peaks.filter((peak) => !gone.has(peak));
}

/** Peaks as lists of their numbers. */
function listed(peaks: readonly Peak[]): Peaks {
  return {
    indices: Uint32Array.from(peaks, ({ index }) => index),
    heights: Float32Array.from(peaks, ({ height }) => height),
    prominences: Float32Array.from(peaks, ({ prominence }) => prominence),
  };
}
