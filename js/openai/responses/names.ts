/**
 * Names of responses and of their items: from the name of an item follows the name of its response.
 */
import { randomId } from '../completions.js';

const LETTERS = 28;
const DIGITS = 6;
/** Items of the input are numbered from here, items of the output from 0. */
const OF_INPUT = 0x800000;

/** A new name of a response. @internal */
export const newResponse = (): string => randomId('resp_', LETTERS);

/** The name of an item of the output, with the prefix of its kind. @internal */
export const outputItem = (kind: string, response: string, index: number): string =>
  `${kind}_${response.slice(5)}${index.toString(16).padStart(DIGITS, '0')}`;

/** The name of an item of the input, with the prefix of its kind. @internal */
export const inputItem = (kind: string, response: string, index: number): string =>
  outputItem(kind, response, OF_INPUT + index);

/** The response of an item; nothing where that is no name of an item. @internal */
export function responseOf(item: string): string | undefined {
  const [, letters] = /^[a-z]+_([A-Za-z0-9]{28})[0-9a-f]{6}$/.exec(item) ?? [];
  return letters && `resp_${letters}`;
}
