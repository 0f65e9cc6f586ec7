/**
 * Gradients of operations on images and other grids.
 */
import { fields, kindOf, type PerAxis, three } from '../compute/checks.js';
import { asF32, gridOf } from '../compute/dispatch.js';
import type { AvgPoolOptions, GroupNormOptions, PadOptions, PoolOptions, UpsampleOptions } from '../compute/pooling.js';
import * as shaders from '../compute/shaders.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { ConvolutionGradients } from './convolution.js';
import { shaped } from '../compute/dispatch.js';
import { composed } from './rules-matrix.js';
import type { Rule, RuleGpu } from './tape.js';

/** `Gpu` whose operations on grids have gradients. */
export class GridGradients extends ConvolutionGradients {
  override pad(x: Tensor, padding: readonly (readonly [number, number])[], options?: PadOptions): FloatTensor {
    return this.custom('pad', { x }, () => super.pad(x, padding, options), padRule(padding, options?.mode));
  }
  override upsample(x: Tensor, options: UpsampleOptions): FloatTensor {
    return this.custom('upsample', { x }, () => super.upsample(x, options), upsampleRule(options));
  }
  override maxPool1d(x: Tensor, options: PoolOptions): FloatTensor {
    return this.#pooled('maxPool1d', x, options, () => super.maxPool1d(x, options));
  }
  override maxPool2d(x: Tensor, options: PoolOptions): FloatTensor {
    return this.#pooled('maxPool2d', x, options, () => super.maxPool2d(x, options));
  }
  override maxPool3d(x: Tensor, options: PoolOptions): FloatTensor {
    return this.#pooled('maxPool3d', x, options, () => super.maxPool3d(x, options));
  }
  override avgPool1d(x: Tensor, options: AvgPoolOptions): FloatTensor {
    return this.#pooled('avgPool1d', x, options, () => super.avgPool1d(x, options));
  }
  override avgPool2d(x: Tensor, options: AvgPoolOptions): FloatTensor {
    return this.#pooled('avgPool2d', x, options, () => super.avgPool2d(x, options));
  }
  override avgPool3d(x: Tensor, options: AvgPoolOptions): FloatTensor {
    return this.#pooled('avgPool3d', x, options, () => super.avgPool3d(x, options));
  }
  override groupNorm(x: Tensor, options: GroupNormOptions): FloatTensor {
    const { weight, bias } = options ?? {};
    return this.custom('groupNorm', { x, weight, bias }, () => super.groupNorm(x, options), groupNormRule(options));
  }

  /** Largest elements that are equal share the gradient; a mean needs no x. */
  #pooled(call: string, x: Tensor, options: AvgPoolOptions, work: () => Tensor): FloatTensor {
    return this.custom(call, { x }, work, ({ inputs, outputs, save }) => {
      const [{ shape, size }, out] = [inputs.x as Tensor, (outputs[0] as Tensor).shape.slice(2)];
      const isMean = call.startsWith('avg');
      const kept = isMean ? {} : { y: save(outputs[0] as Tensor), x: save(inputs.x as Tensor) };
      const { kernel, stride = kernel, padding = 0, countIncludePad = true } = options;
      const axes = (value: PerAxis): readonly number[] => (typeof value === 'number' ? out.map(() => value) : value);
      return (dy) => ({
        x: this.dispatch(call, shaders.poolGrad, {
          inputs: { dy, y: kept.y, x: kept.x },
          shape,
          params: {
            len: size,
            ...fields('in', three(shape.slice(2), 1)),
            ...fields('out', three(out, 1)),
            ...fields('kernel', three(axes(kernel), 1)),
            ...fields('stride', three(axes(stride), 1)),
            ...fields('pad', three(axes(padding), 0)),
          },
          constants: { KIND: kept.x ? kindOf(kept.x) : 0, MEAN: isMean, COUNT_PAD: countIncludePad },
          workgroups: gridOf(size),
        }),
      });
    });
  }
}

