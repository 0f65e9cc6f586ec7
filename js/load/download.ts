/**
 * A file fetched over HTTP as a stream, resumed by range request where a connection breaks.
 */
import { ChunkReader } from './bytes.js';
import { abortable } from '../cancel.js';
import { WebggufError, invalidArgument, isAbort } from '../errors.js';
import type { ByteSource } from '../wasm/webgguf.js';

/** Tries in a row to resume a broken download. */
const TRIES = 3;
/** Wait before the first try, in milliseconds; doubles with each. */
const BACKOFF = 500;
/** Bytes that must arrive after a resumption before the tries are counted afresh: slow lines may break often. */
const PROGRESS = 1 << 20;

/** What a server says of a file, to tell one version from another. @internal */
export interface FileFacts {
  /** Bytes of the file. */
  readonly size?: number | undefined;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  /** Whether it came from another origin, where `If-Range` would need the server's consent. */
  readonly crossOrigin: boolean;
}

/** Where a download goes on that was broken off earlier. @internal */
export interface Resume {
  /** The first byte that is missing. */
  readonly at: number;
  /** The version of the file that the bytes before it are of. */
  readonly facts: FileFacts;
}

/** One file from an HTTP server. @internal */
export class Download implements ByteSource {
  readonly name: string;
  readonly #request: Request;
  readonly #signal: AbortSignal;
  readonly #resumed: Resume | undefined;
  #size: number | undefined;
  #chunks: ChunkReader | undefined;
  #first: Response | undefined;
  #facts: FileFacts | undefined;
  #received = 0;
  #tries = 0;
  #receivedAtResume = 0;

  /**
   * @param signal ends all requests of this download
   * @param resume asks for the rest alone; where the file changed, or the server knows no ranges, it starts at 0
   */
  constructor(request: Request, signal: AbortSignal, resume?: Resume) {
    this.name = request.url;
    this.#request = request;
    this.#signal = signal;
    this.#resumed = resume;
  }

  /** Bytes of the file, as the server announced them. */
  get size(): number | undefined {
    return this.#size;
  }

  /** Offset of the next byte in the file. */
  get position(): number {
    return this.#received;
  }

  /** What the server said of the file, once it is open. */
  get facts(): FileFacts | undefined {
    return this.#facts;
  }

  /** Sends the request and learns the size; throws `download_failed` with URL and status. */
  async open(): Promise<void> {
    const response = (await this.#openRest()) ?? (await this.#openWhole());
    if (!response.body) throw this.#failed(`HTTP status ${response.status} without a body`);
    this.#facts = { ...factsOf(response), size: this.#size };
    this.#first = response;
    this.#chunks = new ChunkReader(response.body, this.name);
  }

  async #openWhole(): Promise<Response> {
    const response = await this.#fetch(new Request(this.#request.clone(), { signal: this.#signal }));
    if (!response.ok) {
      drop(response);
      throw this.#failed(statusOf(response));
    }
    const size = announcedSize(response);
    if (this.#size !== undefined && size !== undefined && size !== this.#size) {
      throw this.#failed(`the size changed from ${this.#size} to ${size} bytes while loading`);
    }
    this.#size ??= size;
    return response;
  }

  /** The answer with the rest of what was begun earlier; `undefined` where all has to be asked for. */
  async #openRest(): Promise<Response | undefined> {
    const { at, facts } = this.#resumed ?? { at: 0 };
    if (at === 0 || facts?.size === undefined) return undefined;
    this.#received = at;
    this.#size = facts.size;
    const response = await this.#fetch(this.#rangeRequest(facts));
    if (response.status === 206 && !this.#problemOf(response, facts)) return response;
    this.#received = 0;
    this.#size = undefined;
    if (response.status === 200) {
      this.#size = announcedSize(response);
      return response;
    }
    drop(response);
    return undefined;
  }

