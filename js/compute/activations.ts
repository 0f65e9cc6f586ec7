/**
 * Activations of nets for images, and batch normalisation: formulas that run in one dispatch.
 */
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { finite, floats, known, vector } from './checks.js';
import { RegionOperations } from './regions.js';
import { invalidArgument } from '../errors.js';

/** Options of {@link ActivationOperations.batchNorm}. */
export interface BatchNormOptions {
  /** f32 [C]: factor of each channel. Default: 1 */
  weight?: Tensor | undefined;
  /** f32 [C]: added to each channel at the end. Default: 0 */
  bias?: Tensor | undefined;
  /** Added to the variance. Default: 1e-5 */
  eps?: number | undefined;
}

/** Operations on each element. */
export abstract class ActivationOperations extends RegionOperations {
  /** x · min(max(x + 3, 0), 6) / 6 (Howard et al. 2019, arXiv 1905.02244). */
  hardSwish(x: Tensor): FloatTensor {
    return this.fuse([floats('hardSwish', 'x', x)], (x) => x.mul(x.add(3).max(0).min(6)).mul(1 / 6));
  }

  /** x where it is positive, else slope · x. */
  leakyRelu(x: Tensor, options?: { slope?: number | undefined }): FloatTensor {
    const { slope = 0.01 } = known('leakyRelu', options, ['slope']);
    finite('leakyRelu', 'slope', slope);
    return this.fuse([floats('leakyRelu', 'x', x)], (x) => x.max(0).add(x.min(0).mul(slope)));
  }

  /** x where it is positive, else alpha · (e^x − 1) (Clevert et al. 2015, arXiv 1511.07289). */
  elu(x: Tensor, options?: { alpha?: number | undefined }): FloatTensor {
    const { alpha = 1 } = known('elu', options, ['alpha']);
    finite('elu', 'alpha', alpha);
    return this.fuse([floats('elu', 'x', x)], (x) => x.max(0).add(x.min(0).exp().sub(1).mul(alpha)));
  }

  /**
   * Batch normalisation as a trained net applies it (Ioffe and Szegedy 2015, arXiv 1502.03167):
   * (x − mean) / √(variance + eps) · weight + bias for each channel, in one dispatch.
   *
   * @param x [N, C, ..]
   * @param mean f32 [C]
   * @param variance f32 [C]
   * @returns as x
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  batchNorm(x: Tensor, mean: Tensor, variance: Tensor, options?: BatchNormOptions): FloatTensor {
    const { weight, bias, eps = 1e-5 } = known('batchNorm', options, ['weight', 'bias', 'eps']);
    const [, channels] = floats('batchNorm', 'x', x).shape;
    if (channels === undefined) throw invalidArgument(`batchNorm: x is ${x}; [N, C, ..] has two axes or more`);
    finite('batchNorm', 'eps', eps);
    floats('batchNorm', 'mean', mean);
    floats('batchNorm', 'variance', variance);
    const named = Object.entries({ mean, variance, weight, bias });
    for (const [name, tensor] of named) vector('batchNorm', name, tensor, channels);
    return this.scope(() => {
      const shape = [channels, ...x.shape.slice(2).fill(1)];
      const given = named.flatMap(([, tensor]) => (tensor ? [this.reshape(tensor, shape)] : []));
      return this.fuse([x, ...given], (x, mean, variance, ...rest) => {
        if (!mean || !variance) throw new Error('fuse gives an expression for each input');
        const scaled = x?.sub(mean).mul(variance.add(eps).rsqrt());
        const [factor, offset] = weight ? rest : [undefined, ...rest];
        const product = factor ? scaled?.mul(factor) : scaled;
        return (offset ? product?.add(offset) : product) as NonNullable<typeof x>;
      });
    });
  }
}
