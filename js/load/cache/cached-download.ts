/**
 * A file from an HTTP server through the cache: stored bytes are read, missing ones are downloaded, and stored while
 * they are used.
 */
import { fromBlob } from '../bytes.js';
import { Download } from '../download.js';
import type { NextPiece } from '../rest.js';
import { type FileFacts, fetchRange, isChanged } from '../responses.js';
import { WebggufError } from '../../errors.js';
import type { LoadSource } from '../source.js';
import { type Patience, untilResumed } from '../patience.js';
import type { ByteSource } from '../../wasm/webgguf.js';
import type { Place } from './folder.js';
import { addressOf, shownUrl } from './key.js';
import { hashYielding, Sha256, wrongDigest } from './sha256.js';
import { Slot } from './slot.js';
import type { FileState } from './state.js';
import type { LoadWarning } from './warning.js';

/** What may be left of a file for `finish` to wait for it. */
const SMALL_REST = 4 << 20;

/** How a file is to be cached. @internal */
export interface CacheRules {
  /** Other names of the model. */
  readonly aliases: readonly string[];
  /** Whether the page gave the model its name, so that the URL does not count. */
  readonly isNamed: boolean;
  /** The digest that the page was promised, in lower-case hexadecimal. */
  readonly sha256?: string | undefined;
  /** Ask the server whether a stored file is still the same. */
  readonly revalidate: boolean;
  /** Bytes that all stored models may take. */
  readonly limit?: number | undefined;
  readonly patience: Patience;
  readonly warn: (warning: LoadWarning) => void;
}

/** Whether a stored file is the one that is asked for, without asking the server. @internal */
export function isMeant(state: FileState, url: string, { isNamed, sha256 }: CacheRules): boolean {
  // The part of a file that came from another address may be of another file.
  if (state.url !== addressOf(url, isNamed) && !(isNamed && state.complete)) return false;
  return sha256 === undefined || state.sha256 === undefined || sha256 === state.sha256;
}

/** @internal */
export class CachedDownload implements LoadSource {
  readonly name: string;
  readonly #request: Request;
  readonly #signal: AbortSignal;
  readonly #place: Place;
  readonly #rules: CacheRules;
  readonly #slot: Slot;
  #size: number | undefined;
  /** Bytes that were handed out. */
  #position = 0;
  #hash: Sha256 | undefined;
  /** What is read of a stored segment. */
  #segment: ByteSource | undefined;
  #usedStored = false;
  #download: Download | undefined;
  /** Whether the download was paused, so that others may have stored more meanwhile. */
  #rested = false;
  /** Handles a pause while the file is not being read. */
  #resting: Promise<void> | undefined;
  #isRead = false;
  readonly #onChange = (): void => {
    if (this.#rules.patience.download?.paused && !this.#isRead) this.#resting = this.#letGo();
  };
  /** The version of the file that this load reads. */
  #facts: FileFacts | undefined;
  /** What the server says of the file now, where it was asked. */
  #current: Promise<FileFacts | undefined> | undefined;
  #opening: Promise<void> | undefined;
  #isComplete = false;
  /** Once a reader was promised that it may read again, it may. */
  #readsAgain = false;

  constructor(request: Request, signal: AbortSignal, place: Place, rules: CacheRules) {
    this.name = shownUrl(request.url);
    // The browser's own cache would be a second copy on the disk.
    this.#request = request.cache === 'default' ? new Request(request, { cache: 'no-store' }) : request;
    this.#signal = signal;
    this.#place = place;
    this.#rules = rules;
    const isSame = (state: FileState): boolean => isMeant(state, request.url, rules) && !isChanged(state, this.#facts);
    const { limit, warn, patience } = rules;
    this.#slot = new Slot(place, { name: this.name, limit, patience: patience.stallTimeout, warn, isMeant: isSame });
    if (rules.sha256) this.#hash = new Sha256();
    signal.addEventListener('abort', () => void this.#stop(), { once: true });
  }

  get size(): number | undefined {
    return this.#size;
  }

  /** Whether bytes of the cache were handed out, so that a file that turns out to be wrong is worth another try. */
  get usedStored(): boolean {
    return this.#usedStored;
  }

  /** Learns the size: from the cache, from another tab's download, or from the server. */
  open(): Promise<void> {
    this.#opening ??= this.#lettingGo(this.#open());
    return this.#opening;
  }

  /** What fails keeps no other tab waiting. */
  async #lettingGo<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      await this.#stop();
      throw error;
    }
  }

