/**
 * Power spectra of signals.
 */
import { invalidArgument } from '../errors.js';
import { show } from '../check.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { at, finite, floats, integer, kindOf, known, word } from './checks.js';
import { grid } from './dispatch.js';
import { FourierOperations, lengthOf } from './fourier.js';
import * as shaders from './shaders.js';

/** Windows by their names: cosines with these factors, over a period as long as the window. */
const WINDOWS = { hann: [0.5, 0.5], hamming: [0.54, 0.46], blackman: [0.42, 0.5, 0.08], boxcar: [1] };

/** Options of {@link SpectrumOperations.welch}; the defaults are as in SciPy's `welch`. */
export interface WelchOptions {
  /** Elements per second, or per any other unit that frequencies are to be in. Default: 1 */
  sampleRate?: number | undefined;
  /** Elements of a segment. Default: 256, or all of x where it is shorter */
  segmentLength?: number | undefined;
  /** Elements that neighbouring segments share. Default: half of a segment */
  overlap?: number | undefined;
  /** Factors of a segment: a name, or a number for each element. Default: `'hann'` */
  window?: 'hann' | 'hamming' | 'blackman' | 'boxcar' | readonly number[] | Float32Array | Float64Array | undefined;
  /** Length of a transform; zeros follow the segment. Default: `segmentLength` */
  fftLength?: number | undefined;
  /** What is taken off each segment: its mean, its least-squares line. Default: `'constant'` */
  detrend?: 'constant' | 'linear' | 'none' | undefined;
  /** Power per unit of frequency, or power of each bin. Default: `'density'` */
  scaling?: 'density' | 'spectrum' | undefined;
}

/** Result of {@link SpectrumOperations.welch}. */
export interface PowerSpectrum {
  /** `[bins]`: the frequency of each bin, from 0 to half of the sample rate. */
  readonly frequencies: Float64Array;
  /** f32 [.., bins]: x² per unit of frequency, or x² with `scaling: 'spectrum'`. */
  readonly power: FloatTensor;
}

/** The options of {@link SpectrumOperations.welch}. @internal */
export const WELCH_NAMES = [
  'sampleRate',
  'segmentLength',
  'overlap',
  'window',
  'fftLength',
  'detrend',
  'scaling',
] as const;
const DETREND = ['none', 'constant', 'linear'] as const;

/** Segments and bins that a workgroup of `welch_power.wgsl` adds up. */
const CHUNK = 64;
const BINS = 64;

/** Checked options. */
interface Plan {
  length: number;
  step: number;
  segments: number;
  fftLength: number;
  window: Float64Array;
  detrend: number;
  sampleRate: number;
  /** The factor of the square of a bin that stands for one frequency. */
  factor: number;
}

