/**
 * `Gpu` with the operations that signals and images need: the entry `webgguf/compute`. Models do not use them, so that
 * pages which only load models do not load them either.
 *
 * @example
 * import { Gpu } from 'webgguf/compute';
 *
 * const gpu = await Gpu.create();
 * const y = gpu.maxPool2d(gpu.hardSwish(image), { kernel: 2 });
 *
 * @module webgguf/compute
 */
import { throughProxies } from '../proxies.js';
import { AttentionOperations } from './attention.js';

/** A GPU device with the operations of `Gpu` of `webgguf` and of this entry. Models take it as `gpu`, too. */
export class Gpu extends AttentionOperations {
  static override async create(): Promise<Gpu> {
    // biome-ignore lint/complexity/noThisInStatic: it makes an instance of the class that it is called on
    return (await super.create()) as Gpu;
  }
}
throughProxies(Gpu);

export type { BatchNormOptions } from './activations.js';
export type { ConvOptions, ConvTransposeOptions } from './convolution.js';
export type { ShaderOptions, ShaderOutput } from './dispatch.js';
export type { IrfftOptions, StftOptions } from './fourier.js';
export type { PerAxis } from './checks.js';
export type { KnnOptions, Neighbours } from './neighbours.js';
export type { PeakOptions, Peaks, SpectralPeaks } from './peaks.js';
export type { PowerSpectrum, WelchOptions } from './spectra.js';
export type { AvgPoolOptions, GroupNormOptions, PadOptions, PoolOptions, UpsampleOptions } from './pooling.js';
