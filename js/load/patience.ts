/**
 * Requests that wait: for a busy server to be free again, and not for ever for one that gives no byte.
 */
import { abortable } from '../cancel.js';

/** How often, and how long for, a load waits for a server, and over how many connections it reads. */
export interface Patience {
  /** Times in a row that a request is made again. */
  readonly retries: number;
  /** Milliseconds without a byte after which a connection counts as broken. */
  readonly stallTimeout: number;
  /** Connections for one file; by default as many as are of use. */
  readonly connections?: number | 'auto' | undefined;
}

/** Wait before the first new try, in milliseconds; doubles with each. */
const BACKOFF = 500;
const LONGEST_BACKOFF = 8000;
/** The longest `Retry-After` that is waited for, in milliseconds; a server that wants more is not asked again. */
const LONGEST_WAIT = 60_000;

/** @internal */
export function patienceOf({ retries = 5, stallTimeout = 30_000, connections }: Partial<Patience>): Patience {
  return { retries, stallTimeout, connections };
}

/** Nothing came for too long. @internal */
export class Stalled extends Error {
  constructor(milliseconds: number) {
    super(`no byte for ${milliseconds / 1000} s`);
  }
}

/** `promise`, or `Stalled` where it takes too long; then `giveUp` runs. @internal */
export async function unlessStalled<T>(
  promise: Promise<T>,
  { stallTimeout }: Patience,
  giveUp: () => void,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stall = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Stalled(stallTimeout));
      giveUp();
    }, stallTimeout);
  });
  try {
    return await Promise.race([promise, stall]);
  } finally {
    clearTimeout(timer);
  }
}

/** `fetch` until the headers are there; `signal` also ends the body. @internal */
export async function fetchOnce(request: Request, signal: AbortSignal, patience: Patience): Promise<Response> {
  const connection = new AbortController();
  const abort = (): void => connection.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  const answer = fetch(request, { signal: connection.signal });
  // Where the connection stalled, nobody waits for the answer, but it may come all the same.
  answer.then((late) => connection.signal.aborted && drop(late)).catch(() => {});
  return unlessStalled(answer, patience, () => connection.abort());
}

/** `fetch`, again where the server is busy. Rejects as `fetch` does. @internal */
export async function fetchPatiently(make: () => Request, signal: AbortSignal, patience: Patience): Promise<Response> {
  for (let tries = 0; ; tries += 1) {
    const response = await fetchOnce(make(), signal, patience);
    const wait = isBusy(response) && tries < patience.retries ? waitFor(tries, response) : undefined;
    if (wait === undefined) return response;
    drop(response);
    await pause(wait, signal);
  }
}

/** Whether the same request may be answered later. @internal */
export function isBusy({ status }: Response): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Milliseconds before the next try; `undefined` where the server wants more than anybody waits. @internal */
export function waitFor(tries: number, response?: Response): number | undefined {
  const after = response?.headers.get('retry-after');
  if (!after) return Math.min(BACKOFF * 2 ** tries, LONGEST_BACKOFF);
  const wait = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  if (Number.isNaN(wait)) return waitFor(tries);
  return wait <= LONGEST_WAIT ? Math.max(wait, 0) : undefined;
}

/** @internal */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return abortable(wait, signal).finally(() => clearTimeout(timer));
}

/** Ends a response that nobody reads; its connection may have broken meanwhile. @internal */
export function drop(response: Response): void {
  response.body?.cancel().catch(() => {});
}
