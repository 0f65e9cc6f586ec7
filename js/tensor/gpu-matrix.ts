/**
 * Products of matrices.
 */
import { ElementwiseOperations } from './gpu-elementwise.js';
import type { FloatTensor, Tensor } from './tensor.js';

/** Options of {@link MatrixOperations.matmul}. */
export interface MatmulOptions {
  /** a is [.., k, m]; not for a quantised b. */
  transposeA?: boolean | undefined;
  /** b is [.., n, k], as weights are stored. */
  transposeB?: boolean | undefined;
  /** f32 [n], added to each row of the product. */
  bias?: Tensor | undefined;
  /** Applied to the product with its bias. Default: `'none'` */
  activation?: 'none' | 'relu' | 'silu' | 'gelu' | undefined;
  /** f32 and of the result's shape, added at the end. */
  residual?: Tensor | undefined;
  /**
   * `'fast'` allows f16 arithmetic where the device has `shader-f16`; sums of 16 products must then stay below
   * 65,504, the largest f16. Default: `'full'`, f32
   */
  precision?: 'full' | 'fast' | undefined;
}

/** Options of {@link MatrixOperations.gated}. */
export interface GateOptions {
  /** SiLU or GELU (tanh form) of the gate. Default: `'swiglu'` */
  activation?: 'swiglu' | 'geglu' | undefined;
}

/** The RMS norm before a product. */
export interface NormedOptions {
  /** Weight of an RMS norm of x, f32 [k]; without it x stays as it is. */
  norm?: Tensor | undefined;
  /** Added under the root of the norm. Default: 1e-5 */
  eps?: number | undefined;
}

/** Options of {@link MatrixOperations.project}. */
export interface ProjectOptions extends NormedOptions {
  /** f32 [n] */
  bias?: Tensor | undefined;
}

/** Options of {@link MatrixOperations.gateUp}. */
export interface GateUpOptions extends GateOptions, NormedOptions {}

/** Operations on matrices; each is the last two axes of a tensor. */
export abstract class MatrixOperations extends ElementwiseOperations {
  /**
   * activation(a · b + bias) + residual
   *
   * @param a [.., m, k], f32, f16 or bf16; for a quantised b with `transposeB` f32
   * @param b [.., k, n], f32, f16 or bf16; or a quantised matrix [k, n]. Axes before the last two are equal, or 1 in
   *   one of them, or missing
   * @returns [.., m, n] f32
   * @throws {WebggufError} `invalid_argument` where shapes or types do not fit
   */
  matmul(a: Tensor, b: Tensor, options?: MatmulOptions): FloatTensor {
    return this.one('matmul', 'matmul', { a, b }, options, { tensors: ['bias', 'residual'] });
  }

  /**
   * norm(x) · wᵀ + bias: in one dispatch where that is faster, such as for a few rows and quantised weights.
   *
   * @param x f32 [.., k]
   * @param w [n, k]: f32, f16, bf16 or quantised
   * @returns f32 [.., n]
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  project(x: Tensor, w: Tensor, options?: ProjectOptions): FloatTensor {
    return this.one('project', 'project', { x, w }, options, { tensors: ['norm', 'bias'] });
  }

  /**
   * activation(n · Gᵀ) · (n · Uᵀ) with n = norm(x): the first half of a gated feed-forward (Shazeer 2020, arXiv
   * 2002.05202), in one dispatch where that is faster.
   *
   * @param x f32 [.., k]
   * @param w [2n, k], the rows of G before the rows of U: f32, f16, bf16 or quantised
   * @returns f32 [.., n]
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  gateUp(x: Tensor, w: Tensor, options?: GateUpOptions): FloatTensor {
    return this.one('gateUp', 'gateUp', { x, w }, options, { tensors: ['norm'] });
  }

  /**
   * activation(g) · u for rows that hold g before u.
   *
   * @param x f32 [.., 2n]
   * @returns f32 [.., n]
   * @throws {WebggufError} `invalid_argument` where shapes or types do not fit
   */
  gated(x: Tensor, options?: GateOptions): FloatTensor {
    return this.one('gated', 'gated', { x }, options);
  }

  /**
   * Multiplies each row by the matrices of its experts (mixture of experts).
   *
   * @param x [tokens, k], or [tokens, top, k] with a row for each slot; f32, f16 or bf16
   * @param w the experts' matrices [experts, n, k]: f32, f16, bf16 or quantised; at most 256 experts
   * @param ids u32 [tokens, top]: the experts of each token; an expert that does not exist contributes 0
   * @param weights f32 [tokens, top]: sums the results of a token's experts, each times its weight
   * @returns f32 [tokens, top, n], or [tokens, n] with weights
   * @throws {WebggufError} `invalid_argument` where shapes or types do not fit
   */
  matmulGrouped(x: Tensor, w: Tensor, ids: Tensor, weights?: Tensor): FloatTensor {
    return this.one('matmulGrouped', 'matmulGrouped', { x, w, ids, 'weights?': weights });
  }
}
