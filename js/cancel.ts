/**
 * Cancelling: from the caller's `AbortSignal` to everything that waits.
 */
import { fromWasm, invalidArgument } from './errors.js';

/**
 * What `run` of a model in WebAssembly gives. Once `signal` fires, `run` is told to end early and gives `undefined`;
 * the call rejects with the signal's reason, also where it was too late, and `drop` gets what came.
 * @internal
 */
export async function stoppable<T>(
  model: { cancel(): void },
  signal: AbortSignal | undefined,
  run: () => Promise<T | undefined>,
  drop: (late: T) => void = () => {},
): Promise<T> {
  signal?.throwIfAborted();
  const stop = (): void => model.cancel();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const found = await run();
    if (signal?.aborted && found !== undefined) drop(found);
    signal?.throwIfAborted();
    if (found === undefined) throw invalidArgument('the call was cancelled');
    return found;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** How long a cancelled load may take to free its buffers before `load` rejects without waiting, in milliseconds. */
const GRACE = 1000;

/** Rejects as soon as `signal` fires, whatever `promise` does. @internal */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * Waits for a model that is being loaded. When `signal` fires, loading is given a moment to end by itself, so that all
 * is freed when `load` rejects; a model that comes later is freed then.
 * @internal
 */
export async function settled<T extends { free(): void }>(loading: Promise<T>, signal: AbortSignal): Promise<T> {
  const late = new AbortController();
  const onAbort = (): void => void setTimeout(() => late.abort(signal.reason), GRACE);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await abortable(loading, late.signal);
  } catch (error) {
    if (late.signal.aborted)
      void loading.then(
        (model) => model.free(),
        () => {},
      );
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Runs `work` with a signal that fires with the caller's, and at any failure: nothing is left running. Rejects with the
 * reason of the caller's signal where that fired.
 * @internal
 */
export async function cancellable<T>(
  signal: AbortSignal | undefined,
  work: (scope: AbortSignal) => Promise<T>,
): Promise<T> {
  const scope = new AbortController();
  const onAbort = (): void => scope.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  scope.signal.throwIfAborted();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await work(scope.signal);
  } catch (error) {
    if (scope.signal.aborted) throw scope.signal.reason;
    scope.abort();
    throw fromWasm(error);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