/** What lies outside x is a number, or an element of x that gets its gradient, too. */
function padRule(padding: readonly (readonly [number, number])[], mode: PadOptions['mode'] = 'constant'): Rule {
  return ({ gpu, inputs }) => {
    const { shape } = inputs.x as Tensor;
    const skipped = shape.length - padding.length;
    return (dy) => {
      const back = padding.reduce((y, [before, behind], index) => {
        const [axis, length] = [skipped + index, shape[skipped + index] as number];
        if (before + behind === 0) return y;
        if (mode === 'constant') return gpu.narrow(y, axis, before, length);
        const from = (place: number): number => {
          const last = length - 1;
          if (mode === 'edge') return Math.min(Math.max(place, 0), last);
          return last - Math.abs(last - Math.abs(place));
        };
        const places = Uint32Array.from({ length: before + length + behind }, (_, place) => from(place - before));
        const wanted = y.shape.map((size, at) => (at === axis ? length : size));
        return gpu.scatterAdd(gpu.filled(wanted, 0), gpu.tensor(places), y, { axis });
      }, dy as Tensor);
      return { x: back };
    };
  };
}

/** Along each axis y = A·x with a matrix of shares, so that dx = Aᵀ·dy. */
function upsampleRule({ mode = 'nearest', alignCorners }: UpsampleOptions): Rule {
  return ({ gpu, inputs, outputs }) => {
    const [from, to] = [inputs.x as Tensor, outputs[0] as Tensor].map(({ shape }) => shape.slice(2));
    const matrices = (): Tensor[] =>
      (from as number[]).map((length, axis) => {
        const count = (to as number[])[axis] as number;
        return gpu.tensor(shares(length, count, mode !== 'nearest', alignCorners), [count, length]);
      });
    return (dy) => {
      const [rows, columns] = matrices() as [Tensor, Tensor?];
      if (!columns) return { x: gpu.matmul(dy as Tensor, rows) };
      return { x: gpu.matmul(rows, gpu.matmul(dy as Tensor, columns), { transposeA: true }) };
    };
  };
}

/** How much of each of `length` elements is in each of `count`, as `upsample.wgsl` has it: [count, length]. */
function shares(length: number, count: number, isLinear: boolean, corners = false): Float32Array {
  const matrix = new Float32Array(count * length);
  for (let row = 0; row < count; row += 1) {
    const centre = ((row + 0.5) * length) / count - 0.5;
    const at = corners ? (row * (length - 1)) / (Math.max(count, 2) - 1) : Math.min(Math.max(centre, 0), length - 1);
    const near = isLinear ? Math.floor(at) : Math.floor((row * length) / count);
    const share = isLinear ? at - near : 0;
    matrix[row * length + near] = 1 - share;
    if (share > 0) matrix[row * length + Math.min(near + 1, length - 1)] = share;
  }
  return matrix;
}

/** The layer norm of the rows that groups are. */
function groupNormRule({ groups, eps }: GroupNormOptions): Rule {
  return composed((gpu, { x, weight, bias }) => {
    const [samples, channels, ...spatial] = (x as Tensor).shape as [number, number, ...number[]];
    const plain = asF32(gpu, x as Tensor);
    const normed = gpu.layerNorm(gpu.reshape(plain, [samples * groups, -1]), undefined, { eps });
    const wide = (tensor: Tensor): Tensor => perChannel(gpu, tensor, channels, spatial.length);
    const y = gpu.reshape(normed, (x as Tensor).shape);
    const scaled = weight ? gpu.mul(y, wide(weight)) : y;
    return bias ? gpu.add(scaled, wide(bias)) : scaled;
  });
}

const perChannel = (gpu: RuleGpu, tensor: Tensor, channels: number, spatial: number): Tensor =>
  shaped(gpu, tensor, [channels, ...Array<number>(spatial).fill(1)]);
