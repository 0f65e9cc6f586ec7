/**
 * Pooling, padding, images of another size, group normalisation.
 */
import { invalidArgument } from '../errors.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { ActivationOperations } from './activations.js';
import {
  at,
  axesOf,
  fields,
  finite,
  flag,
  floats,
  integer,
  kindOf,
  known,
  type PerAxis,
  perAxis,
  ranked,
  three,
  vector,
  word,
} from './checks.js';
import { asF32, grid, gridOf } from './dispatch.js';
import * as shaders from './shaders.js';

/** Options of pooling. */
export interface PoolOptions {
  /** Lengths of the window: one for all spatial axes, or one for each. */
  kernel: PerAxis;
  /** From window to window. Default: `kernel` */
  stride?: PerAxis | undefined;
  /** Places outside x before and behind it, at most half of `kernel`. Default: 0 */
  padding?: PerAxis | undefined;
}

/** Options of means of windows. */
export interface AvgPoolOptions extends PoolOptions {
  /** Places outside x count, as zeros. Default: true */
  countIncludePad?: boolean | undefined;
}

/** Options of `pad`. */
export interface PadOptions {
  /** What is outside x: a number, x mirrored without its end, or its nearest element. Default: `'constant'` */
  mode?: 'constant' | 'reflect' | 'edge' | undefined;
  /** The number. Default: 0 */
  value?: number | undefined;
}

/** Options of {@link PoolingOperations.upsample}. */
export interface UpsampleOptions {
  /** Spatial lengths of the result: one for all axes, or one for each. */
  size?: PerAxis | undefined;
  /** In its place: by which factor they grow. */
  scale?: PerAxis | undefined;
  /** `'linear'` is bilinear where there are two axes, and may be called so. Default: `'nearest'` */
  mode?: 'nearest' | 'linear' | 'bilinear' | undefined;
  /** With `'linear'`: the first and last elements of both lie on each other. Default: false */
  alignCorners?: boolean | undefined;
}

/** Options of {@link PoolingOperations.groupNorm}. */
export interface GroupNormOptions {
  /** Groups of channels; they divide C. */
  groups: number;
  /** f32 [C]: factor of each channel. Default: 1 */
  weight?: Tensor | undefined;
  /** f32 [C]: added to each channel. Default: 0 */
  bias?: Tensor | undefined;
  /** Added to the variance. Default: 1e-5 */
  eps?: number | undefined;
}

const MODES = ['constant', 'reflect', 'edge'] as const;
const UPSAMPLING = ['nearest', 'linear', 'bilinear'] as const;

/** Operations on images and other grids: [N, C, L], [N, C, H, W] or [N, C, D, H, W]; f32, f16 or bf16. */
export abstract class PoolingOperations extends ActivationOperations {
  /** The largest of each window: x [N, C, L], result f32. */
  maxPool1d(x: Tensor, options: PoolOptions): FloatTensor {
    return this.#pool('maxPool1d', x, 1, options);
  }
  /** The largest of each window: x [N, C, H, W], result f32. */
  maxPool2d(x: Tensor, options: PoolOptions): FloatTensor {
    return this.#pool('maxPool2d', x, 2, options);
  }
  /** The largest of each window: x [N, C, D, H, W], result f32. */
  maxPool3d(x: Tensor, options: PoolOptions): FloatTensor {
    return this.#pool('maxPool3d', x, 3, options);
  }
  /** The mean of each window: x [N, C, L], result f32. */
  avgPool1d(x: Tensor, options: AvgPoolOptions): FloatTensor {
    return this.#pool('avgPool1d', x, 1, options);
  }
  /** The mean of each window: x [N, C, H, W], result f32. */
  avgPool2d(x: Tensor, options: AvgPoolOptions): FloatTensor {
    return this.#pool('avgPool2d', x, 2, options);
  }
  /** The mean of each window: x [N, C, D, H, W], result f32. */
  avgPool3d(x: Tensor, options: AvgPoolOptions): FloatTensor {
    return this.#pool('avgPool3d', x, 3, options);
  }

  /** The largest of each channel: x [N, C, ..] gives f32 [N, C, 1, ..]. */
  globalMaxPool(x: Tensor): FloatTensor {
    return this.#global('globalMaxPool', x);
  }
  /** The mean of each channel: x [N, C, ..] gives f32 [N, C, 1, ..]. */
  globalAvgPool(x: Tensor): FloatTensor {
    return this.#global('globalAvgPool', x);
  }