  async #open(): Promise<void> {
    await this.#lookUp();
    if (!this.#slot.isWhole) await untilResumed(this.#rules.patience.download, this.#signal);
    if (!this.#slot.isWhole && (await this.#slot.take()) && !this.#slot.isWhole) await this.#connect();
    while (!this.#slot.state && !this.#download) await this.#goOn();
    this.#learn(this.#slot.state);
    this.#rules.patience.download?.addEventListener('change', this.#onChange, { signal: this.#signal });
    this.#onChange();
  }

  /** The size alone, of a file that is read later. */
  async probe(): Promise<void> {
    await this.#lookUp();
    if (this.#size !== undefined) return;
    const download = new Download(this.#request, this.#signal, this.#rules.patience);
    await download.probe();
    this.#size = download.size;
  }

  /** Finds what is stored. What the server or the page no longer mean by this name stays until the new file comes. */
  async #lookUp(): Promise<void> {
    await this.#slot.look();
    if (this.#rules.revalidate && this.#slot.state) {
      this.#current ??= this.#ask();
      this.#facts ??= await this.#current;
      await this.#slot.look();
    }
    const { state } = this.#slot;
    if (!state) return;
    if (state.complete && state.sha256 === this.#rules.sha256) this.#hash = undefined;
    this.#learn(state);
  }

  /** What the server says of the file; nothing where it cannot be asked. */
  async #ask(): Promise<FileFacts | undefined> {
    const download = new Download(this.#request, this.#signal, this.#rules.patience);
    await download.probe().catch(() => this.#signal.throwIfAborted());
    return download.facts;
  }

  #learn(facts: FileFacts | undefined): void {
    if (!facts) return;
    this.#size = facts.size ?? this.#size;
    this.#facts ??= facts;
  }

  /** Opens the download where the stored bytes end, or where this load stands if it does not store. */
  async #connect(): Promise<void> {
    const { state, bytes, isOurs } = this.#slot;
    const at = isOurs ? bytes : this.#position;
    if (this.#rested && this.#download?.position === at) {
      this.#rested = false;
      return isOurs ? this.#slot.write(undefined) : undefined;
    }
    this.#rested = false;
    this.#download?.cancel();
    const facts = isOurs ? state : this.#facts;
    const download = new Download(this.#request, this.#signal, this.#rules.patience, facts && { at, facts });
    await download.open();
    if (this.#position > 0 && isChanged(this.#facts, download.facts)) {
      download.cancel();
      throw this.#broken('the file changed while it was being loaded');
    }
    this.#facts = download.facts;
    this.#size = download.size;
    this.#download = download;
    if (!isOurs) return;
    await this.#slot.write(download.position === 0 ? this.#newState(download.size) : undefined);
  }

  #newState(size: number | undefined): FileState {
    return {
      crossOrigin: false,
      ...this.#facts,
      version: 1,
      key: this.#place.key,
      url: addressOf(this.#request.url, this.#rules.isNamed),
      aliases: this.#rules.aliases,
      part: this.#place.part,
      parts: this.#place.parts,
      size,
      segments: [],
      complete: false,
      used: Date.now(),
    };
  }

  async next(): Promise<Uint8Array | undefined> {
    this.#signal.throwIfAborted();
    await this.open();
    this.#isRead = true;
    const piece = await this.#lettingGo(this.#piece()).finally(() => (this.#isRead = false));
    if (piece) {
      if (this.#hash) await hashYielding(this.#hash, piece);
      this.#position += piece.length;
    } else if (!this.#isComplete) {
      this.#isComplete = true;
      await this.#complete();
    }
    return piece;
  }

  async #piece(): Promise<Uint8Array | undefined> {
    await this.#resting;
    while (this.#size === undefined || this.#position < this.#size) {
      if (this.#position < this.#slot.bytes) {
        const piece = await this.#fromStored();
        if (piece) return piece;
      } else if (this.#rules.patience.download?.paused) {
        await this.#rest();
      } else if (this.#download && !this.#rested && this.#download.position <= this.#position) {
        const piece = await this.#fromNetwork(this.#download);
        if (piece !== 'paused') return piece;
      } else {
        await this.#goOn();
        this.#size ??= this.#slot.state?.size;
      }
    }
    return undefined;
  }

  /** Paused: waits. */
  async #rest(): Promise<void> {
    await this.#letGo();
    await untilResumed(this.#rules.patience.download, this.#signal);
  }

  /** What came is stored, and another tab may go on with it. */
  async #letGo(): Promise<void> {
    this.#rested = true;
    this.#download?.letGo();
    await this.#slot.rest();
  }

  /** Nothing more is downloaded that a pause could end. */
  #ignore(): void {
    this.#rules.patience.download?.removeEventListener('change', this.#onChange);
  }

  /** There is nothing to read: waits for the tab that downloads, or downloads. */
  async #goOn(): Promise<void> {
    if (this.#rules.patience.download?.paused) return this.#rest();
    const isOurs = this.#slot.isOpen && (await this.#slot.wait(this.#signal));
    if (this.#rules.patience.download?.paused) return this.#rest();
    if (isOurs || !this.#slot.isOpen) await this.#connect();
  }

  /** A stored piece; nothing if the stored file is gone, and the server has to give what is missing. */
  async #fromStored(): Promise<Uint8Array | undefined> {
    const slot = this.#slot;
    try {
      let piece = await this.#segment?.next();
      if (!piece) {
        this.#segment = fromBlob(await slot.slice(this.#position), this.#signal);
        piece = await this.#segment.next();
      }
      this.#usedStored = true;
      return piece;
    } catch (error) {
      this.#signal.throwIfAborted();
      await slot.fail(error);
      if (this.#rules.sha256 && !this.#hash) throw this.#broken('it was deleted from the cache while it was read');
      return undefined;
    }
  }

  async #fromNetwork(download: Download): Promise<NextPiece> {
    this.#segment = undefined; // what comes is not read of it
    for (;;) {
      const piece = await download.nextOrPaused();
      if (!piece || piece === 'paused') return piece;
      await this.#slot.add(piece);
      // A server without ranges begins at 0 again: what was handed out already is passed over.
      const fresh = download.position - this.#position;
      if (fresh > 0) return fresh < piece.length ? piece.subarray(piece.length - fresh) : piece;
    }
  }

  /** All bytes are there: their digest decides, then the file counts as stored. */
  async #complete(): Promise<void> {
    this.#ignore();
    const sha256 = this.#hash?.hex();
    if (sha256 !== undefined && sha256 !== this.#rules.sha256) {
      await this.#slot.remove();
      throw wrongDigest(this.name, sha256, this.#rules.sha256 ?? '');
    }
    this.#size ??= this.#position;
    this.#download?.cancel(); // another tab may have brought what was missing
    const size = this.#size;
    const aliases = [...new Set([...(this.#slot.state?.aliases ?? []), ...this.#rules.aliases])];
    await this.#slot.complete({ complete: true, size, used: Date.now(), aliases, ...(sha256 && { sha256 }) });
  }

  /**
   * The model needs no more bytes. What is left of the file is stored all the same: a small rest, or all where its
   * digest was promised, before this resolves; else while the model is used already.
   */
  async finish(): Promise<void> {
    const rest = (this.#size ?? 0) - this.#position;
    if (this.#hash || rest === 0) return this.#drain();
    if (this.#slot.isComplete) return this.#complete();
    if (!this.#slot.isOurs) return this.#stop();
    const draining = this.#drain().catch(() => this.#stop());
    if (rest <= SMALL_REST) await draining;
  }

  async #drain(): Promise<void> {
    while (await this.next());
  }

  /** Ends a download that is neither stored nor checked. For others `finish` goes on, and the signal ends all. */
  cancel(): void {
    if (!this.#slot.isOurs && !this.#hash) this.#download?.cancel();
  }

  async #stop(): Promise<void> {
    this.#ignore();
    this.#download?.cancel();
    await this.#slot.close();
  }

  /**
   * Any part of the file, at any time, also after the load: from the cache, or by a range request where it was deleted
   * there, unless the page promised a digest. Absent where the file is not stored: a request for every few bytes would
   * take long.
   */
  get read(): ((offset: number, length: number) => Promise<Uint8Array>) | undefined {
    this.#readsAgain ||= this.#slot.isOpen;
    return this.#readsAgain ? (offset, length) => this.#read(offset, length) : undefined;
  }

  async #read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    try {
      for (let at = 0; at < length; ) {
        const slice = await this.#slot.slice(offset + at, length - at);
        const piece = new Uint8Array(await slice.arrayBuffer());
        bytes.set(piece, at);
        at += piece.length;
      }
      return bytes;
    } catch (cause) {
      if (this.#rules.sha256)
        throw this.#broken('it was deleted from the cache, and only its whole can be checked', cause);
      const how = { signal: this.#signal, patience: this.#rules.patience };
      return fetchRange(this.#request, { offset, length }, this.#facts, how);
    }
  }

  /** Forgets what is stored. */
  async discard(): Promise<void> {
    await this.#slot.remove();
  }

  #broken(what: string, cause?: unknown): WebggufError {
    return new WebggufError('integrity_failed', `${this.name}: ${what}`, { cause });
  }
}
