/**
 * Examples as token ids.
 */
import type { WasmModel } from '../../model/model.js';

/** What is learned from: a text. */
export type Example = string | { readonly text: string };

/** An example as ids. */
export interface EncodedExample {
  readonly ids: Uint32Array;
  /** 1 where the token is learned. */
  readonly learned: Uint8Array;
}

/** Texts as ids, of which all but the first are learned. */
export async function encodeExamples(
  model: WasmModel,
  examples: readonly Example[],
  _options: { length: number },
): Promise<EncodedExample[]> {
  const encoded: EncodedExample[] = [];
  for (const example of examples) {
    const ids = await model.tokenize(typeof example === 'string' ? example : example.text, { addSpecial: true });
    encoded.push({ ids, learned: new Uint8Array(ids.length).fill(1) });
  }
  return encoded;
}