  /**
   * x with more elements around it.
   *
   * @param padding for each axis of x how many before and behind it; where there are fewer, they are for the last axes
   * @returns f32
   * @throws {WebggufError} `invalid_argument` where shapes or options do not fit
   *
   * @example
   * gpu.pad(image, [[1, 1], [1, 1]], { mode: 'reflect' }); // [N, C, H + 2, W + 2]
   */
  pad(x: Tensor, padding: readonly (readonly [number, number])[], options?: PadOptions): FloatTensor {
    const { mode = 'constant', value = 0 } = known('pad', options, ['mode', 'value']);
    const rank = floats('pad', 'x', x).shape.length;
    if (!Array.isArray(padding) || padding.length > rank || rank === 0) {
      const found = Array.isArray(padding) ? `${padding.length} pairs` : 'no array';
      throw invalidArgument(`pad: x is ${x}, of ${rank} axes; the padding has ${found}`);
    }
    const kind = MODES.indexOf(word('pad', 'mode', mode, MODES));
    const missing = Array<[number, number]>(rank - padding.length).fill([0, 0]);
    const pairs = [...missing, ...padding].map((pair) => perAxis('pad', 'the padding', pair, 2, 0));
    const shape = x.shape.map((size, axis) => size + at(pairs, axis).reduce((sum, n) => sum + n));
    const odd = x.shape.findIndex((size, axis) => mode === 'reflect' && Math.max(...at(pairs, axis)) >= size);
    if (odd >= 0) {
      const of = `a padding of ${Math.max(...at(pairs, odd))} reflects at most ${at(x.shape, odd) - 1}`;
      throw invalidArgument(`pad: x is ${x}; along its axis ${odd} ${of}`);
    }
    const len = shape.reduce((product, size) => product * size);
    const axes = shape.flatMap((_, i) => {
      const axis = rank - 1 - i;
      return [at(shape, axis), at(x.shape, axis), at(at(pairs, axis), 0), 0];
    });
    return this.dispatch('pad', shaders.pad, {
      inputs: { x },
      shape,
      params: {
        len,
        rank,
        value: finite('pad', 'value', value),
        unused: 0,
        axes: [...axes, ...Array<number>(20 - axes.length).fill(0)],
      },
      constants: { KIND: kindOf(x), MODE: kind },
      workgroups: gridOf(len),
    });
  }

  /**
   * An image of another size.
   *
   * @param x [N, C, L] or [N, C, H, W]
   * @returns f32 [N, C, ..] of the wanted size
   * @throws {WebggufError} `invalid_argument` where shapes or options do not fit
   */
  upsample(x: Tensor, options: UpsampleOptions): FloatTensor {
    const names = ['size', 'scale', 'mode', 'alignCorners'] as const;
    const { size, scale, mode = 'nearest', alignCorners = false } = known('upsample', options, names);
    const spatial = floats('upsample', 'x', x).shape.slice(2);
    if (spatial.length < 1 || spatial.length > 2) {
      throw invalidArgument(`upsample: x is ${x}; it must be [N, C, L] or [N, C, H, W]`);
    }
    if ((size === undefined) === (scale === undefined)) {
      throw invalidArgument('upsample: one of the options size and scale is needed');
    }
    if (mode === 'bilinear' && spatial.length !== 2) {
      throw invalidArgument(`upsample: x is ${x}, of one spatial axis; bilinear needs two`);
    }
    const factors = scale === undefined ? undefined : perAxis('upsample', 'scale', scale, spatial.length, 1);
    const to = factors?.map((factor, axis) => factor * at(spatial, axis));
    const wanted = to ?? perAxis('upsample', 'size', size, spatial.length, 1);
    const shape = [...x.shape.slice(0, 2), ...wanted];
    const len = shape.reduce((product, length) => product * length);
    const [in_0, in_1] = three(spatial, 1).slice(1) as [number, number];
    const [out_0, out_1] = three(wanted, 1).slice(1) as [number, number];
    const isLinear = word('upsample', 'mode', mode, UPSAMPLING) !== 'nearest';
    const hasCorners = flag('upsample', 'alignCorners', alignCorners);
    const terms = (from: number, to: number): [number, number] =>
      isLinear && hasCorners ? lowestTerms(from - 1, Math.max(to, 2) - 1) : lowestTerms(from, to);
    const [step_0, steps_0] = terms(in_0, out_0);
    const [step_1, steps_1] = terms(in_1, out_1);
    return this.dispatch('upsample', shaders.upsample, {
      inputs: { x },
      shape,
      params: { len, in_0, in_1, out_0, out_1, step_0, step_1, steps_0, steps_1 },
      constants: { KIND: kindOf(x), LINEAR: isLinear, CORNERS: hasCorners },
      workgroups: gridOf(len),
    });
  }

