/**
 * Learning from preferences without a reward model (Rafailov et al. 2023, "Direct Preference Optimization",
 * <https://arxiv.org/abs/2305.18290>). The reference is the model without the adapter.
 */
import type { FloatTensor } from '../../tensor/tensor.js';
import type { Gpu } from '../gpu.js';
import { learnedOf, parts, uploaded } from './batches.js';
import type { PackedSequence } from './packing.js';
import type { TrainableModel } from './trainable.js';

/** What a loss over pairs is computed with. A pair is one {@link PackedSequence}: its segment 0 is the chosen text. */
export interface Preference {
  /** How much it costs to differ from the reference. */
  readonly beta: number;
  /**
   * For each pair that was read: how much less likely the reference finds the chosen text than the rejected one, as a
   * difference of negative log-likelihoods, in nats.
   */
  readonly references: Map<PackedSequence, number>;
}

/** Pairs whose references are computed between two waits for the device. */
const AT_ONCE = 8;

/** The pair of two sequences of one example each. */
export function paired(chosen: PackedSequence, rejected: PackedSequence): PackedSequence {
  const length = chosen.ids.length + rejected.ids.length;
  const pair = { ids: new Uint32Array(length), targets: new Int32Array(length), segments: new Uint32Array(length) };
  for (const name of ['ids', 'targets'] as const) {
    pair[name].set(chosen[name]);
    pair[name].set(rejected[name], chosen.ids.length);
  }
  pair.segments.fill(1, chosen.ids.length);
  return pair;
}

/** The two sequences of a pair: chosen and rejected. */
function sidesOf({ ids, targets, segments }: PackedSequence): PackedSequence[] {
  const border = segments.indexOf(1);
  const side = (from: number, to: number): PackedSequence => ({
    ids: ids.slice(from, to),
    targets: targets.slice(from, to),
    segments: new Uint32Array(to - from),
  });
  return [side(0, border), side(border, ids.length)];
}

/** The loss of a pair, times `share`, as a function that can be differentiated; `free` frees what it reads. */
export function pairLoss(
  model: TrainableModel,
  { beta, references }: Preference,
  pair: PackedSequence,
  share: number,
): { of: (...rest: Rest) => FloatTensor; free: () => void } {
  const { gpu } = model;
  const sides = onDevice(model, pair);
  const reference = references.get(pair) as number;
  const of = (...rest: Rest): FloatTensor => {
    const [chosen, rejected] = sides.map(({ data, count }) => gpu.mul(model.loss(data, ...rest), count));
    // softplus(x) = −log σ(−x), without an exponential that overflows.
    return gpu.fuse([chosen as FloatTensor, rejected as FloatTensor], (c, r) => {
      const x = c.sub(r).sub(reference).mul(beta);
      return x.max(0).add(x.abs().neg().exp().add(1).log()).mul(share);
    });
  };
  return { of, free: () => freeAll(gpu, sides) };
}

/** Adapters and their scale, as a model's loss takes them. */
type Rest = [adapters: Parameters<TrainableModel['loss']>[1], scale: number];

/** Computes the references that are missing, each once. */
export async function learnReferences(
  model: TrainableModel,
  { references }: Preference,
  pairs: readonly PackedSequence[],
): Promise<void> {
  const { gpu } = model;
  for (const some of parts(
    pairs.filter((pair) => !references.has(pair)),
    AT_ONCE,
  )) {
    const all = gpu.noGrad(() =>
      gpu.scope(() => {
        const sums = some.flatMap((pair) =>
          onDevice(model, pair).map(({ data, count }) => gpu.scale(model.loss(data, {}, 0), count)),
        );
        return gpu.concat(sums.map((sum) => gpu.reshape(sum, [1])));
      }),
    );
    try {
      const sums = (await all.data()) as Float32Array;
      for (const [at, pair] of some.entries()) {
        references.set(pair, (sums[2 * at] as number) - (sums[2 * at + 1] as number));
      }
    } finally {
      all.free();
    }
  }
}

/** For each side the input of the loss, and the number of tokens that count: the loss is their mean. */
function onDevice({ gpu }: TrainableModel, pair: PackedSequence): Side[] {
  return sidesOf(pair).map((side) => ({ data: uploaded(gpu, [side]), count: learnedOf([side]) }));
}

interface Side {
  readonly data: ReturnType<typeof uploaded>;
  readonly count: number;
}

function freeAll(gpu: Gpu, sides: readonly Side[]): void {
  for (const { data } of sides) gpu.free(data.ids, data.targets);
}
