/**
 * What a step computes: the gradients of some batches, and losses without gradients.
 */
import type { FloatTensor, Tensor } from '../../tensor/tensor.js';
import type { Gpu } from '../index.js';
import type { Gradients } from '../tree.js';
import { learnedOf, uploaded } from './batches.js';
import type { PackedSequence } from './packing.js';
import type { AdapterPair, TrainableModel } from './trainable.js';

type Pairs = Readonly<Record<string, AdapterPair>>;
/** Gradients by the names of weights. */
export type PairGradients = Record<string, { a: FloatTensor; b: FloatTensor }>;

/** What a loss is computed with. */
export interface Learner {
  readonly model: TrainableModel;
  readonly pairs: Pairs;
  /** alpha / rank */
  readonly scale: number;
}

/** Gradients, which the caller frees, with two numbers that were read. */
export interface Slope {
  readonly gradients: PairGradients;
  /** Mean over all tokens that are learned. */
  readonly loss: number;
  /** Norm of the gradients before they were clipped. */
  readonly norm: number;
}

/** The gradients of the mean loss of all batches, with a norm of at most `clipNorm`. Waits for the device once. */
export async function slopeOf(
  { model, pairs, scale }: Learner,
  batches: readonly (readonly PackedSequence[])[],
  clipNorm: number,
): Promise<Slope> {
  const { gpu } = model;
  const all = learnedOf(batches.flat());
  let total: PairGradients | undefined;
  let numbers: Tensor | undefined;
  try {
    const losses: FloatTensor[] = [];
    for (const batch of batches) {
      const share = learnedOf(batch) / all;
      const { value, gradients } = ofBatch(gpu, batch, pairs, (data) => gpu.mul(model.loss(data, pairs, scale), share));
      losses.push(value);
      total = gpu.accumulate<PairGradients>(total, gradients);
    }
    const norm = gpu.clipGradNorm(total as PairGradients, clipNorm);
    numbers = gpu.scope(() => gpu.concat([summed(gpu, losses), gpu.reshape(norm, [1])]));
    gpu.free(losses, norm);
    const [loss = Number.NaN, length = Number.NaN] = (await numbers.data()) as Float32Array;
    return { gradients: total as PairGradients, loss, norm: length };
  } catch (error) {
    if (total) gpu.freeAll(total);
    throw error;
  } finally {
    numbers?.free();
  }
}

function ofBatch(
  gpu: Gpu,
  batch: readonly PackedSequence[],
  pairs: Pairs,
  loss: (data: ReturnType<typeof uploaded>) => FloatTensor,
): { value: FloatTensor; gradients: PairGradients } {
  const data = uploaded(gpu, batch);
  try {
    const tree = pairs as Readonly<Record<string, { readonly a: Tensor; readonly b: Tensor }>>;
    const { value, gradients } = gpu.valueAndGrad(() => loss(data), tree);
    return { value, gradients: gradients as Gradients<typeof tree> };
  } finally {
    gpu.free(data.ids, data.targets, data.segments ? [data.segments] : []);
  }
}

/** The mean loss of sequences, some at a time. Waits for the device once. */
export async function lossOf(
  { model, pairs, scale }: Learner,
  batches: readonly (readonly PackedSequence[])[],
): Promise<number> {
  const { gpu } = model;
  const all = learnedOf(batches.flat());
  const total = gpu.noGrad(() =>
    gpu.scope(() => {
      const losses = batches.map((batch) =>
        gpu.scope(() => gpu.scale(model.loss(uploaded(gpu, batch), pairs, scale), learnedOf(batch) / all)),
      );
      return summed(gpu, losses);
    }),
  );
  try {
    const [loss = Number.NaN] = (await total.data()) as Float32Array;
    return loss;
  } finally {
    total.free();
  }
}

/** The sum of numbers, [1]. */
function summed(gpu: Gpu, numbers: readonly FloatTensor[]): FloatTensor {
  const [first, ...others] = numbers.map((number) => gpu.reshape(number, [1]));
  return others.reduce((sum, number) => gpu.add(sum, number), first as FloatTensor);
}
