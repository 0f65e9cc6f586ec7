/**
 * Gradients of convolutions: other convolutions.
 */
import type { PerAxis } from '../compute/checks.js';
import type { ConvOptions, ConvTransposeOptions } from '../compute/convolution.js';
import { isQuantised } from '../tensor/dtypes.js';
import { type FloatTensor, Tensor } from '../tensor/tensor.js';
import { fitted } from './fit.js';
import { RecordingGpu } from './recording.js';
import { composed } from './rules-matrix.js';
import { input } from './rules-movement.js';
import type { Given, Rule, RuleGpu } from './tape.js';

const FORWARD = ['conv1d', 'conv2d', 'conv3d'] as const;
const TRANSPOSED = ['convTranspose1d', 'convTranspose2d', 'convTranspose3d'] as const;
type Method = (typeof FORWARD)[number] | (typeof TRANSPOSED)[number];

/** `Gpu` whose convolutions have gradients. */
export class ConvolutionGradients extends RecordingGpu {
  override conv1d(x: Tensor, w: Tensor, options?: ConvOptions): FloatTensor {
    return this.#recorded('conv1d', x, w, options, () => super.conv1d(x, w, options));
  }
  override conv2d(x: Tensor, w: Tensor, options?: ConvOptions): FloatTensor {
    return this.#recorded('conv2d', x, w, options, () => super.conv2d(x, w, options));
  }
  override conv3d(x: Tensor, w: Tensor, options?: ConvOptions): FloatTensor {
    return this.#recorded('conv3d', x, w, options, () => super.conv3d(x, w, options));
  }
  override convTranspose1d(x: Tensor, w: Tensor, options?: ConvTransposeOptions): FloatTensor {
    return this.#recorded('convTranspose1d', x, w, options, () => super.convTranspose1d(x, w, options));
  }
  override convTranspose2d(x: Tensor, w: Tensor, options?: ConvTransposeOptions): FloatTensor {
    return this.#recorded('convTranspose2d', x, w, options, () => super.convTranspose2d(x, w, options));
  }
  override convTranspose3d(x: Tensor, w: Tensor, options?: ConvTransposeOptions): FloatTensor {
    return this.#recorded('convTranspose3d', x, w, options, () => super.convTranspose3d(x, w, options));
  }

  #recorded(
    call: Method,
    x: Tensor,
    w: Tensor,
    options: ConvTransposeOptions | undefined,
    work: () => Tensor,
  ): FloatTensor {
    // A product, which is recorded with what is around it.
    if (w instanceof Tensor && isQuantised(w.dtype)) return work() as FloatTensor;
    return this.custom(call, { x, w, bias: options?.bias }, work, ruleOf(call, options ?? {}));
  }
}

