/**
 * Operations of language models: rotation, attention and its cache, state spaces, doubly stochastic matrices.
 */
import { RowOperations } from './gpu-rows.js';
import type { FloatTensor, Tensor } from './tensor.js';

/** Order of the axes of queries, keys and values: [batch, head, position, dim] or [batch, position, head, dim]. */
export type HeadLayout = 'bhsd' | 'bshd';

/** YaRN (Peng et al. 2023, arXiv 2309.00071). */
export interface YarnOptions {
  /** By how much the context is longer than the trained one. */
  factor: number;
  /** The trained context. */
  originalContext: number;
  /** Turns within the trained context from which on a pair keeps its frequency. Default: 32 */
  betaFast?: number | undefined;
  /** Turns up to which a pair is interpolated. Default: 1 */
  betaSlow?: number | undefined;
  /** What cosines and sines are multiplied by. Default: 0.1 ln factor + 1 */
  attentionFactor?: number | undefined;
}

/** How fast pairs turn. */
export interface RopeFrequencies {
  /** Pair i turns by base^(−2i/dims) per position. Default: 10,000 */
  base?: number | undefined;
  /** What positions are multiplied by: 1 / factor of linear scaling. Default: 1 */
  scale?: number | undefined;
  /** What each pair's frequency is divided by: dims/2 numbers. */
  factors?: readonly number[] | undefined;
  /** YaRN. */
  yarn?: YarnOptions | undefined;
}

/** Options of {@link ModelOperations.ropeTable}. */
export interface RopeTableOptions extends RopeFrequencies {
  /** Rows of the table. */
  positions: number;
  /** Dimensions of a head that turn; even. */
  dims: number;
  /** Position of the first row. Default: 0 */
  position?: number | undefined;
}

/** Options of {@link ModelOperations.rope}. */
export interface RopeOptions extends RopeFrequencies {
  /** A result of `ropeTable`, which then says dims and frequencies. */
  table?: Tensor | undefined;
  /** Order of x's axes. Default: `'bhsd'` */
  layout?: HeadLayout | undefined;
  /** Which values turn together: i and i + dims/2, or 2i and 2i + 1. Default: `'splitHalf'` */
  pairing?: 'splitHalf' | 'interleaved' | undefined;
  /** Dimensions that turn, even; the rest is copied. Default: all */
  dims?: number | undefined;
  /** Position of the first token: a row of the table, if there is one. Default: 0 */
  position?: number | undefined;
}

/** Options of {@link ModelOperations.attention}. */
export interface AttentionOptions {
  /** f32, added to the scores, broadcast to [batch, heads, queries, keys]; below −1e38, such as −∞, hides a key. */
  mask?: Tensor | undefined;
  /** Order of the axes of q, k, v and the result. Default: `'bhsd'` */
  layout?: HeadLayout | undefined;
  /** Query i sees keys up to i + keys − queries: the last query sees all. Default: false */
  causal?: boolean | undefined;
  /** Causal, and a query sees at most so many of the latest keys. */
  window?: number | undefined;
  /** What scores are multiplied by. Default: 1 / √dim */
  scale?: number | undefined;
  /** softCap · tanh(score / softCap) takes the score's place, before the mask. */
  softCap?: number | undefined;
}

/** Operations of language models. */
export abstract class ModelOperations extends RowOperations {
  /**
   * softmax(q · kᵀ · scale + mask) · v for each head, without storing the scores (Dao et al. 2022, arXiv 2205.14135).
   *
   * @param q f32 [batch, heads, queries, dim], see `layout`; leading axes may be missing
   * @param k f32 or f16 [batch, kv heads, keys, dim]; where q has more heads, they share these in order
   * @param v like k
   * @returns f32, shaped like q; a query that sees no key gets zeros
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit; heads of more than 256 values
   */
  attention(q: Tensor, k: Tensor, v: Tensor, options?: AttentionOptions): FloatTensor {
    return this.one('attention', 'attention', { q, k, v }, options, { tensors: ['mask'] });
  }

  /**
   * Rotary position embedding (Su et al. 2021, arXiv 2104.09864): turns the pairs of each head by its position.
   *
   * @param x f32 [batch, head, position, dim], see `layout`; leading axes may be missing
   * @returns like x
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  rope(x: Tensor, options?: RopeOptions): FloatTensor {
    return this.one('rope', 'rope', { x }, options, { tensors: ['table'] });
  }

  /**
   * Cosines and sines for {@link ModelOperations.rope}, right to 1e-5 at position 100,000 and beyond.
   *
   * @returns f32 [positions, dims/2, 2], cosine first
   * @throws {WebggufError} `invalid_argument` for odd dimensions, no positions, and numbers that are not positive
   */
  ropeTable(options: RopeTableOptions): FloatTensor {
    return this.one('ropeTable', 'ropeTable', {}, options);
  }
}
