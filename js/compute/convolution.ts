/**
 * Convolutions and their transposes.
 */
import { isQuantised } from '../tensor/dtypes.js';
import { invalidArgument } from '../errors.js';
import { type FloatTensor, Tensor } from '../tensor/tensor.js';
import {
  at,
  axesOf,
  fields,
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
import { PoolingOperations } from './pooling.js';
import * as shaders from './shaders.js';
import { unfold } from './unfold.js';

/** Options of convolutions. */
export interface ConvOptions {
  /** f32 [O]: added to each channel of the result. Default: 0 */
  bias?: Tensor | undefined;
  /** From place to place. Default: 1 */
  stride?: PerAxis | undefined;
  /** Zeros before x and behind it. Default: 0 */
  padding?: PerAxis | undefined;
  /** From one element of the kernel to the next. Default: 1 */
  dilation?: PerAxis | undefined;
  /** Groups of channels, each with kernels of its own. Default: 1 */
  groups?: number | undefined;
  /** Applied at the end. Default: `'none'` */
  activation?: 'none' | 'relu' | 'silu' | 'gelu' | undefined;
  /** Where w is quantised, a matrix [O, C · K · ..]: the lengths of its kernels. Default: 1 */
  kernel?: PerAxis | undefined;
}

/** Options of transposed convolutions. */
export interface ConvTransposeOptions extends Omit<ConvOptions, 'kernel'> {
  /** Elements more behind the result: fewer than `stride` or `dilation`. Default: 0 */
  outputPadding?: PerAxis | undefined;
}

const ACTIVATIONS = ['none', 'relu', 'silu', 'gelu'] as const;
const NAMES = ['bias', 'stride', 'padding', 'dilation', 'groups', 'activation'] as const;

/** Rows and columns that a workgroup of `conv.wgsl` computes. */
const TILE = 64;

/** Groups with fewer channels of the result leave most of a tile empty: each element is computed by itself. */
const FEWEST_ROWS = 8;

/** Checked options. */
interface Plan {
  groups: number;
  stride: number[];
  padding: number[];
  dilation: number[];
  bias: Tensor | undefined;
  activation: number;
}

/**
 * Convolutions as nets have them: the kernel is not turned around. x is [N, C, ..]; x and w are f32, f16 or bf16, sums
 * and results f32.
 */
export abstract class ConvolutionOperations extends PoolingOperations {
  /**
   * Convolution along one axis.
   *
   * @param x [N, C, L]
   * @param w [O, C / groups, K]; or quantised [O, C · K] with `kernel: K`, for which x is stored K times
   * @returns f32 [N, O, ..]
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   *
   * @example
   * const smooth = gpu.conv1d(signal, gpu.tensor([0.25, 0.5, 0.25], [1, 1, 3]), { padding: 1 });
   */
  conv1d(x: Tensor, w: Tensor, options?: ConvOptions): FloatTensor {
    return this.#forward('conv1d', x, w, 1, options);
  }
  /** Convolution of images: x [N, C, H, W], w [O, C / groups, K, K]; else as {@link conv1d}. */
  conv2d(x: Tensor, w: Tensor, options?: ConvOptions): FloatTensor {
    return this.#forward('conv2d', x, w, 2, options);
  }
  /** Convolution of volumes: x [N, C, D, H, W], w [O, C / groups, K, K, K]; else as {@link conv1d}. */
  conv3d(x: Tensor, w: Tensor, options?: ConvOptions): FloatTensor {
    return this.#forward('conv3d', x, w, 3, options);
  }

  /**
   * The transpose of a convolution along one axis: what takes its result back to the shape of its x.
   *
   * @param x [N, C, L]
   * @param w [C, O / groups, K]
   * @returns f32 [N, O, (L − 1) · stride − 2 · padding + dilation · (K − 1) + outputPadding + 1]
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  convTranspose1d(x: Tensor, w: Tensor, options?: ConvTransposeOptions): FloatTensor {
    return this.#transposed('convTranspose1d', x, w, 1, options);
  }
  /** The transpose of {@link conv2d}: x [N, C, H, W], w [C, O / groups, K, K]; else as {@link convTranspose1d}. */
  convTranspose2d(x: Tensor, w: Tensor, options?: ConvTransposeOptions): FloatTensor {
    return this.#transposed('convTranspose2d', x, w, 2, options);
  }
  /** The transpose of {@link conv3d}: x [N, C, D, H, W], w [C, O / groups, K, K, K]. */
  convTranspose3d(x: Tensor, w: Tensor, options?: ConvTransposeOptions): FloatTensor {
    return this.#transposed('convTranspose3d', x, w, 3, options);
  }

  #forward(call: string, x: Tensor, w: Tensor, axes: number, options?: ConvOptions): FloatTensor {
    ranked(call, 'x', x, axesOf(axes));
    if (w instanceof Tensor && isQuantised(w.dtype)) return this.#quantised(call, x, w, axes, options);
    ranked(call, 'w', w, ['O', 'C / groups', ...axesOf(axes).slice(2)]);
    const plan = planOf(call, known(call, options, NAMES), axes, at(w.shape, 0));
    const [inputs, outputs, wanted] = [at(x.shape, 1), at(w.shape, 0), at(w.shape, 1) * plan.groups];
    if (inputs !== wanted) {
      throw invalidArgument(`${call}: x is ${x} and w ${w}; x has ${inputs} channels, w takes ${wanted}`);
    }
    if (outputs % plan.groups !== 0) {
      throw invalidArgument(`${call}: w is ${w}; ${plan.groups} groups do not divide ${outputs} channels`);
    }
    const out = placesOf(call, [x, w], w.shape.slice(2), plan);
    return this.scope(() => {
      const [taps, rows] = [w.size / outputs / at(w.shape, 1), outputs / plan.groups];
      const grouped = this.reshape(w, [plan.groups, rows, at(w.shape, 1), taps]);
      return this.#run(call, x, this.transpose(grouped, [3, 2, 0, 1]), w, { ...plan, out });
    });
  }

  /** A product of matrices: w stays as it is, and x becomes rows. */
  #quantised(call: string, x: Tensor, w: Tensor, axes: number, options?: ConvOptions): FloatTensor {
    const { kernel: lengths = 1, ...rest } = known(call, options, [...NAMES, 'kernel']);
    const [samples, channels] = x.shape as [number, number];
    const [outputs, width] = w.shape as [number, number];
    const [plan, kernel] = [planOf(call, rest, axes, outputs), perAxis(call, 'kernel', lengths, axes, 1)];
    const wanted = kernel.reduce((product, length) => product * length, channels);
    if (width !== wanted) throw invalidArgument(`${call}: x is ${x} and w ${w}; w must be [O, ${wanted}]`);
    if (plan.groups > 1)
      throw invalidArgument(`${call}: w is ${w}; ${plan.groups} groups need a w that is not quantised`);
    const out = placesOf(call, [x, w], kernel, plan);
    return this.scope(() => {
      const rows = unfold(this, asF32(this, x), { ...plan, kernel, out });
      const { bias, activation = 'none' } = rest;
      const y = this.matmul(rows, w, {
        transposeB: true,
        bias,
        ...(activation === 'none' ? {} : { activation }),
      });
      return this.reshape(this.transpose(this.reshape(y, [samples, -1, outputs])), [samples, outputs, ...out]);
    });
  }

  #transposed(call: string, x: Tensor, w: Tensor, axes: number, options?: ConvTransposeOptions): FloatTensor {
    ranked(call, 'x', x, axesOf(axes));
    ranked(call, 'w', w, ['C', 'O / groups', ...axesOf(axes).slice(2)]);
    const { outputPadding = 0, ...rest } = known(call, options, [...NAMES, 'outputPadding']);
    const groups = integer(call, 'groups', rest.groups ?? 1, 1);
    const plan = planOf(call, rest, axes, groups * at(w.shape, 1));
    const [inputs, wanted] = [at(x.shape, 1), at(w.shape, 0)];
    if (inputs !== wanted) {
      throw invalidArgument(`${call}: x is ${x} and w ${w}; x has ${inputs} channels, w takes ${wanted}`);
    }
    if (inputs % groups !== 0) {
      throw invalidArgument(`${call}: x is ${x}; ${groups} groups do not divide ${inputs} channels`);
    }
    const extra = perAxis(call, 'outputPadding', outputPadding, axes, 0);
    const out = x.shape.slice(2).map((size, axis) => {
      const [stride, dilation, more] = [at(plan.stride, axis), at(plan.dilation, axis), at(extra, axis)];
      if (more > 0 && more >= Math.max(stride, dilation)) {
        throw invalidArgument(`${call}: outputPadding ${more} is not below stride ${stride} or dilation ${dilation}`);
      }
      const reach = dilation * (at(w.shape, 2 + axis) - 1) + 1;
      const length = (size - 1) * stride + reach + more - 2 * at(plan.padding, axis);
      if (length > 0) return length;
      throw invalidArgument(
        `${call}: x is ${x} and w ${w}; padding ${at(plan.padding, axis)} leaves ${length} elements`,
      );
    });
    return this.scope(() => {
      const rows = at(w.shape, 1);
      const grouped = this.reshape(w, [groups, inputs / groups, rows, w.size / inputs / rows]);
      return this.#run(call, x, this.transpose(grouped, [3, 1, 0, 2]), w, { ...plan, out }, true);
    });
  }

  /** What tiles read: f32, with rows [.., rows] in whole quads. */
  #inQuads(packed: Tensor): Tensor {
    const plain = asF32(this, packed);
    const missing = -at(packed.shape, 3) & 3;
    return missing === 0 ? plain : this.pad(plain, [[0, missing]]);
  }

  /** `packed` is w as [taps, channels, groups, rows]. */
  #run(
    call: string,
    x: Tensor,
    packed: Tensor,
    w: Tensor,
    plan: Plan & { out: number[] },
    isTransposed = false,
  ): FloatTensor {
    const { groups, out, bias } = plan;
    const [taps, channels, , rows] = packed.shape as [number, number, number, number];
    const shape = [at(x.shape, 0), groups * rows, ...out];
    const columns = out.reduce((product, length) => product * length, at(x.shape, 0));
    const tiles = groups * Math.ceil(rows / TILE) * Math.ceil(columns / TILE);
    const isDirect = rows < FEWEST_ROWS;
    const weights = isDirect ? packed : this.#inQuads(packed);
    return this.dispatch(call, isDirect ? shaders.convDirect : shaders.conv, {
      inputs: { x, w: weights, bias },
      shape,
      params: {
        rows,
        columns,
        channels,
        groups,
        taps,
        ...fields('in', three(x.shape.slice(2), 1)),
        ...fields('out', three(out, 1)),
        ...fields('kernel', three(w.shape.slice(2), 1)),
        ...fields('stride', three(plan.stride, 1)),
        ...fields('pad', three(plan.padding, 0)),
        ...fields('dilation', three(plan.dilation, 1)),
      },
      constants: {
        X_KIND: kindOf(x),
        ...(isDirect && { W_KIND: kindOf(w) }),
        TRANSPOSED: isTransposed,
        BIAS: bias !== undefined,
        ACTIVATION: plan.activation,
      },
      workgroups: isDirect ? gridOf(columns * groups * rows) : grid(tiles),
    });
  }
}

