/**
 * What tells speech from other sounds in a short frame: the energy of bands, and how flat the spectrum is.
 */
import { transform } from '../fourier-transform.js';

/** Samples of a frame, at 16 kHz 32 ms; a power of two. @internal */
export const FRAME = 512;
/** Samples between two frames: 16 ms. @internal */
export const HOP = 256;
/** Borders of the bands in Hz; a telephone has all of them. */
const BORDERS = [156, 281, 406, 531, 719, 938, 1188, 1500, 1906, 2406, 3000, 3750];
/** How many bands there are. @internal */
export const BANDS = BORDERS.length - 1;
const BIN = 16_000 / FRAME;
const EDGES = BORDERS.map((hertz) => Math.round(hertz / BIN));

/** A frame in numbers. @internal */
export interface Features {
  /** Power of each band. */
  readonly bands: Float32Array;
  /** Geometric by arithmetic mean of the powers between 156 and 3750 Hz: 0 of a tone, 0.56 of white noise. */
  readonly flatness: number;
  /** Magnitudes of the bins of all bands, with a length of 1 together. */
  readonly shape: Float32Array;
}

const WINDOW = Float32Array.from({ length: FRAME }, (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / FRAME));

/** The features of a frame of {@link FRAME} samples. @internal */
export function featuresOf(frame: Float32Array): Features {
  const [real, imaginary] = [new Float64Array(FRAME), new Float64Array(FRAME)];
  for (let at = 0; at < FRAME; at += 1) {
    const sample = frame[at] as number;
    // What is no number is silence.
    real[at] = Number.isFinite(sample) ? sample * (WINDOW[at] as number) : 0;
  }
  transform(real, imaginary);
  const [first = 0] = EDGES;
  const bins = (EDGES[BANDS] as number) - first;
  const [bands, shape] = [new Float32Array(BANDS), new Float32Array(bins)];
  let [logarithms, sum] = [0, 0];
  for (let band = 0; band < BANDS; band += 1) {
    for (let bin = EDGES[band] as number; bin < (EDGES[band + 1] as number); bin += 1) {
      const energy = ((real[bin] as number) ** 2 + (imaginary[bin] as number) ** 2) / FRAME + 1e-12;
      bands[band] = (bands[band] as number) + energy;
      shape[bin - first] = Math.sqrt(energy);
      logarithms += Math.log(energy);
      sum += energy;
    }
  }
  const length = Math.sqrt(sum);
  return {
    bands,
    flatness: Math.exp(logarithms / bins) / (sum / bins),
    shape: shape.map((magnitude) => magnitude / length),
  };
}

/** How alike the spectra of two frames are, whatever their levels: 1 where they are the same. @internal */
export function likeness(one: Features, other: Features): number {
  return one.shape.reduce((sum, magnitude, bin) => sum + magnitude * (other.shape[bin] as number), 0);
}
