/**
 * What a step computes: the gradients of some batches, and losses without gradients.
 */
import type { FloatTensor, Tensor } from '../../tensor/tensor.js';
import { learnedOf, uploaded } from './batches.js';
import type { PackedSequence } from './packing.js';
import type { Parameters } from './parameters.js';
import { type Preference, learnReferences, pairLoss } from './preference.js';
import type { AdapterPair, TrainableModel } from './trainable.js';

/** What a loss is computed with. */
export interface Learner {
  readonly model: TrainableModel;
  readonly parameters: Parameters;
  /** alpha / rank */
  readonly scale: number;
  /** Where sequences are pairs, of which one is preferred. */
  readonly preference?: Preference | undefined;
}

/** Gradients, which the caller frees, with numbers that were read. */
export interface Slope {
  /** In stacks, as {@link Parameters} takes them. */
  readonly gradients: FloatTensor[];
  /** Mean over all tokens that are learned, or over all pairs. */
  readonly loss: number;
  /** The share of pairs in which the chosen text has gained on the rejected one. */
  readonly accuracy?: number;
  /** Norm of the gradients before they were clipped. */
  readonly norm: number;
}

type Batches = readonly (readonly PackedSequence[])[];

/** What is computed at once: its part of the loss of all, and how to free what it reads. */
interface Unit {
  readonly of: (adapters: Readonly<Record<string, AdapterPair>>, scale: number) => FloatTensor;
  readonly free: () => void;
}

/**
 * The gradients of the mean loss of all batches, with a norm of at most `clipNorm`. Waits for the device once; before
 * that, where the reference has not read a pair yet.
 */
export async function slopeOf(learner: Learner, batches: Batches, clipNorm: number): Promise<Slope> {
  const { gpu } = learner.model;
  const units = await unitsOf(learner, batches);
  let total: FloatTensor[] | undefined;
  let numbers: Tensor | undefined;
  try {
    const losses: FloatTensor[] = [];
    for (const unit of units) {
      const { value, gradients } = ofUnit(learner, unit());
      losses.push(value);
      total = gpu.accumulate(total, gradients);
    }
    const norm = gpu.clipGradNorm(total as FloatTensor[], clipNorm);
    numbers = gpu.scope(() => gpu.concat([...losses, norm].map((number) => gpu.reshape(number, [1]))));
    gpu.free(losses, norm);
    const found = [...((await numbers.data()) as Float32Array)];
    const length = found.pop() as number;
    const loss = found.reduce((sum, part) => sum + part, 0);
    return { gradients: total as FloatTensor[], loss, norm: length, ...accuracyOf(learner, found) };
  } catch (error) {
    gpu.free(total ?? []);
    throw error;
  } finally {
    numbers?.free();
  }
}

/** A pair whose margin has not changed has a loss of log 2. */
function accuracyOf({ preference }: Learner, losses: readonly number[]): { accuracy?: number } {
  if (!preference) return {};
  return { accuracy: losses.filter((loss) => loss * losses.length < Math.LN2).length / losses.length };
}

/** What is computed one after the other: batches, or pairs. */
async function unitsOf(learner: Learner, batches: Batches): Promise<(() => Unit)[]> {
  const { model, preference } = learner;
  const { gpu } = model;
  const sequences = batches.flat();
  if (preference) {
    await learnReferences(model, preference, sequences);
    return sequences.map((pair) => () => pairLoss(model, preference, pair, 1 / sequences.length));
  }
  const all = learnedOf(sequences);
  return batches.map((batch) => () => {
    const data = uploaded(gpu, batch);
    const share = learnedOf(batch) / all;
    return {
      of: (adapters, scale) => gpu.mul(model.loss(data, adapters, scale), share),
      free: () => gpu.free(data.ids, data.targets, data.segments ? [data.segments] : []),
    };
  });
}

/** The loss of a unit, and its gradients in stacks. */
function ofUnit({ model: { gpu }, parameters, scale }: Learner, unit: Unit): Part {
  const { pairs } = parameters;
  try {
    const tree = pairs as Readonly<Record<string, { readonly a: Tensor; readonly b: Tensor }>>;
    const { value, gradients } = gpu.valueAndGrad(() => unit.of(pairs, scale), tree);
    const stacks = parameters.stacked(gradients);
    gpu.freeAll(gradients);
    return { value, gradients: stacks };
  } finally {
    unit.free();
  }
}

interface Part {
  readonly value: FloatTensor;
  readonly gradients: FloatTensor[];
}

/** The mean loss of sequences, some at a time. Waits for the device once, as {@link slopeOf} does. */
export async function lossOf(learner: Learner, batches: Batches): Promise<number> {
  const { gpu } = learner.model;
  const { pairs } = learner.parameters;
  const units = await unitsOf(learner, batches);
  const all = gpu.noGrad(() =>
    gpu.scope(() => {
      const losses = units.map((unit) => gpu.scope(() => unit().of(pairs, learner.scale)));
      return gpu.concat(losses.map((loss) => gpu.reshape(loss, [1])));
    }),
  );
  try {
    return ((await all.data()) as Float32Array).reduce((sum, part) => sum + part, 0);
  } finally {
    all.free();
  }
}