/** Spectra of power. */
export abstract class SpectrumOperations extends FourierOperations {
  /**
   * The one-sided power spectrum of a signal by Welch's method (1967): the mean over segments that overlap, each
   * detrended and under a window. As `scipy.signal.welch`.
   *
   * @param x [.., L]: f32, f16 or bf16; segments and their spectra take about 6 times its memory with half an overlap
   * @throws {WebggufError} `invalid_argument` where the signal is shorter than a segment or options do not fit
   *
   * @example
   * const { frequencies, power } = gpu.welch(gpu.tensor(samples), { sampleRate: 48_000, segmentLength: 4096 });
   * const density = await power.data(); // density[k] is at frequencies[k]
   */
  welch(x: Tensor, options?: WelchOptions): PowerSpectrum {
    const signal = floats('welch', 'x', x);
    const plan = planOf(signal, known('welch', options, WELCH_NAMES));
    const bins = Math.floor(plan.fftLength / 2) + 1;
    const frequencies = Float64Array.from({ length: bins }, (_, k) => (k * plan.sampleRate) / plan.fftLength);
    return { frequencies, power: this.scope(() => this.#power(this.#segments(signal, plan), signal, plan, bins)) };
  }

  /** `[rows · segments, length]`: what is transformed. */
  #segments(x: Tensor, { length, step, segments, window, detrend }: Plan): FloatTensor {
    const [ofX, middle] = [at(x.shape, x.shape.length - 1), (length - 1) / 2];
    const count = (x.size / ofX) * segments;
    const squares = (length * (length * length - 1)) / 12 || 1 + middle;
    return this.dispatch('welch', shaders.welchSegments, {
      inputs: { x, window: this.tensor(window) },
      shape: [count, length],
      params: { segments: count, per_row: segments, of_x: ofX, step, length, squares },
      constants: { KIND: kindOf(x), DETREND: detrend },
      workgroups: grid(count),
    });
  }

  /** The mean over the squares of the segments' transforms. */
  #power(y: FloatTensor, x: Tensor, { length, segments, fftLength, factor }: Plan, bins: number): FloatTensor {
    const [leading, rows] = [x.shape.slice(0, -1), at(y.shape, 0)];
    const work = { load: 'real', store: 'complex', inverse: false, scale: 1, rows, ofX: length, ofY: bins } as const;
    const z = this.transform('welch', y, { ...work, given: length, length: fftLength, shape: [rows, bins, 2] });
    y.free();
    const [signals, chunks] = [rows / segments, Math.ceil(segments / CHUNK)];
    const tiles = signals * chunks * Math.ceil(bins / BINS);
    // An even length has a bin of half the sample rate, which stands for one frequency.
    const single = fftLength % 2 === 0 ? bins - 1 : 0;
    const sums = this.dispatch('welch', shaders.welchPower, {
      inputs: { z },
      shape: [signals, chunks, bins],
      params: { tiles, segments, chunks, bins, single, factor: factor / segments },
      workgroups: grid(tiles),
    });
    return this.reshape(chunks > 1 ? this.sum(sums, { axis: 1 }) : sums, [...leading, bins]);
  }
}

/** Options with defaults, checked against x. */
function planOf(x: Tensor, options: WelchOptions): Plan {
  const ofX = x.shape.at(-1);
  if (!ofX || x.size === 0) throw invalidArgument(`welch: x is ${x}; it has no elements along its last axis`);
  const { sampleRate = 1, detrend = 'constant', scaling = 'density' } = options;
  const length = integer('welch', 'segmentLength', options.segmentLength ?? Math.min(256, ofX), 1);
  if (ofX < length) throw invalidArgument(`welch: x is ${x}, ${ofX} elements; a segment has ${length}`);
  const overlap = integer('welch', 'overlap', options.overlap ?? Math.floor(length / 2), 0, length - 1);
  const fftLength = integer('welch', 'fftLength', options.fftLength ?? length, length);
  const window = windowOf(options.window ?? 'hann', length);
  const rate = finite('welch', 'sampleRate', sampleRate);
  if (rate <= 0) throw invalidArgument(`welch: sampleRate must be above 0, found ${rate}`);
  const isDensity = word('welch', 'scaling', scaling, ['density', 'spectrum'] as const) === 'density';
  const sum = window.reduce((total, value) => total + (isDensity ? value * value : value), 0);
  return {
    length,
    step: length - overlap,
    segments: Math.floor((ofX - length) / (length - overlap)) + 1,
    fftLength: lengthOf('welch', x, fftLength),
    window,
    detrend: DETREND.indexOf(word('welch', 'detrend', detrend, DETREND)),
    sampleRate: rate,
    factor: 1 / (isDensity ? rate * sum : sum * sum),
  };
}

/** The factors of a segment. */
function windowOf(window: NonNullable<WelchOptions['window']>, length: number): Float64Array {
  if (typeof window === 'string') {
    if (length === 1) return Float64Array.of(1);
    const factors = WINDOWS[word('welch', 'window', window, Object.keys(WINDOWS) as (keyof typeof WINDOWS)[])];
    const cosines = (i: number) =>
      factors.map((factor, k) => (-1) ** k * factor * Math.cos((2 * Math.PI * k * i) / length));
    return Float64Array.from({ length }, (_, i) => cosines(i).reduce((sum, value) => sum + value));
  }
  const isList = Array.isArray(window) || window instanceof Float32Array || window instanceof Float64Array;
  if (!isList) throw invalidArgument(`welch: window must be a name or an array of numbers, found ${show(window)}`);
  if (window.length !== length) {
    throw invalidArgument(`welch: the window has ${window.length} numbers, a segment ${length} elements`);
  }
  return Float64Array.from(window, (value) => finite('welch', 'a number of the window', value));
}
