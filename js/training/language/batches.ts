/**
 * Sequences in the order of a run: which of them a step reads, as one tensor each of ids, targets and segments.
 */
import type { Gpu } from '../gpu.js';
import type { RunRecipe } from './options.js';
import type { PackedSequence } from './packing.js';
import { shuffled } from './random.js';
import type { TrainingBatch } from './trainable.js';

/** What a run reads. */
export interface Dataset {
  readonly sequences: readonly PackedSequence[];
  /** Sequences that are not learned. */
  readonly heldOut: readonly PackedSequence[];
}

/** Streams of random numbers of a seed: the streams for orders of epochs begin here. */
const EPOCHS = 1 << 20;

/** Lengths are multiples of this, so that batches have few shapes. */
const GRAIN = 16;

/** Steps of an epoch. */
export function stepsOfEpoch(sequences: number, { batch, accumulate }: RunRecipe): number {
  return Math.ceil(Math.ceil(sequences / batch) / accumulate);
}

/** The batches of a step, counted from 0. */
export function batchesOf(data: Dataset, recipe: RunRecipe, seed: number, step: number): PackedSequence[][] {
  const { sequences } = data;
  const perEpoch = stepsOfEpoch(sequences.length, recipe);
  const order = shuffled(sequences.length, seed, EPOCHS + Math.floor(step / perEpoch));
  const wanted = recipe.batch * recipe.accumulate;
  const first = (step % perEpoch) * wanted;
  return parts(
    order.slice(first, first + wanted).map((index) => sequences[index] as PackedSequence),
    recipe.batch,
  );
}

/** A list cut into parts of `size`. */
export function parts<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, part) => list.slice(part * size, (part + 1) * size));
}

/** Tokens of some sequences. */
export const tokensOf = (sequences: readonly PackedSequence[]): number =>
  sequences.reduce((sum, { ids }) => sum + ids.length, 0);

/** Tokens that some sequences teach. */
export const learnedOf = (sequences: readonly PackedSequence[]): number =>
  sequences.reduce((sum, { targets }) => sum + targets.reduce((count, target) => count + (target >= 0 ? 1 : 0), 0), 0);

/** The sequences on the device, the shorter ones padded with what teaches nothing. */
export function uploaded(gpu: Gpu, sequences: readonly PackedSequence[]): TrainingBatch {
  const longest = sequences.reduce((most, { ids }) => Math.max(most, ids.length), 1);
  const length = Math.ceil(longest / GRAIN) * GRAIN;
  const size = sequences.length * length;
  const [ids, targets, segments] = [new Uint32Array(size), new Int32Array(size).fill(-1), new Uint32Array(size)];
  let hasSegments = false;
  for (const [row, sequence] of sequences.entries()) {
    const at = row * length;
    ids.set(sequence.ids, at);
    targets.set(sequence.targets, at);
    segments.set(sequence.segments, at);
    const last = sequence.segments.at(-1) ?? 0;
    // What is behind the last example is of that example, too: nothing before it sees it.
    segments.fill(last, at + sequence.ids.length, at + length);
    hasSegments ||= last !== (sequence.segments[0] ?? 0);
  }
  const shape = [sequences.length, length];
  return {
    ids: gpu.tensor(ids, shape),
    targets: gpu.tensor(targets, shape),
    ...(hasSegments && { segments: gpu.tensor(segments, shape) }),
  };
}
