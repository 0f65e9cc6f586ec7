/**
 * A file fetched over HTTP as a stream, resumed by range request where a connection breaks.
 */
import { ChunkReader } from './bytes.js';
import { shownUrl } from './cache/key.js';
import { abortable } from '../cancel.js';
import { later } from '../engine/later.js';
import { Connections, takesParts } from './connections.js';
import { WebggufError, isAbort } from '../errors.js';
import {
  drop,
  fetchOnce,
  fetchPatiently,
  isBusy,
  type Patience,
  pause,
  Stalled,
  unlessStalled,
  waitFor,
} from './patience.js';
import {
  announcedSize,
  type FileFacts,
  factsOf,
  isChanged,
  sizeOfRange,
  statusOf,
  strongValidator,
  takesRange,
} from './responses.js';
import type { ByteSource } from '../wasm/webgguf.js';
import type { Parts } from './parts.js';

/** Bytes that must arrive after a resumption before the tries are counted afresh: slow lines may break often. */
const PROGRESS = 1 << 20;

/** A piece, the end, or the exception that broke the stream. */
interface Step {
  readonly piece?: Uint8Array | undefined;
  readonly broken?: unknown;
  /** Whether another connection may bring what this one did not. */
  readonly atOnce?: boolean;
}

/** Where a download goes on that was broken off earlier. @internal */
export interface Resume {
  /** The first byte that is missing. */
  readonly at: number;
  /** The version of the file that the bytes before it are of. */
  readonly facts: FileFacts;
  /** The end of a part that is fetched by itself; nothing else will do. */
  readonly until?: number;
}

/** One file from an HTTP server. @internal */
export class Download implements ByteSource {
  readonly name: string;
  readonly #request: Request;
  readonly #signal: AbortSignal;
  readonly #patience: Patience;
  readonly #resumed: Resume | undefined;
  #size: number | undefined;
  #chunks: ChunkReader | undefined;
  #first: Response | undefined;
  #facts: FileFacts | undefined;
  #received = 0;
  #tries = 0;
  #receivedAtResume = 0;
  readonly #until: number | undefined;
  /** Of one connection; nothing once there is to be no other. */
  #connections: Connections | undefined;
  /** The rest over several connections. */
  #parts: Parts | undefined;
  #readsParts = false;

