/**
 * Options that generators of sounds read.
 */
import { show } from '../check.js';
import { invalidArgument } from '../errors.js';

/** The projectors of Pocket TTS and of LFM3. @internal */
export const [POCKET, LFM3] = ['pockettts_gen', 'lfm3a_gen'] as const;

/** Seeds are below this. @internal */
export const MOST_SEED = 2 ** 32;

/** The most that each option may be. @internal */
export const NUMBERS = { temperature: 10, topK: 1e6, repetitionPenalty: 10, seed: MOST_SEED } as const;

/** Refuses what is no number from 0 to `most`, unless it is not given. @internal */
export function numberIn(what: string, value: unknown, most: number): void {
  if (value === undefined || (typeof value === 'number' && value >= 0 && value <= most)) return;
  throw invalidArgument(`${what} must be a number from 0 to ${most}, found ${show(value)}`);
}
