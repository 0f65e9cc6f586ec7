/**
 * What is learned: the matrices of an adapter with their optimizer, on the GPU, and copies of them in memory.
 */
import type { FloatTensor, Tensor } from '../../tensor/tensor.js';
import type { Gpu } from '../gpu.js';
import { AdamW } from '../optimizers.js';
import type { Recipe } from './options.js';
import { randomNumbers } from './random.js';
import { Stacking } from './stacking.js';
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

/** On the GPU: matrices of one width lie below each other in one tensor, so that few dispatches change them all. */
export class Parameters {
  readonly #gpu: Gpu;
  readonly #recipe: Recipe;
  readonly #names: readonly string[];
  readonly #stacking: Stacking;
  readonly #stacks: readonly Tensor[];
  /** The matrices by themselves, as they are in the stacks; made when they are asked for. */
  #pairs: Readonly<Record<string, AdapterPair>> | undefined;
  #optimizer: AdamW;
  /** The matrices of the least held-out loss, and those before the last step. */
  #best: readonly Tensor[] | undefined;
  #before: readonly Tensor[] | undefined;

  constructor(gpu: Gpu, targets: readonly AdapterTarget[], recipe: Recipe, copy: Copy) {
    this.#gpu = gpu;
    this.#recipe = recipe;
    this.#names = targets.map(({ name }) => name);
    this.#stacking = new Stacking(shapesOf(targets, recipe.rank));
    this.#stacks = this.#stacking.upload(gpu, copy.matrices);
    this.#optimizer = this.#newOptimizer();
    this.#best = copy.best && this.#stacking.upload(gpu, copy.best);
    this.#optimizer.goOn(copy.optimizerSteps, this.#joinedMoments(copy.moments));
  }

  /** By the names of the weights; until the next change. */
  get pairs(): Readonly<Record<string, AdapterPair>> {
    if (this.#pairs) return this.#pairs;
    const tensors = this.#stacking.matrices(this.#gpu, this.#stacks);
    const pair = (at: number): AdapterPair => ({ a: tensors[2 * at] as Tensor, b: tensors[2 * at + 1] as Tensor });
    this.#pairs = Object.fromEntries(this.#names.map((name, at) => [name, pair(at)]));
    return this.#pairs;
  }

  /** Gradients of {@link Parameters.pairs} as stacks. */
  stacked(gradients: Readonly<Record<string, { a: FloatTensor; b: FloatTensor }>>): FloatTensor[] {
    const matrices = this.#names.flatMap((name) => [gradients[name]?.a, gradients[name]?.b] as FloatTensor[]);
    return this.#stacking.stacks(this.#gpu, matrices);
  }

  /** Forgets what the optimizer knows of the steps until now, and which matrices were the best. */
  begin(): void {
    this.#optimizer.free();
    this.#optimizer = this.#newOptimizer();
    this.#gpu.free(this.#best ?? [], this.#before ?? []);
    this.#best = undefined;
    this.#before = undefined;
  }

  /** Goes a step along the gradients, in stacks, after which {@link undo} can take it back. */
  step(gradients: readonly FloatTensor[], learningRate: number): void {
    this.#gpu.free(this.#before ?? []);
    this.#before = this.#copied();
    this.#optimizer.learningRate = learningRate;
    this.#optimizer.step(gradients);
    this.#forget();
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
    return this.#read(this.#stacks);
  }

  /** All of it in memory. */
  async copy(): Promise<Copy> {
    const states = this.#optimizer.states;
    const [matrices, means, squares, best] = await Promise.all([
      this.matrices(),
      this.#read(states.filter((_, at) => at % 2 === 0)),
      this.#read(states.filter((_, at) => at % 2 === 1)),
      this.#best && this.#read(this.#best),
    ]);
    const moments = means.flatMap((mean, at) => [mean, squares[at] as Float32Array]);
    return { matrices, moments, best, optimizerSteps: this.#optimizer.steps };
  }

  free(): void {
    this.#optimizer.free();
    this.#forget();
    this.#gpu.free(this.#stacks, this.#best ?? [], this.#before ?? []);
  }

  #forget(): void {
    for (const { a, b } of Object.values(this.#pairs ?? {})) this.#gpu.free(a, b);
    this.#pairs = undefined;
  }

  #copied(): Tensor[] {
    return this.#stacks.map((stack) => this.#gpu.copy(stack));
  }

  #assign(values: readonly Tensor[]): void {
    for (const [at, stack] of this.#stacks.entries()) {
      this.#gpu.fuse([stack, values[at] as Tensor], (_, value) => value, { inPlace: true });
    }
    this.#forget();
  }

  /** As the optimizer has them: mean and squares of the first stack, of the second, … */
  #joinedMoments(moments: Matrices): Float32Array[] {
    if (moments.length === 0) return [];
    const [means, squares] = [0, 1].map((which) => {
      return this.#stacking.joined(moments.filter((_, at) => at % 2 === which));
    }) as [Float32Array[], Float32Array[]];
    return means.flatMap((mean, at) => [mean, squares[at] as Float32Array]);
  }

  async #read(stacks: readonly Tensor[]): Promise<Matrices> {
    return this.#stacking.cut(await Promise.all(stacks.map((stack) => stack.data() as Promise<Float32Array>)));
  }

  #newOptimizer(): AdamW {
    const { learningRate, weightDecay } = this.#recipe;
    return new AdamW(this.#gpu, this.#stacks, { learningRate, weightDecay });
  }
}
