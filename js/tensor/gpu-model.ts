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
  /** Pairs that rotate at least this many times within the trained context keep their frequency. Default: 32 */
  betaFast?: number | undefined;
  /** Pairs that rotate at most this many times are fully interpolated. Default: 1 */
  betaSlow?: number | undefined;
  /** Factor of cosines and sines. Default: 0.1 ln factor + 1 */
  attentionFactor?: number | undefined;
}

/** Frequencies of a rotary position embedding. */
export interface RopeFrequencies {
  /** Pair i rotates by base^(−2i/dims) radians per position. Default: 10,000 */
  base?: number | undefined;
  /** Factor of positions: 1 / factor for linear scaling. Default: 1 */
  scale?: number | undefined;
  /** Divisors of the frequencies, one for each pair: dims/2 numbers, `rope_freqs` of a GGUF. */
  factors?: readonly number[] | undefined;
  /** YaRN. */
  yarn?: YarnOptions | undefined;
}

/** Options of {@link ModelOperations.ropeTable}. */
export interface RopeTableOptions extends RopeFrequencies {
  /** Rows of the table. */
  positions: number;
  /** Dimensions of a head that are rotated; even. */
  dims: number;
  /** Position of the first row. Default: 0 */
  position?: number | undefined;
}

/** Options of {@link ModelOperations.rope}. */
export interface RopeOptions extends RopeFrequencies {
  /** A result of `ropeTable`, which then determines dims and frequencies. */
  table?: Tensor | undefined;
  /** Order of x's axes. Default: `'bhsd'` */
  layout?: HeadLayout | undefined;
  /** Which values form a pair: i and i + dims/2 (NeoX), or 2i and 2i + 1 (GPT-J). Default: `'splitHalf'` */
  pairing?: 'splitHalf' | 'interleaved' | undefined;
  /** Dimensions that are rotated, even; the others are copied. Default: all */
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
  /** Sliding window: a query sees only this many keys, its own and those just before it. Implies `causal`. */
  window?: number | undefined;
  /** Factor of scores. Default: 1 / √dim */
  scale?: number | undefined;
  /** Soft cap: a score becomes softCap · tanh(score / softCap), before the mask. Default: none */
  softCap?: number | undefined;
}

/** Options of {@link ModelOperations.kvWrite}. */
export interface KvWriteOptions {
  /** Order of x's axes. Default: `'bhsd'` */
  layout?: HeadLayout | undefined;
  /** Position of x's first token: tokens that were written before it. Default: 0 */
  position?: number | undefined;
}

/** Options of {@link ModelOperations.attentionDecode}. */
export interface AttentionDecodeOptions {
  /** Tokens written so far, including the query's. */
  length: number;
  /** Sliding window: the query sees only the last `window` keys. Default: all */
  window?: number | undefined;
  /** Factor of scores. Default: 1 / √dim */
  scale?: number | undefined;
  /** Soft cap: a score becomes softCap · tanh(score / softCap). Default: none */
  softCap?: number | undefined;
}

/** Inputs of {@link ModelOperations.selectiveScan}, all f32. */
export interface SelectiveScanInputs {
  /** [batch, length, channels] */
  x: Tensor;
  /** `[batch, length, channels]`: the steps, above 0. */
  delta: Tensor;
  /** [channels, n], below 0. */
  a: Tensor;
  /** [batch, length, n] */
  b: Tensor;
  /** [batch, length, n] */
  c: Tensor;
  /** [channels]; nothing is added where it is missing. */
  d?: Tensor | undefined;
  /** `[batch, channels, n]`: the state before the first step. Default: 0 */
  state?: Tensor | undefined;
}

/** Result of {@link ModelOperations.selectiveScan}. */
export interface SelectiveScan {
  /** [batch, length, channels] */
  readonly y: FloatTensor;
  /** `[batch, channels, n]`: the state after the last step, to go on with. */
  readonly state: FloatTensor;
}

