/**
 * Examples side by side in sequences of one length, so that little of a batch is padding.
 */
import { invalidArgument } from '../../errors.js';
import { show } from '../../check.js';
import type { EncodedExample } from './examples.js';

/** A sequence with some examples one behind the other, and padding. All arrays have the same length. */
export interface PackedSequence {
  /** The tokens; 0 in the padding. */
  readonly ids: Uint32Array;
  /** The token that follows each in its example, where that is learned; -1 elsewhere. */
  readonly targets: Int32Array;
  /** The number of the example in this sequence that a token belongs to, from 0 on; the padding has the last. */
  readonly segments: Uint32Array;
}

/**
 * Puts examples into as few sequences as it finds: the longest first, each where there is room (first-fit decreasing).
 *
 * Examples that are longer lose their end; those in which nothing is learned are left out.
 *
 * @param encoded what `encodeExamples` returns
 * @param length tokens of a sequence, at least 2
 * @returns sequences of this length
 * @throws {WebggufError} `invalid_argument` for a length that is none
 *
 * @example
 * const sequences = packExamples(await encodeExamples(model, examples, { length: 256 }), 256);
 * console.log(`${sequences.length} sequences of 256 tokens`);
 */
export function packExamples(encoded: readonly EncodedExample[], length: number): PackedSequence[] {
  if (!Number.isInteger(length) || length < 2) {
    throw invalidArgument(`packExamples: the length must be an integer of at least 2, found ${show(length)}`);
  }
  const order = encoded.filter((example) => teaches(example, length));
  order.sort((a, b) => b.ids.length - a.ids.length);
  const rows: { room: number; examples: EncodedExample[] }[] = [];
  for (const example of order) {
    const size = Math.min(example.ids.length, length);
    let row = rows.find(({ room }) => room >= size);
    if (!row) rows.push((row = { room: length, examples: [] }));
    row.room -= size;
    row.examples.push(example);
  }
  return rows.map(({ examples }) => sequenceOf(examples, length));
}

/** Whether anything is learned: the first token has none before it. */
function teaches({ learned }: EncodedExample, length: number): boolean {
  const first = learned.indexOf(1, 1);
  return first >= 0 && first < length;
}

function sequenceOf(examples: readonly EncodedExample[], length: number): PackedSequence {
  const ids = new Uint32Array(length);
  const targets = new Int32Array(length).fill(-1);
  const segments = new Uint32Array(length).fill(examples.length);
  let at = 0;
  for (const [segment, example] of examples.entries()) {
    const own = example.ids.subarray(0, length);
    ids.set(own, at);
    segments.fill(segment, at, at + own.length);
    for (let i = 1; i < own.length; i++) if (example.learned[i]) targets[at + i - 1] = own[i] as number;
    at += own.length;
  }
  return { ids, targets, segments };
}
