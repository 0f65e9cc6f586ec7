/**
 * Where a speech that is too long is cut.
 */
import { RATE } from './resample.js';

/** Samples of the moments among which the quietest is looked for. */
const MOMENT = 0.1 * RATE;

/** Where `samples` at 16 kHz are cut: the middle of the quietest moment of their second half. @internal */
export function quietest(samples: Float32Array): number {
  let [best, least] = [samples.length, Infinity];
  for (let at = Math.floor(samples.length / 2); at + MOMENT <= samples.length; at += MOMENT / 2) {
    let power = 0;
    for (let number = 0; number < MOMENT; number += 1) power += (samples[at + number] as number) ** 2;
    if (power < least) [best, least] = [at + MOMENT / 2, power];
  }
  return best;
}
