/**
 * Operations on rows: the last axis of a tensor.
 */
import { MovementOperations } from './gpu-movement.js';
import type { FloatTensor, Tensor } from './tensor.js';

/** Options of {@link RowOperations.softmax}. */
export interface SoftmaxOptions {
  /** Added to the scores, f32: its last axis is x's, each before it is x's or 1, leading ones may be missing. */
  mask?: Tensor | undefined;
  /** x is [.., queries, keys]: the last query sees all keys, each query before it one less. */
  causal?: boolean | undefined;
  /** Factor of x. Default: 1 */
  scale?: number | undefined;
  /** Soft cap: x becomes softCap · tanh(x / softCap), after the scale and before the mask. Default: none */
  softCap?: number | undefined;
}

/** Options of the norms. */
export interface NormOptions {
  /** f32 [width], added at the end. */
  bias?: Tensor | undefined;
  /** f32 of x's shape, added to x before the norm. */
  residual?: Tensor | undefined;
  /** Added under the root. Default: 1e-5 */
  eps?: number | undefined;
  /** Added to every weight: 1 for Gemma's norms. */
  weightOffset?: number | undefined;
}

/** Options of sums, means, products, extremes and `argmax`. */
export interface ReduceOptions {
  /** Along which axis; a negative one counts from the last. Default: the whole tensor */
  axis?: number | undefined;
  /** Keep the axis, with length 1. Default: false */
  keepDims?: boolean | undefined;
}

/** Options of {@link RowOperations.cumsum}. */
export interface CumsumOptions {
  /** Along which axis; a negative one counts from the last. Default: the last */
  axis?: number | undefined;
  /** Sum the values before each element, without its own. Default: false */
  exclusive?: boolean | undefined;
}

/** Result of {@link RowOperations.topK}. */
export interface TopK {
  /** f32 [.., k], in descending order. */
  readonly values: FloatTensor;
  /** u32 [.., k]: where they lie along the axis. */
  readonly indices: Tensor<'u32'>;
}

/** The two results of a norm with `sum`. */
export type NormAndSum = [normed: FloatTensor, sum: FloatTensor];

/** Operations along the last axis. */
export abstract class RowOperations extends MovementOperations {
  /**
   * e^x divided by the sum of its row. −∞ gives 0; a row of −∞ alone gives zeros.
   *
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  softmax(x: Tensor, options?: SoftmaxOptions): FloatTensor {
    return this.one('softmax', 'softmax', { x }, options, { tensors: ['mask'] });
  }

  /**
   * v / √(mean v² + eps) · (weightOffset + weight) + bias, with v = x + residual (Zhang and Sennrich 2019).
   *
   * @param x f32 [.., width]
   * @param weight f32 [width]; 1 where `undefined`
   * @returns like x; with `sum` in the options also v
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  rmsNorm(x: Tensor, weight: Tensor | undefined, options: NormOptions & { sum: true }): NormAndSum;
  rmsNorm(x: Tensor, weight?: Tensor, options?: NormOptions): FloatTensor;
  rmsNorm(x: Tensor, weight?: Tensor, options: NormOptions & { sum?: boolean } = {}): FloatTensor | NormAndSum {
    return this.#norm('rmsNorm', x, weight, options);
  }

  /**
   * (v − mean v) / √(variance + eps) · (weightOffset + weight) + bias, with v = x + residual (Ba et al. 2016).
   *
   * @param x f32 [.., width]
   * @param weight f32 [width]; 1 where `undefined`
   * @returns like x; with `sum` in the options also v
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  layerNorm(x: Tensor, weight: Tensor | undefined, options: NormOptions & { sum: true }): NormAndSum;
  layerNorm(x: Tensor, weight?: Tensor, options?: NormOptions): FloatTensor;
  layerNorm(x: Tensor, weight?: Tensor, options: NormOptions & { sum?: boolean } = {}): FloatTensor | NormAndSum {
    return this.#norm('layerNorm', x, weight, options);
  }

  /** Sums along an axis, or of the whole tensor. */
  sum(x: Tensor, options?: ReduceOptions): FloatTensor {
    return this.#reduce('sum', x, options);
  }
  /** Means along an axis, or of the whole tensor. */
  mean(x: Tensor, options?: ReduceOptions): FloatTensor {
    return this.#reduce('mean', x, options);
  }
  /** Products along an axis, or of the whole tensor. */
  prod(x: Tensor, options?: ReduceOptions): FloatTensor {
    return this.#reduce('product', x, options, 'prod');
  }
  /** The largest along an axis, or of the whole tensor; {@link Gpu.maximum} is the larger of two tensors. */
  max(x: Tensor, options?: ReduceOptions): FloatTensor {
    return this.#reduce('max', x, options);
  }
  /** The smallest along an axis, or of the whole tensor; {@link Gpu.minimum} is the smaller of two tensors. */
  min(x: Tensor, options?: ReduceOptions): FloatTensor {
    return this.#reduce('min', x, options);
  }

  /**
   * Where the largest lies along an axis, or in the whole tensor: the lowest index among equals; NaN is less than all.
   */
  argmax(x: Tensor, options?: ReduceOptions): Tensor<'u32'> {
    return this.one('argmax', 'argmax', { x }, options);
  }

  /**
   * The k largest of the last axis, in descending order, and where they lie: the lowest index first among equals.
   *
   * @param x f32 [.., n]
   * @param k 1 to 256, and at most n
   * @returns values f32 [.., k] and indices u32 [.., k]
   */
  topK(x: Tensor, k: number): TopK {
    const [values, indices] = this.run('topK', 'topK', { x }, { k });
    return { values: values as FloatTensor, indices: indices as Tensor<'u32'> };
  }

  /** Running sums of f32 along an axis. */
  cumsum(x: Tensor, options?: CumsumOptions): FloatTensor {
    return this.one('cumsum', 'cumsum', { x }, options);
  }

  #reduce(op: string, x: Tensor, options?: ReduceOptions, call = op): FloatTensor {
    return this.one(call, 'reduce', { x }, options, { fixed: { op } });
  }

  #norm(
    call: string,
    x: Tensor,
    weight: Tensor | undefined,
    options: NormOptions & { sum?: boolean },
  ): FloatTensor | NormAndSum {
    const made = this.run(call, call, { x, 'weight?': weight }, options, { tensors: ['bias', 'residual'] });
    return options.sum ? (made as NormAndSum) : (made[0] as FloatTensor);
  }
}
