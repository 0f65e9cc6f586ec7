/**
 * Images as rows: what a convolution multiplies with its kernels.
 */
import type { Tensor } from '../tensor/tensor.js';
import { at } from './checks.js';
import type { PoolingOperations } from './pooling.js';

/** Numbers of a convolution for each spatial axis. */
export interface Window {
  kernel: readonly number[];
  stride: readonly number[];
  padding: readonly number[];
  dilation: readonly number[];
  /** Places of the result. */
  out: readonly number[];
}

const product = (numbers: readonly number[]): number => numbers.reduce((all, number) => all * number, 1);

/**
 * The elements of x [N, C, ..] that each place of a convolution sees: [N · places, C · taps], taps innermost. It has
 * as many elements as x has, times the taps.
 */
export function unfold(gpu: PoolingOperations, x: Tensor, window: Window): Tensor {
  const [samples, channels, ...spatial] = x.shape as [number, number, ...number[]];
  const { kernel, stride, padding, out } = window;
  const [places, taps] = [product(out), product(kernel)];
  // Where neighbours are `stride` apart, the last of them is followed by as many as the others.
  const around = padding.map((before, axis): [number, number] => [before, before + at(stride, axis) - 1]);
  const isPadded = around.some((pair) => pair.some((count) => count > 0));
  const image = gpu.reshape(isPadded ? gpu.pad(x, around) : x, [
    samples * channels,
    ...spatial.map((size, axis) => size + at(around, axis)[0] + at(around, axis)[1]),
  ]);
  const parts = Array.from({ length: taps }, (_, tap) =>
    gpu.reshape(elementsOf(gpu, image, tap, window), [samples, channels, 1, places]),
  );
  const whole = parts.length === 1 ? at(parts, 0) : gpu.concat(parts, { axis: 2 });
  return gpu.reshape(gpu.transpose(whole, [0, 3, 1, 2]), [samples * places, channels * taps]);
}

/** The element that each place sees through one tap. */
function elementsOf(gpu: PoolingOperations, image: Tensor, tap: number, window: Window): Tensor {
  const { kernel, stride, dilation, out } = window;
  let [elements, rest] = [image, tap];
  for (let axis = kernel.length - 1; axis >= 0; axis -= 1) {
    const [first, step, count] = [(rest % at(kernel, axis)) * at(dilation, axis), at(stride, axis), at(out, axis)];
    rest = Math.floor(rest / at(kernel, axis));
    elements = gpu.narrow(elements, 1 + axis, first, count * step);
    if (step === 1) continue;
    const [before, after] = [elements.shape.slice(0, 1 + axis), elements.shape.slice(2 + axis)];
    const apart = gpu.narrow(gpu.reshape(elements, [...before, count, step, ...after]), 2 + axis, 0, 1);
    elements = gpu.reshape(apart, [...before, count, ...after]);
  }
  return elements;
}
