/**
 * From examples to the sequences that a run reads.
 */
import { invalidArgument } from '../../errors.js';
import type { WasmModel } from '../../model/model.js';
import { show } from '../../check.js';
import { type Dataset, learnedOf, parts } from './batches.js';
import { type EncodedExample, type Example, encodeExamples, isPreference, sidesOf } from './examples.js';
import { type PackedSequence, packExamples } from './packing.js';
import { paired } from './preference.js';
import { shuffled } from './random.js';
import type { RunOptions, TrainingWarning } from './types.js';

/** The stream of random numbers that decides which examples are held out. */
const HELD_OUT = 1 << 19;

/** What decides on the sequences beside the examples. */
export interface DataOptions {
  readonly length: number;
  readonly seed: number;
  /** Whether a sequence may have several examples. */
  readonly packs: boolean;
  readonly warn: (warning: TrainingWarning) => void;
}

/**
 * The examples as sequences of at most `length` tokens, and those that are held out.
 *
 * @throws {WebggufError} `invalid_argument` where nothing is learned
 */
export async function dataOf(
  model: WasmModel,
  examples: readonly Example[],
  { heldOut = 0, loss, signal }: RunOptions,
  { length, seed, packs, warn }: DataOptions,
): Promise<Dataset> {
  if (examples.length === 0) throw invalidArgument('run: there are no examples');
  const arePairs = loss === 'dpo';
  const encode = async (list: readonly Example[], what: string): Promise<Unit[]> => {
    const sides = arePairs ? sidesOfAll(list) : list;
    const encoded = await encodeExamples(model, sides, { length, signal });
    tellCut(encoded, length, what, warn);
    return parts(encoded, arePairs ? 2 : 1);
  };
  const encoded = await encode(examples, 'examples');
  const packed = (list: readonly Unit[]): PackedSequence[] => {
    if (arePairs) return list.flatMap((unit) => pairOf(unit, length));
    return (packs ? [list.flat()] : list).flatMap((some) => sequencesOf(some, length));
  };
  if (typeof heldOut !== 'number') {
    const others = heldOut.length > 0 ? await encode(heldOut, 'held-out examples') : [];
    return checked({ sequences: packed(encoded), heldOut: packed(others) }, encoded, others);
  }
  const count = heldOut === 0 ? 0 : Math.max(1, Math.round(heldOut * encoded.length));
  if (count >= encoded.length) {
    throw invalidArgument(`run: heldOut ${heldOut} of ${encoded.length} examples leaves none to learn from`);
  }
  const chosen = new Set(shuffled(encoded.length, seed, HELD_OUT).slice(0, count));
  const [learned, others] = [false, true].map((isHeld) => encoded.filter((_, at) => chosen.has(at) === isHeld));
  const sides = [learned, others] as [Unit[], Unit[]];
  return checked({ sequences: packed(sides[0]), heldOut: packed(sides[1]) }, ...sides);
}

/** An example, or the two sides of a pair. */
type Unit = readonly EncodedExample[];

function sidesOfAll(list: readonly Example[]): Example[] {
  return list.flatMap((example, index) => {
    if (isPreference(example)) return sidesOf(example);
    const found = show(example);
    throw invalidArgument(`run: examples[${index}]: loss 'dpo' needs { prompt, chosen, rejected }, found ${found}`);
  });
}

/** A pair as one sequence; none where one of its sides teaches nothing. */
function pairOf(unit: Unit, length: number): PackedSequence[] {
  const [[chosen], [rejected]] = unit.map((side) => sequencesOf([side], length)) as [
    PackedSequence[],
    PackedSequence[],
  ];
  return chosen && rejected ? [paired(chosen, rejected)] : [];
}

/** Tells the page of examples that were too long. */
function tellCut(
  encoded: readonly EncodedExample[],
  length: number,
  what: string,
  warn: (warning: TrainingWarning) => void,
): void {
  const most = encoded.reduce((longest, { cut }) => Math.max(longest, cut), 0);
  if (most === 0) return;
  const count = encoded.filter(({ cut }) => cut > 0).length;
  const which = `${count} of ${encoded.length} ${what} have more than ${length} tokens`;
  warn({ code: 'examples_cut', message: `${which}, up to ${length + most}, and end there` });
}

/** Sequences, without those that teach nothing, and without what is behind the last token that is learned. */
function sequencesOf(encoded: readonly EncodedExample[], length: number): PackedSequence[] {
  return packExamples(encoded, length)
    .filter((sequence) => learnedOf([sequence]) > 0)
    .map(({ ids, targets, segments }) => {
      let end = targets.length;
      while ((targets[end - 1] as number) < 0) end -= 1;
      return { ids: ids.slice(0, end), targets: targets.slice(0, end), segments: segments.slice(0, end) };
    });
}

function checked(data: Dataset, learned: readonly unknown[], heldOut: readonly unknown[]): Dataset {
  if (data.sequences.length === 0) {
    throw invalidArgument(`run: no token of the ${learned.length} examples is learned`);
  }
  if (heldOut.length > 0 && data.heldOut.length === 0) {
    throw invalidArgument(`run: no token of the ${heldOut.length} held-out examples is learned`);
  }
  return data;
}
