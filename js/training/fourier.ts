/**
 * Gradients of Fourier transforms. They are linear: with F the matrix of a transform of N, the gradient goes through
 * the conjugate of Fᵀ, which is N times the inverse.
 */
import type { IrfftOptions, StftOptions } from '../compute/fourier.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { GridGradients } from './grids.js';
import { composed } from './rules-matrix.js';
import { input } from './rules-movement.js';
import type { Rule, RuleGpu } from './tape.js';

/** `Gpu` whose transforms have gradients. */
export class FourierGradients extends GridGradients {
  override fft(x: Tensor): FloatTensor {
    return this.custom('fft', { x }, () => super.fft(x), complexRule('ifft'));
  }
  override ifft(x: Tensor): FloatTensor {
    return this.custom('ifft', { x }, () => super.ifft(x), complexRule('fft'));
  }
  override rfft(x: Tensor): FloatTensor {
    return this.custom('rfft', { x }, () => super.rfft(x), rfftRule);
  }
  override irfft(x: Tensor, options?: IrfftOptions): FloatTensor {
    return this.custom('irfft', { x }, () => super.irfft(x, options), irfftRule);
  }
  override stft(x: Tensor, options: StftOptions): FloatTensor {
    return this.custom('stft', { x, window: options?.window }, () => super.stft(x, options), stftRule(options?.hop));
  }
}

function complexRule(back: 'fft' | 'ifft'): Rule {
  return (call) => {
    const length = input(call, 'x').shape.at(-2) as number;
    return (dy) => ({ x: call.gpu.scale(call.gpu[back](dy as Tensor), back === 'ifft' ? length : 1 / length) });
  };
}

/** Bins that stand for two of a transform of `length`, the other of which mirrors them, times `factor`; [bins, 1]. */
function pairedTimes(gpu: RuleGpu, length: number, factor: number): Tensor {
  const bins = Math.floor(length / 2) + 1;
  const isPair = (bin: number): boolean => bin > 0 && 2 * bin !== length;
  return gpu.tensor(
    Float32Array.from({ length: bins }, (_, bin) => (isPair(bin) ? factor : 1)),
    [bins, 1],
  );
}

/** The bins that were left out have no gradient, where `irfft` would mirror the gradient of the others. */
const rfftRule: Rule = (call) => {
  const { gpu } = call;
  const length = input(call, 'x').shape.at(-1) as number;
  return (dy) => {
    const halves = gpu.mul(dy as Tensor, pairedTimes(gpu, length, 0.5));
    return { x: gpu.scale(gpu.irfft(halves, { length }), length) };
  };
};

const irfftRule: Rule = ({ gpu, outputs }) => {
  const length = (outputs[0] as Tensor).shape.at(-1) as number;
  return (dy) => {
    const doubled = gpu.mul(gpu.rfft(dy as Tensor), pairedTimes(gpu, length, 2));
    return { x: gpu.scale(doubled, 1 / length) };
  };
};

/** The transforms of frames, which are stored here. */
function stftRule(hop: number): Rule {
  return composed((gpu, { x, window }) => {
    const { shape } = x as Tensor;
    const n = (window as Tensor).size;
    const frames = Math.floor(((shape.at(-1) as number) - n) / hop) + 1;
    const places = Uint32Array.from({ length: frames * n }, (_, i) => Math.floor(i / n) * hop + (i % n));
    const parts = gpu.gather(x as Tensor, gpu.tensor(places), { axis: shape.length - 1 });
    return gpu.rfft(gpu.mul(gpu.reshape(parts, [...shape.slice(0, -1), frames, n]), window as Tensor));
  });
}
