/**
 * Room for all logits of a text.
 */
import { WebggufError } from '../errors.js';
import type { ModelInfo } from '../types/info.js';

/** Most elements of a typed array that WebAssembly can address. */
const MOST_ELEMENTS = 2 ** 32 - 1;

/**
 * An array for all logits of `count` ids; `undefined` where the ids do not fit the context, which is reported.
 * @internal
 */
export function roomForLogits(
  count: number,
  { contextLength, vocabularySize }: Pick<ModelInfo, 'contextLength' | 'vocabularySize'>,
): Float32Array | undefined {
  if (count > contextLength) return undefined;
  const elements = count * vocabularySize;
  try {
    if (elements > MOST_ELEMENTS) throw new RangeError(`a typed array has at most ${MOST_ELEMENTS} elements here`);
    return new Float32Array(elements);
  } catch (cause) {
    const message =
      `evaluate: no memory for the logits of ${count} ids over a vocabulary of ${vocabularySize}: ` +
      `${4 * elements} bytes`;
    throw new WebggufError('out_of_memory', message, { cause });
  }
}
