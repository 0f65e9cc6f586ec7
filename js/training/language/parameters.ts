/**
 * What is learned: the matrices of an adapter with their optimizer, on the GPU, and copies of them in memory.
 */
import type { FloatTensor, Tensor } from '../../tensor/tensor.js';
import type { Gpu } from '../index.js';
import { AdamW } from '../optimizers.js';
import type { Recipe } from './options.js';
import { randomNumbers } from './random.js';
import type { AdapterPair, AdapterTarget } from './trainable.js';

/** The matrices of an adapter: A and B of the first weight, A and B of the second, … */
export type Matrices = readonly Float32Array[];

/** All numbers that a training needs to go on. */
export interface Copy {
  readonly matrices: Matrices;
  /** Means of the gradients and of their squares, of each matrix; none before the first step. */
  readonly moments: Matrices;
  /** Steps of the optimizer. */
  readonly optimizerSteps: number;
  /** The matrices with the least held-out loss, where there was one. */
  readonly best?: Matrices | undefined;
}

/** Shapes of the matrices, in their order. */
export function shapesOf(targets: readonly AdapterTarget[], rank: number): [number, number][] {
  return targets.flatMap(({ rows, cols }): [number, number][] => [
    [rank, cols],
    [rows, rank],
  ]);
}

/** What a training begins with: A uniform within ±1/√cols, as in PEFT; B zero, so that nothing changes yet. */
export function firstCopy(targets: readonly AdapterTarget[], { rank, seed }: Recipe): Copy {
  const matrices = targets.flatMap(({ rows, cols }, index) => {
    const next = randomNumbers(seed, index);
    const bound = 1 / Math.sqrt(cols);
    return [Float32Array.from({ length: rank * cols }, () => (2 * next() - 1) * bound), new Float32Array(rows * rank)];
  });
  return { matrices, moments: [], optimizerSteps: 0 };
}

/** On the GPU. */
export class Parameters {
  /** By the names of the weights. */
  readonly pairs: Readonly<Record<string, AdapterPair>>;
  readonly #gpu: Gpu;
  readonly #recipe: Recipe;
  #optimizer: AdamW;
  /** The matrices of the least held-out loss, and those before the last step. */
  #best: Tensor[] | undefined;
  #before: Tensor[] | undefined;

  constructor(gpu: Gpu, targets: readonly AdapterTarget[], recipe: Recipe, copy: Copy) {
    const shapes = shapesOf(targets, recipe.rank);
    const upload = (matrices: Matrices): Tensor[] => matrices.map((values, at) => gpu.tensor(values, shapes[at]));
    const tensors = upload(copy.matrices);
    this.#gpu = gpu;
    this.#recipe = recipe;
    this.pairs = Object.fromEntries(
      targets.map(({ name }, at) => [name, { a: tensors[2 * at] as Tensor, b: tensors[2 * at + 1] as Tensor }]),
    );
    this.#optimizer = this.#newOptimizer();
    this.#best = copy.best && upload(copy.best);
    this.#optimizer.goOn(copy.optimizerSteps, copy.moments);
  }

  /** Forgets what the optimizer knows of the steps until now, and which matrices were the best. */
  begin(): void {
    this.#optimizer.free();
    this.#optimizer = this.#newOptimizer();
    this.#gpu.free(this.#best ?? [], this.#before ?? []);
    this.#best = undefined;
    this.#before = undefined;
  }

  /** Goes a step along the gradients, after which {@link undo} can take it back. */
  step(gradients: Readonly<Record<string, { a: FloatTensor; b: FloatTensor }>>, learningRate: number): void {
    this.#gpu.free(this.#before ?? []);
    this.#before = this.#copied();
    this.#optimizer.learningRate = learningRate;
    this.#optimizer.step(gradients);
  }

  /** The matrices are what they were before the last step; whether there was one. */
  undo(): boolean {
    if (this.#before) this.#assign(this.#before);
    return this.#before !== undefined;
  }

  /** Notes that the matrices are the best until now. */
  keepBest(): void {
    this.#gpu.free(this.#best ?? []);
    this.#best = this.#copied();
  }

  /** The matrices are the best there were, if that is known. */
  takeBest(): void {
    if (this.#best) this.#assign(this.#best);
  }

  /** The matrices in memory. */
  matrices(): Promise<Matrices> {
    return read(this.#all());
  }

  /** All of it in memory. */
  async copy(): Promise<Copy> {
    const states = this.#optimizer.states;
    const [matrices, moments, best] = await Promise.all([
      read(this.#all()),
      read(states),
      this.#best && read(this.#best),
    ]);
    return { matrices, moments, best, optimizerSteps: this.#optimizer.steps };
  }

  free(): void {
    this.#optimizer.free();
    this.#gpu.free(this.#all(), this.#best ?? [], this.#before ?? []);
  }

  #all(): Tensor[] {
    return Object.values(this.pairs).flatMap(({ a, b }) => [a, b]);
  }

  #copied(): Tensor[] {
    return this.#all().map((tensor) => this.#gpu.copy(tensor));
  }

  #assign(values: readonly Tensor[]): void {
    for (const [at, tensor] of this.#all().entries()) {
      this.#gpu.fuse([tensor, values[at] as Tensor], (_, value) => value, { inPlace: true });
    }
  }

  #newOptimizer(): AdamW {
    const { learningRate, weightDecay } = this.#recipe;
    return new AdamW(this.#gpu, this.pairs as Record<string, Record<keyof AdapterPair, Tensor>>, {
      learningRate,
      weightDecay,
    });
  }
}

function read(tensors: readonly Tensor[]): Promise<Float32Array[]> {
  return Promise.all(tensors.map((tensor) => tensor.data() as Promise<Float32Array>));
}
