/**
 * The stored bytes of one file: what is there, reading any part of it, and adding to its end.
 */
import {
  folderAt,
  openSegment,
  type Place,
  readState,
  removeFile,
  removeStrays,
  segmentFile,
  writeState,
} from './folder.js';
import type { Held } from './lock.js';
import { type FileState, SEGMENT_BYTES, sum } from './state.js';

/** Bytes of one write: small ones cost a message to the browser's process each. */
const WRITE_BYTES = 1 << 20;
/** Bytes that wait to be written before the download waits, too. */
const MOST_WAITING = 16 << 20;
/** Milliseconds after which a slow download commits its bytes, if they are worth a segment of their own. */
const SLOW = 5000;
const SLOW_BYTES = 8 << 20;

/** A file in the cache, whole or the first bytes of it. @internal */
export class StoredFile {
  readonly #folder: FileSystemDirectoryHandle;
  readonly #files: (File | undefined)[];
  #state: FileState;

  private constructor(folder: FileSystemDirectoryHandle, state: FileState, files: File[]) {
    this.#folder = folder;
    this.#state = state;
    this.#files = files;
  }

  /** What is stored, or `undefined`. Segments that are missing or of another size end it. */
  static async open(place: Place): Promise<StoredFile | undefined> {
    const folder = await folderAt(place, false);
    const state = folder && (await readState(folder));
    if (!folder || !state || state.key !== place.key || state.part !== place.part) return undefined;
    const found = state.segments.map((_, index) => segmentFile(folder, index).catch(() => undefined));
    const files = await Promise.all(found);
    const broken = files.findIndex((file, index) => file?.size !== state.segments[index]);
    if (broken < 0) return new StoredFile(folder, state, files as File[]);
    const segments = state.segments.slice(0, broken);
    return new StoredFile(folder, { ...state, segments, complete: false }, files.slice(0, broken) as File[]);
  }

  /** Begins anew: the old bytes are gone, the state has no segments. */
  static async create(place: Place, state: FileState): Promise<StoredFile> {
    await removeFile(place);
    const folder = (await folderAt(place, true)) as FileSystemDirectoryHandle;
    await writeState(folder, state);
    return new StoredFile(folder, state, []);
  }

  get state(): FileState {
    return this.#state;
  }

  /** Bytes that are stored, from the start of the file on. */
  get bytes(): number {
    return sum(this.#state.segments);
  }

  /** Up to `length` bytes from `offset` on, at least one: they end with their segment. */
  async slice(offset: number, length: number): Promise<Blob> {
    let start = 0;
    const index = this.#state.segments.findIndex((bytes) => offset < (start += bytes));
    const bytes = this.#state.segments[index];
    if (bytes === undefined) throw new RangeError(`${offset} is behind the ${this.bytes} stored bytes`);
    const at = offset - (start - bytes);
    const file = (this.#files[index] ??= await segmentFile(this.#folder, index));
    const slice = file.slice(at, Math.min(at + length, bytes));
    if (slice.size > 0) return slice;
    throw new RangeError(`a stored segment of ${bytes} bytes ends at ${at}`);
  }

  /** Changes what is known of the file. The caller holds its lock. */
  async update(change: Partial<FileState>): Promise<void> {
    const state = { ...this.#state, ...change };
    await writeState(this.#folder, state);
    this.#state = state;
  }

  /** Removes what a crash has left. The caller holds the lock. */
  async tidy(): Promise<void> {
    await removeStrays(this.#folder, this.#state.segments.length);
  }

  /** A stream for the next segment. */
  openSegment(): Promise<FileSystemWritableFileStream> {
    return openSegment(this.#folder, this.#state.segments.length);
  }

  /** Adds a segment that was written. */
  async addSegment(bytes: number): Promise<void> {
    // Open the file now: a later load may put another one under its name.
    this.#files[this.#state.segments.length] = await segmentFile(this.#folder, this.#state.segments.length);
    await this.update({ segments: [...this.#state.segments, bytes] });
  }
}

/**
 * Adds bytes to a stored file while they are used elsewhere. Writes follow each other behind the caller's back; it
 * waits only where 16 MiB wait already.
 * @internal
 */
export class SegmentWriter {
  readonly #file: StoredFile;
  readonly #lock: Held;
  #buffer = new Uint8Array(WRITE_BYTES);
  /** Buffers that were written. */
  readonly #free: Uint8Array<ArrayBuffer>[] = [];
  #filled = 0;
  #waiting = 0;
  #writes: Promise<void> = Promise.resolve();
  #segment: FileSystemWritableFileStream | undefined;
  #segmentBytes = 0;
  #segmentBegan = 0;

  constructor(file: StoredFile, lock: Held) {
    this.#file = file;
    this.#lock = lock;
  }

  /** Adds a copy of `piece`. Rejects with what went wrong in an earlier write. */
  async write(piece: Uint8Array): Promise<void> {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + WRITE_BYTES - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled === WRITE_BYTES) this.#flush();
    }
    if (this.#waiting > MOST_WAITING) await this.#writes;
  }

  /** Writes and commits all that was added. */
  async close(): Promise<void> {
    this.#flush();
    await (this.#writes = this.#writes.then(() => this.#commit()));
  }

  /** Drops what is not committed. */
  async abandon(): Promise<void> {
    const drop = async (): Promise<void> => this.#segment?.abort();
    await this.#writes.then(drop, drop).catch(() => {});
  }

  /** Puts the buffer into the queue. */
  #flush(): void {
    const bytes = this.#buffer.subarray(0, this.#filled);
    if (bytes.length === 0) return;
    this.#buffer = this.#free.pop() ?? new Uint8Array(WRITE_BYTES);
    this.#filled = 0;
    this.#waiting += bytes.length;
    this.#writes = this.#writes.then(() => this.#put(bytes));
    this.#writes.catch(() => {}); // the next `write` or `close` reports it
  }

  async #put(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (!this.#segment) {
      this.#segment = await this.#file.openSegment();
      this.#segmentBegan = performance.now();
    }
    await this.#segment.write(bytes);
    this.#free.push(new Uint8Array(bytes.buffer));
    this.#segmentBytes += bytes.length;
    this.#waiting -= bytes.length;
    const isSlow = performance.now() - this.#segmentBegan > SLOW && this.#segmentBytes >= SLOW_BYTES;
    if (this.#segmentBytes >= SEGMENT_BYTES || isSlow) await this.#commit();
  }

  /** First the bytes, then the state that lists them. */
  async #commit(): Promise<void> {
    if (!this.#segment) return;
    await this.#segment.close();
    if (this.#lock.lost) throw new DOMException('it was deleted meanwhile', 'NotFoundError');
    await this.#file.addSegment(this.#segmentBytes);
    this.#segment = undefined;
    this.#segmentBytes = 0;
  }
}