/** Numbers of a convolution, one for each spatial axis. */
interface Numbers {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

/**
 * y = w ∗ x + bias: dx is the transposed convolution of dy with w (or the convolution, where y came by a transposed
 * one), dw the convolution of the longer of x and dy with the shorter, db the sum of dy. Through `relu` dy goes where y
 * is above 0; for other activations the convolution is computed again.
 */
function ruleOf(call: Method, { activation = 'none', bias: _, ...options }: ConvTransposeOptions): Rule {
  if (activation === 'silu' || activation === 'gelu') {
    return composed((gpu, { x, w, bias }) =>
      gpu[activation](gpu[call](x as Tensor, w as Tensor, { ...options, bias })),
    );
  }
  return (recorded) => {
    const gpu = recorded.gpu;
    const [{ shape }, kernel] = [input(recorded, 'x'), input(recorded, 'w').shape];
    const axes = shape.length - 2;
    const all = (value: PerAxis): readonly number[] =>
      typeof value === 'number' ? Array<number>(axes).fill(value) : value;
    const { stride = 1, padding = 0, dilation = 1, groups = 1 } = options;
    const numbers = { stride: all(stride), padding: all(padding), dilation: all(dilation), groups };
    const y = activation === 'relu' ? recorded.save(recorded.outputs[0] as Tensor) : undefined;
    const w = recorded.wants('x') ? recorded.save(input(recorded, 'w')) : undefined;
    const x = recorded.wants('w') ? recorded.save(input(recorded, 'x')) : undefined;
    const isForward = call.startsWith('conv') && !call.startsWith('convT');
    return (gradient): Given => {
      const dy = y ? gpu.fuse([gradient as Tensor, y], (d, v) => v.greater(0).mul(d)) : (gradient as Tensor);
      return {
        x: w && (() => (isForward ? ofInput : ofTransposedInput)(gpu, dy, w, shape, numbers)),
        w: x && (() => (isForward ? ofKernel(gpu, x, dy, kernel, numbers) : ofKernel(gpu, dy, x, kernel, numbers))),
        bias: recorded.inputs.bias && (() => ofBias(gpu, dy)),
      };
    };
  };
}

/** What the convolution of an x of this shape had from each element of x. */
function ofInput(gpu: RuleGpu, dy: Tensor, w: Tensor, shape: readonly number[], numbers: Numbers): Tensor {
  const outputPadding = shape.slice(2).map((length, axis) => {
    const [stride, padding, dilation] = numbersOf(numbers, axis);
    const reach = dilation * ((w.shape[axis + 2] as number) - 1) + 1;
    return length - (((dy.shape[axis + 2] as number) - 1) * stride - 2 * padding + reach);
  });
  const method = TRANSPOSED[shape.length - 3] as (typeof TRANSPOSED)[number];
  return gpu[method](dy, w, { ...numbers, outputPadding });
}

function ofTransposedInput(gpu: RuleGpu, dy: Tensor, w: Tensor, shape: readonly number[], numbers: Numbers): Tensor {
  const method = FORWARD[shape.length - 3] as (typeof FORWARD)[number];
  return starting(gpu, gpu[method](dy, w, numbers), shape.slice(2));
}

/**
 * dw[o, c, k] = Σ long[.., c, i · stride + k · dilation − padding] · short[.., o, i]: samples are channels here, the
 * elements of `short` the kernel, and stride and dilation change places.
 */
function ofKernel(gpu: RuleGpu, long: Tensor, short: Tensor, shape: readonly number[], numbers: Numbers): Tensor {
  const { stride, padding, dilation, groups } = numbers;
  const [samples, channels, ...lengths] = long.shape as [number, number, ...number[]];
  const [, outputs, ...places] = short.shape as [number, number, ...number[]];
  const each = channels / groups;
  const grouped = gpu.transpose(gpu.reshape(long, [samples, groups, each, -1]), [2, 1, 0, 3]);
  const kernel = gpu.transpose(gpu.reshape(short, [samples, outputs, -1]), [1, 0, 2]);
  const method = FORWARD[lengths.length - 1] as (typeof FORWARD)[number];
  const products = gpu[method](
    gpu.reshape(grouped, [each, groups * samples, ...lengths]),
    gpu.reshape(kernel, [outputs, samples, ...places]),
    { stride: dilation, padding, dilation: stride, groups },
  );
  const taps = gpu.reshape(starting(gpu, products, shape.slice(2)), [each, outputs, -1]);
  return gpu.reshape(gpu.transpose(taps, [1, 0, 2]), shape);
}

function ofBias(gpu: RuleGpu, dy: Tensor): Tensor {
  const [samples, outputs] = dy.shape as [number, number];
  return gpu.reshape(fitted(gpu, gpu.reshape(dy, [samples, outputs, -1]), [1, outputs, 1]), [outputs]);
}

/** The first elements along the spatial axes: behind them come places that no x had a part in. */
function starting(gpu: RuleGpu, x: Tensor, lengths: readonly number[]): Tensor {
  return lengths.reduce(
    (y, length, axis) => (y.shape[axis + 2] === length ? y : gpu.narrow(y, axis + 2, 0, length)),
    x,
  );
}

const numbersOf = ({ stride, padding, dilation }: Numbers, axis: number): [number, number, number] =>
  [stride, padding, dilation].map((numbers) => numbers[axis]) as [number, number, number];