  /** Asks for the size alone. Servers may refuse that; only a file that does not exist is an error here. */
  async probe(): Promise<void> {
    if (this.#request.method !== 'GET') return;
    const request = new Request(this.#request.clone(), { method: 'HEAD', signal: this.#signal });
    const response = await fetch(request).catch(() => undefined);
    this.#signal.throwIfAborted();
    if (response?.status === 404 || response?.status === 410) throw this.#failed(statusOf(response));
    if (!response?.ok) return;
    this.#size = announcedSize(response);
    this.#facts = { ...factsOf(response), size: this.#size };
  }

  /** The next piece, in file order, or `undefined` at the end. */
  async next(): Promise<Uint8Array | undefined> {
    if (!this.#chunks) await this.open();
    for (;;) {
      const step = await this.#step();
      if (step.piece) return this.#count(step.piece);
      if (this.#size === undefined && !step.broken) return undefined;
      if (this.#received === this.#size) return undefined;
      await this.#resume(step.broken);
    }
  }

  /** Ends the connection. */
  cancel(): void {
    this.#chunks?.cancel();
  }

  /** One read: a piece, the end, or the exception that broke the stream. */
  async #step(): Promise<{ piece?: Uint8Array | undefined; broken?: unknown }> {
    try {
      return { piece: await abortable(this.#chunks?.next() ?? Promise.resolve(undefined), this.#signal) };
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof WebggufError || isAbort(error)) throw error;
      return { broken: error };
    }
  }

  #count(piece: Uint8Array): Uint8Array {
    this.#received += piece.length;
    if (this.#received - this.#receivedAtResume >= PROGRESS) this.#tries = 0;
    if (this.#size === undefined || this.#received <= this.#size) return piece;
    this.cancel();
    throw this.#failed(
      `the server announced ${this.#size} bytes and sent at least ${this.#received}` +
        ' (a compressed response hides its size: turn Content-Encoding off for this file)',
    );
  }

  /** Opens the stream again where it broke, or throws `download_failed` with both numbers. */
  async #resume(cause: unknown): Promise<void> {
    const obstacle = this.#obstacle();
    if (obstacle) throw this.#cut(obstacle, cause);
    this.cancel();
    while (this.#tries < TRIES) {
      await pause(BACKOFF * 2 ** this.#tries, this.#signal);
      this.#tries += 1;
      const response = await this.#fetch(this.#rangeRequest(this.#facts)).catch(() => undefined);
      this.#signal.throwIfAborted();
      // Offline, or the server is busy: the next try may help.
      if (!response || response.status === 429 || response.status >= 500) continue;
      this.#checkRest(response, cause);
      this.#receivedAtResume = this.#received;
      if (response.body) this.#chunks = new ChunkReader(response.body, this.name);
      return;
    }
    throw this.#cut(`gave up after ${TRIES} tries to resume`, cause);
  }

  /** Why this download cannot be resumed at all, if so. */
  #obstacle(): string | undefined {
    if (this.#request.method !== 'GET') return `cannot resume a ${this.#request.method} request`;
    if (this.#size === undefined) return 'cannot resume, since the server did not announce the size';
    const ranges = this.#first?.headers.get('accept-ranges');
    return ranges === 'none' ? 'the server takes no range requests' : undefined;
  }

  /**
   * The request for the rest. `If-Range` guards against a file that changed meanwhile; across origins it would cost
   * a preflight that many file hosts refuse, so there `#checkRest` alone compares what is visible.
   */
  #rangeRequest(facts: FileFacts | undefined): Request {
    const headers = new Headers(this.#request.headers);
    headers.set('range', `bytes=${this.#received}-`);
    const validator = facts?.crossOrigin ? undefined : strongValidator(facts);
    if (validator) headers.set('if-range', validator);
    return new Request(this.#request.clone(), { headers, signal: this.#signal });
  }

  /** Throws unless `response` is the missing rest of the same file. */
  #checkRest(response: Response, cause: unknown): void {
    const problem = this.#problemOf(response, this.#facts);
    if (!problem) return;
    drop(response);
    throw this.#cut(problem, cause);
  }

  #problemOf(response: Response, facts: FileFacts | undefined): string | undefined {
    const { headers, status } = response;
    if (status === 200) return 'the server takes no range requests, or the file changed meanwhile';
    if (status !== 206) return `resuming gave HTTP status ${status}`;
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
    if (range && Number(range[1]) !== this.#received) return `the server resumed at byte ${range[1]}`;
    if (range && range[2] !== '*' && Number(range[2]) !== this.#size) return 'the file changed meanwhile';
    const rest = announcedSize(response);
    if (rest !== undefined && rest !== (this.#size ?? NaN) - this.#received) return 'the file changed meanwhile';
    return isChanged(facts, factsOf(response)) ? 'the file changed meanwhile' : undefined;
  }

  /** `fetch` that fails with `download_failed` and the URL. */
  async #fetch(request: Request): Promise<Response> {
    try {
      return await fetch(request);
    } catch (cause) {
      this.#signal.throwIfAborted();
      if (isAbort(cause)) throw cause;
      const hint = request.url.startsWith('file:')
        ? 'give the file itself: a File, or in Node.js await openAsBlob(path) of node:fs'
        : 'offline, wrong address, or a server that does not allow this page (CORS)';
      throw this.#failed(`could not be fetched: ${hint}`, cause);
    }
  }

  #cut(reason: string, cause: unknown): WebggufError {
    const size = this.#size ?? 'unknown';
    return this.#failed(`the download broke after ${this.#received} of ${size} bytes: ${reason}`, cause);
  }

  #failed(what: string, cause?: unknown): WebggufError {
    return new WebggufError('download_failed', `${this.name}: ${what}`, { cause });
  }
}

/** The request for a URL; throws `invalid_argument` for one that is none. @internal */
export function requestFor(source: string | URL | Request): Request {
  if (source instanceof Request) {
    if (source.bodyUsed) throw invalidArgument(`${source.url}: the body of this request was used already`);
    return source;
  }
  if (String(source).trim() === '') throw invalidArgument('the URL of the model is empty');
  try {
    return new Request(source);
  } catch (cause) {
    throw new WebggufError('invalid_argument', `not a URL that can be fetched: '${String(source)}'`, { cause });
  }
}

/** Bytes of the body; `undefined` where the server is silent or compresses. @internal */
export function announcedSize(response: Response): number | undefined {
  const encoding = response.headers.get('content-encoding');
  if (encoding && encoding !== 'identity') return undefined;
  const length = response.headers.get('content-length');
  return length && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** What a response says of its file; the size is that of its body, so it is left out. */
function factsOf({ headers, type }: Response): FileFacts {
  // Hugging Face's storage has ETags of its own; where the hub's can be seen, it is the digest of the file.
  const etag = headers.get('x-linked-etag') ?? headers.get('etag') ?? undefined;
  return { etag, lastModified: headers.get('last-modified') ?? undefined, crossOrigin: type === 'cors' };
}

/** Whether two answers are of different versions, as far as both say something. @internal */
export function isChanged(before: FileFacts | undefined, after: FileFacts | undefined): boolean {
  const differ = (a: string | number | undefined, b: string | number | undefined): boolean =>
    a !== undefined && b !== undefined && a !== b;
  if (differ(before?.size, after?.size) || differ(before?.etag, after?.etag)) return true;
  return !before?.etag && !after?.etag && differ(before?.lastModified, after?.lastModified);
}

/** What `If-Range` may carry: a strong ETag, else the date. */
function strongValidator(facts: FileFacts | undefined): string | undefined {
  const { etag, lastModified } = facts ?? {};
  return etag && !etag.startsWith('W/') ? etag : lastModified;
}

/** A status in words, with what Hugging Face's hub says of it. */
function statusOf({ status, statusText, headers }: Response): string {
  const text = `HTTP status ${status} ${statusText}`.trim();
  const reason = headers.get('x-error-message') ?? headers.get('x-error-code');
  if (headers.get('x-error-code') === 'GatedRepo') {
    return `${text}: ${reason}; accept the terms on the model's page and load it with an access token (option 'token')`;
  }
  return reason ? `${text}: ${reason}` : text;
}

/**
 * Reads `length` bytes from `offset` on by a range request of its own.
 *
 * @throws {WebggufError} `download_failed` for any answer but these bytes
 * @internal
 */
export async function fetchRange(
  request: Request,
  { offset, length }: { readonly offset: number; readonly length: number },
): Promise<Uint8Array> {
  const range = `bytes=${offset}-${offset + length - 1}`;
  const failed = (what: string, cause?: unknown): WebggufError =>
    new WebggufError('download_failed', `${request.url}: asked for ${range}: ${what}`, { cause });
  const headers = new Headers(request.headers);
  headers.set('range', range);
  try {
    const response = await fetch(new Request(request.clone(), { headers }));
    if (response.status !== 206) {
      drop(response);
      throw failed(response.ok ? 'the server takes no range requests' : statusOf(response));
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length === length) return bytes;
    throw failed(`received ${bytes.length} bytes of ${length}`);
  } catch (cause) {
    if (cause instanceof WebggufError) throw cause;
    throw failed('could not be fetched', cause);
  }
}

/** Ends a response that nobody reads; its connection may have broken meanwhile. */
function drop(response: Response): void {
  response.body?.cancel().catch(() => {});
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return abortable(wait, signal).finally(() => clearTimeout(timer));
}
