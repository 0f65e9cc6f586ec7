/**
 * Waiting until something is there, or until it is not wanted any more.
 */

/**
 * What `work` gives, or `otherwise` once `signal` fires. A `Promise.race` with a promise of the signal would keep what
 * each of many works gave until the signal fires. @internal
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal, otherwise: T): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve(otherwise);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
