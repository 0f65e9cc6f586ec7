/**
 * From the gradient of a broadcast tensor to the gradient of the tensor.
 */
import { shaped } from '../compute/dispatch.js';
import type { Gpu } from '../tensor/gpu.js';
import type { Tensor } from '../tensor/tensor.js';

const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);
const isSame = (a: readonly number[], b: readonly number[]): boolean => a.join() === b.join();

/** x of the given shape: summed over axes that were repeated there, repeated along axes that were summed. */
export function fitted(gpu: Gpu, x: Tensor, shape: readonly number[]): Tensor {
  if (isSame(x.shape, shape)) return x;
  const rank = Math.max(x.shape.length, shape.length);
  const [sizes, wanted] = [x.shape, shape].map((own) => [...Array<number>(rank - own.length).fill(1), ...own]);
  let y = x;
  for (const [start, end] of runs(sizes as number[], wanted as number[])) {
    const own = sizes as number[];
    const lengths = [own.slice(0, start), own.slice(start, end), own.slice(end)].map(product);
    y = gpu.sum(shaped(gpu, y, lengths), { axis: 1 });
    own.fill(1, start, end);
  }
  y = shaped(gpu, y, y.size === product(shape) ? shape : (sizes as number[]));
  return isSame(y.shape, shape) ? y : gpu.expand(y, shape);
}

/** Neighbouring axes that become 1, as first and last + 1. */
function runs(sizes: readonly number[], wanted: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  const isSummed = (axis: number): boolean => wanted[axis] === 1 && sizes[axis] !== 1;
  for (let axis = 0; axis < sizes.length; axis += 1) {
    const last = found.at(-1);
    if (!isSummed(axis)) continue;
    if (last?.[1] === axis) last[1] = axis + 1;
    else found.push([axis, axis + 1]);
  }
  return found;
}
