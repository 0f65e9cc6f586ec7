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
