/**
 * The parts of an image or a sound, one after the other, and errors of the module that prepares them.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { pause } from './steps.js';

/** Who waits for the parts. */
interface Waiting {
  readonly signal?: AbortSignal | undefined;
  readonly report?: ((share: number) => void) | undefined;
}

/** Encodes the tiles of an image or the pieces of a sound one after the other. @internal */
export async function oneByOne<T>(
  count: number,
  { signal, report }: Waiting,
  encode: (part: number) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  for (let part = 0; part < count; part++) {
    // On the CPU a part is encoded without a pause: a message that cancels the request is read in between.
    await pause();
    signal?.throwIfAborted();
    report?.(part / count);
    found.push(await encode(part));
  }
  report?.(1);
  return found;
}

/** The module throws strings. @internal */
export function named<T>(what: 'image' | 'audio', work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (typeof cause === 'string') throw invalidArgument(`${what}: ${cause}`);
    throw new WebggufError('internal', `${what}: ${String(cause)}`, { cause });
  }
}
