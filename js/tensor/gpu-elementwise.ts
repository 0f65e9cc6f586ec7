/**
 * Operations on each element: one by one, or many in one dispatch.
 */
import type { DType, PlainDType } from './dtypes.js';
import { invalidArgument } from '../errors.js';
import { type BinaryOp, type Expression, type UnaryOp, inputExpressions, stepsOf } from './expression.js';
import { GpuCore } from './gpu-core.js';
import type { Tensor, FloatTensor } from './tensor.js';

/** Options of operations on each element. */
export interface ElementwiseOptions {
  /** Write the result into the first tensor, which must have its shape and type, and return that tensor. */
  inPlace?: boolean | undefined;
}

/** Options of `fuse`. */
export interface FuseOptions extends ElementwiseOptions {
  /** Type of the result. Default: f16 or bf16 where all inputs are of that type, else f32. */
  dtype?: PlainDType | undefined;
}

/** A tensor or the same number for every element. */
export type Operand = Tensor | number;

/**
 * Shapes broadcast as in NumPy: aligned at the last axis, an axis of 1 is repeated. All arithmetic is f32; integers
 * are converted, exactly up to 2^24. Where all inputs are f16, or all bf16, so is the result; otherwise it is f32.
 */
export abstract class ElementwiseOperations extends GpuCore {
  /** −x */
  neg(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('neg', x, options);
  }
  /** |x| */
  abs(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('abs', x, options);
  }
  /** e^x */
  exp(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('exp', x, options);
  }
  /** Natural logarithm. */
  log(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('log', x, options);
  }
  /** √x */
  sqrt(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('sqrt', x, options);
  }
  /** 1 / √x */
  rsqrt(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('rsqrt', x, options);
  }
  /** sin x, x in radians */
  sin(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('sin', x, options);
  }
  /** cos x, x in radians */
  cos(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('cos', x, options);
  }
  /** tanh x */
  tanh(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('tanh', x, options);
  }
  /** 1 / (1 + e^−x) */
  sigmoid(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('sigmoid', x, options);
  }
  /** max(x, 0) */
  relu(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('relu', x, options);
  }
  /** x · sigmoid(x) */
  silu(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('silu', x, options);
  }
  /** GELU in its tanh form: x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))). */
  gelu(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('gelu', x, options);
  }
  /** GELU in its exact form: x/2 · (1 + erf(x/√2)). */
  geluErf(x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.#unary('geluErf', x, options);
  }

  /** a + b */
  add(a: Operand, b: Operand, options?: ElementwiseOptions): FloatTensor {
    return this.#binary('add', a, b, options);
  }
  /** a − b */
  sub(a: Operand, b: Operand, options?: ElementwiseOptions): FloatTensor {
    return this.#binary('sub', a, b, options);
  }
  /** a · b, element by element */
  mul(a: Operand, b: Operand, options?: ElementwiseOptions): FloatTensor {
    return this.#binary('mul', a, b, options);
  }
  /** a / b */
  div(a: Operand, b: Operand, options?: ElementwiseOptions): FloatTensor {
    return this.#binary('div', a, b, options);
  }
  /** The smaller of a and b. */
  minimum(a: Operand, b: Operand, options?: ElementwiseOptions): FloatTensor {
    return this.#binary('min', a, b, options, 'minimum');
  }
  /** The larger of a and b. */
  maximum(a: Operand, b: Operand, options?: ElementwiseOptions): FloatTensor {
    return this.#binary('max', a, b, options, 'maximum');
  }
  /** a^b; NaN for a negative a and a b that is no integer. */
  pow(a: Operand, b: Operand, options?: ElementwiseOptions): FloatTensor {
    return this.#binary('pow', a, b, options);
  }

  /** 1 where a = b, else 0. */
  equal(a: Operand, b: Operand): FloatTensor {
    return this.#binary('equal', a, b);
  }
  /** 1 where a ≠ b, else 0. */
  notEqual(a: Operand, b: Operand): FloatTensor {
    return this.#binary('notEqual', a, b);
  }
  /** 1 where a < b, else 0. */
  less(a: Operand, b: Operand): FloatTensor {
    return this.#binary('less', a, b);
  }
  /** 1 where a ≤ b, else 0. */
  lessEqual(a: Operand, b: Operand): FloatTensor {
    return this.#binary('lessEqual', a, b);
  }
  /** 1 where a > b, else 0. */
  greater(a: Operand, b: Operand): FloatTensor {
    return this.#binary('greater', a, b);
  }
  /** 1 where a ≥ b, else 0. */
  greaterEqual(a: Operand, b: Operand): FloatTensor {
    return this.#binary('greaterEqual', a, b);
  }

  /** x times a number. */
  scale(x: Tensor, by: number, options?: ElementwiseOptions): FloatTensor {
    return this.one('scale', 'scale', { x }, options, { fixed: { by } });
  }

  /** a where `condition` is not 0, else b. */
  where(condition: Tensor, a: Tensor, b: Tensor): FloatTensor {
    return this.one('where', 'select', { condition, a, b });
  }

  /** The same numbers as another type; floats become integers by dropping the fraction. */
  cast<D extends PlainDType>(x: Tensor, dtype: D): Tensor<D> {
    return this.one<D>('cast', 'cast', { x }, { dtype });
  }

  /** A copy. */
  copy<D extends DType>(x: Tensor<D>): Tensor<D> {
    return this.one<D>('copy', 'unary', { x }, { op: 'copy' });
  }

  /**
   * A formula over one to six tensors in a single dispatch, with up to 16 operations; nothing between is stored.
   *
   * @param inputs the tensors; they broadcast against each other
   * @param formula gets an {@link Expression} for each and returns the result
   *
   * @example
   * const swiglu = gpu.fuse([gate, up], (gate, up) => gate.silu().mul(up));
   *
   * @throws {WebggufError} `invalid_argument` for shapes that do not fit, and for more than 16 operations
   */
  fuse<const T extends readonly Tensor[]>(
    inputs: T,
    formula: (...inputs: { [K in keyof T]: Expression }) => Expression,
    options?: FuseOptions,
  ): FloatTensor {
    if (!Array.isArray(inputs)) throw invalidArgument('fuse: the inputs must be an array of tensors');
    const steps = stepsOf(formula(...(inputExpressions(inputs.length) as { [K in keyof T]: Expression })));
    const named = Object.fromEntries(inputs.map((tensor: Tensor, index) => [`input ${index}`, tensor]));
    return this.one('fuse', 'fuse', named, options, { fixed: { steps } });
  }

  #unary(op: UnaryOp, x: Tensor, options?: ElementwiseOptions): FloatTensor {
    return this.one(op, 'unary', { x }, options, { fixed: { op } });
  }

  #binary(op: BinaryOp, a: Operand, b: Operand, options?: ElementwiseOptions, call: string = op): FloatTensor {
    const isPair = typeof a !== 'number' && typeof b !== 'number';
    if (isPair) return this.one(call, 'binary', { a, b }, options, { fixed: { op } });
    const isNone = typeof a === 'number' && typeof b === 'number';
    if (isNone) throw invalidArgument(`${call}: one of a and b must be a tensor`);
    const args = [a, b].map((operand) => (typeof operand === 'number' ? operand : 'in0'));
    const [name, x] = typeof a === 'number' ? ['b', b] : ['a', a];
    return this.one(call, 'fuse', { [name as string]: x as Tensor }, options, { fixed: { steps: [{ op, args }] } });
  }
}