/** Places of the result along each axis. */
function placesOf(call: string, [x, w]: [Tensor, Tensor], kernel: readonly number[], plan: Plan): number[] {
  return x.shape.slice(2).map((size, axis) => {
    const reach = at(plan.dilation, axis) * (at(kernel, axis) - 1) + 1;
    const places = size + 2 * at(plan.padding, axis) - reach;
    if (places >= 0) return Math.floor(places / at(plan.stride, axis)) + 1;
    const padded = `${size} elements with padding ${at(plan.padding, axis)}`;
    throw invalidArgument(`${call}: x is ${x} and w ${w}; ${padded} are fewer than the ${reach} of the kernel`);
  });
}

/** Options with defaults, checked; y has `outputs` channels. */
function planOf(call: string, options: ConvOptions, axes: number, outputs: number): Plan {
  const { stride = 1, padding = 0, dilation = 1, groups = 1, activation = 'none' } = options;
  return {
    groups: integer(call, 'groups', groups, 1),
    stride: perAxis(call, 'stride', stride, axes, 1),
    padding: perAxis(call, 'padding', padding, axes, 0),
    dilation: perAxis(call, 'dilation', dilation, axes, 1),
    bias: vector(call, 'bias', options.bias, outputs),
    activation: ACTIVATIONS.indexOf(word(call, 'activation', activation, ACTIVATIONS)),
  };
}
