/**
 * The place of one file in the cache, as one load uses it. Of several tabs one holds the lock and writes; the others
 * look at what it has stored. Whatever fails here closes the slot: the load goes on without it, and the page hears why.
 */
import { abortable } from '../../cancel.js';
import { type Place, lockName, removeFile } from './folder.js';
import { keepWithin } from './limit.js';
import { type Held, Pulse, tryLock, waitForLock } from './lock.js';
import type { FileState } from './state.js';
import { SegmentWriter, StoredFile } from './stored-file.js';
import { type LoadWarning, warningOf } from './warning.js';

/** How often a tab looks what another has stored, in milliseconds. */
const LOOK = 150;

/** @internal */
export class Slot {
  readonly #place: Place;
  readonly #name: string;
  readonly #warn: (warning: LoadWarning) => void;
  readonly #isMeant: (state: FileState) => boolean;
  readonly #limit: number | undefined;
  /** Milliseconds without a sign of the tab that holds the lock after which this load goes on by itself. */
  readonly #patience: number;
  #silence = 0;
  #pulse: Pulse | undefined;
  /** Ends the wait for the lock once it is not needed. */
  readonly #done = new AbortController();
  #stored: StoredFile | undefined;
  #lock: Held | undefined;
  #queue: Promise<Held> | undefined;
  #writer: SegmentWriter | undefined;
  /** Work on the disk that `close` waits for. */
  #work: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #isOpen = true;

  /**
   * @param about `name`: of the file in warnings; `isMeant`: whether a stored file is the one that this load wants. One
   *   that is not stays until `write` replaces it; `limit`: bytes that all models may take; `patience`: milliseconds
   *   that a tab which holds the lock may be silent
   */
  constructor(
    place: Place,
    about: {
      name: string;
      limit?: number | undefined;
      patience: number;
      warn(warning: LoadWarning): void;
      isMeant(state: FileState): boolean;
    },
  ) {
    this.#place = place;
    this.#name = about.name;
    this.#warn = about.warn;
    this.#isMeant = about.isMeant;
    this.#limit = about.limit;
    this.#patience = about.patience;
  }

  /** False once the cache is out of the question for this load. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  get state(): FileState | undefined {
    return this.#stored?.state;
  }

  /** Bytes that are stored, from the start of the file on. */
  get bytes(): number {
    return this.#stored?.bytes ?? 0;
  }

  get isComplete(): boolean {
    return this.#stored?.state.complete ?? false;
  }

