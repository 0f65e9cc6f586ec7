/**
 * Operations that move elements.
 */
import type { DType } from './dtypes.js';
import { invalidArgument } from '../errors.js';
import { MatrixOperations } from './gpu-matrix.js';
import { show } from '../check.js';
import type { FloatTensor, Tensor } from './tensor.js';

/** Options of operations along an axis. */
export interface AxisOptions {
  /** Which axis; a negative one counts from the last. Default: 0 */
  axis?: number | undefined;
}

/**
 * Operations that move elements, of any type but quantised. Each makes a new tensor. Axes that are negative count from
 * the last one.
 */
export abstract class MovementOperations extends MatrixOperations {
  /**
   * The same elements in another shape.
   *
   * @param shape as many elements; one axis may be -1: its length follows from the others
   * @throws {WebggufError} `invalid_argument` where the shape has another size
   */
  reshape<D extends DType>(x: Tensor<D>, shape: readonly number[]): Tensor<D> {
    if (!Array.isArray(shape)) throw invalidArgument(`reshape: the shape must be an array, found ${show(shape)}`);
    const known = shape.reduce((product: number, length: number) => (length === -1 ? product : product * length), 1);
    const whole = shape.map((length) => (length === -1 ? x.size / known : length));
    const isShape = whole.every((length) => Number.isInteger(length) && length >= 0);
    if (!isShape) throw invalidArgument(`reshape: x is ${x}; [${shape.join(', ')}] is no shape for it`);
    return this.one<D>('reshape', 'reshape', { x }, { shape: whole });
  }

  /**
   * The axes in another order.
   *
   * @param axes x's axes in the order of the result. Default: the last two change places
   * @throws {WebggufError} `invalid_argument` where `axes` are not the axes of x, each once
   */
  transpose<D extends DType>(x: Tensor<D>, axes?: readonly number[]): Tensor<D> {
    return this.one<D>('transpose', 'transpose', { x }, { axes });
  }

  /**
   * Some elements of an axis.
   *
   * @param start the first
   * @param length how many
   * @throws {WebggufError} `invalid_argument` where x has no such elements
   */
  narrow<D extends DType>(x: Tensor<D>, axis: number, start: number, length: number): Tensor<D> {
    return this.one<D>('narrow', 'narrow', { x }, { axis, start, length });
  }

  /**
   * Tensors one after the other along an axis; types and the other axes must be equal.
   *
   * @throws {WebggufError} `invalid_argument` where they do not fit
   */
  concat<D extends DType>(tensors: readonly Tensor<D>[], options?: AxisOptions): Tensor<D> {
    if (!Array.isArray(tensors)) throw invalidArgument(`concat: expected an array of tensors, found ${show(tensors)}`);
    const inputs = Object.fromEntries(tensors.map((tensor: Tensor, index) => [`input ${index}`, tensor]));
    return this.one<D>('concat', 'concat', inputs, options, { fixed: { axis: options?.axis ?? 0 } });
  }

  /**
   * Broadcast to a shape: aligned at the last axis, an axis of 1 is repeated.
   *
   * @throws {WebggufError} `invalid_argument` where x does not broadcast to it
   */
  expand<D extends DType>(x: Tensor<D>, shape: readonly number[]): Tensor<D> {
    return this.one<D>('expand', 'expand', { x }, { shape });
  }

  /**
   * Elements of an axis by index: x [..a, n, ..b] and indices [..s] give [..a, ..s, ..b].
   *
   * @param indices u32 or i32. An index outside 0 to n - 1 gives NaN, or 2^32 - 1 in u32 and -2^31 in i32
   * @throws {WebggufError} `invalid_argument` where there is no such axis or indices are no integers
   */
  gather<D extends DType>(x: Tensor<D>, indices: Tensor<'u32' | 'i32'>, options?: AxisOptions): Tensor<D> {
    return this.one<D>('gather', 'take', { x, indices }, options);
  }

  /**
   * `base` with values added by index: base [..a, n, ..b], indices [..s], values [..a, ..s, ..b]. Equal indices add
   * up, in the same order in every run; an index outside 0 to n - 1 is ignored.
   *
   * @param base f32
   * @param indices u32 or i32
   * @param values f32
   * @returns a new tensor like base
   * @throws {WebggufError} `invalid_argument` where shapes or types do not fit
   */
  scatterAdd(base: Tensor, indices: Tensor<'u32' | 'i32'>, values: Tensor, options?: AxisOptions): FloatTensor {
    return this.one('scatterAdd', 'scatterAdd', { base, indices, values }, options);
  }

  /**
   * Rows of a matrix by index, as f32: the look-up of token embeddings.
   *
   * @param weights [n, k]: f32, f16, bf16 or quantised
   * @param ids u32 or i32 [..s]; an index outside 0 to n - 1 gives a row of NaN
   * @returns f32 [..s, k]
   * @throws {WebggufError} `invalid_argument` where shapes or types do not fit
   */
  embedding(weights: Tensor, ids: Tensor<'u32' | 'i32'>): FloatTensor {
    return this.one('embedding', 'embedding', { weights, ids });
  }
}