/** Options of {@link ModelOperations.sinkhorn}. */
export interface SinkhornOptions {
  /** Normalisations of rows and columns, up to 1,000. Default: 20, and at most 100 with a tolerance */
  iterations?: number | undefined;
  /** Stop once all sums of rows are this close to 1. */
  tolerance?: number | undefined;
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
   * Writes keys (after RoPE) or values into a cache, in place: token t goes to row (position + t) modulo the rows. Once
   * full, the cache is a ring buffer of the latest tokens.
   *
   * @param cache f16 [kv heads, rows, dim], or with a batch axis before; dim rounded up to a multiple of 8
   * @param x f32 [kv heads, tokens, dim], see `layout`; with a batch axis if the cache has one
   * @returns the cache
   * @throws {WebggufError} `invalid_argument` for other types and shapes
   *
   * @example
   * const keys = gpu.zeros([8, 4096, 128], 'f16');
   * gpu.kvWrite(keys, gpu.rope(k, { position }), { position });
   */
  kvWrite(cache: Tensor<'f16'>, x: Tensor, options?: KvWriteOptions): Tensor<'f16'> {
    return this.one('kvWrite', 'kvWrite', { cache, x }, options);
  }

  /**
   * Attention of one token per sequence over its caches, split over the keys (flash decoding).
   *
   * @param q f32 [heads, dim], or [batch, heads, dim] with caches that have a batch axis
   * @param kCache what `kvWrite` filled; where q has more heads, they share its heads in order
   * @param vCache like kCache
   * @returns f32, like q
   * @throws {WebggufError} `invalid_argument` for other types and shapes, no tokens, and a window in caches that
   *   have wrapped around
   */
  attentionDecode(
    q: Tensor,
    kCache: Tensor<'f16'>,
    vCache: Tensor<'f16'>,
    options: AttentionDecodeOptions,
  ): FloatTensor {
    return this.one('attentionDecode', 'attentionDecode', { q, kCache, vCache }, options);
  }

  /**
   * Mamba's recurrence (Gu and Dao 2023, arXiv 2312.00752): at every step h = exp(Δ·A)·h + Δ·B·x, y = C·h + D·x.
   *
   * @throws {WebggufError} `invalid_argument` where shapes or types do not fit
   */
  selectiveScan(inputs: SelectiveScanInputs): SelectiveScan {
    const { x, delta, a, b, c, d, state } = inputs;
    const given = { x, delta, a, b, c, 'd?': d, 'state?': state };
    const [y, after] = this.run('selectiveScan', 'selectiveScan', given);
    return { y: y as FloatTensor, state: after as FloatTensor };
  }

  /**
   * Projects matrices onto the doubly stochastic ones: rows and columns are divided by their sums in turn
   * (Sinkhorn and Knopp 1967). A row or column of zeros stays one.
   *
   * @param x f32 [.., n, n], not negative, which nothing checks
   * @returns like x
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  sinkhorn(x: Tensor, options?: SinkhornOptions): FloatTensor {
    return this.one('sinkhorn', 'sinkhorn', { x }, options);
  }

  /**
   * Rotary position embedding (Su et al. 2021, arXiv 2104.09864): rotates the pairs of each head by its position.
   *
   * @param x f32 [batch, head, position, dim], see `layout`; leading axes may be missing
   * @returns like x
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   */
  rope(x: Tensor, options?: RopeOptions): FloatTensor {
    return this.one('rope', 'rope', { x }, options, { tensors: ['table'] });
  }

  /**
   * Cosines and sines for {@link ModelOperations.rope}, with errors below 1e-5 even beyond position 100,000.
   *
   * @returns f32 [positions, dims/2, 2], cosine first
   * @throws {WebggufError} `invalid_argument` for odd dimensions, no positions, and numbers that are not positive
   */
  ropeTable(options: RopeTableOptions): FloatTensor {
    return this.one('ropeTable', 'ropeTable', {}, options);
  }
}