  /** Whether all bytes are there, though perhaps the tab that stored them was closed before it could say so. */
  get isWhole(): boolean {
    return this.isComplete || (this.#stored !== undefined && this.bytes === this.state?.size);
  }

  /** Whether this load holds the lock. */
  get isOurs(): boolean {
    return this.#lock !== undefined;
  }

  /** Looks what is stored. */
  look(): Promise<void> {
    return this.#safely(async () => {
      this.#stored = await this.#find();
    });
  }

  async #find(): Promise<StoredFile | undefined> {
    const found = await StoredFile.open(this.#place);
    return found && this.#isMeant(found.state) ? found : undefined;
  }

  /** Whether this load may write from now on: no other load does, and the file is not complete. */
  async take(): Promise<boolean> {
    await this.#safely(async () => this.#took(await tryLock(lockName(this.#place))));
    return this.isOurs;
  }

  /** Waits until another tab has stored more, or has left the file to this load; whether that is so. */
  async wait(signal: AbortSignal): Promise<boolean> {
    const waiting = this.#safely(async () => {
      this.#queue ??= waitForLock(lockName(this.#place), this.#done.signal);
      const lock = await Promise.race([this.#queue, pause(LOOK)]);
      if (lock) return this.#took(lock);
      this.#stored = await this.#find();
      this.#listen();
    });
    await abortable(waiting, signal);
    return this.isOurs;
  }

  /** The holder of the lock says that it is awake. A tab that stands still would keep this load waiting for ever. */
  #listen(): void {
    this.#pulse ??= new Pulse(lockName(this.#place), () => (this.#silence = 0));
    this.#silence += LOOK;
    if (this.#silence < this.#patience) {
      this.#pulse.ask();
      return;
    }
    this.#isOpen = false;
    this.#done.abort();
    this.#release();
    this.#warn(warningOf(this.#name, new Error('the tab that stores it stands still')));
  }

  async #took(lock: Held | undefined): Promise<void> {
    this.#queue = undefined;
    this.#pulse?.end();
    this.#pulse = undefined;
    if (!lock) return;
    this.#lock = lock;
    lock.onLost = () => void this.fail(new DOMException('it was deleted meanwhile', 'NotFoundError'));
    this.#stored = await this.#find();
    if (this.isComplete) this.#release();
  }

  /** Begins the file anew, or goes on where it ends if there is no `state`. Only with the lock. */
  async write(state: FileState | undefined): Promise<void> {
    await this.#safely(async () => {
      const lock = this.#lock as Held;
      if (state) {
        const old = await StoredFile.open(this.#place);
        await this.#keepWithin(state.size ?? 0, old?.bytes ?? 0);
        await checkRoom(state.size ?? 0, old?.bytes ?? 0);
        this.#stored = await StoredFile.create(this.#place, state);
      } else {
        await this.#stored?.tidy();
      }
      this.#writer = this.#stored && new SegmentWriter(this.#stored, lock);
    });
  }

  #keepWithin(size: number, stored: number): Promise<void> {
    const { root, key } = this.#place;
    return keepWithin(this.#limit, { root, key, size, stored });
  }

  /** Adds bytes; waits only where many wait already. */
  async add(piece: Uint8Array): Promise<void> {
    if (this.#writer) await this.#safely(async () => this.#writer?.write(piece));
  }

  /** Up to `length` bytes of a segment; rejects where nothing is stored. */
  async slice(offset: number, length = Infinity): Promise<Blob> {
    this.#stored ??= await this.#find();
    if (!this.#stored) throw new DOMException('nothing is stored', 'NotFoundError');
    return this.#stored.slice(offset, length);
  }

  /** Commits all bytes that were added, then the `change` of a file that is whole. */
  async complete(change: Partial<FileState> & { size: number }): Promise<void> {
    await this.#safely(async () => {
      await this.#writer?.close();
      this.#writer = undefined;
      if (!this.#stored || this.bytes !== change.size) return;
      this.#lock ??= await tryLock(lockName(this.#place));
      if (this.#stored.state.size === undefined) await this.#keepWithin(change.size, change.size);
      if (!this.#lock?.lost) await (this.#lock && this.#stored.update(change));
    });
    this.#release();
  }

  /** Forgets the file, unless another load is at work on it. */
  async remove(): Promise<void> {
    await this.#safely(async () => {
      this.#lock ??= await tryLock(lockName(this.#place));
      await this.#writer?.abandon();
      this.#writer = undefined;
      this.#stored = undefined;
      if (this.#lock && !this.#lock.lost) await removeFile(this.#place);
    });
    this.#release();
  }

  /** Commits what there is and leaves the file to others until `wait` gets it back. */
  async rest(): Promise<void> {
    await this.#safely(async () => {
      await this.#writer?.close();
      this.#writer = undefined;
    });
    this.#release();
  }

  /** Commits what there is and then lets others go on, however often it is called. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isOpen = false;
    this.#done.abort();
    await this.#work;
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.close().catch(() => writer.abandon());
    this.#release();
  }

  /** The cache is of no use for this load. What is incomplete here would only take space. */
  async fail(error: unknown): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#done.abort();
    await this.#writer?.abandon();
    this.#writer = undefined;
    this.#stored = undefined;
    if (this.#lock && !this.#lock.lost) await removeFile(this.#place).catch(() => {});
    this.#release();
    this.#warn(warningOf(this.#name, error));
  }

  async #safely(work: () => Promise<void>): Promise<void> {
    if (!this.#isOpen) return;
    this.#work = work().catch((error: unknown) => this.fail(error));
    await this.#work;
  }

  #release(): void {
    this.#lock?.release();
    this.#lock = undefined;
    void this.#queue?.then(
      (lock) => lock.release(),
      () => {},
    );
    this.#queue = undefined;
    this.#pulse?.end();
    this.#pulse = undefined;
  }
}

/**
 * Throws where the browser says that `size` bytes do not fit once `old` ones are deleted. It estimates, so a write
 * may still fail.
 */
async function checkRoom(size: number, old: number): Promise<void> {
  const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
  const free = Math.max(0, quota - usage + old);
  if (size > free) throw new DOMException(`${size} bytes, and about ${free} are free`, 'QuotaExceededError');
}

const pause = (milliseconds: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), milliseconds));