  /**
   * @param signal ends all requests of this download
   * @param resume asks for the rest alone; where the file changed, or the server knows no ranges, it starts at 0
   */
  constructor(request: Request, signal: AbortSignal, patience: Patience, resume?: Resume) {
    this.name = shownUrl(request.url);
    this.#request = request;
    this.#signal = signal;
    this.#patience = patience;
    this.#resumed = resume;
    this.#until = resume?.until;
    if (!resume || this.#until === undefined) {
      this.#connections = new Connections(patience.connections);
      return;
    }
    this.#received = resume.at;
    this.#facts = resume.facts;
    this.#size = resume.facts.size;
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
    const response = (await this.#openRange()) ?? (await this.#fetch(() => this.#request.clone()));
    if (!response.ok) {
      drop(response);
      throw this.#failed(statusOf(response));
    }
    const size = takesRange(this.#request) ? sizeOfRange(response) : announcedSize(response);
    if (this.#size !== undefined && size !== undefined && size !== this.#size) {
      throw this.#failed(`the size changed from ${this.#size} to ${size} bytes while loading`);
    }
    this.#size ??= size;
    return response;
  }

  /**
   * The whole file as a range: for such a request browsers ask that nothing is compressed, so that its length is known.
   * `undefined` where all has to be asked for otherwise.
   */
  async #openRange(): Promise<Response | undefined> {
    if (!takesRange(this.#request)) return undefined;
    let response: Response;
    try {
      response = await this.#fetch(() => this.#rangeRequest(undefined));
    } catch (error) {
      // Chromium refuses an answer that is compressed all the same; older browsers ask another origin first whether it
      // takes this header, which many hosts refuse.
      const isRefused = !(error instanceof WebggufError && error.cause instanceof Stalled);
      if (this.#signal.aborted || !isRefused) throw error;
      return undefined;
    }
    const isFirst = !/^bytes [^0]/.test(response.headers.get('content-range') ?? '');
    if (response.status !== 416 && isFirst) return response; // 416: the file is empty
    drop(response);
    return undefined;
  }

  /** The answer with the rest of what was begun earlier; `undefined` where all has to be asked for. */
  async #openRest(): Promise<Response | undefined> {
    const { at, facts } = this.#resumed ?? { at: 0 };
    if (at === 0 || facts?.size === undefined) return undefined;
    this.#received = at;
    this.#size = facts.size;
    const response = await this.#fetch(() => this.#rangeRequest(facts));
    if (response.status === 206 && !this.#problemOf(response, facts)) return response;
    this.#received = 0;
    this.#size = undefined;
    if (response.status === 200) {
      this.#size = sizeOfRange(response);
      return response;
    }
    drop(response);
    if (isBusy(response)) throw this.#failed(statusOf(response));
    return undefined;
  }

  /** Asks for the size alone. Servers may refuse that; only a file that does not exist is an error here. */
  async probe(): Promise<void> {
    if (this.#request.method !== 'GET') return;
    const ask = async (request: Request): Promise<Response | undefined> => {
      const head = new Request(request, { method: 'HEAD' });
      const response = await fetchOnce(head, this.#signal, this.#patience).catch(() => undefined);
      this.#signal.throwIfAborted();
      if (response?.status === 404 || response?.status === 410) throw this.#failed(statusOf(response));
      return response?.ok ? response : undefined;
    };
    const ranged = takesRange(this.#request) ? await ask(this.#rangeRequest(undefined)) : undefined;
    const response = ranged ?? (await ask(this.#request.clone()));
    if (!response) return;
    this.#size = response.status === 206 ? sizeOfRange(response) : announcedSize(response);
    this.#facts = { ...factsOf(response), size: this.#size };
  }

  /** The next piece, in file order, or `undefined` at the end. */
  async next(): Promise<Uint8Array | undefined> {
    if (!this.#chunks) await (this.#until === undefined ? this.open() : this.#resume(undefined, true));
    for (;;) {
      const begun = performance.now();
      const step = await (this.#readsParts ? this.#stepOfParts() : this.#step());
      if (step.piece) return this.#share(this.#count(step.piece), performance.now() - begun);
      if (this.#size === undefined && !step.broken) return undefined;
      if (this.#received === this.#end) return undefined;
      await this.#resume(step.broken, step.atOnce);
    }
  }

  /** Ends the connections. */
  cancel(): void {
    this.#chunks?.cancel();
    this.#parts?.cancel();
  }

  get #end(): number | undefined {
    return this.#until ?? this.#size;
  }

  /** One read of the only connection. */
  async #step(): Promise<Step> {
    try {
      const piece = abortable(this.#chunks?.next() ?? Promise.resolve(undefined), this.#signal);
      return { piece: await unlessStalled(piece, this.#patience, () => {}) };
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof WebggufError || isAbort(error)) throw error;
      return { broken: error };
    }
  }

  /** The same of the parts. Where one fails, after all of its tries, the rest comes over one connection, if at once. */
  async #stepOfParts(): Promise<Step> {
    try {
      return { piece: await this.#parts?.next() };
    } catch (broken) {
      this.#signal.throwIfAborted();
      this.#joinParts();
      this.#tries = this.#patience.retries;
      return { broken, atOnce: true };
    }
  }

  /** From here on there is one connection. */
  #joinParts(): void {
    this.#parts?.cancel();
    this.#parts = this.#connections = undefined;
    this.#readsParts = false;
  }

  /**
   * What came over the first connection: asks for the rest over several where that connection is slow, and leaves it
   * to them where they begin, once the server gives them.
   */
  async #share(piece: Uint8Array, milliseconds: number): Promise<Uint8Array> {
    if (!this.#connections || this.#readsParts) return piece;
    if (!this.#parts) {
      await this.#split(this.#connections.after(piece.length, milliseconds));
      return piece;
    }
    const surplus = this.#received - this.#parts.start;
    if (surplus < 0) return piece;
    const given = unlessStalled(this.#parts.given(), this.#patience, () => {});
    const isGiven = await given.then(
      () => true,
      () => false,
    );
    this.#signal.throwIfAborted();
    if (!isGiven) {
      this.#joinParts();
      return piece;
    }
    this.#chunks?.cancel();
    this.#readsParts = true;
    this.#received -= surplus;
    return piece.subarray(0, piece.length - surplus);
  }

  /** Begins to fetch what lies a part ahead over all connections but one. */
  async #split(most: number): Promise<void> {
    const [size, facts] = [this.#size, this.#facts];
    if (most === 1 || size === undefined || !facts || !takesParts(this.#first, facts)) return;
    try {
      const { PART_BYTES, Parts } = await later.parts();
      const start = this.#received + PART_BYTES;
      if (start + PART_BYTES > size) return;
      const open = (at: number, until: number, signal: AbortSignal): Download =>
        new Download(this.#request, signal, this.#patience, { at, until, facts });
      this.#parts = new Parts(start, { size, most, open, signal: this.#signal });
    } catch {
      this.#connections = undefined; // the site no longer has this file of the package
    }
  }

  #count(piece: Uint8Array): Uint8Array {
    this.#received += piece.length;
    if (this.#received - this.#receivedAtResume >= PROGRESS) this.#tries = 0;
    const end = this.#end;
    if (end === undefined || this.#received <= end) return piece;
    this.cancel();
    throw this.#failed(
      `the server announced ${end} bytes and sent at least ${this.#received}` +
        ' (a compressed response hides its size: turn Content-Encoding off for this file)',
    );
  }

  /**
   * Opens the stream again where it broke, or throws `download_failed` with both numbers; `atOnce` is one more try,
   * without a wait.
   */
  async #resume(cause: unknown, atOnce = false): Promise<void> {
    const obstacle = this.#obstacle();
    if (obstacle) throw this.#cut(obstacle, cause);
    this.#chunks?.cancel();
    const { retries } = this.#patience;
    let busy: Response | undefined;
    for (let waits = !atOnce; !waits || this.#tries < retries; waits = true) {
      const wait = waits ? waitFor(this.#tries, busy) : 0;
      if (wait === undefined) break;
      if (waits) {
        await pause(wait, this.#signal);
        this.#tries += 1;
      }
      const response = await fetchOnce(this.#rangeRequest(this.#facts), this.#signal, this.#patience).catch(() => {});
      this.#signal.throwIfAborted();
      busy = response && isBusy(response) ? response : undefined;
      if (busy) drop(busy);
      if (!response || busy) continue; // offline, or the server is busy: the next try may help
      this.#checkRest(response, cause);
      this.#receivedAtResume = this.#received;
      if (response.body) this.#chunks = new ChunkReader(response.body, this.name);
      return;
    }
    const status = busy ? ` (${statusOf(busy)})` : '';
    throw this.#cut(`gave up after ${this.#tries} of ${retries} tries to resume${status}`, cause);
  }

  /** Why this download cannot be resumed at all, if so. */
  #obstacle(): string | undefined {
    if (this.#request.method !== 'GET') return `cannot resume a ${this.#request.method} request`;
    if (this.#size === undefined) return 'cannot resume, since the server did not announce the size';
    const ranges = this.#first?.headers.get('accept-ranges');
    return ranges === 'none' && this.#received > 0 ? 'the server takes no range requests' : undefined;
  }

  /**
   * The request for the rest. `If-Range` guards against a file that changed meanwhile; across origins it would cost
   * a preflight that many file hosts refuse, so there `#checkRest` alone compares what is visible.
   */
  #rangeRequest(facts: FileFacts | undefined): Request {
    const headers = new Headers(this.#request.headers);
    headers.set('range', `bytes=${this.#received}-${this.#until === undefined ? '' : this.#until - 1}`);
    const validator = facts?.crossOrigin ? undefined : strongValidator(facts);
    if (validator) headers.set('if-range', validator);
    return new Request(this.#request.clone(), { headers });
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
    // Before the first byte the whole file is the rest.
    const isWhole = status === 200;
    if (isWhole && this.#received > 0) return 'the server takes no range requests, or the file changed meanwhile';
    if (!isWhole && status !== 206) return `resuming gave HTTP status ${status}`;
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
    if (range && Number(range[1]) !== this.#received) return `the server resumed at byte ${range[1]}`;
    if (range && range[2] !== '*' && Number(range[2]) !== this.#size) return 'the file changed meanwhile';
    const rest = announcedSize(response);
    if (rest !== undefined && rest !== (this.#end ?? NaN) - this.#received) return 'the file changed meanwhile';
    return isChanged(facts, factsOf(response)) ? 'the file changed meanwhile' : undefined;
  }

  /** `fetch` that waits for a busy server, and fails with `download_failed` and the URL. */
  async #fetch(make: () => Request): Promise<Response> {
    try {
      return await fetchPatiently(make, this.#signal, this.#patience);
    } catch (cause) {
      this.#signal.throwIfAborted();
      if (cause instanceof Stalled) throw this.#failed(cause.message, cause);
      if (isAbort(cause)) throw cause;
      const hint = this.#request.url.startsWith('file:')
        ? 'give the file itself: a File, or in Node.js await openAsBlob(path) of node:fs'
        : 'offline, wrong address, or a server that does not allow this page (CORS)';
      throw this.#failed(`could not be fetched: ${hint}`, cause);
    }
  }

  #cut(reason: string, cause: unknown): WebggufError {
    const size = this.#size ?? 'unknown';
    const why = cause instanceof Stalled ? ` (${cause.message})` : '';
    return this.#failed(`the download broke after ${this.#received} of ${size} bytes${why}: ${reason}`, cause);
  }

  #failed(what: string, cause?: unknown): WebggufError {
    return new WebggufError('download_failed', `${this.name}: ${what}`, { cause });
  }
}
