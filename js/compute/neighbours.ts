/**
 * Nearest neighbours of points.
 */
import { invalidArgument } from '../errors.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { at, integer, known, ranked, word } from './checks.js';
import { asF32, grid } from './dispatch.js';
import { PeakOperations } from './peaks.js';
import * as shaders from './shaders.js';

/** Options of {@link NeighbourOperations.knn}. */
export interface KnnOptions {
  /** How many neighbours of each point: from 1 to 256, and fewer than there are points. */
  k: number;
  /** √Σ(a − b)², or 1 − the cosine of the angle between a and b. Default: `'euclidean'` */
  metric?: 'euclidean' | 'cosine' | undefined;
}

/** Result of {@link NeighbourOperations.knn}. */
export interface Neighbours {
  /** u32 [N, k]: the neighbours of each point, the nearest first, of equally near ones the lower index. */
  readonly indices: Tensor<'u32'>;
  /** f32 [N, k]: how far away they are. */
  readonly distances: FloatTensor;
}

const METRICS = ['euclidean', 'cosine'] as const;

/** Rows and columns that a workgroup of `knn_distances.wgsl` computes. */
const TILE = 64;

/** Distances that are stored at the same time. */
const STORED = 2 ** 23;

/** The most neighbours: what `topK` finds. */
const MOST = 256;

/** Neighbours of points. */
export abstract class NeighbourOperations extends PeakOperations {
  /**
   * The k nearest neighbours of each point among the others, exactly: all distances are computed, from differences and
   * so without cancellation, some rows at a time, of which the nearest are chosen at once.
   *
   * @param points [N, D]: f32, f16 or bf16. With `'cosine'` a point of zeros is at 1 from all but its like
   * @throws {WebggufError} `invalid_argument` where shapes or options do not fit, `limit_exceeded` for more than about
   *   half a million points
   *
   * @example
   * const { indices, distances } = gpu.knn(gpu.tensor(embeddings, [1000, 384]), { k: 15, metric: 'cosine' });
   */
  knn(points: Tensor, options: KnnOptions): Neighbours {
    const { k, metric = 'euclidean' } = known('knn', options, ['k', 'metric']);
    const [count, width] = ranked('knn', 'points', points, ['N', 'D']).shape as [number, number];
    const isCosine = word('knn', 'metric', metric, METRICS) === 'cosine';
    if (width === 0 || count < 2) throw invalidArgument(`knn: points is ${points}; two points or more are needed`);
    integer('knn', 'k', k, 1, Math.min(MOST, count - 1));
    return this.scope(() => {
      const plain = asF32(this, points);
      const x = isCosine ? this.#directions(plain) : plain;
      const rows = Math.max(Math.floor(STORED / count / TILE), 1) * TILE;
      const parts = Array.from({ length: Math.ceil(count / rows) }, (_, part) => {
        return this.#nearest(x, part * rows, Math.min(rows, count - part * rows), k);
      });
      const negative = this.#joined(parts.map(({ values }) => values));
      // For unit vectors, half of the squared distance is 1 − a·b.
      const distances = this.fuse([negative], (d) => (isCosine ? d.mul(-0.5) : d.neg().sqrt()));
      return { indices: this.#joined(parts.map(({ indices }) => indices)), distances };
    });
  }

  /** The nearest of some points, by negative squared distances. */
  #nearest(x: Tensor, first: number, rows: number, k: number) {
    const [points, width] = x.shape as [number, number];
    const distances = this.dispatch('knn', shaders.knnDistances, {
      inputs: { x },
      shape: [rows, points],
      params: { first, rows, points, width },
      workgroups: grid(Math.ceil(rows / TILE) * Math.ceil(points / TILE)),
    });
    const found = this.topK(distances, k);
    distances.free();
    return found;
  }

  /** Points as unit vectors. Zeros become a unit vector of one more dimension, which stands upright on all others. */
  #directions(points: Tensor): FloatTensor {
    const largest = this.max(this.abs(points), { axis: 1, keepDims: true });
    // The squares of what is divided by its largest number first neither overflow nor vanish.
    const zero = this.equal(largest, 0);
    const scaled = this.fuse([points, largest, zero], (x, most, zero) => x.div(most.add(zero)));
    const squares = this.sum(this.mul(scaled, scaled), { axis: 1, keepDims: true });
    const unit = this.fuse([scaled, squares, zero], (x, squares, zero) => x.div(squares.add(zero).sqrt()));
    return this.concat([unit, zero], { axis: 1 });
  }

  #joined<T extends Tensor>(parts: readonly T[]): T {
    return parts.length === 1 ? at(parts, 0) : (this.concat(parts, { axis: 0 }) as T);
  }
}
