/**
 * Examples one after the other in sequences of one length.
 */
import type { EncodedExample } from './examples.js';

/** Examples side by side; each sees only its own tokens. */
export interface PackedSequence {
  readonly ids: Uint32Array;
  /** The id that follows each token; -1 where that is not learned. */
  readonly targets: Int32Array;
  /** The number of the example that a token belongs to. */
  readonly segments: Uint32Array;
}

/** Puts examples into as few sequences as they fit by the order of their lengths. */
export function packExamples(encoded: readonly EncodedExample[], length: number): PackedSequence[] {
  const sorted = [...encoded].sort((a, b) => b.ids.length - a.ids.length);
  const bins: { used: number; items: EncodedExample[] }[] = [];
  for (const item of sorted) {
    const bin = bins.find(({ used }) => used + item.ids.length <= length);
    if (bin) {
      bin.items.push(item);
      bin.used += item.ids.length;
    } else bins.push({ used: item.ids.length, items: [item] });
  }
  return bins.map(({ items }) => ({
    ids: Uint32Array.from(items.flatMap(({ ids }) => [...ids])),
    targets: Int32Array.from(
      items.flatMap(({ ids, learned }) => [...ids].map((_, at) => (learned[at + 1] ? (ids[at + 1] as number) : -1))),
    ),
    segments: Uint32Array.from(items.flatMap(({ ids }, index) => Array<number>(ids.length).fill(index))),
  }));
}
