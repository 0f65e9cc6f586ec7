/**
 * A loaded language model as a function that can be differentiated with respect to the matrices of an adapter.
 */
import type { FloatTensor, Tensor } from '../../tensor/tensor.js';
import type { Gpu } from '../gpu.js';

/** A weight that an adapter can change: `y = W·x` becomes `y = W·x + scale · B·(A·x)`. */
export interface AdapterTarget {
  /** The tensor's name in the file: `blk.0.attn_q.weight`. */
  readonly name: string;
  /** The name without the layer and the ending: `attn_q`. */
  readonly kind: string;
  /** Values of y. */
  readonly rows: number;
  /** Values of x. */
  readonly cols: number;
}

/** The two thin matrices of an adapter for one weight. */
export interface AdapterPair {
  /** f32 [rank, cols] */
  readonly a: Tensor;
  /** f32 [rows, rank] */
  readonly b: Tensor;
}

/** Sequences side by side, padded to one length. */
export interface TrainingBatch {
  /** u32 [batch, length] */
  readonly ids: Tensor;
  /** i32 [batch, length]: the id that follows each token, -1 where nothing is learned. */
  readonly targets: Tensor;
  /**
   * u32 [batch, length]: the number of the example that a token belongs to. A token sees only tokens of its own
   * example. Where it is missing, each row is one example.
   */
  readonly segments?: Tensor | undefined;
}

/** A loaded model as a function that can be differentiated. */
export interface TrainableModel {
  /** The device of the model, on which the loss is computed. */
  readonly gpu: Gpu;
  /** `general.architecture` of the file. */
  readonly architecture: string;
  /** The weights that adapters can change. */
  readonly targets: readonly AdapterTarget[];
  /**
   * The mean cross-entropy over the targets that count, which is differentiable in the matrices of the adapters.
   *
   * @param adapters by the name of the weight
   * @param scale what `B·(A·x)` is multiplied by: alpha / rank
   * @returns f32 []
   * @throws {WebggufError} `invalid_argument` where shapes do not fit, or segments are given to a model that counts
   *   positions from the start of a row
   */
  loss(batch: TrainingBatch, adapters: Readonly<Record<string, AdapterPair>>, scale: number): FloatTensor;
  /** Whether rows of this length may have segments: not where the model counts positions from the start of a row. */
  packs(length: number): boolean;
  /** Frees what it holds; the model stays. */
  free(): void;
}
