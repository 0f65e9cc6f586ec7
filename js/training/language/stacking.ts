/**
 * Many matrices in few tensors: matrices of one width below each other.
 */
import type { FloatTensor, Tensor } from '../../tensor/tensor.js';
import type { Gpu } from '../gpu.js';

/** Where a matrix is. */
interface Place {
  readonly stack: number;
  /** Rows before it. */
  readonly first: number;
  readonly rows: number;
  readonly cols: number;
}

/** Where the matrices of a list lie in stacks. */
export class Stacking {
  readonly #places: readonly Place[];
  /** Rows and columns of each stack. */
  readonly #shapes: readonly (readonly [number, number])[];

  constructor(shapes: readonly (readonly [rows: number, cols: number])[]) {
    const widths = [...new Set(shapes.map(([, cols]) => cols))];
    const heights = widths.map(() => 0);
    this.#places = shapes.map(([rows, cols]) => {
      const stack = widths.indexOf(cols);
      const first = heights[stack] as number;
      heights[stack] = first + rows;
      return { stack, first, rows, cols };
    });
    this.#shapes = widths.map((cols, stack) => [heights[stack] as number, cols]);
  }

  /** The stacks of these matrices, in memory. */
  joined(matrices: readonly Float32Array[]): Float32Array[] {
    const stacks = this.#shapes.map(([rows, cols]) => new Float32Array(rows * cols));
    for (const [at, { stack, first, cols }] of this.#places.entries()) {
      stacks[stack]?.set(matrices[at] as Float32Array, first * cols);
    }
    return stacks;
  }

  /** The matrices in these stacks, in memory. */
  cut(stacks: readonly Float32Array[]): Float32Array[] {
    return this.#places.map(({ stack, first, rows, cols }) => {
      return (stacks[stack] as Float32Array).slice(first * cols, (first + rows) * cols);
    });
  }

  /** The stacks of these matrices, as tensors. */
  upload(gpu: Gpu, matrices: readonly Float32Array[]): Tensor[] {
    return this.joined(matrices).map((values, stack) => gpu.tensor(values, this.#shapes[stack]));
  }

  /** The stacks of matrices that are tensors. */
  stacks(gpu: Gpu, matrices: readonly FloatTensor[]): FloatTensor[] {
    return this.#shapes.map((_, stack) => gpu.concat(matrices.filter((_, at) => this.#places[at]?.stack === stack)));
  }

  /** The matrices in stacks that are tensors. */
  matrices(gpu: Gpu, stacks: readonly Tensor[]): Tensor[] {
    return this.#places.map(({ stack, first, rows }) => gpu.narrow(stacks[stack] as Tensor, 0, first, rows));
  }
}