  /**
   * Normalises the channels of a group together (Wu and He 2018, arXiv 1803.08494).
   *
   * @param x [N, C, ..]
   * @returns f32, as x
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  groupNorm(x: Tensor, options: GroupNormOptions): FloatTensor {
    const { groups, weight, bias, eps = 1e-5 } = known('groupNorm', options, ['groups', 'weight', 'bias', 'eps']);
    const [samples, all] = floats('groupNorm', 'x', x).shape;
    if (samples === undefined || all === undefined) {
      throw invalidArgument(`groupNorm: x is ${x}; [N, C, ..] has two axes or more`);
    }
    integer('groupNorm', 'groups', groups, 1);
    if (all % groups !== 0)
      throw invalidArgument(`groupNorm: x is ${x}; ${groups} groups do not divide ${all} channels`);
    const rows = samples * groups;
    return this.dispatch('groupNorm', shaders.groupNorm, {
      inputs: { x, weight: vector('groupNorm', 'weight', weight, all), bias: vector('groupNorm', 'bias', bias, all) },
      shape: x.shape,
      params: {
        rows,
        groups,
        channels: all / groups,
        length: x.size / samples / all,
        eps: finite('groupNorm', 'eps', eps),
      },
      constants: { KIND: kindOf(x), WEIGHT: weight !== undefined, BIAS: bias !== undefined },
      workgroups: grid(rows),
    });
  }

  #pool(call: string, x: Tensor, axes: number, options: AvgPoolOptions): FloatTensor {
    const isMean = call.startsWith('avg');
    const names = ['kernel', 'stride', 'padding', ...(isMean ? (['countIncludePad'] as const) : [])] as const;
    const { kernel, stride = kernel, padding = 0, countIncludePad = true } = known(call, options, names);
    const spatial = ranked(call, 'x', x, axesOf(axes)).shape.slice(2);
    const window = perAxis(call, 'kernel', kernel, axes, 1);
    const step = perAxis(call, 'stride', stride, axes, 1);
    const outside = perAxis(call, 'padding', padding, axes, 0);
    const out = spatial.map((size, axis) => {
      const [pad, length] = [at(outside, axis), at(window, axis)];
      if (2 * pad > length) throw invalidArgument(`${call}: padding ${pad} is more than half of kernel ${length}`);
      const places = size + 2 * pad - length;
      if (places >= 0) return Math.floor(places / at(step, axis)) + 1;
      throw invalidArgument(`${call}: x is ${x}; ${size} elements with padding ${pad} are fewer than kernel ${length}`);
    });
    const shape = [...x.shape.slice(0, 2), ...out];
    const len = shape.reduce((product, length) => product * length);
    return this.dispatch(call, shaders.pool, {
      inputs: { x },
      shape,
      params: {
        len,
        ...fields('in', three(spatial, 1)),
        ...fields('out', three(out, 1)),
        ...fields('kernel', three(window, 1)),
        ...fields('stride', three(step, 1)),
        ...fields('pad', three(outside, 0)),
      },
      constants: { KIND: kindOf(x), MEAN: isMean, COUNT_PAD: flag(call, 'countIncludePad', countIncludePad) },
      workgroups: gridOf(len),
    });
  }

  #global(call: 'globalMaxPool' | 'globalAvgPool', x: Tensor): FloatTensor {
    const shape = floats(call, 'x', x).shape;
    if (shape.length < 3) throw invalidArgument(`${call}: x is ${x}; [N, C, ..] has three axes or more`);
    return this.scope(() => {
      const plain = asF32(this, x);
      const rows = this.reshape(plain, [at(shape, 0), at(shape, 1), -1]);
      const y = call === 'globalMaxPool' ? this.max(rows, { axis: 2 }) : this.mean(rows, { axis: 2 });
      return this.reshape(y, [at(shape, 0), at(shape, 1), ...shape.slice(2).fill(1)]);
    });
  }
}

/** A fraction without common factors. */
function lowestTerms(numerator: number, denominator: number): [number, number] {
  let [divisor, rest] = [denominator, numerator];
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  return [numerator / divisor, denominator / divisor];
}
