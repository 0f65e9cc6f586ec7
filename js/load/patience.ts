/**
 * How downloads wait: for a busy server to be free again, not for ever for one that gives no byte, and while they are
 * paused; and whether one connection is fast enough.
 */
import { abortable } from '../cancel.js';
import { knowItself, throughProxies } from '../proxies.js';

/** How often, and how long for, a load waits for a server, and over how many connections it reads. */
export interface Patience {
  /** Times in a row that a request is made again. */
  readonly retries: number;
  /** Milliseconds without a byte after which a connection counts as broken. */
  readonly stallTimeout: number;
  /** Connections for one file; by default as many as are of use. */
  readonly connections?: number | 'auto' | undefined;
  /** Pauses files, not what is asked for besides. */
  readonly download?: DownloadControl | undefined;
}

/** Wait before the first new try, in milliseconds; doubles with each. */
const BACKOFF = 500;
const LONGEST_BACKOFF = 8000;
/** The longest `Retry-After` that is waited for, in milliseconds; a server that wants more is not asked again. */
const LONGEST_WAIT = 60_000;

/** @internal */
export function patienceOf(given: Partial<Patience>): Patience {
  const { retries = 5, stallTimeout = 30_000, connections, download } = given;
  return { retries, stallTimeout, connections, download };
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
  // After a stall the answer is not awaited any more, but it may come all the same.
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
  return status === 408 || status === 429 || (status >= 500 && status !== 501);
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

/** Ends a response that is not read; its connection may have broken meanwhile. @internal */
export function drop(response: Response): void {
  response.body?.cancel().catch(() => {});
}

/** Connections of `auto` once one is slow. */
const SEVERAL = 4;
/** Bytes per millisecond below which a connection is slow. */
const SLOW = 10_000;
/** Bytes after which the rate is looked at. */
const WINDOW = 8 << 20;
/** Bytes with which a file has one connection: of a split model the headers of all files are read first. */
const HEADER = 1 << 20;

/** How fast one connection is, and so how many there are to be. @internal */
export class Connections {
  readonly #wanted: number | 'auto';
  #bytes = 0;
  #milliseconds = 0;

  constructor(wanted: number | 'auto' = 'auto') {
    this.#wanted = isMetered() ? 1 : wanted;
  }

  /** Counts bytes and how long they were waited for; says how many connections there should be. */
  after(bytes: number, milliseconds: number): number {
    this.#bytes += bytes;
    if (this.#wanted !== 'auto') return this.#bytes < HEADER ? 1 : this.#wanted;
    this.#milliseconds += milliseconds;
    if (this.#bytes < WINDOW) return 1;
    const isSlow = this.#bytes < SLOW * this.#milliseconds;
    this.#bytes = this.#milliseconds = 0;
    return isSlow ? SEVERAL : 1;
  }
}

/** Where the browser says so, bytes are paid for: no more come than are needed. */
function isMetered(): boolean {
  const { type, saveData } = Reflect.get(globalThis.navigator ?? {}, 'connection') ?? {};
  return type === 'cellular' || saveData === true;
}

/**
 * Pauses and resumes the downloads of the loads that it is given to, as option `download`. Its event `change` says
 * that {@link paused} is another.
 *
 * @example
 * const download = new DownloadControl();
 * const loading = WasmModel.load(url, { download });
 * button.onclick = () => (download.paused ? download.resume() : download.pause());
 * const model = await loading;
 */
export class DownloadControl extends EventTarget {
  #paused = false;

  constructor() {
    super();
    knowItself(this);
  }

  /** Whether downloads wait. */
  get paused(): boolean {
    return this.#paused;
  }

  /**
   * No more is downloaded until `resume()`: connections end, what has come is stored, and a load waits. What is stored
   * already is read all the same, so a load that needs no download goes on.
   */
  pause(): void {
    this.#set(true);
  }

  /** Downloads go on where they were. */
  resume(): void {
    this.#set(false);
  }

  #set(paused: boolean): void {
    if (this.#paused === paused) return;
    this.#paused = paused;
    this.dispatchEvent(new Event('change'));
  }
}
throughProxies(DownloadControl);

/** Resolves once `control` is not paused. Rejects with the reason of `signal` when that fires. @internal */
export async function untilResumed(control: DownloadControl | undefined, signal: AbortSignal): Promise<void> {
  while (control?.paused) {
    let stop = (): void => {};
    const change = new Promise<void>((resolve) => {
      stop = resolve;
      control.addEventListener('change', stop);
    });
    await abortable(change, signal).finally(() => control.removeEventListener('change', stop));
  }
}
