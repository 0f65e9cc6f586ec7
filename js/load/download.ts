/**
 * A file fetched over HTTP as a stream, resumed by range request where a connection breaks.
 */
import { ChunkReader, isNative } from './bytes.js';
import { shownUrl } from './cache/key.js';
import { abortable } from '../cancel.js';
import { files } from '../engine/files.js';
import { WebggufError, isAbort } from '../errors.js';
import {
  Connections,
  drop,
  fetchOnce,
  fetchPatiently,
  isBusy,
  type Patience,
  pause,
  Stalled,
  unlessStalled,
  untilResumed,
  waitFor,
} from './patience.js';
import {
  announcedSize,
  askFacts,
  type FileFacts,
  factsOf,
  GIVE_FILE,
  isPartial,
  problemOfRest,
  rangeRequest,
  sizeOfRange,
  statusOf,
  takesParts,
  takesRange,
} from './responses.js';
import type { NextPiece, Resume, Step } from './rest.js';
import type { ByteSource } from '../wasm/webgguf.js';
import type { Parts } from './parts.js';

/** Bytes that must arrive after a resumption before the tries are counted afresh: slow lines may break often. */
const PROGRESS = 1 << 20;

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
  /** The answer to a request with a range that the server does not take. */
  #refused: Response | undefined;
  #received = 0;
  #tries = 0;
  #receivedAtResume = 0;
  readonly #until: number | undefined;
  /** How many connections to open; nothing once no other may be opened. */
  #connections: Connections | undefined;
  /** The parts that are fetched over several connections. */
  #parts: Parts | undefined;
  #readsParts = false;
  /** Whether the connection was ended by a pause. */
  #isLetGo = false;
  /** A pause ends the connection, also between two reads. */
  readonly #onChange = (): void => void (this.#isPaused && this.letGo());

  /**
   * @param signal ends all requests of this download
   * @param resume asks only for the missing range; if the file changed, or without range requests, it starts at 0
   */
  constructor(request: Request, signal: AbortSignal, patience: Patience, resume?: Resume) {
    this.name = shownUrl(request.url);
    this.#request = request;
    this.#signal = signal;
    this.#patience = patience;
    this.#resumed = resume;
    this.#until = resume?.until;
    if (resume?.until === undefined) this.#connections = new Connections(patience.connections);
    else this.#begin(resume);
  }

  #begin({ at, facts }: Resume): void {
    this.#received = at;
    this.#facts = facts;
    this.#size = facts.size;
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
    await untilResumed(this.#patience.download, this.#signal);
    const response = (await this.#openRest()) ?? (await this.#openWhole());
    if (!response.body) throw this.#failed(`HTTP status ${response.status} without a body`);
    this.#facts = { ...factsOf(response), size: this.#size };
    this.#first = response;
    this.#chunks = new ChunkReader(response.body, this.name, isNative(response));
  }

  async #openWhole(): Promise<Response> {
    // Who was asked in vain often enough is asked once more, without a range.
    const ranged = this.#refused ? undefined : await this.#openRange();
    const retries = this.#refused && isBusy(this.#refused) ? 0 : this.#patience.retries;
    const response = ranged ?? (await this.#fetch(() => this.#request.clone(), retries));
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
      if (this.#signal.aborted || isStall(error)) throw error;
      return undefined;
    }
    const isFirst = !/^bytes [^0]/.test(response.headers.get('content-range') ?? '');
    if ((response.ok && isFirst) || isLimit(response)) return response;
    drop(response); // 416: the file is empty; servers that know no ranges have other answers
    this.#refused = response;
    return undefined;
  }

  /** The answer with the missing range of an earlier download; `undefined` if the whole file has to be requested. */
  async #openRest(): Promise<Response | undefined> {
    const { at, facts } = this.#resumed ?? { at: 0 };
    if (at === 0 || facts?.size === undefined) return undefined;
    this.#begin({ at, facts });
    const response = await this.#fetchRest(facts).catch((error: unknown) => {
      if (this.#signal.aborted || isStall(error)) throw error;
    });
    if (!response) return this.#beginAnew();
    if (isPartial(response) && !this.#problemOf(response, facts)) return response;
    this.#beginAnew();
    if (response.status === 200 && !isPartial(response)) {
      this.#size = sizeOfRange(response);
      return response;
    }
    drop(response);
    this.#refused = response;
    return undefined;
  }

  #beginAnew(): undefined {
    this.#received = 0;
    this.#size = undefined;
  }

  /**
   * Behind a service worker another origin looks like this one, but may refuse `If-Range`: then without it, since
   * `#problemOf` compares versions, too.
   */
  async #fetchRest(facts: FileFacts): Promise<Response> {
    try {
      return await this.#fetch(() => this.#rangeRequest(facts));
    } catch (error) {
      this.#signal.throwIfAborted();
      if (facts.crossOrigin || isStall(error)) throw error;
      return this.#fetch(() => this.#rangeRequest({ ...facts, crossOrigin: true }));
    }
  }

  /** Asks for the size alone. Servers may refuse that; only a file that does not exist is an error here. */
  async probe(): Promise<void> {
    const facts = await askFacts(this.#request, this.#signal, this.#patience);
    if (!facts) return;
    this.#size = facts.size;
    this.#facts = facts;
  }

  /** The next piece, in file order, or `undefined` at the end. Waits while the download is paused. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece = await this.nextOrPaused();
      if (piece !== 'paused') return piece;
      await untilResumed(this.#patience.download, this.#signal);
    }
  }

  /** As `next`, but does not wait while the download is paused. */
  async nextOrPaused(): Promise<NextPiece> {
    for (;;) {
      if (!this.#isPaused) this.#parts?.resume();
      else if (!this.#readsParts) return this.letGo();
      if (this.#isLetGo) await this.#takeUp();
      else if (!this.#chunks) await (this.#until === undefined ? this.open() : this.#resume(undefined, true));
      if (this.#isPaused && !this.#readsParts) continue; // since then
      const begun = performance.now();
      const step = await (this.#readsParts ? this.#stepOfParts() : this.#step());
      if (step.piece === 'paused') return 'paused';
      if (step.piece) return this.#share(this.#count(step.piece), performance.now() - begun);
      if ((this.#size === undefined && !step.broken) || this.#received === this.#end) return void this.cancel();
      if (!this.#isLetGo) await this.#resume(step.broken, step.atOnce);
    }
  }

  /** Ends the connections. */
  cancel(): void {
    this.#patience.download?.removeEventListener('change', this.#onChange);
    this.#connections = undefined;
    this.#chunks?.cancel();
    this.#parts?.cancel();
  }

  get #isPaused(): boolean {
    return this.#patience.download?.paused ?? false;
  }

  /** Ends the connection of a paused download, if the server supports ranges; else it is only not read. */
  letGo(): 'paused' {
    const hasRanges = this.#first?.status === 206 || this.#first?.headers.get('accept-ranges') === 'bytes';
    if (this.#chunks && !this.#readsParts && !this.#obstacle() && (hasRanges || this.#until !== undefined)) {
      this.#isLetGo = true;
      this.#chunks.cancel();
    }
    return 'paused';
  }

  /** Goes on after a pause. */
  async #takeUp(): Promise<void> {
    this.#isLetGo = false;
    if (this.#received !== this.#end) await this.#resume(undefined, true);
  }

  get #end(): number | undefined {
    return this.#until ?? this.#size;
  }

  /** One read of the only connection. */
  async #step(): Promise<Step> {
    this.#patience.download?.addEventListener('change', this.#onChange, { signal: this.#signal });
    try {
      const piece = abortable(this.#chunks?.next() ?? Promise.resolve(undefined), this.#signal);
      return { piece: await unlessStalled(piece, this.#patience, () => {}) };
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof WebggufError || isAbort(error)) throw error;
      return { broken: error };
    }
  }

  /** One read of the parts. If one fails after all of its tries, one connection goes on, if it opens at once. */
  async #stepOfParts(): Promise<Step> {
    try {
      const piece = await this.#parts?.next();
      this.#signal.throwIfAborted();
      return { piece };
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
   * Takes what came over the first connection. If that is slow, requests parts over several connections, and leaves it
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
    try {
      await unlessStalled(this.#parts.given(), this.#patience, () => {});
    } catch {
      this.#signal.throwIfAborted();
      this.#joinParts();
      return piece;
    }
    this.#chunks?.cancel();
    this.#readsParts = true;
    this.#isLetGo = false;
    this.#received -= surplus;
    return piece.subarray(0, piece.length - surplus);
  }

  /** Begins to fetch what lies a part ahead over all connections but one. */
  async #split(most: number): Promise<void> {
    const [size, facts] = [this.#size, this.#facts];
    if (most === 1 || size === undefined || !facts || !takesParts(this.#first, facts)) return;
    try {
      const { PART_BYTES, Parts } = await files.parts();
      if (this.#signal.aborted || !this.#connections) return; // it was ended meanwhile
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
      if ((this.#isLetGo = this.#isPaused)) return;
      const ask = () => fetchOnce(this.#rangeRequest(this.#facts), this.#signal, this.#patience).catch(() => {});
      let response = await ask();
      this.#signal.throwIfAborted();
      if (!response && this.#facts?.crossOrigin === false) {
        this.#facts = { ...this.#facts, crossOrigin: true }; // as in `#fetchRest`
        response = await ask();
        this.#signal.throwIfAborted();
      }
      busy = response && isBusy(response) ? response : undefined;
      if (busy) drop(busy);
      if (!response || busy) continue; // offline, or the server is busy: the next try may help
      const problem = this.#problemOf(response, this.#facts);
      if (problem) {
        drop(response);
        throw this.#cut(problem, cause);
      }
      this.#receivedAtResume = this.#received;
      this.#isLetGo = false;
      if (response.body) this.#chunks = new ChunkReader(response.body, this.name, isNative(response));
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

  #problemOf(response: Response, facts: FileFacts | undefined): string | undefined {
    return problemOfRest(response, { at: this.#received, until: this.#end, size: this.#size, facts });
  }

  #rangeRequest(facts: FileFacts | undefined): Request {
    return rangeRequest(this.#request, { at: this.#received, until: this.#until, facts });
  }

  /** `fetch` that waits for a busy server, and fails with `download_failed` and the URL. */
  async #fetch(make: () => Request, retries = this.#patience.retries): Promise<Response> {
    try {
      return await fetchPatiently(make, this.#signal, { ...this.#patience, retries });
    } catch (cause) {
      this.#signal.throwIfAborted();
      if (cause instanceof Stalled) throw this.#failed(cause.message, cause);
      if (isAbort(cause)) throw cause;
      // `c:` is a path of Windows.
      const hint = /^(file|[a-z]):/i.test(this.#request.url)
        ? GIVE_FILE
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

/** Whether the server wants fewer requests, whatever these ask for. */
const isLimit = ({ status }: Response): boolean => status === 429 || status === 408;

const isStall = (error: unknown): boolean => (error as Error).cause instanceof Stalled;
