/**
 * Work in steps, between which the page does something else.
 */

/** How long is worked without a pause, in milliseconds. */
const BUSY_MS = 16;

/** Lets the page do something else. @internal */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Steps until one returns true, with a pause before the page would notice. @internal */
export async function inSteps(step: () => boolean, signal?: AbortSignal): Promise<void> {
  let start = performance.now();
  while (!step()) {
    if (performance.now() - start < BUSY_MS) continue;
    await pause();
    signal?.throwIfAborted();
    start = performance.now();
  }
}

/** Does `work` with the parts of what has `length`, `size` at a time. @internal */
export function inParts(
  length: number,
  size: number,
  work: (from: number, to: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  let at = 0;
  const step = (): boolean => {
    const from = at;
    at = Math.min(from + size, length);
    if (from < at) work(from, at);
    return at === length;
  };
  return inSteps(step, signal);
}

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
